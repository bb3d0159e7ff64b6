package order

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// caller is a waiter of a flow. Charges are whole numbers, so that tags are exact.
type caller struct {
	guest
	flow   string
	charge int
}

func (c *caller) Before(o *caller) bool  { return compare(&c.guest, &o.guest) < 0 }
func (c *caller) Flow() string           { return c.flow }
func (c *caller) String() string         { return fmt.Sprintf("%d of %q", c.number, c.flow) }
func (c *caller) before(o *caller) int   { return compare(&c.guest, &o.guest) }
func charged(c *caller) (charge float64) { return float64(c.charge) }

// turns is a row by definition: for each flow a tag, which grows by what is served; a flow that comes begins at
// the tag of what was served last, if its own is not later.
type turns struct {
	now     int
	tags    map[string]int // of flows that were served since somebody waits
	waiting []*caller
}

func (m *turns) tag(flow string) int { return max(m.now, m.tags[flow]) }

func (m *turns) of(flow string) (in []*caller) {
	for _, c := range m.waiting {
		if c.flow == flow {
			in = append(in, c)
		}
	}
	slices.SortFunc(in, (*caller).before)
	return in
}

func (m *turns) flows() (names []string) {
	for _, c := range m.waiting {
		if !slices.Contains(names, c.flow) {
			names = append(names, c.flow)
		}
	}
	return names
}

// first returns who goes next, nil if nobody waits.
func (m *turns) first() (first *caller) {
	for _, flow := range m.flows() {
		c := m.of(flow)[0]
		if first == nil || cmp.Or(cmp.Compare(m.tag(flow), m.tag(first.flow)), c.before(first)) < 0 {
			first = c
		}
	}
	return first
}

func (m *turns) join(c *caller) {
	m.tags[c.flow] = m.tag(c.flow)
	m.waiting = append(m.waiting, c)
}

func (m *turns) leave(c *caller) {
	m.waiting = slices.DeleteFunc(m.waiting, func(o *caller) bool { return o == c })
	if len(m.flows()) == 0 {
		m.now, m.tags = 0, map[string]int{}
	}
}

func (m *turns) serve(c *caller) {
	m.now = max(m.now, m.tag(c.flow))
	m.tags[c.flow] = m.tag(c.flow) + c.charge
	m.leave(c)
}

func (m *turns) clone() *turns {
	c := &turns{m.now, map[string]int{}, slices.Clone(m.waiting)}
	for flow, tag := range m.tags {
		c.tags[flow] = tag
	}
	return c
}

// tagAtEnd is the tag of one that would join a flow at its end.
func (m *turns) tagAtEnd(flow string) float64 {
	tag := m.tag(flow)
	for _, c := range m.of(flow) {
		tag += c.charge
	}
	return float64(tag)
}

// order returns all who wait as they go if nobody joins.
func (m *turns) order() (in []*caller) {
	m = m.clone()
	for len(m.waiting) > 0 {
		c := m.first()
		in = append(in, c)
		m.serve(c)
	}
	return in
}

// TestFlowsAgainstADefinition joins, serves and removes at random, in three rows, and compares each look at the
// Queue with the definition of turns.
func TestFlowsAgainstADefinition(t *testing.T) {
	for seed := range whole.Or[uint64](7, 20) {
		r := rand.New(rand.NewPCG(seed, 1))
		flows := 1 + r.IntN(6)
		var q Queue[*caller]
		at := map[*caller]*Entry[*caller]{}
		model := [Rows]*turns{}
		for i := range model {
			model[i] = &turns{tags: map[string]int{}}
		}
		random := func(number int) *caller {
			c := &caller{guest{r.IntN(400), number, r.IntN(Rows)}, "", 1 + r.IntN(20)}
			if f := r.IntN(flows + 1); f > 0 {
				c.flow = fmt.Sprint(f)
			}
			return c
		}
		for number := range 300 {
			m := model[r.IntN(Rows)]
			switch what := r.IntN(10); {
			case what < 5:
				c := random(number)
				m = model[c.row]
				first := m.first()
				m.join(c)
				e, displaced, ok := q.Insert(c, float64(c.charge))
				at[c] = e
				if wants := first != nil && m.first() == c; ok != wants || ok && displaced != first {
					t.Fatalf("seed %d: %v displaced %v, %v, want %v of %v", seed, c, displaced, ok, wants, first)
				}
			case len(m.waiting) == 0:
			case what < 8:
				c := m.first()
				at[c].Serve()
				at[c].Remove()
				m.serve(c)
			case what < 9:
				c := m.waiting[r.IntN(len(m.waiting))]
				at[c].Remove()
				m.leave(c)
			case r.IntN(20) == 0: // costs are other ones
				for _, m := range model {
					m.now, m.tags = 0, map[string]int{}
					for _, c := range m.waiting {
						c.charge = 1 + r.IntN(20)
					}
				}
				q.Recharge(charged)
			}
			compareWithDefinition(t, &q, at, model, random(1000+number))
			compareAhead(t, &q, at, model)
		}
	}
}

