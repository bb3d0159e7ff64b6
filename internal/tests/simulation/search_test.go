package simulation

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// search is how a process looks for its share of a limit. It is told how the server counts, its rate, its
// window and its burst: all that one process could ever learn. It is told neither how many others there are nor
// what they do, when they begin and when they are done; of these it hears by refusals alone.
//
// Its share is 1 at first, and bounds what it sends as if the server granted it so much of the rate and of the
// burst, or of the limit of each window. After a refusal, of the tokens that the server is known to have given
// since the refusal before, the part is known that was its own; the others have had the rest.
type search struct {
	flight float64 // until the first refusal, so many more may be in flight after each answer; one at first
	most   float64 // and at most so many times what is given in a round trip
	down   float64 // at a refusal, the share is multiplied by this
	weight float64 // of the part that was its own, beside the share, in the mean (geometric) that is the next share
	part   float64 // and that part is multiplied by this
	over   float64 // it is of so many tokens at least
	growth float64 // of the share with each token that the server gives, or each hundredth of a window
	rest   float64 // a bucket: after a refusal, so much of the time of one token of its own passes at most, at random
	guard  float64 // a window: what was sent leaves it so many round trips late
}

// members are those of the family that were found to be best by a search on seeds 21 and 22, of the columns of
// 1, 3 and 10 processes at once, since none knows in which it is: at buckets, at windows that end, and at
// sliding ones.
var members = map[string][3]search{
	"careful": {
		{0.601, 3.89, 0.377, 0.857, 1.25, 7.68, 0.000579, 0.983, 0.438},
		{2.43, 8.92, 0.978, 0.805, 0.6, 118, 0.000138, 0.457, 0.191},
		{6.66, 2.96, 0.91, 0.682, 1, 21.9, 3.16e-06, 1.72, 2.17},
	},
	"even": {
		{0.577, 4.02, 0.701, 0.841, 0.85, 40.3, 0.000785, 1.59, 0.5},
		{2.43, 8.92, 0.976, 0.805, 0.6, 118, 0.000107, 0.457, 0.1},
		{8, 4.85, 0.956, 0.744, 1, 172, 1.72e-05, 0.342, 0.82},
	},
	"swift": {
		{0.577, 4.02, 0.701, 0.841, 0.85, 40.3, 0.000785, 1.59, 0.5},
		{2.95, 20, 0.86, 0.5, 0.782, 124, 9.31e-05, 1, 0.1},
		{4.39, 4.85, 0.956, 0.5, 1, 172, 2.25e-05, 0.342, 0.82},
	},
}

// searches reports whether the processes of a member have anything to search in a cell.
func (c *cell) searches(member string) bool {
	_, crowd := crowds[c.column]
	stated := c.class == classExact || c.class == classCoarse
	switch {
	case guessers[member].weight == 0:
		return crowd
	case stated:
		return crowd && member == memberUntold
	}
	return crowd && c.processes == 1
}

// hunt begins the processes of a member of the family for the class of the cell.
func (s *seekers) hunt(member string) {
	for p := range s.processes {
		var h hunter
		switch {
		case guessers[member].weight > 0 && s.class != classExact && s.class != classCoarse:
			h = newGuesser(s.cell, s.start, guessers[member])
		case guessers[member].weight > 0:
			h = newPupil(s.cell, s.start, p)
		case s.class == classExact, s.class == classCoarse:
			h = newReader(s.cell, s.start, readers[member][s.counted()], p)
		default:
			h = newSeeker(s.cell, s.start, members[member][s.counted()], p)
		}
		s.all = append(s.all, &program{hunter: h})
	}
}

