package limit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// timed are the kinds that count in time.
var timed = []quota.Kind{
	quota.Plain, quota.TokenBucket, quota.FixedWindow, quota.ClockWindow, quota.SlidingWindow, quota.SlidingLog, quota.EstimatedWindow,
}

// paired returns a quota of any kind that counts in time.
func paired(r *rand.Rand) quota.Quota {
	q := quota.Quota{Kind: timed[r.IntN(len(timed))], N: int64(1 + r.IntN(1<<r.IntN(6)))}
	q.Per = time.Duration(1+r.IntN(1<<r.IntN(8))) * time.Millisecond
	switch q.Kind {
	case quota.TokenBucket:
		q.Burst, q.Debt = int64(r.IntN(1<<r.IntN(5))), r.IntN(8) == 0
	case quota.SlidingWindow:
		q.Cells = r.IntN(20)
	}
	if r.IntN(2) == 0 {
		q.Per = time.Duration([]int{5, 10, 20, 50, 100}[r.IntN(5)]) * time.Millisecond
	}
	return q
}

// near returns a quota that is a little less or more strict than q.
func near(r *rand.Rand, q quota.Quota) quota.Quota {
	k := 1 + r.IntN(4)
	q.Per *= time.Duration(k)
	q.N = max(q.N*(int64(k)+int64(r.IntN(2)))+int64(r.IntN(4))-1, 1)
	if q.Kind == quota.TokenBucket {
		q.Burst = max(q.Burst+int64(r.IntN(3))-1, 0)
	}
	if r.IntN(3) == 0 {
		q.Kind, q.Burst, q.Debt, q.Cells = paired(r).Kind, 0, false, 0
		if q.Kind == quota.TokenBucket {
			q.Burst = q.N
		}
	}
	return q
}

// TestRedundantNeverBinds sends through pairs of quotas of which one is said to be
// redundant, in bursts, evenly, at random, late: it never delays what the other grants.
func TestRedundantNeverBinds(t *testing.T) {
	whole.Alone(t)
	needs64(t)
	r := rand.New(rand.NewPCG(0, 8))
	pairs := map[string]int{}
	for range 4000 {
		x := paired(r)
		y := paired(r)
		if r.IntN(2) == 0 {
			y = near(r, x)
		}
		above := r.IntN(2) == 0
		if redundant(x, y, above) == "" {
			continue
		}
		pairs[fmt.Sprint(x.Kind, ", ", y.Kind)]++
		for range 4 {
			if err := bothGrant(r, x, y, above); err != "" {
				t.Fatalf("%v beside %v, above: %v, %s:\n%s", y, x, above, redundant(x, y, above), err)
			}
		}
	}
	for _, x := range timed[1:] {
		for _, y := range timed[1:] {
			if pair := fmt.Sprint(x, ", ", y); pairs[pair] < 3 {
				t.Errorf("only %d pairs of %s were found", pairs[pair], pair)
			}
		}
	}
}

// bothGrant sends through both limits what x grants, and returns when y would not have.
// If x is above, others draw on it too.
func bothGrant(r *rand.Rand, x, y quota.Quota, above bool) string {
	wall := r.Int64N(1e9)
	lx, ly := New(explicit(x), wall), New(explicit(y), wall)
	type grant struct {
		n        int
		due, now time.Duration
	}
	var granted []grant
	now, last := monotime.Time(time.Second), monotime.Time(0)
	style, late := r.IntN(4), r.IntN(2) == 0
	for range 300 {
		n := 1
		if style > 0 {
			n += r.IntN(int(max(x.N, x.Burst)))
		}
		asked := now
		if late {
			// It was in line, and those before it were due before it.
			asked = max(last, asked.Add(-time.Duration(r.Int64N(int64(Lag)+1))))
		}
		due, ok := lx.When(asked, 0, int64(n))
		if !ok {
			continue
		}
		now, last = max(now, due), due
		if late && r.IntN(2) == 0 {
			now = max(now, due.Add(time.Duration(r.Int64N(int64(Lag)+1))))
		}
		if !above || r.IntN(3) > 0 {
			granted = append(granted, grant{n, time.Duration(due), time.Duration(now)})
			at, ok := ly.When(due, 0, int64(n))
			if !ok || at > now {
				return fmt.Sprintf("%+v, the last by the other at %v, %v", granted, time.Duration(at), ok)
			}
			ly.Take(at, now, int64(n))
		}
		lx.Take(due, now, int64(n))
		switch {
		case style == 2 && r.IntN(2) == 0, style == 3 && r.IntN(20) == 0:
			now = now.Add(time.Duration(r.Int64N(int64(2*max(explicit(x).Per, explicit(y).Per)) >> r.IntN(6))))
		case style == 1 && r.IntN(8) == 0: // to the end of a window, or just before
			for _, q := range []quota.Quota{x, y} {
				if r.IntN(2) == 0 {
					now = max(now, now.Tick(explicit(q).Per, wall).Add(explicit(q).Per-time.Duration(r.IntN(2)*r.IntN(1e6))))
				}
			}
		}
	}
	return ""
}

