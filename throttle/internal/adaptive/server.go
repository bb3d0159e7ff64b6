package adaptive

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/throttle/internal/concurrency"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/overload"
	"github.com/gopacer/pacer/throttle/internal/pace"
	"github.com/gopacer/pacer/throttle/internal/slowstart"
)

// This file says whether a request may go now, and when at the soonest, and counts grants and their ends: it
// asks the slow start, the pace and each window. cost.go says what is in flight, and learn.go takes in the
// answers.

// Site is what the Servers of one tree of buckets have in common. The zero Site is new.
type Site struct {
	sequence sequence  // of the latest grant or answer
	ids      ID        // how many Servers there were
	compared []*Server // Servers that heard statements; their windows are compared, see overlap
	unheard  int       // Servers whose first request has not ended: nobody knows yet on what it was counted
}

// Server is what a bucket has learned of its server. A request must pass what is stated of requests at the
// same time, the slow start, the pace, and each window.
type Server struct {
	config     Config
	site       *Site
	id         ID
	isCompared bool // the Server is in Site.compared
	parted     []ID // of the Servers with which it shared a window until its latest answer
	heirs      []ID // of the Servers that got windows of it while it had requests in flight
	contact    contact

	inFlight   int                 // cost of the requests in flight, in requests
	granted    int                 // likewise, of all requests that Take has granted
	reading    int                 // cost in requests of those whose answers are being read, and that may be under way until then
	begun      int                 // likewise, and that may not be charged in full: a price has counted that their answers began
	room       int                 // requests that may go at least before a window delays one; see findRoom
	otherUnits map[string]unitCost // cost of the requests in flight, by the other units in which it is known

	sequence sequence // of the latest grant or answer of this Server

	slowStart   slowstart.Start
	atOnce      *atOnce // how many requests may be under way at a time; nil if the server does not state that
	aloneAtOnce bool    // that is of this Server alone, see atOnce

	refusals     int      // in a row
	refusalHeard sequence // when the latest refusal came back
	dear         bool     // it was of a request that costs more than what remained, but no more than the limit
	wentAlone    sequence // when the latest request went that is to go alone, see pace.Rate.Alone

	windows   []*window
	members   int            // processes that share the bucket; zero if that is not known
	kept      []WindowMemory // habits of limits that the server has not stated yet
	successes int            // requests that were served
	silent    int            // answers in a row without a statement, to requests that were served
	statedAt  sequence       // the latest answer that stated anything
	marked    []*window      // what Count counts: the windows of the answers that the mark stands for, in order
	mark      *inside.Mark   // nil before Stated was called, and from when a window comes or goes
	doubted   sequence       // the latest refusal that no used-up window explains; zero once a limit is stated again
	pace      pace.Rate      // learned from refusals that windows do not explain; forgotten when the bucket has idled, see Restart
	lasting

	timed        bool  // what requests cost of a marked limit is learned, or how fast it comes back
	contradicted bool  // answers about one window cannot be about one counter
	apart        apart // not zero if the Server is of one of several counters of a name
}

// contact is how far the first request of a Server has come.
type contact uint8

const (
	noContact contact = iota
	unheard           // it went, and is counted in Site.unheard
	heard             // it has ended
)

// maxWindows bounds the memory that a server can make a bucket use by giving its limits ever new names.
const maxWindows = 16

// Init makes s a Server of a Site. It must be called once, before all else.
func (s *Server) Init(site *Site, c Config) {
	site.ids++
	s.site, s.id, s.config = site, site.ids, c
}

// Space notes how far apart requests are to come from now on, as the user says; zero if the user does not say
// it.
func (s *Server) Space(d time.Duration) { s.config.spacing = d }

// InFlight returns the cost of the requests in flight, in requests.
func (s *Server) InFlight() int { return s.inFlight }

// underway returns the cost, in requests, of those that the server is taken to count as under way.
func (s *Server) underway() int { return s.flight().N }

// flight is what the server is taken to count as under way.
func (s *Server) flight() (f concurrency.Flight) {
	if s.atOnce == nil {
		return concurrency.Flight{N: s.inFlight}
	}
	for _, u := range s.atOnce.users {
		f.N += u.inFlight
		if u != s {
			f.Others += u.inFlight
		}
		if !s.atOnce.Unread() {
			f.Reading += u.reading
		}
	}
	f.N += f.Reading
	return f
}

