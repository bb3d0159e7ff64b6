package adaptive

import (
	"slices"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// overlap is what is known of other Servers that may draw on the limit of a window, where
// patterns make several buckets of what the server counts as one. What they hear is one window
// then, from which is taken what any of them has in flight.
//
// Names alone do not tell: an API may count each route by itself and call all of that
// "default", and Discord gives one name to what it counts for each channel. The numbers do.
// Two Servers of one window never hear the same Remaining, since each request took one of it,
// and what one hears after the other is less. So windows of one name, unit, size and reset are
// taken for one, which lets through too little at worst, until what is heard contradicts that.
type overlap struct {
	users    []*Server // that draw on the window, if they are several
	stated   int       // Remaining that was stated last
	statedTo *Server   // of the users
	points   int       // for their being several
	pairs    []pair
}

// pair is what is known of two windows that may be one.
type pair struct {
	of     *window // the other
	stated int     // Remaining that was stated last, of either
	theirs bool    // of the other
	resets int     // of both, by then
	points int
	apart  bool // they were taken for one, and are two
}

const (
	// Points that are given when one Server hears less than the other before, and when it
	// hears what contradicts that they hear of one window. With less than none they are two.
	// Some requests cost a server nothing, so that a contradiction is forgiven after some
	// turns.
	turn          = 1
	contradiction = -2
	mostPoints    = 3

	// maxSpeakers bounds how many Servers of a Site are compared with one another.
	maxSpeakers = 16
)

// compare looks whether a statement to s, from which it has learned w, is about a limit of which
// others of the Site know.
func (s *Server) compare(w *window, t *Ticket, now monotime.Time, st *quota.Statement) {
	site := s.site
	if !s.speaks && len(site.speakers) < maxSpeakers {
		s.speaks = true
		site.speakers = append(site.speakers, s)
	}
	remaining := max(st.Remaining, 0)
	switch {
	case w.overlap.users == nil:
		w.overlap.stated = remaining
	case !s.agrees(w, remaining):
		w = s.without(w, remaining)
	}
	if len(site.speakers) < 2 || !st.ResetKnown {
		return
	}
	for _, o := range site.speakers {
		v := o.find(st.Name, st.Bucket, canonical(st.Unit))
		if o == s || v == nil || v == w || v.limit != w.limit || v.reset.late <= now {
			continue
		}
		if early, late := v.reset.interval(t.Sent, now, st); early > v.reset.late || late < v.reset.early {
			continue
		}
		p := w.pairWith(v)
		if p.hear(v, remaining, s.under(w)+o.under(v), w.reset.resets+v.reset.resets) {
			s.merge(w, o, v, remaining, p.points)
		}
	}
}

// pairWith returns what is known of w and v, which knows it as well.
func (w *window) pairWith(v *window) *pair {
	for i := range w.overlap.pairs {
		if p := &w.overlap.pairs[i]; p.of == v {
			return p
		}
	}
	for i := range v.overlap.pairs {
		if p := &v.overlap.pairs[i]; p.of == w {
			return p
		}
	}
	pairs := &w.overlap.pairs
	if len(*pairs) == maxSpeakers {
		*pairs = slices.Delete(*pairs, 0, 1)
	}
	*pairs = append(*pairs, pair{of: v, stated: v.overlap.stated, theirs: true, resets: w.reset.resets + v.reset.resets})
	return &(*pairs)[len(*pairs)-1]
}

// score returns the points for a statement of so much, after a statement to another Server,
// while so much was in flight; and whether it is newer than that.
func score(remaining, before, inFlight int) (points int, newer bool) {
	switch {
	case remaining < before:
		return turn, true
	case remaining == before && remaining > 0, remaining > before+inFlight:
		return contradiction, true
	}
	return 0, false // their answers overtook each other, or nothing is left
}

// hear takes in a statement about one of the two, v being the other, and reports whether they
// are to be taken for one.
func (p *pair) hear(v *window, remaining, inFlight, resets int) bool {
	theirs := p.of != v
	points, newer := score(remaining, p.stated, inFlight)
	if theirs == p.theirs || resets != p.resets {
		points, newer = 0, true
	}
	if newer {
		p.stated, p.theirs, p.resets = remaining, theirs, resets
	}
	p.points = min(p.points+points, mostPoints)
	return p.points >= 0 && !p.apart
}

// agrees takes in a statement to s about a window of several, and reports whether s does draw
// on it, as far as is known.
func (s *Server) agrees(w *window, remaining int) bool {
	l := &w.overlap
	points, newer := score(remaining, l.stated, s.under(w))
	if l.statedTo == s || l.statedTo == nil {
		points, newer = 0, true
	}
	if newer {
		l.stated, l.statedTo = remaining, s
	}
	l.points = min(l.points+points, mostPoints)
	return l.points >= 0
}

// merge has those who draw on v, o among them, draw on w from now on, as s does.
func (s *Server) merge(w *window, o *Server, v *window, remaining, points int) {
	l := &w.overlap
	if l.users == nil {
		l.users = []*Server{s}
	}
	theirs := v.overlap.users
	if theirs == nil {
		theirs = []*Server{o}
	}
	for _, u := range theirs {
		u.windows[slices.Index(u.windows, v)] = w
		l.users = append(l.users, u)
	}
	w.remaining, w.next, w.epoch = min(w.remaining, v.remaining), min(w.next, v.next), s.order
	w.others.ours += v.others.ours
	l.stated, l.statedTo, l.points, l.pairs = remaining, s, points, nil
}

// without returns a window for s alone, which has heard that so much remains of w.
func (s *Server) without(w *window, remaining int) *window {
	own := *w
	own.remaining = remaining
	own.overlap.users, own.overlap.pairs = nil, []pair{{of: w, apart: true}}
	s.leave(w)
	w.overlap.points = 0
	s.windows[slices.Index(s.windows, w)] = &own
	return &own
}

// leave notes that s draws on w no longer.
func (s *Server) leave(w *window) {
	l := &w.overlap
	if l.users = slices.DeleteFunc(l.users, func(u *Server) bool { return u == s }); len(l.users) < 2 {
		l.users = nil
	}
}

// Overlaps reports whether s may come to draw on a window with other Servers of the Site: then
// Sharing of one of those may name it.
func (s *Server) Overlaps() bool {
	return s.speaks || slices.ContainsFunc(s.windows, func(w *window) bool { return w.overlap.users != nil })
}

// Sharing appends the IDs of the Servers that draw on what s has learned, too: whoever waits in
// their buckets may wait for it.
func (s *Server) Sharing(to []ID) []ID {
	for _, w := range s.windows {
		for _, u := range w.overlap.users {
			if u != s {
				to = append(to, u.id)
			}
		}
	}
	return to
}

// Leave ends what s has in common with others of the Site, and forgets what it knew.
func (s *Server) Leave() {
	for _, w := range s.windows {
		s.leave(w)
	}
	s.windows, s.speaks = nil, false
	s.site.speakers = slices.DeleteFunc(s.site.speakers, func(o *Server) bool { return o == s })
}

// SplitOff moves what s knows of the limits of a Statement.Bucket to another Server of the Site,
// for the requests that are found to draw on them, where others do not. What s has in flight
// is taken to draw on them, too. It reports whether there was any such limit.
func (s *Server) SplitOff(bucket string, to *Server) (any bool) {
	kept := s.windows[:0]
	for _, w := range s.windows {
		if w.bucket != bucket || len(to.windows) >= maxWindows {
			kept = append(kept, w)
			continue
		}
		w.remaining -= s.flying(w.unit)
		s.leave(w)
		w.probing, w.on = false, noGuess
		if w.overlap.users != nil {
			w.overlap.users = append(w.overlap.users, to)
		}
		to.windows = append(to.windows, w)
		any = true
	}
	clear(s.windows[len(kept):])
	s.windows = kept
	return any
}