// TestRedundantIsTight: where a quota that is just under the bound is not called
// redundant, it does bind at some time.
func TestRedundantIsTight(t *testing.T) {
	needs64(t)
	for _, texts := range [][2]string{
		{"5/100ms burst 10", "14/100ms log"},
		{"5/100ms burst 10", "4/100ms burst 10"},
		{"5/100ms burst 10", "50/100ms burst 9"},
		{"5/100ms", "9/190ms log"},
		{"5/100ms window grid", "9/100ms log"},
		{"5/100ms window grid", "9/100ms window"},
		{"5/100ms log", "4/100ms window"},
		{"5/100ms log", "5/100ms burst 4"},
		{"5/100ms log", "9/101ms log"},
		{"5/100ms window grid", "5/100ms estimate"},
		{"5/100ms estimate", "4/100ms window grid"},
		{"5/100ms estimate", "9/100ms window"},
	} {
		x, y := quotas(t, texts[0])[0], quotas(t, texts[1])[0]
		if why := redundant(x, y, false); why != "" {
			t.Errorf("%v makes %v redundant: %s", x, y, why)
		}
		r, binds := rand.New(rand.NewPCG(0, 9)), false
		for range 2000 {
			binds = binds || bothGrant(r, x, y, false) != ""
		}
		if !binds {
			t.Errorf("%v never delayed what %v grants", y, x)
		}
	}
}

// TestRedundantInFlight has requests begin, be answered and be read at random: what is
// redundant among limits of what is under way always grants.
func TestRedundantInFlight(t *testing.T) {
	r := rand.New(rand.NewPCG(0, 10))
	found := 0
	for range 500 {
		x := quota.Quota{Kind: []quota.Kind{quota.InFlight, quota.Unanswered}[r.IntN(2)], N: int64(1 + r.IntN(6))}
		y := quota.Quota{Kind: []quota.Kind{quota.InFlight, quota.Unanswered}[r.IntN(2)], N: int64(1 + r.IntN(6))}
		if redundant(x, y, r.IntN(2) == 0) == "" {
			continue
		}
		found++
		lx, ly := New(explicit(x), 0), New(explicit(y), 0)
		end := func(kind quota.Kind, n int) {
			for _, l := range []Limit{lx, ly} {
				if l.(*concurrent).kind == kind {
					l.Give(1, 1, int64(n))
				}
			}
		}
		var waiting, reading []int
		for range 100 {
			n := 1 + r.IntN(int(x.N))
			if at, ok := lx.When(1, 0, int64(n)); ok && at == 1 {
				if at, ok := ly.When(1, 0, int64(n)); !ok || at != 1 {
					t.Fatalf("%v beside %v: %d in flight, another %d would wait until %v, %v", y, x, len(waiting)+len(reading), n, at, ok)
				}
				lx.Take(1, 1, int64(n))
				ly.Take(1, 1, int64(n))
				waiting = append(waiting, n)
			}
			if r.IntN(2) == 0 && len(waiting) > 0 {
				end(quota.Unanswered, waiting[0])
				waiting, reading = waiting[1:], append(reading, waiting[0])
			}
			if r.IntN(2) == 0 && len(reading) > 0 {
				end(quota.InFlight, reading[0])
				reading = reading[1:]
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d pairs", found)
	}
}

// redundant returns why y never binds where x is enforced too: empty if it may.
func redundant(x, y quota.Quota, above bool) string {
	qs, others := quota.Quotas{explicit(x), explicit(y)}, quota.Quotas(nil)
	if above {
		qs, others = qs[1:], qs[:1]
	}
	why := qs.Redundant(others...)
	if why == nil {
		return ""
	}
	return why[len(qs)-1]
}

// TestRedundantReckonsWithLag: a bucket of 1000/s grants 1000 in a second, its Burst, and what is
// granted late.
func TestRedundantReckonsWithLag(t *testing.T) {
	most := 1000 + 1 + int(1000*Lag.Seconds())
	for _, n := range []int{most - 1, most} {
		log := quota.Quota{N: int64(n), Per: time.Second, Kind: quota.SlidingLog}
		if why, want := redundant(quota.Quota{N: 1000, Per: time.Second, Burst: 1}, log, false), n == most; (why != "") != want {
			t.Errorf("%v beside 1000/s: redundant is %v (%q), want %v", log, why != "", why, want)
		}
	}
}
