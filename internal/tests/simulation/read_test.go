package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// reading is how a process uses its part of a limit whose answers say what remains of it, and when it resets.
// As one that searches, it is told how the server counts, its rate, window and burst, and neither how many
// others there are, nor what they do, nor how long a request is on its way. It hears of others by what remains:
// what the server has given since an earlier answer, and what it has not used itself, is what the others took.
//
// Its part of what is used is 1 at first, and follows what it reads. Where the limit comes back bit by bit, it
// sends at a pace, which is
//
//	rate · part^weight · e^(steep · (remaining/scale − 1))
//
// so that all who share the limit are the slower the less remains, and are at one at some stock.
type reading struct {
	first  float64 // before the first answer, and in a new window, so much of its part of the limit may be in flight
	flight float64 // later, so much of its part of what remains
	over   float64 // its part is of so many tokens, about
	keep   float64 // so many tokens are left over, rounded, a quarter of the limit at most
	each   float64 // and so many more for each other process, if these use as much as it does
	rest   float64 // after a refusal, so much of the time of one token of its own passes at most, at random; in a window, of what is left of it
	guard  float64 // what comes back is there so much of a round trip later

	steep, scale, weight float64 // of the pace
	small                float64 // the scale is so much of the limit at most
	alone                float64 // and so many times the part of others, of that
	grows                float64 // how fast more remains, in parts of its part of the rate, beside what it knows
	few                  float64 // a window of which its part is fewer tokens than that is entered at a random instant
}

// readers are those of the family that were found to be best by a search on seeds 21 and 22 (exact), of the
// columns of 1, 3 and 10 processes at once, since none knows in which it is: at buckets, at windows that end,
// and at sliding ones.
var readers = map[string][3]reading{
	"careful": {
		{0.062, 0.107, 5.68, 0.0768, 0, 0.317, 1.85, 3.84, 6.12, 0.563, 0.731, 8.44, 0.137, 0.408},
		{0.166, 0.303, 16.1, 1.21, 0.615, 1, 0.627, 1.14, 23.7, 7.14, 0.372, 1.5, 0.212, 0.1},
		{0.0567, 0.138, 289, 0.828, 0.0714, 1.58, 0.973, 11.7, 12.7, 2.89, 0.45, 310, 0.013, 2.72},
	},
	"even": {
		{0.101, 0.0807, 5.4, 0.131, 0, 0.317, 1.85, 4, 6.12, 0.478, 0.731, 8.44, 0.137, 0.408},
		{0.166, 0.303, 31.5, 1.21, 0.615, 1, 0.627, 1.14, 23.7, 4.24, 0.372, 5.02, 0.212, 0.616},
		{0.0567, 0.138, 195, 0.475, 0.0714, 2.46, 1.31, 15.7, 6.83, 2.89, 0.45, 94.3, 0.0272, 2.29},
	},
	"swift": {
		{0.283, 0.0807, 4.98, 0.0895, 0, 0.327, 1.19, 4, 3.52, 0.569, 0.474, 5.57, 0.0611, 2},
		{0.166, 0.454, 29.3, 0.301, 0.803, 1.12, 0.627, 1.14, 23.7, 5.74, 0.185, 5.02, 0.212, 0.712},
		{0.0567, 0.138, 195, 0.475, 0.0714, 2.46, 1.31, 11.7, 6.83, 2.89, 0.45, 94.3, 0.0163, 1.65},
	},
}

// leastPart is never fallen below.
const leastPart = 0.02

// reader is one process.
type reader struct {
	reading
	*cell
	start  time.Time
	random *rand.Rand

	sent     int // requests
	inFlight int
	trip     time.Duration // a round trip, as it was seen
	part     float64
	hold     time.Duration

	heard    bool
	newest   int             // request, of which the answer
	at       time.Duration   // came at that instant to the server, about
	level    float64         // and told that so much is there
	others   float64         // a sliding window: used by others then
	own      []time.Duration // a sliding window: when what it has used came to the server
	credit   float64         // of a request
	credited time.Duration   // until when

	opened   int           // a window: the first request in it
	early    time.Duration // its end is not before
	late     time.Duration // and not after that
	before   float64       // its part at the beginning
	served   int           // in it
	answered bool          // in it
}

func newReader(c *cell, start time.Time, with reading, process int) *reader {
	return &reader{
		reading: with, cell: c, start: start, random: c.rnd(-1, process, "reader"), part: 1, before: 1,
		level: float64(c.free), credit: 1, late: never,
	}
}

// arrival is when what goes at t comes to the server, about.
func (p *reader) arrival(t time.Duration) time.Duration { return t + p.trip/2 }

