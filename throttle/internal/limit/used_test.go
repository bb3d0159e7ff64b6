package limit

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestUsedOutlivesTheProcess makes a random history, has another process take over what went, and asks both
// when tokens may go: in windows, the same instants; of a bucket, less than a token later; and never earlier.
func TestUsedOutlivesTheProcess(t *testing.T) {
	for name, q := range map[string]quota.Quota{
		"plain":           {N: 20, Per: time.Hour},
		"plain, cells":    {N: 500, Per: time.Hour},
		"log":             {N: 50, Per: time.Hour, Kind: quota.SlidingLog},
		"sliding":         {N: 50, Per: time.Hour, Kind: quota.SlidingWindow, Cells: 7},
		"window":          {N: 9, Per: 2 * time.Minute, Kind: quota.FixedWindow},
		"window grid":     {N: 9, Per: time.Hour, Kind: quota.ClockWindow},
		"estimate":        {N: 9, Per: time.Hour, Kind: quota.EstimatedWindow},
		"day in a zone":   {N: 9, Per: day, Kind: quota.ClockWindow, Zone: "America/Los_Angeles"},
		"month":           {N: 9, Months: 1, From: 31},
		"bucket":          {N: 60, Per: time.Hour, Burst: 30},
		"bucket of hours": {N: 1, Per: time.Minute, Burst: 100},
		"even, debt":      {N: 60, Per: time.Hour, Burst: 1, Debt: true},
	} {
		for seed := range uint64(40) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { outlives(t, explicit(q), rand.New(rand.NewPCG(seed, 22))) })
			})
		}
	}
}

func outlives(t *testing.T, q quota.Quota, r *rand.Rand) {
	t.Helper()
	time.Sleep(time.Duration(r.Int64N(int64(40 * day))))
	var before, after monotime.Clock
	before.Start()
	none := func(int64, time.Duration) Spread { return Spread{} }
	made := func(c *monotime.Clock) (s Stack) {
		s.Set(c.Now(), quota.Quotas{q}, 0, c.Wall(), none)
		s.Follow(c)
		return s
	}
	a := made(&before)
	per := max(spanOf(&q), q.Per)
	for range 1 + r.IntN(int(2*q.N)) {
		time.Sleep(time.Duration(r.Int64N(2*int64(per)/q.N)) * time.Duration(r.IntN(2)))
		now, n := before.Now(), 1+r.IntN(int(1+q.N/20))
		if at, ok := a[0].all.When(now, 0, int64(n)); ok && at <= now {
			a[0].all.Take(at, now, int64(n))
			if r.IntN(8) == 0 {
				time.Sleep(time.Millisecond)
				a[0].all.Give(before.Now(), now, 1)
			}
		}
	}
	time.Sleep(time.Duration(r.Int64N(int64(per)))) // between the two processes
	file, err := json.Marshal(a.Used(before.Now(), &before))
	if err != nil {
		t.Fatal(err)
	}
	after.Start()
	var used []Used
	if err := json.Unmarshal(file, &used); err != nil {
		t.Fatal(err)
	}
	if q.Kind != quota.TokenBucket || q.Burst > 1 {
		if n := len(Pruned(used, time.Now())); n != len(used) {
			t.Fatalf("%d of %d are pruned: %s", len(used)-n, len(used), file)
		}
	}
	b := made(&after)
	if b.Charge(after.Now(), used, &after) != (len(used) > 0) {
		t.Fatal("charged?")
	}
	for range 100 {
		now, later, n := before.Now(), after.Now(), 1+r.IntN(int(max(Most(&q), 1)))
		want, _ := a[0].all.When(now, 0, int64(n))
		got, _ := b[0].all.When(later, 0, int64(n))
		switch d := got.Sub(later) - want.Sub(now); {
		case q.Kind != quota.TokenBucket && d != 0, d < 0, float64(d) > q.Per.Seconds()*1e9/float64(q.N):
			t.Fatalf("%d of %v may go %v later in another process, after %s", n, q, d, file)
		}
		if q.Kind != quota.TokenBucket && r.IntN(2) == 0 {
			time.Sleep(want.Sub(now))
			a[0].all.Take(before.Now(), before.Now(), int64(n))
			b[0].all.Take(after.Now(), after.Now(), int64(n))
		}
		time.Sleep(time.Duration(r.Int64N(int64(per / 3))))
	}
}

