package throttle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// most returns how many of those that went, went in one span.
func (f *fleet) most(span time.Duration) (n int) {
	from := 0
	for i, s := range f.sends {
		for f.sends[from].at <= s.at-span {
			from++
		}
		n = max(n, i-from+1)
	}
	return n
}

// TestFirstBackRunsAheadOfNobody: after an outage, nobody is served before those that sent in it have said so,
// not even by a process that knows of no outage: it is new, or slept. Whatever its own Outage is.
func TestFirstBackRunsAheadOfNobody(t *testing.T) {
	for _, text := range []string{"100/s log", "60/10s log", "60/10s window", "60/10s sliding"} {
		for _, mode := range []Outage{OutageShare, OutageClosed, OutageOpen} {
			for _, slept := range []bool{false, true} {
				name := fmt.Sprint(text, ", ", mode, ", slept ", slept)
				if !whole.Part(3, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						start := time.Now()
						down, back := 40*time.Second, 75*time.Second
						shared := nearStore()
						shared.away(down, back)
						f := &fleet{t: t, start: start, each: make([]int, 3)}
						for i := range 2 {
							l := member(t, shared, text)
							for range 4 {
								f.worker(until(t, start.Add(back+12*time.Second)), i, l, func() time.Duration { return 0 })
							}
						}
						third := member(t, shared, text)
						third.Shared.Outage = mode
						if slept {
							f.once(t.Context(), 2, third, 0)
						}
						time.Sleep(back + time.Millisecond)
						for range 4 {
							f.worker(until(t, start.Add(back+12*time.Second)), 2, third, func() time.Duration { return 0 })
						}
						f.wait.Wait()
						time.Sleep(time.Second) // the last calls
						q := quotas(t, text)[0]
						if n := f.most(q.Per); int64(n) > q.N {
							t.Errorf("%d went in %v, want %d at most", n, q.Per, q.N)
						}
						if f.each[2] < 5 {
							t.Errorf("%d of the third process went", f.each[2])
						}
					})
				})
			}
		}
	}
}

// TestFirstBackRunsAheadOfNoBucket is TestFirstBackRunsAheadOfNobody of token buckets, of which others may have
// sent their parts of the burst, too, at the instant in which the first one is back.
func TestFirstBackRunsAheadOfNoBucket(t *testing.T) {
	for _, text := range []string{"6/s burst 60", "5/s burst 5", "20/s burst 20", "2/s burst 9"} {
		for _, away := range []time.Duration{3 * time.Second, 35 * time.Second} {
			for _, phase := range []time.Duration{1, 100 * time.Millisecond, 190 * time.Millisecond} {
				name := fmt.Sprint(text, ", ", away, ", ", phase)
				if !whole.Part(3, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						start := time.Now()
						const down = 40 * time.Second
						back := down + away
						shared := nearStore()
						shared.away(down, back)
						f := &fleet{t: t, start: start, each: make([]int, 3)}
						for i := range 3 {
							l := member(t, shared, text)
							if i == 2 {
								time.Sleep(back + phase)
							}
							for range 4 {
								f.worker(until(t, start.Add(back+12*time.Second)), i, l, func() time.Duration { return 0 })
							}
						}
						f.wait.Wait()
						time.Sleep(time.Second) // the last calls
						h := sendings{quotas: quotas(t, text), sends: f.sends, start: start}
						h.check(t)
					})
				})
			}
		}
	}
}

