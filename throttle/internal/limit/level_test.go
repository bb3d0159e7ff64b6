package limit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestLevel(t *testing.T) {
	const s = monotime.Time(time.Second)
	for _, test := range []struct {
		name  string
		quota quota.Quota
		n     int // charged, one after the other, at 1
		at    monotime.Time
		want  Level
	}{
		{"bucket", quota.Quota{N: 2, Burst: 10}, 0, 1, Level{10, 10, 0}},
		{"bucket, some gone", quota.Quota{N: 2, Burst: 10}, 3, 1, Level{10, 7, 1 + 3*s/2}},
		{"bucket, part of one back", quota.Quota{N: 2, Burst: 10}, 3, 1 + s/4, Level{10, 7, 1 + 3*s/2}},
		{"bucket, one back", quota.Quota{N: 2, Burst: 10}, 3, 1 + s/2, Level{10, 8, 1 + 3*s/2}},
		{"bucket in debt", quota.Quota{N: 2, Burst: 10, Debt: true}, 14, 1, Level{10, 0, 1 + 7*s}},
		{"window", quota.Quota{Kind: quota.FixedWindow, N: 5}, 2, 1 + s - 1, Level{5, 3, 1 + s}},
		{"window over", quota.Quota{Kind: quota.FixedWindow, N: 5}, 2, 1 + s, Level{5, 5, 0}},
		{"in flight", quota.Quota{Kind: quota.InFlight, N: 5}, 2, 1, Level{5, 3, 0}},
		{"warm-up", quota.Quota{N: 2, WarmUp: time.Second}, 0, 1, Level{1, 1, 0}},
		{"no limit", quota.Quota{}, 0, 1, Level{}},
	} {
		var st Stack
		q := explicit(test.quota)
		st.Set(1, quota.Quotas{q}, 0, 0, neverSpread)
		d := Demand{Claims: 1, N: 1}
		for range test.n {
			st.Take(1, 1, &d, true)
		}
		if got, ok := st.Level(test.at, 0); got != test.want || ok != (q.N > 0) {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, ok, test.want)
		}
	}
	var st Stack
	st.Set(1, quota.Quotas{explicit(quota.Quota{N: 2, WarmUp: time.Second})}, 0, 0, nil)
	st.Take(1, 1, &Demand{Claims: 1, N: 1}, true)
	at, _ := st[0].all.When(1, 0, 1)
	if got, _ := st.Level(1, 0); got != (Level{1, 0, at}) || at <= 1 {
		t.Errorf("warm-up, one gone: got %+v, want none until %d", got, at)
	}
}

// TestLevelAgainstDefinition: of a window, what is left is N less what counts by the definition, and all is
// back at the first instant at which nothing counts.
func TestLevelAgainstDefinition(t *testing.T) {
	needs64(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		for _, q := range definition.Windowed(r) {
			h := &definition.History{Quota: q, Unit: 1, Wall: r.IntN(1e9)}
			var st Stack
			st.Set(0, quota.Quotas{explicit(q)}, 0, int64(h.Wall), neverSpread)
			now := 0
			for range 60 {
				now += r.IntN(1 + h.Per()>>r.IntN(8))
				got, ok := st.Level(monotime.Time(now), 0)
				used := h.Used(now)
				if !ok || got.Most != q.N || got.Available != q.N-int64(used) || (got.Full == 0) != (used == 0) {
					t.Fatalf("%v at %d: got %+v, want %d less %d", q, now, got, q.N, used)
				}
				if got.Full != 0 && (h.Used(int(got.Full)) != 0 || h.Used(int(got.Full)-1) == 0) {
					t.Fatalf("%v at %d: all is back at %d, by the definition %d and %d are not a moment before and then",
						q, now, got.Full, h.Used(int(got.Full)-1), h.Used(int(got.Full)))
				}
				if n := r.IntN(int(1 + got.Available)); n > 0 {
					st.Take(monotime.Time(now), monotime.Time(now), &Demand{Claims: 1, N: n}, true)
					h.Went = append(h.Went, definition.Charge{At: now, N: n})
				}
			}
		}
	}
}

func neverSpread(int64, time.Duration) Spread { return Spread{} }
