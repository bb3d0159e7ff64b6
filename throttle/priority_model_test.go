package throttle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// ranked is a tree of Limiters by definition: of a bucket and those below it, who waits
// is looked through in the order of ranks, every millisecond and after each change.
// Tokens are in thousandths, which is exact for rates that divide 1000, halved too. The
// buckets below have rates too, or slots, which come back when a request ends.
type ranked struct {
	now     int // ms
	aging   int // ms
	half    bool
	buckets [3]rankedBucket // the first is the parent of the others
}

type rankedBucket struct {
	rate, burst   int      // a rate of zero is of slots
	tokens, spare int      // thousandths; of slots, how many are free
	held          int      // nothing goes before
	spills        [2]spill // of tokens and of spare
	waiting       []*rankedWaiter
	turns         [priorities]rankedTurns
}

// rankedTurns is how far the flows of a priority are: what each got ÷ its weight, and how far the flow was that
// went last, where those that come begin.
type rankedTurns struct {
	now float64
	got map[string]float64
}

func (s *rankedTurns) of(w *rankedWaiter) float64 { return max(s.now, s.got[w.flow]) }

func (s *rankedTurns) serve(w *rankedWaiter, rate int) {
	s.now = s.of(w)
	if s.got == nil {
		s.got = map[string]float64{}
	}
	s.got[w.flow] = s.now + 1/float64(max(rate, 1))*float64(w.n)/float64(flowWeights[w.flow])
}

// The flows of histories, with their weights.
var flowWeights = map[string]int{"": 1, "a": 1, "b": 2, "c": 3}

type rankedWaiter struct {
	in, n, number, went int // went is negative while it waits
	priority            Priority
	since               int
	flow                string
}

func (b *rankedBucket) gain(tokens, spare int) {
	b.tokens = min(b.tokens+tokens, b.burst*1000)
	b.spare = min(b.spare+spare, b.burst/2*1000)
}

// room reports whether w may go, and whether it could but for what is reserved: for
// what is left to it, it has to wait for longer than for the rest.
func (m *ranked) room(b *rankedBucket, w *rankedWaiter) (ok, but bool) {
	if m.now < b.held {
		return false, false
	}
	missing, kept := w.n*1000-b.tokens, w.n*1000-b.spare
	if !m.half || w.priority == Urgent {
		return missing <= 0, missing <= 0
	}
	return missing <= 0 && kept <= 0, missing <= 0 || b.rate > 0 && 2*kept > missing
}

// sorted returns who waits in b in the order in which they go: of each class the flow that is the least far,
// and of the first of each class the one with the best rank. Each class is taken to have asked Aging earlier
// than the one below it.
func (m *ranked) sorted(b *rankedBucket, ws []*rankedWaiter) (in []*rankedWaiter) {
	ws = slices.Clone(ws)
	rank := func(w *rankedWaiter) int { return w.since - w.priority.index()*m.aging }
	slices.SortFunc(ws, func(a, b *rankedWaiter) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a.number - b.number
	})
	turns := b.turns
	for i := range turns {
		turns[i].got = maps.Clone(turns[i].got)
	}
	for len(ws) > 0 {
		first := [priorities]*rankedWaiter{}
		for _, w := range ws { // by rank
			i := w.priority.index()
			if first[i] == nil || turns[i].of(w) < turns[i].of(first[i]) {
				first[i] = w
			}
		}
		next := ws[slices.IndexFunc(ws, func(w *rankedWaiter) bool { return w == first[w.priority.index()] })]
		in = append(in, next)
		turns[next.priority.index()].serve(next, b.rate)
		ws = slices.DeleteFunc(ws, func(w *rankedWaiter) bool { return w == next })
	}
	return in
}

