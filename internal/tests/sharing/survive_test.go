package sharing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// These tests are what a fleet on one store does while something goes wrong with the store, in virtual time:
// redisquota/internal/soak tries the same on a real server.

// away is a store that is half a millisecond away, and out of reach at times, or its replies are lost.
type away struct {
	*store.Memory
	down  func() bool
	hangs func() bool // it does not answer
	mute  func() bool
	delay func() time.Duration
}

var errAway = errors.New("no route to host")

func (a *away) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	d := 250 * time.Microsecond
	if a.delay != nil {
		d += a.delay()
	}
	time.Sleep(d)
	if a.down != nil && a.down() {
		return nil, errAway
	}
	if a.hangs != nil && a.hangs() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	reply, err := a.Memory.Exchange(ctx, r)
	time.Sleep(d)
	if a.mute != nil && a.mute() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return reply, err
}

// sent is what a process sent.
type sent struct {
	at time.Duration
	n  int
	by int
}

// fleet is some processes that always want more, each of its own store.
type fleet struct {
	mu     sync.Mutex // protects the next two
	sends  []sent
	others map[string][]quota.Quotas // of which the events of those with a quota told
	wait   sync.WaitGroup
	start  time.Time
	end    time.Duration
}

// run has processes use a quota until the end, with claims of these costs.
func (f *fleet) run(t *testing.T, text string, outage throttle.Outage, costs []int, stores ...store.Store) {
	t.Helper()
	if f.start.IsZero() { // else some run already, who read it
		f.start = time.Now()
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(f.end, cancel)
	for by, s := range stores {
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s, Outage: outage}, MaxStandstill: throttle.Forever}
		l.Shared.Event = func(e throttle.StoreEvent) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if (e.Kind == throttle.StoreOthers) != (e.Others != nil) {
				t.Errorf("told %+v of %v", e, e.Others)
			}
			if e.Others != nil {
				if f.others == nil {
					f.others = map[string][]quota.Quotas{}
				}
				f.others[text] = append(f.others[text], e.Others)
			}
		}
		f.work(ctx, l, by, costs)
		t.Cleanup(func() { _ = l.Close() })
	}
}

// work has a process send all the time, with claims of these costs.
func (f *fleet) work(ctx context.Context, l *throttle.Limiter, by int, costs []int) {
	for _, n := range costs {
		f.wait.Go(func() {
			for f.send(ctx, l, by, n) == nil {
				continue
			}
		})
	}
}

// send has a process send once.
func (f *fleet) send(ctx context.Context, l *throttle.Limiter, by, n int) error {
	err := l.Wait(ctx, n)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sends = append(f.sends, sent{time.Since(f.start), n, by})
	}
	return err
}

// over is by how much the sends are more than one of the quotas grants, in any span.
func over(text string, sends []sent) (most int) {
	for _, q := range quota.MustParse(text).Explicit() {
		most = max(most, overOne(&q, sends))
	}
	return most
}

func overOne(q *quota.Quota, sends []sent) (most int) {
	slices.SortStableFunc(sends, func(a, b sent) int { return int(a.at - b.at) })
	if q.Kind == quota.TokenBucket {
		// In parts of a token that is N·Per: what is in the bucket comes back at N in Per.
		level, last := 0.0, time.Duration(0)
		burst := float64(q.Burst)
		if q.Burst <= 1 {
			burst = 2 // and what is due within SlotLife: see store.Store
		}
		for _, s := range sends {
			level = max(level-float64(s.at-last)*float64(q.N)/float64(q.Per), 0) + float64(s.n)
			last = s.at
			most = max(most, int(level-burst-1e-6))
		}
		return most
	}
	sum, first := 0, 0
	bound := int(q.N)
	if q.Kind.OnClock() {
		bound *= 2 // whose windows they are nobody knows here
	}
	for _, s := range sends {
		for sum += s.n; sends[first].at <= s.at-q.Per; first++ {
			sum -= sends[first].n
		}
		most = max(most, sum-bound)
	}
	return most
}

// rate is how much of a quota was sent in a span.
func rate(text string, sends []sent, from, to time.Duration) float64 {
	q, n := quota.MustParse(text).Explicit()[0], 0
	for _, s := range sends {
		if s.at >= from && s.at < to {
			n += s.n
		}
	}
	return float64(n) * q.Per.Seconds() / (to - from).Seconds() / float64(q.N)
}

