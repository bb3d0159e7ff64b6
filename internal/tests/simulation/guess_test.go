package simulation

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// guessing is how a process that is alone, and knows it, uses a server that says nothing, or hints alone. It is
// told how the server counts, from which ranges its numbers are drawn, how long a round trip is in the mean,
// and, with each answer, when its request came to the server; so no guess is lost to the network. What the
// server admits follows from what was sent and from its numbers. Each guess at these is kept until an answer or
// a hint contradicts it, and weighs as much as the matrix draws such numbers often.
type guessing struct {
	weight float64 // what a refusal costs, in requests that might have been served meanwhile
	told   string  // beside the algorithm: window, of a server that has one; burst, or the limit of a window; or nothing
}

// guessers are the family. Its weights are round numbers.
var guessers = map[string]guessing{
	memberUntold:     {6, ""},
	"untold-careful": {20, ""},
	"untold-swift":   {2, ""},
	"untold-window":  {6, "window"},
	"untold-burst":   {6, "burst"},
}

const (
	guesses     = 128  // about so many are kept
	surely      = 1e-6 // so much of a token is a rounding error
	negligible  = 0.01 // of a request
	finest      = 1e-5 // no guess is split that stands for less
	guardOfTrip = 0.2  // a request may come so much of a round trip before the mean
)

// guess is that a rate of a bucket, or where a window of this length begins, is between two edges; or that a
// window, which begins with a request, has this length.
type guess struct {
	rate         [2]float64 // of a bucket
	window       time.Duration
	phase        [2]time.Duration
	edges        int
	width        float64   // between the edges: in logarithms of a rate, or in parts of a window
	drawn        []float64 // how often limits are
	weight, mean float64   // its part of all, as it is drawn; requests in a second
	sure, now    usage     // by the answers before which all have come, and by all that is known
}

// usage is what a server has counted if a guess is right, at each edge, and which limits are left: those from
// low to high.
type usage struct {
	edge      [2]tally
	low, high int
	mass      float64 // weight of the guess with these
}

// tally is what is counted. Of sliding windows the guesser has it.
type tally struct {
	at      time.Duration // of this level, or the beginning of the window
	level   float64
	before  float64 // in the window before
	without float64 // level without what is in flight
}

// guesser is one process.
type guesser struct {
	guessing
	*cell
	begin    int64 // of the world, on the clock of the server
	drawn    map[time.Duration][]float64
	all      []guess
	history  []event         // answers that are taken in, by when their requests came
	recent   []event         // others
	flying   []time.Duration // when requests in flight were sent
	counted  []time.Duration // a sliding window: when requests came that count
	hold     time.Duration
	risked   float64 // by a request that goes now
	last     float64 // by the latest one that is in flight
	sliding  bool
	sure     int  // so many of them for good
	expected bool // usage is up to date
}

func newGuesser(c *cell, start time.Time, with guessing) *guesser {
	p := &guesser{guessing: with, cell: c, begin: start.UnixNano(), drawn: map[time.Duration][]float64{}, sliding: c.counts == "log" || c.counts == "cells"}
	if c.window == 0 {
		p.drawn[0] = drawnLimits(0)
		step := math.Log(mostRate/float64(leastRate)) / (2 * guesses)
		for i := range 2 * guesses {
			p.all = append(p.all, guess{rate: [2]float64{leastRate * math.Exp(step*float64(i)), leastRate * math.Exp(step*float64(i+1))}, edges: 2, width: step, weight: 1})
		}
	}
	for s := leastWindow; s <= mostWindow && c.window > 0; s++ {
		w := time.Duration(s) * time.Second
		if p.told == "window" && w != c.window {
			continue
		}
		p.drawn[w] = drawnLimits(s)
		phases := 1
		if c.counts == "clock" || c.counts == "estimate" {
			phases = 4
		}
		for i := range phases {
			g := guess{window: w, edges: 1, weight: 1 / float64(phases)}
			if phases > 1 {
				g.width, g.edges = 1/float64(phases), 2
				g.phase = [2]time.Duration{w * time.Duration(i) / time.Duration(phases), w * time.Duration(i+1) / time.Duration(phases)}
			}
			if p.all = append(p.all, g); c.counts == "clock" && i == phases-1 {
				p.all = append(p.all, guess{window: w, edges: 1, weight: 1})
			}
		}
	}
	for i := range p.all {
		p.all[i].drawn = p.drawn[p.all[i].window]
		p.fresh(&p.all[i])
	}
	return p
}

