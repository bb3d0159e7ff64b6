package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// stander is a guest of a kind that waits for a thing.
type stander struct {
	guest
	kind  int
	thing string
}

func (s *stander) Before(o *stander) bool { return compare(&s.guest, &o.guest) < 0 }

// group is what tells groups apart.
func (s *stander) group() string { return fmt.Sprint(s.kind, s.row, s.thing) }

// TestAside has waiters step aside, leave and come back at random. By the definition the first of a group, by
// rank, comes back at its instant, unless one came back after the last Await; and all of a group whose instant
// is zero.
func TestAside(t *testing.T) {
	for seed := range whole.Or[uint64](50, 100) {
		r := rand.New(rand.NewPCG(seed, 0))
		var a Aside[int, *stander]
		groups := map[string][]*stander{}
		at := map[*stander]Beside[int, *stander]{}
		until := map[string]monotime.Time{} // of each group
		awaits := map[string]bool{}         // no one came back since Await
		when := func(s *stander) monotime.Time { return until[s.group()] }
		now := monotime.Time(1)
		await := func(kinds ...int) {
			for g, all := range groups {
				if len(all) > 0 && (len(kinds) == 0 || all[0].kind == kinds[0]) {
					awaits[g] = true
				}
			}
		}
		for number := range 400 {
			s := &stander{guest{r.IntN(20), number, r.IntN(2)}, r.IntN(3), string(rune('a' + r.IntN(2)))}
			g := s.group()
			switch r.IntN(6) {
			case 0, 1:
				groups[g] = append(groups[g], s)
				slices.SortFunc(groups[g], func(s, o *stander) int { return compare(&s.guest, &o.guest) })
				at[s] = a.Add(s.kind, s.thing, s, 1, when)
				await(s.kind)
			case 2:
				if n := len(groups[g]); n > 0 {
					i := r.IntN(n)
					a.Remove(at[groups[g][i]])
					groups[g] = slices.Delete(groups[g], i, i+1)
				}
			case 3:
				if until[g] = now + monotime.Time(r.IntN(20)); r.IntN(4) == 0 {
					until[g] = 0
				}
				a.Await(s.kind, when)
				await(s.kind)
			case 4:
				a.AwaitAll(when)
				await()
			default:
				now += monotime.Time(r.IntN(10))
			}
			for s, ok := a.Back(now, when); ok; s, ok = a.Back(now, when) {
				g := s.group()
				if !awaits[g] || until[g] > now || s != groups[g][0] {
					t.Fatalf("seed %d, at %d: %v came back, of %v, until %d", seed, now, s, groups[g], until[g])
				}
				groups[g], awaits[g] = groups[g][1:], until[g] == 0
			}
			n, next := 0, monotime.Time(0)
			for g, all := range groups {
				if n += len(all); len(all) == 0 {
					awaits[g] = false
				}
				if !awaits[g] {
					continue
				}
				if until[g] <= now {
					t.Fatalf("seed %d, at %d: %v did not come back, until %d", seed, now, all[0], until[g])
				}
				if next == 0 || until[g] < next {
					next = until[g]
				}
			}
			var all []*stander
			last := a.Last()
			for s := range a.After(func(func(*stander) bool) {}) {
				if all = append(all, s); last.Before(s) {
					t.Fatalf("seed %d: %v is the last, but %v", seed, last, s)
				}
			}
			if a.Len() != n || len(all) != n || len(a.groups) > n || next != a.Next() {
				t.Fatalf("seed %d, at %d: %d of %d stand aside, the next until %d, want %d", seed, now, a.Len(), n, a.Next(), next)
			}
		}
	}
}

// TestAsideFlows: the flows of a group come back in turns.
func TestAsideFlows(t *testing.T) {
	var a Aside[int, *caller]
	now := func(*caller) monotime.Time { return 1 }
	for i, flow := range []string{"a", "a", "a", "a", "b", "c", "c"} {
		a.Add(0, "", &caller{guest{i, i, 1}, flow, 1}, 1, now)
	}
	got := ""
	for c, ok := a.Back(1, now); ok; c, ok = a.Back(1, now) {
		got += c.Flow()
		a.Await(0, now)
	}
	if want := "abcacaa"; got != want {
		t.Errorf("%s came back, want %s", got, want)
	}
}

// TestAsideInOrder: those that stand aside are gone through by their ranks, whatever their kinds, flows and
// rows.
func TestAsideInOrder(t *testing.T) {
	for range 40 {
		var a Aside[int, *caller]
		var want, got []int
		for i := range 16 {
			number := 7 * i % 16
			a.Add(i%4, string(rune('a'+i%2)), &caller{guest{number, number, i % 3}, string(rune('a' + i/2%2)), 1}, 1, func(*caller) monotime.Time { return 1 })
			want = append(want, i)
		}
		for c := range a.After(func(func(*caller) bool) {}) {
			got = append(got, c.number)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want them in order", got)
		}
	}
}
