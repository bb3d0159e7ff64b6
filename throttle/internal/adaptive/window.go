package adaptive

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// window is what is known of one limit of the server.
//
// What may go is the least Remaining less what is in flight. The least is taken over the
// answers of the last two round trips (see tally). That never admits too much, in whatever
// order answers arrive, because what the server counted after it wrote the last of them is
// still in flight; and it follows at once when a window rolls over, tokens trickle back or
// somebody else uses the limit, without knowing which of these it was.
//
// When nothing remains, everybody waits until the reset, and then one request goes to look,
// unless the server is known to refill (see refill). A limit whose reset nobody would wait
// for is spread out before that, see Spend.
type window struct {
	name   string
	bucket string
	unit   string        // canonical
	text   string        // name and limit
	limit  int           // zero if it is not known, or not in what requests cost
	span   time.Duration // zero if not stated
	stated uint64        // when an answer last spoke of it, in order
	heard  monotime.Time // when an answer spoke of it last
	went   monotime.Time // when a request went last

	remaining int    // least Remaining of the answers since two round trips ago
	next      int    // least Remaining of the answers since epoch
	epoch     uint64 // an answer to a request granted after this, in order, makes next the least

	reset  reset
	refill refill
	others otherUsers
	spread spread // over the time to the reset

	spent   monotime.Time // when nothing remained first; zero while something does
	until   monotime.Time // when nothing remains, one request may go and look at this time
	probing bool          // it is on its way
	probed  monotime.Time // since then
	on      guess         // the guess on which it looks, if it looks before the reset
	whole   proof         // of guessWhole
	misses  int           // requests in a row that went to look after the reset and were refused

	overlap overlap
}

const (
	// patience is how long one request that went ahead may keep the others waiting for its
	// answer. After it, one more goes.
	patience = 5 * time.Second

	// firstHold is how long the bucket is held after a refusal for which the server gave
	// neither a hint nor a reset. It doubles with each further refusal.
	firstHold = 100 * time.Millisecond

	// unsaidReset is when to look again at a limit that is used up and whose server does not
	// say when it will be restored.
	unsaidReset = time.Second
)

// due returns when n may go, not before t, if ahead tokens go before, keep are reserved and so
// many are in flight; and whether what remains suffices for that.
func (w *window) due(t monotime.Time, ahead, n, keep, inFlight int, optimist bool) (at monotime.Time, open bool) {
	left := w.remaining - inFlight - keep
	missing := ahead + n - left
	// Others may have as much under way, for each of ours, as they had before.
	short := missing <= 0 && inFlight+ahead > 0 && w.others.with(inFlight+ahead+n) > w.remaining-keep
	if missing <= 0 && !short {
		if w.remaining < w.spread.below && !w.refill.refills {
			gap := min(max(w.reset.early.Sub(w.went), 0)/time.Duration(max(w.remaining-keep, 0)+1), w.spread.gap)
			return max(t, w.went.Add(gap*time.Duration(ahead+n))), false
		}
		return t, true
	}
	at = t
	switch {
	case w.refill.refills:
		since := w.refill.paced
		if left+keep > 0 {
			since = w.heard // some is left, but not enough
		}
		at = max(t, since.Add(w.refill.refillIn(max(ahead+n-max(left, -keep), 1))))
	case short && optimist:
	case w.probing && t >= w.until:
		if !optimist {
			at = max(t, w.probed.Add(patience))
		}
	case w.remaining > 0 && inFlight > 0 && optimist:
		// The answers to what is in flight may leave something over.
	default:
		at = max(t, w.until)
		if more := ahead + n - max(w.limit-keep, n); more > 0 && w.limit > 0 && w.span > 0 {
			windows := math.Ceil(float64(more) / float64(w.limit))
			at = at.Add(monotime.Seconds(windows * w.span.Seconds()))
		}
	}
	return at, false
}

// take counts a grant, with which so much is in flight. It reports whether the request goes to
// see whether there is quota again.
func (w *window) take(now monotime.Time, inFlight int) (probe bool) {
	w.went = now
	left := w.remaining - inFlight
	if left <= 0 {
		w.refill.paced = now
	}
	if left >= 0 || w.refill.refills {
		return false
	}
	w.probing, w.probed = true, now
	return true
}

