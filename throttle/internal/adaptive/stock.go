package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// stock is how clients that do not know of each other share a limit that comes back token by token, at a rate
// that resets say, or that was seen. Each goes at a pace,
//
//	rate · part^stockWeight · e^(stockSteep · (there/scale − 1))
//
// where rate is what comes back for all, part is ours of what is used, and there is what remains. So all are
// the slower the less remains, and are at one at a stock of some tokens, whatever each takes its part for: if
// their sum is too large, less remains. One who finds much does not send all of that at once, since others find
// it as well: see flight.
//
// Where a quarter of the limit or more comes back in a round trip, what answers say is of long ago, and a pace
// that followed it closely would swing. There it is
//
//	rate · part · e^((there − limit/2)/(rate · round trip))
//
// That begins once others are certain. Each token that is used moves the reset on by the time in which one
// comes back; a reset that is later than our tokens explain was moved by others. Coarse resets do not show
// that, nor do any to a process that has much under way: there it begins once others are likely, see
// refill.othersLikely.
//
// In come answers (note) and requests (take); out comes when a request may go (due).
type stock struct {
	on          bool    // others are certain, or likely where resets do not show them
	even        bool    // the limit comes back at a rate that is known
	stale       bool    // what answers say is of long ago
	least, most float64 // which is between these, in tokens per second

	part  float64       // ours of what is used; zero if it is not known
	level float64       // so much was there
	at    monotime.Time // when an answer that the server wrote then would have come; zero while the rate is not known
	ours  int           // used by us since
	trip  time.Duration // a short round trip of late: that of a queue lasts as long as the queue does

	credit   float64 // of a request
	credited monotime.Time

	pricing     pricing       // prices that nobody says, and that do not explain what was used
	early, late monotime.Time // the reset, as the newest answer said; zero if not known
	full        monotime.Time // when the limit is full at the soonest, as that answer said
	alone       monotime.Time // the reset at the latest, if all were ours; zero if not known
	used        int           // by us since
}

// The numbers are those of the careful readers of buckets in internal/tests/simulation/read_test.go, as a
// search has found them.
const (
	stockSteep  = 3.84
	stockWeight = 0.563
	stockScale  = 6.12  // tokens, where others use most
	stockSmall  = 0.731 // the scale is so much of the limit at most
	stockAlone  = 20    // and so many times the part of others, of that
	stockThin   = 0.5   // and so many tokens at least

	stockOver   = 5.68  // our part is that of so many tokens, about
	stockFlight = 0.107 // so much of our part of what is there may be in flight,
	stockTrips  = 1.5   // and so much of our part of what comes back in a round trip
	stockGuard  = 0.35  // what comes back is taken to be there so much of a round trip later
	stockFull   = 20    // so many scales are as good as more
)

const (
	stockLeast  = 3    // the limit is of so many tokens at least
	stockKnown  = 1.5  // the rate is known if the most is less than so many times the least
	stockStale  = 0.25 // if so much of the limit comes back in a round trip, what answers say is of long ago, until it is half of that
	stockMemory = 4    // then our part is that of what comes back in so many round trips, if that is more than stockOver
	stockSlower = 1.05 // by so much the short round trip grows with each answer
	stockAway   = 0.9  // if our part is more, others may be gone
	stockSure   = 1    // others have used so many tokens, at the least
)

// note takes in an answer, and between which bounds the rate is. It reports whether others are certain to use
// the limit.
func (s *stock) note(o *outcome, least, most float64) (others bool) {
	if !o.refused {
		s.ours, s.used = min(s.ours+o.n, maxTokens), min(s.used+o.n, maxTokens)
	}
	if !o.newest {
		return false
	}
	trip := o.now.Sub(o.sent)
	if s.trip = min(trip, time.Duration(stockSlower*float64(s.trip))); s.trip <= 0 {
		s.trip = trip
	}
	s.least, s.most = least, most
	if s.even = least > 0 && most < stockKnown*least && o.limit >= stockLeast; !s.even {
		s.at, s.alone, s.late = 0, 0, 0
		return false
	}
	if meanwhile := s.trip.Seconds() * least / float64(o.limit); meanwhile > stockStale || meanwhile < stockStale/2 {
		s.stale = meanwhile > stockStale
	}
	if s.stale { // so it may be a log, whose resets say anything
		s.alone, s.late = 0, 0
	} else {
		others = s.seesOthers(o)
	}
	s.hear(o)
	return others
}

