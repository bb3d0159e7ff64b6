package throttle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// TestAside makes random histories in a tree of buckets: claims of kinds whose costs nobody knows yet, with
// flows, priorities and bounds, canceled, and quotas that are changed. After each step the first of each kind
// that stands aside waits for others of its kind, and the counts of the lines are right. In the end nobody
// waits.
func TestAside(t *testing.T) {
	for seed := range seeds(7) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { asideHistory(t, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func asideHistory(t *testing.T, r *rand.Rand) {
	t.Helper()
	root := &Limiter{Name: "root", MaxStandstill: Forever}
	all := []*Limiter{root, {Name: "a", Parent: root}, {Name: "b", Parent: root}}
	all = append(all, &Limiter{Name: "aa", Parent: all[1]})
	texts := []string{"600 tokens/m", "60 tokens/m, 100/m", "1000 tokens/m burst 300, 50 images/m", "3/s", "20 in flight"}
	for _, l := range all {
		l.Quotas = quota.MustParse(texts[r.IntN(len(texts))])
	}
	var grants []*Grant
	var mu sync.Mutex
	var claims sync.WaitGroup
	stop := make(chan struct{})
	claim := func(l *Limiter, c Claim) {
		claims.Go(func() {
			g, err := l.Acquire(t.Context(), c)
			if err != nil {
				var e *Error
				if !errors.As(err, &e) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			grants = append(grants, g)
			mu.Unlock()
		})
	}
	end := func() (ok bool) {
		mu.Lock()
		n := len(grants)
		if n == 0 {
			mu.Unlock()
			return false
		}
		i := r.IntN(n)
		g := grants[i]
		grants[i], grants = grants[n-1], grants[:n-1]
		mu.Unlock()
		switch r.IntN(4) {
		case 0:
			g.Cancel()
		case 1:
			g.Answered(Answer{})
		default:
			g.Answered(Answer{Spent: quota.Costs{"tokens": int64(1 + r.IntN(30)), "images": int64(r.IntN(2))}})
		}
		return true
	}
	for range 300 {
		l := all[r.IntN(len(all))]
		switch k := r.IntN(20); {
		case k < 10:
			c := Claim{Path: fmt.Sprintf("/%c", 'a'+r.IntN(6)), Priority: Priority(r.IntN(3) - 1), Cancel: stop}
			if r.IntN(2) == 0 {
				c.Flow = fmt.Sprintf("%c", 'a'+r.IntN(3))
			}
			if r.IntN(4) == 0 {
				c.Costs = quota.Costs{"tokens": int64(r.IntN(40))}
			}
			if r.IntN(5) == 0 {
				c.MaxWait = time.Duration(1+r.IntN(20)) * time.Second
			}
			claim(l, c)
		case k < 15:
			end()
		case k == 15:
			if err := l.SetQuotas(quota.MustParse(texts[r.IntN(len(texts))])); err != nil {
				t.Fatal(err)
			}
		case k == 16 && r.IntN(2) == 0:
			l.Forecast(Claim{Path: "/a"})
		case k == 16:
			l.Pause(time.Duration(r.IntN(5)) * time.Second)
			thaw := l.Freeze()
			time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
			synctest.Wait()
			checkAside(t, all)
			thaw()
		default:
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
		synctest.Wait()
		checkAside(t, all)
	}
	for i := 0; i < 100_000 && checkAside(t, all) > 0; i++ { // long after, all have gone, if requests end
		for end() {
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	if n := checkAside(t, all); n != 0 {
		t.Errorf("%d wait, though nothing is under way", n)
	}
	close(stop)
	claims.Wait()
	checkAside(t, all)
}

// checkAside is checkSettled, and checks that the first of each kind that stands aside waits for others of its
// kind.
func checkAside(t *testing.T, all []*Limiter) (waiting int) {
	t.Helper()
	waiting = checkSettled(t, all...)
	all[0].lock()
	defer all[0].unlock()
	now := all[0].now()
	type group struct {
		kind any
		row  int
	}
	for _, l := range all {
		back := map[group]bool{} // of which one stands in line
		first := map[group]*waiter{}
		for w := range l.line.aside.After(l.line.InOrder()) {
			g := group{w.Like, w.Row()}
			switch {
			case w.l != l:
			case !w.isAside():
				back[g] = true
			case first[g] == nil || w.Before(first[g]):
				first[g] = w
			}
		}
		for g, w := range first {
			if w.asideUntil() <= now && !back[g] {
				t.Fatalf("%s: one stands aside that need not wait for others of its kind", l.Name)
			}
		}
	}
	return waiting
}

// aside has a claim of a kind go of which nobody knows what it costs, and then others join, where so many
// tokens are drained.
func aside(t *testing.T, l *Limiter, drain int, claims ...Claim) (waiters []*Waiter) {
	t.Helper()
	for i, c := range append([]Claim{{}}, claims...) {
		if c.Path == "" {
			c.Path = "/new"
		}
		_, w, err := l.Join(t.Context(), c)
		if err != nil || w == nil != (i == 0) {
			t.Fatalf("claim %d: %v, %v", i, w, err)
		}
		if waiters = append(waiters, w); i == 0 {
			l.Observe(Claim{Costs: quota.Costs{"tokens": int64(drain)}})
		}
	}
	return waiters[1:]
}

// wentAt has each waiter go, and says when each did, in seconds.
func wentAt(t *testing.T, start time.Time, waiters ...*Waiter) string {
	t.Helper()
	went := make([]float64, len(waiters))
	var all sync.WaitGroup
	for i, w := range waiters {
		all.Go(func() {
			if _, err := w.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			went[i] = time.Since(start).Seconds()
		})
	}
	all.Wait()
	return fmt.Sprint(went)
}

// TestAsideOrder: those who stand aside go in their old order, however late a timer is; flows and priorities as
// in line.
func TestAsideOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		quotas  string
		reserve float64
		drain   int
		claims  []Claim
		want    string
	}{
		"of one kind": {"600 tokens/m", 0, 0, []Claim{{}, {}, {}}, "[5 10 10]"},
		"flows": {
			"60/m burst 1, 600 tokens/m", 0, 0, []Claim{{Flow: "a"}, {Flow: "a"}, {Flow: "a"}, {Flow: "a"}, {Flow: "b"}}, "[5 11 15 16 10]",
		},
		"an urgent one, beside one that must not use what is reserved": {
			"100 tokens/h", 0.5, 50, []Claim{{}, {Priority: Urgent}}, "[3600 5]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quota.MustParse(tt.quotas), Reserve: tt.reserve, Aging: -1}
				g, _ := l.Acquire(t.Context(), Claim{Path: "/other"})
				g.Answered(Answer{Spent: quota.Costs{"tokens": 1}})
				time.Sleep(2 * time.Hour)
				if got := wentAt(t, time.Now(), aside(t, l, tt.drain, tt.claims...)...); got != tt.want {
					t.Errorf("they went at %s s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestAsideUnits: claims of one kind that wait for what others cost in different units do not wait for each
// other.
func TestAsideUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("600 images/m, 600 tokens/m")}
		start := time.Now()
		tokens, images := Claim{Costs: quota.Costs{"tokens": 1}}, Claim{Costs: quota.Costs{"images": 1}}
		_, _ = l.Acquire(t.Context(), tokens)
		time.Sleep(3 * time.Second)
		_, _ = l.Acquire(t.Context(), images)
		_, w, _ := l.Join(t.Context(), images)
		_, v, _ := l.Join(t.Context(), tokens)
		if got, want := wentAt(t, start, w, v), "[8 5]"; got != want {
			t.Errorf("they went at %s s, want %s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // nor do those that say a cost for those that wait for it
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m, 600 images/m")}
		start := time.Now()
		tokens, images := Claim{Costs: quota.Costs{"tokens": 1}}, Claim{Costs: quota.Costs{"images": 1}}
		_, _ = l.Acquire(t.Context(), tokens)
		g, _ := l.Acquire(t.Context(), images)
		time.Sleep(time.Second)
		_, w, _ := l.Join(t.Context(), Claim{})
		_, v, _ := l.Join(t.Context(), images)
		g.Answered(Answer{Spent: quota.Costs{"tokens": 1}})
		if got, want := wentAt(t, start, w, v), "[5 1]"; got != want {
			t.Errorf("they went at %s s, want %s", got, want)
		}
	})
}

// TestAsideNewcomer: a claim that is made when another may come back does not overtake it.
func TestAsideNewcomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m")}
		w := aside(t, l, 0, Claim{})[0]
		stopTimer(l)
		time.Sleep(5 * time.Second)
		if g, v, err := l.Join(t.Context(), Claim{Path: "/new"}); g != nil || v == nil || w.Granted().l != l {
			t.Errorf("the newcomer got %v, %v", g, err)
		}
	})
}

// TestAsideFrozen: while nobody may go, those whose time has come are back in line, and no timer fires again
// and again.
func TestAsideFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m")}
		start := time.Now()
		w := aside(t, l, 0, Claim{})[0]
		thaw := l.Freeze()
		time.Sleep(5*time.Second + time.Microsecond)
		synctest.Wait()
		if l.lock(); w.isAside() || l.line.aside.Next() != 0 {
			l.unlock()
			t.Fatal("after 5 s it still stands aside")
		} else {
			l.unlock()
		}
		thaw()
		if got, want := wentAt(t, start, w), "[5.000001]"; got != want {
			t.Errorf("it went at %s s, want %s", got, want)
		}
	})
}

// TestTimersOfFrozen: while nobody may go, other quotas of a bucket above stop the timer of a line. It is set
// when that is over.
func TestTimersOfFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{Quotas: quota.MustParse("100/s")}
		l := &Limiter{Quotas: quota.MustParse("1/s burst 1"), Parent: root}
		start := time.Now()
		_, _ = l.Acquire(t.Context(), Claim{})
		_, w, _ := l.Join(t.Context(), Claim{MaxWait: 5 * time.Second})
		thaw := root.Freeze()
		if err := root.SetQuotas(quota.MustParse("50/s")); err != nil {
			t.Error(err)
		}
		thaw()
		if got, want := wentAt(t, start, w), "[1]"; got != want {
			t.Errorf("it went at %s s, want %s", got, want)
		}
	})
}

