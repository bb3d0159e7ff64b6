package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestRuns: slots are told in runs, of which each is said again slot by slot.
func TestRuns(t *testing.T) {
	at := func(ids ...int64) (all []Slot) {
		for _, id := range ids {
			all = append(all, Slot{ID: id, Count: 1, Bound: -1})
		}
		return all
	}
	with := func(s Slot, change func(*Slot)) []Slot {
		change(&s)
		return []Slot{s}
	}
	for name, c := range map[string]struct {
		slots []Slot
		want  int
	}{
		"none":           {nil, 0},
		"one":            {at(7), 1},
		"even":           {at(10, 20, 30, 40), 1},
		"all at once":    {at(10, 10, 10), 1},
		"two by two":     {at(10, 20, 40, 50, 70, 80), 3},
		"back":           {at(20, 10), 2},
		"another ask":    {append(at(10, 20), with(at(30)[0], func(s *Slot) { s.Ask = 1 })...), 2},
		"more at once":   {append(at(10, 20), with(at(30)[0], func(s *Slot) { s.Count = 2 })...), 2},
		"another reason": {append(at(10, 20), with(at(30)[0], func(s *Slot) { s.Bound = 0 })...), 2},
	} {
		got := inRuns(c.slots)
		if len(got) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(got), c.want)
		}
		l := Ledger{slotLife: monotime.Longest}
		r := &Request{Quotas: quota.MustParse("10/s").Explicit(), Asks: []Ask{{Count: 10}, {Count: 10}}}
		if again := l.usable(got, r, 0); !slices.EqualFunc(again, c.slots, func(a, b Slot) bool { a.In = 0; return a == b }) {
			t.Errorf("%s: again %+v, want %+v", name, again, c.slots)
		}
	}
}

// TestAgainOfSmallerAsks: a request that comes again gets no more for an ask than it asks for then. Slots at
// the same instant are one.
func TestAgainOfSmallerAsks(t *testing.T) {
	for _, text := range []string{"20/s log", "20/s burst 3"} { // all at one instant, or three, and then one after the other
		var l Ledger
		r := &Request{
			Version: Version, Bucket: "api", Quotas: quota.MustParse(text).Explicit(), SlotLife: time.Second, Horizon: time.Second,
			Member: "m", Serial: 1, Asks: []Ask{{Cost: []int64{1}, Count: 5, Within: -1}},
		}
		for _, count := range []int64{5, 4, 2, 0} {
			r.Asks[0].Count = int(count)
			reply, _, err := l.Exchange(0, r)
			if err != nil {
				t.Fatal(err)
			}
			if got := had(reply.Slots, 0); int64(got) != count {
				t.Errorf("%s: %d slots for an ask for %d", text, got, count)
			}
		}
	}
}

// TestAgainWithLongerSlotLife: slots that have expired are of use again if SlotLife becomes longer, as long as
// their member is active; also of a Ledger that was written meanwhile.
func TestAgainWithLongerSlotLife(t *testing.T) {
	for _, c := range []struct {
		late     time.Duration // after the slot
		slotLife time.Duration
		want     int
	}{
		{10 * time.Millisecond, 10 * time.Millisecond, 1},
		{10*time.Millisecond + 1, 10 * time.Millisecond, 0},
		{30 * time.Millisecond, 30 * time.Millisecond, 1},
		{30 * time.Millisecond, 30*time.Millisecond - 1, 0},
		{activeFor, time.Minute, 1},
		{activeFor + 1, time.Minute, 0},
	} {
		l, qs := new(Ledger), quota.MustParse("10/s even").Explicit()
		r := request(qs, 1)
		r.Asks, r.Horizon = []Ask{{Cost: []int64{1}, Count: 1, Within: -1}}, time.Second
		exchange(t, l, time.Second, r)
		now := time.Second + c.late
		other := request(qs, 1)
		other.Member, other.Horizon = "other", r.Horizon
		exchange(t, l, now, other)
		read := again(t, l)
		r.SlotLife = c.slotLife
		look := *r
		look.Look = true
		for name, got := range map[string]*Reply{"look": exchange(t, l, now, &look), "read": exchange(t, read, now, r), "itself": exchange(t, l, now, r)} {
			if len(got.Slots) != c.want {
				t.Errorf("%v late, SlotLife %v: %s: got %+v, want %d", c.late, c.slotLife, name, got.Slots, c.want)
			}
		}
	}
}

