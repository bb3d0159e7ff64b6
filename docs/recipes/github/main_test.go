package main

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecipe(t *testing.T) {
	for _, cache := range []place{above, below} {
		t.Run(string(cache), func(t *testing.T) { recipe(t, cache) })
	}
}

func recipe(t *testing.T, cache place) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newFake(time.Hour)
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, api.Transport(), cache); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "100 issues read, 4 changes made, 3 searches made, 100 issues read again for nothing\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		// The limit of an hour is looked at again every 15 minutes: see pacer.Learn.MaxHold.
		if n := api.refused["secondary"] + api.refused["search"]; n > 0 {
			t.Errorf("refused %v", api.refused)
		}
		if api.unchanged != 100 {
			t.Errorf("%d were unchanged, want 100", api.unchanged)
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

// A secondary limit that is met all the same, as where another program writes too, is waited for: a minute.
func TestSecondaryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake(time.Hour)
		defer api.Close()
		transport, _ := newTransport(api.Transport(), below)
		transport.Rand = func() float64 { return 0 } // no jitter
		other := api.Transport()
		start := time.Now()
		for _, send := range []http.RoundTripper{other, transport} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.github.com/repos/a/b/issues", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := send.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			resp.Body.Close()
		}
		// Three answers take 10 ms each: that to the other program, the refusal, and the last.
		if took, want := time.Since(start), time.Minute+30*time.Millisecond; took != want || api.refused["secondary"] != 1 {
			t.Errorf("both wrote after %v, and %d were refused, want %v, and 1", took, api.refused["secondary"], want)
		}
	})
}

// What was unchanged is given back: of the 5000 an hour, only what was read is charged.
func TestUnchangedCostsNothing(t *testing.T) {
	for _, cache := range []place{above, below} {
		synctest.Test(t, func(t *testing.T) {
			api := newFake(time.Hour)
			defer api.Close()
			transport, top := newTransport(api.Transport(), cache)
			for range 10 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.github.com/users/a", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := top.RoundTrip(req)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatal(resp, err)
				}
				resp.Body.Close()
			}
			if left := transport.State()[0].Limits[2].Available; left != 4999 {
				t.Errorf("cache %s: %d are left of 5000, want 4999", cache, left)
			}
		})
	}
}
