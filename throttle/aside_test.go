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
)

// TestAside makes random histories in a tree of buckets: claims of kinds whose costs nobody knows yet, with flows, priorities and
// bounds, canceled, and quotas that are changed. After each step the first of each kind that stands aside waits for others of its
// kind, and the counts of the lines are right. In the end nobody waits.
func TestAside(t *testing.T) {
	for seed := range 30 * *times {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { asideHistory(t, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func asideHistory(t *testing.T, r *rand.Rand) {
	t.Helper()
	root := &Limiter{Name: "root", MaxStandstill: NoLimit}
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
	end := func(i int) {
		g := grants[i]
		grants[i] = grants[len(grants)-1]
		grants = grants[:len(grants)-1]
		switch r.IntN(4) {
		case 0:
			g.Cancel()
		case 1:
			g.Done(Answer{})
		default:
			g.Done(Answer{Spent: quota.Costs{"tokens": 1 + r.IntN(30), "images": r.IntN(2)}})
		}
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
				c.Costs = quota.Costs{"tokens": r.IntN(40)}
			}
			if r.IntN(5) == 0 {
				c.MaxWait = time.Duration(1+r.IntN(20)) * time.Second
			}
			claim(l, c)
		case k < 15 && len(grants) > 0:
			end(r.IntN(len(grants)))
		case k == 15:
			if err := l.SetQuotas(quota.MustParse(texts[r.IntN(len(texts))])); err != nil {
				t.Fatal(err)
			}
		case k == 16:
			l.Forecast(Claim{Path: "/a"})
		default:
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
		synctest.Wait()
		checkLines(t, all)
	}
	for i := 0; i < 100_000 && root.line.waiting > 0; i++ { // long after, all have gone, if requests end
		for len(grants) > 0 {
			end(0)
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	checkLines(t, all)
	if n := root.line.waiting; n != 0 {
		t.Errorf("%d wait, though nothing is under way", n)
	}
	close(stop)
	claims.Wait()
	checkLines(t, all)
}

// checkLines checks what lines promise of those who stand aside.
func checkLines(t *testing.T, all []*Limiter) {
	t.Helper()
	defer all[0].unlock(all[0].lock())
	now := all[0].now()
	for _, l := range all {
		direct, claims := 0, 0
		back := map[any]bool{} // kinds of which one stands in line
		for w := range l.line.InOrder() {
			if w.l == l {
				direct++
				back[w.Kind] = true
			}
		}
		for i := range l.line.sum {
			claims += l.line.sum[i].Claims
		}
		if aside := l.line.aside.Len(); claims != direct || l.line.direct != direct+aside || l.line.waiting < l.line.direct {
			t.Fatalf("%s: %d and %d aside of %d, who ask for %d; %d wait here and below", l.Name, direct, aside, l.line.direct, claims, l.line.waiting)
		}
		first := map[any]*waiter{} // of each kind that stands aside
		for w := range l.line.aside.After(func(func(*waiter) bool) {}) {
			if o := first[w.Kind]; o == nil || w.Before(o) {
				first[w.Kind] = w
			}
		}
		for k, w := range first {
			if w.asideUntil() <= now && !back[k] {
				t.Fatalf("%s: one stands aside that need not wait for others of its kind", l.Name)
			}
		}
	}
}
