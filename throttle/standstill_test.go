package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/lease"
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

// TestStandstillAgainstDefinition makes random histories in two buckets and their parent, of all kinds of
// windows, with holds: after each millisecond and each step nobody waits for whom one token is further away
// than MaxStandstill, by the definition of the quotas, and nobody was refused for whom it is within.
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

// TestStandstillSparesWhoNeedsNothing: a claim that costs nothing of what a Store has not is no standstill,
// though it stood behind claims that are.
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

// TestStandstillOfALineOfDays: without a MaxStandstill a line of others is waited for, also if it is one of
// many windows of a day each, of which a Store alone tells.
func TestStandstillOfALineOfDays(t *testing.T) {
	const window = 24*time.Hour + time.Second // SlotLife
	synctest.Test(t, func(t *testing.T) {
		shared, start := new(store.Memory), time.Now()
		var wg sync.WaitGroup
		for i := range whole.Or(2, 3) { // no timer lasts for more than half a minute
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