// compareAhead asks of each waiter who goes before it, as many as three: if there are more of its flow, those
// next before it, else the first of all, which are as many as go before it.
func compareAhead(t *testing.T, q *Queue[*caller], at map[*caller]*Entry[*caller], model [Rows]*turns) {
	t.Helper()
	const most = 3
	all := slices.Collect(q.InOrder())
	for n, c := range all {
		var got []*caller
		more := q.Ahead(at[c], most, func(o *caller) { got = append(got, o) })
		want := all[:min(n, most)]
		own := model[c.row].of(c.flow)
		i := slices.Index(own, c)
		if at[c].Follows(most+1) != (i > most) || at[c].Follows(1) != (i > 0) {
			t.Fatalf("%v stands behind %d of its flow; more than %d: %v, any: %v", c, i, most, at[c].Follows(most+1), at[c].Follows(1))
		}
		if i > most {
			want = slices.Clone(own[i-most : i])
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) || more != (n > most) {
			t.Fatalf("before %v go %v, more %v, want %v of %v", c, got, more, want, all)
		}
	}
}

func compareWithDefinition(t *testing.T, q *Queue[*caller], at map[*caller]*Entry[*caller], model [Rows]*turns, next *caller) {
	t.Helper()
	var all, heads []*caller
	for i, m := range model {
		want := m.order()
		if got := slices.Collect(q.Row(i)); !slices.Equal(got, want) || q.LenOf(i) != len(want) {
			t.Fatalf("row %d is %v, want %v", i, got, want)
		}
		if len(want) > 0 {
			heads = append(heads, want[0])
		}
		all = append(all, want...)
	}
	slices.SortFunc(heads, (*caller).before)
	var buf [Rows]*caller
	if got := q.Heads(&buf); !slices.Equal(got, heads) || q.Len() != len(all) {
		t.Fatalf("%d wait, and heads are %v, want %d and %v", q.Len(), got, len(all), heads)
	}
	// The rows merge by rank: who is yielded next is the head of its row, and of the heads the one with the
	// best rank.
	left := [Rows][]*caller{model[0].order(), model[1].order(), model[2].order()}
	for c := range q.InOrder() {
		for i, row := range left {
			if i != c.row && len(row) > 0 && row[0].Before(c) {
				t.Fatalf("%v comes before %v", c, row[0])
			}
		}
		if left[c.row][0] != c {
			t.Fatalf("%v comes before %v", c, left[c.row][0])
		}
		left[c.row] = left[c.row][1:]
	}
	m := model[next.row]
	if m.first() == nil {
		return
	}
	joined := m.clone()
	next.rank = 1000 // at the end of its flow
	joined.join(next)
	order := joined.order()
	ahead := order[:slices.Index(order, next)]
	q.Others(next.row, next.flow, 1000, func(o *caller) bool { return o.Before(next) }, func(o *caller) {
		if !slices.Contains(ahead, o) || o.flow == next.flow {
			t.Fatalf("%v is said to go before %v; the order is %v", o, next, order)
		}
		ahead = slices.DeleteFunc(slices.Clone(ahead), func(c *caller) bool { return c == o })
	})
	for _, o := range ahead {
		if o.flow != next.flow && at[o].tag() < m.tagAtEnd(next.flow) { // of equal tags, not all are known
			t.Fatalf("%v is not said to go before %v; the order is %v", o, next, order)
		}
	}
	last := q.LastWhere(func(c *caller) bool { return c.row == next.row })
	if last == nil {
		return
	}
	for _, o := range m.waiting {
		if slices.Index(order, o) > slices.Index(order, last) && at[o].tag() > at[last].tag() {
			t.Fatalf("%v is said to go last, and %v comes after it: %v", last, o, order)
		}
	}
	if got, want := q.Precedes(next, at[last]), slices.Index(order, next) < slices.Index(order, last); got != want {
		t.Fatalf("%v goes before %v: %v, want %v: %v", next, last, got, want, order)
	}
}