// due implements hunter.
func (p *reader) due(t time.Duration) time.Duration {
	if t < p.hold {
		return p.hold
	}
	if p.counted() == 1 {
		return p.dueInWindow(t)
	}
	if !p.heard {
		if float64(p.inFlight)+1 > max(1, p.first*float64(p.free)) {
			return never
		}
		return t
	}
	there := p.there(t)
	flight := p.part * (p.flight*max(there, 0) + max(p.flight, 1.5)*p.rate*p.trip.Seconds())
	if p.inFlight > 0 && float64(p.inFlight)+1 > flight {
		return never
	}
	step := time.Duration(1e9 / p.rate)
	if need := p.need(); there < need-1e-6 {
		if p.inFlight > 0 && there+float64(p.inFlight) < need {
			return t + step
		}
		return t + max(time.Duration((need-there)/(p.rate*p.part)*1e9), step/8)
	}
	pace := p.pace(there)
	p.credit = min(1, p.credit+pace*(t-p.credited).Seconds())
	p.credited = t
	if p.credit >= 1-1e-9 {
		return t
	}
	return t + min(time.Duration((1-p.credit)/pace*1e9)+1, step)
}

// need is how much must be there for a request to go: it, and what is left over.
func (p *reader) need() float64 {
	return 1 + min(math.Round(p.keep+p.each*(1/p.part-1)), math.Floor(float64(p.free)/4))
}

// pace is how many requests it sends in a second where so much is there.
func (p *reader) pace(there float64) float64 {
	scale := max(min(p.scale, p.small*float64(p.free))*min(1, p.alone*(1-p.part)), 0.5)
	return p.rate * math.Pow(p.part, p.weight) * math.Exp(p.steep*(min(there/scale, 20)-1))
}

// there is how much is there, about, when what goes at t comes to the server.
func (p *reader) there(t time.Duration) float64 {
	came := p.arrival(t)
	if p.window > 0 {
		grown := p.grows * p.rate * p.part * (came - p.at).Seconds()
		return float64(p.free) - p.mine(came) - max(0, p.others-grown)
	}
	since := came - p.at - time.Duration((p.guard-0.5)*float64(p.trip))
	return min(float64(p.free), p.level+p.rate*p.part*max(since, 0).Seconds()) - float64(p.sent-p.newest)
}

// mine is how much of a sliding window it uses when an instant comes to the server.
func (p *reader) mine(came time.Duration) float64 {
	if p.counts == "estimate" {
		a := p.layers[0].algorithm.(*pacertest.EstimatedWindow)
		in := time.Duration(p.start.Add(came).UnixNano()-int64(a.Phase)) % p.window
		begin := came - in
		for len(p.own) > 0 && p.own[0] < begin-p.window {
			p.own = p.own[1:]
		}
		i, _ := slices.BinarySearch(p.own, begin)
		return float64(len(p.own)-i) + float64(i)*(1-float64(in)/float64(p.window))
	}
	came -= time.Duration((p.guard - 0.5) * float64(p.trip))
	for len(p.own) > 0 && p.own[0]+p.window <= came {
		p.own = p.own[1:]
	}
	return float64(len(p.own))
}

// dueInWindow is due in a window that ends.
func (p *reader) dueInWindow(t time.Duration) time.Duration {
	end := p.end()
	if end < never && t >= end {
		p.open(t)
		if share := p.part * float64(p.free); share < p.few {
			p.hold = t + time.Duration(p.random.Float64()*(1-share/p.few)*float64(p.window))
			return p.due(t)
		}
		end = p.end()
	}
	limit := float64(p.free)
	if !p.answered {
		if float64(p.inFlight)+1 > max(1, p.first*p.part*limit) {
			return never
		}
		return t
	}
	there := p.level - float64(p.sent-p.newest)/p.part
	if p.sent == p.newest {
		there = p.level
	}
	if need := p.need(); there < need {
		if p.inFlight > 0 && p.level >= 1 {
			return never
		}
		if p.level >= 1 && p.rest < 1 && end < never {
			if at := t + time.Duration((p.rest+(1-p.rest)*p.random.Float64())*float64(end-t)); at < end {
				p.hold, p.level = at, max(p.level, need)
				return at
			}
		}
		return max(end, t+1)
	}
	if p.inFlight > 0 && float64(p.inFlight)+1 > p.flight*p.part*there {
		return never
	}
	return t
}

// end is when it comes to a window that follows.
func (p *reader) end() time.Duration {
	if p.late == never {
		return never
	}
	return p.late + time.Duration((p.guard-1)*float64(p.trip))
}

// open begins a window.
func (p *reader) open(t time.Duration) {
	p.opened, p.newest, p.level, p.before, p.served, p.answered = p.sent, p.sent, float64(p.free), p.part, 0, false
	if p.counts == "clock" {
		for p.end() <= t {
			p.early, p.late = p.early+p.window, p.late+p.window
		}
	} else {
		p.early, p.late = 0, never
	}
}

// send implements hunter.
func (p *reader) send(t time.Duration) int {
	p.inFlight++
	p.sent++
	p.credit, p.credited = p.credit-1, t
	switch came := p.arrival(t); {
	case p.counts == "cells":
		in := p.start.Add(came).UnixNano() % int64(p.window/10)
		p.own = append(p.own, came-time.Duration(in)) // all of a cell come back together
	case p.counted() == 2:
		p.own = append(p.own, came)
	}
	return p.sent
}

