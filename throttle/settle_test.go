package throttle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestSettleAboveMaxN: a cost above quota.MaxN counts as that, and what is too much of it goes back whole.
func TestSettleAboveMaxN(t *testing.T) {
	for _, text := range []string{"10 tokens/s burst 10", "10 tokens/s", "10 tokens/s window", "10 tokens/s window grid", "10 tokens/s log", "10 tokens/s sliding", "10 tokens/s estimate"} {
		for _, claimed := range []int{1, 10, math.MaxInt} {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, text)}
				g, _ := l.Observe(tokens(claimed))
				for _, spent := range []int{0, math.MaxInt, 1, math.MaxInt - 1, 3} {
					g.Settle(quota.Costs{"tokens": int64(spent)})
				}
				if got := l.State().Limits[0].Available; got != 7 {
					t.Errorf("%s, claimed %d: %d are left, want 7", text, claimed, got)
				}
			})
		}
	}
}

// TestClaimAboveMaxN: an N above quota.MaxN counts as that, whichever way a claim is granted, and no sum
// overflows.
func TestClaimAboveMaxN(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("no int is above quota.MaxN")
	}
	for _, q := range []quota.Quotas{nil, quotas(t, "10/s burst 10"), quotas(t, "10 in flight")} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: q}
			var all []*Grant
			for range 2 {
				g, _ := l.Observe(Claim{N: math.MaxInt})
				all = append(all, g)
			}
			if q == nil {
				all = append(all, grant(t, l, Claim{N: math.MaxInt}), grant(t, l, Claim{N: math.MaxInt, Priority: Urgent}))
			}
			if got, want := int64(l.State().InFlight), int64(len(all))*quota.MaxN; got != want {
				t.Errorf("%v: %d are in flight, want %d", q, got, want)
			}
			for _, g := range all {
				g.Done()
			}
			if got := l.State().InFlight; got != 0 {
				t.Errorf("%v: %d are in flight in the end, want none", q, got)
			}
		})
	}
}

// TestSettle grants some of 10 tokens a second, settles it for another number after 300
// ms, and looks when two others may go, to the nanosecond.
func TestSettle(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		quota          string
		claimed, spent int
		one, other     int
		oneAt, otherAt time.Duration
	}{
		// Too much was claimed: the rest goes back as if it had not been.
		{"10 tokens/s burst 10", 10, 4, 9, 10, 300 * ms, 400 * ms},
		{"10 tokens/s window", 10, 4, 6, 7, 300 * ms, s},
		{"10 tokens/s window grid", 10, 4, 6, 7, 300 * ms, s},
		{"10 tokens/s log", 10, 4, 6, 7, 300 * ms, s},
		{"10 tokens/s sliding", 10, 4, 6, 7, 300 * ms, s},
		{"10 tokens/s estimate", 10, 4, 6, 7, 300 * ms, s + s/8 + 1}, // 4·(1−1/8) is rounded to 3
		// Too little: the difference is charged now.
		{"10 tokens/s burst 10", 4, 10, 3, 4, 300 * ms, 400 * ms}, // 6+3−6 are left
		{"10 tokens/s window", 4, 10, 1, 10, s, s},
		{"10 tokens/s window grid", 4, 10, 1, 10, s, s},
		{"10 tokens/s log", 4, 10, 4, 5, s, 1300 * ms},
		{"10 tokens/s sliding", 4, 10, 4, 5, s, 1300 * ms},
		{"10 tokens/s estimate", 4, 10, 1, 2, 1050*ms + 1, 1150*ms + 1},
		// Even above what the quota ever grants.
		{"10 tokens/s burst 10", 4, 30, 1, 10, 2100 * ms, 3 * s}, // 6+3−26 are left: 18 are short of 1
		{"10 tokens/s window", 4, 30, 1, 10, s, s},
		{"10 tokens/s log", 4, 30, 1, 10, 1300 * ms, 1300 * ms},
		{"10 tokens/s sliding", 4, 30, 1, 10, 1300 * ms, 1300 * ms},
		// To nothing, and to a number that counts as nothing.
		{"10 tokens/s burst 10", 10, 0, 10, 10, 300 * ms, 300 * ms},
		{"10 tokens/s log", 10, -3, 10, 10, 300 * ms, 300 * ms},
		{"10 tokens/s window", 10, -3, 10, 10, 300 * ms, 300 * ms},
	} {
		for name, settle := range map[string]func(g *Grant, spent quota.Costs){
			"before Answered": func(g *Grant, spent quota.Costs) { g.Settle(spent); g.Answered(Answer{}) },
			"in Answered":     func(g *Grant, spent quota.Costs) { g.Answered(Answer{Spent: spent}) },
			"before Done":     func(g *Grant, spent quota.Costs) { g.Settle(spent); g.Done() },
			"after Answered":  func(g *Grant, spent quota.Costs) { g.Answered(Answer{}); g.Settle(spent) },
			"twice":           func(g *Grant, spent quota.Costs) { g.Settle(spent); g.Answered(Answer{Spent: spent}); g.Settle(spent) },
		} {
			t.Run(fmt.Sprintf("%s, %d for %d, %s", test.quota, test.spent, test.claimed, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := Limiter{Quotas: quotas(t, test.quota)}
					g := grant(t, &l, tokens(test.claimed))
					time.Sleep(300 * ms)
					settle(g, quota.Costs{"tokens": int64(test.spent), "points": 7})
					for n, at := range map[int]time.Duration{test.one: test.oneAt, test.other: test.otherAt} {
						if got := 300*ms + l.Forecast(tokens(n)).Wait; got != at {
							t.Errorf("%d may go at %v, want %v", n, got, at)
						}
					}
				})
			})
		}
	}
}

