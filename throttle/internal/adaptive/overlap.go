package adaptive

import (
	"slices"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/concurrency"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// overlap is what is known about other Servers that draw on the limit of a window. It is needed
// where patterns split into several buckets what the server counts together.
//
// In come statements (compare). Out comes one window for all Servers that draw on a limit: what
// any of them has in flight is subtracted from what remains (Server.inFlightOn).
//
// Names alone do not tell whether two limits are one: an API may count each route by itself and
// call all of these limits "default", and Discord gives one name to what it counts for each
// channel. The numbers tell. Two Servers that draw on one limit never hear the same Remaining,
// since each request took one token, and the second Server hears less than the first. So windows
// of one name, unit, limit and reset are taken for one, until statements contradict that. If that
// is wrong, too little goes for a while, never too much.
type overlap struct {
	users         []*Server // which draw on the window; nil if only one does
	before        *Server   // from which the window was split off: what that had in flight may draw on it; nil once that has ended
	lastRemaining int       // Remaining of the latest statement
	lastHeardBy   *Server   // the user that heard it; nil if the statement was about an earlier reset
	points        int       // for the users drawing on one limit, see score
	comparisons   []comparison
}

// any reports whether what another Server has in flight may draw on the window.
func (l *overlap) any() bool { return l.users != nil || l.before != nil }

// steady reports whether the answers of one Server tell all.
func (l *overlap) steady() bool { return !l.any() }

// comparison is what is known of two windows of different Servers that may be one. It belongs to
// one of the two windows and names the other.
type comparison struct {
	other         *window
	lastRemaining int  // Remaining of the latest statement about either
	heardByOther  bool // that statement was about the other window
	resets        int  // reset.count of both windows together, at that statement
	points        int  // for the two being one, see score
	refuted       bool // they were taken for one, and are two
}

const (
	// agreement is given when one Server hears less than the other heard before, and
	// contradiction when it hears what it could not hear of one limit. With less than zero
	// points, two windows are not taken for one; maxPoints bounds them. Some requests cost a
	// server nothing and look like a contradiction, so that one is made up for by two
	// agreements.
	agreement     = 1
	contradiction = -2
	maxPoints     = 3

	// maxCompared bounds how many Servers of a Site are compared with one another.
	maxCompared = 16
)

// compare looks whether a statement to s, from which window w has learned, is about a limit on
// which other Servers of the Site draw. Before is what remained before the statement.
func (s *Server) compare(w *window, t *Ticket, now monotime.Time, st *quota.Statement, before int) {
	site := s.site
	s.enterComparison()
	remaining := bounded(st.Remaining)
	switch {
	case w.overlap.users == nil:
		w.overlap.lastRemaining = remaining
	case !s.agrees(w, remaining):
		w = s.separate(w, remaining, before)
	}
	if len(site.compared) < 2 || !st.ResetKnown {
		return
	}
	for _, o := range site.compared {
		v := o.find(w.limitName)
		knownApart := o.apart.isOf(&s.apart) && s.apart.has(w.limitName)
		if o == s || knownApart || v == nil || v == w || v.stated != w.stated || !v.mayState(st, t.Sent, now) {
			continue
		}
		c := w.comparisonWith(v)
		if c.add(w, remaining, s.inFlightOn(w)+o.inFlightOn(v), w.reset.count+v.reset.count) {
			s.merge(w, o, v, remaining, c.points)
		}
	}
}

// enterComparison makes s one of the Servers of its Site that are compared, unless there are too many.
func (s *Server) enterComparison() {
	if !s.isCompared && len(s.site.compared) < maxCompared {
		s.isCompared = true
		s.site.compared = append(s.site.compared, s)
	}
}

// mayState reports whether a statement, in the answer that came now to a request that was sent at an instant,
// may be about the reset of w, which is still to come.
func (w *window) mayState(st *quota.Statement, sent, now monotime.Time) bool {
	if w.reset.late <= now {
		return false
	}
	early, late := w.reset.interval(sent, now, st, w.stated)
	return early <= w.reset.late && late >= w.reset.early
}

// comparisonWith returns the comparison of w and v, which belongs to either; a new one if there is
// none. The oldest is forgotten if there are too many.
func (w *window) comparisonWith(v *window) *comparison {
	for i := range w.overlap.comparisons {
		if c := &w.overlap.comparisons[i]; c.other == v {
			return c
		}
	}
	for i := range v.overlap.comparisons {
		if c := &v.overlap.comparisons[i]; c.other == w {
			return c
		}
	}
	all := &w.overlap.comparisons
	if len(*all) == maxCompared {
		*all = slices.Delete(*all, 0, 1)
	}
	*all = append(*all, comparison{other: v, lastRemaining: v.overlap.lastRemaining, heardByOther: true, resets: w.reset.count + v.reset.count})
	return &(*all)[len(*all)-1]
}

// score returns the points for a statement of one Server that so much remains, after a statement of
// another Server that so much remained before, while so much was in flight. Newer says that the
// server wrote the statement after the other one.
func score(remaining, before, inFlight int) (points int, newer bool) {
	switch {
	case remaining < before:
		return agreement, true
	case remaining == before && remaining > 0, remaining > before+inFlight:
		return contradiction, true
	}
	return 0, false // the answers overtook each other, or nothing remains
}

// add takes in a statement about one of the two windows, w. It reports whether they are to be taken
// for one.
func (c *comparison) add(w *window, remaining, inFlight, resets int) bool {
	aboutOther := c.other == w
	points, newer := score(remaining, c.lastRemaining, inFlight)
	if aboutOther == c.heardByOther || resets != c.resets {
		points, newer = 0, true
	}
	if newer {
		c.lastRemaining, c.heardByOther, c.resets = remaining, aboutOther, resets
	}
	c.points = min(c.points+points, maxPoints)
	return c.points >= 0 && !c.refuted
}

// agrees takes in a statement to s about a window that has several users. It reports whether s
// draws on it, as far as is known.
func (s *Server) agrees(w *window, remaining int) bool {
	l := &w.overlap
	points, newer := score(remaining, l.lastRemaining, s.inFlightOn(w))
	if l.lastHeardBy == s || l.lastHeardBy == nil {
		points, newer = 0, true
	}
	if newer {
		l.lastRemaining, l.lastHeardBy = remaining, s
	}
	l.points = min(l.points+points, maxPoints)
	return l.points >= 0
}

// merge has all users of v, which is a window of o, draw on w instead, as s does.
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
		u.mark = nil
		l.users = append(l.users, u)
	}
	w.remains.join(&v.remains, s.sequence)
	if b := v.overlap.before; b != nil {
		w.awaits(b, l.users)
	}
	w.parts.join(&v.parts, w.remaining, s.inFlightOn(w))
	l.lastRemaining, l.lastHeardBy, l.points, l.comparisons = remaining, s, points, nil
}

