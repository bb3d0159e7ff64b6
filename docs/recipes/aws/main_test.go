package main

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		api.failing = 1
		api.limits["TagResource"].Take(time.Now(), 10) // another program has tagged ten keys a moment ago
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport()); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "50 keys described, 30 keys tagged\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		if want := map[string]int{"DescribeKey": 50, "TagResource": 30}; !maps.Equal(api.calls, want) {
			t.Errorf("calls %v, want %v", api.calls, want)
		}
		if n := api.refused["TagResource"]; n == 0 || n > 10 || len(api.refused) > 1 {
			t.Errorf("refused %v, want some of TagResource", api.refused)
		}
	})
}
