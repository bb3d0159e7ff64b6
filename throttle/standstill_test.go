package throttle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/readable"
	"github.com/gopacer/pacer/throttle/store"
)

// standing is a bucket in which nothing goes for longer than two minutes, or not.
type standing struct {
	name    string
	l       *Limiter
	prepare func(l *Limiter) // before a claim waits
	learn   func(l *Limiter) // after a claim began to wait
	claim   Claim
	want    *Error // nil if the claim waits
}

const standstill = 2 * time.Minute

// standings have one row for each cause. Those with a learn wait for an answer to what is in flight until then.
func standings(t *testing.T) []standing {
	t.Helper()
	grantAll := func(n int) func(*Limiter) {
		return func(l *Limiter) { l.Observe(Claim{N: n}) }
	}
	answer := func(a Answer) func(*Limiter) {
		return func(l *Limiter) { grant(t, l, Claim{}).Answered(a) }
	}
	settle := func(n int) func(*Limiter) {
		return func(l *Limiter) { grant(t, l, Claim{}).Settle(quota.Costs{"": int64(n)}) }
	}
	pause := func(d time.Duration) func(*Limiter) { return func(l *Limiter) { l.Pause(d) } }
	set := func(text string) func(*Limiter) {
		return func(l *Limiter) {
			if err := l.SetQuotas(quotas(t, text)); err != nil {
				t.Error(err)
			}
		}
	}
	window := "the server's limit of 10"
	const long = 2*time.Minute + 1
	return []standing{
		{"hold", &Limiter{}, pause(long), nil, Claim{}, &Error{Cause: CauseHold, Wait: long}},
		{"hold within", &Limiter{}, pause(standstill), nil, Claim{}, nil},
		{"hold of the parent", &Limiter{Parent: &Limiter{Name: "p"}}, func(l *Limiter) { l.Parent.Pause(long) }, nil, Claim{}, &Error{Bucket: "p", Cause: CauseHold, Wait: long}},
		{"hold beyond MaxHold", &Limiter{}, answer(Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}}), nil, Claim{}, &Error{Cause: CauseHold, Wait: time.Hour}},
		{"MaxHold within", &Limiter{MaxHold: standstill}, answer(Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}}), nil, Claim{}, nil},
		{"window beyond MaxHold", &Limiter{}, answer(says(0, time.Hour)), nil, Claim{}, &Error{Cause: CauseWindowUsedUp, Quota: window, Wait: time.Hour}},
		{"window, and MaxHold within", &Limiter{MaxHold: standstill}, answer(says(0, time.Hour)), nil, Claim{}, nil},
		{"hold that the server asks for", &Limiter{}, answer(Answer{Refused: true, Hold: &quota.Hold{For: long}}), nil, Claim{}, &Error{Cause: CauseHold, Wait: long}},
		{"server's window", &Limiter{}, answer(says(0, long)), nil, Claim{}, &Error{Cause: CauseWindowUsedUp, Quota: window, Wait: long}},
		{"server's window within", &Limiter{}, answer(says(0, standstill)), nil, Claim{}, nil},
		{"something remains", &Limiter{}, answer(says(1, time.Hour)), nil, Claim{N: 5}, nil},
		{"window", &Limiter{Quotas: quotas(t, "10/121s window")}, grantAll(10), nil, Claim{}, &Error{Cause: CausePace, Quota: "10/2m1s window", Wait: 121 * time.Second}},
		{"window within", &Limiter{Quotas: quotas(t, "10/2m window")}, grantAll(10), nil, Claim{}, nil},
		{"rate", &Limiter{Quotas: quotas(t, "1/121s burst 2")}, grantAll(2), nil, Claim{}, &Error{Cause: CausePace, Quota: "1/2m1s burst 2", Wait: 121 * time.Second}},
		{"rate within", &Limiter{Quotas: quotas(t, "1/120s burst 2")}, grantAll(2), nil, Claim{}, nil},
		{"debt", &Limiter{Quotas: quotas(t, "1/s burst 2")}, settle(123), nil, Claim{}, &Error{Cause: CausePace, Quota: "1/s burst 2", Wait: 122 * time.Second}},
		{"debt within", &Limiter{Quotas: quotas(t, "1/s burst 2")}, settle(121), nil, Claim{}, nil},
		{"heavy", &Limiter{Quotas: quotas(t, "1/s burst 500")}, grantAll(500), nil, Claim{N: 500}, nil},
		{"another unit", &Limiter{Quotas: quotas(t, "10/s burst 10, 10 tokens/h window")}, func(l *Limiter) { l.Observe(tokens(10)); l.Observe(Claim{N: 9}) }, nil, Claim{N: 2}, nil},
		{"a unit", &Limiter{Quotas: quotas(t, "1/s even, 10 tokens/h window")}, func(l *Limiter) { l.Observe(tokens(10)) }, nil, tokens(5), &Error{Cause: CausePace, Quota: "10 tokens/h window", Wait: time.Hour}},
		{"what is reserved", &Limiter{Quotas: quotas(t, "10/h window"), Reserve: 0.5}, grantAll(5), nil, Claim{}, &Error{Cause: CausePace, Quota: "10/h window", Wait: time.Hour}},
		{"in flight", &Limiter{Quotas: quotas(t, "1 in flight")}, grantAll(1), nil, Claim{}, nil},
		{"slow start", &Limiter{SlowStart: true}, grantAll(1), nil, Claim{}, nil},
		{"a bound of zero", &Limiter{Quotas: quotas(t, "1/s even"), MaxStandstill: -1}, grantAll(1), nil, Claim{}, &Error{Cause: CausePace, Quota: "1/s even", Wait: time.Second}},
		{"a bound of zero, in flight", &Limiter{Quotas: quotas(t, "1 in flight"), MaxStandstill: -1}, grantAll(1), nil, Claim{}, nil},
		{"no bound", &Limiter{MaxStandstill: Forever}, pause(1000 * time.Hour), nil, Claim{}, nil},

		{"hold begins", &Limiter{Quotas: quotas(t, "1 in flight")}, grantAll(1), pause(long), Claim{}, &Error{Cause: CauseHold, Wait: long}},
		{
			"hold of the parent begins", &Limiter{Quotas: quotas(t, "1 in flight"), Parent: &Limiter{Name: "p"}},
			grantAll(1), func(l *Limiter) { l.Parent.Pause(long) },
			Claim{},
			&Error{Bucket: "p", Cause: CauseHold, Wait: long},
		},
		{"nothing remains", &Limiter{Quotas: quotas(t, "1/m burst 2")}, func(l *Limiter) {
			grant(t, l, Claim{})
			g := grant(t, l, Claim{})
			time.AfterFunc(time.Second, func() { g.Answered(says(0, time.Hour)) })
		}, func(*Limiter) { time.Sleep(time.Second) }, Claim{}, &Error{Cause: CauseWindowUsedUp, Quota: window, Wait: time.Hour}},
		{"new quotas", &Limiter{Quotas: quotas(t, "1/m burst 1")}, grantAll(1), set("1/h burst 1"), Claim{}, &Error{Cause: CausePace, Quota: "1/h even", Wait: time.Hour}},
		{"new quotas of the parent", &Limiter{Quotas: quotas(t, "1 in flight"), Parent: &Limiter{Name: "p", Quotas: quotas(t, "1/m burst 1")}}, grantAll(1), func(l *Limiter) {
			set("1/h burst 1")(l.Parent)
		}, Claim{}, &Error{Bucket: "p", Cause: CausePace, Quota: "1/h even", Wait: time.Hour}},
		{"debt is made", &Limiter{Quotas: quotas(t, "1/m burst 1")}, grantAll(1), func(l *Limiter) {
			g, _ := l.Observe(Claim{MaxWait: -1})
			g.Settle(quota.Costs{quota.Requests: 2})
		}, Claim{}, &Error{Cause: CausePace, Quota: "1/m even", Wait: 3 * time.Minute}},
		{"a window is used up by others in line", &Limiter{Quotas: quotas(t, "2/h window")}, func(l *Limiter) {
			l.Pause(time.Minute)
			join(t, l, Claim{})
			join(t, l, Claim{})
		}, func(*Limiter) { time.Sleep(time.Minute) }, Claim{}, &Error{Cause: CausePace, Quota: "2/h window", Wait: time.Hour}},
		{"a window of the parent is used up by others", &Limiter{Quotas: quotas(t, "1/m burst 1"), Parent: &Limiter{Name: "p", Quotas: quotas(t, "2/h window")}}, func(l *Limiter) {
			grant(t, l, Claim{})
			join(t, l, Claim{})
		}, func(l *Limiter) {
			time.Sleep(time.Second)
			l.Parent.Observe(Claim{})
		}, Claim{}, &Error{Bucket: "p", Cause: CausePace, Quota: "2/h window", Wait: time.Hour - time.Second}},
	}
}

