package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		api.failures = 1 // this one is asked again
		start := time.Now()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "60 answers, estimated at 60000 tokens, settled at 27000\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		if api.answered != 60 || api.refused != 0 {
			t.Errorf("%d answered, %d refused, want 60 and none", api.answered, api.refused)
		}
		// 27000 tokens are within the minute's. Without Settle, half of the answers would wait for the next
		// minute.
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
