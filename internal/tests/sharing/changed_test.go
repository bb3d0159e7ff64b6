package sharing

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// changing is a Limiter whose quotas change while claims come and go.
type changing struct {
	*throttle.Limiter
	start time.Time

	mu   sync.Mutex // protects went
	went []sent     // if n is 0, the quota changes
	to   []quota.Quota
	wait sync.WaitGroup
}

func newChanging(t *testing.T, text string, shared bool) *changing {
	t.Helper()
	c := &changing{Limiter: &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), MaxStandstill: throttle.Forever}, start: time.Now()}
	if shared {
		c.Shared = throttle.Shared{Store: new(store.Memory), Fresh: true, SlotLife: time.Millisecond}
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// set replaces the quota.
func (c *changing) set(t *testing.T, text string) {
	t.Helper()
	qs := quota.MustParse(text)
	synctest.Wait() // what went before is noted before
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.SetQuotas(qs); err != nil {
		t.Fatal(err)
	}
	c.went, c.to = append(c.went, sent{at: time.Since(c.start)}), append(c.to, qs.Explicit()[0])
}

// claim has a claim come that waits no longer than a time; it goes unless it is canceled.
func (c *changing) claim(ctx context.Context, within time.Duration, canceled bool) {
	c.wait.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		g, err := c.Acquire(ctx, throttle.Claim{})
		if err != nil {
			return
		}
		if canceled {
			g.Cancel()
			return
		}
		c.mu.Lock()
		c.went = append(c.went, sent{at: time.Since(c.start), n: 1})
		c.mu.Unlock()
		g.Answered(throttle.Answer{})
	})
}

// near is how far ahead a store hands out slots in their order: a rate goes on up to the last of these.
const near = 25 * time.Millisecond

// TestQuotasThatChangeToAndFro: 70 claims wait when the quota becomes another one for a millisecond and what it
// was, three times. They go as if nothing had happened, but for what came back meanwhile, or did not.
func TestQuotasThatChangeToAndFro(t *testing.T) {
	for _, test := range []struct {
		quota, other string
		sooner, most time.Duration // the last claim goes, and goes at most with a store
	}{
		{"60/m burst 4", "6000/m burst 4", 297 * time.Millisecond, 297*time.Millisecond + 99*near},
		{"60/m burst 4", "12000/2m burst 4", 297 * time.Millisecond, 297*time.Millisecond + 99*near},
		{"60/m even", "6000/m even", 297 * time.Millisecond, 297*time.Millisecond + 99*near},
		{"60/m burst 4", "6/m burst 4", -2700 * time.Microsecond, -2700 * time.Microsecond},
		{"60/m burst 4", "60/m burst 2", 0, 0},
		{"60/m log", "30/m log", 0, 0},
		{"60/m window grid", "30/m window grid", 0, 0},
	} {
		for _, shared := range []bool{false, true} {
			var last [2]time.Duration
			for changes := range last {
				synctest.Test(t, func(t *testing.T) {
					c := newChanging(t, test.quota, shared)
					for range 70 {
						c.claim(t.Context(), time.Hour, false)
					}
					time.Sleep(10 * time.Second)
					for range 3 * changes {
						for _, text := range []string{test.other, test.quota} {
							c.set(t, text)
							synctest.Wait()
							time.Sleep(time.Millisecond)
						}
					}
					c.wait.Wait()
					last[changes] = time.Since(c.start)
				})
			}
			sooner := last[0] - last[1]
			if sooner != test.sooner && (!shared || sooner < test.sooner-3*near || sooner > test.most) { // each change may cost what comes back until the last near slot
				t.Errorf("%s, %s, with a store %v: the last goes %v sooner, want %v", test.quota, test.other, shared, sooner, test.sooner)
			}
		}
	}
}