func TestStandstill(t *testing.T) {
	for _, row := range standings(t) {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, s := range standings(t) { // made in the bubble
					if s.name == row.name {
						standsStill(t, s)
					}
				}
			})
		})
	}
}

func standsStill(t *testing.T, s standing) {
	t.Helper()
	for b := s.l; b != nil; b = b.Parent {
		b.Rand = noJitter
		if b.MaxStandstill == 0 {
			b.MaxStandstill = standstill
		}
	}
	if s.prepare != nil {
		s.prepare(s.l)
	}
	_, w, err := s.l.Join(t.Context(), s.claim)
	if s.learn != nil {
		if err != nil || w == nil {
			t.Fatalf("does not wait: %v", err)
		}
		s.learn(s.l)
		synctest.Wait()
		if err = w.err; err != nil && !gone(w) {
			t.Error("not told of its refusal")
		}
	}
	if s.want == nil {
		if err != nil || w == nil || gone(w) {
			t.Errorf("got %v, want it to wait", err)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrStandstill) {
		t.Fatalf("got %v, want ErrStandstill", err)
	}
	want := *s.want
	want.Err, want.Cost, want.At, want.detail = ErrStandstill, e.Cost, time.Now().Add(want.Wait), readable.Within("", check.Bound(s.l.MaxStandstill), 0)
	if diff := cmp.Diff(want, *e, cmp.Comparer(errors.Is), cmp.AllowUnexported(Error{})); diff != "" {
		t.Error(diff)
	}
	if st := s.l.State(); st.Waiting != 0 {
		t.Errorf("%d wait", st.Waiting)
	}
}

// A line that moves is waited for, however long it is.
func TestStandstillOfALineThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s burst 1"), MaxStandstill: time.Second}
		start := time.Now()
		for range 1000 {
			if g, w := join(t, l, Claim{}); g == nil {
				go w.Wait(t.Context())
			}
		}
		if _, err := l.Acquire(t.Context(), Claim{}); err != nil || time.Since(start) != 1000*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestStandstillText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "a", MaxStandstill: standstill}
		l.Pause(time.Hour)
		err := l.Wait(t.Context(), 1)
		want := "throttle: a: not sent: nothing can go within MaxStandstill (2m0s): hold, could go in 1h0m0s"
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	})
}