// Sequence is the place of the latest grant or answer among all grants and answers of the Site. It is no time.
func (s *Server) Sequence() uint64 { return uint64(s.site.sequence) }

// Add adds n to the cost of the requests in flight. It counts requests that were granted or
// ended without Take or End, while nothing was known (see Unknown). N may be negative.
func (s *Server) Add(n int) { s.inFlight, s.room = s.inFlight+n, s.room-n }

// advance counts a grant or an answer.
func (s *Server) advance() {
	n := s.site.sequence + 1
	s.site.sequence, s.sequence = n, n
}

// Restart begins a slow start, if the Config has slow starts. Forget says that the bucket is new or has idled
// (nothing was granted for a while, be it that nobody asked or that a hold kept all): then the rate at which
// the server served is out of date, and is forgotten, see pace.Rate.Idle. Forgot reports whether there was such
// a rate. What is lasting stays, and so do the windows. (Of overload, that the bucket has begun is forgotten.)
func (s *Server) Restart(forget bool) (forgot bool) {
	if !s.config.SlowStart {
		return false
	}
	s.advance()
	s.slowStart.Begin(uint64(s.sequence), s.refusals > 0, !forget)
	if forget {
		s.overload.Again()
		if c := s.atOnce; c != nil {
			c.Forget()
			c.end()
		}
		forgot = s.pace.Idle()
	}
	return forgot
}

// Lenient reports whether a slow start is on that does not delay who is hasty.
func (s *Server) Lenient() bool { return s.slowStart.Lenient() }

// Haste returns from when on no slow start delays a claim that came at an instant and had so much time to wait:
// see slowstart.Haste.
func Haste(came monotime.Time, had time.Duration) limit.Haste { return slowstart.Haste(came, had) }

// Hasty returns from when on no slow start delays a claim in such haste, as it looks now; zero if it always
// may.
func (s *Server) Hasty(h limit.Haste) monotime.Time { return s.slowStart.Hasty(h) }

// Open reports whether the server allows d now, if a share of each limit is reserved for others. D is for a
// kind of request, or several if kind is nil.
func (s *Server) Open(now monotime.Time, d *limit.Demand, kind *Kind, share float64) bool {
	if s.atOnce != nil && !s.atOnce.Open(now, s.flight(), d.N) || !s.slowStart.Open(now, d.Haste) || s.pace.Due(now, 0, d.N, s.inFlight, false) > now {
		return false
	}
	for _, w := range s.windows {
		n := s.need(w, d, kind)
		if at, _ := w.due(now, want{n: n, reserve: reserved(w.stated, n, share), inFlight: s.inFlightOn(w)}); at > now {
			return false
		}
	}
	return true
}

// OpenForAll is Open for several requests that cost d together: it reports whether the server allows all of
// them now.
func (s *Server) OpenForAll(now monotime.Time, d *limit.Demand, share float64) bool {
	one := d.Claims <= 1
	return s.Open(now, d, nil, share) && (one || !s.pace.Known() && s.slowStart.OpenFor(d.Claims) && (s.atOnce == nil || s.atOnce.Fits(s.underway()+d.N)))
}

// Hurry is told of a claim that waits for longest at most: for ever if that is zero, and not at all if it is
// negative. If requests are kept back for longer than that, for others that are not seen yet, Hurry ends that,
// and reports it.
func (s *Server) Hurry(now monotime.Time, longest time.Duration) (hurried bool) {
	for _, w := range s.windows {
		if u := &w.others; longest != 0 && u.unseenUntil.Sub(now) > max(longest, 0) {
			u.unseenUntil, hurried = 0, true
		}
	}
	return hurried
}

// CountBack is told of a claim that waits for longest at most, as Hurry is. If it cannot wait for the answer to
// a look, CountBack counts as there what is back by the clock of the limits that the server states, and reports
// whether that is more than what remained.
func (s *Server) CountBack(now monotime.Time, longest time.Duration) (more bool) {
	for _, w := range s.windows {
		if longest != 0 && longest <= 2*w.reset.trip {
			more = w.countBack(now, s.sequence) || more
		}
	}
	return more
}

