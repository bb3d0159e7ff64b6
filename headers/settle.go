package headers

import "time"

// settle settles what the limits of one response say together: it shares a reset,
// drops repetitions, and puts the telling ones first. It returns how many are left.
// from says where each limit comes from.
func settle(limits []Limit, from []*field, h *hints) int {
	n := len(limits)
	if n > 1 {
		n = shareReset(limits, from)
		n = mergeAll(limits[:n], from)
	}
	for i := range limits[:n] {
		limits[i].settle(from[i], h)
	}
	if n > 1 {
		order(limits[:n])
	}
	return n
}

// settle settles what one limit says by itself.
func (l *Limit) settle(from *field, h *hints) {
	if from.step == 0 {
		checkUnit(l, h)
	}
	l.Reset.In = min(l.Reset.In, MaxReset)
	if l.Remaining.Known && l.Remaining.N == 0 && l.spent(from.long) {
		h.cause = Spent
	}
}

// shareReset gives a reset that stands alone to the named limits of its family
// which have none.
func shareReset(limits []Limit, from []*field) int {
	for i := range limits {
		lone := limits[i]
		if from[i].group != "" || !uncounted(&lone) {
			continue
		}
		shared := false
		for j := range limits {
			if l := &limits[j]; j != i && from[j].family == from[i].family && !l.Reset.Known {
				l.Reset, shared = lone.Reset, true
			}
		}
		if shared {
			return remove(limits, from, i)
		}
	}
	return len(limits)
}

// mergeAll makes one of limits that different families state about the same thing.
func mergeAll(limits []Limit, from []*field) int {
	for i := 0; i < len(limits); i++ {
		for j := i + 1; j < len(limits); {
			if from[i].family == from[j].family || !same(&limits[i], &limits[j]) {
				j++
				continue
			}
			merge(&limits[i], &limits[j])
			limits = limits[:remove(limits, from, j)]
		}
	}
	return len(limits)
}

// same reports whether two limits are one that was written twice: they have a count in
// common, or one of them has only a reset, and nothing that both state differs by more
// than a request in between or a rounding. A delay and an instant that differ are one
// as well: then a clock is wrong.
func same(a, b *Limit) bool {
	if a.Advisory != b.Advisory || a.Unit != b.Unit || a.Name != "" && b.Name != "" && a.Name != b.Name {
		return false
	}
	if a.Limit.Known && b.Limit.Known && a.Limit != b.Limit {
		return false
	}
	if d := a.Remaining.N - b.Remaining.N; a.Remaining.Known && b.Remaining.Known && (d < -1 || d > 1) {
		return false
	}
	resets := a.Reset.Known && b.Reset.Known
	if resets && a.Reset.Absolute == b.Reset.Absolute && (a.Reset.In-b.Reset.In).Abs() > disagreement {
		return false
	}
	return a.Limit.Known && b.Limit.Known || a.Remaining.Known && b.Remaining.Known ||
		resets && (uncounted(a) || uncounted(b))
}

// uncounted reports whether a limit is nothing but a reset.
func uncounted(l *Limit) bool { return !l.Limit.Known && !l.Remaining.Known }

// merge adds to a what b states and a does not.
func merge(a, b *Limit) {
	if a.Name == "" {
		a.Name = b.Name
	}
	if a.Bucket == "" {
		a.Bucket = b.Bucket
	}
	if !a.Limit.Known {
		a.Limit = b.Limit
	}
	if !a.Remaining.Known || b.Remaining.Known && b.Remaining.N < a.Remaining.N {
		a.Remaining = b.Remaining
	}
	if a.Window == 0 {
		a.Window = b.Window
	}
	a.Reset = better(a.Reset, b.Reset)
	complete(a, Count{})
}

func remove(limits []Limit, from []*field, i int) int {
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

func telling(l *Limit) int {
	n := 0
	if l.Remaining.Known {
		n += 2
	}
	if l.Reset.Known {
		n++
	}
	return n
}

// checkUnit reads a delay in whole seconds as milliseconds if it is too long for
// its window, or for a day, and as milliseconds agrees with the window or with the
// hint to retry. Nothing else tells the two apart.
func checkUnit(l *Limit, h *hints) {
	r := &l.Reset
	if r.Absolute || r.Resolution != time.Second || r.In < 1000*time.Second {
		return
	}
	suspect := 24 * time.Hour
	if l.Window > 0 {
		suspect = 2 * l.Window
	}
	in := r.In / 1000
	hint := h.delay()
	if r.In > suspect && (l.Window > 0 && in <= l.Window || hint.known && (in-hint.after).Abs() <= disagreement) {
		r.In, r.Resolution = in, time.Millisecond
	}
}
