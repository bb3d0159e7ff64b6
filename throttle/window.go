package throttle

import (
	"cmp"
	"math"
	"strconv"
	"time"
)

// Statement is what a server said, in one answer, about one of its limits.
type Statement struct {
	// Name is what the server calls the limit: a policy, a resource, a bucket.
	// Empty if it gives no name. Each name has a window of its own.
	Name string

	// Bucket is which of several counters of that name the request drew on, if the
	// server says so. Each has a window of its own, too; see Limiter.Part.
	Bucket string

	// Unit is what is counted. Empty means Requests. Of another unit, the claims
	// whose Costs name it take as much as they say; of the others it is known when
	// it is used up, and not how fast.
	Unit string

	// Limit is how many tokens the server grants per window. Zero or negative
	// if it does not say.
	Limit int

	// Remaining is how many tokens were left when the answer was written.
	// Negative counts as zero.
	Remaining int

	// Reset is in how long, from the writing of the answer, the limit will be
	// restored, and ResetKnown whether the server said so. Negative counts as
	// zero.
	Reset      time.Duration
	ResetKnown bool

	// Resolution is the step in which Reset was stated: a second for whole
	// seconds. The truth lies up to so far on either side of it.
	Resolution time.Duration

	// Absolute says that Reset was stated as an instant, and measured against the
	// server's Date, which ticks in seconds. Skew is by how much the local clock
	// was ahead of Date when the request was granted. Where Date allows that both
	// clocks agree, they are taken to, which makes up for what Date is too coarse
	// to tell; where it does not, Date alone counts.
	Absolute bool
	Skew     time.Duration

	// Window is the span of the limit, zero if the server does not say.
	Window time.Duration
}

// window is what is known of one limit of the server.
//
// What may go is the least Remaining less what is in flight. The least is taken
// over the answers of the last two round trips (see tally): that never admits
// too much, in whatever order answers arrive, because what the server counted
// after it wrote the last of them is still in flight; and it follows at once
// when a window rolls over, tokens trickle back or somebody else uses the limit,
// without knowing which of these it was.
//
// When nothing remains, everybody waits until the reset, and then one request
// goes to look, unless the server is known to refill (see refill). A limit whose
// reset nobody would wait for is spread out before that, see Spend.
type window struct {
	name   string
	bucket string
	unit   string // canonical
	text   string // name and limit
	limit  int
	span   time.Duration // zero if not stated
	stated uint64        // when an answer last spoke of it, in order

	least int    // least Remaining of the answers since two round trips ago
	fresh int    // least Remaining of the answers since since
	since uint64 // an answer to a request granted after this, in order, makes fresh the least

	step        time.Duration // in which the reset was stated
	floors      bool          // it is rounded down
	opened      instant       // when the first answer that spoke of this reset was written, but for half of its round trip
	unsure      time.Duration // that half
	early, late instant       // the reset is not before early and not after late; zero if nothing is known
	heard       instant       // when an answer spoke of it last
	spent       instant       // when nothing remained first; zero while something does
	until       instant       // when nothing remains, one request may go and look at this time
	probing     bool          // it is on its way
	probed      instant       // since then
	trying      trial         // on what guess, if it looks before the reset
	whole       guess         // that of tryWhole
	spread      spread        // over the time to the reset
	went        instant       // when a request went last
	misses      int           // requests in a row that went to look after the reset and were refused

	refill
	share

	// What other buckets have to do with it, see pair.
	said   int        // Remaining that was stated last
	users  []*Limiter // that draw on it, if they are several
	saidTo *Limiter   // of them
	points int        // for their being several
	spans  int        // how many resets there were
	twins  []pair
}

