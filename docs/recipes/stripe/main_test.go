package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		api.lose, api.locked = 1, 1
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "60 payments made\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		sent := 0
		for _, n := range api.payments {
			sent += n
		}
		if len(api.payments) != 60 || sent != 61 { // one answer was lost
			t.Errorf("%d payments, sent %d times, want 60 and 61", len(api.payments), sent)
		}
		if api.refused != 0 {
			t.Errorf("refused %d", api.refused)
		}
	})
}
