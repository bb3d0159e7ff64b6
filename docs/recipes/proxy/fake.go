package main

import (
	"net/http"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake is api.example.com: 10 requests in a second, and a 429 with a Retry-After for others. It says so in its
// headers.
type fake struct{ *pacertest.Server }

func newFake() *fake {
	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: 2 * time.Second}, pacertest.RateLimitDraft7)
	server.Latency = 10 * time.Millisecond
	return &fake{server}
}

// proxy serves the handler in memory, as http.ListenAndServe does at a port.
func (*fake) proxy(h http.Handler) *pacertest.Server { return &pacertest.Server{Handler: h} }
