package order

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestAside has waiters step aside, leave and come back at random. By the definition the first of a group, by rank, comes back at its
// instant, unless one came back after the last Await; and all of a group whose instant is zero.
func TestAside(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		var a Aside[int, *guest]
		groups := map[int][]*guest{}
		until := map[int]monotime.Time{} // of each group
		awaits := map[int]bool{}         // no one came back since Await
		of := func(g *guest) int { return g.row }
		when := func(g *guest) monotime.Time { return until[of(g)] }
		now := monotime.Time(1)
		for number := range 400 {
			switch k := r.IntN(4); r.IntN(6) {
			case 0, 1:
				g := &guest{r.IntN(20), number, k}
				groups[k] = append(groups[k], g)
				slices.SortFunc(groups[k], compare)
				a.Add(k, g, when)
				awaits[k] = true
			case 2:
				if n := len(groups[k]); n > 0 {
					i := r.IntN(n)
					a.Remove(k, groups[k][i])
					groups[k] = slices.Delete(groups[k], i, i+1)
				}
			case 3:
				if until[k] = now + monotime.Time(r.IntN(20)); r.IntN(4) == 0 {
					until[k] = 0
				}
				a.Await(k, when)
				awaits[k] = true
			case 4:
				a.AwaitAll(when)
				for k := range 4 {
					awaits[k] = true
				}
			default:
				now += monotime.Time(r.IntN(10))
			}
			for g, ok := a.Back(now, when); ok; g, ok = a.Back(now, when) {
				k := of(g)
				if !awaits[k] || until[k] > now || g != groups[k][0] {
					t.Fatalf("seed %d, at %d: %v came back, of %v, until %d", seed, now, g, groups[k], until[k])
				}
				groups[k], awaits[k] = groups[k][1:], until[k] == 0
			}
			n, next := 0, monotime.Time(0)
			for k, g := range groups {
				if n += len(g); len(g) == 0 {
					awaits[k] = false
				}
				if !awaits[k] {
					continue
				}
				if until[k] <= now {
					t.Fatalf("seed %d, at %d: %v did not come back, until %d", seed, now, g[0], until[k])
				}
				if next == 0 || until[k] < next {
					next = until[k]
				}
			}
			all := 0
			for range a.After(func(func(*guest) bool) {}) {
				all++
			}
			if a.Len() != n || all != n || len(a.groups) > n || next != a.Next() {
				t.Fatalf("seed %d, at %d: %d of %d stand aside, the next until %d, want %d", seed, now, a.Len(), n, a.Next(), next)
			}
		}
	}
}