// survivors are the quotas of these tests: fast and slow, light and heavy, of each kind.
var survivors = []struct {
	text    string
	members int
	costs   []int
	rate    float64 // in ten seconds that begin two seconds after a fault; 0 if that is too short to tell
}{
	{"100/s even", 5, []int{1, 1, 1}, 0.98},
	{"100/s burst 20", 5, []int{1, 1, 1}, 0.98},
	{"100/s burst 300", 5, []int{200, 50, 1}, 0.5},
	{"30/s burst 3", 3, []int{1, 1, 1}, 0.98},
	{"60/m burst 4", 10, []int{1, 1}, 0.8},
	{"60/2s log", 5, []int{1, 1, 1}, 0.98},
	{"100/5s log", 5, []int{1, 10, 1}, 0.65}, // costs of 10 leave some of a window unused: of 500 runs after a loss the least was 0.70
	{"60/2s sliding", 5, []int{1, 1, 1}, 0.98},
	{"60/2s window", 5, []int{1, 1, 1}, 0.98},
	{"60/2s window grid", 5, []int{1, 1, 1}, 0.98},
	{"60/2s estimate", 5, []int{1, 1, 1}, 0.95},
}

// TestNothingIsOverAfterALoss: a store that lost its data hands out nothing beside what members still have,
// however far ahead that is, and no burst. What members have goes on.
func TestNothingIsOverAfterALoss(t *testing.T) {
	for _, c := range survivors {
		t.Run(c.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(store.Memory)
				f := &fleet{end: 24 * time.Second}
				f.run(t, c.text, throttle.OutageClosed, c.costs, slices.Repeat([]store.Store{&away{Memory: s}}, c.members)...)
				time.Sleep(10*time.Second + 330*time.Millisecond)
				s.Lose()
				f.wait.Wait()
				f.check(t, c.text, 10330*time.Millisecond, 500*time.Millisecond, c.rate)
			})
		})
	}
}

// deaf is a store whose next reply gets lost, or is thrown away by a client library that calls again.
type deaf struct {
	store.Store
	next, again bool
}

func (d *deaf) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	reply, err := d.Store.Exchange(ctx, r)
	if !d.next {
		return reply, err
	}
	if d.next = false; d.again {
		return d.Store.Exchange(ctx, r)
	}
	return nil, errAway
}

// TestLossIsHeardOfAfterALostReply: the reply that says that the store has lost its data may get lost, too.
// What a process sent before counts all the same.
func TestLossIsHeardOfAfterALostReply(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("called again %v", again), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(store.Memory)
				d := &deaf{Store: &away{Memory: s}, again: again}
				l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse("60/10s log"), Shared: throttle.Shared{Store: d, Outage: throttle.OutageClosed}}
				var sends []sent
				start := time.Now()
				send := func(n int) {
					for range n {
						if err := l.Wait(t.Context(), 1); err != nil {
							t.Fatal(err)
						}
						sends = append(sends, sent{time.Since(start), 1, 0})
					}
				}
				send(60) // all of a window
				s.Lose()
				d.next = true
				send(180)
				if n := over("60/10s log", sends); n > 0 || time.Since(start) > 40*time.Second {
					t.Errorf("%d over, of %d in %v", n, len(sends), time.Since(start))
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// check fails if anything is over, if nothing went for longer than a window and still after a fault, or if the
// rate is not back.
func (f *fleet) check(t *testing.T, text string, fault, still time.Duration, least float64) {
	t.Helper()
	if n := over(text, f.sends); n > 0 {
		t.Errorf("%d over", n)
	}
	q := quota.MustParse(text).Explicit()[0]
	if q.Kind != quota.TokenBucket {
		still += q.Per
	} else {
		still += 200 * q.Per / time.Duration(q.N) // the largest cost
	}
	last := fault
	for _, s := range f.sends {
		if s.at > fault {
			if d := s.at - last; d > still {
				t.Errorf("nothing went for %v after %v, want %v at most", d, last, still)
			}
			last = s.at
		}
	}
	if r := rate(text, f.sends, f.end-10*time.Second, f.end); r < least {
		t.Errorf("%.3f of the rate from two seconds after the fault on, want %.2f", r, least)
	}
}

// TestNothingIsOverAfterAnOutage: what goes without the store, in an outage of 4 s, is no more than the quota
// grants, with what went before and what goes after.
func TestNothingIsOverAfterAnOutage(t *testing.T) {
	for _, mode := range []throttle.Outage{throttle.OutageShare, throttle.OutageClosed} {
		for _, c := range survivors {
			t.Run(fmt.Sprint(mode, " ", c.text), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := new(store.Memory)
					var stores []store.Store
					f := &fleet{end: 26500 * time.Millisecond}
					for i := range c.members { // they do not see it at the same instant
						begin := time.Duration(i) * 7 * time.Millisecond
						stores = append(stores, &away{Memory: s, down: func() bool {
							d := time.Since(f.start)
							return d >= 10*time.Second+begin && d < 14*time.Second+begin
						}})
					}
					f.run(t, c.text, mode, c.costs, stores...)
					f.wait.Wait()
					still := 4*time.Second + 750*time.Millisecond // and until the next probe
					if mode == throttle.OutageShare && quota.MustParse(c.text).Explicit()[0].Kind == quota.TokenBucket {
						still = 750 * time.Millisecond
					}
					f.check(t, c.text, 10*time.Second, still, c.rate)
				})
			})
		}
	}
}

