package throttle

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// clone copies a limit with all that it counts.
func clone(l limit) limit {
	switch l := l.(type) {
	case *fixed:
		c := *l
		return &c
	case *estimated:
		c := *l
		return &c
	case *sliding:
		c := *l
		c.entries = slices.Clone(l.entries)
		return &c
	}
	panic("no clone")
}

// TestKindsAhead compares what when says about somebody behind others with when it
// goes after they did, in whatever pieces: never later, and exact if they are of
// one token each, but for the two kinds that depend on when precisely they went.
func TestKindsAhead(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		for _, q := range windowed(r) {
			l := newWindow(q, r.Int64N(1e9))
			now := instant(1)
			for range 30 {
				ahead, n := r.IntN(4*q.N), 1+r.IntN(q.N)
				said, _ := l.when(now, ahead, n)
				single := r.IntN(2) == 0
				c, at := clone(l), now
				for left := ahead; left > 0; {
					piece := 1
					if !single {
						piece = 1 + r.IntN(min(left, q.N))
					}
					at, _ = c.when(at, 0, piece)
					c.take(at, at, piece)
					left -= piece
				}
				at, _ = c.when(at, 0, n)
				exact := single && q.Kind != SlidingWindow && q.Kind != EstimatedWindow
				if said > at || exact && said != at {
					t.Fatalf("%v: at %d, %d behind %d may go at %d, says when; it was %d", q, now, n, ahead, said, at)
				}

				m := 1 + r.IntN(q.N)
				at, _ = l.when(now, 0, m)
				now = at.add(time.Duration(r.Int64N(int64(q.Per)>>r.IntN(6) + 1)))
				l.take(now, now, m)
			}
		}
	}
}

// TestKindsNeverMore sends and cancels at random and looks at what was really sent
// as a server does that starts a window with what it sees first: never more than
// N. That holds for the other kinds as well, in any window of theirs; of the sliding
// ones, in any window at all.
func TestKindsNeverMore(t *testing.T) {
	needs64(t)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		for _, q := range windowed(r) {
			h := &history{q: q, unit: 1, wall: r.IntN(1e9)}
			if q.Kind == SlidingWindow {
				h.q.Kind = SlidingLog // stricter than it
			}
			l := newWindow(q, int64(h.wall))
			now := instant(1)
			var open []charge // may still be canceled
			for range 200 {
				now = now.add(time.Duration(r.Int64N(int64(q.Per)>>r.IntN(8) + 1)))
				// Whoever holds a grant for longer than Per has sent it.
				open = slices.DeleteFunc(open, func(c charge) bool { return instant(c.at) <= now.add(-q.Per) })
				n := 1 + r.IntN(q.N)
				if at, _ := l.when(now, 0, n); at == now {
					l.take(now, now, n)
					h.went = append(h.went, charge{int(now), n})
					open = append(open, h.went[len(h.went)-1])
				} else if i := len(open) - 1; i >= 0 && r.IntN(3) == 0 {
					i = r.IntN(len(open))
					c := open[i]
					open = slices.Delete(open, i, i+1)
					l.give(now, instant(c.at), c.n)
					j := slices.Index(h.went, c)
					h.went = slices.Delete(h.went, j, j+1)
				}
			}
			sent := h.went
			for i := range sent {
				h.went = sent[:i]
				if used := h.used(sent[i].at); used+sent[i].n > q.N {
					t.Fatalf("%v, wall %d: %d went at %d, when %d were used\n%v", q, h.wall, sent[i].n, sent[i].at, used, sent)
				}
			}
		}
	}
}