// drawnLimits has how often the matrix draws a limit of at most so much, of a window of so many seconds, or of
// a bucket (0).
func drawnLimits(seconds int) []float64 {
	within := func(n, least, most float64) float64 { return math.Log(min(max(n, least), max(most, least)) / least) }
	if seconds == 0 {
		drawn := make([]float64, mostBurst+1)
		for n := range drawn {
			drawn[n] = within(float64(n)+0.5, leastBurst, mostBurst)
		}
		return drawn
	}
	s := float64(seconds)
	exact := within(s+0.5, leastWindow, mostWindow) - within(s-0.5, leastWindow, mostWindow)
	more := within(mostWindow, leastWindow, mostWindow) - within(s+0.5, leastWindow, mostWindow)
	drawn := make([]float64, mostLimit+1)
	for n := range drawn {
		rate := (float64(n) + 0.5) / s
		drawn[n] = exact*within(rate, leastRate, min(mostRate, mostLimit/s)) + more*within(rate, max(leastRate, mostLimit/(s+1)), min(mostRate, mostLimit/s))
	}
	return drawn
}

// fresh has a guess know nothing.
func (p *guesser) fresh(g *guess) {
	g.sure = usage{edge: [2]tally{{at: -never}, {at: -never}}}
	g.sure.low, g.sure.high = p.limits(g)
}

// limits are those that a guess begins with.
func (p *guesser) limits(g *guess) (low, high int) {
	if p.told == "burst" {
		return p.free, p.free
	}
	return 1, len(g.drawn) - 1
}

// roll has time pass at an edge.
func (p *guesser) roll(g *guess, edge int, u *tally, t time.Duration) {
	t = max(t, u.at)
	switch {
	case g.window == 0:
		u.level, u.at = max(0, u.level-g.rate[edge]*(t-u.at).Seconds()), t
	case p.sliding:
		u.level = float64(len(p.counted) - p.left(g, t))
	case p.counts == "fixed":
		if t >= u.at+g.window {
			u.level = 0
		}
	default:
		begin := t - time.Duration((p.begin+int64(t)-int64(g.phase[edge]))%int64(g.window))
		if begin > u.at {
			if u.before = u.level; begin > u.at+g.window {
				u.before = 0
			}
			u.at, u.level = begin, 0
		}
	}
}

// left is how many of those that count have left a sliding window.
func (p *guesser) left(g *guess, t time.Duration) int {
	from := t - g.window
	if p.counts == "cells" { // all of a cell leave together
		cell := int64(g.window / 10)
		from = time.Duration((p.begin+int64(from))/cell*cell + cell - 1 - p.begin)
	}
	i, _ := slices.BinarySearch(p.counted, from+1)
	return i
}

// levels is what is used at t, at the edges.
func (p *guesser) levels(g *guess, u *usage, t time.Duration) (little, much float64) {
	for edge := range g.edges {
		e := u.edge[edge]
		p.roll(g, edge, &e, t)
		level := e.level
		if p.counts == "estimate" {
			level += math.Floor(e.before*(1-float64(max(t, e.at)-e.at)/float64(g.window)) + 0.5)
		} else if p.sliding && !p.refusedCount && e.without > 0 {
			level = min(level, max(float64(u.high), e.without))
		}
		if edge == 0 {
			little, much = level, level
		} else {
			little, much = min(little, level), max(much, level)
		}
	}
	return little, much
}

// count counts a request that comes at t, but for the guesser's own list.
func (p *guesser) count(g *guess, edge int, u *tally, t time.Duration) {
	if p.roll(g, edge, u, t); p.counts == "fixed" && u.level == 0 {
		u.at = t
	}
	u.level++
}

// learn takes in an answer, before whose request as many as more came, perhaps, of which nothing is heard.
func (p *guesser) learn(g *guess, u *usage, e event, more int) {
	little, much := p.levels(g, u, e.came)
	if e.verdict.OK {
		u.low = max(u.low, least(little))
	} else {
		u.high = min(u.high, most(much+float64(more)))
	}
	mine := 0.0
	if e.verdict.OK || p.refusedCount {
		for edge := range g.edges {
			p.count(g, edge, &u.edge[edge], e.came)
		}
		if p.sliding {
			mine = 1
		}
	}
	if e.verdict.OK || p.class != classHint {
		return
	}
	from, to := p.hinted(e)
	little, _ = p.levels(g, u, to)
	u.low = max(u.low, least(little+mine))
	if from > e.came {
		_, much = p.levels(g, u, from)
		u.high = min(u.high, most(much+mine+float64(more)))
	}
}