// compete returns those of ws whom b lets go; if it is below another, only the first of
// each priority. Nobody passes one of a better rank, but where that waits only for what
// is left to those that are not urgent.
func (m *ranked) compete(b *rankedBucket, ws []*rankedWaiter, below bool) (open []*rankedWaiter) {
	seen := map[Priority]bool{}
	kept := false
	for _, w := range m.sorted(b, ws) {
		if below && seen[w.priority] || kept && w.priority != Urgent {
			continue
		}
		seen[w.priority] = true
		ok, but := m.room(b, w)
		switch {
		case ok:
			open = append(open, w)
		case !but:
			return open
		default:
			kept = true
		}
	}
	return open
}

func (m *ranked) serve() {
	for {
		at := m.buckets[0].waiting
		for i := range m.buckets[1:] {
			at = append(slices.Clone(at), m.compete(&m.buckets[1+i], m.buckets[1+i].waiting, true)...)
		}
		open := m.compete(&m.buckets[0], at, false)
		if len(open) == 0 {
			return
		}
		w := open[0]
		m.buckets[0].turns[w.priority.index()].serve(w, m.buckets[0].rate)
		m.leave(w)
		for _, i := range slices.Compact([]int{w.in, 0}) {
			m.buckets[i].give(w, -w.n)
		}
		w.went = m.now
	}
}

// give gives n tokens of w back; a negative number takes them.
func (b *rankedBucket) give(w *rankedWaiter, n int) {
	if w.priority == Urgent {
		b.gain(n*1000, 0)
	} else {
		b.gain(n*1000, n*1000)
	}
}

// back gives back what w took of buckets with a rate, as if it had never gone.
func (m *ranked) back(w *rankedWaiter) {
	for _, i := range slices.Compact([]int{w.in, 0}) {
		b := &m.buckets[i]
		if b.rate == 0 {
			continue
		}
		b.tokens += b.spills[0].back(w.went, w.n*1000, b.burst*1000-b.tokens)
		if w.priority != Urgent {
			b.spare += b.spills[1].back(w.went, w.n*1000, b.burst/2*1000-b.spare)
		}
	}
}

func (m *ranked) leave(w *rankedWaiter) {
	b := &m.buckets[w.in]
	b.waiting = slices.DeleteFunc(b.waiting, func(o *rankedWaiter) bool { return o == w })
	if !slices.ContainsFunc(b.waiting, func(o *rankedWaiter) bool { return o.priority == w.priority }) {
		b.turns[w.priority.index()] = rankedTurns{}
	}
}

func (m *ranked) step() {
	m.now++
	for i := range m.buckets {
		b := &m.buckets[i]
		b.gain(b.rate, b.rate/2)
		b.spills[0].tick(m.now, b.burst*1000-b.tokens)
		b.spills[1].tick(m.now, b.burst/2*1000-b.spare)
	}
	m.serve()
}

// rankedHistory is what a random history consists of.
type rankedHistory struct {
	tree, half bool
	rates      bool // below
	flows      bool
	heaviest   int
}

// TestPriorityModel runs random histories of all three priorities through Limiters and
// the model: claims, cancels in line and after the grant, requests that ask again with
// their place, or leave and come back as another priority, and holds, with aging from
// none to quick. Everybody goes in exactly the same millisecond.
func TestPriorityModel(t *testing.T) {
	for name, h := range map[string]rankedHistory{
		"bucket":          {heaviest: 3},
		"bucket, reserve": {heaviest: 1, half: true},
		"flows":           {heaviest: 3, flows: true},
		"flows, reserve":  {heaviest: 1, flows: true, half: true},
		"tree":            {heaviest: 1, tree: true},
		"tree, reserve":   {heaviest: 1, tree: true, half: true},
		"rates":           {heaviest: 1, tree: true, rates: true},
		"rates, reserve":  {heaviest: 1, tree: true, rates: true, half: true},
	} {
		for seed := range seeds(2) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { h.run(t, rand.New(rand.NewPCG(seed, 5))) })
			})
		}
	}
}

