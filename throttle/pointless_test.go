package throttle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPointless(t *testing.T) {
	for _, test := range []struct{ quotas, above, want string }{
		{quotas: ""},
		{quotas: "5/s"},
		{quotas: "5/s, 100/m"}, // the second is a sliding window
		{quotas: "5/s burst 2, 100/m burst 3"},
		{quotas: "5/s, no limit"},
		{quotas: "no limit, no limit"},
		{quotas: "5/s burst 10, 100000/h window", want: "100000/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 18010/h window", want: "18010/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 18009/h window"},
		{quotas: "5/s burst 10, 18010/h log as hourly", want: "18010/h log as hourly never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 19810/h sliding 20", want: "19810/h sliding 20 never binds: 5/s burst 10 admits at most 18910 in 1h3m0s"},
		{quotas: "5/s burst 10, 18011/h estimate", want: "18011/h estimate never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 18009/h estimate"},
		// Of a bucket, the burst counts as well: 100000/h is 27.8/s, one by one.
		{quotas: "5/s burst 10, 100000/h", want: "100000/h never binds: 5/s burst 10 admits at most 19810 in 1h6m0s"},
		{quotas: "5/s burst 10, 100000/h burst 10", want: "100000/h burst 10 never binds: 5/s burst 10 admits at most 10 at once, and no more than 5/s from then on"},
		{quotas: "10/s, 5/s", want: "10/s never binds: 5/s admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "5/s, 5/s", want: "5/s never binds: 5/s admits the same"},
		{quotas: "5/s as a, 6/s as b, 5/s as c", want: "6/s as b never binds: 5/s as a admits at most 1 at once, and no more than 5/s from then on\n" +
			"5/s as c never binds: 5/s as a admits the same"},
		{quotas: "5/s, 300/m"},
		{quotas: "5/s, 331/m", want: "331/m never binds: 5/s admits at most 331 in 1m6s"},
		{quotas: "300/m window, 5/s"},
		{quotas: "5/s burst 2, 7/s"},
		{quotas: "5/s burst 9, 4/s burst 10"},
		{quotas: "5/s log, 5/s burst 5", want: "5/s burst 5 never binds: 5/s log admits at most 5 at once, and no more than 5/s from then on"},
		{quotas: "5/s log, 5/s burst 4"},
		{quotas: "5/s window, 5/s burst 11", want: "5/s burst 11 never binds: 5/s window admits at most 10 at once, and no more than 5/s from then on"},
		{quotas: "5/s window, 5/s burst 10"}, // what goes late is as good as one more
		{quotas: "5/s window, 9/s window", want: "9/s window never binds: 5/s window admits at most 5 in each window of 1s"},
		{quotas: "5/s sliding, 9/s sliding", want: "9/s sliding never binds: 5/s sliding admits at most 5 in each window of 1s"},
		{quotas: "5/s sliding, 9/s sliding 11"},
		{quotas: "5/s sliding, 10/s sliding 11", want: "10/s sliding 11 never binds: 5/s sliding admits at most 10 in 1.09090909s"},
		{quotas: "5/s window, 9/s log"},
		{quotas: "5/s window, 10/s log", want: "10/s log never binds: 5/s window admits at most 10 in 1s"},
		{quotas: "5/s window, 9/s window grid"},
		{quotas: "5/s log, 5/s window grid", want: "5/s window grid never binds: 5/s log admits at most 5 in 1s"},
		{quotas: "5/s window, 300/m window"},
		{quotas: "5/s window, 305/m window", want: "305/m window never binds: 5/s window admits at most 305 in 1m0s"},
		{quotas: "5/s window grid, 300/m window grid", want: "300/m window grid never binds: 5/s window grid admits at most 300 in each window of 1m0s"},
		{quotas: "5/s estimate, 300/m window grid", want: "300/m window grid never binds: 5/s estimate admits at most 300 in each window of 1m0s"},
		{quotas: "5/7s window grid, 45/m window grid"},
		{quotas: "5/s estimate, 5/s window grid", want: "5/s window grid never binds: 5/s estimate admits at most 5 in each window of 1s"},
		{quotas: "5/s window grid, 5/s estimate", want: "5/s window grid never binds: 5/s estimate admits at most 5 in each window of 1s"},
		{quotas: "5/s warm-up 3s, 50/s window"}, // any cost goes with a warm-up
		{quotas: "5/s, 50/s warm-up 3s"},
		{quotas: "5/s warm-up 3s cold 3, 5/s warm-up 3s", want: "5/s warm-up 3s never binds: 5/s warm-up 3s cold 3 admits the same"},
		{quotas: "5/s debt, 50/s window"},
		{quotas: "5/s debt, 50/s"},
		{quotas: "5/s, 50/s debt", want: "50/s debt never binds: 5/s admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "5/s debt, 50/s debt", want: "50/s debt never binds: 5/s debt admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "5/s, 50/s queue 10"},
		{quotas: "5/s queue 10, 50/s queue 9"},
		{quotas: "5/s queue 10, 50/s queue 10", want: "50/s queue 10 never binds: 5/s queue 10 admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "10 in flight, 9 in flight", want: "10 in flight never binds: 9 in flight admits at most 9 at a time"},
		{quotas: "10 in flight, 10 unanswered", want: "10 unanswered never binds: 10 in flight admits at most 10 at a time"},
		{quotas: "10 in flight, 9 unanswered"},
		{quotas: "9 unanswered, 10 in flight"},
		{quotas: "9 unanswered, 10 unanswered", want: "10 unanswered never binds: 9 unanswered admits at most 9 at a time"},
		{quotas: "1 in flight, 1000/s window, 1/s, 1 points unanswered", want: "1000/s window never binds: 1/s admits at most 2 in 1s"},
		{quotas: "5 tokens/s, 10/s, 10 bytes/s"},
		{quotas: "5 tokens/s, 10 tokens/s window", want: "10 tokens/s window never binds: 5 tokens/s admits at most 6 tokens in 1s"},
		{quotas: "1kB/s, 1MB/h log", want: ""},
		{quotas: "1kB/s burst 1kB, 4MB/h log", want: "4MB/h log never binds: 1kB/s burst 1kB admits at most 3601002B in 1h0m0s"},

		// What is above sees more.
		{quotas: "10/s", above: "5/s", want: "10/s never binds: 5/s admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "5/s", above: "10/s"},
		{quotas: "5/s", above: "5/s", want: "5/s never binds: 5/s admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "9/s window", above: "5/s window"},
		{quotas: "10/s window", above: "5/s window", want: "10/s window never binds: 5/s window admits at most 10 in 1s"},
		{quotas: "5/s sliding", above: "5/s sliding"},
		{quotas: "5/s log", above: "5/s log", want: "5/s log never binds: 5/s log admits at most 5 in 1s"},
		{quotas: "5/s estimate, 5/s window grid", above: "5/s estimate", want: "5/s estimate never binds: 5/s estimate admits at most 5 in each window of 1s\n" +
			"5/s window grid never binds: 5/s estimate admits at most 5 in each window of 1s"},
		{quotas: "5/s warm-up 1s", above: "5/s warm-up 1s"},
		{quotas: "9 in flight, 9 points in flight", above: "9 in flight", want: "9 in flight never binds: 9 in flight admits at most 9 at a time"},
	} {
		qs, above := quotas(t, test.quotas), quotas(t, test.above)
		var got []string
		for _, p := range qs.Pointless(above...) {
			got = append(got, p.String())
			if p.Quota != qs[p.Index] {
				t.Errorf("%q: %v has index %d", test.quotas, p.Quota, p.Index)
			}
			if from := map[bool]Quotas{false: qs, true: above}[p.Above]; !strings.Contains(from.String(), p.By.String()) {
				t.Errorf("%q: %v is not among %v", test.quotas, p.By, from)
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q above %q (-want +got):\n%s", test.above, test.quotas, diff)
		}
	}
	if found := (Quotas{{N: 5}, {N: 10, Per: -1}, {N: -1}}).Pointless(Quota{N: -3}); found != nil {
		t.Errorf("found %v, want nothing that is invalid", found)
	}
}

// paired returns a quota of any kind that counts in time.
func paired(r *rand.Rand) Quota {
	q := Quota{Kind: Kind(r.IntN(int(EstimatedWindow) + 1)), N: 1 + r.IntN(1<<r.IntN(6))}
	q.Per = time.Duration(1+r.IntN(1<<r.IntN(8))) * time.Millisecond
	switch q.Kind {
	case TokenBucket:
		q.Burst, q.Debt = r.IntN(1<<r.IntN(5)), r.IntN(8) == 0
	case SlidingWindow:
		q.Cells = r.IntN(20)
	}
	if r.IntN(2) == 0 {
		q.Per = time.Duration([]int{5, 10, 20, 50, 100}[r.IntN(5)]) * time.Millisecond
	}
	return q
}

// near returns a quota that is a little less or more strict than q.
func near(r *rand.Rand, q Quota) Quota {
	k := 1 + r.IntN(4)
	q.Per *= time.Duration(k)
	q.N = max(q.N*(k+r.IntN(2))+r.IntN(4)-1, 1)
	if q.Kind == TokenBucket {
		q.Burst = max(q.Burst+r.IntN(3)-1, 0)
	}
	if r.IntN(3) == 0 {
		q.Kind, q.Burst, q.Debt, q.Cells = paired(r).Kind, 0, false, 0
		if q.Kind == TokenBucket {
			q.Burst = q.N
		}
	}
	return q
}

// TestPointlessNeverBinds sends through pairs of quotas of which one is said to be
// pointless, in bursts, evenly, at random, late: it never delays what the other grants.
func TestPointlessNeverBinds(t *testing.T) {
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
		if covers(x, y, above) == "" {
			continue
		}
		pairs[fmt.Sprint(x.Kind, ", ", y.Kind)]++
		for range 4 {
			if err := bothGrant(r, x, y, above); err != "" {
				t.Fatalf("%v beside %v, above: %v, %s:\n%s", y, x, above, covers(x, y, above), err)
			}
		}
	}
	for x := TokenBucket; x <= EstimatedWindow; x++ {
		for y := TokenBucket; y <= EstimatedWindow; y++ {
			if pair := fmt.Sprint(x, ", ", y); pairs[pair] < 3 {
				t.Errorf("only %d pairs of %s were found", pairs[pair], pair)
			}
		}
	}
}

// bothGrant sends through both limits what x grants, and returns when y would not have.
// If x is above, others draw on it too.
func bothGrant(r *rand.Rand, x, y Quota, above bool) string {
	wall := r.Int64N(1e9)
	lx, ly := newLimit(x, wall), newLimit(y, wall)
	type grant struct {
		n        int
		due, now time.Duration
	}
	var granted []grant
	now, last := instant(time.Second), instant(0)
	style, late := r.IntN(4), r.IntN(2) == 0
	for range 300 {
		n := 1
		if style > 0 {
			n += r.IntN(max(x.N, x.Burst))
		}
		asked := now
		if late {
			// It was in line, and those before it were due before it.
			asked = max(last, asked.add(-time.Duration(r.Int64N(int64(lagCredit)+1))))
		}
		due, ok := lx.when(asked, 0, n)
		if !ok {
			continue
		}
		now, last = max(now, due), due
		if late && r.IntN(2) == 0 {
			now = max(now, due.add(time.Duration(r.Int64N(int64(lagCredit)+1))))
		}
		if !above || r.IntN(3) > 0 {
			granted = append(granted, grant{n, time.Duration(due), time.Duration(now)})
			at, ok := ly.when(due, 0, n)
			if !ok || at > now {
				return fmt.Sprintf("%+v, the last by the other at %v, %v", granted, time.Duration(at), ok)
			}
			ly.take(at, now, n)
		}
		lx.take(due, now, n)
		switch {
		case style == 2 && r.IntN(2) == 0, style == 3 && r.IntN(20) == 0:
			now = now.add(time.Duration(r.Int64N(int64(2*max(x.per(), y.per())) >> r.IntN(6))))
		case style == 1 && r.IntN(8) == 0: // to the end of a window, or just before
			for _, q := range []Quota{x, y} {
				if r.IntN(2) == 0 {
					now = max(now, tick(now, q.per(), wall).add(q.per()-time.Duration(r.IntN(2)*r.IntN(1e6))))
				}
			}
		}
	}
	return ""
}

// TestPointlessIsTight: where a quota that is just under the bound is not called
// pointless, it does bind at some time.
func TestPointlessIsTight(t *testing.T) {
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
		if why := covers(x, y, false); why != "" {
			t.Errorf("%v makes %v pointless: %s", x, y, why)
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

// TestPointlessInFlight has requests begin, be answered and be read at random: what is
// pointless among limits of what is under way always grants.
func TestPointlessInFlight(t *testing.T) {
	r := rand.New(rand.NewPCG(0, 10))
	found := 0
	for range 500 {
		x := Quota{Kind: InFlight + Kind(r.IntN(2)), N: 1 + r.IntN(6)}
		y := Quota{Kind: InFlight + Kind(r.IntN(2)), N: 1 + r.IntN(6)}
		if covers(x, y, r.IntN(2) == 0) == "" {
			continue
		}
		found++
		lx, ly := newLimit(x, 0), newLimit(y, 0)
		end := func(kind Kind, n int) {
			for _, l := range []limit{lx, ly} {
				if l.(*slots).kind == kind {
					l.give(1, 1, n)
				}
			}
		}
		var waiting, reading []int
		for range 100 {
			n := 1 + r.IntN(x.N)
			if at, ok := lx.when(1, 0, n); ok && at == 1 {
				if at, ok := ly.when(1, 0, n); !ok || at != 1 {
					t.Fatalf("%v beside %v: %d in flight, another %d would wait until %v, %v", y, x, len(waiting)+len(reading), n, at, ok)
				}
				lx.take(1, 1, n)
				ly.take(1, 1, n)
				waiting = append(waiting, n)
			}
			if r.IntN(2) == 0 && len(waiting) > 0 {
				end(Unanswered, waiting[0])
				waiting, reading = waiting[1:], append(reading, waiting[0])
			}
			if r.IntN(2) == 0 && len(reading) > 0 {
				end(InFlight, reading[0])
				reading = reading[1:]
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d pairs", found)
	}
}