// TestNewcomerGoesWithinAsManyGrantsAsFlows: whatever the costs and the weights, one waiter of each other flow
// goes before it at most, however many wait.
func TestNewcomerGoesWithinAsManyGrantsAsFlows(t *testing.T) {
	for _, others := range []int{1, 3, 50} {
		r := rand.New(rand.NewPCG(uint64(others), 2))
		var q Queue[*caller]
		at := map[*caller]*Entry[*caller]{}
		insert := func(rank, charge int, flow string) *caller {
			c := &caller{guest{rank, rank, 1}, flow, charge}
			at[c], _, _ = q.Insert(c, float64(charge))
			return c
		}
		serve := func() *caller {
			c := q.Heads(new([Rows]*caller))[0]
			at[c].Serve()
			at[c].Remove()
			return c
		}
		for i := range 10_000 {
			insert(i, 1+r.IntN(1000), fmt.Sprint(i%others))
		}
		for i := range 100 {
			for range r.IntN(50) {
				serve()
			}
			want, grants := insert(20_000+i, 1+r.IntN(1000), "newcomer"+fmt.Sprint(i)), 1
			for serve() != want {
				grants++
			}
			if grants > others+1 {
				t.Errorf("beside %d flows, newcomer %d goes after %d grants, want %d at most", others, i, grants, others+1)
			}
		}
	}
}

// TestSharesOfBackloggedFlows: at any instant since two flows wait, what they got, each ÷ its weight, differs
// by no more than one charge of each.
func TestSharesOfBackloggedFlows(t *testing.T) {
	for seed := range whole.Or[uint64](8, 20) {
		r := rand.New(rand.NewPCG(seed, 3))
		var q Queue[*caller]
		at := map[*caller]*Entry[*caller]{}
		number := 0
		join := func(flow int) {
			number++
			weight := 1 << flow
			c := &caller{guest{number, number, 1}, fmt.Sprint(flow), weight * (1 + r.IntN(40))}
			at[c], _, _ = q.Insert(c, float64(c.charge)/float64(weight*weight))
		}
		const flows = 6
		for i := range 50 * flows {
			join(i % flows)
		}
		got := map[string]float64{} // ÷ weight
		for range 3000 {
			c := q.Heads(new([Rows]*caller))[0]
			got[c.flow] += at[c].charge
			at[c].Serve()
			at[c].Remove()
			join(int(c.flow[0] - '0')) // so that all flows wait all the time
			least, most := got["0"], got["0"]
			for i := range flows {
				least, most = min(least, got[fmt.Sprint(i)]), max(most, got[fmt.Sprint(i)])
			}
			if most-least > 2*40 {
				t.Fatalf("seed %d: %v", seed, got)
			}
		}
	}
}

// TestOneByOneIsRemembered: flows of which one waits at a time, which comes again at once, get no more than one
// of which many wait; and flows of which each comes once cannot keep it waiting for ever.
func TestOneByOneIsRemembered(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		var q Queue[*caller]
		at := map[*caller]*Entry[*caller]{}
		number := 0
		insert := func(flow string) {
			number++
			c := &caller{guest{number, number, 1}, flow, 1}
			at[c], _, _ = q.Insert(c, 1)
		}
		for range 10_000 {
			insert("many")
		}
		insert("one")
		got := map[bool]int{}
		for range 4 * (Remembered + 2) {
			c := q.Heads(new([Rows]*caller))[0]
			got[c.flow == "many"]++
			at[c].Serve()
			at[c].Remove()
			switch {
			case c.flow == "many":
			case fresh:
				insert(fmt.Sprint(number))
			default:
				insert("one")
			}
			if kept := len(q.rows[1].named); kept > Remembered+2 || kept != len(q.rows[1].ahead)+len(q.rows[1].active) {
				t.Fatalf("%d flows are kept, want %d at most", kept, Remembered+2)
			}
		}
		if want := 2 * (Remembered + 2); !fresh && got[true] != want {
			t.Errorf("many got %d, want %d", got[true], want)
		}
		if fresh && got[true] < 4 {
			t.Errorf("many got %d, want 4: at the start, and each time that too many flows are remembered", got[true])
		}
	}
}