// TestAsideOfAnotherBucket: a claim goes in one bucket, and the first in the line of another is of its kind.
// That one waits for what the claim costs from then on, and so steps aside for those behind it.
func TestAsideOfAnotherBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{Quotas: quotas(t, "600 tokens/m")}
		a, b := &Limiter{Parent: root, Quotas: quotas(t, "1 images/11s")}, &Limiter{Parent: root}
		grant(t, a, Claim{Costs: quota.Costs{"images": 1, "tokens": 1}}).Answered(Answer{})
		start := time.Now()
		_, first := join(t, a, Claim{Path: "/new", Costs: quota.Costs{"images": 1}})
		_, second := join(t, a, Claim{Costs: quota.Costs{"images": 0, "tokens": 1}})
		if first == nil || second == nil {
			t.Fatal("they need not wait")
		}
		time.Sleep(time.Second)
		grant(t, b, Claim{Path: "/new"})
		if _, err := second.Wait(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("the second one went after %v, want 1s: %v", time.Since(start), err)
		}
		if _, err := first.Wait(t.Context()); err != nil || time.Since(start) != 11*time.Second {
			t.Errorf("the first one went after %v, want 11s: %v", time.Since(start), err)
		}
	})
}

// TestAsideForecast: those who may step aside do not count in forecasts, nor for MaxWait.
func TestAsideForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m burst 100")}
		g, _ := l.Acquire(t.Context(), Claim{Path: "/other"})
		g.Answered(Answer{Spent: quota.Costs{"tokens": 10}})
		start := time.Now()
		twenty := Claim{Costs: quota.Costs{"tokens": 20}, MaxWait: 4 * time.Second}
		claims := append([]Claim{twenty}, make([]Claim, 10)...)
		w := aside(t, l, 80, claims...)[0]
		if got, want := l.Forecast(twenty).Wait, 4*time.Second; got != want {
			t.Errorf("forecast %v, want %v", got, want)
		}
		_, v, err := l.Join(t.Context(), twenty)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := wentAt(t, start, w, v), "[2 4]"; got != want {
			t.Errorf("they went at %s s, want %s", got, want)
		}
	})
}