// rankedPlay is a history that is played, with Limiters and with their definition.
type rankedPlay struct {
	rankedHistory
	r                *rand.Rand
	m                *ranked
	ls               [3]*Limiter
	waiting, granted []*rankedClaim
	number, went     int // how many claims were made, and how many went
}

type rankedClaim struct {
	*rankedWaiter
	waiter *Waiter
	grant  *Grant
}

func (h rankedHistory) begin(r *rand.Rand) *rankedPlay {
	p := &rankedPlay{rankedHistory: h, r: r, m: &ranked{aging: []int{0, 5, 30, 200}[r.IntN(4)], half: h.half}}
	aging := time.Duration(p.m.aging) * time.Millisecond
	if p.m.aging == 0 {
		aging, p.m.aging = -1, 1_000_000
	}
	for i := range p.ls {
		b := &p.m.buckets[i]
		b.rate, b.burst = []int{200, 100, 50}[r.IntN(3)], 2*h.heaviest+r.IntN(4)
		b.tokens, b.spare = b.burst*1000, b.burst/2*1000
		l := &Limiter{Quotas: quota.Quotas{{N: int64(b.rate), Burst: int64(b.burst)}}, Aging: aging}
		if i > 0 && !h.rates {
			b.rate = 0
			l.Quotas = quota.Quotas{{N: int64(b.burst), Kind: quota.InFlight, Unit: "slots"}}
		}
		if h.half {
			l.Reserve = 0.5
		}
		if i > 0 {
			l.Parent = p.ls[0]
		}
		p.ls[i] = l
	}
	return p
}

// check compares who went with who went by definition.
func (p *rankedPlay) check(t *testing.T) {
	t.Helper()
	checkTree(t, p.ls[:]...)
	p.waiting = slices.DeleteFunc(p.waiting, func(c *rankedClaim) bool {
		gone := c.waiter == nil || gone(c.waiter)
		if gone != (c.went >= 0) {
			t.Fatalf("at %d ms, %+v went: %v; by definition: %v", p.m.now, *c.rankedWaiter, gone, !gone)
		}
		if !gone {
			return false
		}
		if c.waiter != nil {
			if c.grant = c.waiter.Granted(); c.waiter.err != nil {
				t.Fatal(c.waiter.err)
			}
		}
		p.granted = append(p.granted, c)
		p.went++
		return true
	})
}

// claim makes a claim, at a place if it has one.
func (p *rankedPlay) claim(t *testing.T, w *rankedWaiter, at Place) {
	t.Helper()
	if at == (Place{}) {
		p.number++
		w.number, w.since = p.number, p.m.now
	}
	w.went = -1
	b := &p.m.buckets[w.in]
	b.waiting = append(b.waiting, w)
	p.m.serve()
	c := &rankedClaim{rankedWaiter: w}
	c.grant, c.waiter = join(t, p.ls[w.in], Claim{N: w.n, Costs: quota.Costs{"slots": int64(w.n)}, Priority: w.priority, Flow: w.flow, Weight: flowWeights[w.flow], After: placed(at)})
	p.waiting = append(p.waiting, c)
	p.check(t)
}

// someone is a new claim.
func (p *rankedPlay) someone() *rankedWaiter {
	w := &rankedWaiter{n: 1 + p.r.IntN(p.heaviest), priority: byIndex[p.r.IntN(3)]}
	if p.tree {
		w.in = p.r.IntN(3)
	}
	if p.flows {
		w.flow = []string{"", "a", "b", "c"}[p.r.IntN(4)]
	}
	return w
}

// leave has some claim leave the line.
func (p *rankedPlay) leave(t *testing.T, by func(*Waiter)) *rankedClaim {
	t.Helper()
	i := p.r.IntN(len(p.waiting))
	c := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	p.m.leave(c.rankedWaiter)
	p.m.serve()
	by(c.waiter)
	p.check(t)
	return c
}