// TestSettleRetimesWaiters: a waits for 5 tokens until 500 ms, b behind it for 2 until 700
// ms, and at 300 ms what went before them is settled.
func TestSettleRetimesWaiters(t *testing.T) {
	for _, test := range []struct {
		spent int // of 10
		want  []string
	}{
		{0, []string{"a 300ms", "b 300ms"}},
		{8, []string{"a 300ms", "b 500ms"}},
		{9, []string{"a 400ms", "b 600ms"}},
		{10, []string{"a 500ms", "b 700ms"}},
		{13, []string{"a 800ms", "b 1s"}},
		{30, []string{"a 2.5s", "b 2.7s"}},
	} {
		for _, where := range []string{"in the bucket", "above", "below"} {
			t.Run(fmt.Sprintf("%d, %s", test.spent, where), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					above := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
					l := &Limiter{Parent: above}
					who := l
					switch where {
					case "in the bucket":
						l, who = above, above
					case "above":
						who = above
					}
					g := grant(t, l, tokens(10))
					c := newCrowd()
					c.claim(t.Context(), who, "a", tokens(5), 0)
					c.claim(t.Context(), who, "b", tokens(2), 0)
					time.Sleep(300 * time.Millisecond)
					g.Settle(quota.Costs{"tokens": int64(test.spent)})
					c.check(t, test.want...)
				})
			})
		}
	}
}

func TestSettleWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(claimed, spent int) Forecast {
			l := Limiter{Quotas: quotas(t, "10 tokens/s warm-up 2s")}
			g := grant(t, &l, tokens(claimed))
			g.Settle(quota.Costs{"tokens": int64(spent)})
			return l.Forecast(tokens(1))
		}
		want := after(5, 5)
		for _, claimed := range []int{1, 4, 6, 20} {
			if got := after(claimed, 5); got != want {
				t.Errorf("5 spent of %d: %+v, want %+v as of 5", claimed, got, want)
			}
		}
	})
}

func TestSettleRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10/s burst 10, 100 tokens/s burst 100")}
		g := grant(t, &l, Claim{N: 4})
		g.Settle(quota.Costs{quota.Requests: 9})
		g.Settle(quota.Costs{"tokens": 100}) // the requests stay as they are
		if one, none := l.Forecast(Claim{N: 2}), l.Forecast(tokens(50)); one.Wait != 100*time.Millisecond || none.Wait != 500*time.Millisecond {
			t.Errorf("2 may go in %v and 50 tokens in %v, want 100ms and 500ms", one.Wait, none.Wait)
		}
		if got := l.State().InFlight; got != 4 {
			t.Errorf("%d in flight, want what was claimed", got)
		}
		g.Cancel()
		if f := l.Forecast(Claim{N: 10, Costs: quota.Costs{"tokens": 100}}); f != (Forecast{}) || l.State().InFlight != 0 {
			t.Errorf("after the cancel %+v, want that nothing is missing", f)
		}
	})
}

