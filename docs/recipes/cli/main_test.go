package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

func TestRecipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cache", "limits.json")
	synctest.Test(t, func(t *testing.T) {
		api := newFake(2 * time.Second)
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport(), file); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "12 items read\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	})
}

// A run that comes after another one knows what that one has learned, and does not ask the server.
func TestNextRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.json")
	synctest.Test(t, func(t *testing.T) {
		api := newFake(time.Minute)
		defer api.Close()
		for _, want := range []time.Duration{time.Minute, 45 * time.Second, 30 * time.Second} {
			var early *throttle.Error
			err := run(t.Context(), &strings.Builder{}, api.Transport(), file)
			if !errors.As(err, &early) || !errors.Is(err, throttle.ErrStandstill) {
				t.Fatalf("error %v, want an ErrStandstill", err)
			}
			if got := early.Wait; got < want || got > want+time.Second { // the server says it in whole seconds
				t.Errorf("come back in %v, want %v", got, want)
			}
			time.Sleep(15 * time.Second)
		}
		if stats := api.Stats(); stats.Admitted != 10 || stats.Refused != 0 {
			t.Errorf("%d admitted, %d refused, want 10 and none", stats.Admitted, stats.Refused)
		}
	})
}