// TestNothingIsOverWhileAStoreHangs: where calls are not answered, parts go on half a second after the first of
// these calls. Nothing is over then, nor when the store answers again.
func TestNothingIsOverWhileAStoreHangs(t *testing.T) {
	for _, c := range survivors {
		t.Run(c.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(store.Memory)
				var stores []store.Store
				f := &fleet{end: 26500 * time.Millisecond}
				for i := range c.members {
					begin := time.Duration(i) * 7 * time.Millisecond
					stores = append(stores, &away{Memory: s, hangs: func() bool {
						d := time.Since(f.start)
						return d >= 10*time.Second+begin && d < 14*time.Second+begin
					}})
				}
				f.run(t, c.text, throttle.OutageShare, c.costs, stores...)
				f.wait.Wait()
				still := 750 * time.Millisecond
				if quota.MustParse(c.text).Explicit()[0].Kind != quota.TokenBucket {
					still += 4 * time.Second
				}
				f.check(t, c.text, 10*time.Second, still, c.rate)
			})
		})
	}
}

// TestASlowStoreIsOutOfReach: while a store answers each call, but later than a call may take, and goes on
// after the end of its context, parts go as in an outage. Nothing is over then, nor when it answers in time
// again, and the rate is back at once. (100/s even is not among them: a burst of one cannot be divided.)
func TestASlowStoreIsOutOfReach(t *testing.T) {
	for _, takes := range []time.Duration{400 * time.Millisecond, 500 * time.Millisecond, 700 * time.Millisecond} {
		for _, c := range survivors[1:] {
			name := fmt.Sprint(takes, " ", c.text)
			if !whole.Part(2, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := new(store.Memory)
					var stores []store.Store
					f := &fleet{end: 28 * time.Second}
					for i := range c.members { // they do not see it at the same instant
						begin := time.Duration(i) * 7 * time.Millisecond
						stores = append(stores, heedless{&away{Memory: s, delay: func() time.Duration {
							if d := time.Since(f.start); d >= 10*time.Second+begin && d < 14*time.Second+begin {
								return takes / 2
							}
							return 0
						}}})
					}
					f.run(t, c.text, throttle.OutageShare, c.costs, stores...)
					f.wait.Wait()
					still := 750 * time.Millisecond
					if quota.MustParse(c.text).Explicit()[0].Kind != quota.TokenBucket {
						still += 4 * time.Second
					}
					f.check(t, c.text, 10*time.Second, still, c.rate)
				})
			})
		}
	}
}

// heedless is a store that goes on after the end of a context.
type heedless struct{ *away }

func (h heedless) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	return h.away.Exchange(context.WithoutCancel(ctx), r)
}

// TestADebtOfAnOutageIsPaidAfterIt: what a process owes when the store is back is charged then, as Quota.Debt
// says, however long ago that went, and also if the store did the calls before, of which the replies were lost:
// each claim finds what it costs, or a full bucket.
func TestADebtOfAnOutageIsPaidAfterIt(t *testing.T) {
	between := func(f *fleet, from, to time.Duration) func() bool {
		return func() bool { d := time.Since(f.start); return d > from && d < to }
	}
	for _, c := range []struct {
		text       string
		debt       int
		gone, mute time.Duration // how long before the store is back
	}{
		{"20/s burst 20 debt", 60, time.Second, 0},
		{"20/s burst 20 debt", 200, 3 * time.Second, 0},
		{"10/s burst 5 debt", 13, 520 * time.Millisecond, 2120 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, back := &fleet{start: time.Now()}, 8*time.Second
				s := &away{Memory: new(store.Memory), down: between(f, 2*time.Second, back-c.mute), mute: between(f, back-c.mute, back)}
				l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(c.text), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
				defer l.Close()
				send := func(at time.Duration, n int) {
					time.Sleep(at - time.Since(f.start))
					if err := f.send(t.Context(), l, 0, n); err != nil {
						t.Fatal(err)
					}
				}
				send(0, 1)
				send(2100*time.Millisecond, 1)
				send(back-c.gone-time.Second, 1)
				send(back-c.gone, c.debt)
				for range 8 {
					send(back, 10)
				}
				f.paid(t, c.text)
			})
		})
	}
}