// A deadline and MaxWait that are missed are named first: they are the caller's own.
func TestStandstillAfterOtherBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxStandstill: standstill, MaxWait: 10 * time.Minute}
		l.Pause(11 * time.Minute)
		if err := l.Wait(t.Context(), 1); !errors.Is(err, ErrMaxWait) {
			t.Errorf("got %v, want ErrMaxWait", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Wait(ctx, 1); !errors.Is(err, ErrDeadline) {
			t.Errorf("got %v, want ErrDeadline", err)
		}
	})
}

// While the Store is away, and nobody knows for how long, claims wait until that has lasted MaxStandstill; those
// that come later are refused at once. What goes without the Store is waited for.
func TestStandstillOfAStore(t *testing.T) {
	for _, test := range []struct {
		name    string
		outage  Outage
		fails   func() bool
		max     time.Duration
		refused bool
	}{
		{"closed", OutageClosed, func() bool { return true }, standstill, true},
		{"closed, zero", OutageClosed, func() bool { return true }, -1, true},
		{"share, never reached", OutageShare, func() bool { return true }, standstill, true},
		{"open", OutageOpen, func() bool { return true }, standstill, false},
		{"reached", OutageClosed, func() bool { return false }, standstill, false},
	} {
		for _, below := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, below), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					shared := nearStore()
					shared.fail = func(int) error {
						if test.fails() {
							return errDown
						}
						return nil
					}
					start := time.Now()
					down := start.Add(shared.there) // the first call ends
					l := member(t, shared, "10/s burst 1")
					l.Shared.Outage, l.MaxStandstill = test.outage, test.max
					asked := l
					if below {
						asked = &Limiter{Parent: l, MaxStandstill: test.max}
					}
					err := asked.Wait(t.Context(), 1)
					var e *Error
					switch {
					case !test.refused && err != nil:
						t.Errorf("got %v", err)
					case !test.refused:
					case !errors.As(err, &e) || !errors.Is(err, ErrStandstill) || e.Cause != CauseStoreNotReached || e.Wait != 0 || !e.At.IsZero() || e.Bucket != l.Name:
						t.Errorf("got %#v, want ErrStandstill because of the store", err)
					case time.Since(down) != max(test.max, 0):
						t.Errorf("refused %v after the outage began, want %v", time.Since(down), test.max)
					default:
						if err := asked.Wait(t.Context(), 1); !errors.Is(err, ErrStandstill) || time.Since(down) != max(test.max, 0) {
							t.Errorf("a later one: %v after %v", err, time.Since(down))
						}
					}
					l.Close()
				})
			})
		}
	}
}

// A reply that says that nothing comes for long ends the wait. Slots that are far because those of others go
// before are no standstill.
func TestStandstillOfASharedQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/h window"), member(t, shared, "10/h window")
		for range 10 {
			if err := a.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		b.MaxStandstill = standstill
		start := time.Now()
		err := b.Wait(t.Context(), 1)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrStandstill) || e.Cause != CausePace || e.Quota != "10/h window" || e.Wait < 50*time.Minute {
			t.Errorf("got %#v", err)
		}
		if took := time.Since(start); took > 5*time.Millisecond {
			t.Errorf("after %v", took)
		}
		a.Close()
		b.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "1/s burst 1"), member(t, shared, "1/s burst 1")
		for range 60 {
			go a.Wait(t.Context(), 1)
		}
		time.Sleep(time.Second)
		b.MaxStandstill = 2 * time.Second
		for range 3 {
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		a.Close()
		b.Close()
	})
}

