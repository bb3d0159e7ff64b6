package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file says when a request may go that draws on a limit, and counts that it goes.

// due returns when what is wanted may go, not before t. Open says that what remains suffices for all of it.
func (w *window) due(t monotime.Time, q want) (at monotime.Time, open bool) {
	if q.n == 1 && w.refill.shared() { // the pace is that of single tokens
		at = w.refill.stock.due(t, w.limit(), w.refill.maxHold, &q)
		return at, at <= t
	}
	left := w.left(&q)
	if left-q.ahead-q.n < w.refill.crowd.leave(w.limit(), q.inFlight+q.ahead) {
		return w.dueLater(t, &q, false), false
	}
	// Others use perOurToken for each token of ours, have as much in flight, and may send
	// more. A request of ours that goes alone is never kept back for that.
	crowded := q.inFlight+q.ahead > 0 && w.others.room(t, q.inFlight+q.ahead+q.n) > w.remaining-q.reserve
	switch {
	case crowded:
		return w.dueLater(t, &q, true), false
	case int64(left) < w.spread.Below && !w.refill.refills:
		// gap = time to the reset / (left + 1)
		gap := min(max(w.reset.early.Sub(w.last.at), 0)/time.Duration(left+1), w.spread.Gap)
		return max(t, w.last.at.Add(gap*time.Duration(q.ahead)+min(gap*time.Duration(q.n), w.spread.Gap))), true
	}
	return t, true
}

// left returns what remains, but for what is in flight and for what is left to others.
func (w *window) left(q *want) int { return w.remaining - q.inFlight - q.reserve }

// keeps reports whether what is wanted must wait at t, with nobody ahead, be it for an answer alone. If what
// remains does not suffice and the reset has come, the next request looks.
func (w *window) keeps(t monotime.Time, q want) bool {
	q.ahead, q.optimist = 0, false
	at, _ := w.due(t, q)
	return at > t
}

// dueLater is due if what remains does not suffice, or might not because of others
// (crowded).
func (w *window) dueLater(t monotime.Time, q *want, crowded bool) monotime.Time {
	left := w.left(q)
	switch {
	case w.refill.refills:
		at := w.dueAtRate(q, crowded)
		if q.optimist && !w.refill.crowd.on() {
			at = min(at, w.backAt(t, q.ahead+q.n, left))
		}
		return w.others.unseen(t, max(t, at), crowded)
	case crowded && q.optimist:
		return t
	case w.looking && t >= w.nextLook && !q.optimist:
		return max(t, w.unanswered(q.inFlight+q.ahead+q.n))
	case q.optimist && w.remaining > 0 && q.ahead+q.n-left <= q.inFlight:
		return t // the answers to what is in flight may leave something over
	}
	at := w.nextLook
	if q.optimist && w.usedUpSince == 0 {
		signs := w.signs()
		at = min(at, signs.earliest(t))
	}
	at = w.others.unseen(t, max(t, w.oneFirst(at, crowded)), crowded)
	perWindow := max(w.stated-q.reserve, q.n, 1)
	if more := q.ahead + q.n - max(left, 0) - perWindow; more > 0 && w.stated > 0 {
		// More than one window is needed: the rest goes in the windows that follow.
		at = at.Add(w.seen.timeFor(float64(more)/float64(perWindow), w.span))
	}
	return at
}

// dueAtRate is dueLater where the limit comes back token by token.
func (w *window) dueAtRate(q *want, crowded bool) monotime.Time {
	since, left := w.refill.pacedFrom, w.left(q)
	if left+q.reserve > 0 && !w.refill.crowd.on() {
		since = w.heardAt // something is left, but not enough
	}
	// Requests in flight beyond what remained were paced, and each has moved pacedFrom: they are not waited for
	// again.
	in := w.refill.timeFor(max(q.ahead+q.n-max(left, -q.reserve), 1), q.optimist)
	if crowded && w.limit() >= leastUnseen && w.refill.span >= surelySteps*w.reset.resolution { // else all that wait would go at once
		since = max(since, w.last.at)
	}
	if q.ahead == 0 {
		in = w.patient(in, since)
	}
	return since.Add(in)
}

// backAt returns when n may be back, of which so much is left by the latest answer, and no sooner than the
// limit allows. The next answer will show that, and then they go: so those who line up may expect it.
func (w *window) backAt(t monotime.Time, n, left int) monotime.Time {
	at := w.heardAt.Add(w.refill.timeFor(max(n-left, 1), true))
	if over := n - left + w.remaining - w.limit(); over > 0 {
		at = max(at, t.Add(w.refill.timeFor(over, true)))
	}
	return at
}

// unanswered returns when one more may go before a look is answered, with which so much is in flight: a look
// that is not refused is served, however long that takes.
func (w *window) unanswered(inFlight int) monotime.Time {
	at := w.lookSent.Add(Patience)
	if inFlight <= w.limit() {
		return decided(w.lookSent, at, w.quick)
	}
	return at
}

// oneFirst returns when one more request may go of those that wait until an instant, as a reset is. Of those
// that are kept back for others (crowded), one goes then, and the rest waits for its answer: the others come
// then, too, and that a reset has come does not say how much is there.
func (w *window) oneFirst(at monotime.Time, crowded bool) monotime.Time {
	if crowded && w.last.at >= at {
		return w.last.at.Add(Patience)
	}
	return at
}

// patient bounds for how long a request waits from an instant on at a rate, which may be wrong, whatever the
// request costs.
func (w *window) patient(in time.Duration, since monotime.Time) time.Duration {
	in = w.dropped.within(min(in, w.refill.maxHold))
	if toReset := w.reset.late.Sub(since); w.refill.resetLooks > 0 && w.refill.slowerThan(toReset) {
		in = min(in, toReset)
	}
	return in
}

// take counts a grant. So much is claimed with it: it is in flight, or reserved for others. It
// reports whether the request is a look.
func (w *window) take(now monotime.Time, claimed int) (look bool) {
	beside := claimed > 1 && w.reset.late != 0 && w.last.at >= w.reset.late
	w.last.note(now)
	if w.refill.shared() {
		w.refill.stock.take(now, w.limit(), claimed-1)
	}
	left := w.remaining - claimed
	if left <= w.refill.crowd.leave(w.limit(), claimed) {
		w.refill.pacedGoes(now)
	}
	if left >= 0 || w.refill.refills {
		return false
	}
	w.looking, w.lookSent, w.besideLook = true, now, beside
	return true
}

// cancel takes back a grant that went at an instant and was not sent.
func (w *window) cancel(went monotime.Time) {
	w.last.takeBack(went)
	w.refill.cancel(went)
}
