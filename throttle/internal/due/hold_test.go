package due

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// start is the first instant of the tests, and at is one that comes after it.
const start = monotime.Time(1000 * time.Hour)

func at(d time.Duration) monotime.Time { return start.Add(d) }

// TestHold: a hold is extended, never shortened, and ends; what a server said of it outlasts none.
func TestHold(t *testing.T) {
	const s = time.Second
	var h Hold
	for _, row := range []struct {
		what      string
		now       time.Duration
		do        func(now monotime.Time) bool
		did       bool
		want      time.Duration // when it ends, from the start
		rest      time.Duration // what is left of 10 s from its beginning
		said      time.Duration // when it ends as a server said; zero if that is not known
		forgotten bool
	}{
		{"begins", 0, func(now monotime.Time) bool { return h.Extend(at(5*s), at(20*s), now) }, true, 5 * s, 10 * s, 20 * s, false},
		{"shorter", s, func(now monotime.Time) bool { return h.Extend(at(4*s), 0, now) }, false, 5 * s, 9 * s, 20 * s, false},
		{"as long", s, func(now monotime.Time) bool { return h.Extend(at(5*s), at(30*s), now) }, false, 5 * s, 9 * s, 30 * s, false},
		{"longer", 2 * s, func(now monotime.Time) bool { return h.Extend(at(6*s), 0, now) }, true, 6 * s, 8 * s, 30 * s, false},
		{"told again", 3 * s, func(now monotime.Time) bool { return h.Restate(at(7*s), now, s) }, true, 7 * s, 7 * s, 30 * s, false},
		{"another", 3 * s, func(now monotime.Time) bool { return h.Restate(at(8*s+1), now, s) }, false, 7 * s, 7 * s, 30 * s, false},
		{"ends", 4 * s, func(now monotime.Time) bool { h.End(now); return false }, false, 4 * s, 6 * s, 30 * s, false},
		{"told too late", 4 * s, func(now monotime.Time) bool { return h.Restate(at(5*s), now, s) }, false, 4 * s, 6 * s, 30 * s, false},
		{"over a little", 4*s + limit.Lag - 1, func(now monotime.Time) bool { h.Forget(now); return false }, false, 4 * s, 6*s - limit.Lag + 1, 30 * s, false},
		{"long over", 4*s + limit.Lag, func(now monotime.Time) bool { h.Forget(now); return false }, false, 0, 6*s - limit.Lag, 30 * s, true},
		{"of the past", 9 * s, func(now monotime.Time) bool { return h.Extend(at(9*s), 0, now) }, false, 0, 10 * s, 0, true},
		{"begins anew", 9 * s, func(now monotime.Time) bool { return h.Extend(at(11*s), at(10*s), now) }, true, 11 * s, 10 * s, 10 * s, false},
	} {
		now := at(row.now)
		did := row.do(now)
		want := at(row.want)
		if row.forgotten {
			want = 0
		}
		if did != row.did || h.Until() != want || h.On(now) != (want > now) || h.Left(now) != max(want.Sub(now), 0) || h.Rest(now, 10*s) != row.rest {
			t.Errorf("%s: %v, until %v, on %v, left %v, rest %v; want %v, until %v, rest %v", row.what, did, h.Until(), h.On(now), h.Left(now), h.Rest(now, 10*s), row.did, want, row.rest)
		}
		if said := h.said; row.said == 0 && said != 0 || row.said != 0 && said != at(row.said) {
			t.Errorf("%s: said %v, want %v", row.what, said, row.said)
		}
		var d limit.Due
		h.due(&d, now)
		if wanted := (limit.Due{At: now}); want <= now && d != wanted {
			t.Errorf("%s: due %+v, want %+v", row.what, d, wanted)
		} else if want > now && (d.At != want || d.Cause != limit.Hold || d.Reported() != max(want, h.said)) {
			t.Errorf("%s: due %+v, want a hold until %v, reported until %v", row.what, d, want, max(want, h.said))
		}
	}
}

// TestHoldForEver: one that lasts for ever is cut, and never overflows.
func TestHoldForEver(t *testing.T) {
	var h Hold
	h.Extend(at(monotime.Longest), 0, start)
	if rest := h.Rest(start, 1<<63-1); rest != monotime.Longest {
		t.Errorf("rest %v, want %v", rest, monotime.Longest)
	}
}
