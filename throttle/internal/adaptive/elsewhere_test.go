package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// twoLimits is a server with limits of n each second and of 100 each ten minutes; each window begins with its
// first request. It states no reset.
type twoLimits struct {
	n           int
	charges     bool // the short limit counts requests that the long one refuses
	short, long int  // used
	began       [2]time.Duration
}

// serve serves or refuses a request that comes so long after the start. It returns what it says of each limit.
func (l *twoLimits) serve(at time.Duration) (short, long quota.Statement, ok bool) {
	if at >= l.began[0]+time.Second {
		l.short, l.began[0] = 0, at
	}
	if at >= l.began[1]+10*time.Minute {
		l.long, l.began[1] = 0, at
	}
	room := l.short < l.n
	if ok = room && l.long < 100; ok {
		l.long++
	}
	if ok || room && l.charges {
		l.short++
	}
	return quota.Statement{Name: "short", Limit: int64(l.n), Remaining: int64(l.n - l.short)}, quota.Statement{Name: "long", Limit: 100, Remaining: int64(100 - l.long)}, ok
}

// TestTwoLimits: how many requests are served and refused in an hour and a half by a server with two limits
// that states no reset; each request is made when it is due. 100 may go in each ten minutes, but for one window
// that passes while it is not known how long it lasts.
func TestTwoLimits(t *testing.T) {
	both := func(short, long quota.Statement, _ int, _ bool) []quota.Statement {
		return []quota.Statement{short, long}
	}
	stricter := func(short, long quota.Statement, _ int, _ bool) []quota.Statement {
		if long.Remaining <= short.Remaining {
			short = long
		}
		short.Name = ""
		return []quota.Statement{short}
	}
	for _, test := range []struct {
		name            string
		n               int
		charges         bool
		says            func(short, long quota.Statement, i int, ok bool) []quota.Statement
		served, refused int
	}{
		{"one a second", 1, false, both, 901, 11},
		{"one a second, which counts what the other refuses", 1, true, both, 901, 11},
		{"five a second", 5, false, both, 801, 11},
		{"five a second, which counts what the other refuses", 5, true, both, 801, 11},
		{"the stricter one is stated under one name: one a second", 1, true, stricter, 801, 19},
		{"the stricter one is stated under one name: five a second", 5, true, stricter, 866, 18},
		{"the long one is stated at zero", 1, true, func(short, long quota.Statement, _ int, _ bool) []quota.Statement {
			if long.Remaining == 0 {
				return []quota.Statement{short, long}
			}
			return []quota.Statement{short}
		}, 801, 16},
		{"it is stated by refusals", 1, true, func(short, long quota.Statement, _ int, ok bool) []quota.Statement {
			if !ok {
				return []quota.Statement{short, long}
			}
			return []quota.Statement{short}
		}, 801, 24},
		{"it is stated by each tenth answer", 1, true, func(short, long quota.Statement, i int, _ bool) []quota.Statement {
			if i%10 == 0 {
				return []quota.Statement{short, long}
			}
			return []quota.Statement{short}
		}, 901, 39},
	} {
		b := newBucket(t, Config{})
		l := &twoLimits{n: test.n, charges: test.charges, began: [2]time.Duration{-time.Hour, -time.Hour}}
		var got [2]int
		for i := 0; b.now < start.Add(90*time.Minute); i++ {
			b.now = b.now.Add(b.dueAfter(0, 1) + 20*time.Millisecond)
			ticket := b.send()
			short, long, ok := l.serve(b.now.Sub(start))
			b.done(ticket, Answer{Refused: !ok, Statements: test.says(short, long, i, ok)})
			if ok {
				got[0]++
			} else {
				got[1]++
			}
		}
		if got != [2]int{test.served, test.refused} {
			t.Errorf("%s: %d served and %d refused, want %d and %d", test.name, got[0], got[1], test.served, test.refused)
		}
	}
}

// TestTwoLimitsUsedUpTogether: of limits that a refusal says are used up, none of which is surely the one that
// refused, each look has failed: what one limit of one each ten minutes costs in an hour and a half, two cost.
func TestTwoLimitsUsedUpTogether(t *testing.T) {
	for n := range 3 {
		b := newBucket(t, Config{})
		at, served, refused := b.now.Add(-time.Hour), 0, 0
		for b.now < start.Add(90*time.Minute) && refused < 100 {
			b.now = b.now.Add(b.dueAfter(0, 1) + 20*time.Millisecond)
			ticket, a := b.send(), Answer{}
			if a.Refused = b.now.Sub(at) < 10*time.Minute; a.Refused {
				refused++
			} else {
				at, served = b.now, served+1
			}
			for i := range n + 1 {
				a.Statements = append(a.Statements, quota.Statement{Name: string(rune('a' + i)), Limit: 1})
			}
			b.done(ticket, a)
		}
		if served != 10 || refused != 15 {
			t.Errorf("%d limits of one: %d served and %d refused, want 10 and 15", n+1, served, refused)
		}
	}
}

