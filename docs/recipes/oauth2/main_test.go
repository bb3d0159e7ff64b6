package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake(time.Minute, 70*time.Second) // the last ten requests wait for two minutes, and a token lives for one
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "30 orders read\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		if api.read != 30 || api.expired != 0 || api.refused > 4 {
			t.Errorf("%d read, %d refused, %d with an expired token", api.read, api.refused, api.expired)
		}
		if api.asked < 2 || api.asked > 3 {
			t.Errorf("asked for %d tokens, want 2 or 3", api.asked)
		}
	})
}

// The token source holds a mutex while it asks for a token, which keeps the time of a bubble from passing: so
// there is none.
func TestWrongSecret(t *testing.T) {
	api := newFake(time.Minute, time.Minute)
	defer api.Close()
	api.invalid = true
	err := run(t.Context(), &strings.Builder{}, api.Transport())
	if no := (*oauth2.RetrieveError)(nil); !errors.As(err, &no) {
		t.Errorf("error %v, want that of the token's host", err)
	}
	if api.asked >= 30 { // how many have begun when the first error ends the others is by chance
		t.Errorf("asked for %d tokens for 30 requests, want fewer", api.asked)
	}
}
