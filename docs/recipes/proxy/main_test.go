package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// A client that would wait for too long is told when to come back, in the words of HTTP; and no other host is
// called.
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

type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A path is called as it was written: an encoded slash is a part of a name. A host that is written otherwise is
// no host.
func TestPath(t *testing.T) {
	called := ""
	proxy := newProxy(baseFunc(func(req *http.Request) (*http.Response, error) {
		called = req.URL.String()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
	}))
	for path, want := range map[string]string{
		"/api.example.com":                           "https://api.example.com/",
		"/api.example.com/":                          "https://api.example.com/",
		"/api.example.com/a/b?x=1&y=%2F":             "https://api.example.com/a/b?x=1&y=%2F",
		"/api.example.com/projects/group%2Fname?x=1": "https://api.example.com/projects/group%2Fname?x=1",
		"/api.example.com/a%20b/%C3%A4;v=1/(c)":      "https://api.example.com/a%20b/%C3%A4;v=1/(c)",
		"/api.example.com//a//":                      "https://api.example.com//a//",
		"/api.example.com/%2e%2e/%2E":                "https://api.example.com/%2e%2e/%2E",
		"/api.example.com/100%25":                    "https://api.example.com/100%25",
		"/api.example.com%2Fa":                       "",
		"/other.example.com/":                        "",
		"//api.example.com/":                         "",
		"/":                                          "",
		"/api.example.com:80/":                       "",
		"/api.example.com@other.example.com/":        "",
		"/%61pi.example.com/":                        "",
	} {
		called = ""
		proxy.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost:8080"+path, nil))
		if called != want {
			t.Errorf("%s calls %q, want %q", path, called, want)
		}
	}
}