// TestBackForAMoment: the store is back for 20 ms, then away once more. In the 20 ms only a process asks that
// idled through the outage. It runs ahead of the others neither then nor when the store is back to stay.
func TestBackForAMoment(t *testing.T) {
	for _, text := range []string{"100/10s burst 100", "100/20s log", "100/20s sliding", "100/30s window grid", "100/20s estimate", "20/s burst 20"} {
		for _, c := range []struct {
			n    int
			away time.Duration
		}{{2, 600 * time.Millisecond}, {4, 600 * time.Millisecond}, {2, 3 * time.Second}, {4, 3 * time.Second}} {
			name := fmt.Sprint(text, ", ", c.n, ", ", c.away)
			if !whole.Part(3, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const down, back = 5 * time.Second, 25 * time.Second
					shared := nearStore()
					f := &fleet{t: t, start: time.Now(), each: make([]int, c.n)}
					shared.fail = func(int) error {
						if d := time.Since(f.start); d >= down && d < back || d >= back+20*time.Millisecond && d < back+20*time.Millisecond+c.away {
							return errDown
						}
						return nil
					}
					ctx := until(t, f.start.Add(60*time.Second))
					for i := range c.n {
						l := member(t, shared, text)
						f.once(ctx, i, l, 0)
						for k := range 150 {
							switch {
							case i == 0:
								f.once(ctx, i, l, back+time.Millisecond)
							case k == 0:
								f.once(ctx, i, l, down+100*time.Millisecond) // it notices
							default:
								f.once(ctx, i, l, back-700*time.Millisecond)
							}
						}
					}
					f.wait.Wait()
					time.Sleep(time.Second) // the last calls
					h := sendings{quotas: quotas(t, text), sends: f.sends, start: f.start}
					h.check(t)
				})
			})
		}
	}
}

// TestFirstBackAfterAWindowWasUsedUp: a process used up a window just before an outage. Whenever in the outage
// it sends what it may, the first one back, which idled, does not run ahead of it.
func TestFirstBackAfterAWindowWasUsedUp(t *testing.T) {
	for _, text := range []string{"100/10s log", "100/10s sliding", "100/10s window grid", "10/5s log"} {
		for _, away := range []float64{0.9, 1.1, 1.5, 1.9, 2.1, 2.9, 3.3} { // times Per
			name := fmt.Sprint(text, ", ", away)
			if !whole.Part(3, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const down = 25 * time.Second
					q := quotas(t, text)[0]
					back := down + time.Duration(float64(q.Per)*away)
					shared := nearStore()
					f := &fleet{t: t, start: time.Now(), each: make([]int, 2)}
					shared.away(down, back)
					ctx := until(t, f.start.Add(back+2*q.Per+5*time.Second))
					idler, busy := member(t, shared, text), member(t, shared, text)
					f.once(ctx, 0, idler, 0)
					f.once(ctx, 1, busy, 0)
					f.once(ctx, 1, busy, down+50*time.Millisecond) // it notices
					for i := range 2 * q.N {
						if i < q.N {
							f.once(ctx, 1, busy, down-500*time.Millisecond)
						}
						f.once(ctx, 1, busy, back-400*time.Millisecond)
						f.once(ctx, 0, idler, back+time.Millisecond)
					}
					f.wait.Wait()
					time.Sleep(time.Second) // the last calls
					h := sendings{quotas: quotas(t, text), sends: f.sends, start: f.start}
					h.check(t)
				})
			})
		}
	}
}

// TestLightRequestsGoAtOnce: requests that come one at a time, in whichever of several processes, do not wait
// for what others may have sent.
func TestLightRequestsGoAtOnce(t *testing.T) {
	for _, text := range []string{"2/s burst 3", "5/s burst 5", "60/m burst 4", "10/s burst 1", "100/s log", "3/s log", "1/s", "2/2s window grid"} {
		for _, n := range []int{2, 3, 5} {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				var members []*Limiter
				for range n {
					members = append(members, member(t, shared, text))
				}
				for i := range 60 {
					time.Sleep(1500 * time.Millisecond)
					start := time.Now()
					if err := members[i%n].Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					if d := time.Since(start); d > 100*time.Millisecond {
						t.Errorf("%s, %d processes: request %d waited for %v", text, n, i, d)
					}
				}
			})
		}
	}
}