// paid fails if something went that did not find what it cost, or a full bucket.
func (f *fleet) paid(t *testing.T, text string) {
	t.Helper()
	q := quota.MustParse(text)[0]
	level, last := float64(q.Burst), time.Duration(0)
	for _, s := range f.sends {
		level, last = min(level+float64(q.N)*(s.at-last).Seconds(), float64(q.Burst)), s.at
		if level < float64(min(s.n, int(q.Burst)))-1e-6 {
			t.Errorf("%d at %v, where the bucket held %.2f", s.n, s.at, level)
		}
		level -= float64(s.n)
	}
}

// TestASlotAboveTheBurstIsForOneClaim: a slot that costs more than the burst, with Debt, is handed out where a
// burst is there. Once a claim that waited for it has gone away, those that cost less find no more than that.
func TestASlotAboveTheBurstIsForOneClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{start: time.Now()}
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse("10/s burst 5 debt"), Shared: throttle.Shared{Store: &away{Memory: new(store.Memory)}}}
		defer l.Close()
		if err := f.send(t.Context(), l, 0, 5); err != nil {
			t.Fatal(err)
		}
		gives, giveUp := context.WithCancel(t.Context())
		time.AfterFunc(530*time.Millisecond, giveUp)
		f.wait.Go(func() {
			if err := f.send(gives, l, 0, 12); err == nil {
				t.Error("it went, want that its slot is later")
			}
		})
		for range 8 {
			f.wait.Go(func() {
				time.Sleep(10 * time.Millisecond)
				if err := f.send(t.Context(), l, 0, 1); err != nil {
					t.Error(err)
				}
			})
		}
		f.wait.Wait()
		f.paid(t, "10/s burst 5 debt")
	})
}

// TestADebtOfAnOutageIsToldAtTheEnd: a process that closes before it has found that the store is back tells
// what it owes, however it came to owe that. The next process pays: it waits until 300 and 20 more have come
// back.
func TestADebtOfAnOutageIsToldAtTheEnd(t *testing.T) {
	for name, send := range map[string]func(l *throttle.Limiter) error{
		"a claim": func(l *throttle.Limiter) error {
			_, err := l.Acquire(t.Context(), throttle.Claim{N: 300})
			return err
		},
		"a cost that is known in the end": func(l *throttle.Limiter) error {
			g, err := l.Acquire(t.Context(), throttle.Claim{N: 1})
			g.Answered(throttle.Answer{Spent: quota.Costs{quota.Requests: 300}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &away{Memory: new(store.Memory), down: func() bool { d := time.Since(start); return d > 2*time.Second && d < 8*time.Second }}
				for i, at := range []time.Duration{0, 8 * time.Second} {
					l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse("20/s burst 20 debt"), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
					time.Sleep(at - time.Since(start))
					if err := l.Wait(t.Context(), 20); err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						time.Sleep(2100*time.Millisecond - time.Since(start))
						if err := l.Wait(t.Context(), 1); err != nil {
							t.Fatal(err)
						}
						time.Sleep(7*time.Second - time.Since(start))
						if err := send(l); err != nil {
							t.Fatal(err)
						}
						time.Sleep(8001*time.Millisecond - time.Since(start))
					}
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
				}
				// 22 s are what 300 and 20 take. The part owes a fifth of a second more, since it is refilled
				// at 0.9 of the rate, and 2 ms are on the way.
				if got, want := time.Since(start), 22202*time.Millisecond; got != want {
					t.Errorf("20 more went %v after the start, want %v", got, want)
				}
			})
		})
	}
}

// TestLateFallsWhenTheStoreIsNearAgain: two seconds of a slow store cost nothing but these: five seconds and a
// window later the whole rate is back. (100/s even is not among them: what is due within SlotLife, which is
// long then, may go at once.)
func TestLateFallsWhenTheStoreIsNearAgain(t *testing.T) {
	for _, c := range survivors[1:] {
		t.Run(c.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &away{Memory: new(store.Memory)}
				f := &fleet{end: 30 * time.Second}
				s.delay = func() time.Duration {
					if d := time.Since(f.start); d >= 10*time.Second && d < 12*time.Second {
						return 60 * time.Millisecond
					}
					return 0
				}
				f.run(t, c.text, throttle.OutageShare, c.costs, slices.Repeat([]store.Store{s}, c.members)...)
				f.wait.Wait()
				f.check(t, c.text, 12*time.Second, time.Second, c.rate)
				f.mu.Lock()
				defer f.mu.Unlock()
				if q := quota.MustParse(c.text).Explicit()[0]; c.rate >= 0.98 {
					from := 17*time.Second + q.Per
					if r := rate(c.text, f.sends, from, from+4*q.Per); r < c.rate {
						t.Errorf("%.3f of the rate from %v on, want %.2f", r, from, c.rate)
					}
				}
			})
		})
	}
}

