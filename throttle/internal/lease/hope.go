package lease

import (
	"cmp"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Hope is what calls may bring a claim that waits.
type Hope struct {
	calls  int     // under way that are made because of the claim, of any Lease; not all ask for it: one may do something else first
	met    *flight // the call that was under way when the claim came to the line: another one comes after it
	ready  *flight // the latest call that was made when enough was in hand for the claim to go, but for others: so does then
	over   *flight // the latest call after which none is made for the claim
	served int     // how many calls, of any Lease, had slots for the claim
}

// Called reports whether a call under way is made because of the claim.
func (h *Hope) Called() bool { return h.calls > 0 }

// mostServed bounds how many calls have slots for a claim that does not go by them, since these go to claims
// that came later and go first, or since a bucket above has no slots yet: so a claim that must not wait is
// refused all the same where more urgent ones come all the time.
const mostServed = 6

// flight stands for a call. It does not lead to those because of which the call is made: they lead to the call
// under way when they came, and so on, to all who ever waited.
type flight struct {
	full bool // there was no room for more asks: another call follows, for the claims behind
}

// called is those because of which a call is made.
type called struct {
	hopes  []*Hope
	flight *flight
}

// flights is the call under way, and those before and after it.
type flights struct {
	now     *flight // nil if there is none, or it is overdue
	overdue bool    // the one that was under way does not return, and counts as failed
	ended   *flight // the latest one, until it is known which one follows; else nil
	next    *flight // the one that is about to be made, if it may ask for those in line
}

// calling reports whether a call has not ended yet. No other one is made before.
func (s *flights) calling() bool { return s.now != nil || s.overdue }

// begin notes that a call is made because of those with these hopes.
func (s *flights) begin(hopes []*Hope) called {
	s.now, s.next = cmp.Or(s.next, new(flight)), nil
	for _, h := range hopes {
		h.calls++
	}
	return called{hopes, s.now}
}

// end notes that a call has ended, or is overdue, after which it ends once more.
func (s *flights) end(c *called) {
	if s.now == c.flight {
		for _, h := range c.hopes {
			h.calls--
		}
	}
	s.now, s.ended = nil, c.flight
}

// answer notes whether a call had slots that may be used now for the i-th of those because of which it was
// made. If so, and the claim does not go by them, another call is made for it.
func (c *called) answer(i int, came bool) {
	h := c.hopes[i]
	if h.served++; !came || h.served >= mostServed {
		h.over = c.flight
	}
}

// mayBring reports whether a call may still be for a claim that has come to the line, but for those that are
// made because of it.
func (s *flights) mayBring(h *Hope) bool {
	if s.ended != nil {
		return s.ended != h.over
	}
	return s.now != nil && (s.now == h.met || s.now == h.ready || s.now.full)
}

// vain is how long replies have had nothing for the claim that is first in line.
type vain struct {
	first    *Hope         // of the claim
	since    monotime.Time // when a reply had nothing for it first
	last     monotime.Time // and last
	promised monotime.Time // the earliest instant at which a reply said that there is a slot
}

// mostVain is for how long a store may have nothing though it said that it has: a log gets through all cells of
// the largest cost in some 110 calls, and each may take a few hundredths of a second.
const mostVain = 10 * time.Second

// goesOn is how far apart two replies are at the most: who waits is asked for each Horizon, and a call takes a
// second at most (Timeout).
const goesOn = Horizon + time.Second

// note takes in a reply that had so many slots which can be used, while these claims waited, and when it says
// that the next slot can be had.
func (v *vain) note(now monotime.Time, waiting []*Hope, got []int, next monotime.Time) {
	switch {
	case len(waiting) == 0 || !slot.Empty(got):
		*v = vain{}
	case v.first != waiting[0] || now.Sub(v.last) > goesOn: // it did not wait for the store meanwhile, or nobody asked
		*v = vain{waiting[0], now, now, next}
	default:
		v.last, v.promised = now, min(v.promised, next)
	}
}

// broken reports whether the store has said for so long that it has a slot, and has had none, that it need not
// be asked often.
func (v *vain) broken(now monotime.Time) bool {
	return v.first != nil && now.Sub(v.promised) >= mostVain
}

// lasts reports whether that has lasted for longer than a bound, and goes on.
func (v *vain) lasts(now monotime.Time, bound time.Duration) bool {
	return v.first != nil && now.Sub(v.last) <= goesOn && v.last.Sub(v.since) > max(bound, mostVain)
}
