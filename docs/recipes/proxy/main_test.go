package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

func TestRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake()
		defer api.Close()
		var out strings.Builder
		if err := run(t.Context(), &out, api); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "25 answers: 200 OK\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
		if n := api.Stats().Refused; n > 2 { // a window's end that is stated in whole seconds may be looked for a bit early
			t.Errorf("refused %d times", n)
		}
	})
}

// A client that would wait for too long is told when to come back, in the words of HTTP; and no other host is called.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Minute}, pacertest.RateLimitDraft7)
		defer api.Close()
		proxy := &pacertest.Server{Handler: newProxy(api.Transport())}
		defer proxy.Close()
		client := &http.Client{Transport: proxy.Transport()}
		for _, want := range []string{"/api.example.com/ 200 ", "/api.example.com/ 429 61", "/other.example.com/ 403 "} {
			path, _, _ := strings.Cut(want, " ")
			resp, err := client.Get("http://localhost:8080" + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := fmt.Sprintf("%s %d %s", path, resp.StatusCode, resp.Header.Get("Retry-After")); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if n := len(api.Stats().Events); n != 1 {
			t.Errorf("the API was asked %d times, want once", n)
		}
	})
}