// TestStandstillAgainstDefinition makes random histories in two buckets and their parent, of all kinds of windows,
// with holds: after each millisecond and each step nobody waits for whom one token is further away than
// MaxStandstill, by the definition of the quotas, and nobody was refused for whom it is within.
func TestStandstillAgainstDefinition(t *testing.T) {
	for seed := range seeds(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { standstillModel(t, rand.New(rand.NewPCG(seed, 77))) })
		})
	}
}

// defined is a bucket by definition.
type defined struct {
	l       *Limiter
	parent  *defined
	held    int
	history []*definition.History
}

// due is in how many milliseconds, more than most at most, one token of each unit may go in d and above it.
func (d *defined) due(now, most int, c Claim) int {
	for in := 0; in <= most; in++ {
		if d.open(now+in, c) {
			return in
		}
	}
	return most + 1
}

func (d *defined) open(at int, c Claim) bool {
	if d == nil {
		return true
	}
	for _, h := range d.history {
		if n := c.need(new(Limiter)); n.In(&h.Quota) > 0 && int64(h.Used(at)+1) > h.Quota.N {
			return false
		}
	}
	return at >= d.held && d.parent.open(at, c)
}

func (d *defined) charge(now int, c Claim) {
	for ; d != nil; d = d.parent {
		for _, h := range d.history {
			if need := c.need(new(Limiter)); need.In(&h.Quota) > 0 {
				h.Went = append(h.Went, definition.Charge{At: now, N: int(need.In(&h.Quota))})
			}
		}
	}
}

func standstillModel(t *testing.T, r *rand.Rand) {
	t.Helper()
	start := time.Now()
	most := 5 + r.IntN(40)
	bucket := func(parent *defined) *defined {
		d := &defined{l: &Limiter{MaxStandstill: time.Duration(most) * time.Millisecond, Spend: SpendEager}, parent: parent}
		if parent != nil {
			d.l.Parent = parent.l
		}
		kinds := slices.DeleteFunc(definition.Windowed(r), func(q quota.Quota) bool { return q.Kind == quota.EstimatedWindow })
		for range r.IntN(3) {
			q := kinds[r.IntN(len(kinds))]
			if r.IntN(3) == 0 {
				q.Unit = "tokens"
			}
			h := &definition.History{Quota: q, Unit: time.Millisecond, Wall: int(start.UnixMilli() % int64(q.Per/time.Millisecond))}
			d.l.Quotas, d.history = append(d.l.Quotas, q), append(d.history, h)
		}
		return d
	}
	root := bucket(nil)
	all := []*defined{root, bucket(root), bucket(root)}
	type claim struct {
		Claim
		of *defined
		w  *Waiter
	}
	var waiting []*claim
	now, refused := 0, 0
	check := func() {
		t.Helper()
		synctest.Wait()
		checkSettled(t, all[0].l, all[1].l, all[2].l)
		for _, c := range waiting {
			if gone(c.w) && c.w.err == nil {
				c.of.charge(now, c.Claim)
			}
		}
		waiting = slices.DeleteFunc(waiting, func(c *claim) bool {
			if gone(c.w) && c.w.err == nil {
				return true
			}
			due := c.of.due(now, most, c.Claim)
			switch {
			case !gone(c.w) && due > most:
				t.Fatalf("at %d: %+v waits, and nothing goes within %d", now, c.Claim, most)
			case gone(c.w) && (due <= most || !errors.Is(c.w.err, ErrStandstill)):
				t.Fatalf("at %d: %+v is refused (%v), and one token goes in %d, within %d", now, c.Claim, c.w.err, due, most)
			case gone(c.w):
				refused++
			}
			return gone(c.w)
		})
	}
	for now = range 400 {
		check()
		for range r.IntN(3) {
			d := all[r.IntN(len(all))]
			switch k := r.IntN(12); {
			case k < 9:
				c := &claim{Claim: Claim{N: 1 + r.IntN(3)}, of: d}
				if r.IntN(2) == 0 {
					c.Costs = quota.Costs{"tokens": int64(r.IntN(3))}
				}
				g, w, err := d.l.Join(t.Context(), c.Claim)
				if c.w = w; g != nil {
					d.charge(now, c.Claim)
				} else if err != nil {
					c.w = &waiter{l: d.l, done: bell.New(), err: err}
					c.w.done.C <- struct{}{}
				}
				if g == nil {
					waiting = append(waiting, c)
				}
			case k == 9:
				in := r.IntN(2 * most)
				d.l.Pause(time.Duration(in) * time.Millisecond)
				d.held = max(d.held, now+in)
			case k == 10:
				d.l.Resume()
				d.held = min(d.held, now)
			default:
				if len(waiting) > 0 {
					i := r.IntN(len(waiting))
					waiting[i].w.Leave()
					waiting = slices.Delete(waiting, i, i+1)
				}
			}
			check()
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("%d refused", refused)
}

// NoLimit and Forever are no bound, whatever they bound.
func TestNoBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/h burst 1"), MaxWait: Forever, MaxStandstill: Forever, MaxHold: Forever, MaxQueue: NoLimit}
		start := time.Now()
		for i := range 3 {
			if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) != time.Duration(i)*time.Hour {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
		l.Pause(Forever)
		if _, w := join(t, l, Claim{}); w == nil || gone(w) {
			t.Error("does not wait")
		}
	})
}