// TestIdleBucketServesAtOnce: where several share a bucket, the first that asks after all idled gets at once
// what the parts of the others leave. The rest comes when the others have told that they sent nothing, and the
// claim looks again, or half a second later if they cannot. Others leave all if they send nothing without the
// store.
func TestIdleBucketServesAtOnce(t *testing.T) {
	for _, c := range []struct {
		first, other Outage
		away         bool // the other one
		rest         time.Duration
	}{
		{OutageShare, OutageShare, false, 120 * time.Millisecond},
		{OutageClosed, OutageShare, false, 120 * time.Millisecond},
		{OutageShare, OutageShare, true, 500 * time.Millisecond},
		{OutageClosed, OutageShare, true, 500 * time.Millisecond},
		{OutageShare, OutageClosed, false, 0},
		{OutageClosed, OutageClosed, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			shared := nearStore()
			a, b := member(t, shared, "100/s log"), member(t, shared, "100/s log")
			a.Shared.Outage, b.Shared.Outage = c.first, c.other
			link := &slowStore{Store: shared.Store}
			b.Shared.Store = link
			for _, l := range []*Limiter{a, b} {
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Second)
			if c.away {
				link.fail = func(int) error { return errors.New("away") }
			}
			start := time.Now()
			var went []time.Duration
			for _, n := range []int{55, 45} { // of 100, the other may have used 45
				if err := a.Wait(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				went = append(went, time.Since(start).Truncate(10*time.Millisecond))
			}
			if went[0] != 0 || went[1] != c.rest {
				t.Errorf("%v beside %v, away %v: went after %v, want at once and after %v", c.first, c.other, c.away, went, c.rest)
			}
		})
	}
}

// TestSetQuotasInAnOutage: what went is known of a quota that takes over from another one, also of a window of
// another kind: while the store cannot be reached, when it is back, and when it has lost all.
func TestSetQuotasInAnOutage(t *testing.T) {
	for _, c := range []struct {
		before, after string
		n             int // in a window, at most
	}{
		{"300/10s log", "301/10s log", 301},
		{"300/10s log", "200/10s log", 300},
		{"300/10s sliding", "301/10s sliding", 301},
		{"300/10s", "301/10s", 301},
		{"50/s log, 300/10s log", "300/10s log", 300},
		{"300/10s log", "300/10s sliding", 300},
		{"100/s sliding", "100/s log", 100},
		{"100/s log", "100/s window", 100},
	} {
		for _, then := range []string{"away", "rested", "back", "lost"} {
			name := c.before + " to " + c.after + ", " + then
			if !whole.Part(3, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					back := map[string]time.Duration{"away": 40 * time.Second, "rested": 40 * time.Second, "back": 29 * time.Second, "lost": 0}[then]
					memory := new(store.Memory)
					shared := &slowStore{Store: memory, there: time.Millisecond, back: time.Millisecond}
					shared.away(time.Second, back)
					l := member(t, shared, c.before)
					f := &fleet{t: t, start: start, each: make([]int, 1)}
					for range 3 {
						f.worker(until(t, start.Add(41*time.Second)), 0, l, func() time.Duration {
							if d := 27900*time.Millisecond - time.Since(start); then == "rested" && d > 0 && d < 20*time.Second {
								return d // then its part goes at once
							}
							return 0
						})
					}
					time.Sleep(28 * time.Second)
					if then == "lost" {
						memory.Lose()
					}
					if err := l.SetQuotas(quotas(t, c.after)); err != nil {
						t.Fatal(err)
					}
					f.wait.Wait()
					time.Sleep(time.Second) // the last calls
					if n := f.most(quotas(t, c.after)[0].Per); n > c.n || n < c.n*8/10 {
						t.Errorf("%d went in a window, want %d at most", n, c.n)
					}
				})
			})
		}
	}
}

