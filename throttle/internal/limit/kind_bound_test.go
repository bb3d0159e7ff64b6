package limit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// clone copies a limit with all that it counts.
func clone(l Limit) Limit {
	switch l := l.(type) {
	case *fixed:
		c := *l
		return &c
	case *Grid:
		c := *l
		return &c
	case *sliding:
		c := *l
		c.log.entries = slices.Clone(l.log.entries)
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
		for _, q := range definition.Windowed(r) {
			l := New(explicit(q), r.Int64N(1e9))
			now := monotime.Time(1)
			for range 30 {
				ahead, n := r.IntN(int(4*q.N)), 1+r.IntN(int(q.N))
				said, _ := l.When(now, int64(ahead), int64(n))
				single := r.IntN(2) == 0
				c, at := clone(l), now
				for left := ahead; left > 0; {
					piece := 1
					if !single {
						piece = 1 + r.IntN(min(left, int(q.N)))
					}
					at, _ = c.When(at, 0, int64(piece))
					c.Take(at, at, int64(piece))
					left -= piece
				}
				at, _ = c.When(at, 0, int64(n))
				exact := single && q.Kind != quota.SlidingWindow && q.Kind != quota.EstimatedWindow && (q.Kind != quota.Plain || q.N <= 64)
				if said > at || exact && said != at {
					t.Fatalf("%v: at %d, %d behind %d may go at %d, says when; it was %d", q, now, n, ahead, said, at)
				}

				m := 1 + r.IntN(int(q.N))
				at, _ = l.When(now, 0, int64(m))
				now = at.Add(time.Duration(r.Int64N(int64(q.Per)>>r.IntN(6) + 1)))
				l.Take(now, now, int64(m))
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
		for _, q := range definition.Windowed(r) {
			h := &definition.History{Quota: q, Unit: 1, Wall: r.IntN(1e9)}
			if q.Kind == quota.SlidingWindow {
				h.Quota.Kind = quota.SlidingLog // stricter than it
			}
			l := New(explicit(q), int64(h.Wall))
			now := monotime.Time(1)
			var open []definition.Charge // may still be canceled
			for range 200 {
				now = now.Add(time.Duration(r.Int64N(int64(q.Per)>>r.IntN(8) + 1)))
				// Whoever holds a grant for longer than Per has sent it.
				open = slices.DeleteFunc(open, func(c definition.Charge) bool { return monotime.Time(c.At) <= now.Add(-q.Per) })
				n := 1 + r.IntN(int(q.N))
				if at, _ := l.When(now, 0, int64(n)); at == now {
					l.Take(now, now, int64(n))
					h.Went = append(h.Went, definition.Charge{At: int(now), N: n})
					open = append(open, h.Went[len(h.Went)-1])
				} else if i := len(open) - 1; i >= 0 && r.IntN(3) == 0 {
					i = r.IntN(len(open))
					c := open[i]
					open = slices.Delete(open, i, i+1)
					l.Give(now, monotime.Time(c.At), int64(c.N))
					j := slices.Index(h.Went, c)
					h.Went = slices.Delete(h.Went, j, j+1)
				}
			}
			sent := h.Went
			for i := range sent {
				h.Went = sent[:i]
				if used := h.Used(sent[i].At); int64(used+sent[i].N) > q.N {
					t.Fatalf("%v, wall %d: %d went at %d, when %d were used\n%v", q, h.Wall, sent[i].N, sent[i].At, used, sent)
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
		q := quota.Quota{Kind: quota.SlidingWindow, N: 20, Per: 120, Cells: 1 + r.IntN(30)}
		l := New(explicit(q), 0).(*sliding)
		log := &definition.History{Quota: q, Unit: 1}
		log.Quota.Kind, log.Quota.Per = quota.SlidingLog, q.Per+q.Per/time.Duration(q.Cells)
		for now := range 1000 {
			n := 1 + r.IntN(5)
			at, _ := l.When(monotime.Time(now), 0, int64(n))
			if int64(log.Used(now)+n) <= q.N && at > monotime.Time(now) {
				t.Fatalf("%v: at %d, %d may go at %d", q, now, n, at)
			}
			if at == monotime.Time(now) && r.IntN(4) == 0 {
				l.Take(at, at, int64(n))
				log.Went = append(log.Went, definition.Charge{At: now, N: n})
			}
			if cells := len(l.log.Live()); cells > q.Cells+2 {
				t.Fatalf("%v: %d cells", q, cells)
			}
		}
	}
}

// TestSlidingLogMemory: it grows to what is remembered, and room to grow; not more
// where what is not due is charged.
func TestSlidingLogMemory(t *testing.T) {
	l := New(explicit(quota.Quota{Kind: quota.SlidingLog, N: 1000, Per: 1_000_000}), 0).(*sliding)
	for i := range monotime.Time(100_000) {
		l.Take(i*500, i*500, 1)
		if live := len(l.log.Live()); live > 1000+maxDebts {
			t.Fatalf("%d are remembered of 1000", live)
		}
	}
	if cap(l.log.entries) > 3000 {
		t.Errorf("room for %d", cap(l.log.entries))
	}
	// What is remembered as one leaves with the latest of it.
	l = New(explicit(quota.Quota{Kind: quota.SlidingLog, N: 2, Per: 1000}), 0).(*sliding)
	for i := range monotime.Time(200) {
		l.Take(i, i, 1)
	}
	for i := range monotime.Time(199) {
		l.Give(200, 199-i, 1)
	}
	if at, _ := l.When(200, 0, 2); at < 1000 || at > 1200 {
		t.Errorf("one is left of 0, and 2 may go at %d", at)
	}
}

// TestKindsBeyond: no number is too large for the arithmetic.
func TestKindsBeyond(t *testing.T) {
	n := int(min(quota.MaxN, math.MaxInt))
	for _, kind := range timed[2:] {
		q := quota.Quota{Kind: kind, N: int64(n), Per: monotime.Longest}
		if err := q.Validate(); err != nil {
			t.Fatal(err)
		}
		l := New(explicit(q), 1<<60)
		for now := monotime.Time(1); now < monotime.Time(2*monotime.Longest); now = now.Add(monotime.Longest / 3) {
			for _, m := range []int{1, n / 2, n, math.MaxInt} {
				if at, _ := l.When(now, math.MaxInt, int64(m)); at < now {
					t.Errorf("%v: %d may go at %d, before %d", q, m, at, now)
				}
				l.Take(now, now, int64(m)) // not due
			}
			l.Give(now, now, math.MaxInt)
			if at, ok := l.When(now, math.MaxInt/2, int64(n)); !ok || at < now {
				t.Errorf("%v: %d, %v", q, at, ok)
			}
		}
	}
}

// TestFixedWindowCanceled cancels what started a window. At the server it began with
// one that came later.
func TestFixedWindowCanceled(t *testing.T) {
	for name, test := range map[string]struct {
		give     []monotime.Time // of one token each
		one, all monotime.Time   // when 1 may go, and 5
	}{
		"none":                    {nil, 300, 1000},
		"the second":              {[]monotime.Time{100}, 300, 1000},
		"one of two at the start": {[]monotime.Time{1}, 300, 1000},
		"both":                    {[]monotime.Time{1, 1}, 1199, 1199},
		"all but the last":        {[]monotime.Time{1, 100, 1}, 1199, 1199},
		"all but the first":       {[]monotime.Time{100, 200}, 300, 1000},
		"all":                     {[]monotime.Time{100, 200, 1, 1}, 300, 300},
		"what has left":           {[]monotime.Time{0, -50}, 300, 1000},
	} {
		l := New(explicit(quota.Quota{Kind: quota.FixedWindow, N: 5, Per: 999}), 0)
		for _, at := range []monotime.Time{1, 1, 100, 200} {
			l.Take(at, at, 1)
		}
		for _, went := range test.give {
			l.Give(300, went, 1)
		}
		one, _ := l.When(300, 0, 1)
		all, _ := l.When(300, 0, 5)
		if one != test.one || all != test.all {
			t.Errorf("%s: 1 may go at %d and 5 at %d, want %d and %d", name, one, all, test.one, test.all)
		}
	}
}

// TestKindsLate charges what was due before a window ended and goes, since a timer is
// late, in the next: it counts there, and there is no room twice.
func TestKindsLate(t *testing.T) {
	const s, ms = monotime.Time(time.Second), monotime.Time(time.Millisecond)
	for _, test := range []struct {
		kind quota.Kind
		n    int           // as many go
		want monotime.Time // when the next may, which was due at s - ms
	}{
		{quota.FixedWindow, 2, s - ms},
		{quota.FixedWindow, 3, 2*s + ms},
		{quota.ClockWindow, 2, s - ms},
		{quota.ClockWindow, 3, 2 * s},
		{quota.SlidingLog, 2, s - ms},
		{quota.SlidingLog, 3, 2*s + ms},
		{quota.SlidingWindow, 3, 2*s + ms},
		{quota.EstimatedWindow, 2, s - ms},
		{quota.EstimatedWindow, 3, 2*s + s/6 + 1},
	} {
		l := New(explicit(quota.Quota{Kind: test.kind, N: 3}), int64(30*s))
		for range test.n {
			if at, _ := l.When(s-ms, 0, 1); at != s-ms {
				t.Fatalf("%v: due at %v, want %v", test.kind, time.Duration(at), time.Duration(s-ms))
			}
			l.Take(s-ms, s+ms, 1)
		}
		if at, _ := l.When(s-ms, 0, 1); at != test.want {
			t.Errorf("%v: after %d, the next is due at %v, want %v", test.kind, test.n, time.Duration(at), time.Duration(test.want))
		}
	}
}

// TestKindsSet changes N and Per in place, which keeps what was charged.
func TestKindsSet(t *testing.T) {
	const s = monotime.Time(time.Second)
	log := map[quota.Kind]bool{quota.Plain: true, quota.SlidingLog: true, quota.SlidingWindow: true}
	for _, test := range []struct {
		from, to string
		want     monotime.Time // when 3 may go, after 4 went at 0.2 s and 1 at 0.4 s, seen at 0.5 s
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
		{"5/s log", "5/s sliding", 12 * s / 10}, // it remembers the same
		{"5/s sliding", "5/2s sliding 3", 22 * s / 10},
		{"5/s sliding", "3/s sliding", 14 * s / 10},
		{"5/s sliding 4", "5/s log", 14 * s / 10},
		{"5/s", "3/s log", 14 * s / 10},
		{"5/s log", "5/s", 12 * s / 10},
		{"300/s", "5/s sliding", 12 * s / 10},
		{"5/s estimate", "5/s estimate", s + s/2 + 1},
		{"5/s estimate", "8/s estimate", s / 2},
		{"5/s estimate", "5/s", 0},
		{"5/s", "5/s estimate", 0},
		{"5/s warm-up 1s", "5/s log", 0},
	} {
		from, to := quotas(t, test.from)[0], quotas(t, test.to)[0]
		l := New(explicit(from), int64(30*s))
		l.Take(2*s/10, 2*s/10, 4)
		l.Take(4*s/10, 4*s/10, 1)
		same := from.Kind == to.Kind || log[from.Kind] && log[to.Kind]
		if ok := l.Set(s/2, explicit(to)); ok != (same && from.WarmUp == to.WarmUp) {
			t.Errorf("from %v to %v: %v", from, to, ok)
		} else if !ok {
			continue
		}
		if at, ok := l.When(s/2, 0, 3); at != test.want || !ok {
			t.Errorf("from %v to %v: 3 may go at %v, want %v", from, to, time.Duration(at), time.Duration(test.want))
		}
		if l.Set(s/2, explicit(quota.Quota{Kind: to.Kind})) {
			t.Errorf("from %v to no limit in place", to)
		}
	}
}

func quotas(t *testing.T, text string) quota.Quotas {
	t.Helper()
	qs, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return qs
}

// TestSlidingInDebt charges more than is due, takes some of it back, and changes N, at random: nothing goes
// while a window has N or more, from what is known at that instant, and what goes may go as soon as so much has
// left.
func TestSlidingInDebt(t *testing.T) {
	for seed := range whole.Or[uint64](100, 300) {
		r := rand.New(rand.NewPCG(seed, 6))
		for _, kind := range []quota.Kind{quota.Plain, quota.SlidingLog, quota.SlidingWindow} {
			q := explicit(quota.Quota{Kind: kind, N: int64(1 + r.IntN([]int{4, 70}[seed%2])), Per: 1280})
			h := &definition.History{Quota: q, Unit: 1}
			l, now := New(q, 0), 0
			charge := func(n int) {
				l.Take(monotime.Time(now), monotime.Time(now), int64(n))
				h.Went = append(h.Went, definition.Charge{At: now, N: n})
			}
			for range 300 {
				now += r.IntN(1 + 1280>>r.IntN(11))
				switch k := r.IntN(12); {
				case k < 4: // settled for more
					charge(1 + r.IntN(int(1+2*q.N/3)))
				case k < 7 && len(h.Went) > 0: // settled for less
					c := &h.Went[len(h.Went)-1-r.IntN(min(len(h.Went), 8))]
					if went, alike := h.Without(*c); alike {
						l.Give(monotime.Time(now), monotime.Time(c.At), int64(c.N))
						h.Went = went
					}
				case k == 7:
					if n := 1 + r.IntN(int(2*q.N)); kind != quota.Plain || (n > 64) == (q.N > 64) { // else what has gone remains in its cells
						q.N = int64(n)
					}
					h.Quota = q
					if !l.Set(monotime.Time(now), q) {
						t.Fatal("another kind")
					}
				default:
					n := 1 + r.IntN(int(q.N))
					at, _ := l.When(monotime.Time(now), 0, int64(n))
					room := func(at int) bool { return int64(h.Used(at)+n) <= q.N }
					if !room(int(at)) || int(at) > now && room(int(at)-1) {
						t.Fatalf("seed %d: %v: at %d, %d may go at %d; by definition: %v, a moment before: %v\n%v",
							seed, q, now, n, at, room(int(at)), room(int(at)-1), h.Went)
					}
					if int(at) == now {
						charge(n)
					}
				}
				h.Forget(now)
			}
		}
	}
}
