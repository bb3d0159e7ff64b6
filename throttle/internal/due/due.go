// Package due says whether a claim may go now in one bucket, and when at the soonest. Four things delay it, in
// this order: a [Hold]; what the server was seen to allow (package adaptive), which counts for claims to that
// bucket alone, since it was learned from the answers to such; the bucket's quotas (package limit); and what a
// Store has handed out (package lease).
//
// In come the instant, a [Claim], what goes before it, and the [Bucket] that it was made to: this one, or one
// below it. Out comes a limit.Due. Who waits, and what several buckets say together, is for package throttle.
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

// Open reports whether a claim that was made to asked may go now.
func (b *Bucket) Open(now monotime.Time, c *Claim, asked *Bucket) bool {
	return !b.Hold.On(now) && (asked != b || b.Server.Open(now, &c.Demand, &c.Kind, b.Share(c.Urgent))) &&
		b.Stack.Open(now, &c.Demand, c.Urgent, b.believed(asked)) && (b.Lease == nil || b.Lease.Open(now, &c.Demand, c.Urgent))
}

// OpenForAll reports whether all may go at once that were made to this bucket, and together ask for so much, as
// far as no Store delays them.
func (b *Bucket) OpenForAll(now monotime.Time, all *limit.Demand) bool {
	return !b.Hold.On(now) && b.Server.OpenForAll(now, all, b.Reserve) && b.Stack.OpenForAll(now, all)
}

// Due sets d to when a claim that was made to asked may go, not before t, if ahead goes before it. Some waits
// end with an answer, and nobody knows when that comes. A timer must be set for them, so the longest time
// counts for which answers are waited for; but for a projection (optimist) such waits do not count.
func (b *Bucket) Due(d *limit.Due, now, t monotime.Time, ahead *limit.Ahead, c *Claim, asked *Bucket, optimist bool) {
	b.Hold.due(d, t)
	b.putOff(now, d, ahead, c, asked, false, optimist)
	d.Unreserved = d.At
	if b.Reserve > 0 && !c.Urgent && !d.Never {
		b.unreserve(now, t, d, ahead, c, asked, optimist)
	}
}

// unreserve puts d, which is due for an urgent claim, off for one that is not: that must also wait for the
// unreserved part. Only claims that are not urgent go before it there, so this wait is computed from the start,
// not from d.
func (b *Bucket) unreserve(now, t monotime.Time, d *limit.Due, ahead *limit.Ahead, c *Claim, asked *Bucket, optimist bool) {
	var left limit.Due
	b.Hold.due(&left, t)
	left.Unreserved = left.At
	b.putOff(now, &left, ahead, c, asked, true, optimist)
	switch {
	case left.Never, left.At > d.At: // after left.Unreserved only the reserve delays the claim: urgent ones may go first
		*d = left
	case d.Cause == "":
		left.Unreserved = d.Unreserved
		*d = left
	}
}

// putOff puts d off until the claim may go for all but a hold; if unreserved is set, with what is left to
// claims that are not urgent. Those ahead go as soon as the hold has ended, as the server and the quotas let
// them: what a server delays c by is no time in which the quotas would let none of them go. PutOff takes a
// pointer, since a Due is large, and who waits should need little of a stack. See Due.
func (b *Bucket) putOff(now monotime.Time, d *limit.Due, ahead *limit.Ahead, c *Claim, asked *Bucket, unreserved, optimist bool) {
	before, share, from := &ahead.All, 0.0, d.At
	if unreserved {
		before, share = &ahead.Unreserved, b.Reserve
	}
	if asked == b {
		b.Server.Due(d, before, &c.Demand, &c.Kind, share, optimist)
	} else if !unreserved && ahead.Direct.Claims > 0 { // the claim waits with them for what the server allows
		b.Server.DueWith(d, &ahead.Direct, optimist)
	}
	b.Stack.Due(now, from, d, before, &c.Demand, unreserved, optimist, b.believed(asked))
	if b.Lease != nil && !d.Never {
		b.Lease.Due(now, from, d, before, &c.Demand, unreserved, optimist)
	}
}

// ButForStore returns when a claim that was made to asked may go, with nobody ahead, as far as no Store delays
// it.
func (b *Bucket) ButForStore(now monotime.Time, c *Claim, asked *Bucket) (d limit.Due) {
	if b.Hold.due(&d, now); asked == b {
		b.Server.Due(&d, &alone.All, &c.Demand, &c.Kind, b.Share(c.Urgent), false)
	}
	b.Stack.Due(now, d.At, &d, &alone.All, &c.Demand, false, false, b.believed(asked))
	if b.Reserve > 0 && !c.Urgent {
		b.Stack.Due(now, d.At, &d, &alone.All, &c.Demand, true, false, b.believed(asked))
	}
	return d
}

// OneToken returns what one token of each unit, with nobody ahead, waits for; and whether it waits for longer
// than the bound. While a store cannot be reached, nobody knows for how long: then it counts for how long that
// has lasted. Without a bound, only a store is looked at.
func (b *Bucket) OneToken(now monotime.Time, one *Claim, asked *Bucket, bound time.Duration) (d limit.Due, beyond bool) {
	if b.Lease == nil && bound == monotime.Unbounded {
		return d, false
	}
	if b.Due(&d, now, now, alone, one, asked, true); b.Lease != nil {
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
