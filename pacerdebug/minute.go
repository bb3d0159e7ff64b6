package pacerdebug

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// span is how many seconds a minute has: this one, which is not over yet, and those before.
const span = 60

// second is what happened in a second.
type second struct {
	went, refused, failed, waits uint32
	waited, longest              time.Duration // of those that went, or were given up, in this second
}

// kinds are the causes of waits that are counted apart. All others are counted together.
var kinds = [...]throttle.Cause{
	throttle.CausePace, throttle.CauseSpread, throttle.CauseWarmUp, throttle.CauseInFlight,
	throttle.CauseHold, throttle.CauseWindowUsedUp, throttle.CauseSlowStart, throttle.CauseStoreAsked, throttle.CauseStoreNotReached,
}

const nKinds = len(kinds) + 1 // the last one is for all others

// minute is what happened in the last minute, second by second: a ring. Seconds are counted from some instant,
// and do not go back.
type minute struct {
	latest int64 // the second that was written to last
	slots  [span]second
	causes *[span][nKinds]time.Duration // how long was waited for what; nil until there is a wait
}

// at returns the slot of a second. Seconds that have passed since the latest are empty.
func (m *minute) at(sec int64) int {
	for s := max(m.latest+1, sec-span+1); s <= sec; s++ {
		m.slots[s%span] = second{}
		if m.causes != nil {
			m.causes[s%span] = [nKinds]time.Duration{}
		}
	}
	m.latest = max(m.latest, sec)
	return int(sec % span)
}

// wait adds a wait, and what it was for.
func (m *minute) wait(sec int64, d time.Duration, parts []throttle.Wait) {
	if d <= 0 {
		return
	}
	i := m.at(sec)
	s := &m.slots[i]
	s.waits++
	s.waited += d
	s.longest = max(s.longest, d)
	if m.causes == nil {
		m.causes = new([span][nKinds]time.Duration)
	}
	for _, p := range parts {
		k := slices.Index(kinds[:], p.Cause)
		if k < 0 {
			k = nKinds - 1
		}
		m.causes[i][k] += p.For
	}
}

// sum adds up the minute that ends with a second.
func (m *minute) sum(sec int64) (all second) {
	m.each(sec, func(_ int, s *second) {
		all.went += s.went
		all.refused += s.refused
		all.failed += s.failed
		all.waits += s.waits
		all.waited += s.waited
		all.longest = max(all.longest, s.longest)
	})
	return all
}

// each calls f with every second of the minute that ends with sec, and its place there: the last one has
// span-1.
func (m *minute) each(sec int64, f func(place int, s *second)) {
	for s := max(sec-span+1, m.latest-span+1, 0); s <= min(sec, m.latest); s++ {
		f(int(s-sec)+span-1, &m.slots[s%span])
	}
}

// waitedFor adds up the minute that ends with sec by cause.
func (m *minute) waitedFor(sec int64) (all [nKinds]time.Duration) {
	if m.causes == nil {
		return all
	}
	for s := max(sec-span+1, m.latest-span+1, 0); s <= min(sec, m.latest); s++ {
		for k, d := range m.causes[s%span] {
			all[k] += d
		}
	}
	return all
}

// chart returns the minute that ends with sec as numbers to draw; nil if nothing happened.
func (m *minute) chart(sec int64) *chart {
	all := m.sum(sec)
	if all == (second{}) {
		return nil
	}
	c := &chart{
		Went: all.went, Refused: all.refused, Failed: all.failed, Waits: all.waits,
		Waited: milliseconds(all.waited), Longest: milliseconds(all.longest),
	}
	m.each(sec, func(place int, s *second) {
		put(&c.WentEach, place, int64(s.went))
		put(&c.RefusedEach, place, int64(s.refused)+int64(s.failed))
		put(&c.LongestEach, place, milliseconds(s.longest))
	})
	return c
}

// put notes a number of a second, if it is not zero.
func put(all *[]int64, place int, n int64) {
	if n == 0 {
		return
	}
	if *all == nil {
		*all = make([]int64, span)
	}
	(*all)[place] = n
}

// milliseconds returns d in milliseconds, rounded up, so that what is not over is not shown as zero.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