// TestNewcomerAfterTooManyAreRemembered: where more flows than are remembered got much, which is forgotten
// then, a newcomer does not wait until a flow of small charges has caught up with them.
func TestNewcomerAfterTooManyAreRemembered(t *testing.T) {
	var q Queue[*caller]
	at := map[*caller]*Entry[*caller]{}
	number := 0
	insert := func(flow string, charge int) {
		number++
		c := &caller{guest{number, number, 1}, flow, charge}
		at[c], _, _ = q.Insert(c, float64(charge))
	}
	serve := func() *caller {
		c := q.Heads(new([Rows]*caller))[0]
		at[c].Serve()
		at[c].Remove()
		return c
	}
	for i := range Remembered + 10 {
		insert(fmt.Sprint(i), 1_000_000)
	}
	for range 100 {
		insert("small", 1)
	}
	for range Remembered + 20 {
		serve()
	}
	insert("newcomer", 1)
	if first, second := serve(), serve(); first.flow != "newcomer" && second.flow != "newcomer" {
		t.Errorf("%v and %v went before the newcomer, want one at most", first, second)
	}
}

// TestChargesThatAreLostInRounding: beside tags that are so huge that a charge does not change them, a newcomer
// goes after one waiter of each other flow all the same.
func TestChargesThatAreLostInRounding(t *testing.T) {
	var q Queue[*caller]
	at := map[*caller]*Entry[*caller]{}
	number := 0
	insert := func(flow string, charge float64) {
		number++
		c := &caller{guest{number, number, 1}, flow, 0}
		at[c], _, _ = q.Insert(c, charge)
	}
	serve := func() string {
		c := q.Heads(new([Rows]*caller))[0]
		at[c].Serve()
		at[c].Remove()
		return c.flow
	}
	for range 10 {
		insert("huge", 1e18)
	}
	for range 5 {
		serve()
	}
	for range 100 {
		insert("tiny", 1e-18)
	}
	serve()
	for range 20 {
		serve()
	}
	insert("newcomer", 1)
	var went []string
	for range 3 {
		went = append(went, serve())
	}
	if !slices.Contains(went, "newcomer") {
		t.Errorf("%v went before the newcomer, want one of each flow at most", went)
	}
}

// TestNothingIsKeptOfFlows: when nobody waits, nothing is left of any flow.
func TestNothingIsKeptOfFlows(t *testing.T) {
	var q Queue[*caller]
	var entries []*Entry[*caller]
	for i := range 3000 {
		e, _, _ := q.Insert(&caller{guest{i, i, 1}, fmt.Sprint(i), 1}, 1)
		entries = append(entries, e)
	}
	for i, e := range entries {
		if i%2 == 0 {
			e.Serve()
		}
		e.Remove()
	}
	if r := q.rows[1]; r.named != nil || r.ahead != nil || r.active != nil || r.now != 0 || r.n != 0 {
		t.Errorf("%d named, %d ahead, %d active at %v, want none at 0", len(r.named), len(r.ahead), cap(r.active), r.now)
	}
}

// TestGrantsAreLogarithmicInFlows counts comparisons: of 10 000 flows, each of two, a grant and a newcomer take
// few.
func TestGrantsAreLogarithmicInFlows(t *testing.T) {
	const flows = 10_000
	var q Queue[*stepping]
	at := map[*stepping]*Entry[*stepping]{}
	steps := 0
	insert := func(i int) {
		c := &stepping{caller{guest{i, i, 1}, fmt.Sprint(i % flows), 1}, &steps}
		at[c], _, _ = q.Insert(c, 1)
	}
	for i := range 2 * flows {
		insert(i)
	}
	for i := range flows {
		before := steps
		c := q.Heads(new([Rows]*stepping))[0]
		at[c].Serve()
		at[c].Remove()
		insert(2*flows + i)
		if used := steps - before; used > 6*15 { // log2(10 000) is 13.3; each level of a heap takes two, there and back
			t.Fatalf("%d comparisons for a grant and a newcomer", used)
		}
	}
}

// stepping counts its comparisons.
type stepping struct {
	caller
	steps *int
}

func (c *stepping) Before(o *stepping) bool {
	*c.steps++
	return c.caller.Before(&o.caller)
}

// BenchmarkInTurns is a grant and a new waiter, with 10 000 in line.
func BenchmarkInTurns(b *testing.B) {
	for _, flows := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(flows, " flows"), func(b *testing.B) {
			var q Queue[*caller]
			at := map[*caller]*Entry[*caller]{}
			number := 0
			insert := func(c *caller) {
				number++
				c.guest = guest{number, number, 1}
				at[c], _, _ = q.Insert(c, 1)
			}
			for i := range 10_000 {
				insert(&caller{flow: fmt.Sprint(i % flows), charge: 1})
			}
			for b.Loop() {
				c := q.Heads(new([Rows]*caller))[0]
				at[c].Serve()
				at[c].Remove()
				insert(c)
			}
		})
	}
}
