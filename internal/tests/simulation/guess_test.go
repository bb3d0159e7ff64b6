package simulation

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// guessing is how a process that is alone, and knows it, uses a server that says nothing, or hints alone. It is
// told how the server counts, and rounds its hints, or not even that; from which ranges its numbers are drawn,
// how long a round trip is in the mean, and, with each answer, when its request came to the server; so no guess
// is lost to the network. What the server admits follows from what was sent, how it counts, and its numbers.
// Each guess at these is kept until an answer or a hint contradicts it, and weighs as much as the matrix draws
// such servers often.
type guessing struct {
	weight float64 // what a refusal costs, in requests that might have been served meanwhile
	told   string  // the algorithm alone; or also the window, of a server that has one, or the burst, or limit of a window; or nothing
}

// guessers are the family. Its weights are round numbers.
var guessers = map[string]guessing{
	memberUntold:         {6, "algorithm"},
	"untold-careful":     {20, "algorithm"},
	"untold-swift":       {2, "algorithm"},
	"untold-window":      {6, "window"},
	"untold-burst":       {6, "burst"},
	"untold-any":         {6, ""},
	"untold-any-careful": {20, ""},
	"untold-any-swift":   {2, ""},
}

const (
	guesses     = 128  // none that can be split has more than one of so many parts of all weight
	mostGuesses = 1000 // where there are more, none is split
	surely      = 1e-6 // so much of a token is a rounding error
	negligible  = 0.01 // of a request
	hopeless    = 1e-5 // a guess of so little of all weight is kept, and not asked
	finest      = 1e-5 // no guess is split that stands for less
	guardOfTrip = 0.2  // a request may come so much of a round trip before the mean
)

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
	counted  [2]counts       // which count, and where refused ones do
	turning  []float64       // of turns
	hold     time.Duration
	risked   float64 // by a request that goes now
	last     float64 // by the latest one that is in flight
	refused  bool    // once
	expected bool    // usage is up to date
}

func newGuesser(c *cell, start time.Time, with guessing) *guesser {
	p := &guesser{guessing: with, cell: c, begin: start.UnixNano(), drawn: map[time.Duration][]float64{0: drawnLimits(0)}}
	for s := leastWindow; s <= mostWindow; s++ {
		p.drawn[time.Duration(s)*time.Second] = drawnLimits(s)
	}
	if p.told != "" {
		p.guess(kind{counts: c.counts, all: c.refusedCount, floored: c.speaks == "hint floored"}, 1)
	} else {
		for _, counting := range countings {
			switch counting.name {
			case "bucket":
				p.guess(kind{counts: counting.name}, 3)
			case "GCRA", "leaky":
			default:
				p.guess(kind{counts: counting.name}, 1)
			}
		}
	}
	for i := range p.all {
		p.all[i].drawn = p.drawn[p.all[i].window]
		p.fresh(&p.all[i])
	}
	return p
}

// guess adds the guesses that the server counts like this, of a weight.
func (p *guesser) guess(k kind, weight float64) {
	switch k.counts {
	case "GCRA", "leaky":
		k.counts = "bucket"
		fallthrough
	case "bucket", "queue":
		const n = guesses / 2
		step := math.Log(mostRate/float64(leastRate)) / float64(n)
		for i := range n {
			g := guess{kind: k, width: step, weight: weight / float64(n) / p.drawn[0][mostBurst]}
			g.rate = [2]float64{leastRate * math.Exp(step*float64(i+1)), leastRate * math.Exp(step*float64(i))}
			p.all = append(p.all, g)
		}
		return
	}
	var sum float64
	for s := leastWindow; s <= mostWindow; s++ {
		sum += p.drawn[time.Duration(s)*time.Second][mostLimit]
	}
	for s := leastWindow; s <= mostWindow; s++ {
		w := time.Duration(s) * time.Second
		if p.told == "window" && w != p.window {
			continue
		}
		g := guess{kind: k, window: w, weight: weight / sum}
		if k.counts != "clock" && k.counts != "estimate" {
			p.all = append(p.all, g)
			continue
		}
		if k.counts == "clock" { // half of them begin with a minute, or what it is
			g.weight /= 2
			p.all = append(p.all, g)
		}
		const phases = 2
		g.width, g.weight = 1.0/phases, g.weight/phases
		for i := range phases {
			g.phase = [2]time.Duration{time.Duration(i) * w / phases, time.Duration(i+1) * w / phases}
			p.all = append(p.all, g)
		}
	}
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
	p.forget()
	for len(p.recent) > 0 && p.recent[0].came <= earliest {
		p.take(p.recent[0])
		p.recent = p.recent[1:]
	}
}

// forget leaves what counts for good.
func (p *guesser) forget() {
	for i := range p.counted {
		l := &p.counted[i]
		l.came, l.seen, l.landed = l.came[:l.sure], l.sure, math.MaxInt
	}
}

// append has an answer count.
func (p *guesser) append(e event) {
	p.counted[1].came = append(p.counted[1].came, e.came)
	if e.verdict.OK {
		p.counted[0].came = append(p.counted[0].came, e.came)
	}
	p.see(e)
}

