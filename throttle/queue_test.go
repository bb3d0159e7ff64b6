package throttle

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

func TestLimiterMaxQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, MaxQueue: 1}
		c := newCrowd()
		for _, name := range []string{"a", "b", "c"} {
			c.wait(t.Context(), &l, name, 1)
		}
		c.check(t, "a 0s", "c refused 0s", "b 1s")
		if !errors.Is(c.errs[0], ErrQueueFull) {
			t.Errorf("got %v, want ErrQueueFull", c.errs[0])
		}
	})
}

func TestMaxQueueDisplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "1/s even"), MaxQueue: 3, Aging: 10 * time.Second}
		c := newCrowd()
		ask := func(name string, p Priority) { c.claim(t.Context(), &l, name, Claim{Priority: p}, 0) }
		ask("first", Normal)
		ask("b1", Background)
		ask("n1", Normal)
		ask("b2", Background)
		time.Sleep(100 * time.Millisecond)
		ask("b3", Background) // is the last itself
		ask("n2", Normal)     // b2 makes room
		ask("u1", Urgent)     // b1
		ask("u2", Urgent)     // n2, the last of the least
		ask("n3", Normal)     // is the last itself
		ask("u3", Urgent)     // n1
		ask("u4", Urgent)     // nobody is below it
		c.check(t, "first 0s", "b1 refused 100ms", "b2 refused 100ms", "b3 refused 100ms", "n1 refused 100ms",
			"n2 refused 100ms", "n3 refused 100ms", "u4 refused 100ms", "u1 1s", "u2 2s", "u3 3s")
		for _, err := range c.errs {
			if !errors.Is(err, ErrQueueFull) {
				t.Errorf("got %v, want ErrQueueFull", err)
			}
		}
	})
}

// Who waits for a slow start alone has room in line. So the error of who has none says what it would wait for
// beside it.
func TestMaxQueueInASlowStart(t *testing.T) {
	for text, want := range map[string]Error{
		"3/s":         {Cause: CausePace, Quota: "3/s", Wait: time.Second},
		"2 in flight": {Cause: CauseInFlight, Quota: "2 in flight"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, text), MaxQueue: 2, SlowStart: true}
			g := grant(t, l, Claim{})
			_, a := join(t, l, Claim{})
			_, b := join(t, l, Claim{})
			_, _, err := l.Join(t.Context(), Claim{})
			var e *Error
			if !errors.As(err, &e) || !errors.Is(e, ErrQueueFull) || e.Cause != want.Cause || e.Quota != want.Quota || e.Wait != want.Wait {
				t.Errorf("got %v, want ErrQueueFull: %s %q in %v", err, want.Cause, want.Quota, want.Wait)
			}
			a.Leave()
			b.Leave()
			g.Done()
		})
	}
}

// Who has waited for so long that it would go first is not displaced.
func TestMaxQueueDoesNotDisplaceTheAged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "1/m even"), MaxQueue: 1, Aging: time.Second}
		grant(t, &l, Claim{})
		_, n := join(t, &l, Claim{})
		time.Sleep(time.Second)
		if _, _, err := l.Join(t.Context(), Claim{Priority: Urgent}); !errors.Is(err, ErrQueueFull) || gone(n) {
			t.Errorf("got %v, want ErrQueueFull", err)
		}
		n.Leave()
	})
}

func TestQueueOfAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "5/s even queue 3, 10 tokens/s burst 10 queue 10")}
		c := newCrowd()
		for i, claim := range []Claim{
			{}, {}, {}, tokens(5), // one goes, three wait
			{}, // full
		} {
			c.claim(t.Context(), &l, fmt.Sprint(i), claim, 0)
		}
		c.check(t, "0 0s", "4 refused 0s", "1 200ms", "2 400ms", "3 600ms")
		var e *Error
		if err := c.errs[0]; !errors.Is(err, ErrQueueFull) || !errors.As(err, &e) || e.Quota != "5/s even queue 3" {
			t.Errorf("got %+v", err)
		}
	})
}

func TestQueueCountsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10 tokens/s burst 10 queue 8")}
		c := newCrowd()
		for i, n := range []int{10, 7, 6, 1, 0} { // 7 wait, which is less than 8: 6 more may
			c.claim(t.Context(), &l, fmt.Sprint(i), tokens(n), 0)
		}
		c.check(t, "0 0s", "3 refused 0s", "1 700ms", "2 1.3s", "4 1.3s")
	})
}

