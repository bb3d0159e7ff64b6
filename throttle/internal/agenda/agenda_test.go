package agenda

import (
	"math/rand/v2"
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestAgendaAgainstAMap sets, takes off and takes at random: what is due comes, once and in order.
func TestAgendaAgainstAMap(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		var a Agenda[int]
		want := map[int]monotime.Time{}
		now := monotime.Time(1)
		for range 500 {
			switch k := r.IntN(20); {
			case r.IntN(4) == 0:
				a.Set(k, 0)
				delete(want, k)
			default:
				at := now + monotime.Time(r.IntN(30))
				a.Set(k, at)
				want[k] = at
			}
			if r.IntN(5) > 0 {
				continue
			}
			now += monotime.Time(r.IntN(10))
			left := len(want)
			before := monotime.Time(0)
			due := a.Due(now)
			var taken []int
			for a.Due(now) {
				taken = append(taken, a.Take())
			}
			for _, k := range taken {
				at, ok := want[k]
				if !ok || at > now || at < before {
					t.Fatalf("seed %d: at %d, %d is due at %d, after what was due at %d", seed, now, k, at, before)
				}
				before = at
				delete(want, k)
			}
			for k, at := range want {
				if at <= now {
					t.Fatalf("seed %d: at %d, %d was due at %d", seed, now, k, at)
				}
			}
			if due != (len(taken) > 0) || left != len(want)+len(taken) || len(a.items) != len(want) || a.index != nil && len(a.index) != len(want) {
				t.Fatalf("seed %d: due %v, took %v, %d are left of %d", seed, due, taken, len(want), left)
			}
		}
	}
}
