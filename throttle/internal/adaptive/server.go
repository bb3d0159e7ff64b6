package adaptive

import (
	"math"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Server is what a bucket knows of its server: slow start while that is nothing, and a window
// for each limit of which the server speaks.
type Server struct {
	config Config
	site   *Site
	id     ID
	speaks bool // it is one of the speakers of the Site

	inFlight int                // cost of the grants that are not ended, in requests
	other    map[string]flights // of that, what is known in other units

	// Grants and answers are counted, in the whole Site, since what comes before what is also
	// asked of those of one instant.
	order uint64 // of the latest here

	slowStart slowStart

	refusals  int    // in a row
	refusedAt uint64 // when the latest of them came back, in order

	windows  []*window
	mute     bool       // of what it serves, the server says nothing
	served   servedRate // where refusals are not explained by windows
	overload overload
}

const (
	// enough answers end a slow start at a server that says nothing of limits: five round
	// trips of doubling.
	enough = 32

	// maxWindows bounds the memory that a server can make a bucket use by giving ever new
	// names to its limits.
	maxWindows = 16
)

// slowStart lets one request go first, and two more with each answer.
type slowStart struct {
	most     int           // requests that may be in flight of those that went since the restart; zero if it is over
	since    uint64        // the restart, in order
	flying   int           // in flight, of those that went since
	answered int           // since the restart
	last     monotime.Time // when the latest of them went
}

// flights are what grants that are not ended cost in a unit.
type flights struct {
	n        int // in the unit
	requests int // of the grants for which that is known, in requests
}

// Init makes s a Server of a Site. It must be called once, first.
func (s *Server) Init(site *Site, c Config) {
	site.ids++
	s.site, s.id, s.config = site, site.ids, c
}

// ID returns what tells s apart in its Site.
func (s *Server) ID() ID { return s.id }

// InFlight returns the cost of the grants that are not ended, in requests.
func (s *Server) InFlight() int { return s.inFlight }

// Add counts requests, n of them more or less under way, that were granted or ended without Take
// or End, since nothing was known.
func (s *Server) Add(n int) { s.inFlight += n }

// next counts a grant or an answer.
func (s *Server) next() {
	s.site.order++
	s.order = s.site.order
}

// flying returns what is under way in a unit.
func (s *Server) flying(unit string) int {
	if len(s.other) == 0 {
		return s.inFlight
	}
	f := s.other[unit]
	return f.n + s.inFlight - f.requests
}

// under returns what is under way that draws on a window, in its unit.
func (s *Server) under(w *window) (n int) {
	if w.overlap.users == nil {
		return s.flying(w.unit)
	}
	for _, u := range w.overlap.users {
		n += u.flying(w.unit)
	}
	return n
}

// fly counts what is under way in units other than requests, sign times.
func (s *Server) fly(d *limit.Demand, sign int) {
	for unit, n := range d.Costs {
		if unit == quota.Requests {
			continue
		}
		if s.other == nil {
			s.other = map[string]flights{}
		}
		f := s.other[unit]
		f.n += sign * n
		if f.requests += sign * d.N; f.requests == 0 {
			delete(s.other, unit)
		} else {
			s.other[unit] = f
		}
	}
}

// Restart begins a slow start, if there are to be any. Forget says that the bucket is new or has
// idled, so that the rate at which the server served is out of date.
func (s *Server) Restart(forget bool) {
	if !s.config.SlowStart {
		return
	}
	s.next()
	s.slowStart = slowStart{most: 1, since: s.order, last: s.slowStart.last}
	if forget {
		s.served = servedRate{}
	}
}

// Open reports whether the server allows d now, if a share of what remains is reserved.
func (s *Server) Open(now monotime.Time, d *limit.Demand, reserve float64) bool {
	if st := &s.slowStart; st.most > 0 && st.flying >= st.most && now < st.last.Add(patience) {
		return false
	}
	if s.served.due(now, 0, d.N) > now {
		return false
	}
	for _, w := range s.windows {
		n := asked(d, w.unit)
		if at, _ := w.due(now, 0, n, reserved(w.limit, n, reserve), s.under(w), false); at > now {
			return false
		}
	}
	return true
}

// Due returns from, or what comes later because of the server, if a share of what remains is
// reserved and ahead goes before d. Some waits end with an answer, and nobody knows when that
// comes: to set a timer, the longest time counts for which answers are waited for; for a
// projection, which is optimistic, they do not count.
func (s *Server) Due(from limit.Due, ahead, d *limit.Demand, reserve float64, optimist bool) limit.Due {
	if st := &s.slowStart; st.most > 0 && st.flying+ahead.N >= st.most {
		if from.Cause == "" {
			from.Cause = limit.SlowStart
		}
		if at := st.last.Add(patience); st.flying >= st.most && at > from.At && !optimist {
			from = limit.Due{At: at, Unreserved: from.Unreserved, Cause: limit.SlowStart}
		}
	}
	if s.served.rate > 0 {
		if at := s.served.due(from.At, ahead.N, d.N); at > from.At {
			from = limit.Due{At: at, Unreserved: from.Unreserved, Cause: limit.Pace, Quota: "what the server was seen to allow"}
		}
	}
	for _, w := range s.windows {
		n := asked(d, w.unit)
		at, open := w.due(from.At, asked(ahead, w.unit), n, reserved(w.limit, n, reserve), s.under(w), optimist)
		if at > from.At || !open && from.Cause == "" {
			from = limit.Due{At: at, Unreserved: from.Unreserved, Cause: limit.Window, Quota: w.text}
		}
	}
	return from
}

// Take counts a grant to a request that asked then, and fills its Ticket.
func (s *Server) Take(now, since monotime.Time, d *limit.Demand, reserve float64, t *Ticket) {
	s.next()
	s.inFlight += d.N
	if d.Costs != nil {
		s.fly(d, 1)
	}
	if s.slowStart.most > 0 {
		s.slowStart.flying++
		s.slowStart.last = now
	}
	s.served.take(now, since, d.N)
	t.order, t.probe = s.order, false
	for _, w := range s.windows {
		if w.take(now, s.under(w)+reserved(w.limit, asked(d, w.unit), reserve)) {
			t.probe = true
		}
	}
}

// End counts a grant that is over. Cost is what was asked for, if that was not only requests.
func (s *Server) End(t *Ticket, cost *limit.Demand) {
	s.inFlight -= t.N
	if cost != nil {
		s.fly(cost, -1)
	}
	if s.slowStart.most > 0 && t.order >= s.slowStart.since {
		s.slowStart.flying = max(s.slowStart.flying-1, 0)
	}
}

// Looked notes that the answer has come, or will not come, to a request that went to see whether
// there is quota.
func (s *Server) Looked(t *Ticket) {
	if t.probe {
		for _, w := range s.windows {
			w.probing = false
		}
	}
}

// Unknown reports whether nothing is known that an answer could confirm or that could stand in
// the way of a request.
func (s *Server) Unknown() bool {
	return s.slowStart.most == 0 && s.refusals == 0 && len(s.windows) == 0 && s.served.since == 0 && s.overload.failed == 0
}

// Idle reports whether forgetting what was learned could let nobody exceed it.
func (s *Server) Idle(now monotime.Time) bool { return s.inFlight == 0 && !s.usedUp(now) }

// usedUp reports whether some window is used up until a reset that is known.
func (s *Server) usedUp(now monotime.Time) bool {
	for _, w := range s.windows {
		if w.usedUp(now) {
			return true
		}
	}
	return false
}

// find returns the window of a limit, nil if there is none.
func (s *Server) find(name, bucket, unit string) *window {
	for _, w := range s.windows {
		if w.name == name && w.bucket == bucket && w.unit == unit {
			return w
		}
	}
	return nil
}

// window returns the window of a limit, a new one if there is none.
func (s *Server) window(name, bucket, unit string) *window {
	if w := s.find(name, bucket, unit); w != nil {
		return w
	}
	w := &window{name: name, bucket: bucket, unit: unit}
	if len(s.windows) < maxWindows {
		s.windows = append(s.windows, w)
		return w
	}
	oldest := 0
	for i, o := range s.windows {
		if o.stated < s.windows[oldest].stated {
			oldest = i
		}
	}
	s.leave(s.windows[oldest])
	s.windows[oldest] = w
	return w
}

// reserved is how much of a limit is reserved, beside n that may go at once in any case.
func reserved(limit, n int, share float64) int {
	if share == 0 {
		return 0
	}
	return max(min(int(math.Ceil(float64(limit)*share-1e-9)), limit-n), 0)
}