// boundOfSearch is how a cell goes for such processes.
func (c *cell) boundOfSearch(member string, start time.Time, least time.Duration) *outcome {
	o := &outcome{Name: c.name}
	s := &seekers{cell: c, start: start, server: c.algorithm(), attempts: map[int]int{}}
	s.hunt(member)
	hammers := s.play()
	var took time.Duration
	for _, a := range s.answers {
		took = max(took, a.back)
	}
	w := &world{simulation: c.simulation, start: start}
	o.score(took, least, lasted(w.ideal(0, c.requests, 0, closed(s.answers, c.processes)), 0))
	if o.count(s.answers); hammers {
		o.Ended, o.Just = errHammers.Error(), endless
	}
	return o
}

// counted is which of the three searches is for the algorithm of the cell.
func (c *cell) counted() int {
	switch c.counts {
	case "fixed", "clock":
		return 1
	case "log", "cells", "estimate":
		return 2
	}
	return 0
}

// seekers are the processes, and the server that they share.
type seekers struct {
	*cell
	start    time.Time
	server   pacertest.Algorithm
	all      []*program
	attempts map[int]int
	answers  []answer
	events   events
	order    int // of the next event
}

// program is one of the processes.
type program struct {
	hunter
	waiting []int // requests
	taken   int
	wake    time.Duration
}

// hunter is what a process knows, and how it decides.
type hunter interface {
	due(t time.Duration) time.Duration // when a request may go, t if it may at once; never if an answer comes before
	send(t time.Duration) (number int) // a request goes
	hear(e event)                      // an answer has come
}

// event is a request that comes to the server, an answer that comes back, or a process that wakes up.
type event struct {
	at, sent, came time.Duration
	order          int
	process, id    int
	number         int                // what send has returned
	verdict        *pacertest.Verdict // of an answer
	hold           time.Duration      // until when it says to stay away
	wakes          bool
}

// play lets all processes search until all requests are served. It reports whether it was ended before.
func (s *seekers) play() (hammers bool) {
	for range s.callers {
		for p := range s.all {
			s.take(p)
		}
	}
	for p := range s.all {
		s.send(p, 0)
	}
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		switch {
		case e.wakes:
			s.send(e.process, e.at)
		case e.verdict == nil:
			if len(s.answers) == s.hammering()*(s.requests+100) {
				return true
			}
			s.serve(e)
		default:
			p := s.all[e.process]
			if p.hear(e); e.verdict.OK {
				s.take(e.process)
			} else {
				p.waiting = slices.Insert(p.waiting, 0, e.id)
			}
			s.send(e.process, e.at)
		}
	}
	return false
}

// take gives a process its next request, if there is one.
func (s *seekers) take(process int) {
	p := s.all[process]
	if id := p.taken*s.processes + process; id < s.requests {
		p.taken++
		p.waiting = append(p.waiting, id)
	}
}

// send lets a process send what it may at t.
func (s *seekers) send(process int, t time.Duration) {
	p := s.all[process]
	for len(p.waiting) > 0 {
		if at := p.due(t); at > t {
			if at < never && (p.wake <= t || at < p.wake) {
				p.wake = at
				s.push(event{at: at, process: process, wakes: true})
			}
			return
		}
		id := p.waiting[0]
		p.waiting = p.waiting[1:]
		number := p.send(t)
		s.attempts[id]++
		s.push(event{at: t + s.way(id, s.attempts[id], "there"), sent: t, process: process, id: id, number: number})
	}
}

// serve lets the server answer. A hint is obeyed as it is said, where nothing else is.
func (s *seekers) serve(e event) {
	v := s.server.Take(s.start.Add(e.at), 1)
	back, beyond, hold := e.at+v.Delay+s.way(e.id, s.attempts[e.id], "back"), time.Duration(0), time.Duration(0)
	if s.class != classSilent {
		beyond = s.beyond(v, s.start.Add(e.at+s.skews[e.process]))
	}
	if s.class == classHint && !v.OK {
		if hold = v.RetryAfter + beyond; s.layers[0].dialect.RetryAfterFloor {
			hold = hold.Truncate(time.Second)
		}
	}
	s.answers = append(s.answers, answer{process: e.process, sent: e.sent, at: e.at, back: back, ok: v.OK, next: e.at + v.RetryAfter, beyond: beyond})
	s.push(event{at: back, sent: e.sent, came: e.at, process: e.process, id: e.id, number: e.number, verdict: &v, hold: e.at + hold})
}