// seesOthers reports whether the reset is later than our tokens explain: those that were answered since the
// answer before, and those in flight, which may have been counted. They move on the reset that was explained
// before (alone); or, if the limit was full meanwhile, the latest instant at which the request came to the
// server: that of its answer, since it may have been held up on its way; by the clock of the server, as long
// before the reset at least as what is missing takes to come back.
func (s *stock) seesOthers(o *outcome) (others bool) {
	if o.resetLate == 0 {
		return false
	}
	flight := max(o.inFlight(), 0)
	s.refute(o, flight)
	from, came := o.sent, o.now // as resetEarly and resetLate count from
	if o.inLeast != o.inMost {  // an instant, by the clock of the server
		came = o.resetLate.Add(-monotime.Seconds(float64(max(o.limit-o.remaining-1, 0)) / s.most))
		from = came
	}
	others = s.alone != 0 && o.resetEarly > max(s.alone, from).Add(s.time(float64(s.used+flight+stockSure)))
	ours := max(s.alone, came).Add(s.time(float64(s.used)))
	if s.alone == 0 || others {
		ours = o.resetLate
	}
	s.alone, s.used = min(ours, o.resetLate), 0
	return others && s.pricing.none(o.limit)
}

// refute finds out which prices do not explain by how much the reset has moved on since the answer before.
// Where the limit may have been full meanwhile, if all was ours, that says nothing.
func (s *stock) refute(o *outcome, flight int) {
	fewest, all := 0, s.used+flight
	if !o.refused {
		fewest = o.n
	}
	least, most := o.resetEarly.Sub(s.late).Seconds()*s.least/pricingDrifts, o.resetLate.Sub(s.early).Seconds()*s.most*pricingDrifts
	missing, full := o.inLeast.Seconds()*s.least-pricingHalf, s.full < o.now
	for price := lowestPrice(o.limit); price <= min(o.limit, highestPrice) && s.late != 0; price++ {
		if s.pricing.open(price) && !(full && missing <= float64(price*all)) {
			s.pricing.refute(price, least, most, fewest, all)
		}
	}
	s.early, s.late, s.full = o.resetEarly, o.resetLate, o.sent.Add(o.inLeast)
}

// time returns how long n tokens take to come back at most.
func (s *stock) time(n float64) time.Duration { return monotime.Seconds(n / s.least) }

// rate returns about at which rate the limit comes back.
func (s *stock) rate() float64 { return math.Sqrt(s.least * s.most) }

// hear takes in the newest answer. What was there is known to a token, and where the reset is known, to a part
// of one.
func (s *stock) hear(o *outcome) {
	rate, came := s.rate(), min(o.now, o.sent.Add(s.trip))
	low, high := float64(o.remaining), float64(min(o.remaining+1, o.limit))
	if o.resetLate != 0 && o.inMost > 0 {
		least, most := float64(o.limit)-o.inMost.Seconds()*rate, float64(o.limit)-o.inLeast.Seconds()*rate
		low, high = min(max(least, low), high), max(min(most, high), low)
	}
	if s.part == 0 {
		s.part = 1
	}
	if s.at == 0 {
		s.level, s.credit, s.credited = low, 0, o.now
	} else {
		if s.on {
			s.earn(o.now, o.limit, o.flight)
		}
		ours := float64(s.ours)
		there := min(s.level+rate*max(came.Sub(s.at), 0).Seconds(), float64(o.limit)) - ours
		over := stockOver
		if s.stale {
			over = max(over, stockMemory*s.inTrip())
		}
		s.part = max(crowdLeast, (s.part*over+ours)/(over+ours+max(there-high, 0)))
		s.level = min(max(there, low), high)
	}
	if s.at, s.ours = came, 0; o.refused {
		s.credit = 0
	}
}

