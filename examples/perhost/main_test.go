package main

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// What the program says is to be seen, in virtual time.
func TestWhatToSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server pacertest.Server
		defer server.Close()
		went := run(io.Discard, server.Transport(), "http://127.0.0.1", "http://localhost").went

		var host []time.Duration
		for route, apart := range map[string]time.Duration{
			"GET 127.0.0.1/search/":              250 * time.Millisecond,
			"GET 127.0.0.1/items":                0,
			"POST 127.0.0.1/channels/a/messages": 500 * time.Millisecond,
			"POST 127.0.0.1/channels/b/messages": 500 * time.Millisecond,
		} {
			host = append(host, went[route]...)
			if least := slices.Min(gaps(went[route])); least < apart {
				t.Errorf("%s: %v apart, want %v or more", route, least, apart)
			}
		}
		slices.Sort(host)
		for i, at := range host {
			// At the end there may be none but searches, which have to wait for each other.
			if want := time.Duration(max(i-4, 0)) * 100 * time.Millisecond; at < want || i < 5 && at > 0 {
				t.Errorf("request %d to the host went at %v, want %v", i, at, want)
			}
		}
		if len(host) != 17 {
			t.Errorf("%d requests to the host, want 17", len(host))
		}

		other := gaps(went["GET localhost/"])
		if first, last := other[0].Round(100*time.Millisecond), other[len(other)-1]; first != 300*time.Millisecond || last != 100*time.Millisecond {
			t.Errorf("the other host: %v apart at first and %v at last, want 300 ms and 100 ms", first, last)
		}
		if !slices.IsSortedFunc(other, func(a, b time.Duration) int { return int(b - a) }) {
			t.Errorf("the other host: %v apart, want less and less", other)
		}
	})
}

// gaps returns the times between requests.
func gaps(went []time.Duration) (all []time.Duration) {
	for i := 1; i < len(went); i++ {
		all = append(all, went[i]-went[i-1])
	}
	return all
}