func (s *seekers) push(e event) {
	s.order++
	e.order = s.order
	heap.Push(&s.events, e)
}

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64 / 4)

// leastShare is never fallen below.
const leastShare = 0.003

// seeker is one process.
type seeker struct {
	search
	*cell
	start  time.Time
	random *rand.Rand

	share    float64
	last     float64       // share after the latest refusal
	grows    float64       // of which the growth is so much in a second
	reacted  time.Duration // when that refusal was heard; -1 before
	inFlight int
	mayFly   float64 // before the first refusal

	tokens float64       // of a bucket of its own
	filled time.Duration // when these were there
	sent   []time.Duration
	end    time.Duration // of the server's window, as far as it is known; else -1
	hold   time.Duration

	used  float64 // tokens
	marks []mark  // refusals, at which nothing was there
}

// mark is an instant at which it is known what was there.
type mark struct {
	at          time.Duration
	there, used float64
}

func newSeeker(c *cell, start time.Time, with search, process int) *seeker {
	p := &seeker{search: with, cell: c, start: start, random: c.rnd(-1, process, "searcher"), share: 1, last: 1, grows: c.rate * with.growth, reacted: -1, mayFly: 1, tokens: float64(c.free), end: -1}
	if c.window > 0 {
		p.grows = 100 / c.window.Seconds() * with.growth
	}
	p.marks = []mark{{there: float64(c.free)}}
	return p
}

// shareAt is the share, which grows with time after a refusal.
func (p *seeker) shareAt(t time.Duration) float64 {
	if p.reacted >= 0 && t > p.reacted {
		p.share = min(1, p.last+p.grows*(t-p.reacted).Seconds())
	}
	return p.share
}

// until is when the share is so much.
func (p *seeker) until(share float64) time.Duration {
	if p.reacted < 0 || share > 1 {
		return never
	}
	return p.reacted + time.Duration(min((share-p.last)/p.grows*1e9, float64(never))) + 1
}

// due is when a request may go, t if it may at once.
func (p *seeker) due(t time.Duration) time.Duration {
	if t < p.hold {
		return p.hold
	}
	given := p.most * p.rate * p.latency.Seconds()
	if p.reacted < 0 && float64(p.inFlight)+1 > min(p.mayFly, max(1, given)) {
		return never // an answer comes before
	}
	share := p.shareAt(t)
	limit := max(1, share*float64(p.free))
	var at time.Duration
	switch {
	case p.window == 0:
		p.fill(t)
		if p.tokens < 1-1e-9 {
			at = t + time.Duration((1-p.tokens)/(share*p.rate)*1e9)
		}
	case p.counts == "estimate":
		begin, part, now, before := p.estimate(t)
		if n := now + before*(1-part) + 1; n > limit {
			at = begin + p.window
			if need := 1 - (limit-1-now)/before; before > 0 && need <= 1 {
				at = begin + time.Duration(need*float64(p.window))
			}
			at = min(at, max(p.until(n/float64(p.free)), t+time.Duration(0.2/(share*p.rate)*1e9)))
		}
	default:
		p.forget(t)
		if n := float64(len(p.sent)) + 1; n > limit {
			at = p.until(n / float64(p.free))
			if p.counted() == 2 {
				at = min(at, p.sent[0]+p.stays())
			} else if p.end >= 0 {
				at = min(at, p.end)
			}
		}
	}
	if at == 0 {
		return t
	}
	return max(at, t) + 1
}

// fill fills the bucket of its own.
func (p *seeker) fill(t time.Duration) {
	share := p.shareAt(t)
	p.tokens = min(max(1, share*float64(p.free)), p.tokens+share*p.rate*(t-p.filled).Seconds())
	p.filled = t
}

