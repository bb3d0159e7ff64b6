// Package hook is what stands between the clients of a test binary and their transports.
// Its source is compiled into the tests of every suite, under the name of their package.
package hook

import (
	"net/http"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/gopacer/pacer"
)

var pacers sync.Map // of *pacer.Transport, by what it stands before

// between returns the transport that a client uses in place of its own: a
// pacer.Transport over it, always the same one. A base that cannot be the key of a map,
// as a function cannot, is told by its client. PACER_SUITES says which Transport: see
// suites.Mode.
func between(client *http.Client, base http.RoundTripper) http.RoundTripper {
	t := &pacer.Transport{Base: base}
	switch os.Getenv("PACER_SUITES") {
	case "":
		return base
	case "plain":
		return plain{base}
	case "paced":
		t.MaxWait = 6 * time.Second
	case "once":
		t.Retry.MaxAttempts, t.Retry.MaxRefusals = -1, -1
	}
	if _, ok := base.(*pacer.Transport); ok {
		return base
	}
	var key any = base
	if !reflect.ValueOf(base).Comparable() {
		key = client
	}
	found, _ := pacers.LoadOrStore(key, t)
	return found.(*pacer.Transport)
}

// plain does nothing.
type plain struct{ base http.RoundTripper }

func (p plain) RoundTrip(req *http.Request) (*http.Response, error) { return p.base.RoundTrip(req) }

func (p plain) CloseIdleConnections() {
	if c, ok := p.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