// begin has us share the limit with others.
func (s *stock) begin(t monotime.Time) {
	s.on, s.part, s.credit, s.credited = true, min(s.part, crowdPart), 0, t
}

// inTrip returns how many tokens come back in a round trip, and one at least.
func (s *stock) inTrip() float64 { return max(s.rate()*s.trip.Seconds(), 1) }

// there returns how much is there for what goes at an instant, if so many of ours are in flight.
func (s *stock) there(t monotime.Time, limit, inFlight int) float64 {
	since := t.Sub(s.at).Seconds() + (1.5-stockGuard)*s.trip.Seconds()
	return min(float64(limit), s.level+s.rate()*s.part*max(since, 0)) - float64(inFlight)
}

// pace returns how many tokens a second are ours where so many are there, and by which power of e that grows in
// a second.
func (s *stock) pace(there float64, limit int) (perSecond, grows float64) {
	if s.stale {
		return s.rate() * s.part * math.Exp((there-float64(limit)/2)/s.inTrip()), s.rate() * s.part / s.inTrip()
	}
	scale := max(min(stockScale, stockSmall*float64(limit))*min(1, stockAlone*(1-s.part)), stockThin)
	perSecond = s.rate() * math.Pow(s.part, stockWeight) * math.Exp(stockSteep*(min(there/scale, stockFull)-1))
	return perSecond, stockSteep * s.rate() * s.part / scale
}

// flight returns how many of ours may be in flight where so much is there.
func (s *stock) flight(there float64) float64 {
	return s.part * (stockFlight*max(there, 0) + stockTrips*s.rate()*s.trip.Seconds())
}

// earned returns the credit at an instant: the pace, over the time since, and that of one request at most.
func (s *stock) earned(t monotime.Time, limit, inFlight int) float64 {
	perSecond, grows := s.pace(s.there(s.credited, limit, inFlight), limit)
	return min(1, s.credit+perSecond/grows*math.Expm1(min(grows*max(t.Sub(s.credited), 0).Seconds(), math.MaxInt8)))
}

func (s *stock) earn(t monotime.Time, limit, inFlight int) {
	s.credit, s.credited = s.earned(t, limit, inFlight), t
}

// take takes in that a request goes, beside those in flight.
func (s *stock) take(t monotime.Time, limit, inFlight int) {
	s.earn(t, limit, inFlight)
	s.credit--
}

// due returns when what is wanted may go, not before t. Where answers have to come first, it is when a token is
// back, to look again; an optimist does not wait for these. Whatever is known, and whether answers come or not,
// our part is crowdLeast of the rate at least, and MaxHold is not exceeded.
func (s *stock) due(t monotime.Time, limit int, maxHold time.Duration, q *want) monotime.Time {
	rate, taken := s.rate(), q.inFlight+q.reserve
	there := s.there(t, limit, taken)
	at := t
	if q.inFlight > 0 && !q.optimist && float64(q.inFlight+q.ahead+q.n) > s.flight(there) {
		at = t.Add(max(min(monotime.Seconds(1/rate), maxHold), time.Millisecond))
	}
	if missing := float64(min(q.n, limit-q.reserve)) - there; missing > 1e-6 {
		in := monotime.Seconds(missing / (rate * s.part))
		if q.inFlight > 0 {
			in = min(in, monotime.Seconds(1/rate))
		}
		at = max(at, t.Add(max(in, 1)))
	}
	if short := float64(q.ahead+q.n) - s.earned(t, limit, taken); short > 1e-9 {
		perSecond, grows := s.pace(there, limit)
		at = max(at, t.Add(max(monotime.Seconds(math.Log1p(short*grows/perSecond)/grows), 1)))
	}
	longest := s.credited.Add(min(monotime.Seconds(float64(q.ahead+q.n)/(crowdLeast*rate)), maxHold))
	return min(at, max(longest, t))
}