// end ends the request of one of the latest grants: it was not sent, or was refused and is made again, or was
// served.
func (p *rankedPlay) end(t *testing.T) {
	t.Helper()
	i := len(p.granted) - 1 - p.r.IntN(min(len(p.granted), 5))
	c := p.granted[i]
	p.granted = slices.Delete(p.granted, i, i+1)
	if p.m.buckets[c.in].rate == 0 {
		p.m.buckets[c.in].give(c.rankedWaiter, c.n)
	}
	what := p.r.IntN(3)
	if what == 0 {
		p.m.back(c.rankedWaiter)
	}
	p.m.serve()
	if what == 0 {
		c.grant.Cancel()
	} else {
		c.grant.Answered(Answer{})
	}
	if p.check(t); what == 1 {
		p.claim(t, c.rankedWaiter, c.grant.place)
	}
}

func (h rankedHistory) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	p := h.begin(r)
	canceled := canceledContext(t)
	busy := 0
	for now := range 300 {
		if now > 0 {
			time.Sleep(time.Millisecond)
			synctest.Wait()
			p.m.step()
			checkSettled(t, p.ls[:]...)
			p.check(t)
		}
		if now%40 == 0 {
			busy = r.IntN(3)
		}
		for range r.IntN(1 + busy) {
			switch k := r.IntN(20); {
			case k < 10:
				p.claim(t, p.someone(), Place{})
			case k < 12 && len(p.waiting) > 0: // no longer wants it
				p.leave(t, func(w *Waiter) {
					if _, err := w.Wait(canceled); err == nil {
						t.Fatal("canceled, and granted")
					}
				})
			case k < 14 && len(p.waiting) > 0: // comes back
				c := p.leave(t, func(w *Waiter) {
					if !w.Leave() {
						t.Fatal("it had gone")
					}
				})
				c.priority = byIndex[r.IntN(3)]
				p.claim(t, c.rankedWaiter, c.waiter.place)
			case k < 18 && len(p.granted) > 0:
				p.end(t)
			case k == 18:
				d := r.IntN(20)
				p.ls[0].Pause(time.Duration(d) * time.Millisecond)
				p.m.buckets[0].held = max(p.m.buckets[0].held, p.m.now+d)
			}
		}
	}
	if p.went < 5 {
		t.Errorf("only %d went", p.went)
	}
	for _, c := range p.waiting {
		c.waiter.Leave()
	}
	for i, l := range p.ls {
		checkCountsNothing(t, i, l)
	}
}

// checkCountsNothing reports what bucket i counts although nobody waits.
func checkCountsNothing(t *testing.T, i int, l *Limiter) {
	t.Helper()
	if l.line.waiting != 0 || l.line.Len() != 0 || l.line.direct != 0 {
		t.Errorf("bucket %d: %d wait, %d stand in line, %d asked it", i, l.line.waiting, l.line.Len(), l.line.direct)
	}
	for _, sum := range l.line.sure.Sum {
		if sum.Claims != 0 || sum.N != 0 || len(sum.Costs) != 0 {
			t.Errorf("bucket %d: %+v are counted, want none", i, sum)
		}
	}
	if l.line.sure.Flows != nil || l.root().asRoot.flows != nil {
		t.Errorf("bucket %d: flows %v, and %v in the tree, want none", i, l.line.sure.Flows, l.root().asRoot.flows)
	}
}

// TestPriorityModelOfHeavyClaims: the model of priorities, with claims of up to 3.
func TestPriorityModelOfHeavyClaims(t *testing.T) {
	for name, h := range map[string]rankedHistory{
		"bucket, reserve": {heaviest: 3, half: true},
		"tree":            {heaviest: 3, tree: true},
		"tree, reserve":   {heaviest: 3, tree: true, half: true},
		"rates":           {heaviest: 3, tree: true, rates: true},
		"rates, reserve":  {heaviest: 3, tree: true, rates: true, half: true},
	} {
		for seed := range seeds(4) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { h.run(t, rand.New(rand.NewPCG(seed, 5))) })
			})
		}
	}
}
