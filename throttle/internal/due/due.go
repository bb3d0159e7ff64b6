// Package due says whether a claim may go now in one bucket, and when at the soonest. Four things delay it, in
// this order: a [Hold]; what the server was seen to allow (package adaptive), which counts for claims to that
// bucket alone, since it was learned from the answers to such; the bucket's quotas (package limit); and what a
// Store has handed out (package lease).
//
// In come the instant, a [Claim], and what goes before it. Out comes a limit.Due. Who waits, and what several
// buckets say together, is for package throttle.
// hold.go has holds, all else is in due.go.
package due

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Claim is what a claim asks for.
type Claim struct {
	limit.Demand
	Kind   adaptive.Kind // what kind of request it is for
	Urgent bool          // it may use what is reserved
	To     *Bucket       // which it was made to: the one that is asked, or one below that
}

// Bucket is what delays claims in one bucket.
type Bucket struct {
	Hold    *Hold
	Server  *adaptive.Server // what is known of the server
	Stack   *limit.Stack     // the limits of quotas that do not live in a Store
	Lease   *lease.Lease     // what is in hand of a Store; nil without one
	Quotas  *quota.Quotas    // all of them, with all defaults written out
	Reserve float64          // the share of all that only urgent claims may use
	Account *Bucket          // that of the tenant, for which counts what a server says; of all, where there are no tenants
}

// alone is what goes before a claim that goes first. Nobody changes it.
var alone = new(limit.Ahead)

// Share is the share of what the server allows that a claim must not use.
func (b *Bucket) Share(urgent bool) float64 {
	if urgent {
		return 0
	}
	return b.Reserve
}

// Open reports whether a claim may go now.
func (b *Bucket) Open(now monotime.Time, c *Claim) bool {
	return !b.Hold.On(now) && (c.To != b || b.Server.Open(now, &c.Demand, &c.Kind, b.Share(c.Urgent))) &&
		b.Stack.Open(now, &c.Demand, c.Urgent, b.believed(c.To)) && (b.Lease == nil || b.Lease.Open(now, &c.Demand, c.Urgent))
}

// OpenForAll reports whether all may go at once that were made to this bucket, and together ask for so much, as
// far as no Store delays them.
func (b *Bucket) OpenForAll(now monotime.Time, all *limit.Demand) bool {
	return !b.Hold.On(now) && b.Server.OpenForAll(now, all, b.Reserve) && b.Stack.OpenForAll(now, all)
}

// Due sets d to when a claim may go, with nobody ahead, from an instant on. Some waits end with an answer, and
// nobody knows when that comes. A timer must be set for them, so the longest time counts for which answers are
// waited for.
func (b *Bucket) Due(d *limit.Due, now, from monotime.Time, c *Claim) {
	b.due(d, limit.View{Now: now, From: from}, alone, c)
}

// Project sets d to when a claim will go, as it looks now, if ahead goes before it. Waits that end with an
// answer do not count.
func (b *Bucket) Project(d *limit.Due, now monotime.Time, ahead *limit.Ahead, c *Claim) {
	b.due(d, limit.View{Now: now, From: now, Optimist: true}, ahead, c)
}

func (b *Bucket) due(d *limit.Due, v limit.View, ahead *limit.Ahead, c *Claim) {
	b.Hold.due(d, v.From)
	b.putOff(d, v, ahead, c)
	d.Unreserved = d.At
	if b.Reserve > 0 && !c.Urgent && !d.Never {
		b.unreserve(d, v, ahead, c)
	}
}

// unreserve puts d, which is due for an urgent claim, off for one that is not: that must also wait for the
// unreserved part. Only claims that are not urgent go before it there, so this wait is computed from the start,
// not from d.
func (b *Bucket) unreserve(d *limit.Due, v limit.View, ahead *limit.Ahead, c *Claim) {
	var left limit.Due
	b.Hold.due(&left, v.From)
	left.Unreserved = left.At
	v.Unreserved = true
	b.putOff(&left, v, ahead, c)
	switch {
	case left.Never, left.At > d.At: // after left.Unreserved only the reserve delays the claim: urgent ones may go first
		*d = left
	case d.Cause == "":
		left.Unreserved = d.Unreserved
		*d = left
	}
}

// putOff puts d off until the claim may go for all but a hold. Those ahead go as soon as the hold has ended, as
// the server and the quotas let them: what a server delays c by is no time in which the quotas would let none
// of them go. PutOff takes a pointer, since a Due is large, and who waits should need little of a stack.
func (b *Bucket) putOff(d *limit.Due, v limit.View, ahead *limit.Ahead, c *Claim) {
	before, share := &ahead.All, 0.0
	if v.Unreserved {
		before, share = &ahead.Unreserved, b.Reserve
	}
	if v.From = d.At; c.To == b {
		b.Server.Due(d, before, &c.Demand, &c.Kind, share, v.Optimist)
	} else if !v.Unreserved && ahead.Direct.Claims > 0 { // the claim waits with them for what the server allows
		b.Server.DueWith(d, &ahead.Direct, v.Optimist)
	}
	b.Stack.Due(&v, d, before, &c.Demand, b.believed(c.To))
	if b.Lease != nil && !d.Never {
		b.Lease.Due(&v, d, before, &c.Demand)
	}
}

// ButForStore returns when a claim may go, with nobody ahead, as far as no Store delays it.
func (b *Bucket) ButForStore(now monotime.Time, c *Claim) (d limit.Due) {
	if b.Hold.due(&d, now); c.To == b {
		b.Server.Due(&d, &alone.All, &c.Demand, &c.Kind, b.Share(c.Urgent), false)
	}
	b.Stack.Due(&limit.View{Now: now, From: d.At}, &d, &alone.All, &c.Demand, b.believed(c.To))
	if b.Reserve > 0 && !c.Urgent {
		b.Stack.Due(&limit.View{Now: now, From: d.At, Unreserved: true}, &d, &alone.All, &c.Demand, b.believed(c.To))
	}
	return d
}

// OneToken returns what one token of each unit, with nobody ahead, waits for; and whether it waits for longer
// than the bound. While a store cannot be reached, nobody knows for how long: then it counts for how long that
// has lasted. Without a bound, only a store is looked at.
func (b *Bucket) OneToken(now monotime.Time, one *Claim, bound time.Duration) (d limit.Due, beyond bool) {
	if b.Lease == nil && bound == monotime.Unbounded {
		return d, false
	}
	if b.Project(&d, now, alone, one); b.Lease != nil {
		return b.Lease.Beyond(now, d, &one.Demand, one.Urgent, bound)
	}
	return d, d.At.Sub(now) > bound
}

// believed is what may be believed in place of the quotas for claims that were made to asked: nothing that is
// stated to one of several tenants.
func (b *Bucket) believed(asked *Bucket) limit.Heard {
	switch {
	case asked == b:
		return b.Server
	case asked.Account != b.Account:
		return nil
	}
	return (*child)(asked)
}

// child is a bucket as it counts for the quotas of those above it.
type child Bucket

// States implements limit.Heard. What is stated to a bucket that has such a quota itself is taken to be about
// that one.
func (c *child) States(now monotime.Time, unit string, n int64, per time.Duration) bool {
	own := slices.ContainsFunc(*c.Quotas, func(q quota.Quota) bool { return q.Unit == unit && q.N == n && q.Per == per })
	return !own && c.Server.StatesForAll(now, unit, n, per)
}