// TestAgainIsBounded: what is remembered for requests that may come again takes little room, whatever is asked
// for by however many members; and each gets the same again, also from a Ledger that was written and read.
func TestAgainIsBounded(t *testing.T) {
	whole.Alone(t)
	for _, c := range []struct {
		quotas  string
		members int
		costs   []int64 // of the asks
		count   int     // of each
		bytes   int
	}{
		{"100000/s even", 3, []int64{1}, 40000, 2000},
		{"1000000/s even", 20, []int64{1}, 20000, 4000},
		{"100000/s burst 1000", 3, []int64{1}, 30000, 2000},
		{"100000/s log", 3, []int64{1}, 40000, 2000},
		{"1000000/s burst 1000", mostMembers, []int64{1, 2, 3, 7}, 9, 200 << 10},
		{"1000000/s burst 1000", mostMembers, nil, 1, 200 << 10}, // of random costs
	} {
		t.Run(fmt.Sprint(c.quotas, ", ", c.members, c.costs), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			l, qs := new(Ledger), quota.MustParse(c.quotas).Explicit()
			var all []*Request
			var got []*Reply
			for i := range c.members {
				r := request(qs, 1)
				r.Member, r.SlotLife, r.Horizon = fmt.Sprintf("%026d", i), 10*time.Millisecond, 500*time.Millisecond
				for k := range 256 {
					cost := 1 + random.IntN(1000)
					if len(c.costs) > 0 {
						cost = int(c.costs[k%len(c.costs)])
					}
					r.Asks = append(r.Asks, Ask{Cost: []int64{int64(cost)}, Count: c.count, Within: -1})
					if len(c.costs) == 1 {
						break
					}
				}
				reply := exchange(t, l, time.Second, r)
				if n := len(inRuns(reply.Slots)); n == 0 || n > max(mostRuns/(i+1), fewestRuns)+1 {
					t.Fatalf("member %d got %d runs", i, n)
				}
				all, got = append(all, r), append(got, reply)
			}
			state, _ := l.AppendBinary(nil)
			if len(state) > c.bytes {
				t.Errorf("%d bytes, want %d at most", len(state), c.bytes)
			}
			var read Ledger
			if err := read.UnmarshalBinary(state); err != nil {
				t.Fatal(err)
			}
			for i, r := range all {
				for name, l := range map[string]*Ledger{"itself": l, "read": &read} {
					if again := exchange(t, l, time.Second, r); !reflect.DeepEqual(again.Slots, got[i].Slots) {
						t.Fatalf("%s: member %d got %d slots, and again %d", name, i, len(got[i].Slots), len(again.Slots))
					}
				}
			}
		})
	}
}

// TestAgainOverChanges: a request that comes again gets what it got also if a quota or SlotLife has changed
// since. Else that stayed charged, and nobody had it.
func TestAgainOverChanges(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"quota": func(r *Request) { r.Quotas = quota.MustParse("8/s burst 8").Explicit() },
		"late":  func(r *Request) { r.SlotLife = 300 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			l, qs := new(Ledger), quota.MustParse("10/s burst 10").Explicit()
			r := request(qs, 1)
			r.Member, r.SlotLife, r.Horizon = "m", 10*time.Millisecond, time.Second
			r.Asks = []Ask{{Cost: []int64{1}, Count: 5, Within: -1}}
			first := exchange(t, l, time.Second, r)
			other := request(qs, 1)
			other.Member, other.SlotLife, other.Horizon = "other", r.SlotLife, r.Horizon
			change(other)
			exchange(t, l, time.Second, other)
			if again := exchange(t, l, time.Second, r); len(first.Slots) == 0 || !reflect.DeepEqual(again.Slots, first.Slots) {
				t.Errorf("again %+v, want %+v", again.Slots, first.Slots)
			}
		})
	}
}