// separate gives s a window of its own in place of w, after s has heard what contradicts that it
// draws on w. What remained before is all that the others have heard of.
func (s *Server) separate(w *window, remaining, before int) *window {
	own := *w
	own.unshare()
	own.remaining, own.overlap.comparisons = remaining, []comparison{{other: w, refuted: true}}
	s.leave(w)
	w.overlap.points = 0
	w.lower(before)
	s.windows[slices.Index(s.windows, w)] = &own
	return &own
}

// leave notes that s draws on w no longer.
func (s *Server) leave(w *window) {
	s.mark = nil
	l := &w.overlap
	l.users = slices.DeleteFunc(l.users, func(u *Server) bool { return u == s })
	for _, u := range l.users {
		s.parted = append(s.parted, u.id)
	}
	if len(l.users) < 2 {
		l.users = nil
	}
}

// maxHeirs bounds the memory that a server can make a bucket use by giving ever new names.
const maxHeirs = 64

// awaits has what b has in flight count for the window until it is answered, and its users look again then.
// Where the window awaits another Server, or b has too many heirs, it is subtracted for good.
func (w *window) awaits(b *Server, users []*Server) {
	l := &w.overlap
	if b.inFlight == 0 || l.before != nil && l.before != b || len(b.heirs)+len(users) > maxHeirs {
		w.remaining -= b.inFlightIn(w)
		return
	}
	l.before = b
	for _, u := range users {
		if u != b && !slices.Contains(b.heirs, u.id) {
			b.heirs = append(b.heirs, u.id)
		}
	}
}