// TestRefusedElsewhere: what a refusal says of a limit whose look it answers, of ten, which is back after two
// seconds; and of another one.
func TestRefusedElsewhere(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name        string
		limit       int
		says        []quota.Statement
		least, most time.Duration // what is known of the limit then, see seek
		missed      int           // looks at it
		of          time.Duration // the other one was not back so late
	}{
		{"enough remains", 10, []quota.Statement{{Name: "a", Limit: 10, Remaining: 9}, {Name: "b", Limit: 50}}, s, 2 * s, 0, 5 * s},
		{"nothing remains of either", 10, []quota.Statement{{Name: "a", Limit: 10}, {Name: "b", Limit: 50}}, 5 * s, 2 * s, 1, 5 * s},
		{"its only one is used up by the request", 1, []quota.Statement{{Name: "a", Limit: 1}, {Name: "b", Limit: 50}}, s, 2 * s, 0, 5 * s},
		{"it was of this limit", 1, []quota.Statement{{Name: "a", Limit: 1}, {Name: "b", Limit: 50, Remaining: 49}}, 5 * s, 2 * s, 1, 0},
		{"the other one is not stated, and used up by our count", 1, []quota.Statement{{Name: "a", Limit: 1}}, s, 2 * s, 0, 5 * s},
		{"this one is stated alone", 10, []quota.Statement{{Name: "a", Limit: 10}}, 5 * s, 2 * s, 1, 0},
		{"this one is not stated", 10, []quota.Statement{{Name: "b", Limit: 50}}, s, 2 * s, 0, 5 * s},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(quota.Statement{Name: "a", Limit: int64(test.limit)}, quota.Statement{Name: "b", Limit: 50}))
		a, other := b.find(limitName{name: "a"}), b.find(limitName{name: "b"})
		a.seek.least, a.seek.most = s, 2*s
		b.at(5 * s).exchange(refuses(test.says...))
		if l := a.seek; l.least != test.least || l.most != test.most || a.missedLooks != test.missed || other.seek.least != test.of {
			t.Errorf("%s: it lasts %v to %v after %d looks, and the other one %v; want %v to %v, %d and %v",
				test.name, l.least, l.most, a.missedLooks, other.seek.least, test.least, test.most, test.missed, test.of)
		}
	}
}

// TestRefusedElsewhereResets: a limit that states its resets is not doubted, and does not come back more
// slowly, as another one refuses.
func TestRefusedElsewhereResets(t *testing.T) {
	const s = time.Second
	b := newBucket(t, Config{})
	named := func(name string, st quota.Statement) quota.Statement {
		st.Name, st.Resolution = name, s
		return st
	}
	long := named("long", left(0, 100, time.Hour))
	b.exchange(says(named("window", left(0, 10, 2*s)), named("bucket", left(0, 10, 2*s))))
	b.at(2500 * time.Millisecond)
	window, bucket := b.find(limitName{name: "window"}), b.find(limitName{name: "bucket"})
	bucket.refill.resume(b.now, 10, 0, 5, false, time.Hour)
	b.exchange(refuses(named("window", left(9, 10, 2*s)), named("bucket", left(9, 10, 2*s)), long))
	if window.refill.emptyReset || window.reset.roundsDown || window.missedLooks > 0 {
		t.Errorf("the window: a reset brought nothing: %t, resets are rounded down: %t, %d looks in vain; want none of these", window.refill.emptyReset, window.reset.roundsDown, window.missedLooks)
	}
	if r := &bucket.refill; !r.refills || r.rate != 5 {
		t.Errorf("the bucket refills: %t, at %v/s; want 5/s", r.refills, r.rate)
	}
}

// TestRefusedElsewhereWhileRaised: a rate that is raised does not fall if another limit is stated to have
// refused the request; it does if nothing is stated.
func TestRefusedElsewhereWhileRaised(t *testing.T) {
	for named, want := range map[bool]float64{true: 8, false: 2} {
		b := newBucket(t, Config{})
		b.exchange(says(quota.Statement{Name: "one", Limit: 1}))
		b.at(time.Second)
		w := b.window1()
		w.refill.refills, w.refill.rate, w.refill.raise = true, 8, raise{by: firstRaise}
		refused := Answer{Refused: true}
		if named {
			refused = refuses(quota.Statement{Name: "other", Limit: 100})
		}
		b.exchange(refused)
		if got := w.refill.rate; got != want {
			t.Errorf("another limit is stated: %v: a rate of %v/s, want %v", named, got, want)
		}
	}
}