// A cell of which nothing is left but what went first is kept as of its last instant. What joins it in the next
// process, since the next cell begins so soon after that, leaves Per after it went, and no sooner.
func TestUsedOfACellAfterACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		q := quota.Quota{N: 6, Per: 61 * s, Kind: quota.SlidingWindow, Cells: 10} // of a minute, nothing is kept
		none := func(int64, time.Duration) Spread { return Spread{} }
		var before, after monotime.Clock
		var a, b Stack
		before.Start()
		a.Set(before.Now(), quota.Quotas{q}, 0, before.Wall(), none)
		a.Follow(&before)
		zero := before.Now()
		for _, at := range []time.Duration{0, 2 * s, 7 * s, 8 * s, 9 * s} { // the cells begin at 0 and at 7 s
			time.Sleep(zero.Add(at).Sub(before.Now()))
			now := before.Now()
			if a[0].all.Take(now, now, 1); at == 2*s {
				a[0].all.Give(now, now, 1)
			}
		}
		used := a.Used(before.Now(), &before)
		after.Start()
		b.Set(after.Now(), quota.Quotas{q}, 0, after.Wall(), none)
		b.Follow(&after)
		b.Charge(after.Now(), used, &after)
		for i, went := range []time.Duration{0, 7 * s, 8 * s, 9 * s} { // beside which two are free
			at, _ := b[0].all.When(after.Now(), 0, int64(i)+3)
			if is, want := at.Sub(after.Now()), went+q.Per-9*s; is < want {
				t.Errorf("%d go in %v, want %v at the soonest: %v", i+3, is, want, used)
			}
		}
	})
}

// What went is charged to the quota that is most alike: first of the same unit, kind, span and N, last of the
// same unit. Nothing is written of a quota that is idle again, and what went of another one is not taken for
// that of it.
func TestChargeOfChangedQuotas(t *testing.T) {
	for _, test := range []struct {
		old, new string
		later    time.Duration
		left     []int // of the new quotas
	}{
		{"10/h", "20/h", 0, []int{13}},
		{"10/h", "5/h", 0, []int{0}},
		{"10/h, 100/d window grid", "50/d window grid, 12/h", 0, []int{43, 5}},
		{"10/h, 100/d", "100/2d, 10/h", 0, []int{93, 3}},
		{"10/h window", "10/h", 0, []int{3}},
		{"10/month", "10/d window grid in Asia/Tokyo", 0, []int{3}},
		{"10/h", "10 tokens/h, 10/m", 0, []int{10, 10}},
		{"10/h, 20/h", "30/h", 0, []int{23}},
		{"10/h burst 10", "20/h burst 20", 0, []int{13}},
		{"10/m, 10 in flight", "10/h, 10 in flight", 0, []int{10, 10}},
		{"60/h burst 60, 10/h burst 10", "60/h burst 60, 10/h burst 10", 10 * time.Minute, []int{60, 4}},
		{"60/h burst 60, 10/h burst 10", "90/h burst 90, 10/h burst 10", 10 * time.Minute, []int{90, 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var clock monotime.Clock
			clock.Start()
			made := func(text string) (s Stack) {
				s.Set(clock.Now(), quota.MustParse(text).Explicit(), 0, clock.Wall(), func(int64, time.Duration) Spread { return Spread{} })
				return s
			}
			a := made(test.old)
			for range 7 {
				a.Take(clock.Now(), clock.Now(), &Demand{Claims: 1, N: 1}, false)
			}
			time.Sleep(test.later)
			b := made(test.new)
			used := a.Used(clock.Now(), &clock)
			b.Charge(clock.Now(), used, &clock)
			b.Charge(clock.Now(), used, &clock) // what has been charged something is left alone
			for i, left := range test.left {
				if l, _ := b.Level(clock.Now(), i); l.Available != int64(left) {
					t.Errorf("%s, then %s: %d are left of number %d, want %d", test.old, test.new, l.Available, i, left)
				}
			}
		})
	}
}

// What urgent claims took is taken, in the next run too, of what is reserved for them first; and what others
// took of their share is remembered for as long as it takes to come back, which of a bucket is longer than all
// takes. A file of a run without a reserve does not say whose it was: then all is taken of both.
func TestChargeOfAReserve(t *testing.T) {
	for _, test := range []struct {
		text            string
		reserve         float64 // of the first run
		urgent, others  int64
		later           time.Duration
		left, forOthers int64
	}{
		{"20/h window grid", 0.25, 8, 5, 0, 7, 10},
		{"20/h window", 0.25, 8, 5, 0, 7, 10},
		{"20/h log", 0.25, 8, 5, 0, 7, 10},
		{"20/h log", 0.25, 8, 0, 0, 12, 15},
		{"20/h estimate", 0.25, 8, 5, 0, 7, 10},
		{"20/h burst 20", 0.25, 8, 5, 0, 7, 10},
		{"60/h burst 20", 0.25, 0, 9, 9 * time.Minute, 19, 12}, // one less than there is, since something has to be written
		{"20/h log", 0, 8, 5, 0, 7, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var clock monotime.Clock
			clock.Start()
			made := func(reserve float64) (s Stack) {
				s.Set(clock.Now(), quota.MustParse(test.text).Explicit(), reserve, clock.Wall(), func(int64, time.Duration) Spread { return Spread{} })
				return s
			}
			a, b := made(test.reserve), made(0.25)
			for urgent, n := range map[bool]int64{true: test.urgent, false: test.others} {
				a.Take(clock.Now(), clock.Now(), &Demand{Claims: 1, N: int(n)}, urgent)
			}
			time.Sleep(test.later)
			var used []Used
			if file, err := json.Marshal(a.Used(clock.Now(), &clock)); err != nil || json.Unmarshal(file, &used) != nil {
				t.Fatal(err, string(file))
			}
			b.Charge(clock.Now(), Pruned(used, time.Now()), &clock)
			left := func(l Limit) (n int64) {
				for opens(l, clock.Now(), n, 1) {
					n++
				}
				return n
			}
			if all, others := left(b[0].all), left(b[0].unreserved); all != test.left || others != test.forOthers {
				t.Errorf("%s: %d are left, and %d to others; want %d and %d", test.text, all, others, test.left, test.forOthers)
			}
		})
	}
}

