package limit

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// fixed is a counter: N in a window which begins with the first grant after the end of the
// window before.
type fixed struct {
	steady
	n   int64
	per time.Duration

	start  monotime.Time // of the window that ran last
	used   int64         // in it; if 0, it never was
	opened int64         // of that, at start
	last   monotime.Time // when something went last
	closed bool          // nothing more goes in it: when the server's ends is not known
}

// running reports whether a window runs at t.
func (f *fixed) running(t monotime.Time) bool { return f.used > 0 && t < f.start.Add(f.per) }

// When implements Limit. It lets what is ahead go token by token, which packs the windows
// best.
func (f *fixed) When(t monotime.Time, ahead, n int64) (monotime.Time, bool) {
	if tokens(n) > f.n {
		return t, false
	}
	// What was due at t may go later, after others that went after t (see Take).
	now := max(t, f.last)
	start, room := now, f.n
	if f.running(now) {
		start, room = f.start, max(f.n-f.used, 0)
		if f.closed {
			room = 0
		}
	}
	if windows := windowsUntil(room, f.n, tokens(ahead), tokens(n)); windows > 0 {
		return start.Add(f.per).Add(monotime.Times(windows-1, f.per)), true
	}
	return t, true
}

// windowsUntil returns in the how manieth window after the one that runs n tokens may go after ahead others;
// zero if they may in that one.
func windowsUntil(room, all, ahead, n int64) int64 {
	if ahead+n <= room {
		return 0
	}
	ahead = max(ahead-room, 0)
	full := ahead / all
	if ahead%all+n > all {
		full++
	}
	return full + 1
}

// Take implements Limit.
func (f *fixed) Take(_, now monotime.Time, n int64) {
	if !f.running(now) {
		f.start, f.used, f.opened, f.closed = now, 0, 0, false
	}
	f.used += tokens(n)
	if now == f.start {
		f.opened += tokens(n)
	}
	f.last = now
}

// Give implements Limit.
func (f *fixed) Give(now, went monotime.Time, n int64) {
	if !f.running(now) || went < f.start {
		return
	}
	f.used = max(f.used-tokens(n), 0)
	if went == f.start {
		f.opened = max(f.opened-tokens(n), 0)
	}
	if f.opened == 0 && f.used > 0 {
		// At the server, the window started with a grant that went later, with the latest
		// of all at the latest.
		f.start, f.opened, f.closed = f.last, f.used, true
	}
}

// Idle implements Limit.
func (f *fixed) Idle(now monotime.Time) bool { return !f.running(now) }

// Set implements Limit. It leaves what was charged in the window that runs, whatever its
// length becomes.
func (f *fixed) Set(_ monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Kind != quota.FixedWindow {
		return false
	}
	f.n, f.per = q.N, q.Per
	return true
}
