package throttle

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestARefusalOfOneClaimAlone: who is refused when it goes ahead of the others lets another one go ahead; and
// if the others are served, its refusals hold nobody: first if the next one is served, and then in any case.
func TestARefusalOfOneClaimAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		const ms = time.Millisecond
		refuse := func(g *Grant, held, alone time.Duration) {
			t.Helper()
			o := g.Answered(Answer{Refused: true})
			if want := (Outcome{Held: held, Refused: true, Vain: held == 200*ms || alone == 800*ms, Backoff: alone}); o != want { // these went ahead: nobody was served since the one before
				t.Fatalf("%+v, want %+v", o, want)
			}
		}
		again := func(after *Grant) *Waiter {
			t.Helper()
			_, w := join(t, l, Claim{After: after})
			return w
		}
		granted := func(w *Waiter) *Grant {
			t.Helper()
			g, err := w.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		bad := grant(t, l, Claim{})
		refuse(bad, 100*ms, 0)
		serveTen := func() {
			t.Helper()
			for range 10 {
				g, err := l.Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(Answer{})
			}
		}
		for round := range 2 {
			w, other := again(bad), again(nil)
			bad = granted(w) // it goes ahead
			if round == 0 {
				refuse(bad, 200*ms, 0)
			} else {
				refuse(bad, 0, 800*ms) // the next one shows whether others are refused as well
			}
			w = again(bad)
			granted(other).Answered(Answer{}) // the other one goes ahead now, and many follow
			serveTen()
			bad = granted(w)
			if round == 0 {
				refuse(bad, 100*ms, 0)
			}
		}
		refuse(bad, 0, 1600*ms)
		if st := l.State(); st.Held != 0 || st.Next.Cause == CauseHold {
			t.Errorf("held before the next one was refused: %+v", st)
		}
		for i := range 2 {
			serveTen()
			g, err := l.Acquire(t.Context(), Claim{After: bad})
			if err != nil {
				t.Fatal(err)
			}
			bad = g
			refuse(bad, 0, time.Duration(3200<<i)*ms)
		}
		if st := l.State(); st.Held != 0 || st.Next.Cause == CauseHold {
			t.Errorf("held: %+v", st)
		}
	})
}

// TestRefusalsOfOneKindAlone: requests of one kind that are refused, one after the other, when they go ahead of
// the others and although these are served, hold nobody any more; until one of the kind is served, or for ten
// minutes.
func TestRefusalsOfOneKindAlone(t *testing.T) {
	const ms = time.Millisecond
	other, bad := Claim{Verb: "GET", Path: "/other"}, Claim{Verb: "GET", Path: "/bad"}
	for name, test := range map[string]struct {
		then func(do func(c Claim, a Answer) Outcome) // since it was found that they hold nobody
		want Outcome
	}{
		"nothing": {func(func(Claim, Answer) Outcome) {}, Outcome{Refused: true, Backoff: 100 * ms}},
		"many others are served": {func(do func(Claim, Answer) Outcome) {
			for range 50 {
				do(other, Answer{})
			}
		}, Outcome{Refused: true, Backoff: 100 * ms}},
		"one of the kind is served": {func(do func(Claim, Answer) Outcome) { do(bad, Answer{}) }, Outcome{Refused: true, Held: 100 * ms}},
		"many others are served, and one of the kind": {func(do func(Claim, Answer) Outcome) {
			for range 50 {
				do(other, Answer{})
			}
			do(bad, Answer{})
		}, Outcome{Refused: true, Held: 100 * ms}},
		"ten minutes pass": {func(func(Claim, Answer) Outcome) { time.Sleep(10 * time.Minute) }, Outcome{Refused: true, Held: 100 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{SlowStart: true, Rand: noJitter}
				do := func(c Claim, a Answer) Outcome {
					t.Helper()
					g, err := l.Acquire(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					return g.Answered(a)
				}
				refused := Answer{Refused: true}
				for _, token := range []time.Duration{100 * ms, 100 * ms, 14019479} { // no pace is known, or none that has risen; then one token takes as long
					for i := range 2 {
						want := Outcome{Refused: true, Held: token}
						if i > 0 {
							want.Held = 200 * ms
						}
						if got := do(bad, refused); got != want {
							t.Fatalf("%+v, want %+v", got, want)
						}
					}
					for range 20 {
						do(other, Answer{})
					}
				}
				if got, want := do(bad, refused), (Outcome{Refused: true, Backoff: 100 * ms}); got != want {
					t.Fatalf("%+v, want %+v", got, want)
				}
				test.then(do)
				if got := do(bad, refused); got != test.want {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			})
		})
	}
}