// hear implements hunter.
func (p *reader) hear(e event) {
	p.inFlight--
	trip := e.at - e.sent - e.verdict.Delay
	if p.trip == 0 {
		p.trip = trip
	}
	p.trip += (trip - p.trip) / 8
	came := e.sent + trip/2
	switch {
	case p.counted() == 1:
		p.hearOfWindow(e)
	case p.window > 0:
		p.hearOfSliding(e, came)
	default:
		p.hearOfBucket(e, came)
	}
	p.heard = true
}

// hearOfBucket takes in an answer of a bucket.
func (p *reader) hearOfBucket(e event, came time.Duration) {
	level := float64(e.verdict.Remaining) + 0.5 // it is a whole number
	if p.class == classExact {
		level = float64(p.free) - e.verdict.Reset.Seconds()*p.rate // what is missing is back then
	}
	if e.number > p.newest {
		given := p.rate * max(came-p.at, 0).Seconds()
		mine := float64(e.number - p.newest)
		if !e.verdict.OK {
			mine--
		}
		theirs := max(0, min(p.level+given, float64(p.free))-mine-level)
		p.share(mine, theirs)
		p.level, p.at, p.newest = level, came, e.number
	}
	if !e.verdict.OK {
		p.pause(e.at)
	}
}

// share takes in that so many tokens were its own, and so many others'.
func (p *reader) share(mine, theirs float64) {
	p.part = max(leastPart, (p.part*p.over+mine)/(p.over+mine+theirs))
}

// pause has it rest after a refusal.
func (p *reader) pause(t time.Duration) {
	p.hold = max(p.hold, t+time.Duration(p.random.Float64()*p.rest/(p.part*p.rate)*1e9))
}

// hearOfSliding takes in an answer of a sliding window.
func (p *reader) hearOfSliding(e event, came time.Duration) {
	if !e.verdict.OK {
		if !p.refusedCount && len(p.own) > 0 { // about then
			i, _ := slices.BinarySearch(p.own, p.arrival(e.sent))
			i = min(i, len(p.own)-1)
			p.own = slices.Delete(p.own, i, i+1)
		}
	}
	if e.number > p.newest {
		later := float64(p.sent - e.number)
		mine := max(p.mine(came)-later, 0)
		p.others = max(0, float64(p.free)-float64(e.verdict.Remaining)-mine)
		if used := mine + p.others; used >= 1 {
			x := math.Exp(-float64(e.number-p.newest) / p.part / p.over)
			p.part = max(leastPart, p.part*x+(1-x)*mine/used)
		}
		p.at, p.newest = came, e.number
	}
	if !e.verdict.OK {
		p.hold = max(p.hold, came+p.next(e.verdict)-p.trip/2)
		p.pause(max(e.at, p.hold))
	}
}

// next is after how long a sliding window has something again, as far as a refusal says that.
func (p *reader) next(v *pacertest.Verdict) time.Duration {
	next := v.Reset
	if p.counts == "estimate" {
		if next = v.RetryAfter; p.layers[0].dialect.RetryAfter == "" {
			return 0
		}
	}
	if p.class != classExact {
		next = next.Truncate(time.Second)
	}
	return next
}

// hearOfWindow takes in an answer of a window that ends.
func (p *reader) hearOfWindow(e event) {
	early, late := p.resets(e)
	if e.number <= p.opened && (!e.verdict.OK || early <= p.late) {
		return // of a window before
	}
	if !p.answered && p.counts == "fixed" {
		late = min(late, e.at+p.window)
	}
	if p.late == never || early > p.late || late < p.early {
		p.early, p.late = early, late
	} else {
		p.early, p.late = max(p.early, early), min(p.late, late)
	}
	p.answered = true
	if e.verdict.OK {
		p.served++
	}
	level := float64(e.verdict.Remaining)
	if e.number > p.newest {
		p.level, p.newest = level, e.number
	} else {
		p.level = min(p.level, level)
	}
	used := float64(p.free) - level
	p.part = max(leastPart, (p.before*p.over+float64(p.served))/(p.over+max(used, float64(p.served))))
}

// resets is between which instants the window of an answer ends, by what it says.
func (p *reader) resets(e event) (early, late time.Duration) {
	in := e.verdict.Reset
	if p.class == classExact {
		return e.sent + in, e.at + in
	}
	d := p.layers[0].dialect
	if d.Layout == pacertest.LayoutTrio && (d.Reset == pacertest.ResetEpoch || d.Reset == pacertest.ResetRFC3339) { // it knows how clocks differ
		at := e.came + in + roundedUp(time.Duration(p.start.Add(e.came+in).Nanosecond()), time.Second, false)
		return at - time.Second, at
	}
	said := in + roundedUp(in, time.Second, false)
	return e.sent + said - time.Second, e.at + said
}
