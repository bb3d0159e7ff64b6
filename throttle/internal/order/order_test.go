package order

import (
	"cmp"
	"container/list"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

type guest struct{ rank, number, row int }

func (g *guest) Before(o *guest) bool { return compare(g, o) < 0 }
func (g *guest) Row() int             { return g.row }
func (g *guest) Flow() string         { return "" }

func compare(a, b *guest) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number))
}

// TestSpares: a row has as many entries for later as have just left it, and a few once it is empty.
func TestSpares(t *testing.T) {
	var q Queue[*guest]
	var all []*Entry[*guest]
	for range 2 {
		for number := range 100 {
			e, _, _ := q.Insert(&guest{number: number}, 1)
			all = append(all, e)
		}
		for i, e := range all {
			e.Remove()
			r := q.rows[0]
			if want := min(i+1, 99-i+spareMost); r.spares > want {
				t.Fatalf("%d entries for later, with %d in the row", r.spares, r.n)
			}
			n := 0
			for e := r.spare; e != nil; e = e.next {
				n++
			}
			if n != r.spares {
				t.Fatalf("%d entries for later, and %d are counted", n, r.spares)
			}
		}
		all = all[:0]
	}
	lone := &guest{}
	if n := testing.AllocsPerRun(100, func() {
		e, _, _ := q.Insert(lone, 1)
		e.Remove()
	}); n > 0 {
		t.Errorf("%v allocations for one that comes and goes", n)
	}
}

// TestAgainstASortedList inserts and removes at random, and compares all looks at a Queue with a sorted list.
func TestAgainstASortedList(t *testing.T) {
	for seed := range whole.Or[uint64](20, 50) {
		r := rand.New(rand.NewPCG(seed, 0))
		var q Queue[*guest]
		var all []*guest
		at := map[*guest]*Entry[*guest]{}
		for number := range 200 {
			if len(all) > 0 && r.IntN(3) == 0 {
				i := r.IntN(len(all))
				at[all[i]].Remove()
				all = slices.Delete(all, i, i+1)
			} else {
				g := &guest{r.IntN(50), number, r.IntN(Rows)}
				all = append(all, g)
				slices.SortFunc(all, compare)
				e, displaced, ok := q.Insert(g, 1)
				at[g] = e
				row := of(all, g.row)
				first := row[0] == g && len(row) > 1
				if ok != first || ok && displaced != row[1] {
					t.Fatalf("%v displaced %v, %v; the row is %v", g, displaced, ok, row)
				}
			}
			compareLooks(t, &q, all)
		}
	}
}

func compareLooks(t *testing.T, q *Queue[*guest], all []*guest) {
	t.Helper()
	if got := slices.Collect(q.InOrder()); !slices.Equal(got, all) || q.Len() != len(all) {
		t.Fatalf("in order: %v, want %v", got, all)
	}
	for _, g := range all {
		if !q.Any(func(o *guest) bool { return o == g }) {
			t.Fatalf("none is %v", g)
		}
	}
	if q.Any(func(*guest) bool { return false }) {
		t.Fatal("some match nothing")
	}
	var heads []*guest
	for i := range Rows {
		row := of(all, i)
		if got := slices.Collect(q.Row(i)); !slices.Equal(got, row) || q.LenOf(i) != len(row) {
			t.Fatalf("row %d: %v, want %v", i, got, row)
		}
		for n := range 4 { // of those that match, the last one, and nobody if none does
			matches := func(g *guest) bool { return g.number%4 == n && g.row <= i }
			want := slices.DeleteFunc(slices.Clone(all), func(g *guest) bool { return !matches(g) })
			slices.SortFunc(want, compare)
			if got := q.LastWhere(matches); got == nil && len(want) > 0 || got != nil && (len(want) == 0 || got != want[len(want)-1]) {
				t.Fatalf("the last that matches is %v, want that of %v", got, want)
			}
		}
		for rank := range 51 {
			g := &guest{rank, 1000, i}
			all := !slices.ContainsFunc(row, func(o *guest) bool { return g.Before(o) })
			if got := q.AllBefore(i, func(o *guest) bool { return o.Before(g) }); got != (all && len(row) > 0) {
				t.Fatalf("all before %v: %v; the row is %v", g, got, row)
			}
		}
		if len(row) > 0 {
			heads = append(heads, row[0])
		}
	}
	slices.SortFunc(heads, compare)
	var buf [Rows]*guest
	if got := q.Heads(&buf); !slices.Equal(got, heads) {
		t.Fatalf("heads: %v, want %v", got, heads)
	}
}