// Who is refused since others go before it makes room in the line above for the next one, of a bucket below.
func TestMaxQueueMakesRoomAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := new(Limiter)
		l := &Limiter{Parent: root, MaxQueue: 2}
		above := func(w *Waiter) bool {
			root.lock()
			defer root.unlock()
			return w.top() == root
		}
		root.Pause(time.Second)
		_, first := join(t, l, Claim{Priority: Urgent})
		_, last := join(t, l, Claim{Priority: Background})
		_, next := join(t, &Limiter{Parent: l}, Claim{Priority: Background})
		if above(next) {
			t.Error("stands above before its turn")
		}
		_, w := join(t, l, Claim{Priority: Urgent})
		if gone(first) || !gone(last) || !above(next) || above(w) {
			t.Errorf("gone %v, %v; above %v, %v, want the second gone, and the third in its place", gone(first), gone(last), above(next), above(w))
		}
		time.Sleep(time.Second)
	})
}

// TestMaxQueueUrgentThatGoesDisplacesNobody: an urgent claim that goes at once takes nobody's place.
func TestMaxQueueUrgentThatGoesDisplacesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5, MaxQueue: 1}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		_, w := join(t, l, Claim{})
		if _, u := join(t, l, Claim{Priority: Urgent}); u != nil && !gone(u) {
			t.Error("urgent waits")
		}
		if gone(w) {
			_, err := w.Wait(t.Context())
			t.Errorf("the urgent one needs no place in line: %v", err)
		}
		w.Leave()
	})
}

// TestErrorNamesTheDepthOfAFullQueue: the text of ErrQueueFull has the depth of the queue that is full.
func TestErrorNamesTheDepthOfAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even queue 1")}
		grant(t, l, Claim{}).Answered(Answer{})
		_, w := join(t, l, Claim{})
		_, _, err := l.Join(t.Context(), Claim{})
		if !errors.Is(err, ErrQueueFull) || strings.Contains(err.Error(), "(0)") {
			t.Error(err)
		}
		w.Leave()
	})
}

// TestMaxQueueFindsItsOwnLast: one of lower priority makes room, also where a child's waiter stands behind it.
func TestMaxQueueFindsItsOwnLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even"), MaxQueue: 2}
		child := &Limiter{Parent: host}
		grant(t, host, Claim{}).Answered(Answer{})
		_, a := join(t, host, Claim{Priority: Background})
		_, b := join(t, child, Claim{Priority: Background})
		_, u, err := host.Join(t.Context(), Claim{Priority: Urgent})
		if err != nil {
			t.Fatal(err)
		}
		a.Leave()
		b.Leave()
		u.Leave()
	})
}

// TestMaxQueueIsOfThoseWhoAskedTheBucket: a child's waiter takes no place of MaxQueue.
func TestMaxQueueIsOfThoseWhoAskedTheBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even"), MaxQueue: 1}
		child := &Limiter{Parent: host}
		grant(t, host, Claim{}).Answered(Answer{})
		_, b := join(t, child, Claim{})
		_, u, err := host.Join(t.Context(), Claim{})
		if err != nil {
			t.Error(err)
		} else {
			u.Leave()
		}
		b.Leave()
	})
}

// TestQueueFullOfRefused: requests that the server refused find room in line, though MaxQueue claims wait, and
// none of these is refused; but a new claim is, until there is room.
func TestQueueFullOfRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "3 in flight"), MaxQueue: 1}
		var under []*Grant
		for range 3 {
			under = append(under, grant(t, l, Claim{}))
		}
		var wg sync.WaitGroup
		wait := func(c Claim) {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), c)
				if err != nil {
					t.Error(err)
					return
				}
				g.Done()
			})
			synctest.Wait()
		}
		wait(Claim{})
		for _, g := range under {
			g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Second}})
			wait(Claim{After: g})
		}
		if got := l.State().Waiting; got != 4 {
			t.Errorf("%d wait, want 4", got)
		}
		if _, err := l.Acquire(t.Context(), Claim{}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("a new claim got %v, want ErrQueueFull", err)
		}
		wg.Wait()
	})
}
