package throttle

// due returns d, or what comes later because of what is in hand; see Limiter.due.
func (s *lease) due(d due, ahead *demand, w *want, all, optimist bool) due {
	var buf, before costs
	n := s.cost(buf[:0], &w.demand, all)
	if empty(n) {
		return d
	}
	for i := range n {
		if n[i] > s.quotas[i].most() {
			q := &s.l.quotas[s.places[i]]
			return due{at: d.at, shared: d.shared, cause: q.cause(), quota: q.label(), cost: n[i], never: true}
		}
	}
	now := s.l.root().now()
	s.purge(now)
	at, ok := s.first(d.at, now, n)
	switch {
	case ok && (!optimist || ahead.claims == 0):
	case s.alone(now):
		return s.without(d, ahead, w, all)
	case optimist:
		before := s.cost(before[:0], ahead, all)
		add(before, n, 1)
		at = s.project(d.at, now, before, n)
		if s.down != 0 {
			at = max(at, s.retry)
		}
	case d.at > now:
		return d
	default:
		at = now.add(ages) // a reply ends this
		if t, down := s.from(); down {
			at = t
		}
	}
	switch {
	case at <= d.at:
		return d
	case s.down != 0 && !ok:
		return due{at: at, shared: d.shared, cause: CauseStore}
	}
	q := &s.l.quotas[s.places[min(max(s.bound, 0), len(s.places)-1)]]
	return due{at: at, shared: d.shared, cause: q.cause(), quota: q.label()}
}

// first returns the first instant, not before at, at which what is in hand suffices for n.
func (s *lease) first(at, now instant, n []int) (instant, bool) {
	if !suffices(s.sum, n) {
		return 0, false
	}
	var buf costs
	sum := buf[:0]
	for k, last := range s.hand {
		t := max(at, last.from)
		sum = append(sum[:0], last.left...)
		if last.until < max(t, now) {
			continue
		}
		for _, h := range s.hand[:k] {
			if !suffices(sum, n) && h.until >= max(t, now) {
				add(sum, h.left, 1)
			}
		}
		if suffices(sum, n) {
			return t, true
		}
	}
	return 0, false
}

// project returns when one that costs n goes, at the earliest, if it and all that goes
// before cost so much.
func (s *lease) project(at, now instant, all, n []int) instant {
	missing := all
	for _, h := range s.hand {
		add(missing, h.left, -1)
		if empty(missing) {
			return max(at, h.from)
		}
	}
	// What the store said last is soon out of date.
	from := at
	if s.heard != 0 && now.sub(s.heard) < horizon && suffices(n, s.nextFor) {
		from = max(at, s.next)
	}
	for i := range missing {
		at1 := s.quotas[i].most() // may be there at once, as far as is known
		if from > at {
			at1 = n[i]
		}
		missing[i] = max(missing[i]-at1, 0)
	}
	return from.add(s.quotas.work(missing))
}

// open reports whether what is in hand suffices for w at now.
func (s *lease) open(now instant, w *want) bool {
	d := s.due(due{at: now}, &demand{}, w, !w.urgent(), false)
	return d.at <= now && !d.never
}
