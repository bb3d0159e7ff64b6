package limit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// settable is a monotime.Source of a machine whose wall clock is set.
type settable struct{ set time.Duration }

func (s *settable) Read(start time.Time) (int64, time.Duration) {
	return time.Now().Add(s.set).UnixNano(), time.Since(start)
}
func (s *settable) Asleep() (time.Duration, bool) { return 0, true }
func (s *settable) Stops() bool                   { return true }

// TestGridWhenTheClockIsSet: whenever, however often and by how much the wall clock is set, no more than 2N go
// in any Per, and who asks for a token gets one within a Per. What When says is so.
func TestGridWhenTheClockIsSet(t *testing.T) {
	for _, kind := range []quota.Kind{quota.ClockWindow, quota.EstimatedWindow} {
		for seed := range uint64(400) {
			t.Run(fmt.Sprint(kind, seed), func(t *testing.T) {
				q := quota.Quota{Per: 10 * time.Second, Kind: kind}
				synctest.Test(t, func(t *testing.T) { whenTheClockIsSet(t, q, q.Per, q.Per, rand.New(rand.NewPCG(seed, 14))) })
			})
		}
	}
}

// Windows of the calendar differ in length. What holds of a Per holds of the shortest for what goes, and of the
// longest for waits.
func TestCalendarWhenTheClockIsSet(t *testing.T) {
	for _, test := range []struct {
		q                 quota.Quota
		shortest, longest time.Duration
	}{
		{quota.Quota{Per: day, Kind: quota.ClockWindow, Zone: "America/Los_Angeles"}, 23 * time.Hour, 26 * time.Hour},
		{quota.Quota{Per: 7 * day, Kind: quota.ClockWindow, From: 1}, 7 * day, 7*day + 2*time.Hour},
		{quota.Quota{Months: 1, Kind: quota.ClockWindow, From: 31, Zone: "Europe/Berlin"}, 28*day - time.Hour, 31*day + 2*time.Hour},
		{quota.Quota{Months: 1}, 28 * day, 31*day + 2*time.Hour},
	} {
		for seed := range uint64(100) {
			t.Run(fmt.Sprint(test.q.Months, test.q.Zone, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					test.q.N = 1
					whenTheClockIsSet(t, explicit(test.q), test.shortest, test.longest, rand.New(rand.NewPCG(seed, 15)))
				})
			})
		}
	}
}

func whenTheClockIsSet(t *testing.T, q quota.Quota, per, longest time.Duration, r *rand.Rand) {
	t.Helper()
	source, clock := &settable{}, monotime.Clock{}
	time.Sleep(time.Duration(r.Int64N(int64(per))))
	clock.StartBy(source)
	n := 1 + r.IntN(5)
	if q.Kind == quota.EstimatedWindow {
		longest += per / time.Duration(2*n) // as without a setting, after N at the beginning of a window
	}
	q.N = int64(n)
	g := NewGrid(q, clock.Wall())
	g.Follow(&clock)
	var sent []monotime.Time // one each
	var asked monotime.Time  // since when somebody waits; zero if nobody does
	often := []int{1, 10, 100}[r.IntN(3)]
	for range 300 {
		if r.IntN(often) == 0 {
			source.set += []time.Duration{24 * time.Hour, -24 * time.Hour, time.Hour, -time.Minute, per, per / 2, -per / 2, 0}[r.IntN(8)] +
				time.Duration(r.Int64N(int64(per)))
			time.Sleep(100 * time.Millisecond) // until that is noticed
			clock.Now()
		}
		if r.IntN(10) == 0 { // nobody asks
			time.Sleep(time.Duration(r.Int64N(int64(2 * per))))
			asked = 0
		}
		now := clock.Now()
		ahead := r.IntN(2 * n)
		least, _ := g.When(now, int64(ahead), 1)
		if at, _ := g.When(now, 0, 1); at > now {
			if least < at && ahead > 0 && !g.lately.wasSet(now) {
				t.Fatalf("%d ahead, at %v; nobody ahead, at %v", ahead, least, at)
			}
			if asked == 0 {
				asked = now
			}
			if stands := at.Sub(max(asked, last(sent))); stands > longest {
				t.Fatalf("nothing goes for %v", stands)
			}
			if r.IntN(2) == 0 {
				time.Sleep(min(at.Sub(now), time.Duration(r.Int64N(int64(per)))))
				continue
			}
			time.Sleep(at.Sub(now) - 1)
			if w, _ := g.When(clock.Now(), 0, 1); w != at {
				t.Fatalf("at %v, then %v", at, w)
			}
			time.Sleep(time.Nanosecond)
			if w, _ := g.When(clock.Now(), 0, 1); w != clock.Now() {
				t.Fatalf("at %v, then %v", at, w)
			}
			continue
		}
		asked = 0
		for range 1 + r.IntN(2*n) { // as many as may go
			if at, _ := g.When(now, 0, 1); at > now {
				break
			}
			g.Take(now, now, 1)
			sent = append(sent, now)
			if r.IntN(8) == 0 {
				g.Give(now, now, 1)
				sent = sent[:len(sent)-1]
			}
		}
		for i := len(sent) - 1; i >= 0 && sent[i].Add(per) > now; i-- {
			if in := len(sent) - i; in > 2*n {
				t.Fatalf("%d in %v, N is %d", in, now.Sub(sent[i]), n)
			}
		}
		if g.Idle(now.Add(2*longest)) != true {
			t.Fatal("not idle in 2 Per")
		}
		if r.IntN(3) > 0 {
			time.Sleep(time.Duration(r.Int64N(int64(per / 4))))
		}
	}
}

func last(sent []monotime.Time) monotime.Time {
	if len(sent) == 0 {
		return 0
	}
	return sent[len(sent)-1]
}