// A bucket owes in the next run what it owes in this one, for two spans at most: a claim may have cost more
// than it was expected to.
func TestChargeOfDebts(t *testing.T) {
	for _, test := range []struct {
		text string
		cost int
		wait time.Duration
	}{
		{"30/h even", 3, 6 * time.Minute},
		{"30/h even", 60, 2 * time.Hour},
		{"30/h even", 600, 2 * time.Hour},
		{"10/h burst 5 debt", 14, time.Hour},
		{"10/h burst 5 debt", 400, 2 * time.Hour},
		{"10/h burst 20", 59, 4 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			var clock monotime.Clock
			clock.Start()
			made := func() (s Stack) {
				s.Set(clock.Now(), quota.MustParse(test.text).Explicit(), 0, clock.Wall(), func(int64, time.Duration) Spread { return Spread{} })
				return s
			}
			a, b := made(), made()
			a.Take(clock.Now(), clock.Now(), &Demand{Claims: 1, N: test.cost}, false)
			b.Charge(clock.Now(), a.Used(clock.Now(), &clock), &clock)
			if at, _ := b[0].all.When(clock.Now(), 0, 1); at.Sub(clock.Now()) != test.wait {
				t.Errorf("%s, of which %d are used: the next one goes after %v, want %v", test.text, test.cost, at.Sub(clock.Now()), test.wait)
			}
		})
	}
}

// What a hostile file says is left out, or has a quota grant nothing for two of its spans at most.
func TestUsedIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fine := Used{Kind: quota.SlidingLog, Span: time.Hour, At: now, Went: []int64{5, 1, 0, 3}}
	for name, change := range map[string]func(u *Used){
		"fine":            func(*Used) {},
		"no span":         func(u *Used) { u.Span = 0 },
		"a minute":        func(u *Used) { u.Span = time.Minute },
		"a century":       func(u *Used) { u.Span = math.MaxInt64 },
		"long ago":        func(u *Used) { u.At = now.Add(-3 * time.Hour) },
		"a long unit":     func(u *Used) { u.Unit = string(make([]byte, 65)) },
		"a long kind":     func(u *Used) { u.Kind = quota.Kind(make([]byte, 65)) },
		"nothing":         func(u *Used) { u.Went = nil },
		"half":            func(u *Used) { u.Went = u.Went[:3] },
		"disorder":        func(u *Used) { u.Went = []int64{0, 3, 5, 1} },
		"a time to come":  func(u *Used) { u.Went[0] = -1 },
		"none":            func(u *Used) { u.Went[1] = 0 },
		"less than none":  func(u *Used) { u.Went[3] = math.MinInt64 },
		"too much":        func(u *Used) { u.Went[3] = math.MaxInt64 },
		"too many":        func(u *Used) { u.Went = make([]int64, 2*maxWent+2) },
		"the year 1":      func(u *Used) { u.At = time.Time{} },
		"a great age":     func(u *Used) { u.Went[0] = math.MaxInt64 },
		"of a reserve":    func(u *Used) { u.Unreserved = []int64{0, 3, 5, 1} },
		"fine, but later": func(u *Used) { u.At = now.Add(1000 * time.Hour) },
	} {
		u := fine
		u.Went = append([]int64(nil), u.Went...)
		change(&u)
		if got := len(Pruned([]Used{u}, now)); got != map[bool]int{true: 1}[name == "fine" || name == "fine, but later"] {
			t.Errorf("%s: %d are left", name, got)
		}
	}
	if n := len(Pruned(make([]Used, 100_000), now)); n != 0 {
		t.Errorf("%d are left", n)
	}
	synctest.Test(t, func(t *testing.T) {
		var clock monotime.Clock
		clock.Start()
		for _, text := range []string{"5/h", "100/h", "5/h log", "5/h sliding", "5/h window", "5/h window grid", "5/h estimate", "5/h burst 5", "5/h even", "5/year"} {
			var s Stack
			s.Set(clock.Now(), quota.MustParse(text).Explicit(), 0, clock.Wall(), func(int64, time.Duration) Spread { return Spread{} })
			q := s[0].quota
			s.Charge(clock.Now(), []Used{{Kind: q.Kind, Span: time.Hour, At: time.Now(), Went: []int64{0, quota.MaxN, 0, quota.MaxN, 0, quota.MaxN}}}, &clock)
			if at, _ := s[0].all.When(clock.Now(), 0, 1); at.Sub(clock.Now()) > 2*spanOf(q) {
				t.Errorf("%s: nothing goes for %v", text, at.Sub(clock.Now()))
			}
		}
	})
}
