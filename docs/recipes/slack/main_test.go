package main

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		api.busy = true
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "60 users looked up, 2 channels read, 3 messages posted\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		if want := map[string]int{"users.info": 60, "conversations.history": 2, "chat.postMessage": 3}; !maps.Equal(api.calls, want) {
			t.Errorf("calls %v, want %v", api.calls, want)
		}
		if want := map[string]int{"users.info": 1}; !maps.Equal(api.refused, want) {
			t.Errorf("refused %v, want %v", api.refused, want)
		}
	})
}