// Overlaps reports whether s shares a window with other Servers of the Site, or may come to: then
// their Sharing may name it.
func (s *Server) Overlaps() bool {
	return s.isCompared || slices.ContainsFunc(s.windows, func(w *window) bool { return w.overlap.any() })
}

// Sharing appends the IDs of the Servers that share a window with s, or have one that was split off: an answer
// to s may let requests go that wait in their buckets.
func (s *Server) Sharing(to []ID) []ID {
	to = append(to, s.heirs...)
	if s.atOnce != nil {
		for _, u := range s.atOnce.users {
			if u != s {
				to = append(to, u.id)
			}
		}
	}
	for _, w := range s.windows {
		for _, u := range w.overlap.users {
			if u != s {
				to = append(to, u.id)
			}
		}
	}
	return to
}

// Leave takes s out of its Site and forgets its windows.
func (s *Server) Leave() {
	for _, w := range s.windows {
		s.leave(w)
	}
	s.leaveAtOnce()
	s.hadContact()
	s.windows, s.isCompared = nil, false
	s.site.compared = slices.DeleteFunc(s.site.compared, func(o *Server) bool { return o == s })
}

// SplitOff moves the windows of a Statement.Counter to another Server of the Site, because only some of the
// requests of s were found to draw on them. What s has in flight is taken to draw on them as well, until it is
// answered: most of it may draw on another window, which may be far wider. It reports whether there was such a
// window, or a limit of requests at the same time, which is taken to be of both.
func (s *Server) SplitOff(bucket string, to *Server) (any bool) {
	if any = s.atOnce != nil; any {
		to.joinAtOnce(s.atOnce)
	}
	kept := s.windows[:0]
	for _, w := range s.windows {
		if w.counter != bucket || len(to.windows) >= maxWindows {
			kept = append(kept, w)
			continue
		}
		w.awaits(s, append([]*Server{to}, w.overlap.users...))
		if w.overlap.users != nil {
			w.overlap.users = append(w.overlap.users, to) // before s leaves: with one user, nothing is shared
		}
		s.leave(w)
		w.looking, w.guess = false, noGuess
		w.others.move()
		to.windows, to.mark = append(to.windows, w), nil
		any = true
	}
	clear(s.windows[len(kept):])
	s.windows = kept
	return any
}

// atOnce is a limit of requests at the same time, and the Servers that draw on it: what any of them has under
// way is missing for the others.
//
// Servers of a Site are taken to draw on one limit if as many are stated to each. Where that is wrong, and
// together they have as many under way as one may have, a look shows it (concurrency.Bound). Then the Server
// that has looked has a limit of its own, whatever is stated.
type atOnce struct {
	concurrency.Bound
	users []*Server
}

// drawOn has s draw on the limit of requests at the same time of which an answer speaks: on that of another
// Server, if it is as high, else on one of its own. Zero is no number.
func (s *Server) drawOn(limit int64) {
	c := s.atOnce
	if c != nil && (limit <= 0 || c.Says(limit)) {
		return
	}
	for _, o := range s.site.compared {
		if !s.aloneAtOnce && !o.aloneAtOnce && o.atOnce != nil && o.atOnce != c && o.atOnce.Says(limit) {
			s.leaveAtOnce()
			s.joinAtOnce(o.atOnce)
			return
		}
	}
	if c == nil || len(c.users) > 1 {
		s.leaveAtOnce()
		s.joinAtOnce(new(atOnce))
	}
}

// joinAtOnce has s draw on a limit of requests at the same time; on one that begins as that did, if too many
// draw on it.
func (s *Server) joinAtOnce(c *atOnce) {
	if s.enterComparison(); len(c.users) == maxCompared {
		c = &atOnce{Bound: c.Bound}
	}
	s.atOnce, c.users = c, append(c.users, s)
}

// leaveAtOnce has s draw on no limit of requests at the same time.
func (s *Server) leaveAtOnce() {
	if c := s.atOnce; c != nil {
		s.atOnce, c.users = nil, slices.DeleteFunc(c.users, func(u *Server) bool { return u == s })
		for _, u := range c.users {
			s.parted = append(s.parted, u.id)
		}
	}
}

// end has nobody draw on a limit that is stated no more.
func (c *atOnce) end() {
	for !c.Stated() && len(c.users) > 0 {
		c.users[0].leaveAtOnce()
	}
}
