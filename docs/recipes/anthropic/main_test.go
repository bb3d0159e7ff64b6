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
		api.overloadedUntil = 1
		start := time.Now()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "40 answers: 8000 input tokens, 4000 output tokens\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		if api.answered != 40 || api.refused != 0 {
			t.Errorf("%d answered, %d refused, want 40 and none", api.answered, api.refused)
		}
		// As claimed, 40 answers would take two minutes and more of output tokens. As settled, they are within
		// one.
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