func of(all []*guest, row int) (in []*guest) {
	for _, g := range all {
		if g.row == row {
			in = append(in, g)
		}
	}
	return in
}

func TestInOrderWhileWaitersLeave(t *testing.T) {
	var q Queue[*guest]
	at := map[*guest]*Entry[*guest]{}
	for i := range 9 {
		g := &guest{i, i, i % Rows}
		at[g], _, _ = q.Insert(g, 1)
	}
	next := 0
	for g := range q.Leaving() {
		if g.rank != next {
			t.Errorf("got %d, want %d", g.rank, next)
		}
		next++
		at[g].Remove()
	}
	if next != 9 || q.Len() != 0 {
		t.Errorf("%d left, %d went", q.Len(), next)
	}
}

// TestRank: a claim counts as an aging earlier for each step above the normal priority, and as one later for
// each below.
func TestRank(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		steps int
		aging time.Duration
		want  time.Duration // after the claim was made
	}{{0, s, 0}, {1, s, -s}, {-1, s, s}, {2, s, -2 * s}, {1, monotime.Longest, -monotime.Longest}} {
		since := monotime.Time(1000 * s)
		if got := Rank(since, test.steps, test.aging).Sub(since); got != test.want {
			t.Errorf("%d steps, aging %v: %v, want %v", test.steps, test.aging, got, test.want)
		}
	}
}

// A waiter that belongs near an end of a row finds its place in a few steps, however long the row is.
func TestInsertIsFlat(t *testing.T) {
	for _, n := range []int{100, 10_000} {
		var q Queue[*counted]
		steps := 0
		insert := func(rank int) int {
			before := steps
			q.Insert(&counted{guest{rank, 0, 1}, &steps}, 1)
			return steps - before
		}
		for i := range n {
			insert(10 + i)
		}
		for _, rank := range []int{0, n + 20, 1, n + 19, 2, n + 18} {
			if got := insert(rank); got > 8 {
				t.Errorf("of %d: %d comparisons, want 8 at most", n, got)
			}
		}
	}
}

// counted counts its comparisons.
type counted struct {
	guest
	steps *int
}

func (c *counted) Before(o *counted) bool {
	*c.steps++
	return c.guest.Before(&o.guest)
}

// TestLeavingMovesOthersUp: who is taken out while all are gone through is not charged to its flow.
func TestLeavingMovesOthersUp(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		var q Queue[*caller]
		at := map[*caller]*Entry[*caller]{}
		m := &turns{tags: map[string]int{}}
		for i := range 60 {
			c := &caller{guest{r.IntN(40), i, 1}, string(rune('a' + r.IntN(5))), 1 + r.IntN(5)}
			at[c], _, _ = q.Insert(c, float64(c.charge))
			m.join(c)
		}
		for c := range q.Leaving() {
			if want := m.first(); c != want {
				t.Fatalf("seed %d: %v comes, want %v", seed, c, want)
			}
			if r.IntN(2) > 0 {
				m.serve(c)
			} else {
				m.leave(c)
				at[c].Remove()
			}
		}
		if len(m.waiting) > 0 {
			t.Errorf("seed %d: %d did not come", seed, len(m.waiting))
		}
	}
}

// TestNth: the n-th in order, if so many wait.
func TestNth(t *testing.T) {
	var q Queue[*guest]
	for i := range 9 {
		q.Insert(&guest{i, i, i % Rows}, 1)
	}
	for n := range 12 {
		if g, ok := q.Nth(n); ok != (n >= 1 && n <= 9) || ok && g.rank != n-1 {
			t.Errorf("%d: %v, %v", n, g, ok)
		}
	}
}