// TestAStoreThatIsNearAgainIsSeenSoon: a SlotLife that is long for a slow store costs an even bucket a tenth of
// its rate, and once as many tokens as come within it; and a window as much of each. That is over two seconds
// after the store is near again.
func TestAStoreThatIsNearAgainIsSeenSoon(t *testing.T) {
	for _, c := range []struct {
		text  string
		slow  time.Duration // each way
		count time.Duration // from two seconds after on
		least float64
	}{
		{"100/s even", 30 * time.Millisecond, time.Second, 0.98},
		{"100/s even", 70 * time.Millisecond, time.Second, 0.98},
		{"100/s burst 20", 125 * time.Millisecond, time.Second, 0.98},
	} {
		for begin := 6 * time.Second; begin < 7*time.Second; begin += 110 * time.Millisecond {
			name := fmt.Sprint(c.text, c.slow, begin)
			if !whole.Part(3, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &away{Memory: new(store.Memory)}
					end := begin + 2*time.Second
					f := &fleet{end: end + 10*time.Second}
					s.delay = func() time.Duration {
						if d := time.Since(f.start); d >= begin && d < end {
							return c.slow
						}
						return 0
					}
					f.run(t, c.text, throttle.OutageClosed, []int{1, 1, 1}, slices.Repeat([]store.Store{s}, 5)...)
					f.wait.Wait()
					if r := rate(c.text, f.sends, end+2*time.Second, end+2*time.Second+c.count); r < c.least {
						t.Errorf("%.3f of the rate from 2 s after the store was near again on, want %.2f", r, c.least)
					}
				})
			})
		}
	}
}

// scaled is a quota of which so much more is granted.
func scaled(text string, by float64) string {
	q := quota.MustParse(text).Explicit()[0]
	if q.Kind == quota.TokenBucket {
		q.Burst = int64(math.Ceil(float64(max(q.Burst, 2)) * by)) // see over
	}
	q.Name, q.N = "", int64(math.Ceil(float64(q.N)*by))
	return q.String()
}

// TestAPartitionCostsItsShare: while m of n processes do not reach the store, m/n of the quota goes beyond it
// at most, and not at all if the store was closed for them.
func TestAPartitionCostsItsShare(t *testing.T) {
	for _, c := range survivors {
		for cut := 1; cut < c.members; cut += 2 {
			for _, mode := range []throttle.Outage{throttle.OutageShare, throttle.OutageClosed} {
				name := fmt.Sprint(mode, " ", c.text, " ", cut)
				if !whole.Part(4, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := new(store.Memory)
						var stores []store.Store
						f := &fleet{end: 26 * time.Second}
						for i := range c.members {
							stores = append(stores, &away{Memory: s, down: func() bool {
								d := time.Since(f.start)
								return i < cut && d >= 10*time.Second && d < 18*time.Second
							}})
						}
						f.run(t, c.text, mode, c.costs, stores...)
						f.wait.Wait()
						bound := c.text
						if mode == throttle.OutageShare {
							bound = scaled(c.text, 1+float64(cut)/float64(c.members))
						}
						if n := over(bound, f.sends); n > 0 {
							t.Errorf("%d more than %s", n, bound)
						}
					})
				})
			}
		}
	}
}

// TestTheShareShrinksWithTheMembersLastSeen: who is cut off uses nine tenths of its part of the rate, of as
// many as there were.
func TestTheShareShrinksWithTheMembersLastSeen(t *testing.T) {
	for _, n := range []int{1, 2, 5, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(store.Memory)
				f := &fleet{end: 20 * time.Second}
				cut := &away{Memory: s, down: func() bool { return time.Since(f.start) >= 8*time.Second }}
				stores := append([]store.Store{cut}, slices.Repeat([]store.Store{&away{Memory: s}}, n-1)...)
				f.run(t, "100/s even", throttle.OutageShare, []int{1, 1, 1}, stores...)
				f.wait.Wait()
				alone := 0
				for _, o := range f.sends {
					if o.by == 0 && o.at >= 10*time.Second && o.at < 20*time.Second {
						alone++
					}
				}
				if want := 900 / n; alone != want {
					t.Errorf("%d went in ten seconds, want %d", alone, want)
				}
			})
		})
	}
}
