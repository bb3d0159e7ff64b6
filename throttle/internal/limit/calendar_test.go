package limit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// civilQuotas are quotas whose windows begin on days of the calendar, with the number of the window in which a
// date lies.
var civilQuotas = []struct {
	q  quota.Quota
	of func(y int, m time.Month, d int) int
}{
	{quota.Quota{Per: day, Kind: quota.ClockWindow, Zone: "America/Los_Angeles"}, dayNumber},
	{quota.Quota{Per: 7 * day, Kind: quota.ClockWindow, From: 1, Zone: "Europe/Berlin"}, func(y int, m time.Month, d int) int { return (dayNumber(y, m, d) + 3) / 7 }},
	{quota.Quota{Months: 1}, func(y int, m time.Month, _ int) int { return 12*y + int(m) }},
	{quota.Quota{Months: 1, Kind: quota.ClockWindow, From: 31, Zone: "America/Los_Angeles"}, func(y int, m time.Month, d int) int {
		if last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day(); d < last {
			m--
		}
		return 12*y + int(m)
	}},
	{quota.Quota{Months: 3, Zone: "Australia/Lord_Howe"}, func(y int, m time.Month, _ int) int { return (12*y + int(m) - 1) / 3 }},
	{quota.Quota{Months: 12, From: 15, Zone: "Asia/Tokyo"}, func(y int, m time.Month, d int) int {
		if m == 1 && d < 15 {
			y--
		}
		return y
	}},
}

func dayNumber(y int, m time.Month, d int) int {
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// TestCalendarAgainstDefinition sends through years, at random: the instant that When returns is the first
// nanosecond at which the dates of what went leave room, by the clocks of the zone.
func TestCalendarAgainstDefinition(t *testing.T) {
	needs64(t)
	for seed := range whole.Or[uint64](12, 30) {
		r := rand.New(rand.NewPCG(seed, 20))
		for _, c := range civilQuotas {
			q, wall := c.q, time.Date(2023+r.IntN(3), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, r.IntN(1e9), time.UTC)
			q.N = int64(1 + r.IntN(20))
			zone, err := time.LoadLocation(q.Zone)
			if err != nil {
				t.Fatal(err)
			}
			number := func(at monotime.Time) int { return c.of(wall.Add(time.Duration(at)).In(zone).Date()) }
			l := New(explicit(q), wall.UnixNano())
			long := explicit(q).Per
			type charge struct {
				at monotime.Time
				n  int
			}
			var went []charge
			used := func(at monotime.Time) (n int) {
				for _, c := range went {
					if number(c.at) == number(at) {
						n += c.n
					}
				}
				return n
			}
			for now := monotime.Time(1); now < monotime.Time(4*long+3*day); {
				n := 1 + r.IntN(int(q.N+1))
				at, ok := l.When(now, 0, int64(n))
				if ok != (int64(n) <= q.N) {
					t.Fatalf("%v: of %d, when says %v", q, n, ok)
				}
				if !ok {
					continue
				}
				if at < now || int64(used(at)+n) > q.N || at > now && int64(used(at-1)+n) <= q.N {
					t.Fatalf("%v: at %v, %d may go at %v, with %d used, and %d just before", q, wall.Add(time.Duration(now)).In(zone), n, wall.Add(time.Duration(at)).In(zone), used(at), used(at-1))
				}
				for ahead := range 3 * q.N {
					more, _ := l.When(now, ahead, int64(n))
					// Those ahead go one by one, as early as they may.
					room, window := q.N-int64(used(now)), now
					for left := ahead; ; {
						if left+int64(n) <= room {
							break
						}
						left = max(left-room, 0)
						for room, window = q.N, later(t, l.(*Grid), window); left >= q.N; window = later(t, l.(*Grid), window) {
							left -= q.N
						}
						if left+int64(n) > q.N {
							left, room = 0, 0
						}
					}
					if more != window {
						t.Fatalf("%v: %d after %d others may go at %d, want %d", q, n, ahead, more, window)
					}
				}
				switch r.IntN(4) {
				case 0:
					now = now.Add(time.Duration(r.Int64N(int64(long / 4))))
				case 1:
					if len(went) > 0 {
						i := len(went) - 1 - r.IntN(min(len(went), 4))
						l.Give(now, went[i].at, int64(went[i].n))
						went = append(went[:i:i], went[i+1:]...)
					}
				default:
					now = at
					l.Take(at, at, int64(n))
					went = append(went, charge{at, n})
				}
				if l.Idle(now) != (used(now) == 0) {
					t.Fatalf("%v: idle is %v, and %d are used", q, l.Idle(now), used(now))
				}
			}
		}
	}
}

// later returns when the next window begins.
func later(t *testing.T, g *Grid, at monotime.Time) monotime.Time {
	t.Helper()
	_, end := g.window(at)
	return end
}

// A window that is longer than a Per by which a quota was changed goes on with what it has.
func TestCalendarTakesOver(t *testing.T) {
	wall := time.Date(2024, 2, 10, 12, 0, 0, 0, time.UTC)
	march := monotime.Time(time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC).Sub(wall))
	l := New(explicit(quota.Quota{N: 10, Per: day, Kind: quota.ClockWindow}), wall.UnixNano())
	l.Take(1, 1, 7)
	for _, q := range []quota.Quota{{N: 8, Months: 1, Kind: quota.ClockWindow}, {N: 8, Months: 1}} {
		if !l.Set(2, explicit(q)) {
			t.Fatalf("%v is not taken over", q)
		}
		if at, _ := l.When(2, 0, 1); at != 2 {
			t.Errorf("%v: one more at %d", q, at)
		}
		if at, _ := l.When(2, 0, 2); at != march {
			t.Errorf("%v: two more at %d, want %d", q, at, march)
		}
	}
	if l.Set(3, explicit(quota.Quota{N: 8, Per: 30 * day})) {
		t.Error("a log was made of a window")
	}
	if New(explicit(quota.Quota{N: 8, Per: 30 * day}), 0).Set(3, explicit(quota.Quota{N: 8, Months: 1})) {
		t.Error("a window was made of a log")
	}
}

