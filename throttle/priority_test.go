package throttle

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestPriorityOrder(t *testing.T) {
	for aging, want := range map[time.Duration][]string{
		// Of those who ask within Aging of each other the most urgent goes first.
		0:  {"first 0s", "u1 1s", "u2 2s", "n1 3s", "n2 4s", "b1 5s", "b2 6s"},
		-1: {"first 0s", "u1 1s", "u2 2s", "n1 3s", "n2 4s", "b1 5s", "b2 6s"},
		// They ask 1 ms after each other, b1 at 0, n1 at 1 ms, u1 at 2 ms, b2 at 3 ms, n2 at
		// 4 ms, u2 at 5 ms: n1 is a step ahead of b1, and counts as of −1 ms with 2 ms a step,
		// u1 as of −2 ms, n2 as of 2 ms, u2 as of 1 ms.
		2 * time.Millisecond: {"first 0s", "u1 1s", "n1 2s", "b1 3s", "u2 4s", "n2 5s", "b2 6s"},
		// With hardly any Aging, first in, first out.
		time.Microsecond: {"first 0s", "b1 1s", "n1 2s", "u1 3s", "b2 4s", "n2 5s", "u2 6s"},
	} {
		t.Run(aging.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := Limiter{Quotas: quotas(t, "1/s even"), Aging: aging}
				c := newCrowd()
				c.claim(t.Context(), &l, "first", Claim{}, 0)
				for _, w := range []struct {
					name     string
					priority Priority
				}{{"b1", -5}, {"n1", Normal}, {"u1", Urgent}, {"b2", Background}, {"n2", Normal}, {"u2", 77}} {
					c.claim(t.Context(), &l, w.name, Claim{Priority: w.priority}, 0)
					time.Sleep(time.Millisecond)
				}
				c.check(t, want...)
			})
		})
	}
}

// A Priority is a word as text, in JSON, and as a flag, and can be read again.
func TestPriorityAsText(t *testing.T) {
	for p, want := range map[Priority]string{0: "", Background: "background", Normal: "normal", Urgent: "urgent"} {
		type config struct {
			P Priority `json:"p"`
			M map[Priority]int
		}
		text, err := json.Marshal(config{p, map[Priority]int{p: 1}})
		if err != nil || string(text) != fmt.Sprintf(`{"p":%q,"M":{%[1]q:1}}`, want) || fmt.Sprint(p) != want {
			t.Errorf("%d: got %s, %v, and printed %q, want %q", int(p), text, err, fmt.Sprint(p), want)
		}
		got := config{P: 77}
		if err := json.Unmarshal(text, &got); err != nil || got.P != p || got.M[p] != 1 {
			t.Errorf("%s: got %+v, %v, want %d", text, got, err, int(p))
		}
		f := flag.NewFlagSet("", flag.PanicOnError)
		f.TextVar(&got.P, "priority", Priority(0), "")
		if err := f.Set("priority", want); err != nil || got.P != p {
			t.Errorf("flag %q: got %v, %v", want, got.P, err)
		}
	}
	// Other values count as the outermost ones, and say so.
	if got := fmt.Sprint(Priority(-5), Priority(77)); got != "background urgent" {
		t.Errorf("−5 and 77 are %s", got)
	}
	p := Urgent
	for text, want := range map[string]string{
		"Normal": `throttle: priority "Normal", want one of ["background" "normal" "urgent"]`,
		"1":      `throttle: priority "1", want one of ["background" "normal" "urgent"]`,
	} {
		if err := p.UnmarshalText([]byte(text)); err == nil || err.Error() != want || p != Urgent {
			t.Errorf("%q: got %v, and %v, want %s", text, err, p, want)
		}
	}
}

// TestPriorityAgingBound has claims come twice as fast as the quota, for ever. Who asked
// at t is not overtaken by one that asked after t + Aging for each step of priority
// between them. So it waits for no longer than those take that are in line by then: with
// a of them a second and a quota of q a second, at most
//
//	the wait when it asked + steps·Aging·a/q − steps·Aging, and the one token that is under way
//
// which is what is found here, exactly.
func TestPriorityAgingBound(t *testing.T) {
	const every = 100 * time.Millisecond // one goes
	for _, test := range []struct {
		priority, others Priority
		steps            int
	}{
		{Normal, Urgent, 1},
		{Background, Normal, 1},
		{Background, Urgent, 2},
	} {
		t.Run(fmt.Sprint(test.priority, " behind ", test.others), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const aging = 5 * time.Second
				l := Limiter{Quotas: quota.Quotas{{N: 10, Burst: 1}}, Aging: aging}
				grant(t, &l, Claim{})
				start := time.Now()
				_, w := join(t, &l, Claim{Priority: test.priority})
				var crowd []*Waiter
				for !gone(w) {
					_, u := join(t, &l, Claim{Priority: test.others}) // two for each that goes
					crowd = append(crowd, u)
					time.Sleep(every / 2)
					synctest.Wait()
				}
				// Those that asked at 0, 50 ms, … and not after steps·Aging go before it:
				// steps·Aging/50 ms of them, and the one at its end, which asked later, does not.
				before := int(time.Duration(test.steps) * aging / (every / 2))
				went := 0
				for _, u := range crowd {
					if gone(u) {
						went++
					}
				}
				if took, want := time.Since(start), time.Duration(before+1)*every; went != before || took != want {
					t.Errorf("waited %v behind %d, want %v behind %d", took, went, want, before)
				}
				for _, u := range crowd {
					u.Leave()
				}
			})
		})
	}
}

func TestPriorityStrictStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, aging := range []time.Duration{-1, 1<<63 - 1, monotime.Longest, monotime.Longest + 1} {
			l := Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}, Aging: aging}
			grant(t, &l, Claim{})
			_, b := join(t, &l, Claim{Priority: Background})
			_, n := join(t, &l, Claim{})
			for range 1000 {
				time.Sleep(59 * time.Second)
				_, u := join(t, &l, Claim{Priority: Urgent})
				time.Sleep(time.Second)
				synctest.Wait()
				if !gone(u) || gone(n) || gone(b) {
					t.Fatalf("Aging %v: urgent %v, normal %v, background %v; want the urgent alone", aging, gone(u), gone(n), gone(b))
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if !gone(n) || gone(b) {
				t.Errorf("Aging %v: normal %v, background %v; want the normal alone", aging, gone(n), gone(b))
			}
			b.Leave()
		}
	})
}

// A heavy claim is not overtaken by light ones of its class or below, whatever is there for
// them; those above overtake it for no longer than Aging.
func TestPriorityHeavyIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10/s burst 10"), Aging: time.Second}
		grant(t, &l, Claim{N: 10})
		start := time.Now()
		_, heavy := join(t, &l, Claim{N: 10})
		light := 0
		var ws []*Waiter
		for i := range 100 {
			_, w := join(t, &l, Claim{Priority: byIndex[i%2]})
			ws = append(ws, w)
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(start); !gone(heavy) || took != time.Second {
			t.Errorf("the heavy one went: %v, after %v, want 1s", gone(heavy), took)
		}
		for _, w := range ws {
			if gone(w) {
				light++
			}
			w.Leave()
		}
		if light > 0 {
			t.Errorf("%d light ones went before it", light)
		}
	})
}

func TestPriorityAmongChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even")}
		a, b := &Limiter{Parent: host}, &Limiter{Parent: host, Quotas: quotas(t, "1/2500ms even")}
		c := newCrowd()
		c.claim(t.Context(), b, "b0", Claim{}, 0)
		c.claim(t.Context(), a, "a1", Claim{Priority: Background}, 0)
		c.claim(t.Context(), b, "b1", Claim{Priority: Background}, 0)
		c.claim(t.Context(), a, "a2", Claim{}, 0)
		c.claim(t.Context(), b, "b2", Claim{Priority: Urgent}, 0) // not before 2.5 s
		c.claim(t.Context(), host, "h1", Claim{}, 0)
		c.claim(t.Context(), host, "h2", Claim{Priority: Urgent}, 0)
		c.check(t, "b0 0s", "h2 1s", "a2 2s", "b2 3s", "h1 4s", "a1 5s", "b1 6s")
	})
}

func TestPriorityOfOneThatAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "1/s even"), Aging: 2500 * time.Millisecond}
		g := grant(t, &l, Claim{})
		g.Answered(Answer{})
		c := newCrowd()
		c.claim(t.Context(), &l, "n1", Claim{}, 0)
		c.claim(t.Context(), &l, "again", Claim{Priority: Background, After: g}, 0) // as of 0, and a step behind
		time.Sleep(2200 * time.Millisecond)
		c.claim(t.Context(), &l, "n2", Claim{}, 0)
		time.Sleep(500 * time.Millisecond)
		c.claim(t.Context(), &l, "n3", Claim{}, 0)
		c.check(t, "n1 1s", "again 2s", "n2 3s", "n3 4s")
	})
}

// TestPriorityBetterOneBelowIsNotPassedAbove: who stands above makes way for a better one that joins below.
func TestPriorityBetterOneBelowIsNotPassedAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/s even")}
		child := &Limiter{Parent: host, Quotas: quotas(t, "1/s burst 4")}
		grant(t, child, Claim{}).Answered(Answer{})
		host.SetQuotas(quotas(t, "2/s burst 4"))
		c := newCrowd()
		// Of the child, 3 are left; the host has nothing for half a second.
		c.claim(t.Context(), child, "light", Claim{}, 0)
		c.claim(t.Context(), child, "heavy", Claim{N: 4, Priority: Urgent}, 0) // 1 s
		c.check(t, "heavy 2s", "light 3s")
	})
}

// TestAgingMayDifferInATree: equal priorities go in order, whatever their buckets' Aging.
func TestAgingMayDifferInATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even")}
		a, b := &Limiter{Parent: host, Aging: time.Second}, &Limiter{Parent: host, Aging: time.Minute}
		grant(t, host, Claim{}).Answered(Answer{})
		c := newCrowd()
		c.claim(t.Context(), a, "first", Claim{}, 0)
		c.claim(t.Context(), b, "second", Claim{}, 0)
		c.check(t, "first 1s", "second 2s")
	})
}