// TestSlidingWindowLoss sends evenly and at random: what went is back after Per, and at
// most a cell later.
func TestSlidingWindowLoss(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 4))
		q := Quota{Kind: SlidingWindow, N: 20, Per: 120, Cells: 1 + r.IntN(30)}
		l := newWindow(q, 0).(*sliding)
		log := &history{q: q, unit: 1}
		log.q.Kind, log.q.Per = SlidingLog, q.Per+q.Per/time.Duration(q.Cells)
		for now := range 1000 {
			n := 1 + r.IntN(5)
			at, _ := l.when(instant(now), 0, n)
			if log.used(now)+n <= q.N && at > instant(now) {
				t.Fatalf("%v: at %d, %d may go at %d", q, now, n, at)
			}
			if at == instant(now) && r.IntN(4) == 0 {
				l.take(at, at, n)
				log.went = append(log.went, charge{now, n})
			}
			if cells := len(l.entries) - l.head; cells > q.Cells+2 {
				t.Fatalf("%v: %d cells", q, cells)
			}
		}
	}
}

// TestSlidingLogMemory: it grows to what is remembered, and room to grow; not more
// where what is not due is charged.
func TestSlidingLogMemory(t *testing.T) {
	l := newWindow(Quota{Kind: SlidingLog, N: 1000, Per: 1_000_000}, 0).(*sliding)
	for i := range instant(100_000) {
		l.take(i*500, i*500, 1)
		if live := len(l.entries) - l.head; live > 1000 {
			t.Fatalf("%d are remembered of 1000", live)
		}
	}
	if cap(l.entries) > 3000 {
		t.Errorf("room for %d", cap(l.entries))
	}
}

// TestKindsBeyond: no number is too large for the arithmetic.
func TestKindsBeyond(t *testing.T) {
	n := int(min(int64(most), math.MaxInt))
	for kind := FixedWindow; kind <= EstimatedWindow; kind++ {
		q := Quota{Kind: kind, N: n, Per: ages}
		if err := q.Validate(); err != nil {
			t.Fatal(err)
		}
		l := newWindow(q, 1<<60)
		for now := instant(1); now < instant(2*ages); now = now.add(ages / 3) {
			for _, m := range []int{1, n / 2, n, math.MaxInt} {
				if at, _ := l.when(now, math.MaxInt, m); at < now {
					t.Errorf("%v: %d may go at %d, before %d", q, m, at, now)
				}
				l.take(now, now, m) // not due
			}
			l.give(now, now, math.MaxInt)
			if at, ok := l.when(now, math.MaxInt/2, n); !ok || at < now {
				t.Errorf("%v: %d, %v", q, at, ok)
			}
		}
	}
}

// TestFixedWindowCanceled cancels what started a window. At the server it began with
// one that came later.
func TestFixedWindowCanceled(t *testing.T) {
	for name, test := range map[string]struct {
		give     []instant // of one token each
		one, all instant   // when 1 may go, and 5
	}{
		"none":                    {nil, 300, 1000},
		"the second":              {[]instant{100}, 300, 1000},
		"one of two at the start": {[]instant{1}, 300, 1000},
		"both":                    {[]instant{1, 1}, 1199, 1199},
		"all but the last":        {[]instant{1, 100, 1}, 1199, 1199},
		"all but the first":       {[]instant{100, 200}, 300, 1000},
		"all":                     {[]instant{100, 200, 1, 1}, 300, 300},
		"what has left":           {[]instant{0, -50}, 300, 1000},
	} {
		l := newWindow(Quota{Kind: FixedWindow, N: 5, Per: 999}, 0)
		for _, at := range []instant{1, 1, 100, 200} {
			l.take(at, at, 1)
		}
		for _, went := range test.give {
			l.give(300, went, 1)
		}
		one, _ := l.when(300, 0, 1)
		all, _ := l.when(300, 0, 5)
		if one != test.one || all != test.all {
			t.Errorf("%s: 1 may go at %d and 5 at %d, want %d and %d", name, one, all, test.one, test.all)
		}
	}
}

