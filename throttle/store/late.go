package store

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// askedLate is the longest Late that members asked for lately: in this span and in the one before it.
type askedLate struct {
	now, before time.Duration
	since       monotime.Time // when this span began
}

// ask notes that a member asks for a Late, and returns the longest. A span is the horizon, in which who waits asks once at least: a longer one keeps a
// bucket slow after its store was.
func (a *askedLate) ask(late, horizon time.Duration, now monotime.Time) time.Duration {
	if d := now.Sub(a.since); d >= horizon {
		a.before = a.now
		if d >= 2*horizon {
			a.before = 0
		}
		a.now, a.since = 0, now
	}
	a.now = max(a.now, late)
	return max(a.now, a.before)
}

// ledgerLate is the Late by which the ledger of a quota reckons. It rises at once, and falls when the slots have expired that
// may be used for longer; of a window, when they have left it.
type ledgerLate struct {
	late  time.Duration
	falls monotime.Time // when it falls; zero if it does not
	to    time.Duration // what it falls to
}

// follow has it follow the Late of the slots that are handed out from now on. The last slot so far is at an instant.
func (l *ledgerLate) follow(late time.Duration, q *quota.Quota, now, last monotime.Time) {
	if l.falls != 0 && now >= l.falls {
		l.late, l.falls = l.to, 0
	}
	switch {
	case late >= l.late, q.Kind.OnClock(): // what goes late goes in the window of its slot
		l.late, l.falls = late, 0
	case l.falls == 0 || late > l.to:
		l.falls, l.to = max(now, last).Add(l.late), late
		if q.Kind != quota.TokenBucket {
			l.falls = min(l.falls.Add(q.Per), now.Add(2*monotime.Longest))
		}
	}
}