// due returns when n may go, not before t, if ahead tokens go before, with
// inflight in flight, and whether what remains suffices for that.
func (w *window) due(t instant, ahead, n, keep, inflight int, optimist bool) (at instant, open bool) {
	left := w.least - inflight - keep
	missing := ahead + n - left
	// Others may have as much under way, for each of ours, as they had before.
	short := missing <= 0 && inflight+ahead > 0 && w.all(inflight+ahead+n) > w.least-keep
	if missing <= 0 && !short {
		if w.least < w.spread.from && !w.refills {
			gap := min(max(w.early.sub(w.went), 0)/time.Duration(max(w.least-keep, 0)+1), w.spread.gap)
			return max(t, w.went.add(gap*time.Duration(ahead+n))), false
		}
		return t, true
	}
	at = t
	switch {
	case w.refills:
		since := w.paced
		if left+keep > 0 {
			since = w.heard // some is left, but not enough
		}
		at = max(t, since.add(w.refillIn(max(ahead+n-max(left, -keep), 1))))
	case short && optimist:
	case w.probing && t >= w.until:
		if !optimist {
			at = max(t, w.probed.add(patience))
		}
	case w.least > 0 && inflight > 0 && optimist:
		// The answers to what is in flight may leave something over.
	default:
		at = max(t, w.until)
		if more := ahead + n - max(w.limit-keep, n); more > 0 && w.limit > 0 && w.span > 0 {
			windows := math.Ceil(float64(more) / float64(w.limit))
			at = at.add(seconds(windows * w.span.Seconds()))
		}
	}
	return at, false
}

// take counts a grant, with which inflight is in flight. It reports whether the
// request goes to see whether there is quota again.
func (w *window) take(now instant, inflight int) (probe bool) {
	w.went = now
	left := w.least - inflight
	if left <= 0 {
		w.paced = now
	}
	if left >= 0 || w.refills {
		return false
	}
	w.probing, w.probed = true, now
	return true
}

// learn takes in a statement that came with the answer to g.
func (w *window) learn(g *Grant, now instant, st *Statement, a *Answer, l *Limiter) {
	cost := g.cost()
	o := outcome{
		sent: g.sent, now: now, n: cost.learned(w.unit), refused: a.Refused, probe: g.probe && w.probing,
		remaining: max(st.Remaining, 0), before: w.least, early: w.early, late: w.late, spent: w.spent,
	}
	limit := max(st.Limit, 0)
	if _, known := cost.of[w.unit]; w.unit != "" && !known {
		limit = 0 // how fast requests use it up is not known
	}
	if w.text == "" || limit != w.limit {
		w.limit, w.text = limit, label(cmp.Or(w.name, w.bucket), limit, w.unit)
	}
	if st.Window > 0 {
		w.span = st.Window
	}
	w.went, w.heard = max(w.went, g.sent), now
	o.newer = w.tally(g, o.remaining, l.server.order)
	w.stated = l.server.order
	floors := w.floors
	o.moved = w.restate(g, now, st)
	o.floored = w.floors && !floors
	w.observe(&o, w, l.maxHold())

	switch {
	case w.least > 0:
		w.spent = 0
	case w.spent == 0:
		w.spent = now
		w.tried.use()
		w.wrong.use()
	}
	w.count(&o, w.limit, l.server.under(w), w.least <= 0)
	w.spread = l.plan(w.limit, w.late.sub(now))
	w.missed(&o)
	w.look(now, l)
	if a.Refused && a.Hold > 0 {
		// The hint holds the bucket; it says when one request may go, where a reset
		// is when all is back (and RFC 9110's Retry-After takes precedence, says
		// draft-ietf-httpapi-ratelimit-headers).
		w.until = min(w.until, now.add(min(a.Hold, ages)))
	}
}

// tally takes in how much remained. Answers have an order only where the request
// of one was sent after the other had come back. An answer to a request that was
// sent after since was written after all that had come back by then; so the
// least of what has come back since is a lower bound of what there is now, but
// for what is in flight, and all that is older is out of date. It reports
// whether the answer is newer than all before it.
func (w *window) tally(g *Grant, remaining int, order uint64) (newer bool) {
	if g.order >= w.stated {
		// It was sent after all the others had come back (or is the first).
		w.least, w.fresh, w.since = remaining, math.MaxInt, order
		return true
	}
	w.least, w.fresh = min(w.least, remaining), min(w.fresh, remaining)
	if g.order < w.since {
		return false
	}
	w.least, w.fresh, w.since = w.fresh, math.MaxInt, order
	return true
}

// label is what errors call a window.
func label(name string, limit int, unit string) string {
	if name == "" {
		name = "the server's limit"
	}
	if limit > 0 {
		name += " of " + strconv.Itoa(limit)
	}
	if unit != "" {
		name += " " + unit
	}
	return name
}