// TestEstimateInAnOutage: an estimate counts the window before, whenever a process sends in the outage: at the
// end of one window and the beginning of the one after that, or before the store is back.
func TestEstimateInAnOutage(t *testing.T) {
	for _, text := range []string{"50/5s estimate", "600/m estimate", "10/5s estimate"} {
		q := quotas(t, text)[0]
		for name, sends := range map[string]func(windows float64) bool{
			"all the time":  func(float64) bool { return true },
			"before back":   func(at float64) bool { return at < 1.25 || at > 3.25 && at < 3.34 || at > 4.5 },
			"ends, begins":  func(at float64) bool { _, u := math.Modf(at); return at < 1 || u > 0.9 && int(at)%2 == 0 || u < 0.1 },
			"once a window": func(at float64) bool { _, u := math.Modf(at + 0.1*math.Floor(at)); return u < 0.05 },
		} {
			t.Run(text+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					shared := nearStore()
					at := func() float64 { return float64(time.Since(start)) / float64(q.Per) }
					shared.fail = func(int) error {
						if a := at(); a >= 0.99 && a < 4.5 {
							return errDown
						}
						return nil
					}
					f := &fleet{t: t, start: start, each: make([]int, 2)}
					for i := range 2 {
						l := member(t, shared, text)
						for range 3 {
							f.worker(until(t, start.Add(8*q.Per)), i, l, func() time.Duration {
								d := time.Duration(0)
								for !sends(float64(time.Since(start)+d) / float64(q.Per)) {
									d += q.Per / 200
								}
								return d
							})
						}
					}
					f.wait.Wait()
					time.Sleep(time.Second) // the last calls
					h := sendings{quotas: quota.Quotas{q}, sends: f.sends, start: start}
					h.check(t)
				})
			})
		}
	}
}

// TestClockWindowInAnOutage: what left the window of a process before the clock's window ends is not sent again
// in it.
func TestClockWindowInAnOutage(t *testing.T) {
	for _, c := range []struct {
		text   string
		before float64 // how much of a window is over when the outage begins
		least  int     // that go in that window: the other one was seen to use some at once, and may have done it again
	}{
		{"50/s burst 50, 100/5s window grid", 0.03, 70},
		{"5/s, 100/m window grid", 0.1, 85},
		{"10/s burst 10, 300/m window grid", 0.25, 270},
	} {
		t.Run(c.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				shared := nearStore()
				qs := quotas(t, c.text)
				per := qs[len(qs)-1].Per
				from := 2*per + time.Duration(c.before*float64(per))
				shared.fail = func(int) error {
					if at := time.Since(start); at >= from && at < 3*per {
						return errDown
					}
					return nil
				}
				f := &fleet{t: t, start: start, each: make([]int, 2)}
				for i := range 2 {
					l := member(t, shared, c.text)
					for range 4 {
						f.worker(until(t, start.Add(4*per)), i, l, func() time.Duration { return 0 })
					}
				}
				f.wait.Wait()
				time.Sleep(time.Second) // the last calls
				in := 0
				for i, s := range f.sends {
					f.sends[i].cost = []int64{1, 1} // of each quota
					if s.at >= 2*per && s.at < 3*per {
						in++
					}
				}
				if in < c.least {
					t.Errorf("%d went, want %d at least", in, c.least)
				}
				h := sendings{quotas: qs, sends: f.sends, start: start}
				h.check(t)
			})
		})
	}
}

// TestWaitingInAnOutage: two processes have used a window up, and wait for slots far ahead when the outage
// begins. Then their parts go.
func TestWaitingInAnOutage(t *testing.T) {
	for _, text := range []string{"300/m sliding", "300/m", "300/m log"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				shared := nearStore()
				shared.away(122*time.Second, math.MaxInt64)
				f := &fleet{t: t, start: start, each: make([]int, 2)}
				for i := range 2 {
					l := member(t, shared, text)
					for range 4 {
						f.worker(until(t, start.Add(4*time.Minute)), i, l, func() time.Duration { return 800 * time.Millisecond })
					}
				}
				f.wait.Wait()
				n := 0
				for _, s := range f.sends {
					if s.at > 122*time.Second {
						n++
					}
				}
				if n < 350 {
					t.Errorf("%d went in two minutes without the store, want 350 at least", n)
				}
				h := sendings{quotas: quotas(t, text), sends: f.sends, start: start}
				h.check(t)
			})
		})
	}
}