// TestCalendarSpread: what is left of a month lasts until its end, if the rest is spread, and no gap is longer
// than asked for.
func TestCalendarSpread(t *testing.T) {
	spread := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 21))
		n := 1 + r.IntN(200)
		wall := time.Date(2024, 2, 10, 12, 0, 0, r.IntN(1e9), time.UTC)
		l := New(explicit(quota.Quota{N: int64(n), Months: 1}), wall.UnixNano()).(*Grid)
		l.setSpread(func(of int64, _ time.Duration) Spread {
			return Spread{Below: (of + 4) / 5, Gap: time.Hour << r.IntN(12)}
		})
		now, last := monotime.Time(1), monotime.Time(0)
		for range 300 {
			k := 1 + r.IntN(min(3, n))
			at, ok := l.When(now, 0, int64(k))
			_, used, _ := l.count(now)
			_, end := l.window(now)
			unspread := now
			if int(used)+k > n {
				unspread = end
			}
			if !ok || at < unspread || at > end {
				t.Fatalf("%d of %d may go at %d, and unspread at %d", k, n, at, unspread)
			}
			if at > unspread {
				spread++
				left := time.Duration(n - int(used))
				if gap := min(end.Sub(last)/(left+1), l.spread.Gap); int64(left) >= l.spread.Below || at != min(last.Add(time.Duration(k)*gap), end) {
					t.Errorf("%d of %d go at %d, %v after the last, with %d left until %d", k, n, at, at.Sub(last), left, end)
				}
			}
			if l.isSpread(now, 0, int64(k), at) != (at > unspread) {
				t.Fatal("isSpread differs")
			}
			if !opens(l, at, 0, int64(k)) || at > now && opens(l, at-1, 0, int64(k)) {
				t.Fatalf("%d of %d may go at %d, says When: open then %v, just before %v", k, n, at, opens(l, at, 0, int64(k)), opens(l, at-1, 0, int64(k)))
			}
			if at = max(at, now.Add(time.Duration(r.Int64N(2)*r.Int64N(int64(day))))); r.IntN(3) == 0 && at > now {
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