// TestQuotasThatChangeAtRandom has claims come, go, miss their deadlines and be canceled while their quota
// changes. No more goes than each quota allows from when it came; and at the end, one more waits for hardly
// longer than by a plain bucket.
func TestQuotasThatChangeAtRandom(t *testing.T) {
	texts := []string{"60/m burst 4", "6000/m burst 4", "6/m burst 4", "1200/m even", "60/m even", "6000/m burst 40", "600/m burst 10", "1000/m burst 4"}
	for seed := range whole.Or[uint64](30, 150) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			one := func() string { return texts[r.IntN(len(texts))] }
			text := one()
			c := newChanging(t, text, seed%3 > 0)
			c.set(t, text)
			ctx, cancel := context.WithCancel(t.Context())
			for range 150 {
				time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond >> r.IntN(8))
				if r.IntN(12) == 0 {
					c.set(t, one())
					c.claim(ctx, time.Second, false) // by which a store hears of it
					continue
				}
				within := time.Duration(r.IntN(3000)) * time.Millisecond
				for range 1 + r.IntN(4) {
					c.claim(ctx, within, r.IntN(12) == 0)
				}
			}
			cancel()
			c.wait.Wait()
			ended := time.Now()
			if _, err := c.Acquire(t.Context(), throttle.Claim{}); err != nil {
				t.Fatal(err)
			}
			if waited, most := time.Since(ended), c.check(t, seed, ended.Sub(c.start)); waited > most+2*near {
				t.Errorf("seed %d: at the end, one more waits for %v, want %v", seed, waited, most)
			}
		})
	}
}

// check fails the test if more went than a quota allows from when it came, beyond what goes late. It returns
// for how long one more is to wait at an instant, by a plain bucket which knows all that went.
func (c *changing) check(t *testing.T, seed uint64, at time.Duration) time.Duration {
	t.Helper()
	var q quota.Quota
	rate, missing, own, now := 0.0, 0.0, 0.0, time.Duration(0) // own is what is missing of what went by this quota
	pass := func(to time.Duration) {
		back := rate * (to - now).Seconds()
		missing, own, now = max(missing-back, 0), max(own-back, 0), to
	}
	for _, o := range c.went {
		if pass(o.at); o.n == 0 {
			had := q
			q, c.to, own = c.to[0], c.to[1:], 0
			if had.N > 0 { // what is left stays
				missing = float64(q.Burst) - min(float64(had.Burst)-missing, float64(q.Burst))
			}
			rate = float64(q.N) / q.Per.Seconds()
			continue
		}
		missing, own = missing+1, own+1
		if over := own - float64(q.Burst); over > rate*c.Shared.SlotLife.Seconds()+1e-6 {
			t.Fatalf("seed %d: at %v %v over %v", seed, o.at, over, &q)
		}
	}
	if pass(at); c.Shared.Store != nil {
		missing++ // each change may cost what comes back until the last near slot: here, no more than a token in all
	}
	return max(time.Duration((missing+1-float64(q.Burst))/rate*float64(time.Second)), 0)
}

// TestQuotasThatChangeByALittle: three processes whose rate changes by a hundredth, five times a second, go at
// the rate all the same.
func TestQuotasThatChangeByALittle(t *testing.T) {
	for _, texts := range [][2]string{{"1000/s even", "1010/s even"}, {"1000/s burst 50", "1010/s burst 50"}, {"100/s even", "101/s even"}, {"1000/s log", "1010/s log"}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var wait sync.WaitGroup
			var went atomic.Int64
			s := &away{Memory: new(store.Memory)}
			for range 3 {
				l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(texts[0]), Shared: throttle.Shared{Store: s, Fresh: true}, MaxStandstill: throttle.Forever}
				for range 5 {
					wait.Go(func() {
						for l.Wait(ctx, 1) == nil {
							went.Add(1)
						}
					})
				}
				wait.Go(func() {
					for k := 1; ctx.Err() == nil; k++ {
						time.Sleep(200 * time.Millisecond)
						if err := l.SetQuotas(quota.MustParse(texts[k%2])); err != nil {
							t.Error(err)
						}
					}
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			if n, least := int(went.Load()), quota.MustParse(texts[0])[0].N*98/10; int64(n) < least {
				t.Errorf("%s, %s: %d went in 10s, want %d at least", texts[0], texts[1], n, least)
			}
		})
	}
}

// unsteady is a store whose replies are late, lost, or lost with what was asked, until it is steady.
type unsteady struct {
	*store.Memory
	mu     sync.Mutex // protects what follows
	random *rand.Rand
	steady bool
}