// TestOutageOfTwoVersions: the quotas of two versions hold in an outage, too, whether they differ in their
// numbers or their kinds.
func TestOutageOfTwoVersions(t *testing.T) {
	for _, c := range []struct {
		old, tighter string
		least        int // in the outage
	}{
		{"100/s burst 20", "20/s burst 20", 120},
		{"100/s log", "20/s log", 100},
		{"100/s window grid", "20/s window grid", 100},
		{"100/s burst 20", "20/s log", 60},
		{"100/s log", "20/s estimate", 60},
	} {
		t.Run(c.old+", "+c.tighter, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				shared := nearStore()
				shared.away(5*time.Second, math.MaxInt64)
				f := &fleet{t: t, start: start, each: make([]int, 2)}
				for i, text := range []string{c.old, c.tighter} {
					l := member(t, shared, text)
					for range 3 {
						f.worker(until(t, start.Add(15*time.Second)), i, l, func() time.Duration { return 0 })
					}
				}
				f.wait.Wait()
				q := quotas(t, c.tighter)[0]
				h := sendings{quotas: quota.Quotas{q}, start: start, slotLife: 10 * time.Millisecond}
				for _, s := range f.sends {
					if s.at > 3*time.Second { // before that, the store did not know of the second version, or what the first had sent counts
						h.sends = append(h.sends, s)
					}
				}
				h.check(t)
				if n := len(h.sends); n < c.least {
					t.Errorf("%d went, want %d at least", n, c.least)
				}
			})
		})
	}
}

// muteStore does what it is asked, and for some time nobody hears its replies.
type muteStore struct {
	*slowStore
	mute func() bool
}

func (m *muteStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	reply, err := m.slowStore.Exchange(ctx, r)
	if m.mute() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return reply, err
}

// TestRepliesThatAreLost: calls that were carried out, and of which no reply came, cost no more than what one
// call gets. So all goes on within half a second when replies come again, and what went meanwhile is told
// before anything is handed out.
func TestRepliesThatAreLost(t *testing.T) {
	for _, text := range []string{"5/s burst 5", "10/s burst 30", "60/10s window grid", "40/5s log", "50/s log"} {
		for _, mode := range []Outage{OutageShare, OutageClosed} {
			t.Run(fmt.Sprint(text, ", ", mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					const mute, back = 5 * time.Second, 65 * time.Second
					shared := &muteStore{nearStore(), func() bool {
						d := time.Since(start)
						return d >= mute && d < back
					}}
					f := &fleet{t: t, start: start, each: make([]int, 2)}
					for i := range 2 {
						l := member(t, shared, text)
						l.Shared.Outage = mode
						for range 4 {
							f.worker(until(t, start.Add(back+20*time.Second)), i, l, func() time.Duration { return 0 })
						}
					}
					f.wait.Wait()
					time.Sleep(time.Second) // the last calls
					q := quotas(t, text)[0]
					if n := f.most(q.Per); q.Kind == quota.SlidingLog && int64(n) > q.N {
						t.Errorf("%d went in %v, want %d at most", n, q.Per, q.N)
					}
					after := 0
					for _, s := range f.sends {
						if s.at >= back+time.Second && s.at < back+11*time.Second {
							after++
						}
					}
					if want := int(10 * time.Second * time.Duration(q.N) / q.Per); after < want*94/100 {
						t.Errorf("%d went in ten seconds from a second after the replies came again on, want %d", after, want)
					}
				})
			})
		}
	}
}