// laptop is a monotime.Source of a machine that sleeps, and whose wall clock is set.
type laptop struct{ set, slept atomic.Int64 }

func (m *laptop) Read(start time.Time) (int64, time.Duration) {
	return time.Now().UnixNano() + m.set.Load() + m.slept.Load(), time.Since(start)
}
func (m *laptop) Asleep() (time.Duration, bool) { return time.Duration(m.slept.Load()), true }
func (m *laptop) Stops() bool                   { return true }

// TestSuspended: what passes while the machine sleeps counts for holds and windows, and who waits goes at most half a
// minute after it has woken up; not for MaxWait and deadlines of contexts, which go by the time in which programs run.
func TestSuspended(t *testing.T) {
	for name, test := range map[string]struct {
		quota string
		hold  time.Duration
		slept time.Duration
		want  time.Duration // in which the next token comes, when the machine has woken up
	}{
		"a hold":           {"100/s", 10 * time.Minute, time.Hour, 0},
		"part of a hold":   {"100/s", 10 * time.Minute, 9 * time.Minute, 50 * time.Second},
		"a log":            {"1/h log", 0, 30 * time.Minute, 30*time.Minute - 10*time.Second},
		"a window":         {"1/h window", 0, 2 * time.Hour, 0},
		"a clock's window": {"1/h window grid", 0, 30 * time.Minute, 30*time.Minute - 10*time.Second},
		"a bucket":         {"60/h burst 1", 0, 45 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &laptop{}
				qs, err := quota.Parse(test.quota)
				if err != nil {
					t.Fatal(err)
				}
				l := &Limiter{Quotas: qs, MaxStandstill: Forever}
				l.clock.StartBy(m)
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				l.Pause(test.hold)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				waited := make(chan time.Duration, 1)
				start := time.Now()
				go func() {
					err := l.Wait(ctx, 1)
					waited <- time.Since(start)
					if err != nil {
						t.Error(err)
					}
				}()
				time.Sleep(10 * time.Second)
				m.slept.Store(int64(test.slept))
				want := 10*time.Second + test.want
				if want < monotime.Nap {
					want = monotime.Nap // its timer was set before
				}
				if took := <-waited; took != want {
					t.Errorf("took %v, want %v", took, want)
				}
			})
		})
	}
}

// TestSuspendedAnswer: an answer takes as long as the machine was awake, since the deadlines for which that is kept go
// by that.
func TestSuspendedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &laptop{}
		l := &Limiter{Quotas: quota.MustParse("60/h burst 1")}
		l.clock.StartBy(m)
		acquire := func() *Grant {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			g, err := within.Acquire(ctx, true, new(Group), Claim{}, new(Grant), func() *Limiter { return l }, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		acquire().Answered(Answer{})
		g := acquire()
		time.Sleep(time.Second)
		m.slept.Store(int64(8 * time.Hour))
		time.Sleep(time.Second)
		g.Answered(Answer{})
		now := l.clock.Awake(l.clock.Now())
		if _, takes := l.answers.Before(now.Add(time.Hour), now, true); takes != 2*time.Second {
			t.Errorf("an answer is expected to take %v, want 2s", takes)
		}
	})
}

// TestSuspendedDeadlines: MaxWait and deadlines are as far away after the machine has slept as before.
func TestSuspendedDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &laptop{}
		l := &Limiter{Quotas: quota.Quotas{{N: 1, Per: 10 * time.Minute, Kind: quota.SlidingLog}}, MaxStandstill: Forever, MaxWait: 30 * time.Minute}
		l.clock.StartBy(m)
		start := time.Now()
		var took [3]time.Duration
		var wg sync.WaitGroup
		for i := range took {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
				defer cancel()
				if err := l.Wait(ctx, 1); err != nil {
					t.Error(err)
				}
				took[i] = time.Since(start)
			})
			synctest.Wait()
		}
		time.Sleep(70 * time.Second)
		m.slept.Store(int64(time.Hour))
		wg.Wait()
		if want := [3]time.Duration{0, 90 * time.Second, 10*time.Minute + 90*time.Second}; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

// TestSuspendedWhileUnderWay: likewise for a request that is under way while the machine sleeps, is refused,
// and takes its old place.
func TestSuspendedWhileUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &laptop{}
		l := &Limiter{MaxStandstill: Forever, MaxWait: 30 * time.Minute, Rand: noJitter}
		l.clock.StartBy(m)
		g, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		m.slept.Store(int64(time.Hour))
		time.Sleep(time.Second)
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Minute}})
		start := time.Now()
		if _, err = l.Acquire(t.Context(), Claim{After: g}); err != nil || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestWallClockIsSet: windows of the clock follow the wall clock when it is set. Nobody waits for longer than a window
