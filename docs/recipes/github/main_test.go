package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake(time.Hour)
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "100 issues read, 4 changes made, 3 searches made\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		// The limit of an hour is looked at again every 15 minutes: see pacer.Learn.MaxHold.
		if n := api.refused["secondary"] + api.refused["search"]; n > 0 {
			t.Errorf("refused %v", api.refused)
		}
		if n := len(api.changes); n != 4 {
			t.Errorf("%d changes, want 4", n)
		}
		for i := 1; i < len(api.changes); i++ {
			if gap := api.changes[i].Sub(api.changes[i-1]); gap < time.Second {
				t.Errorf("%v between two changes, want a second at least", gap)
			}
		}
	})
}
