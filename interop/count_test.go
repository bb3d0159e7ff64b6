package interop

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestCounter(t *testing.T) {
	c := &counter{limiter: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Remaining", "7")
		switch r.URL.Path {
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTooManyRequests)
		case "/status":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/body":
			fmt.Fprint(w, "one")
			fmt.Fprint(w, "two")
		}
	})}
	server := httptest.NewServer(c)
	defer server.Close()
	for _, path := range []string{"/early", "/status", "/body"} {
		resp, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-RateLimit-Remaining"); got != "7" {
			t.Errorf("%s: header is %q, want 7", path, got)
		}
	}
	var got []int
	for _, e := range c.seen() {
		got = append(got, e.status)
		if e.header.Get("X-RateLimit-Remaining") != "7" {
			t.Errorf("%d: header was not written down", e.status)
		}
	}
	if want := []int{429, 503, 200}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

func TestCounterAdmitted(t *testing.T) {
	for status, want := range map[int]bool{200: true, 204: true, 429: false, 503: false, 302: false} {
		if got := (event{status: status}).admitted(); got != want {
			t.Errorf("%d: admitted is %v, want %v", status, got, want)
		}
	}
}
