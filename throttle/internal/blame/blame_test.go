package blame

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// line is a Book, and by the definition what its rows wait for: a cause, or their turn in the line above.
type line struct {
	Book
	above *line
	cause [order.Rows]Cause
	up    [order.Rows]bool
}

// waitsFor is what a row of a line waits for, wherever its first one stands.
func (l *line) waitsFor(row int) Cause {
	for l.up[row] {
		l = l.above
	}
	return l.cause[row]
}

// waiter is a waiter, and by the definition what it has waited for: an instant at a time.
type waiter struct {
	line   *line
	row    int
	stay   Stay
	joined monotime.Time
	aside  *Cause // what it stands aside for; nil if it stands in line
	want   map[Cause]time.Duration
}

// TestAgainstTheDefinition has waiters join and leave the lines of random trees while what these wait for
// changes. What each has waited for is compared with a sum over all instants.
func TestAgainstTheDefinition(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 0))
		lines := []*line{{Book: Book{Bucket: "0"}}}
		for i := range r.IntN(6) {
			above := lines[r.IntN(len(lines))]
			lines = append(lines, &line{above: above, Book: Book{Bucket: fmt.Sprint(i + 1), Above: &above.Book}})
		}
		var waiters []*waiter
		for now := monotime.Time(1); now < 400; now++ {
			for range r.IntN(3) {
				switch i := r.IntN(len(waiters) + 1); {
				case i == len(waiters) || r.IntN(3) > 0:
					w := &waiter{line: lines[r.IntN(len(lines))], row: r.IntN(order.Rows), joined: now, want: map[Cause]time.Duration{}}
					w.join(now)
					waiters = append(waiters, w)
				case r.IntN(3) > 0 && waiters[i].aside == nil:
					w := waiters[i]
					w.aside = &Cause{Bucket: "aside", Cause: limit.SlowStart, Quota: fmt.Sprint(r.IntN(2))}
					w.stay.Aside(now, *w.aside)
				case r.IntN(2) > 0 && waiters[i].aside != nil:
					waiters[i].back(now)
				default:
					waiters[i].leave(t, seed, now)
					waiters = slices.Delete(waiters, i, i+1)
				}
			}
			for range r.IntN(3) {
				lines[r.IntN(len(lines))].look(now, r)
			}
			for _, w := range waiters {
				if w.aside != nil {
					w.want[*w.aside]++
				} else {
					w.want[w.line.waitsFor(w.row)]++
				}
			}
		}
		for _, w := range waiters {
			w.leave(t, seed, 400)
		}
		for _, l := range lines {
			if l.Open() {
				t.Errorf("seed %d: account is kept for nobody", seed)
			}
		}
	}
}

// look has some rows of a line wait for something else.
func (l *line) look(now monotime.Time, r *rand.Rand) {
	look := l.Look(now)
	done := [order.Rows]bool{}
	for row := range order.Rows {
		if done[row] || l.rows[row] == nil {
			continue
		}
		if l.above != nil && r.IntN(2) == 0 {
			look.Above(row)
			l.up[row], done[row] = true, true
			continue
		}
		c := Cause{Bucket: l.Bucket, Cause: limit.Pace, Quota: fmt.Sprint(r.IntN(3))}
		last := row + r.IntN(order.Rows-row)
		look.Wait(last, c)
		for i := range last + 1 {
			if !done[i] && l.rows[i] != nil {
				l.cause[i], l.up[i], done[i] = c, false, true
			}
		}
	}
}

func (w *waiter) join(now monotime.Time) {
	w.open()
	w.stay.Begin(now, &w.line.Book, w.row)
}

func (w *waiter) back(now monotime.Time) {
	w.open()
	w.aside = nil
	w.stay.Back(now)
}

// open notes what rows are taken to wait for of which no account is kept yet.
func (w *waiter) open() {
	for l := w.line; l != nil; l = l.above {
		if l.rows[w.row] == nil {
			l.cause[w.row], l.up[w.row] = Cause{Bucket: l.Bucket, Cause: limit.Hold}, false
		}
	}
}

func (w *waiter) leave(t *testing.T, seed uint64, now monotime.Time) {
	t.Helper()
	w.stay.End(now)
	w.stay.End(now + 1) // nothing more
	got := w.stay.AddTo(nil)
	var sum time.Duration
	before := got
	for i, p := range got {
		sum += p.For
		if p.For != w.want[p.Cause] || i > 0 && before[i-1].For < p.For {
			t.Fatalf("seed %d: got %v, want %v, the longest first", seed, got, w.want)
		}
	}
	if sum != now.Sub(w.joined) || len(got) != len(w.want) {
		t.Fatalf("seed %d: got %v, which is %v of %v; want %v", seed, got, sum, now.Sub(w.joined), w.want)
	}
}

// A server that names a new limit in each answer does not make an account grow for ever, and no instant is
// lost.
func TestManyNames(t *testing.T) {
	var b Book
	var s Stay
	s.Begin(1, &b, 0)
	for i := range 10_000 {
		look := b.Look(monotime.Time(1 + i))
		look.Wait(order.Rows-1, Cause{Bucket: "a", Cause: limit.Window, Quota: fmt.Sprint(i)})
	}
	s.End(10_001)
	parts := s.AddTo(nil)
	var sum time.Duration
	for _, p := range parts {
		sum += p.For
	}
	if len(parts) != most || sum != 10_000 || parts[0] != (Part{Cause{Bucket: "a", Cause: limit.Window}, 10_000 - (most - 1)}) {
		t.Errorf("%d parts that are %v in sum, the first %v", len(parts), sum, parts[0])
	}
}

func TestAdd(t *testing.T) {
	a, b, c := Cause{Bucket: "a"}, Cause{Bucket: "b"}, Cause{Bucket: "c"}
	var parts []Part
	for _, p := range []Part{{a, 2}, {b, 0}, {c, 3}, {a, 1}, {b, 3}, {c, -1}} {
		parts = Add(parts, p)
	}
	if want := []Part{{c, 3}, {a, 3}, {b, 3}}; !slices.Equal(parts, want) {
		t.Errorf("got %v, want %v", parts, want)
	}
}

// A waiter that is sent to another line has waited on the way there, too.
func TestMoved(t *testing.T) {
	b := Book{Bucket: "a", Label: "A"}
	var s, nobody Stay
	nobody.End(1)
	s.Begin(1, &b, 1)
	look := b.Look(1)
	look.Wait(1, Cause{Bucket: "a", Label: "A", Cause: limit.Pace})
	s.End(6)
	if got, want := s.Moved(nil, 9), []Part{{Cause{Bucket: "a", Label: "A", Cause: limit.Pace}, 5}, {Cause{Bucket: "a", Label: "A", Cause: limit.Hold}, 3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := nobody.Moved(nil, 9); got != nil {
		t.Errorf("got %v of a waiter that does not ask", got)
	}
}
