package monotime

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Nap is for how long a timer may be set at most: it goes by the monotonic clock, and sleeps on for as long as
// it had to when the machine wakes up. What was due meanwhile goes then at the latest.
const Nap = 30 * time.Second

// watch notices that the machine has slept, or that the wall clock was set. Both show as a jump of the wall
// clock against the monotonic one, for which whoever reads a Clock looks now and then.
//
// Linux says for how long it has slept; the rest of a jump is a setting of the clock. Windows counts sleep in
// its monotonic clock. Elsewhere a jump forward of 2 s and more is taken for sleep, of a day at most: that
// machines sleep is common, and that clocks are set so far forward is not. What else the wall clock does moves
// windows of the clock alone.
type watch struct {
	next  atomic.Int64 // when to look again, on the monotonic clock
	slept atomic.Int64 // for how long the machine has slept since the start
	phase atomic.Pointer[Phase]
	naps  atomic.Pointer[[]nap] // nil before the first

	mu     sync.Mutex // held by who looks; nobody waits for it
	source Source
	start  time.Time
	at     time.Duration // of the last look, on the monotonic clock
	ahead  int64         // then, the wall clock less the monotonic clock
	asleep time.Duration // what the source said when it was last asked
}

// nap is a time for which the machine has slept.
type nap struct {
	end   Time          // when that was noticed
	slept time.Duration // since the start, this one included
}

// mostNaps bounds how many naps are remembered: of an older instant nobody knows how long it was to the next
// nap.
const mostNaps = 64

// sleptBy returns for how long the machine had slept at an instant.
func (w *watch) sleptBy(t Time) (d time.Duration) {
	if naps := w.naps.Load(); naps != nil {
		for _, n := range *naps {
			if n.end <= t {
				d = n.slept
			}
		}
	}
	return d
}

// Phase says how windows of the wall clock lie.
type Phase struct {
	Wall  int64 // the wall clock at instant 0, in nanoseconds since 1970
	Since Time  // since when; zero if it was so from the start
}

// Source says what a machine's clocks say. Tests have their own, since in a bubble of testing/synctest no
// machine sleeps.
type Source interface {
	// Read reads both clocks: the wall clock in nanoseconds since 1970, and the monotonic one since an instant.
	Read(start time.Time) (wall int64, awake time.Duration)

	// Asleep is for how long the machine has slept since it was started; not ok if nobody knows.
	Asleep() (d time.Duration, ok bool)

	// Stops reports whether the monotonic clock stands still while the machine sleeps.
	Stops() bool
}

type system struct{}

func (system) Read(start time.Time) (int64, time.Duration) {
	now := time.Now()
	return now.UnixNano(), now.Sub(start)
}

func (system) Asleep() (time.Duration, bool) { return asleep() }
func (system) Stops() bool                   { return runtime.GOOS != "windows" }

// certainly is the system, where a jump of the wall clock is sleep only if the system says so.
type certainly struct{ system }

func (certainly) Stops() bool { return false }

const (
	lookEvery = 100 * time.Millisecond // of the monotonic clock: less is not noticed sooner
	smallest  = 100 * time.Millisecond // jump that means something: time.Now reads one clock after the other
	certain   = 2 * time.Second        // jump that is sleep where nobody knows
	drift     = 1000                   // clocks may differ by a part in so many, and have not jumped
	mostSleep = 24 * time.Hour         // the longest sleep where nobody knows
)

func newWatch(s Source, start time.Time) *watch {
	w := &watch{source: s, start: start}
	w.asleep, _ = s.Asleep()
	wall, at := s.Read(start)
	w.at, w.ahead = at, wall-int64(at)
	w.phase.Store(&Phase{Wall: w.ahead - 1})
	w.next.Store(int64(w.at + lookEvery))
	return w
}

// look compares the clocks, unless somebody else does.
func (w *watch) look(awake time.Duration) {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	w.next.Store(int64(awake + lookEvery))
	wall, at := w.source.Read(w.start)
	ahead := wall - int64(at)
	jump := time.Duration(ahead - w.ahead)
	elapsed := at - w.at
	w.at, w.ahead = at, ahead
	if jump.Abs() >= smallest {
		w.wokeUp(at, w.sleep(jump, elapsed))
	}
	slept := w.slept.Load()
	if wall := ahead - slept - 1; time.Duration(wall-w.phase.Load().Wall).Abs() >= smallest {
		w.phase.Store(&Phase{Wall: wall, Since: Time(at) + Time(slept) + 1})
	}
}

// wokeUp notes that the machine has slept, and for how long; that may be nothing.
func (w *watch) wokeUp(at, d time.Duration) {
	if d == 0 {
		return
	}
	slept := time.Duration(w.slept.Add(int64(d)))
	var naps []nap
	if old := w.naps.Load(); old != nil {
		naps = slices.Clone((*old)[max(len(*old)-mostNaps+1, 0):])
	}
	naps = append(naps, nap{Time(at+slept) + 1, slept})
	w.naps.Store(&naps)
}

// sleep returns which part of a jump was sleep.
func (w *watch) sleep(jump, elapsed time.Duration) time.Duration {
	if all, ok := w.source.Asleep(); ok {
		d := all - w.asleep
		if d < smallest {
			return 0
		}
		w.asleep = all
		return d
	}
	if !w.source.Stops() || jump-elapsed/drift < certain {
		return 0
	}
	return min(jump, mostSleep)
}
