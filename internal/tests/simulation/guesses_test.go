package simulation

import (
	"math"
	"slices"
	"time"
)

// kind is how the server may count, and round a hint.
type kind struct {
	counts  string // all buckets count alike; a queue also says how full it is, by how late it answers
	all     bool   // refused requests count like admitted ones
	floored bool
}

// guess is that a rate of a bucket, or where a window of this length begins, is between two edges; or that a
// window, which begins with a request, has this length.
type guess struct {
	kind
	rate         [2]float64 // of a bucket, the greater one first, as it is the emptier one
	window       time.Duration
	phase        [2]time.Duration
	width        float64    // between the edges: in logarithms of a rate, or in parts of a window; or 0
	left         [2]float64 // of the way from edge to edge, the part that no answer contradicts
	worked       float64    // width when its limits were worked out
	pointed      bool       // and whether any point agreed with all tests then
	drawn        []float64  // how often limits are
	weight, mean float64    // its part of all, as it is drawn; requests in a second
	asked        bool       // whether it has weight enough
	sure, now    usage      // by the answers before which all have come, and by all that is known
}

// usage is which limits are left if a guess is right: in all, which is sure, and at points between the edges,
// by which a guess weighs; and what a bucket, at each edge, or a window that begins with a request, has
// counted.
type usage struct {
	edge [2]tally
	limits
	points [2]limits
	mass   float64 // weight of the guess with these
}

// limits are those from low to high.
type limits struct{ low, high int }

// points are how much of the way from edge to edge these are.
var points = [2]float64{0.25, 0.75}

// tally is what is counted.
type tally struct {
	at      time.Duration // of this level, or the beginning of the window
	level   float64
	without float64 // level without what is in flight
}

// counts are when requests came.
type counts struct {
	came               []time.Duration
	sure, landed, seen int // so many of them for good, and are answered; so many count at the event that is looked at
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
	all := p.limits(g)
	g.sure = usage{edge: [2]tally{{at: -never}, {at: -never}}, limits: all, points: [2]limits{all, all}}
	g.worked, g.left, g.pointed = g.width, [2]float64{0, 1}, true
}

// limits are those that a guess begins with.
func (p *guesser) limits(g *guess) limits {
	if p.told == "burst" {
		return limits{p.free, p.free}
	}
	return limits{1, len(g.drawn) - 1}
}

// list is what counts if a guess is right.
func (p *guesser) list(g *guess) *counts {
	if g.all {
		return &p.counted[1]
	}
	return &p.counted[0]
}

// roll has time pass at an edge.
func (g *guess) roll(edge int, u *tally, t time.Duration) {
	t = max(t, u.at)
	if g.window == 0 {
		u.level, u.at = max(0, u.level-g.rate[edge]*(t-u.at).Seconds()), t
	} else if t >= u.at+g.window {
		u.level = 0
	}
}

// level is what is used at t, so much of the way from one edge to the other.
func (p *guesser) level(g *guess, u *usage, way float64, t time.Duration) float64 {
	switch g.counts {
	case "bucket", "queue":
		little, much := u.edge[0], u.edge[1]
		g.roll(0, &little, t)
		g.roll(1, &much, t)
		return little.level + way*(much.level-little.level)
	case "fixed":
		e := u.edge[0]
		g.roll(0, &e, t)
		return e.level
	}
	l := p.list(g)
	level := p.countedIn(g, l.came[:l.seen], way, t)
	if !g.all && l.landed < l.seen && level > float64(u.high) { // what is in flight is refused
		level = max(float64(u.high), p.countedIn(g, l.came[:l.landed], way, t))
	}
	return level
}

// countedIn is what counts at t of requests that came.
func (p *guesser) countedIn(g *guess, came []time.Duration, way float64, t time.Duration) float64 {
	switch g.counts {
	case "log":
		return since(came, t-g.window+1)
	case "cells": // all of a cell leave together
		cell := int64(g.window / 10)
		return since(came, time.Duration((p.begin+int64(t-g.window))/cell*cell+cell-p.begin))
	}
	begin := p.began(g, way, t)
	now := since(came, begin)
	if g.counts == "clock" {
		return now
	}
	return now + math.Floor((since(came, begin-g.window)-now)*(1-float64(t-begin)/float64(g.window))+0.5)
}

// began is when the window began that runs at t.
func (p *guesser) began(g *guess, way float64, t time.Duration) time.Duration {
	phase := g.phase[0] + time.Duration(way*float64(g.phase[1]-g.phase[0]))
	return t - time.Duration((p.begin+int64(t-phase))%int64(g.window))
}

