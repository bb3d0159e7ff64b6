// Package pacing tests when a request goes that is to keep within quotas which the program was told:
// what happens to one that cannot go now (mode_test.go, modes_test.go), what a Call asks for
// (call_test.go), requests that are paid for before they are sent (acquire_test.go), what is charged
// (spent_test.go, and bytes_test.go for bodies), how many are in flight (inflight_test.go), quotas
// that are replaced meanwhile (setquotas_test.go), and which buckets there are and when they are
// forgotten (buckets_test.go). This file has what several of them use.
package pacing

import (
	"errors"
	"net/http"
	"sort"
	"testing"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// serial sends requests one after the other and returns when each was sent.
func serial(t *testing.T, tr *pacer.Transport, base *lab.Script, n int) []time.Time {
	t.Helper()
	before := len(base.At)
	for range n {
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	return base.At[before:]
}

// gaps are the times between requests.
func gaps(at []time.Time) (d []time.Duration) {
	for i := range at[1:] {
		d = append(d, at[i+1].Sub(at[i]))
	}
	return d
}

// of returns the request as one of a call.
func of(req *http.Request, c *pacer.Call) *http.Request {
	return req.WithContext(pacer.WithCall(req.Context(), c))
}

// left returns how much of a token bucket is left: the most that a request may cost which need not
// wait for it. It asks, and gives back what it is granted.
func left(t *testing.T, tr *pacer.Transport, req *http.Request, unit string, burst int) int {
	t.Helper()
	return sort.Search(burst, func(n int) bool {
		_, cancel, err := tr.Acquire(t.Context(), of(req, &pacer.Call{Mode: pacer.ModeReject, Costs: quota.Costs{unit: int64(n + 1)}}))
		if err == nil {
			cancel()
			return false
		}
		var local *throttle.Error
		if !errors.As(err, &local) || !errors.Is(err, throttle.ErrWouldWait) {
			t.Fatal(err)
		}
		return local.Wait > 0
	})
}

// tokens is a quota that hardly comes back.
func tokens(burst int) quota.Quota {
	return quota.Quota{N: 1, Per: 1000 * time.Hour, Unit: "tokens", Burst: int64(burst)}
}