// TestAnotherKindGoesAheadAfterTwoRefusals: of a line of claims of which the server refuses two, one of another
// kind goes ahead after the second hold; the others keep their order, and those that were refused go behind
// those that came before the hold ended.
func TestAnotherKindGoesAheadAfterTwoRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		start := time.Now()
		var went []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i, path := range []string{"/bad", "/bad", "/bad", "/good", "/bad", "/good"} {
			wg.Go(func() {
				var after *Grant
				for {
					g, err := l.Acquire(t.Context(), Claim{Verb: "GET", Path: path, After: after})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					went = append(went, fmt.Sprint(time.Since(start), " ", i))
					refused := len(went) < 3 && path == "/bad"
					mu.Unlock()
					time.Sleep(time.Millisecond)
					if g.Answered(Answer{Refused: refused}); !refused {
						return
					}
					after = g
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		want := []string{"0s 0", "101ms 0", "302ms 3", "303ms 1", "303ms 2", "304ms 0", "304ms 4", "304ms 5"}
		slices.Sort(went) // those of one instant are noted by chance
		if !slices.Equal(went, want) {
			t.Errorf("went %q, want %q", went, want)
		}
	})
}

// TestRefusedClaimsLookInTurns: who was refused when it went ahead goes behind the others that were refused, so
// that no claim is refused again and again while others wait that were refused once: a caller is told of a
// refusal after a number of them.
func TestRefusedClaimsLookInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		for range 3 { // so that three may go at once
			grant(t, l, Claim{}).Answered(Answer{})
		}
		var grants []*Grant
		for range 3 {
			grants = append(grants, grant(t, l, Claim{}))
		}
		var mu sync.Mutex // protects looked
		var looked []int
		var wait sync.WaitGroup
		for i, g := range grants {
			g.Answered(Answer{Refused: true})
			wait.Go(func() {
				for range 3 {
					var err error
					if g, err = l.Acquire(t.Context(), Claim{After: g}); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					looked = append(looked, i)
					mu.Unlock()
					g.Answered(Answer{Refused: true})
				}
			})
		}
		wait.Wait()
		if want := []int{0, 1, 2, 0, 1, 2, 0, 1, 2}; !slices.Equal(looked, want) {
			t.Errorf("%v looked, want %v", looked, want)
		}
	})
}

// TestARefusedClaimLetsALinePassOnce: a server refuses two requests of five, whatever they are, and more claims
// wait than go between two rows of refusals. After each row, those that were refused before go behind the
// others. A claim that did so once keeps its place until it has gone: else it would never go again while others
// come.
func TestARefusedClaimLetsALinePassOnce(t *testing.T) {
	const callers, each = 20, 20
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		var mu sync.Mutex // protects the numbers
		var answers, made int
		overtaken := map[int]int{} // of the claims that wait, and were made before one that went
		most := 0
		var wait sync.WaitGroup
		for range callers {
			wait.Go(func() {
				for range each {
					var c Claim
					mu.Lock()
					made++
					own := made
					overtaken[own] = 0
					mu.Unlock()
					for refused := true; refused; {
						g, err := l.Acquire(t.Context(), c)
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(time.Millisecond)
						mu.Lock()
						refused = answers%5 < 2
						answers++
						mu.Unlock()
						time.Sleep(g.Answered(Answer{Refused: refused}).Backoff)
						c.After = g
					}
					mu.Lock()
					delete(overtaken, own)
					for other := range overtaken {
						if other < own {
							overtaken[other]++
							most = max(most, overtaken[other])
						}
					}
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		if most > 4*callers { // 63 at most in 2100 runs, and more than 300 if a claim goes behind others each time
			t.Errorf("%d requests that were made after one were served before it, want at most %d: four lines", most, 4*callers)
		}
	})
}

// TestARefusedClaimFallsBehindThoseOfOneRank: where claims that went first again were refused again, a claim
// that is refused lets those that share the rank of the eighth go before it, though it stood before them.
// Claims that came at one instant share one, and so do those that have let others pass.
func TestARefusedClaimFallsBehindThoseOfOneRank(t *testing.T) {
	for _, priority := range byIndex {
		t.Run(priority.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{SlowStart: true, Rand: noJitter, Quotas: quotas(t, "1 in flight")}
				othersFirst(t, l)
				refused := grant(t, l, Claim{Priority: priority})
				var line []*Waiter
				for range 10 {
					_, w := join(t, l, Claim{Priority: priority})
					line = append(line, w)
				}
				refused.Answered(Answer{Refused: true})
				_, again := join(t, l, Claim{After: refused, Priority: priority})
				var went []int
				var all sync.WaitGroup
				for i, w := range append(line, again) {
					all.Go(func() {
						g, err := w.Wait(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						went = append(went, i) // one is in flight
						g.Answered(Answer{})
					})
				}
				all.Wait()
				if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(went, want) {
					t.Errorf("the claims went as %v, want %v: the last is the one that was refused", went, want)
				}
			})
		})
	}
}

