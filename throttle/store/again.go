package store

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// This file is about what is remembered of the slots that the latest request of a member got: it gets them
// again when it comes again. Most slots come one after the other, evenly spaced, so that a few numbers tell all
// of them.

// run is slots that are evenly spaced.
type run struct {
	Slot               // the first of them; In is not used
	step time.Duration // from one to the next
	n    int           // how many there are
}

const (
	// mostRuns is after how many runs a call ends, divided by the members that are active, and fewestRuns after
	// how many it does however many members there are. A member whose slots are still of use is active. So all
	// members together, of whom 512 are remembered, have 512·(1 + 1/2 + … + 1/16) + 32·496 = 17600 runs at the
	// most, of five to eleven bytes each.
	mostRuns, fewestRuns = 512, 32
)

// runs finds the runs of slots that come one after the other.
type runs struct {
	list  []run
	noted int // of how many slots
}

// note takes in the slots that are not noted yet.
func (rs *runs) note(all []Slot) {
	for _, s := range all[rs.noted:] {
		if n := len(rs.list); n == 0 || !rs.list[n-1].add(s) {
			rs.list = append(rs.list, run{s, 0, 1})
		}
		rs.noted++
	}
}

// inRuns returns slots in runs.
func inRuns(all []Slot) []run {
	var rs runs
	rs.note(all)
	return rs.list
}

// last is the last instant.
func (o *run) last() monotime.Time {
	return monotime.Time(o.ID).Add(time.Duration(o.n-1) * o.step)
}

// add adds a slot, and reports whether it is one more of the run.
func (o *run) add(s Slot) bool {
	step := monotime.Time(s.ID).Sub(o.last())
	if s.Ask != o.Ask || s.Count != o.Count || s.Bound != o.Bound || step < 0 || o.n > 1 && step != o.step {
		return false
	}
	o.step, o.n = step, o.n+1
	return true
}

// usable returns those of the slots that a request got which may still be used, when it comes again, for each
// ask no more than it asks for. Some may have begun.
func (l *Ledger) usable(got []run, r *Request, now monotime.Time) (all []Slot) {
	rest := make([]int, len(r.Asks))
	for i := range r.Asks {
		rest[i] = r.Asks[i].Count
	}
	for _, o := range got {
		if o.Ask >= len(r.Asks) {
			continue
		}
		s := o.Slot
		if s.Bound >= len(r.Quotas) { // it is of other quotas, as no Limiter sends it
			s.Bound = -1
		}
		for k := l.expired(&o, now); k < o.n && rest[o.Ask] > 0; k++ {
			at := monotime.Time(o.ID).Add(time.Duration(k) * o.step)
			s.ID, s.In, s.Count = int64(at), at.Sub(now), min(o.Count, rest[o.Ask])
			rest[o.Ask] -= s.Count // there is less than it got if it is of other asks, or of a state that somebody has changed
			all = append(all, s)
		}
	}
	return all
}

// expired is how many slots of a run may not be used any more, when the request that got them comes again. The
// others may, whatever has changed since: they are charged, and nobody else has them. If their member did not
// hear of them, they would neither be used nor come back.
func (l *Ledger) expired(o *run, now monotime.Time) int {
	switch late := now.Sub(monotime.Time(o.ID).Add(l.slotLife)); {
	case late <= 0:
		return 0
	case late > time.Duration(o.n-1)*o.step:
		return o.n
	default:
		return int((late-1)/o.step) + 1
	}
}

// mayRepeat reports whether a member may still get slots that its latest request got. While it is active a slot
// that is not usable may become so: when SlotLife becomes longer.
func (m *member) mayRepeat(now monotime.Time) bool { return m.activeTill >= now }

// appendRuns appends the runs of slots that a request got at an instant, near which the first slot most often
// is.
func appendRuns(b []byte, got []run, at monotime.Time) []byte {
	b = varint.Append(b, len(got))
	before := int64(at)
	for _, o := range got {
		b = varint.Append(b, o.ID-before, int64(o.Ask), int64(o.Count), int64(o.Bound))
		if b = varint.Append(b, o.n); o.n > 1 {
			b = varint.Append(b, o.step)
		}
		before = o.ID
	}
	return b
}

func readRuns(r *varint.Reader, at monotime.Time) (all []run) {
	const latest = 3 * int64(monotime.Longest)
	before := int64(at)
	for range r.Len() {
		o := run{Slot: Slot{ID: before + r.Int(-latest, latest), Ask: readCount(r), Count: int(r.Int(1, math.MaxInt)), Bound: int(r.Int(-1, math.MaxInt))}, n: int(r.Int(1, math.MaxInt))}
		if o.n > 1 {
			o.step = time.Duration(r.Int(0, latest/int64(o.n)))
		}
		if o.ID < 0 || o.ID > latest {
			r.Fail()
		}
		before, all = o.ID, append(all, o)
	}
	return all
}