// then, and what went in the window that ran counts in the new one.
func TestWallClockIsSet(t *testing.T) {
	for _, kind := range []quota.Kind{quota.ClockWindow, quota.EstimatedWindow} {
		for _, set := range []time.Duration{24 * time.Hour, -24 * time.Hour, 40 * time.Minute, -40 * time.Minute, 59 * time.Minute, -time.Second, 24*time.Hour + 7*time.Minute} {
			t.Run(fmt.Sprint(kind, set), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &laptop{}
					l := &Limiter{Quotas: quota.Quotas{{N: 10, Per: time.Hour, Kind: kind}}, MaxStandstill: Forever}
					l.clock.StartBy(m)
					time.Sleep(30 * time.Minute) // a bubble begins at midnight
					for range 10 {
						if !l.Allow(1) {
							t.Fatal("refused")
						}
					}
					m.set.Store(int64(set))
					time.Sleep(time.Second)
					if l.Allow(1) {
						t.Error("more than N when the clock was set")
					}
					start := time.Now()
					next := start.Add(set).Truncate(time.Hour).Add(time.Hour).Sub(start.Add(set))
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); kind == quota.ClockWindow && took != next || took > time.Hour {
						t.Errorf("waited for %v, the window ends in %v", took, next)
					}
				})
			})
		}
	}
}

// TestWallClockIsSetAtATick: N go at the end of a window and N at the beginning of the next, and then the clock
// is set by a day or so, to just before a tick: until an hour after the first, no more than 2N go.
func TestWallClockIsSetAtATick(t *testing.T) {
	for _, kind := range []quota.Kind{quota.ClockWindow, quota.EstimatedWindow} {
		for _, set := range []time.Duration{24*time.Hour - 10*time.Second, -24*time.Hour - 10*time.Second} {
			t.Run(fmt.Sprint(kind, set), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &laptop{}
					l := &Limiter{Quotas: quota.Quotas{{N: 10, Per: time.Hour, Kind: kind}}, MaxStandstill: Forever}
					l.clock.StartBy(m)
					var went []time.Duration // a bubble begins at midnight
					start := time.Now()
					send := func() {
						for l.Allow(1) {
							went = append(went, time.Since(start))
						}
					}
					time.Sleep(time.Hour - time.Second)
					send()
					time.Sleep(time.Second)
					send()
					m.set.Store(int64(set))
					for range 6000 {
						time.Sleep(time.Second)
						send()
					}
					for i := range went {
						n := 0
						for ; i+n < len(went) && went[i+n] < went[i]+time.Hour; n++ {
						}
						if n > 20 {
							t.Fatalf("%d in an hour: %v", n, went)
						}
					}
					if n := len(went); n < 20 || went[n-1] < 100*time.Minute {
						t.Errorf("went at %v", went)
					}
				})
			})
		}
	}
}

// TestForecastOfAStandstill: a forecast says that a claim would be refused for MaxStandstill, as one that is
// made is, and for how long nothing can go.
func TestForecastOfAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxStandstill: time.Minute, Rand: noJitter}
		l.Pause(time.Minute)
		if f, want := l.Forecast(Claim{}), (Forecast{Wait: time.Minute, Cause: CauseHold}); f != want {
			t.Errorf("%+v, want %+v", f, want)
		}
		l.Pause(time.Minute + 1)
		f := l.Forecast(Claim{})
		_, err := l.Acquire(t.Context(), Claim{})
		if !errors.Is(f.Err, ErrStandstill) || f.Err.Error() != err.Error() || f.Never || f.Wait != time.Minute+1 || f.Cause != CauseHold {
			t.Errorf("%+v, want %v", f, err)
		}
		if _, f := l.Observe(Claim{}); !errors.Is(f.Err, ErrStandstill) {
			t.Errorf("observed %+v", f)
		}
	})
}

// mistakenStore says that all slots are far ahead, or that there are none until then.
type mistakenStore struct {
	store.Memory
	far     time.Duration
	members int
	slots   bool
}

// Exchange implements store.Store.
func (s *mistakenStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	reply, err := s.Memory.Exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	reply.Ahead, reply.Next, reply.Members = s.far, s.far, max(reply.Members, s.members)
	for i := range reply.Slots {
		reply.Slots[i].In = s.far
	}
	if !s.slots {
		reply.Slots = nil
	}
	return reply, nil
}

