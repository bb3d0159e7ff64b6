package adaptive

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// TestHugeWindow: a span that no sum can hold does not make a limit come back at once.
func TestHugeWindow(t *testing.T) {
	b := newBucket(t, Config{})
	endless := func(remaining int) quota.Statement {
		s := left(remaining, 100, time.Second)
		s.Window = math.MaxInt64
		return s
	}
	b.exchange(says(endless(0)))
	b.at(time.Second)
	b.exchange(says(endless(10))) // a part is there after the reset: it refills
	if w := b.window1(); !w.refill.refills || w.refill.rate != 1/b.config.MaxHold.Seconds() {
		t.Errorf("refills %v at %v per second, want a token per MaxHold", w.refill.refills, w.refill.rate)
	}
}

// TestHugeLimit: a fifth of the largest number is below that number, and not below zero.
func TestHugeLimit(t *testing.T) {
	b := newBucket(t, Config{Spend: Balanced})
	b.exchange(says(left(1, math.MaxInt, time.Minute)))
	b.wantDue(30 * time.Second) // two gaps until the reset
}

// TestHugeCost: what costs more than there can be leaves nothing, even of a window that was split
// off with more in flight than remains.
func TestHugeCost(t *testing.T) {
	var site Site
	b, own := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	b.exchange(says(left(1, 10, time.Minute)))
	for range 3 {
		b.send()
	}
	b.SplitOff("", own.Server)
	own.wantOpen(0)
	own.exchange(Answer{Cost: &limit.Demand{N: math.MaxInt}})
	if got := own.window1().remaining; got != 0 {
		t.Errorf("remaining %d, want 0", got)
	}
}

// TestHugeResolution: a reset that may have been long ago, says another process, is not one that
// is to come.
func TestHugeResolution(t *testing.T) {
	b := newBucket(t, Config{Spend: Even})
	s := left(5, 10, time.Minute)
	s.Resolution = math.MaxInt64
	b.Overhear(b.now, &s)
	b.at(time.Hour).send()
	b.wantDue(0)
	b.Overhear(b.now, &quota.Statement{Remaining: 5, Limit: 10, Reset: time.Minute, ResetKnown: true, Resolution: -math.MaxInt64})
	if w := b.window1(); w.reset.early != w.reset.late {
		t.Errorf("reset between %v and %v", w.reset.early, w.reset.late)
	}
}

// TestManyNames: a server cannot make a bucket remember more windows than maxWindows; the one that
// was not spoken of for the longest time is forgotten.
func TestManyNames(t *testing.T) {
	b := newBucket(t, Config{})
	say := func(i int) {
		s := left(5, 10, time.Minute)
		s.Name = string(rune('A' + i))
		b.exchange(says(s))
	}
	for i := range maxWindows {
		say(i)
	}
	say(0)
	say(maxWindows)
	if n := len(b.windows); n != maxWindows {
		t.Fatalf("%d windows, want %d", n, maxWindows)
	}
	if b.find(limitName{name: "A"}) == nil || b.find(limitName{name: "B"}) != nil || b.find(limitName{name: string(rune('A' + maxWindows))}) == nil {
		t.Error("another window was forgotten than the oldest")
	}
}

// TestTooSlowIsNoRate: a server states that all of a limit is always an hour away, of which hardly anything is
// missing, so that a token would take years. When it is honest, its next reset counts.
func TestTooSlowIsNoRate(t *testing.T) {
	b := newBucket(t, Config{})
	for n := range 5 {
		b.at(time.Duration(n) * 2 * time.Second)
		b.exchange(says(step(9999, 10000, time.Hour)))
	}
	if !b.window1().refill.refills {
		t.Fatal("the resets move on, and that is no sign that the limit refills")
	}
	b.at(time.Minute)
	b.exchange(says(left(0, 60, 20*time.Second)))
	b.wantDue(20 * time.Second)
}