// TestBefore has one that is not in the Queue beside the first of each row: it goes behind the first of its
// row, and behind whom that goes.
func TestBefore(t *testing.T) {
	var q Queue[*guest]
	first := []*guest{{rank: 5, number: 1, row: 0}, {rank: 3, number: 2, row: 1}, {rank: 8, number: 3, row: 2}}
	for _, g := range first {
		q.Insert(g, 1)
		q.Insert(&guest{rank: g.rank + 10, number: g.number, row: g.row}, 1)
	}
	for rank, want := range map[int][]*guest{2: nil, 4: {first[1]}, 6: {first[1]}, 9: {first[1]}} {
		if got := q.Before(&guest{rank: rank, number: 9, row: 1}, q.Heads(new([Rows]*guest))); !slices.Equal(got, want) {
			t.Errorf("a rank of %d goes after %v, want %v", rank, got, want)
		}
	}
	for rank, want := range map[int][]*guest{2: nil, 4: {first[1]}, 6: {first[1], first[0]}, 9: {first[1], first[0], first[2]}} {
		if got := q.Before(&guest{rank: rank, number: 9, row: 2}, q.Heads(new([Rows]*guest))); !slices.Equal(got, want) {
			t.Errorf("in the last row, a rank of %d goes after %v, want %v", rank, got, want)
		}
	}
}

// TestBeforeIsTheOrderOfGoing has one more join queues that are drawn at random, and all go, as Limiters let
// them: each time the best rank of the first of the rows. Those that Before names go before it, up to the first
// of its row; and all those, if it is the first itself.
func TestBeforeIsTheOrderOfGoing(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var q Queue[*caller]
		at := map[*caller]*Entry[*caller]{}
		draw := func(number int) *caller {
			return &caller{guest{r.IntN(20), number, r.IntN(Rows)}, string(rune('a' + r.IntN(3))), 1 + r.IntN(5)}
		}
		insert := func(c *caller) { at[c], _, _ = q.Insert(c, float64(c.charge)) }
		goes := func() (all []*caller) {
			for q.Len() > 0 {
				w := q.Heads(new([Rows]*caller))[0]
				at[w].Serve()
				at[w].Remove()
				all = append(all, w)
			}
			return all
		}
		for number := range 1 + r.IntN(12) {
			if insert(draw(number)); r.IntN(3) == 0 { // what a flow got counts
				w := q.Heads(new([Rows]*caller))[0]
				at[w].Serve()
				at[w].Remove()
			}
		}
		w := draw(100)
		w.rank = 20 // a later claim of a flow never goes before an earlier one of it
		if r.IntN(2) == 0 {
			w.flow = "new"
			w.rank = r.IntN(20)
		}
		named := q.Before(w, q.Heads(new([Rows]*caller)))
		heads := q.Heads(new([Rows]*caller))
		insert(w)
		var first *caller
		for c := range q.Row(w.row) {
			first = c
			break
		}
		var want []*caller
		for _, c := range goes() {
			if c == w {
				break
			}
			if slices.Contains(heads, c) {
				want = append(want, c)
			}
			if c == first {
				break
			}
		}
		if !slices.Equal(named, want) {
			t.Fatalf("seed %d: %v goes after %v, want %v; the first of its row is %v", seed, w, named, want, first)
		}
	}
}

// TestEach: what a list holds may leave it as it comes, and whoever looks may stop.
func TestEach(t *testing.T) {
	var l list.List
	at := map[int]*list.Element{}
	for i := range 4 {
		at[i] = l.PushBack(i)
	}
	var got []int
	for i := range Each[int](&l) {
		if got = append(got, i); i == 2 {
			break
		}
		l.Remove(at[i])
	}
	if !slices.Equal(got, []int{0, 1, 2}) || l.Len() != 2 {
		t.Errorf("got %v, and %d are left", got, l.Len())
	}
}