// least is the least limit that admits one more than a level, and most the greatest that does not.
func least(level float64) int { return int(math.Ceil(level + 1 - surely)) }

func most(level float64) int {
	if level == math.Floor(level) {
		return int(level) // counted, or an empty bucket: there is nothing to round
	}
	return int(math.Ceil(level+1+surely)) - 1
}

// hinted is after which instant, and until which, a hint says that a request is admitted again.
func (p *guesser) hinted(e event) (from, to time.Duration) {
	switch p.speaks {
	case "hint ms":
		return e.hold - time.Millisecond, e.hold + time.Millisecond
	case "hint floored":
		return e.hold - 1, e.hold + time.Second
	}
	return e.hold - time.Second - 1, e.hold + 1
}

// hear implements hunter.
func (p *guesser) hear(e event) {
	p.expected = false
	i := slices.Index(p.flying, e.sent)
	p.flying = slices.Delete(p.flying, i, i+1)
	p.hold = max(p.hold, e.hold)
	i, _ = slices.BinarySearchFunc(p.recent, e.came, func(e event, t time.Duration) int { return cmp.Compare(e.came, t) })
	p.recent = slices.Insert(p.recent, i, e)
	earliest := never // what is in flight does not come before
	if len(p.flying) > 0 {
		earliest = p.flying[0] + p.latency/4
	}
	p.counted = p.counted[:p.sure]
	for len(p.recent) > 0 && p.recent[0].came <= earliest {
		p.take(p.recent[0])
		p.recent = p.recent[1:]
	}
}

// take takes in an answer before whose request all have come that ever will.
func (p *guesser) take(e event) {
	p.history = append(p.history, e)
	wrong := false
	for i := range p.all {
		p.learn(&p.all[i], &p.all[i].sure, e, 0)
		wrong = wrong || !p.all[i].possible()
	}
	if p.sliding && (e.verdict.OK || p.refusedCount) {
		p.counted = append(p.counted, e.came)
		p.sure++
	}
	for range 4 {
		left := slices.DeleteFunc(slices.Clone(p.all), func(g guess) bool { return !g.possible() })
		if !wrong {
			break
		}
		if len(left) == 0 { // the arithmetic is not fine enough: nothing is concluded
			for i := range p.all {
				p.all[i].sure.low, p.all[i].sure.high = p.limits(&p.all[i])
			}
			break
		}
		if p.all = left; len(left) >= guesses || !slices.ContainsFunc(left, func(g guess) bool { return g.width >= finest }) {
			break
		}
		p.split()
	}
}

// possible reports whether any limit is left.
func (g *guess) possible() bool {
	return g.sure.low <= g.sure.high && g.drawn[g.sure.high] > g.drawn[g.sure.low-1]
}

// split makes finer guesses.
func (p *guesser) split() {
	var parts []guess
	into := min(max(2, 3*guesses/len(p.all)), 16)
	for _, g := range p.all {
		if g.width < finest {
			parts = append(parts, g)
			continue
		}
		for part := range into {
			h := g
			for edge := range 2 {
				at := float64(part+edge) / float64(into)
				h.rate[edge] = g.rate[0] * math.Exp(at*g.width)
				h.phase[edge] = g.phase[0] + time.Duration(at*float64(g.phase[1]-g.phase[0]))
			}
			h.width, h.weight = g.width/float64(into), g.weight/float64(into)
			p.fresh(&h)
			for _, e := range p.history {
				if p.learn(&h, &h.sure, e, 0); h.sure.low > h.sure.high {
					break
				}
			}
			parts = append(parts, h)
		}
	}
	p.all = parts
}

