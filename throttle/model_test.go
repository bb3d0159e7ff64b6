package throttle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// model is a Limiter by definition: every millisecond all buckets gain their rate,
// up to the burst, and then whoever is first in line goes while all of them have
// enough. It counts in thousandths of a token. That is exact for rates that divide
// 1000, and that only change to a divisor: then whoever is due is due in a whole
// millisecond.
type model struct {
	now     int // ms
	held    int // nothing goes before
	quotas  []quota.Quota
	tokens  []int // thousandths
	spills  []spill
	waiting []*modelWaiter
}

type modelWaiter struct{ id, n, went int }

func (m *model) step() {
	m.now++
	for i, q := range m.quotas {
		m.tokens[i] = int(min(int64(m.tokens[i])+q.N, q.Burst*1000))
		m.spills[i].tick(m.now, int(q.Burst*1000-int64(m.tokens[i])))
	}
	m.grant()
}

func (m *model) grant() {
	for len(m.waiting) > 0 && m.now >= m.held {
		w := m.waiting[0]
		for _, t := range m.tokens {
			if t < w.n*1000 {
				return
			}
		}
		for i := range m.tokens {
			m.tokens[i] -= w.n * 1000
		}
		w.went = m.now
		m.waiting = m.waiting[1:]
	}
}

func (m *model) give(w *modelWaiter) {
	for i, q := range m.quotas {
		m.tokens[i] += m.spills[i].back(w.went, w.n*1000, int(q.Burst*1000-int64(m.tokens[i])))
	}
	m.grant()
}

// follow has what was charged to a quota stay with it: with an equal one if there is
// one, else with the one that takes its place.
func (m *model) follow(old []quota.Quota) {
	tokens, spills, taken := make([]int, len(old)), make([]spill, len(old)), make([]bool, len(old))
	left := map[int]bool{}
	for i := range old {
		left[i] = true
	}
	assign := func(ok func(i, j int) bool) {
		for i := range old {
			for j := range old {
				if left[i] && !taken[j] && ok(i, j) {
					tokens[i], spills[i], taken[j], left[i] = m.tokens[j], m.spills[j], true, false
				}
			}
		}
	}
	assign(func(i, j int) bool { return i == j && m.quotas[i] == old[j] })
	assign(func(i, j int) bool { return m.quotas[i] == old[j] })
	assign(func(i, j int) bool { return i == j })
	assign(func(int, int) bool { return true })
	m.tokens, m.spills = tokens, spills
}

// cut takes away what the bursts no longer hold.
func (m *model) cut() {
	for i, q := range m.quotas {
		m.tokens[i] = min(m.tokens[i], int(q.Burst)*1000)
		m.spills[i].tick(m.now, int(q.Burst*1000-int64(m.tokens[i])))
	}
	m.grant()
}

func (m *model) remove(w *modelWaiter) {
	for i := range m.waiting {
		if m.waiting[i] == w {
			m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
			break
		}
	}
	m.grant()
}

