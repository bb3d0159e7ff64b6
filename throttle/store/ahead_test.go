package store

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// With it TestStoreSlotsAskedAgain tries more histories, as in go test ./throttle/store -args -times 20.
var times = flag.Uint64("times", 1, "how many times as many seeds are tried")

// TestStoreBeforeSlotsAhead: a slot far ahead does not keep what comes back from being used until then.
func TestStoreBeforeSlotsAhead(t *testing.T) {
	const slotLife, start = 10 * time.Millisecond, time.Second
	for _, c := range []struct {
		quotas string
		ahead  time.Duration // of the slot for which there is no room
		free   int           // slots of 1 that are to be had at once when 4 of 10 came back
	}{
		{"10/m log", time.Minute + slotLife - start, 4},
		{"10/m window", time.Minute + slotLife - start, 4},
		{"10/m sliding", time.Minute + slotLife - start, 4},
		{"10/m window grid", 59 * time.Second, 4},
		{"10/m estimate", 59*time.Second + 3*time.Second + 1, 4},
		{"20/s burst 11, 10/m log", time.Minute + slotLife - start, 4},
		{"10/m log, 10/s window grid", time.Minute + slotLife - start, 4},
	} {
		t.Run(c.quotas, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script{t: t}
				for _, q := range quotas(t, c.quotas) {
					s.qs = append(s.qs, plain(q))
				}
				cost := []int64{1, 1}[:len(s.qs)]
				ask := func(n int) []Ask { return []Ask{{Cost: cost, Count: n, Within: -1}} }
				a := s.exchange(Request{Member: "a", Serial: 1, Asks: ask(10)})
				time.Sleep(start)
				if b := s.exchange(Request{Member: "b", Serial: 1, Asks: ask(1)}); b.Slots[0].In != c.ahead {
					t.Errorf("the eleventh in %v, want %v", b.Slots[0].In, c.ahead)
				}
				back := []int64{4, 4}[:len(s.qs)]
				r := s.exchange(Request{Member: "a", Serial: 2, Back: []Part{{a.Slots[0].ID, back}}, Asks: ask(8)})
				free := 0
				for _, d := range in(r) {
					if d == 0 {
						free++
					}
				}
				if free != c.free {
					t.Errorf("%d free, want %d: %v", free, c.free, in(r))
				}
			})
		})
	}
}

// TestStoreBeforeManySlotsAhead: so many slots far ahead of a bucket that they are remembered together do not
// keep what comes back from being used until then, and are not put off.
func TestStoreBeforeManySlotsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 400_000, Burst: 160_000})}}
		ask := func(n int) []Ask { return []Ask{{Cost: []int64{2000}, Count: n, Within: -1}} }
		a := s.exchange(Request{Member: "a", Serial: 1, Asks: ask(200)})
		if got := in(s.exchange(Request{Member: "b", Serial: 1, Asks: ask(200)})); len(got) != 50 || got[49] != 375*time.Millisecond {
			t.Fatalf("%d slots, the last in %v", len(got), got[len(got)-1])
		}
		time.Sleep(10 * time.Millisecond)
		r := s.exchange(Request{Member: "a", Serial: 2, Back: []Part{{a.Slots[0].ID, []int64{8000}}}})
		if r.Ahead != 365*time.Millisecond {
			t.Errorf("ahead %v", r.Ahead)
		}
		const near = 15 * time.Millisecond // up to there slots are in order
		want := []time.Duration{near, near, near, near, 370 * time.Millisecond}
		if got := in(s.exchange(Request{Member: "c", Serial: 1, Asks: ask(5)})); !slices.Equal(got, want) {
			t.Errorf("slots in %v, want %v", got, want)
		}
	})
}

// TestStoreSlotsAskedAgain: a member that returns slots ahead and asks for the same with the same request gets
// the first no later than it had it, however many slots there are, and whatever others have.
func TestStoreSlotsAskedAgain(t *testing.T) {
	for _, text := range []string{
		"100/s burst 1", "100/s burst 20", "50/s burst 5", "10/s burst 1", "20/s burst 40 debt", "50/s log", "50/s sliding", "20/200ms window",
		"20/100ms window grid", "20/100ms estimate", "40/s estimate", "400/s estimate", "100/s burst 1, 20/200ms window grid",
	} {
		t.Run(text, func(t *testing.T) {
			for seed := range 20 * *times {
				synctest.Test(t, func(t *testing.T) { askAgain(t, rand.New(rand.NewPCG(seed, 1)), quotas(t, text)) })
			}
		})
	}
}

// holder is a member with slots that it has not used, in their order.
type holder struct {
	name   string
	serial int64
	slots  []Slot
	costs  []int64
}

func askAgain(t *testing.T, r *rand.Rand, qs quota.Quotas) {
	t.Helper()
	s, start := script{t: t}, time.Now()
	most := 1
	for _, q := range qs {
		s.qs = append(s.qs, plain(q))
		most = max(most, int(min(q.Burst, 8)))
	}
	all := func(n int64) []int64 { return slices.Repeat([]int64{n}, len(qs)) }
	members := make([]holder, 2+r.IntN(9))
	ask := func(m *holder, back []Part, costs []int64) {
		req := Request{Member: m.name, Serial: m.serial + 1, Back: back, Hand: all(0)}
		m.serial++
		for _, n := range costs {
			req.Asks = append(req.Asks, Ask{Cost: all(n), Count: 1, Within: -1})
		}
		for _, o := range s.exchange(req).Slots {
			o.In += time.Since(start)
			m.slots, m.costs = append(m.slots, o), append(m.costs, costs[o.Ask])
		}
	}
	for i := range members {
		members[i].name = string(rune('a' + i))
		ask(&members[i], nil, nil)
	}
	for range 60 {
		m := &members[r.IntN(len(members))]
		if r.IntN(2) == 0 {
			costs := make([]int64, 1+r.IntN(8))
			for i := range costs {
				costs[i] = int64(1 + r.IntN(most))
			}
			ask(m, nil, costs)
			continue
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		far := slices.IndexFunc(m.slots, func(o Slot) bool { return o.In > time.Since(start)+horizon/10 })
		if far < 0 {
			m.slots, m.costs = nil, nil
			continue
		}
		had, costs := m.slots[far:], m.costs[far:]
		m.slots, m.costs = nil, nil
		var back []Part
		for i, o := range had {
			back = append(back, Part{o.ID, all(costs[i])})
		}
		if ask(m, back, costs); len(m.slots) == 0 || m.slots[0].In > had[0].In {
			t.Fatalf("had %v of %v, and got %v", had, costs, m.slots)
		}
	}
}
