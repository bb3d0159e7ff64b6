package headers

import (
	"cmp"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/refusal"
	"github.com/gopacer/pacer/headers/internal/value"
)

// settle concludes what the limits of one response say together: it shares a reset that
// stands alone, makes one of limits that are stated twice, and puts those first that say more.
// It returns how many are left. from has, for each limit, the meaning of one of its headers.
func settle(limits []Limit, from []*name.Meaning, h *hints) int {
	n := len(limits)
	if n > 1 {
		n = shareReset(limits, from)
		n = mergeAll(limits[:n], from)
		n = complement(limits[:n], from)
	}
	for i := 0; i < n; {
		if limits[i].settle(from[i], h); limits[i].uncounted() && !limits[i].Reset.Known {
			n = remove(limits[:n], from, i)
			continue
		}
		i++
	}
	if n > 1 {
		order(limits[:n])
	}
	return n
}

// settle concludes what one limit says by itself: the unit of its reset, and whether it is
// spent.
func (l *Limit) settle(from *name.Meaning, h *hints) {
	if from.Step == 0 {
		checkUnit(l, from, h)
	}
	l.Reset.In = min(l.Reset.In, MaxReset)
	if l.Remaining.Known && l.Remaining.N == 0 && l.spent(from.Long) {
		h.refusal = refusal.Spent
	}
}

// soon is the time within which a quota may be restored without being spent.
const soon = time.Hour

const day = 24 * time.Hour

// spent reports whether a limit of which nothing remains is a RefusalSpent. long says that its window
// is a month or longer.
func (l *Limit) spent(long bool) bool {
	counted := !l.Limit.Known || l.Limit.N > 0
	if !counted || l.Advisory || l.Reset.Known && l.Reset.In < soon {
		return false
	}
	return long || l.Window >= day
}

// shareReset gives a reset that stands alone to the named limits of its family
// which have none: to those whose windows it fits, if there are any. Budgets of money have one of their own.
func shareReset(limits []Limit, from []*name.Meaning) int {
	for i := range limits {
		lone := limits[i]
		if from[i].Group != "" && from[i].Group != from[i].Family || !lone.uncounted() {
			continue
		}
		shared := false
		for _, fits := range [...]bool{true, false} {
			for j := range limits {
				l := &limits[j]
				if j == i || from[j].Family != from[i].Family || l.Reset.Known || l.Unit == value.Money || fits && l.Window > 0 && lone.Reset.In > 2*l.Window {
					continue
				}
				if l.Reset, shared = lone.Reset, true; !fits && l.Window == from[j].Window && mayBeMillis(&lone.Reset) {
					l.Reset = Reset{} // seconds of another limit, or milliseconds of this one
				}
			}
			if shared {
				return remove(limits, from, i)
			}
		}
	}
	return len(limits)
}

// mayBeMillis reports whether a delay has the digits of one in milliseconds.
func mayBeMillis(r *Reset) bool {
	return !r.Absolute && r.Resolution == time.Second && r.In >= 1000*time.Second
}

// mergeAll makes one of limits that different families state about the same thing.
func mergeAll(limits []Limit, from []*name.Meaning) int {
	for i := 0; i < len(limits); i++ {
		for j := i + 1; j < len(limits); {
			if from[i].Family == from[j].Family || !same(&limits[i], &limits[j]) {
				j++
				continue
			}
			merge(&limits[i], &limits[j])
			limits = limits[:remove(limits, from, j)]
		}
	}
	return len(limits)
}

// complement makes one of two limits of which one states how much there is in a window, and the other how much
// is left in it, if they are the only ones (Apollo's x-rate-limit-minute beside x-minute-requests-left).
func complement(limits []Limit, from []*name.Meaning) int {
	for i := 0; i < len(limits); i++ {
		if limits[i].Window == 0 || limits[i].Remaining.Known || !limits[i].Limit.Known {
			continue
		}
		other, several := -1, false
		for j := range limits {
			if j == i || limits[j].Window != limits[i].Window || limits[j].Unit != limits[i].Unit || limits[j].Advisory != limits[i].Advisory {
				continue
			}
			several = several || other >= 0
			other = j
		}
		if other < 0 || several || from[i].Family == from[other].Family {
			continue
		}
		a, b := &limits[i], &limits[other]
		if b.Remaining.Known && !b.Limit.Known && b.Remaining.N <= a.Limit.N {
			a.Remaining, a.Reset, a.Counter = b.Remaining, better(a.Reset, b.Reset), cmp.Or(a.Counter, b.Counter)
			limits = limits[:remove(limits, from, other)]
			i = -1
		}
	}
	return len(limits)
}