// take takes in an answer before whose request all have come that ever will.
func (p *guesser) take(e event) {
	if !e.verdict.OK && !p.refused && p.told == "" {
		p.double(0.25, func(k *kind) bool {
			k.all = k.counts == "log" || k.counts == "cells" || k.counts == "estimate"
			return k.all
		})
		if p.floors() {
			p.double(0.5, func(k *kind) bool { k.floored = true; return true })
		}
	}
	p.refused = p.refused || !e.verdict.OK
	for i := range p.all {
		g := &p.all[i]
		if !p.timely(g, e) {
			g.sure.high = 0
			continue
		}
		p.pass(g, test{e.came, e.verdict.OK})
		g.countIn(&g.sure, e)
	}
	p.append(e)
	p.history = append(p.history, e)
	wrong := !e.verdict.OK
	for i := range p.all {
		g := &p.all[i]
		p.pass(g, p.hints(g.kind, e)...)
		if g.sure.low <= g.sure.high && g.width > finest && (g.width < g.worked/2 || g.pointed && !g.sure.pointed()) {
			p.work(g)
		}
		wrong = wrong || !g.possible()
	}
	for i := range p.counted {
		p.counted[i].sure = len(p.counted[i].came)
	}
	if wrong {
		p.refine()
	}
}

// refine leaves out what is not possible, and splits what has much of the weight.
func (p *guesser) refine() {
	for range 8 {
		left := slices.DeleteFunc(slices.Clone(p.all), func(g guess) bool { return !g.possible() })
		if len(left) == 0 { // the arithmetic is not fine enough: nothing is concluded
			for i := range p.all {
				p.fresh(&p.all[i])
			}
			return
		}
		var sum float64
		for i := range left {
			g := &left[i]
			g.sure.mass, _ = g.mass(&g.sure, nil)
			sum += g.sure.mass
		}
		p.all = nil
		split := false
		for _, g := range left {
			into := min(int(g.sure.mass/sum*guesses)+1, 16)
			if g.width < finest || into < 2 || len(left) > mostGuesses {
				p.all = append(p.all, g)
				continue
			}
			split = true
			for part := range into {
				h := g
				whole := g.left[1] - g.left[0]
				h.left = [2]float64{g.left[0] + whole*float64(part)/float64(into), g.left[0] + whole*float64(part+1)/float64(into)}
				h.width /= float64(into)
				h.weight /= float64(into)
				p.work(&h)
				p.all = append(p.all, h)
			}
		}
		if !split {
			return
		}
	}
}

// expect works out what all that was sent has used.
func (p *guesser) expect() {
	p.forget()
	var all float64
	for i := range p.all {
		g := &p.all[i]
		g.now = g.sure
		g.now.mass, _ = g.mass(&g.now, nil)
		all += g.now.mass
	}
	for i := range p.all {
		p.all[i].asked = p.all[i].now.mass > all*hopeless
	}
	for n, e := range p.recent {
		p.suppose(e, n == len(p.recent)-1)
	}
	p.weigh()
	for i := range p.counted {
		p.counted[i].landed = len(p.counted[i].came)
	}
	for i, sent := range p.flying {
		if i == len(p.flying)-1 {
			p.last, _ = p.risk(sent)
		}
		p.fly(sent)
	}
	p.expected = true
}

// suppose takes in an answer before whose request others came, perhaps, of which nothing is heard. Of those
// that were served the last one says nearly all.
func (p *guesser) suppose(e event, last bool) {
	more := 0
	for more < len(p.flying) && p.flying[more]+p.latency/4 < e.came {
		more++
	}
	for i := range p.all {
		g := &p.all[i]
		if g.asked && (last || !e.verdict.OK) {
			p.learn(g, &g.now, test{e.came, e.verdict.OK}, more)
		}
		g.countIn(&g.now, e)
	}
	p.append(e)
	for i := range p.all {
		g := &p.all[i]
		if !g.asked {
			continue
		}
		for _, t := range p.hints(g.kind, e) {
			p.learn(g, &g.now, t, more)
		}
	}
}

// weigh gives guesses their weights. If none agrees with what is supposed, nothing is.
func (p *guesser) weigh() {
	var sum float64
	for i := range p.all {
		g := &p.all[i]
		for edge := range g.now.edge {
			g.now.edge[edge].without = g.now.edge[edge].level
		}
		if g.mean = math.Sqrt(g.rate[0] * g.rate[1]); g.window > 0 {
			g.mean = math.Sqrt(float64(g.now.low)*float64(g.now.high)) / g.window.Seconds()
		}
		if g.now.mass = 0; g.asked {
			g.now.mass, _ = g.mass(&g.now, nil)
		}
		sum += g.now.mass
	}
	for i := range p.all {
		if g := &p.all[i]; sum == 0 {
			g.now.limits, g.now.points = g.sure.limits, g.sure.points
			g.now.mass, _ = g.mass(&g.now, nil)
		}
	}
}

// fly counts a request that is in flight.
func (p *guesser) fly(sent time.Duration) {
	came := sent + p.latency/2
	for i := range p.counted {
		l := &p.counted[i]
		at := came
		if n := len(l.came); n > 0 {
			at = max(at, l.came[n-1])
		}
		l.came = append(l.came, at)
		l.seen++
	}
	for i := range p.all {
		g := &p.all[i]
		for edge := range g.now.edge {
			e := &g.now.edge[edge]
			if g.roll(edge, e, came); e.level+1 <= max(float64(g.now.high), e.without) {
				g.count(edge, e, came)
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
		if g.now.mass == 0 {
			continue
		}
		all, no := g.mass(&g.now, func(way float64) float64 { return p.level(g, &g.now, way, came) })
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