// TestKindsLate charges what was due before a window ended and goes, since a timer is
// late, in the next: it counts there, and there is no room twice.
func TestKindsLate(t *testing.T) {
	const s, ms = instant(time.Second), instant(time.Millisecond)
	for _, test := range []struct {
		kind Kind
		n    int     // as many go
		want instant // when the next may, which was due at s - ms
	}{
		{FixedWindow, 2, s - ms},
		{FixedWindow, 3, 2*s + ms},
		{ClockWindow, 2, s - ms},
		{ClockWindow, 3, 2 * s},
		{SlidingLog, 2, s - ms},
		{SlidingLog, 3, 2*s + ms},
		{SlidingWindow, 3, 2*s + ms},
		{EstimatedWindow, 2, s - ms},
		{EstimatedWindow, 3, 2*s + s/6 + 1},
	} {
		l := newWindow(Quota{Kind: test.kind, N: 3}, int64(30*s))
		for range test.n {
			if at, _ := l.when(s-ms, 0, 1); at != s-ms {
				t.Fatalf("%v: due at %v, want %v", test.kind, time.Duration(at), time.Duration(s-ms))
			}
			l.take(s-ms, s+ms, 1)
		}
		if at, _ := l.when(s-ms, 0, 1); at != test.want {
			t.Errorf("%v: after %d, the next is due at %v, want %v", test.kind, test.n, time.Duration(at), time.Duration(test.want))
		}
	}
}

// TestKindsSet changes N and Per in place, which keeps what was charged.
func TestKindsSet(t *testing.T) {
	const s = instant(time.Second)
	for _, test := range []struct {
		from, to string
		want     instant // when 3 may go, after 4 went at 0.2 s and 1 at 0.4 s, seen at 0.5 s
	}{
		{"5/s window", "5/s window", 12 * s / 10},
		{"5/s window", "5/2s window", 22 * s / 10},
		{"5/s window", "8/s window", s / 2},
		{"5/s window", "3/s window", 12 * s / 10},
		{"5/s window", "5/100ms window", s / 2},
		{"5/s window", "5/s window grid", s / 2}, // another kind is new
		{"5/s window grid", "5/s window grid", s},
		{"5/s window grid", "7/s window grid", s},
		{"5/s window grid", "5/3s window grid", 3 * s},
		{"5/s window grid", "5/s window", s / 2},
		{"5/s log", "5/s log", 12 * s / 10},
		{"5/s log", "6/s log", 12 * s / 10},
		{"5/s log", "3/s log", 14 * s / 10},
		{"5/s log", "5/m log", 602 * s / 10},
		{"5/s log", "5/200ms log", s / 2},
		{"5/s log", "5/s sliding", s / 2},
		{"5/s sliding", "5/2s sliding 3", 22 * s / 10},
		{"5/s sliding", "3/s sliding", 14 * s / 10},
		{"5/s sliding 4", "5/s log", s / 2},
		{"5/s estimate", "5/s estimate", s + s/2 + 1},
		{"5/s estimate", "8/s estimate", s / 2},
		{"5/s estimate", "5/s", 0},
		{"5/s", "5/s estimate", 0},
		{"5/s warm-up 1s", "5/s log", 0},
	} {
		from, to := quotas(t, test.from)[0], quotas(t, test.to)[0]
		l := newWindow(from, int64(30*s))
		l.take(2*s/10, 2*s/10, 4)
		l.take(4*s/10, 4*s/10, 1)
		if ok := l.set(s/2, to); ok != (from.Kind == to.Kind && from.WarmUp == to.WarmUp) {
			t.Errorf("from %v to %v: %v", from, to, ok)
		} else if !ok {
			continue
		}
		if at, ok := l.when(s/2, 0, 3); at != test.want || !ok {
			t.Errorf("from %v to %v: 3 may go at %v, want %v", from, to, time.Duration(at), time.Duration(test.want))
		}
		if l.set(s/2, Quota{Kind: to.Kind}) {
			t.Errorf("from %v to no limit in place", to)
		}
	}
}

func quotas(t *testing.T, text string) Quotas {
	t.Helper()
	qs, err := ParseQuotas(text)
	if err != nil {
		t.Fatal(err)
	}
	return qs
}