// TestStandstillOfAStoreThatIsMistaken: what a Store says to be further ahead than the slots of others may be is a
// standstill; without a MaxStandstill, if it is more than a day further, or than the window of the quota. So a Store
// that is mistaken, or was given back the debt of another bucket, does not hold one for years.
func TestStandstillOfAStoreThatIsMistaken(t *testing.T) {
	const years, day = 20 * 365 * 24 * time.Hour, 24 * time.Hour
	for _, c := range []struct {
		text            string
		others          time.Duration // that each may have in hand
		bound, explains time.Duration // MaxStandstill, and what it stands for
	}{
		{"10/s burst 5", 2 * 500 * time.Millisecond, standstill, standstill},
		{"10/s log", 2 * time.Second, standstill, standstill},
		{"5/m window", 2 * time.Minute, standstill, standstill},
		{"10/s burst 5 debt", day, standstill, standstill},
		{"10/s burst 5", 2 * 500 * time.Millisecond, 0, day},
		{"5/m window", 2 * time.Minute, Forever, day},
		{"10/s burst 5 debt", day, 0, day},
		{"5/720h window", 2 * 720 * time.Hour, 0, 720 * time.Hour},
		{"5/24h", 2 * day, 0, day},
	} {
		for _, members := range []int{1, 7, math.MaxInt} {
			for _, slots := range []bool{true, false} {
				// Three Horizons, SlotLife, and two claims of each, of all that goes at once: of 512 in a year, or within a day,
				// where more are said to share the bucket.
				near := 1500*time.Millisecond + lease.DefaultSlotLife(quotas(t, c.text).Explicit())
				explained := max(day, min(near+512*c.others, 365*day))
				if members < 512 {
					explained = min(explained, near+time.Duration(members)*c.others)
				}
				if strings.Contains(c.text, "debt") {
					explained = day // nobody knows what a claim costs
				}
				explained += c.explains
				for far, want := range map[time.Duration]bool{years: true, explained: false, explained + 1: true} {
					synctest.Test(t, func(t *testing.T) {
						l := &Limiter{Name: "api", Quotas: quotas(t, c.text), MaxStandstill: c.bound, Shared: Shared{Store: &mistakenStore{far: far, members: members, slots: slots}}}
						ctx, cancel := context.WithCancel(t.Context())
						time.AfterFunc(100*time.Millisecond, cancel)
						start := time.Now()
						err := l.Wait(ctx, 1)
						if errors.Is(err, ErrStandstill) != want || time.Since(start) != 0 && want || c.bound == 0 && want && !strings.Contains(err.Error(), "no bound, but") {
							t.Errorf("%s, MaxStandstill %v, %d members, %v ahead, slots %v: %v after %v, want a standstill: %v", c.text, c.bound, members, far, slots, err, time.Since(start), want)
						}
						l.Close()
					})
				}
			}
		}
	}
}

// emptyStore has nothing that can be used, whatever it says.
type emptyStore struct {
	store.Memory
	none  bool                                // it hands out nothing
	spoil func(reply *store.Reply, calls int) // nil if it is right again
	mu    sync.Mutex                          // locks calls, and what is set anew while calls are made
	calls int
}

// mend has it be right again, and returns how often it was called.
func (s *emptyStore) mend() (calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil, s.none = nil, false
	return s.calls
}

// Exchange implements store.Store.
func (s *emptyStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	asked := *r
	if s.none {
		asked.Asks = nil
	}
	reply, err := s.Memory.Exchange(ctx, &asked)
	if err == nil && s.spoil != nil {
		s.spoil(reply, s.calls)
	}
	return reply, err
}

// TestStandstillOfAStoreThatHasNothing: a Store that says that there is a slot soon, and never has one that can be used, is
// a standstill after MaxStandstill. It is asked each half second, once it has broken its word for ten seconds.
func TestStandstillOfAStoreThatHasNothing(t *testing.T) {
	in := func(d time.Duration) func(*store.Reply, int) {
		return func(reply *store.Reply, _ int) {
			for i := range reply.Slots {
				reply.Slots[i].In = d
			}
		}
	}
	for name, spoil := range map[string]func(reply *store.Reply, calls int){
		"slots far beyond all that it knows of": in(20 * 365 * 24 * time.Hour),
		"slots that have passed":                in(-time.Hour),
		"one now":                               func(reply *store.Reply, _ int) { reply.Next, reply.Ahead = 0, 0 },
		"one in a minute":                       func(reply *store.Reply, _ int) { reply.Next = time.Minute },
		"lost again and again": func(reply *store.Reply, calls int) {
			reply.Lost, reply.Life = true, int64(calls)
		},
	} {
		for _, waiting := range []int{1, 3} {
			synctest.Test(t, func(t *testing.T) {
				s := &emptyStore{spoil: spoil, none: !strings.HasPrefix(name, "slots")}
				l := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), MaxStandstill: standstill, Shared: Shared{Store: s}}
				start := time.Now()
				var wg sync.WaitGroup
				for range waiting {
					wg.Go(func() {
						err := l.Wait(t.Context(), 1)
						if took := time.Since(start); !errors.Is(err, ErrStandstill) || took <= standstill || took > standstill+lease.Horizon {
							t.Errorf("%s: %v after %v, want a standstill after %v", name, err, took, standstill)
						}
					})
				}
				wg.Wait()
				if most, calls := 1000+int((standstill-10*time.Second)/lease.Horizon)+10, s.mend(); calls > most {
					t.Errorf("%s: %d calls, want %d at most", name, calls, most)
				}
				time.Sleep(3*lease.Horizon + 1) // until then a claim is refused at once
				start = time.Now()
				if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) > lease.Horizon {
					t.Errorf("%s: when it is right again, %v after %v", name, err, time.Since(start))
				}
				l.Close()
			})
		}
	}
}