// A slot is held whatever it costs.
func TestSettleLeavesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10 tokens in flight, 10 tokens/s burst 10")}
		g := grant(t, &l, tokens(10))
		g.Settle(quota.Costs{"tokens": 0})
		_, w := join(t, &l, tokens(1))
		if gone(w) {
			t.Error("10 of 10 are in flight, and one more goes")
		}
		g.Answered(Answer{})
		if !gone(w) {
			t.Error("waits for nothing")
		}
	})
}

// TestSettleAgainstModel runs random histories through a Limiter and the model of
// model_test.go, which has two units here: claims, cancels in line and after the grant,
// and settlements before and after Answered, several of one grant. Everybody goes in exactly
// the same millisecond.
func TestSettleAgainstModel(t *testing.T) {
	for seed := range seeds(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { settleAgainstModel(t, rand.New(rand.NewPCG(seed, 6)), 0) })
		})
	}
}

// settleModel is a bucket with quotas in requests and in tokens, the two units of all pairs here, and what is
// left of each quota by definition.
type settleModel struct {
	l       *Limiter
	qs      []quota.Quota
	unit    []int // of each quota
	level   []int // of each quota, in thousandths
	spills  []spill
	now     int        // ms
	line    []*settled // who has not gone by definition
	waiting []*settled // who has not gone
	open    []*settled // who was granted, and may be settled
}

// settled is a claim of a settleModel.
type settled struct {
	asked, cost [2]int
	parts       []charged // what was charged when
	went        bool
	waiter      *Waiter
	grant       *Grant
}

type charged struct {
	at int // ms
	n  [2]int
}

func newSettleModel(r *rand.Rand) *settleModel {
	qs := []quota.Quota{{N: 200, Burst: 1}, {N: 100, Burst: 1}, {N: 200, Burst: 1, Unit: "tokens"}, {N: 50, Burst: 1, Unit: "tokens"}}
	r.Shuffle(len(qs), func(i, j int) { qs[i], qs[j] = qs[j], qs[i] })
	qs = qs[:2+r.IntN(3)]
	m := &settleModel{qs: qs, unit: make([]int, len(qs)), level: make([]int, len(qs)), spills: make([]spill, len(qs))}
	for i := range qs {
		qs[i].Burst = int64(6 + r.IntN(8))
		m.level[i] = int(qs[i].Burst * 1000)
		if qs[i].Unit != "" {
			m.unit[i] = 1
		}
	}
	m.l = &Limiter{Quotas: qs}
	return m
}

// room is what a quota may still get back.
func (m *settleModel) room(i int) int { return int(1000*m.qs[i].Burst) - m.level[i] }

func (m *settleModel) charge(c *settled, n [2]int) {
	for i := range m.qs {
		m.level[i] -= 1000 * n[m.unit[i]]
	}
	c.parts = append(c.parts, charged{m.now, n})
}

// back gives n back, of the latest charges first.
func (m *settleModel) back(c *settled, n [2]int) {
	for u := range n {
		for i := len(c.parts) - 1; i >= 0; i-- {
			p := &c.parts[i]
			k := min(n[u], p.n[u])
			n[u], p.n[u] = n[u]-k, p.n[u]-k
			for j := range m.qs {
				if m.unit[j] == u {
					m.level[j] += m.spills[j].back(p.at, 1000*k, m.room(j))
				}
			}
		}
	}
}

// serve has the first in line go, as long as there is enough for it.
func (m *settleModel) serve() {
	for len(m.line) > 0 {
		c := m.line[0]
		for i := range m.qs {
			if n := c.asked[m.unit[i]]; n > 0 && m.level[i] < 1000*n {
				return
			}
		}
		m.charge(c, c.asked)
		c.went, m.line = true, m.line[1:]
	}
}