// Unseen is for how long something that remains of a limit may be kept back for others that are not seen yet.
func (s *Server) Unseen(now monotime.Time) (in time.Duration) {
	for _, w := range s.windows {
		if left := w.others.unseenUntil.Sub(now); left > in && w.remaining > s.inFlightOn(w) {
			in = left
		}
	}
	return in
}

// Due puts due off until the server allows d, if due is earlier than that. Ahead goes before d, and a share of
// each limit is reserved for others. D is for a kind of request, or for several if kind is nil.
//
// Some waits end when an answer comes, and nobody knows when that will be. If due is to set a timer (optimist
// is false), such a wait counts as the longest time for which the answer is awaited. If due is for a projection
// (optimist is true), such a wait counts as nothing, and each limit lets those ahead go from the beginning on:
// they do not wait for one limit and then for the next.
func (s *Server) Due(due *limit.Due, ahead, d *limit.Demand, kind *Kind, share float64, optimist bool) {
	from := due.At
	if s.atOnce != nil {
		f := s.flight()
		f.N += ahead.N
		s.atOnce.Due(due, f, d.N, optimist)
	}
	if s.slowStart.Allowed() > 0 {
		s.slowStart.Due(due, ahead.N, d.Haste, optimist)
	}
	if s.pace.Known() {
		if at := s.pace.Due(due.At, ahead.N, d.N, s.inFlight, optimist); at > due.At {
			due.Until(at, at, limit.Pace, "what the server was seen to allow")
		}
	}
	for _, w := range s.windows {
		if !optimist { // nobody is to look before that
			from = due.At
		}
		n := s.need(w, d, kind)
		q := want{n, w.costOf(ahead, nil), reserved(w.stated, n, share), s.inFlightOn(w), optimist}
		at, open := w.due(from, q)
		if at > due.At || !open && due.Cause == "" && (q.ahead > 0 || w.keeps(due.At, q)) {
			said, cause := at, limit.Window
			switch {
			case open: // something remains, and is spread
				cause = limit.Spaced
			case at > due.At && !w.refill.refills:
				said = at.Add(w.cutBy)
			}
			due.Until(at, said, cause, w.text)
		}
	}
}

// DueWith puts due off until the server allows the last of several claims that together ask for d, if due is
// earlier than that.
func (s *Server) DueWith(due *limit.Due, d *limit.Demand, optimist bool) {
	before, last := d.Last()
	s.Due(due, &before, &last, nil, 0, optimist)
}

// Take counts a grant, now, to a request that came at the instant asked, and fills its Ticket.
func (s *Server) Take(now, asked monotime.Time, d *limit.Demand, kind *Kind, share float64, t *Ticket) {
	s.advance()
	if s.contact == noContact {
		s.contact = unheard
		s.site.unheard++
		s.overload.Meet(now)
	}
	// The row has as many requests as the one before, so that more would be refused: a slow start begins. While
	// failures are taken for refusals, flights are left as they were.
	if len(s.windows) == 0 && s.overload.Belief() == overload.MeanFailure && s.pace.RowOver(s.inFlight) {
		s.Restart(false)
	}
	if s.pace.Alone(now, d.N, s.inFlight) {
		s.Restart(false)
		s.wentAlone = s.sequence
	}
	t.First = s.slowStart.First()
	s.slowStart.Take(now, d.Haste)
	s.pace.Take(now, asked, d.N)
	s.granted += d.N
	t.granted, t.sequence, t.looks, t.paced, t.spares = s.granted, s.sequence, false, false, share > 0
	for _, w := range s.windows {
		n := s.need(w, d, kind)
		kept := reserved(w.stated, n, share)
		if t.spares {
			w.idle = kept
		}
		claimed := s.inFlightOn(w) + n + kept
		t.paced = t.paced || claimed > w.remaining
		t.looks = w.take(now, claimed) || t.looks
	}
	s.inFlight += d.N
	if s.atOnce != nil {
		s.atOnce.Take(now, uint64(s.sequence), s.flight(), d.N)
	}
	if d.Costs != nil {
		s.addCosts(d, 1)
	}
}