// TestARefusedClaimFallsBehindNoneThatComeLater: a claim that is refused goes before the claims of its priority
// that are made after the hold, whatever waits in the line: be it that claims that went first again were
// refused again, or that this one was refused twice in a row.
func TestARefusedClaimFallsBehindNoneThatComeLater(t *testing.T) {
	for name, aging := range map[string]time.Duration{"aging": 0, "no aging": -1} {
		for _, inARow := range []bool{false, true} {
			for _, waits := range byIndex {
				for _, priority := range byIndex {
					if priority == Urgent && waits != Urgent {
						continue
					}
					t.Run(fmt.Sprintf("%s/in a row %v/%v behind %v", name, inARow, priority, waits), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { testFallsBehind(t, aging, inARow, waits, priority) })
					})
				}
			}
		}
	}
}

func testFallsBehind(t *testing.T, aging time.Duration, inARow bool, waits, priority Priority) {
	t.Helper()
	l := &Limiter{SlowStart: true, Rand: noJitter, Aging: aging, Quotas: quotas(t, "1 in flight")}
	var all sync.WaitGroup
	went := func(w *Waiter, then func(*Grant)) {
		all.Go(func() {
			if g, err := w.Wait(t.Context()); err != nil {
				t.Error(err)
			} else {
				then(g)
				g.Answered(Answer{})
			}
		})
	}
	if !inARow {
		othersFirst(t, l)
	}
	refused := grant(t, l, Claim{Priority: priority})
	for range 10 {
		_, w := join(t, l, Claim{Priority: waits})
		went(w, func(*Grant) { time.Sleep(time.Second) })
	}
	o := refused.Answered(Answer{Refused: true})
	_, again := join(t, l, Claim{After: refused, Priority: priority})
	if inARow {
		g, err := again.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o = g.Answered(Answer{Refused: true})
		_, again = join(t, l, Claim{After: g, Priority: priority})
	}
	time.Sleep(o.Held + time.Millisecond)
	passed := 0
	for range 20 {
		_, w := join(t, l, Claim{Priority: priority})
		went(w, func(*Grant) { passed++ }) // one is in flight
	}
	g, err := again.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if passed > 0 {
		t.Errorf("%d claims went before one that was refused, and were made after the hold, want none", passed)
	}
	g.Answered(Answer{})
	all.Wait()
}

// othersFirst has claims of l that go first again be refused again, and one be served that came later.
func othersFirst(t *testing.T, l *Limiter) {
	t.Helper()
	bad := grant(t, l, Claim{})
	for range 2 {
		bad.Answered(Answer{Refused: true})
		g, err := l.Acquire(t.Context(), Claim{After: bad})
		if err != nil {
			t.Fatal(err)
		}
		bad = g
	}
	bad.Answered(Answer{Refused: true})
	first, err := l.Acquire(t.Context(), Claim{})
	if err != nil {
		t.Fatal(err)
	}
	first.Answered(Answer{})
}

// TestUnheldBackoff: where nothing that a server says holds the bucket, a refusal that was told by something in
// front of the server, and a failure that is taken for a refusal, have their claims wait by themselves.
func TestUnheldBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter, MaxHold: -1}
		grant(t, l, Claim{}).Answered(says(5, time.Hour))
		first := grant(t, l, Claim{})
		o := first.Answered(Answer{Refused: true})
		again := grant(t, l, Claim{After: first}).Answered(Answer{Refused: true})
		if want := (Outcome{Refused: true, Backoff: 100 * time.Millisecond}); o != want || again.Backoff != 2*want.Backoff {
			t.Errorf("a stray: %+v and %+v, want %+v, and then twice as long", o, again, want)
		}

		l, o = &Limiter{Rand: noJitter, MaxHold: -1}, Outcome{}
		for range 20 {
			grant(t, l, Claim{}).Answered(Answer{})
			if o = grant(t, l, Claim{}).Answered(Answer{MayRefuse: true}); o.Refused {
				break
			}
		}
		if want := (Outcome{Refused: true, Backoff: 100 * time.Millisecond}); o != want {
			t.Errorf("a failure: %+v, want %+v", o, want)
		}
	})
}