// TestHoldsOfAStoreHaveAnEnd: holds that a Store tells one after the other, or statements of a server that has nothing
// left, hold a claim that waits for a day. Then slots alone count, so that a Store which means it hands out none before the
// hold is over.
func TestHoldsOfAStoreHaveAnEnd(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		none           bool // no slots, either
		stated         bool // by a statement, which holds for a second more, and for MaxHold at the most
		bound, maxHold time.Duration
		hold, after    time.Duration // of the Store; after how long the claim goes, or is refused
	}{
		{false, false, 0, 0, 10 * time.Minute, day},
		{false, false, standstill, 0, time.Minute, day},
		{false, false, Forever, 0, 20 * 365 * day, day},
		{false, false, 0, 2 * day, 10 * time.Minute, 2 * day},
		{true, false, standstill, 0, time.Minute, day + standstill},
		{false, true, 0, 0, 10 * time.Minute, day},
		{false, true, standstill, 0, time.Minute, day},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &emptyStore{none: c.none, spoil: func(reply *store.Reply, _ int) {
				if reply.Hold, reply.Next = c.hold, 0; c.stated {
					reply.Hold, reply.Statements = 0, []quota.Statement{{Name: "core", Limit: 10, Reset: c.hold, ResetKnown: true, Resolution: time.Second}}
				}
			}}
			l := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), MaxStandstill: c.bound, MaxHold: c.maxHold, Shared: Shared{Store: s}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*day)
			defer cancel()
			start := time.Now()
			err := l.Wait(ctx, 1)
			longest := 2*lease.Horizon + 1
			if c.stated {
				longest += c.hold + time.Second
			}
			if took := time.Since(start); errors.Is(err, ErrStandstill) != c.none || err != nil != c.none || took < c.after || took > c.after+longest {
				t.Errorf("%+v: %v after %v", c, err, took)
			}
			l.Close()
		})
	}
}

// TestStandstillSparesWhoNeedsNothing: a claim that costs nothing of what a Store has not is no standstill, though it stood
// behind claims that are.
func TestStandstillSparesWhoNeedsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &emptyStore{none: true, spoil: func(reply *store.Reply, _ int) { reply.Next, reply.Ahead = 0, 0 }}
		l := &Limiter{Name: "api", Quotas: quotas(t, "10 bytes/s burst 5"), MaxStandstill: standstill, Shared: Shared{Store: s}}
		start := time.Now()
		var wg sync.WaitGroup
		for _, bytes := range []int{3, 1, 0} {
			wg.Go(func() {
				_, err := l.Acquire(t.Context(), Claim{Costs: quota.Costs{quota.Bytes: int64(bytes)}})
				if errors.Is(err, ErrStandstill) != (bytes > 0) || time.Since(start) != standstill+lease.Horizon {
					t.Errorf("%d bytes: %v after %v", bytes, err, time.Since(start))
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		l.Close()
	})
}

// TestStandstillOfALineOfDays: without a MaxStandstill a line of others is waited for, also if it is one of many windows of a
// day each, of which a Store alone tells.
func TestStandstillOfALineOfDays(t *testing.T) {
	const window = 24*time.Hour + time.Second // SlotLife
	synctest.Test(t, func(t *testing.T) {
		shared, start := new(store.Memory), time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			l := &Limiter{Name: "api", Quotas: quotas(t, "5/24h"), Shared: Shared{Store: shared}}
			wg.Go(func() {
				if err := l.Wait(t.Context(), 5); err != nil || time.Since(start) != time.Duration(i)*window {
					t.Errorf("process %d: %v after %v", i, err, time.Since(start))
				}
				l.Close()
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

// TestStandstillOfOthersInAStore: what many others have got of a Store, each of them as much as goes at once, is no
// standstill: the line moves.
func TestStandstillOfOthersInAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := new(store.Memory)
		var wg sync.WaitGroup
		var went atomic.Int32
		for range 12 {
			l := &Limiter{Name: "api", Quotas: quotas(t, "1/s burst 60"), MaxStandstill: 2 * time.Second, Shared: Shared{Store: shared}}
			for range 3 {
				wg.Go(func() {
					if err := l.Wait(t.Context(), 60); err != nil {
						t.Error(err)
					}
					went.Add(1)
				})
			}
		}
		wg.Wait()
		if n := went.Load(); n != 36 {
			t.Errorf("%d went", n)
		}
	})
}