// End counts a request that is over. Cost is what the request asked for; nil if it asked for requests alone.
func (s *Server) End(t *Ticket, cost *limit.Demand) {
	s.hadContact()
	s.inFlight -= t.N
	if cost != nil {
		s.addCosts(cost, -1)
	}
	s.slowStart.End(uint64(t.sequence))
}

// hadContact notes that the first request of the Server has ended, or will not be waited for.
func (s *Server) hadContact() {
	if s.contact == unheard {
		s.site.unheard--
	}
	s.contact = heard
}

// Heard reports whether the end of a request makes no difference to Site.unheard: the first request of s is
// over, or none was counted.
func (s *Server) Heard() bool { return s.contact != unheard }

// Cancel counts a request that was not sent, and ends it.
func (s *Server) Cancel(t *Ticket, cost *limit.Demand) {
	for _, w := range s.windows {
		w.cancel(t.Sent)
	}
	s.pace.Cancel(t.Sent, t.N)
	s.End(t, cost)
	s.LookOver(t)
}

// LookOver notes that the answer to a request has come, or will not come. If the request was a look, another
// one may go.
func (s *Server) LookOver(t *Ticket) {
	if t.looks {
		for _, w := range s.windows {
			w.looking = false
		}
	}
}

// Unknown reports whether nothing is known: nothing that an answer could confirm, and nothing that could make a
// request wait. It is stricter than Fresh (nothing was learned that a Memory would overwrite), because a slow
// start and counted failures make a difference as well. Idle is about something else (s may be forgotten).
func (s *Server) Unknown() bool {
	return s.slowStart.Allowed() == 0 && s.atOnce == nil && s.refusals == 0 && len(s.windows) == 0 && s.pace.Fresh() && s.neverRefused()
}

// Idle reports whether s may be forgotten without harm: nothing is in flight, and no window is
// used up.
func (s *Server) Idle(now monotime.Time) bool { return s.inFlight == 0 && !s.usedUp(now) }

// usedUp reports whether some window is used up and not to be looked at yet.
func (s *Server) usedUp(now monotime.Time) bool {
	for _, w := range s.windows {
		if w.usedUp(now) {
			return true
		}
	}
	return false
}

// find returns the window of a limit, nil if there is none.
func (s *Server) find(of limitName) *window {
	for _, w := range s.windows {
		if w.name == of.name && w.counter == of.counter && w.unit == of.unit { // == of both would call a function
			return w
		}
	}
	return nil
}

// findOrAdd returns the window of a limit, a new one if there is none. If there are too many, the new window
// takes the place of the window of which no answer spoke for the longest time.
func (s *Server) findOrAdd(of limitName) *window {
	if w := s.find(of); w != nil {
		return w
	}
	w := &window{limitName: limitName{strings.Clone(of.name), strings.Clone(of.counter), strings.Clone(of.unit)}} // the text of an answer is not kept
	w.others.siblings = !s.apart.has(of) && (s.site.unheard > 0 || len(s.site.compared) > 1 || len(s.site.compared) == 1 && !s.isCompared)
	if s.apart.has(of) {
		w.reset, w.millis, w.others.perOurToken = s.apart.before, s.apart.unit, s.apart.others
	}
	s.recall(w)
	if len(s.windows) < maxWindows {
		s.windows, s.mark = append(s.windows, w), nil
		return w
	}
	oldest := 0
	for i, o := range s.windows {
		if o.lastAnswer < s.windows[oldest].lastAnswer {
			oldest = i
		}
	}
	s.leave(s.windows[oldest])
	s.windows[oldest] = w
	return w
}

// reserved returns how many tokens of a limit are reserved: a share of it, rounded up, but never so many that n
// could not go at once.
func reserved(limit, n int, share float64) int {
	if share == 0 {
		return 0
	}
	return max(min(int(math.Ceil(float64(limit)*share-1e-9)), limit-n), 0)
}

// recall gives a new window the habits that are kept of its limit from an earlier run or another process.
func (s *Server) recall(w *window) {
	i := slices.IndexFunc(s.kept, func(m WindowMemory) bool { return m.of() == w.limitName })
	if i < 0 {
		return
	}
	m := s.kept[i]
	s.kept = slices.Delete(s.kept, i, i+1)
	w.adopt(&m, Habits{}, w.unit)
}