// TestAsideBounds: bounds count nobody who may step aside, nor who goes after one that stands aside.
func TestAsideBounds(t *testing.T) {
	ten := Claim{Costs: quota.Costs{"tokens": 10}}
	synctest.Test(t, func(t *testing.T) { // those who join later do not go before it
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m burst 100")}
		start := time.Now()
		w := aside(t, l, 100, Claim{MaxWait: 6 * time.Second})[0]
		for range 20 {
			_, _, _ = l.Join(t.Context(), ten)
		}
		l.Observe(Claim{Costs: quota.Costs{"tokens": 1}}) // the others are looked at again
		if got, want := wentAt(t, start, w), "[5]"; got != want {
			t.Errorf("it went at %s s, want %s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // nobody knows yet what they cost of a quota that is new
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m burst 100")}
		for range 40 {
			g, _ := l.Observe(Claim{Path: "/new"})
			g.Answered(Answer{Spent: ten.Costs})
		}
		time.Sleep(time.Hour)
		l.Observe(Claim{Costs: quota.Costs{"tokens": 100, "images": 1}})
		start := time.Now()
		for range 10 {
			_, _, _ = l.Join(t.Context(), Claim{Path: "/new"})
		}
		stated := Claim{Costs: quota.Costs{"tokens": 10, "images": 1}, MaxWait: 12 * time.Second}
		_, w, err := l.Join(t.Context(), stated)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.SetQuotas(quota.MustParse("300 tokens/m burst 100, 60 images/m")); err != nil {
			t.Fatal(err)
		}
		if got, want := wentAt(t, start, w), "[4]"; got != want {
			t.Errorf("it went at %s s, want %s", got, want)
		}
	})
}

// TestAsideQueue: those who stand aside count for MaxQueue and for the Queue of a quota, and the last of them
// makes room for an urgent one.
func TestAsideQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, l := range []*Limiter{
			{Quotas: quota.MustParse("60/m queue 3, 600 tokens/m")},
			{Quotas: quota.MustParse("600 tokens/m"), MaxQueue: 3},
		} {
			waiting := aside(t, l, 0, Claim{}, Claim{Flow: "a"}, Claim{Priority: Background})
			if _, _, err := l.Join(t.Context(), Claim{Path: "/new", Priority: Background}); !errors.Is(err, ErrQueueFull) {
				t.Errorf("%v: the next one got %v", l.Quotas, err)
			}
			if _, w, err := l.Join(t.Context(), Claim{Path: "/new", Priority: Urgent}); w == nil {
				t.Errorf("%v: an urgent one got %v", l.Quotas, err)
			}
			if out := waiting[2].entries == nil; out != (l.MaxQueue > 0) || waiting[0].entries == nil || waiting[1].entries == nil {
				t.Errorf("%v: the last was put out: %v", l.Quotas, out)
			}
		}
	})
}