func (m *settleModel) check(t *testing.T, what string) {
	t.Helper()
	checkTree(t, m.l)
	m.serve()
	m.waiting = slices.DeleteFunc(m.waiting, func(c *settled) bool {
		went := c.waiter == nil || gone(c.waiter)
		if went != c.went {
			t.Fatalf("after %s at %v, %v went: %v; in the model: %v", what, m.l.now()-1, c.asked, went, c.went)
		}
		if went {
			if c.waiter != nil {
				c.grant = c.waiter.Granted()
			}
			m.open = append(m.open, c)
		}
		return went
	})
}

// tick has a millisecond pass.
func (m *settleModel) tick(t *testing.T) {
	t.Helper()
	time.Sleep(time.Millisecond)
	synctest.Wait()
	m.now++
	for i, q := range m.qs {
		m.level[i] = int(min(int64(m.level[i])+q.N, 1000*q.Burst))
		m.spills[i].tick(m.now, m.room(i))
	}
	checkSettled(t, m.l)
	m.check(t, "a millisecond")
}

func (m *settleModel) ask(t *testing.T, r *rand.Rand) {
	t.Helper()
	c := &settled{asked: [2]int{1 + r.IntN(2), r.IntN(5)}}
	c.cost = c.asked
	c.grant, c.waiter = join(t, m.l, Claim{N: c.asked[0], Costs: quota.Costs{"tokens": int64(c.asked[1])}})
	m.line, m.waiting = append(m.line, c), append(m.waiting, c)
	m.check(t, "a claim")
}

// settle settles a claim to a cost of up to more than was claimed; if more is zero, never to more than before.
func (m *settleModel) settle(t *testing.T, r *rand.Rand, more int) {
	t.Helper()
	c := m.open[r.IntN(len(m.open))]
	cost, spent := c.cost, quota.Costs{}
	if r.IntN(2) == 0 {
		cost[0] = r.IntN(c.asked[0] + more + 1)
		spent[quota.Requests] = int64(cost[0])
	}
	cost[1] = r.IntN(c.asked[1] + more + 1)
	spent["tokens"] = int64(cost[1])
	var up, down [2]int
	for i, was := range c.cost {
		up[i], down[i] = max(cost[i]-was, 0), max(was-cost[i], 0)
	}
	if more == 0 && up != ([2]int{}) {
		return
	}
	c.cost = cost
	m.back(c, down)
	m.charge(c, up)
	c.grant.Settle(spent)
	m.check(t, "a settlement")
}

// settleAgainstModel: a grant costs up to more than was claimed.
func settleAgainstModel(t *testing.T, r *rand.Rand, more int) {
	t.Helper()
	m := newSettleModel(r)
	canceled := canceledContext(t)
	for range 300 {
		m.tick(t)
		switch k := r.IntN(10); {
		case k < 5:
			m.ask(t, r)
		case k < 6 && len(m.waiting) > 0:
			i := r.IntN(len(m.waiting))
			c := m.waiting[i]
			m.waiting = slices.Delete(m.waiting, i, i+1)
			m.line = slices.DeleteFunc(m.line, func(o *settled) bool { return o == c })
			c.waiter.Wait(canceled)
			m.check(t, "a cancel in line")
		case k < 9 && len(m.open) > 0:
			m.settle(t, r, more)
		case len(m.open) > 0:
			i := r.IntN(len(m.open))
			c := m.open[i]
			m.open = slices.Delete(m.open, i, i+1)
			if r.IntN(2) == 0 {
				m.back(c, c.cost)
				c.grant.Cancel()
				m.check(t, "a cancel")
			} else {
				c.grant.Answered(Answer{})
			}
		}
	}
	for _, c := range m.waiting {
		c.waiter.Leave()
	}
}

// TestSettleAfterCancel: what was canceled costs nothing, whatever it is settled to, also if only requests were
// claimed.
func TestSettleAfterCancel(t *testing.T) {
	for _, claim := range []Claim{{}, {Costs: quota.Costs{"tokens": 1}}} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
			g, err := l.Acquire(t.Context(), claim)
			if err != nil {
				t.Fatal(err)
			}
			g.Cancel()
			g.Settle(quota.Costs{"tokens": 10})
			if f := l.Forecast(Claim{Costs: quota.Costs{"tokens": 10}}); f.Wait != 0 {
				t.Errorf("claim %v: 10 tokens would wait %v after a cancel, want 0", claim.Costs, f.Wait)
			}
		})
	}
}