// since is how many came at t or later.
func since(came []time.Duration, t time.Duration) float64 {
	from, to := 0, len(came)
	for from < to {
		if mid := (from + to) / 2; came[mid] < t {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return float64(len(came) - from)
}

// levels is what is used at t, at least and at most.
func (p *guesser) levels(g *guess, u *usage, t time.Duration) (little, much float64) {
	little, much = p.between(g, u, g.left, t)
	if g.window == 0 || g.width == 0 {
		return little, much
	}
	ways := p.turns(g, t, 1)
	little, much = math.Inf(1), 0
	for i := range len(ways) - 1 {
		l, m := p.between(g, u, [2]float64{ways[i], ways[i+1]}, t)
		little, much = min(little, l), max(much, m)
	}
	return little, much
}

// between is what is used at t, at least and at most, between two points of the way, between which no window
// ends.
func (p *guesser) between(g *guess, u *usage, ways [2]float64, t time.Duration) (little, much float64) {
	one := p.level(g, u, ways[0], t)
	if g.width == 0 {
		return one, one
	}
	if g.counts != "estimate" {
		other := p.level(g, u, ways[1], t)
		return min(one, other), max(one, other)
	}
	came := p.list(g).came[:p.list(g).seen]
	var now, both, gone [2]float64
	for i, way := range ways {
		begin := p.began(g, way, t)
		now[i], both[i] = since(came, begin), since(came, begin-g.window)
		gone[i] = float64(t-begin) / float64(g.window)
	}
	estimated := func(now, both, gone float64) float64 { return now + math.Floor((both-now)*(1-gone)+0.5) }
	// The later a window began, the less was counted in both, and the more of the one before still counts.
	return estimated(now[1], both[1], gone[0]), estimated(now[0], both[0], gone[1])
}

// turns are so many steps of the way that is left, and where a window has ended at t, or has not.
func (p *guesser) turns(g *guess, t time.Duration, steps int) []float64 {
	p.turning = p.turning[:0]
	for n := range steps + 1 {
		p.turning = append(p.turning, g.left[0]+(g.left[1]-g.left[0])*float64(n)/float64(steps))
	}
	for _, at := range []time.Duration{t, t + 1} {
		phase := time.Duration((p.begin + int64(at)) % int64(g.window))
		if way := (float64(phase-g.phase[0]) + 0.5) / float64(g.phase[1]-g.phase[0]); way > g.left[0] && way < g.left[1] {
			p.turning = append(p.turning, way)
		}
	}
	slices.Sort(p.turning)
	return p.turning
}

// test is whether one more request is admitted at an instant.
type test struct {
	at time.Duration
	ok bool
}

// hints are what the hint of an answer says, to whose request no other is added.
func (p *guesser) hints(k kind, e event) []test {
	if e.verdict.OK || p.class != classHint {
		return nil
	}
	from, to := e.hold-time.Second-1, e.hold+1
	switch {
	case p.speaks == "hint ms":
		from, to = e.hold-time.Millisecond, e.hold+time.Millisecond
	case k.floored:
		from, to = e.hold-1, e.hold+time.Second
	}
	if from <= e.came {
		return []test{{to, true}}
	}
	return []test{{from, false}, {to, true}}
}

// floors reports whether a hint may be rounded down as well as up, for all that it shows.
func (p *guesser) floors() bool { return p.speaks == "hint" || p.speaks == "hint floored" }

// learn has a guess pass a test, before which as many as more came, perhaps, of which nothing is heard.
func (p *guesser) learn(g *guess, u *usage, t test, more int) {
	little, much := p.levels(g, u, t.at)
	u.learn(t.ok, little, much+float64(more))
	if g.width == 0 {
		return
	}
	for i, way := range points {
		if l := &u.points[i]; l.low <= l.high {
			level := p.level(g, u, way, t.at)
			l.learn(t.ok, level, level+float64(more))
		}
	}
}

// learn leaves the limits that agree with a test at levels.
func (l *limits) learn(ok bool, little, much float64) {
	if ok {
		l.low = max(l.low, least(little))
	} else {
		l.high = min(l.high, most(much))
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

// passes reports whether a level agrees with a test for any limit that is left.
func (l *limits) passes(level float64, ok bool) bool {
	if ok {
		return least(level) <= l.high
	}
	return most(level) >= l.low
}

// narrow leaves out what is between the edges of a phase and what agrees with a test.
func (p *guesser) narrow(g *guess, t test) {
	passes := func(way float64) bool { return g.sure.passes(p.level(g, &g.sure, way, t.at), t.ok) }
	if g.width < finest || g.window == 0 || !p.refused || passes(g.left[0]) && passes(g.left[1]) {
		return
	}
	agrees := func(from, to float64) bool {
		little, much := p.between(g, &g.sure, [2]float64{min(from, to), max(from, to)}, t.at)
		return t.ok && g.sure.passes(little, true) || !t.ok && g.sure.passes(much, false)
	}
	ways := p.turns(g, t.at, 8)
	left := g.left
	for side := range left {
		n := 0
		for n < len(ways)-1 && !agrees(ways[n], ways[n+1]) {
			n++
		}
		if n == len(ways)-1 {
			return // nothing agrees
		}
		from, to := ways[n], ways[n+1]
		for math.Abs(to-from)*g.worked > finest/4 {
			if mid := (from + to) / 2; agrees(from, mid) {
				to = mid
			} else {
				from = mid
			}
		}
		left[side] = from
		slices.Reverse(ways)
	}
	if left != g.left && left[1] > left[0] {
		part := (left[1] - left[0]) / (g.left[1] - g.left[0])
		g.left = left
		g.width *= part
		g.weight *= part
	}
}

// part moves the edges to two points of the way from the one to the other.
func (g *guess) part(from, to float64) {
	rate, phase := g.rate, g.phase
	for edge, way := range [2]float64{from, to} {
		g.rate[edge] = rate[0] * math.Pow(rate[1]/max(rate[0], surely), way)
		g.phase[edge] = phase[0] + time.Duration(way*float64(phase[1]-phase[0]))
	}
}

// count counts a request that comes at t, where no list is kept.
func (g *guess) count(edge int, u *tally, t time.Duration) {
	if g.roll(edge, u, t); g.counts == "fixed" && u.level == 0 {
		u.at = t
	}
	u.level++
}

// countIn counts a request where no list is kept.
func (g *guess) countIn(u *usage, e event) {
	if e.verdict.OK {
		for edge := range u.edge {
			g.count(edge, &u.edge[edge], e.came)
		}
	}
}

// timely reports whether an answer comes when a queue of the rate gives it, or what is none: on its way it is
// for a quarter of a round trip at least, and three at most.
func (p *guesser) timely(g *guess, e event) bool {
	little, much := 0.0, 0.0
	if g.counts == "queue" && e.verdict.OK {
		little, much = p.level(g, &g.sure, 0, e.came)/g.rate[0], p.level(g, &g.sure, 1, e.came)/g.rate[1]
	}
	back := e.at - e.came
	return back >= seconds(little)+p.latency/4-time.Microsecond && back <= seconds(much)+3*p.latency+time.Microsecond
}

// seconds are a duration.
func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

// see has what came count that an answer is about.
func (p *guesser) see(e event) {
	p.counted[1].seen++
	if e.verdict.OK {
		p.counted[0].seen++
	}
}

// pass has a guess pass tests before which all have come that ever will.
func (p *guesser) pass(g *guess, tests ...test) {
	for _, t := range tests {
		p.narrow(g, t)
		p.learn(g, &g.sure, t, 0)
	}
}

// work works out again what all answers say of a guess.
func (p *guesser) work(g *guess) {
	seen := [2]int{p.counted[0].seen, p.counted[1].seen}
	p.counted[0].seen, p.counted[1].seen = 0, 0
	g.part(g.left[0], g.left[1])
	p.fresh(g)
	for _, e := range p.history {
		p.pass(g, test{e.came, e.verdict.OK})
		g.countIn(&g.sure, e)
		p.see(e)
		if p.pass(g, p.hints(g.kind, e)...); g.sure.low > g.sure.high {
			break
		}
	}
	g.pointed = g.sure.pointed()
	p.counted[0].seen, p.counted[1].seen = seen[0], seen[1]
}

// double has guesses be of two kinds, of which the other one has a part of the weight. What only a refusal
// shows is not asked before there is one.
func (p *guesser) double(part float64, other func(k *kind) bool) {
	for i := range p.all {
		if g := p.all[i]; other(&g.kind) {
			p.all[i].weight *= 1 - part
			g.weight *= part
			p.all = append(p.all, g)
		}
	}
}

// possible reports whether any limit is left.
func (g *guess) possible() bool {
	return g.sure.low <= g.sure.high && g.drawn[g.sure.high] > g.drawn[g.sure.low-1]
}

// pointed reports whether any point agrees with all tests.
func (u *usage) pointed() bool {
	return u.points[0].low <= u.points[0].high || u.points[1].low <= u.points[1].high
}

// mass is the weight of a guess, and of that the part that refuses a request, which finds these levels: by its
// points, if any is left.
func (g *guess) mass(u *usage, level func(way float64) float64) (all, no float64) {
	add := func(l limits, way, part float64) {
		if l.low > l.high {
			return
		}
		all += part * g.weight * (g.drawn[l.high] - g.drawn[l.low-1])
		if level == nil {
			return
		}
		if high := min(l.high, most(level(way))); high >= l.low {
			no += part * g.weight * (g.drawn[high] - g.drawn[l.low-1])
		}
	}
	switch {
	case g.width == 0:
		add(u.limits, 0, 1)
	case u.pointed():
		for i, way := range points {
			add(u.points[i], way, 1.0/float64(len(points)))
		}
	default:
		for _, way := range points {
			add(u.limits, g.left[0]+way*(g.left[1]-g.left[0]), 1.0/float64(len(points)))
		}
	}
	return all, no
}
