package interop

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// margin is by how much the oracle is late, so that a request which was under way for less time than the one
// before it does not come too early. Should it come too early all the same, it is sent again after that time,
// and all later ones go so much later; or, where that request counted as well, none goes for a window.
const margin = 4 * time.Millisecond

// oracle knows how the server counts and that nobody else asks it. It shows that the
// least makespan is one.
type oracle struct {
	base http.RoundTripper

	mu        sync.Mutex // protects the fields below
	algorithm pacertest.Algorithm
	late      time.Duration // by which the server's instants are later
	learned   time.Time     // when that was seen last
	last      time.Time     // at the server
	quiet     time.Time     // until when none goes

	truth Truth
}

func newOracle(base http.RoundTripper, j job) http.RoundTripper {
	return &oracle{base: base, algorithm: j.Truth.algorithm(), truth: j.Truth}
}

// RoundTrip implements http.RoundTripper.
func (o *oracle) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := o.wait(req.Context()); err != nil {
		return nil, err
	}
	return again(o.base, req, func(ctx context.Context) error {
		o.early()
		if o.truth.RefusalsCount {
			return o.wait(ctx)
		}
		return pause(ctx, margin)
	})
}

func (o *oracle) wait(ctx context.Context) error {
	for {
		wait := o.take()
		if wait == 0 {
			return nil
		}
		if err := pause(ctx, wait+margin); err != nil {
			return err
		}
	}
}

// take returns zero if a request may go now, else when to ask again.
func (o *oracle) take() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if wait := time.Until(o.quiet); wait > 0 {
		return wait
	}
	if now := time.Now().Add(-o.late); now.After(o.last) {
		o.last = now
	}
	v := o.algorithm.Take(o.last, 1)
	if v.OK {
		return 0
	}
	return v.RetryAfter
}

// early takes in that a request was refused. Those that were sent with it are of the same
// news.
func (o *oracle) early() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.truth.RefusalsCount {
		o.quiet, o.algorithm = now.Add(o.truth.Quota.Per+margin), o.truth.algorithm()
	}
	if now.Sub(o.learned) > 10*margin {
		o.learned = now
		o.late += margin
	}
}