// same reports whether two limits are one that was written twice: they have a count in
// common, or one of them has only a reset, and nothing that both state differs.
func same(a, b *Limit) bool {
	resets := a.Reset.Known && b.Reset.Known
	common := a.Limit.Known && b.Limit.Known || a.Remaining.Known && b.Remaining.Known || resets && (a.uncounted() || b.uncounted())
	return common && !differ(a, b)
}

// differ reports whether two limits state something that differs by more than a request in
// between or a rounding. A delay and an instant that differ are one as well: then a clock is
// wrong.
func differ(a, b *Limit) bool {
	if a.Advisory != b.Advisory || a.Unit != b.Unit || a.Name != "" && b.Name != "" && a.Name != b.Name {
		return true
	}
	if a.Limit.Known && b.Limit.Known && a.Limit != b.Limit {
		return true
	}
	if d := a.Remaining.N - b.Remaining.N; a.Remaining.Known && b.Remaining.Known && (d < -1 || d > 1) {
		return true
	}
	return a.Reset.Known && b.Reset.Known && a.Reset.Absolute == b.Reset.Absolute && (a.Reset.In-b.Reset.In).Abs() > disagreement
}

// merge adds to a what b states and a does not.
func merge(a, b *Limit) {
	a.Name, a.Counter, a.Window = cmp.Or(a.Name, b.Name), cmp.Or(a.Counter, b.Counter), cmp.Or(a.Window, b.Window)
	if !a.Limit.Known {
		a.Limit = b.Limit
	}
	if !a.Remaining.Known || b.Remaining.Known && b.Remaining.N < a.Remaining.N {
		a.Remaining = b.Remaining
	}
	a.Reset = better(a.Reset, b.Reset)
	complete(a, Count{})
}

// remove removes the limit at position i, and what is known of it, and returns how many are
// left.
func remove(limits []Limit, from []*name.Meaning, i int) int {
	copy(from[i:], from[i+1:])
	return i + copy(limits[i:], limits[i+1:])
}

// order puts limits first that say what is left, then those that say until when,
// and leaves the rest as it is.
func order(limits []Limit) {
	for i := 1; i < len(limits); i++ {
		for j := i; j > 0 && telling(&limits[j]) > telling(&limits[j-1]); j-- {
			limits[j], limits[j-1] = limits[j-1], limits[j]
		}
	}
}

// telling ranks limits by what they say: what is left counts for more than until when.
func telling(l *Limit) int {
	n := 0
	if l.Remaining.Known {
		n += 2
	}
	if l.Reset.Known {
		n++
	}
	n *= 2
	if !l.Advisory {
		n++ // of those that say as much, the one that is enforced comes first
	}
	return n
}

// checkUnit reads a delay in whole seconds as milliseconds if it is too long for its window, for a day, or for
// any reset, and as milliseconds agrees with the window or with the hint to retry. Nothing else tells the two
// apart, so that it takes a delay of four digits; of three, the reset is not known if the window is that of a
// name. The fields of the IETF are in seconds, whatever they say. Where seconds may be meant all the same,
// because only prose states the window, or because they exceed it by little, the reset is not known.
func checkUnit(l *Limit, from *name.Meaning, h *hints) {
	r := &l.Reset
	if r.Absolute || r.Resolution != time.Second || r.In < 100*time.Second || from.InSeconds() {
		return
	}
	if r.In < 1000*time.Second {
		l.doubtShort(from)
		return
	}
	in := r.In / 1000
	hint := h.delay()
	agrees := hint.Known && (in-hint.In).Abs() <= disagreement
	switch {
	case l.Window > 0 && (r.In <= l.Window+l.Window/10+disagreement || in > l.Window && !agrees):
		// It fits, but for rounding, and for months and days which differ in length; or no reading of it does.
	case l.Window > 0 && !agrees && (r.In <= 2*l.Window || from.Table() && l.Window == from.Window):
		*r = Reset{}
	case l.Window > 0, r.In > day && agrees, r.In > longestDelay && r.In%time.Hour > 0 && !from.Long:
		r.In, r.Resolution = in, time.Millisecond
	}
}

// doubtShort forgets a delay of three digits beyond the window of a name: it is less than a second, if the
// delay is one of milliseconds that count down.
func (l *Limit) doubtShort(from *name.Meaning) {
	if l.Window > 0 && l.Window == from.Window && l.Reset.In > 2*l.Window {
		l.Reset = Reset{}
	}
}

// longestDelay is beyond MaxReset by as much as a month may be rounded up. What is longer, and no number of
// hours, as a year is, is in milliseconds.
const longestDelay = MaxReset + MaxReset/10
