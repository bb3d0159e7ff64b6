package limit

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestKindsWhenIsExact asks limits of all kinds at random instants, and charges and
// gives back: when is the first nanosecond at which the definition has room.
func TestKindsWhenIsExact(t *testing.T) {
	needs64(t)
	for seed := range whole.Or[uint64](20, 40) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, q := range definition.Windowed(r) {
			cells := cmp.Or(q.Cells, 10)
			q.Per += time.Duration(r.IntN(1000) / cells * cells)
			h := &definition.History{Quota: q, Unit: 1, Wall: r.IntN(1e9)}
			whenIsExact(t, r, New(explicit(q), int64(h.Wall)), h)
		}
	}
}

func whenIsExact(t *testing.T, r *rand.Rand, l Limit, h *definition.History) {
	t.Helper()
	now, per := 0, h.Per()
	for range 200 {
		if r.IntN(3) == 0 {
			now += r.IntN(1 + per>>r.IntN(8))
		}
		n := 1 + r.IntN(int(1+h.Quota.N>>r.IntN(3)))
		at, ok := l.When(monotime.Time(now), 0, int64(n))
		if ok != (int64(n) <= h.Quota.N) {
			t.Fatalf("%v: of %d, when says %v", h.Quota, n, ok)
		}
		if !ok {
			continue
		}
		room := func(at int) bool { return int64(h.Used(at)+n) <= h.Quota.N }
		if !room(int(at)) || int(at) > now && room(int(at)-1) || int(at) < now {
			t.Fatalf("%v: at %d, %d may go at %d; by definition: %v, a moment before: %v\n%v",
				h.Quota, now, n, at, room(int(at)), room(int(at)-1), h.Went)
		}
		switch r.IntN(4) {
		case 0:
		case 1:
			if len(h.Went) > 0 {
				i := len(h.Went) - 1 - r.IntN(min(len(h.Went), 4))
				c := h.Went[i]
				if went, alike := h.Without(c); alike {
					l.Give(monotime.Time(now), monotime.Time(c.At), int64(c.N))
					h.Went = went
				}
			}
		default:
			now = int(at)
			l.Take(at, at, int64(n))
			h.Went = append(h.Went, definition.Charge{At: now, N: n})
			if len(h.Went) > 60 { // more than Per ago
				h.Forget(now)
			}
		}
		if idle := l.Idle(monotime.Time(now)); idle && h.Used(now) > 0 {
			t.Fatalf("%v: idle, and %d are used", h.Quota, h.Used(now))
		}
	}
	until := now + 4*per
	for l.Take(monotime.Time(now), monotime.Time(now), 1); !l.Idle(monotime.Time(now)); now += per / 4 {
		if now > until {
			t.Fatalf("%v: never idle", h.Quota)
		}
	}
}

// needs64 skips tests whose model reckons in int.
func needs64(t *testing.T) {
	t.Helper()
	if strconv.IntSize < 64 {
		t.Skip("nanoseconds need 64 bits")
	}
}

// explicit is a quota with its defaults.
func explicit(q quota.Quota) quota.Quota { return quota.Quotas{q}.Explicit()[0] }

// TestPlainSpread: of a plain quota whose rest is spread, too, the instant that When returns is the first one
// at which the tokens may go. What is left is never used up before more comes back, and no gap is longer than
// asked for.
func TestPlainSpread(t *testing.T) {
	spread := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 1 + r.IntN(200)
		l := New(explicit(quota.Quota{N: int64(n), Per: time.Hour}), 0).(*sliding)
		l.spread = Spread{Below: int64([]int{(n + 4) / 5, math.MaxInt}[r.IntN(2)]), Gap: 2 * time.Minute}
		now, last := monotime.Time(1), monotime.Time(0)
		for range 100 {
			k := 1 + r.IntN(min(3, n))
			at, ok := l.When(now, 0, int64(k))
			unspread, _ := l.unspread(now, 0, int64(k))
			if !ok || at < unspread {
				t.Fatalf("%d of %d may go at %d, and unspread at %d", k, n, at, unspread)
			}
			if at > unspread {
				if spread++; at > max(unspread, last.Add(time.Duration(k)*l.spread.Gap)) {
					t.Errorf("%d of %d wait for longer than %d gaps", k, n, k)
				}
			}
			if !opens(l, at, 0, int64(k)) || at > now && opens(l, at-1, 0, int64(k)) {
				t.Fatalf("%d of %d may go at %d, says When: open then %v, just before %v", k, n, at, opens(l, at, 0, int64(k)), opens(l, at-1, 0, int64(k)))
			}
			if at = max(at, now.Add(time.Duration(r.Int64N(2)*r.Int64N(1e12)))); r.IntN(3) == 0 && at > now {
				continue // nobody goes
			}
			now, last = at, at
			l.Take(now, now, int64(k))
		}
	}
	if spread < 1000 {
		t.Errorf("only %d were spread", spread)
	}
}