// TestSettleAboveALog: what was settled above N, and then below it again, counts until it has left.
func TestSettleAboveALog(t *testing.T) {
	for _, text := range []string{"2/s log", "2/s", "2/s sliding 100"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, text)}
				settle := func(g *Grant, n int) {
					time.Sleep(100 * time.Millisecond)
					g.Settle(quota.Costs{quota.Requests: int64(n)})
				}
				wait := func(want time.Duration) {
					t.Helper()
					if f := l.Forecast(Claim{}); f.Wait != want {
						t.Errorf("one more may go in %v, want %v", f.Wait, want)
					}
				}
				first := grant(t, l, Claim{})
				time.Sleep(100 * time.Millisecond)
				second := grant(t, l, Claim{})
				settle(second, 2)
				wait(900 * time.Millisecond)
				settle(second, 1)
				wait(700 * time.Millisecond)
				settle(first, 10)
				wait(time.Second)
			})
		})
	}
}

// TestDoneChargesWhatWasSpentOfAQuietBucket: what an answer has cost is charged where only requests were
// claimed, too.
func TestDoneChargesWhatWasSpentOfAQuietBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "100/s burst 100, 10 tokens/s burst 10")}
		grant(t, l, Claim{}).Answered(Answer{Spent: quota.Costs{"tokens": 10}})
		if got := l.Forecast(tokens(10)).Wait; got != time.Second {
			t.Errorf("10 tokens were spent, 10 more may go in %v, want 1s", got)
		}
	})
}

// TestSettleOfABucketInDebt: what is given back counts in a bucket that stays in debt.
func TestSettleOfABucketInDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		g := grant(t, l, tokens(10))
		g.Settle(quota.Costs{"tokens": 50})
		g.Settle(quota.Costs{"tokens": 30})
		if got := l.Forecast(tokens(10)).Wait; got != 3*time.Second {
			t.Errorf("30 tokens were spent, 10 more may go in %v, want 3s", got)
		}
	})
}

// TestSettleKnowsWhatDoneWasTold: the same number again changes nothing.
func TestSettleKnowsWhatDoneWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10"), SlowStart: true}
		h := grant(t, l, Claim{})
		h.Answered(Answer{Spent: quota.Costs{"tokens": 10}})
		h.Settle(quota.Costs{"tokens": 10})
		if got := l.Forecast(tokens(10)).Wait; got != time.Second {
			t.Errorf("10 tokens were spent, 10 more may go in %v, want 1s", got)
		}
	})
}

// TestSettleGivesBackNoMoreThanWouldBeThere: what would have spilled over meanwhile does not come back.
func TestSettleGivesBackNoMoreThanWouldBeThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		g := grant(t, l, tokens(10))
		time.Sleep(time.Second)
		grant(t, l, tokens(10))
		g.Settle(quota.Costs{"tokens": 0})
		if got := l.Forecast(tokens(10)).Wait; got != time.Second {
			t.Errorf("10 may go in %v; had the first not been claimed, in 1s", got)
		}
	})
}

// TestSettleGivesBackWhatWasAddedLater: what was charged later comes back from then.
func TestSettleGivesBackWhatWasAddedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s log")}
		g := grant(t, l, tokens(2))
		time.Sleep(100 * time.Millisecond)
		g.Settle(quota.Costs{"tokens": 10})
		g.Cancel()
		if got := l.Forecast(tokens(10)).Wait; got != 0 {
			t.Errorf("all was given back, and 10 may go in %v", got)
		}
	})
}

// TestSettleModelInDebt: the model of settlements, with costs above what was claimed, and so with debts.
func TestSettleModelInDebt(t *testing.T) {
	for seed := range seeds(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { settleAgainstModel(t, rand.New(rand.NewPCG(seed, 6)), 4) })
		})
	}
}