// learn takes in a statement of an answer, at a place in the order of grants and answers, after
// which so much is in flight.
func (w *window) learn(now monotime.Time, t *Ticket, st *quota.Statement, a *Answer, order uint64, inFlight int, c *Config) {
	cost := a.cost(t)
	o := outcome{
		sent: t.Sent, now: now, n: asked(&cost, w.unit), refused: a.Refused, probe: t.probe && w.probing, on: w.on,
		remaining: max(st.Remaining, 0), before: w.remaining, early: w.reset.early, late: w.reset.late, spent: w.spent,
	}
	limit := max(st.Limit, 0)
	if _, known := cost.Costs[w.unit]; w.unit != "" && !known {
		limit = 0 // how fast requests use it up is not known
	}
	if w.text == "" || limit != w.limit {
		w.limit, w.text = limit, label(cmp.Or(w.name, w.bucket), limit, w.unit)
	}
	if st.Window > 0 {
		w.span = st.Window
	}
	o.limit, o.span = w.limit, w.span
	w.went, w.heard = max(w.went, t.Sent), now
	o.newer = w.tally(t.order, o.remaining, order)
	w.stated = order
	w.narrow(&o, st)
	w.refill.observe(&o, &w.reset, c.MaxHold)

	switch {
	case w.remaining > 0:
		w.spent = 0
	case w.spent == 0:
		w.spent = now
		w.refill.doubtEarly.use()
		w.refill.doubtRefills.use()
	}
	w.others.count(&o, inFlight, w.remaining <= 0)
	w.spread = c.plan(w.limit, w.reset.late.Sub(now))
	w.missed(&o)
	w.scheduleProbe(now, c)
	if a.Refused && a.Hold > 0 {
		// The hint holds the bucket; it says when one request may go, where a reset is when
		// all is back (and RFC 9110's Retry-After takes precedence, says
		// draft-ietf-httpapi-ratelimit-headers).
		w.until = min(w.until, now.Add(min(a.Hold, monotime.Longest)))
	}
}

// tally takes in how much remained. Answers have an order only where the request of one was
// sent after the other had come back. An answer to a request that was sent after epoch was
// written after all that had come back by then; so the least of what has come back since is a
// lower bound of what there is now, but for what is in flight, and all that is older is out of
// date. It reports whether the answer, to a request that was granted at a place in the order,
// is newer than all before it.
func (w *window) tally(granted uint64, remaining int, order uint64) (newer bool) {
	if granted >= w.stated {
		// It was sent after all the others had come back (or is the first).
		w.remaining, w.next, w.epoch = remaining, math.MaxInt, order
		return true
	}
	w.remaining, w.next = min(w.remaining, remaining), min(w.next, remaining)
	if granted < w.epoch {
		return false
	}
	w.remaining, w.next, w.epoch = w.next, math.MaxInt, order
	return true
}

// narrow takes in what a statement says of the reset.
func (w *window) narrow(o *outcome, st *quota.Statement) {
	down := w.reset.roundsDown
	n := w.reset.narrow(o.sent, o.now, st, w.limit)
	o.moved = n.moved
	if n.another {
		w.overlap.statedTo = nil
	}
	if o.rounded = w.reset.roundsDown && !down; o.rounded {
		w.whole = untried // what was tried was meant for a reset that is rounded up
	}
}

// missed notes whether a request that went to look after the reset came too early. Then resets
// are rounded down here, and come up to a step later than stated; if that is known already,
// the next request goes after a while.
func (w *window) missed(o *outcome) {
	switch {
	case !o.probe:
	case !o.refused:
		w.misses = 0
		if w.on == guessWhole {
			w.whole = right
		}
	case w.on == guessWhole:
		w.whole = wrong
	case o.sent < o.late:
	case o.rounded:
	case !w.reset.roundsDown && w.reset.resolution > 0 && w.reset.late <= o.now:
		w.reset.roundDown()
		w.whole = untried
	case w.reset.late > o.now && !w.refill.suspect:
		// The reset came and brought nothing, and the next one is announced: either somebody
		// else took all of it, or it comes back bit by bit from now on.
		w.refill.suspect, w.refill.doubtEarly.skip, w.spent = true, 0, o.now
	default:
		w.misses++
	}
}

// scheduleProbe sets when one request may go and look, should nothing remain.
func (w *window) scheduleProbe(now monotime.Time, c *Config) {
	until := w.reset.late
	w.on = noGuess
	switch {
	case w.reset.late == 0:
		until = now.Add(unsaidReset)
	case w.misses == 0 && w.spent != 0:
		until, w.on = earlyProbe(w.limit, w.spent, &w.reset, &w.refill, w.whole)
	}
	if w.misses > 0 {
		until = max(until, now.Add(doubled(firstHold, w.misses)))
	}
	hold := max(until.Sub(now), 0)
	if hold > c.MaxHold {
		hold, w.on = c.MaxHold, noGuess
	}
	if w.spent != 0 {
		hold += c.jitter(hold)
	}
	w.until = now.Add(hold)
}

// usedUp reports whether nothing remains until a reset that is known.
func (w *window) usedUp(now monotime.Time) bool { return w.remaining <= 0 && w.until > now }

// jitter returns what is added to a hold of d, so that several processes do not all come back
// in the same instant: up to a hundredth of it, at most a second, never less than the server
// asked for.
func (c *Config) jitter(d time.Duration) time.Duration {
	return time.Duration(c.Random() * float64(min(d/100, time.Second)))
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
