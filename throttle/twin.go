package throttle

import "slices"

// Several buckets of a tree may draw on one limit of the server, where patterns make
// several of what it counts as one. What they hear is one window then, from which is taken
// what any of them has in flight.
//
// Names alone do not tell: an API may count each route by itself and call all of that
// "default", and Discord gives one name to what it counts for each channel. The numbers
// do. Two buckets of one window never hear the same Remaining, since each request took one
// of it, and what one hears after the other is less. So windows of one name, unit, size
// and reset are taken for one, which lets through too little at worst, until what is heard
// contradicts that.

// pair is what is known of two windows that may be one.
type pair struct {
	of     *window // the other
	last   int     // Remaining that was stated last, of either
	theirs bool    // of the other
	spans  int     // of both, by then
	points int
	apart  bool // they were taken for one, and are two
}

// points that are given when one bucket hears less than the other before, and when it hears
// what contradicts that they hear of one window. With less than none they are two. Some
// requests cost a server nothing, so that a contradiction is forgiven after some turns.
const (
	turn          = 1
	contradiction = -2
	mostPoints    = 3
)

// maxSpeakers bounds how many buckets of a tree are compared with one another.
const maxSpeakers = 16

// compare looks whether the statement in the answer to a request of l is about a limit of
// which others of the tree know. It requires that l has learned it, in w.
func (l *Limiter) compare(w *window, g *Grant, now instant, st *Statement) {
	root := l.root()
	if !slices.Contains(root.speakers, l) && len(root.speakers) < maxSpeakers {
		root.speakers = append(root.speakers, l)
	}
	remaining := max(st.Remaining, 0)
	switch {
	case w.users == nil:
		w.said = remaining
	case !w.agrees(l, remaining):
		w = w.without(l, remaining)
	}
	if len(root.speakers) < 2 || !st.ResetKnown {
		return
	}
	for _, o := range root.speakers {
		v := o.server.known(st)
		if o == l || v == nil || v == w || v.limit != w.limit || v.late <= now {
			continue
		}
		if early, late := v.interval(g, now, st); early > v.late || late < v.early {
			continue
		}
		if w.pairs(v).hears(v, remaining, l.server.under(w)+o.server.under(v), w.spans+v.spans) {
			w.merge(v, l, o, remaining, w.pairs(v).points)
		}
	}
}

// known returns the window of which the statement speaks, nil if there is none.
func (s *server) known(st *Statement) *window {
	for _, w := range s.windows {
		if w.name == st.Name && w.bucket == st.Bucket && w.unit == canonical(st.Unit) {
			return w
		}
	}
	return nil
}

// pairs returns what is known of w and v, which knows it as well.
func (w *window) pairs(v *window) *pair {
	for i := range w.twins {
		if w.twins[i].of == v {
			return &w.twins[i]
		}
	}
	for i := range v.twins {
		if v.twins[i].of == w {
			return &v.twins[i]
		}
	}
	if len(w.twins) == maxSpeakers {
		w.twins = slices.Delete(w.twins, 0, 1)
	}
	w.twins = append(w.twins, pair{of: v, last: v.said, theirs: true, spans: w.spans + v.spans})
	return &w.twins[len(w.twins)-1]
}

// score returns the points for a statement of so much, after the one of last by another
// bucket, while so much was in flight; and whether it is newer than that.
func score(remaining, last, inflight int) (points int, newer bool) {
	switch {
	case remaining < last:
		return turn, true
	case remaining == last && remaining > 0, remaining > last+inflight:
		return contradiction, true
	}
	return 0, false // their answers overtook each other, or nothing is left
}

// hears takes in a statement about one of the two, v being the other, and reports whether
// they are to be taken for one.
func (p *pair) hears(v *window, remaining, inflight, spans int) bool {
	theirs := p.of != v
	points, newer := score(remaining, p.last, inflight)
	if theirs == p.theirs || spans != p.spans {
		points, newer = 0, true
	}
	if newer {
		p.last, p.theirs, p.spans = remaining, theirs, spans
	}
	p.points = min(p.points+points, mostPoints)
	return p.points >= 0 && !p.apart
}

// agrees takes in a statement to l about a window of several, and reports whether l does
// draw on it, as far as is known.
func (w *window) agrees(l *Limiter, remaining int) bool {
	points, newer := score(remaining, w.said, l.server.under(w))
	if w.saidTo == l || w.saidTo == nil {
		points, newer = 0, true
	}
	if newer {
		w.said, w.saidTo = remaining, l
	}
	w.points = min(w.points+points, mostPoints)
	return w.points >= 0
}

// merge has those who draw on v, o among them, draw on w from now on, as l does.
func (w *window) merge(v *window, l, o *Limiter, remaining, points int) {
	if w.users == nil {
		w.users = []*Limiter{l}
	}
	theirs := v.users
	if theirs == nil {
		theirs = []*Limiter{o}
	}
	for _, u := range theirs {
		i := slices.Index(u.server.windows, v)
		u.server.windows[i] = w
		w.users = append(w.users, u)
	}
	w.least, w.fresh, w.since = min(w.least, v.least), min(w.fresh, v.fresh), l.server.order
	w.ours += v.ours
	w.said, w.saidTo, w.points, w.twins = remaining, l, points, nil
}

// without returns a window for l alone, which has heard that so much remains.
func (w *window) without(l *Limiter, remaining int) *window {
	own := *w
	own.users, own.least = nil, remaining
	own.twins = []pair{{of: w, apart: true}}
	w.leave(l)
	w.points = 0
	l.server.windows[slices.Index(l.server.windows, w)] = &own
	return &own
}

// leave notes that a bucket draws on w no longer.
func (w *window) leave(l *Limiter) {
	if w.users = slices.DeleteFunc(w.users, func(u *Limiter) bool { return u == l }); len(w.users) < 2 {
		w.users = nil
	}
}

// Release ends what l has in common with others of the tree, for a caller who forgets it
// since it is Idle.
func (l *Limiter) Release() {
	root := l.lock()
	defer l.unlock(root)
	for _, w := range l.server.windows {
		w.leave(l)
	}
	l.server.windows = nil
	root.speakers = slices.DeleteFunc(root.speakers, func(o *Limiter) bool { return o == l })
}