// TestAsideLeave: if one leaves that came back and is not the first in line, the next of its kind comes back at
// once.
func TestAsideLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("60 tokens/m burst 60")}
		time.Sleep(time.Minute)
		old := l.place()
		ws := aside(t, l, 60, Claim{}, Claim{})
		if _, w, err := l.Join(t.Context(), Claim{After: placed(old), Costs: quota.Costs{"tokens": 60}}); w == nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		before := [...]bool{ws[0].isAside(), ws[1].isAside()}
		_ = ws[0].drop(nil, func() error { return nil })
		if after := ws[1].isAside(); before != [...]bool{false, true} || after {
			t.Errorf("aside: %v, then %v; want [false true], false", before, after)
		}
	})
}

// TestAsideBehind: one that stands aside and was refused before loses its place as those in line do.
func TestAsideBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("600 tokens/m")}
		old := l.place()
		old.past = new(adaptive.Past)
		w := aside(t, l, 0, Claim{After: placed(old)})[0]
		l.Pause(10 * time.Second)
		l.alter(l.letOthersAhead)
		if got, want := w.rank, l.hold.Until(); got != want || w.entries == nil {
			t.Errorf("its rank is %v, want %v", got, want)
		}
	})
}

// place is that of a claim which is made now.
func (l *Limiter) place() Place {
	g, _ := l.Observe(Claim{})
	g.Cancel()
	now := l.lock()
	defer l.unlock()
	return Place{since: now, number: 1}
}