// TestLimiterAgainstModel runs random histories through a Limiter and the model:
// claims of any weight, cancels in line and after the grant, holds, their end,
// and changes of quotas. Everybody must go in exactly the same millisecond.
func TestLimiterAgainstModel(t *testing.T) {
	for seed := range seeds(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { againstModel(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func againstModel(t *testing.T, r *rand.Rand) {
	t.Helper()
	quotas := func(qs quota.Quotas) quota.Quotas {
		for i := range qs {
			for _, divisor := range []int64{2, 2, 5} {
				if qs[i].N%divisor == 0 && r.IntN(3) == 0 {
					qs[i].N /= divisor
				}
			}
			qs[i].Burst = int64(3 + r.IntN(8))
		}
		return qs
	}
	l := &Limiter{Quotas: quotas([]quota.Quota{{N: 200, Burst: 1}, {N: 100, Burst: 1}, {N: 50, Burst: 1}}[:1+r.IntN(3)])}
	m := &model{quotas: append([]quota.Quota(nil), l.Quotas...)}
	for _, q := range m.quotas {
		m.tokens, m.spills = append(m.tokens, int(q.Burst*1000)), append(m.spills, spill{})
	}

	type claim struct {
		*modelWaiter
		waiter  *Waiter
		grant   *Grant
		granted bool
	}
	var claims []*claim // not settled
	start := time.Now()
	settle := func() {
		for _, c := range claims {
			if c.granted {
				continue
			}
			select {
			case <-c.waiter.done.C:
				c.grant, c.granted = c.waiter.Granted(), true
				if c.waiter.err != nil {
					t.Fatalf("claim %d: %v", c.id, c.waiter.err)
				}
			default:
			}
			if c.granted != (c.went >= 0) {
				t.Fatalf("at %v, claim %d of %d went: %v; in the model: %v", time.Since(start), c.id, c.n, c.granted, c.went >= 0)
			}
		}
	}
	drop := func(i int) { claims = append(claims[:i], claims[i+1:]...) }

	canceled := canceledContext(t)
	for id := range 400 {
		time.Sleep(time.Millisecond)
		synctest.Wait()
		m.step()
		settle()
		checkSettled(t, l)
		for range r.IntN(3) {
			switch k := r.IntN(20); {
			case k < 10: // somebody asks
				c := &claim{modelWaiter: &modelWaiter{id: id, n: 1 + r.IntN(3), went: -1}}
				m.waiting = append(m.waiting, c.modelWaiter)
				m.grant()
				g, w, err := l.Join(t.Context(), Claim{N: c.n})
				if err != nil {
					t.Fatal(err)
				}
				c.waiter, c.grant, c.granted = w, g, w == nil
				if c.granted != (c.went >= 0) {
					t.Fatalf("at %v, claim %d of %d went at once: %v; in the model: %v", time.Since(start), c.id, c.n, c.granted, c.went >= 0)
				}
				claims = append(claims, c)
			case k < 16 && len(claims) > 0: // somebody no longer wants it
				i := r.IntN(len(claims))
				c := claims[i]
				drop(i)
				if c.granted {
					c.grant.Cancel()
					m.give(c.modelWaiter)
				} else {
					if _, err := c.waiter.Wait(canceled); err == nil {
						t.Fatal("canceled, and granted")
					}
					m.remove(c.modelWaiter)
				}
			case k == 16:
				d := r.IntN(60)
				l.Pause(time.Duration(d) * time.Millisecond)
				m.held = max(m.held, m.now+d)
				m.grant()
			case k == 17:
				l.Resume()
				m.held = min(m.held, m.now)
				m.grant()
			case k == 18:
				old := append([]quota.Quota(nil), m.quotas...)
				m.quotas = quotas(m.quotas)
				m.follow(old)
				if err := l.SetQuotas(append(quota.Quotas(nil), m.quotas...)); err != nil {
					t.Fatal(err)
				}
				m.cut()
			}
			settle()
			checkTree(t, l)
		}
	}
	if s := l.State(); s.Waiting != len(m.waiting) {
		t.Errorf("%d wait, in the model %d", s.Waiting, len(m.waiting))
	}
	for _, c := range claims {
		if !c.granted {
			c.waiter.Wait(canceled)
		}
	}
}

// spill is, for the models of token buckets, by definition what of a grant comes back: as
// much as would be there had it never been. It remembers how much room there was at each
// tick, right before something could be taken. All is in thousandths of a token.
type spill struct{ at, room []int }

func (s *spill) tick(now, room int) {
	s.at, s.room = append(s.at, now), append(s.room, room)
}

// back returns what of n comes back which went at a tick, where there is room now.
func (s *spill) back(went, n, room int) int {
	back := max(min(n, room), 0)
	for i, at := range s.at {
		if at > went {
			back = max(min(back, s.room[i]), 0)
		}
	}
	for i, at := range s.at {
		if at > went {
			s.room[i] -= back
		}
	}
	return back
}