// lateStore goes on after a context has ended: its second call fails, and the third one takes 400 ms.
type lateStore struct {
	store.Memory
	calls int
}

func (s *lateStore) Exchange(_ context.Context, r *store.Request) (*store.Reply, error) {
	switch s.calls++; s.calls {
	case 2:
		return nil, errors.New("away")
	case 3:
		time.Sleep(400 * time.Millisecond)
	}
	return s.Memory.Exchange(context.Background(), r)
}

// TestLateReplyToARepetition: the reply to a call that is overdue comes, and is read as what it answers, which
// is a call that failed before: other claims wait by then, of other costs and with other deadlines.
func TestLateReplyToARepetition(t *testing.T) {
	for _, costs := range [][]int{{1, 2, 1, 2}, {1, 1, 1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), Shared: Shared{Store: new(lateStore), Outage: OutageClosed}}
			defer l.Close()
			if err := l.Wait(t.Context(), 5); err != nil { // the first call
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for i, n := range costs {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+i%2*9)*time.Second)
					defer cancel()
					if _, err := l.Acquire(ctx, Claim{N: n}); err != nil {
						t.Errorf("%d, claim %d: %v", costs, i, err)
					}
				})
				time.Sleep(20 * time.Millisecond)
			}
			all.Wait()
		})
	}
}

// TestStandstillAfterAStoreThatHung: who waits goes on within three quarters of a second when a store is back
// that did not answer: a quarter until the call that hangs has ended, and half a second for all to tell what
// they sent.
func TestStandstillAfterAStoreThatHung(t *testing.T) {
	for _, text := range []string{"5/s burst 5", "10/s burst 30", "20/s burst 20"} {
		for phase := range 5 {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				back := 25*time.Second + time.Duration(phase)*53*time.Millisecond
				shared := &muteStore{nearStore(), func() bool { return time.Since(start) >= 5*time.Second && time.Since(start) < back }}
				f := &fleet{t: t, start: start, each: make([]int, 2)}
				for i := range 2 {
					l := member(t, shared, text)
					for range 4 {
						f.worker(until(t, start.Add(back+5*time.Second)), i, l, func() time.Duration { return 0 })
					}
				}
				f.wait.Wait()
				time.Sleep(time.Second) // the last calls
				last := back
				for _, s := range f.sends {
					if s.at > back {
						if d := s.at - last; d > 752*time.Millisecond { // and round trips
							t.Errorf("%s, back at %v: nothing went for %v from %v on", text, back, d, last)
						}
						last = s.at
					}
				}
				h := sendings{quotas: quotas(t, text), sends: f.sends, start: start}
				h.check(t)
			})
		}
	}
}

// TestUsedUpBeforeAnOutage: a process uses up a window at once, and the outage begins before another one has
// asked again, which sends all that it may.
func TestUsedUpBeforeAnOutage(t *testing.T) {
	for _, text := range []string{"100/s log", "50/s", "100/3s sliding", "60/4s window grid", "40/2s estimate"} {
		for _, n := range []int{2, 4} {
			t.Run(fmt.Sprint(text, ", ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const down = 20200 * time.Millisecond
					shared := nearStore()
					f := &fleet{t: t, start: time.Now(), each: make([]int, n)}
					shared.away(down, math.MaxInt64)
					q := quotas(t, text)[0]
					ctx := until(t, f.start.Add(down+2*q.Per+2*time.Second))
					for i := range n {
						l := member(t, shared, text)
						f.once(ctx, i, l, down-100*time.Millisecond)
						for k := range q.N {
							switch {
							case i > 0:
								f.once(ctx, i, l, down+10*time.Millisecond)
							case k < q.N-int64(n): // it gets no slots ahead
								f.once(ctx, i, l, down-20*time.Millisecond)
							}
						}
					}
					f.wait.Wait()
					h := sendings{quotas: quotas(t, text), sends: f.sends, start: f.start}
					h.check(t)
				})
			})
		}
	}
}
