package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

func TestRecipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cache", "limits.json")
	synctest.Test(t, func(t *testing.T) {
		api := newFake(2 * time.Second)
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport(), file, nil); err != nil {
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
			err := run(t.Context(), &strings.Builder{}, api.Transport(), file, nil)
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

// Runs of one day share its quota: by the file, or by a Store.
func TestDailyQuota(t *testing.T) {
	for _, by := range []string{"file", "store"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			api := newFake(time.Millisecond) // which states what does not matter here
			defer api.Close()
			var shared store.Store
			if by == "store" {
				shared = &store.Memory{}
			}
			file, runs := filepath.Join(dir, "limits.json"), 0
			for {
				if by == "store" { // of which no file is needed
					os.Remove(file)
				}
				err := run(t.Context(), &strings.Builder{}, api.Transport(), file, shared)
				var early *throttle.Error
				if errors.As(err, &early) && early.Quota == daily {
					break
				}
				if err != nil || runs > 1000/12 {
					t.Fatalf("by %s: run %d: %v", by, runs, err)
				}
				runs++
			}
			if stats := api.Stats(); runs != 1000/12 || stats.Admitted != 1000 {
				t.Errorf("by %s: %d runs, %d requests, want 83 and 1000", by, runs, stats.Admitted)
			}
		})
	}
}