// stays is how long what was sent counts in a sliding window.
func (p *seeker) stays() time.Duration {
	return p.window + time.Duration(p.guard*float64(p.latency))
}

// forget drops what has left the window.
func (p *seeker) forget(t time.Duration) {
	if p.counted() == 2 {
		for len(p.sent) > 0 && p.sent[0]+p.stays() <= t {
			p.sent = p.sent[1:]
		}
	} else if p.end >= 0 && t >= p.end {
		p.sent, p.end = nil, -1
	}
}

// estimate is what the process has in the window of an estimating server, and in the one before; when that
// began, and which part of it is over.
func (p *seeker) estimate(t time.Duration) (begin time.Duration, part, now, before float64) {
	a := p.layers[0].algorithm.(*pacertest.EstimatedWindow)
	came := p.start.Add(t + p.latency/2 - time.Duration(p.guard*float64(p.latency)))
	in := time.Duration(came.UnixNano()-int64(a.Phase)) % p.window
	begin = t - in
	for len(p.sent) > 0 && p.sent[0] < begin-p.window {
		p.sent = p.sent[1:]
	}
	i, _ := slices.BinarySearch(p.sent, begin)
	return begin, float64(in) / float64(p.window), float64(len(p.sent) - i), float64(i)
}

// send counts a request that goes.
func (p *seeker) send(t time.Duration) int {
	p.inFlight++
	if p.used++; p.window > 0 {
		p.sent = append(p.sent, t)
	} else {
		p.fill(t)
		p.tokens--
	}
	return 0
}

// hear takes in an answer.
func (p *seeker) hear(e event) {
	p.inFlight--
	if p.counted() == 1 {
		if end := e.came + e.verdict.Reset; end > e.at { // it knows how the server counts
			p.end = max(p.end, end)
		}
	}
	if e.verdict.OK {
		p.mayFly += p.flight
		return
	}
	p.hold = max(p.hold, e.hold)
	p.used--
	if i, ok := slices.BinarySearch(p.sent, e.sent); ok && !p.refusedCount {
		p.sent = slices.Delete(p.sent, i, i+1)
	}
	if e.sent < p.reacted {
		return // it went before the refusal before was heard
	}
	p.react(e.at)
}

// react draws the conclusions from a refusal.
func (p *seeker) react(t time.Duration) {
	share := p.shareAt(t)
	next := math.Pow(share*p.down, 1-p.weight) * math.Pow(max(p.own(t)*p.part, 1e-6), p.weight)
	p.last = max(min(next, 1.2*share, 1), leastShare)
	p.share, p.reacted = p.last, t
	if p.marks = append(p.marks, mark{at: t, used: p.used}); len(p.marks) > 16 {
		p.marks = p.marks[1:]
	}
	pause := p.random.Float64() * p.rest
	switch {
	case p.window == 0:
		p.tokens, p.filled = -pause, t
	case p.counted() == 1:
		p.hold = max(p.hold, p.end) // the window is used up
	case p.refusedCount:
		p.hold = max(p.hold, t+time.Duration((0.2+0.8*p.random.Float64())*float64(p.window)))
	default:
		p.hold = max(p.hold, t+time.Duration(pause/(p.share*p.rate)*1e9))
	}
}

// own is which part of what the server gave was its own.
func (p *seeker) own(t time.Duration) float64 {
	if p.counts == "estimate" {
		_, part, now, before := p.estimate(t)
		return (now + before*(1-part)) / float64(p.free)
	}
	if p.window > 0 {
		return float64(len(p.sent)) / float64(p.free)
	}
	for i, m := range slices.Backward(p.marks) {
		if given := m.there + p.rate*(t-m.at).Seconds(); given >= p.over || i == 0 {
			return (p.used - m.used) / max(given, 1)
		}
	}
	return 0
}

// events is a heap of them.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