// Exchange implements store.Store.
func (s *unsteady) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.mu.Lock()
	fate, after, steady := s.random.IntN(10), time.Duration(s.random.IntN(400))*time.Millisecond, s.steady
	s.mu.Unlock()
	if steady || fate > 4 {
		return s.Memory.Exchange(ctx, r)
	}
	if time.Sleep(after); fate == 0 {
		return nil, errors.New("lost")
	}
	reply, err := s.Memory.Exchange(ctx, r)
	if fate == 1 {
		return nil, errors.New("the reply is lost")
	}
	return reply, err
}

// TestQuotasThatChangeWhileTheStoreIsUnsteady: three processes with a line change their quotas, each by itself,
// while calls fail. Half a minute after the last change, when nobody asks by other quotas any more, all of them
// go at the rate.
func TestQuotasThatChangeWhileTheStoreIsUnsteady(t *testing.T) {
	texts := []string{"60/s burst 4", "600/s burst 4", "6/s burst 4", "20/s even"}
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 10))
			s := &unsteady{Memory: new(store.Memory), random: rand.New(rand.NewPCG(seed, 11))}
			var limiters []*throttle.Limiter
			var went [3]atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			var wait sync.WaitGroup
			for i := range went {
				l := &throttle.Limiter{
					Name: "api", Quotas: quota.MustParse(texts[0]), Shared: throttle.Shared{Store: s, Fresh: true, Outage: []throttle.Outage{throttle.OutageShare, throttle.OutageClosed}[seed%2]}, MaxStandstill: throttle.Forever,
				}
				limiters = append(limiters, l)
				for range 4 {
					wait.Go(func() {
						for l.Wait(ctx, 1) == nil {
							went[i].Add(1)
						}
					})
				}
			}
			set := func(l *throttle.Limiter, text string) {
				if err := l.SetQuotas(quota.MustParse(text)); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
				set(limiters[r.IntN(3)], texts[r.IntN(len(texts))])
			}
			for _, l := range limiters {
				set(l, texts[0])
			}
			s.mu.Lock()
			s.steady = true
			s.mu.Unlock()
			time.Sleep(30 * time.Second) // replies that were lost had slots of 600/s
			var before [3]int64
			for i := range went {
				before[i] = went[i].Load()
			}
			time.Sleep(10 * time.Second)
			for i := range went {
				if n := went[i].Load() - before[i]; n < 190 || n > 210 {
					t.Errorf("seed %d: process %d sends %d in 10s, want 200", seed, i, n)
				}
			}
			cancel()
			wait.Wait()
			for _, l := range limiters {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Second) // a farewell that the store does not heed
		})
	}
}

// TestQuotasThatChangeWhileRepliesAreLost: what a call gets whose reply is lost lapses if the quotas change
// meanwhile, but not once for each call: when replies come again, claims go as soon as what each process got
// has left the window.
func TestQuotasThatChangeWhileRepliesAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from, to, end = 2 * time.Second, 12 * time.Second, 20 * time.Second
		f, m := &fleet{start: time.Now()}, new(store.Memory)
		ctx, cancel := context.WithTimeout(t.Context(), end)
		defer cancel()
		var all []*throttle.Limiter
		for i := range 5 {
			s := &away{Memory: m, mute: func() bool { d := time.Since(f.start); return d >= from && d < to }}
			l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse("60/2s log"), Shared: throttle.Shared{Outage: throttle.OutageClosed, Store: s}, MaxStandstill: throttle.Forever}
			all = append(all, l)
			for range 4 {
				f.wait.Go(func() {
					for f.send(ctx, l, i, 1) == nil {
					}
				})
			}
		}
		for k := 0; time.Since(f.start) < to; k++ {
			time.Sleep(150 * time.Millisecond)
			for _, l := range all {
				if err := l.SetQuotas(quota.MustParse([]string{"50/2s log", "60/2s log"}[k%2])); err != nil {
					t.Fatal(err)
				}
			}
		}
		f.wait.Wait()
		for _, l := range all {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		first := end
		for _, s := range f.sends {
			if s.at > to {
				first = min(first, s.at)
			}
		}
		if n := over("60/2s log", f.sends); n > 0 || first-to > 2500*time.Millisecond {
			t.Errorf("%d over, and the first %v after replies came again", n, first-to)
		}
	})
}
