package due

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// bucket is a Bucket, and all that it points to.
type bucket struct {
	Bucket
	hold   Hold
	site   adaptive.Site
	server adaptive.Server
	stack  limit.Stack
	quotas quota.Quotas
}

// newBucket returns a bucket with quotas, of which a share is reserved.
func newBucket(text string, reserve float64) *bucket {
	b := &bucket{quotas: quota.MustParse(text).Explicit()}
	b.server.Init(&b.site, adaptive.Config{MaxHold: time.Hour, Random: func() float64 { return 0 }})
	b.stack.Set(start, b.quotas, reserve, 0, func(int64, time.Duration) limit.Spread { return limit.Spread{} })
	b.Bucket = Bucket{Hold: &b.hold, Server: &b.server, Stack: &b.stack, Quotas: &b.quotas, Reserve: reserve}
	b.Account = &b.Bucket
	return b
}

// take charges so many claims.
func (b *bucket) take(now monotime.Time, n int, urgent bool) {
	for range n {
		b.stack.Take(now, now, &limit.Demand{Claims: 1, N: 1}, urgent)
	}
}

func one(urgent bool) *Claim { return &Claim{Demand: limit.Demand{Claims: 1, N: 1}, Urgent: urgent} }

// wantDue checks when a claim may go, and for what it waits; and that Open and OneToken say the same.
func (b *bucket) wantDue(t *testing.T, now monotime.Time, c *Claim, asked *Bucket, in, unreserved time.Duration, cause limit.Cause) {
	t.Helper()
	var d limit.Due
	c.To = asked
	b.Due(&d, now, now, c)
	if d.At.Sub(now) != in || d.Unreserved.Sub(now) != unreserved || d.Cause != cause {
		t.Errorf("due in %v, for an urgent one in %v, %q; want %v, %v, %q", d.At.Sub(now), d.Unreserved.Sub(now), d.Cause, in, unreserved, cause)
	}
	if open := b.Open(now, c); open != (in == 0) {
		t.Errorf("open: %v, though due in %v", open, in)
	}
	if but := b.ButForStore(now, c); but.At != d.At {
		t.Errorf("due in %v, but for a store in %v", in, but.At.Sub(now))
	}
	for _, bound := range []time.Duration{in - 1, in} {
		if _, beyond := b.OneToken(now, c, bound); beyond != (in > bound) {
			t.Errorf("one token: beyond %v: %v, though due in %v", bound, beyond, in)
		}
	}
}

// TestDue: a hold, the quotas, and what is reserved of them delay a claim; the latest instant counts.
func TestDue(t *testing.T) {
	const s = time.Second
	b := newBucket("1/s burst 4", 0.5)
	b.wantDue(t, start, one(false), &b.Bucket, 0, 0, "")
	b.hold.Extend(at(s), 0, start)
	b.wantDue(t, start, one(false), &b.Bucket, s, s, limit.Hold)
	b.hold.End(start)

	b.take(start, 2, false) // the half that is for all
	b.wantDue(t, start, one(false), &b.Bucket, 2*s, 0, limit.Pace)
	b.wantDue(t, start, one(true), &b.Bucket, 0, 0, "")

	b.take(start, 2, true)
	b.wantDue(t, start, one(true), &b.Bucket, s, s, limit.Pace)
	b.hold.Extend(at(s), 0, start)
	b.wantDue(t, start, one(true), &b.Bucket, s, s, limit.Hold)
	b.hold.Extend(at(3*s), 0, start)
	b.wantDue(t, start, one(false), &b.Bucket, 3*s, 3*s, limit.Hold)
}

// TestDueOfServer: what the server allows delays claims to this bucket, and not those to one below it; but
// where it states the quota, that is believed for both, unless the one below has such a quota itself, or is
// that of a tenant.
func TestDueOfServer(t *testing.T) {
	const s = time.Second
	below, tenant, own := newBucket("", 0), newBucket("", 0), newBucket("9/m", 0)
	b := newBucket("9/m", 0)
	below.Account, own.Account = &b.Bucket, &b.Bucket
	b.take(start, 9, false)
	for _, l := range []*bucket{b, below, tenant, own} {
		b.wantDue(t, start, one(false), &l.Bucket, 60*s, 60*s, limit.Pace)
	}
	state := func(l *bucket, remaining int64) {
		tk := adaptive.Ticket{Sent: start, N: 1}
		l.server.Take(start, start, &one(false).Demand, nil, 0, &tk)
		l.server.End(&tk, nil)
		l.server.Learn(start, &tk, adaptive.Kind{}, &adaptive.Answer{Statements: []quota.Statement{{Limit: 9, Remaining: remaining, Reset: 20 * s, ResetKnown: true, Window: 60 * s}}})
	}
	for _, l := range []*bucket{below, tenant, own} {
		state(l, 5)
	}
	b.wantDue(t, start, one(false), &below.Bucket, 0, 0, "")
	b.wantDue(t, start, one(false), &tenant.Bucket, 60*s, 60*s, limit.Pace)
	b.wantDue(t, start, one(false), &own.Bucket, 60*s, 60*s, limit.Pace)
	state(b, 0)
	b.wantDue(t, start, one(false), &b.Bucket, 20*s, 20*s, limit.Window)
}