// expect works out what all that was sent has used.
func (p *guesser) expect() {
	p.counted = p.counted[:p.sure]
	for i := range p.all {
		p.all[i].now = p.all[i].sure
	}
	for _, e := range p.recent {
		more := 0
		for more < len(p.flying) && p.flying[more]+p.latency/4 < e.came {
			more++
		}
		for i := range p.all {
			p.learn(&p.all[i], &p.all[i].now, e, more)
		}
		if p.sliding && (e.verdict.OK || p.refusedCount) {
			p.counted = append(p.counted, e.came)
		}
	}
	var sum float64
	for i := range p.all {
		g := &p.all[i]
		for edge := range g.now.edge {
			e := &g.now.edge[edge]
			if e.without = e.level; p.sliding {
				e.without = float64(len(p.counted))
			}
		}
		g.mean = math.Sqrt(g.rate[0] * g.rate[1])
		if g.window > 0 {
			g.mean = math.Sqrt(float64(g.now.low)*float64(g.now.high)) / g.window.Seconds()
		}
		g.now.mass = p.mass(g, g.now.high)
		sum += g.now.mass
	}
	for i := range p.all {
		if g := &p.all[i]; sum == 0 {
			g.now.low, g.now.high = g.sure.low, g.sure.high
			g.now.mass = p.mass(g, g.now.high)
		}
	}
	for i, sent := range p.flying {
		if i == len(p.flying)-1 {
			p.last, _ = p.risk(sent)
		}
		p.fly(sent)
	}
	p.expected = true
}

// mass is the weight of a guess with a limit of that at most.
func (p *guesser) mass(g *guess, high int) float64 {
	if high = min(high, g.now.high); high < g.now.low {
		return 0
	}
	return g.weight * (g.drawn[high] - g.drawn[g.now.low-1])
}

// fly counts a request that is in flight.
func (p *guesser) fly(sent time.Duration) {
	came := sent + p.latency/2
	if p.sliding {
		if n := len(p.counted); n > 0 {
			came = max(came, p.counted[n-1])
		}
		p.counted = append(p.counted, came)
		return
	}
	for i := range p.all {
		g := &p.all[i]
		for edge := range g.edges {
			e := &g.now.edge[edge]
			p.roll(g, edge, e, came)
			if e.level+1 <= max(float64(g.now.high), e.without) || p.refusedCount {
				p.count(g, edge, e, came)
			}
		}
	}
}

// risk is how much the guesses weigh, of all, that have a request refused which goes at t; and what is lost in
// a second if none goes: the rate of the others, in the mean.
func (p *guesser) risk(t time.Duration) (risk, idle float64) {
	came := t + time.Duration((0.5-guardOfTrip)*float64(p.latency))
	var sum, refused float64
	for i := range p.all {
		g := &p.all[i]
		all := g.now.mass
		if all == 0 {
			continue
		}
		little, much := p.levels(g, &g.now, came)
		no := (p.mass(g, most(little)) + p.mass(g, most(much))) / 2
		sum += all
		refused += no
		idle += (all - no) * g.mean
	}
	return min(refused/sum, 1), idle / sum // rounded, it may be more
}

// due implements hunter. What is lost until a request is served, in requests, is (waited + weight · risk) / (1
// − risk) if each trial is like this one; a request goes at the instant for which that is least. Who waits for
// an answer knows whether what is in flight was served.
func (p *guesser) due(t time.Duration) time.Duration {
	if t < p.hold {
		return p.hold
	}
	if !p.expected {
		p.expect()
	}
	risk, idle := p.risk(t)
	p.risked = risk
	best, least, waited := time.Duration(0), p.weight*risk/(1-risk), 0.0
	if least <= negligible {
		return t
	}
	if len(p.flying) > 0 && p.last < 1 {
		alone := max(0, risk-p.last) / (1 - p.last)
		tau := max(0, p.flying[len(p.flying)-1]+p.latency-t).Seconds()
		if loss := (idle*tau + p.weight*alone) / max(1-alone, surely); loss < least {
			best, least = never, loss
		}
	}
	for d, before := max(p.latency/32, 100*time.Microsecond), time.Duration(0); waited < least && d < time.Hour; before, d = d, d*5/4 {
		r, i := p.risk(t + d)
		waited += (i + idle) / 2 * (d - before).Seconds()
		idle = i
		if loss := (waited + p.weight*r) / (1 - r); loss < least {
			best, least = d, loss
		}
	}
	if best == never {
		return never
	}
	return t + best
}

// send implements hunter.
func (p *guesser) send(t time.Duration) int {
	p.last = p.risked
	if p.flying = append(p.flying, t); p.expected {
		p.fly(t)
	}
	return 0
}
