package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// Call is one call of the store.
type Call struct {
	Request *store.Request
	Asked   []Asked // for whom, in their order
	sets    int     // how often quotas had been set then
}

// Asked is what was asked for on behalf of a waiter.
type Asked struct {
	Waiter int // its place among those of Line.InOrder
	ask    int
}

// Next returns the call of the store that is to be made now, nil if none is: if somebody waits
// for what is not in hand, if too little is in hand for those who may come, or if there is
// something to tell, but one call at a time. The bucket is held until an instant. Next is
// called whenever something has changed, and Step when the call has ended.
func (s *Lease) Next(now, held monotime.Time, line Line) *Call {
	if s.calling {
		return nil
	}
	if now < s.retry {
		if line.Waiting() > 0 || s.urgent {
			s.later(s.retry)
		}
		return nil
	}
	s.expire(now)
	asks, asked := s.asks(now, line)
	s.lookAgain(now)
	if len(asks) == 0 && !s.urgent {
		return nil
	}
	s.urgent, s.lull = false, 0
	r := s.request(now, held)
	r.Hand, r.Asks = slices.Clone(s.hand.sum), asks
	if len(asked) > 0 {
		if _, ok := s.hand.first(now, now, asks[0].Cost); !ok {
			r.Hand = nil // it is of no use to who is first
		}
	}
	s.calling = true
	s.calls++
	return &Call{r, asked, s.sets}
}

// request is a call that tells what there is to tell.
func (s *Lease) request(now, held monotime.Time) *store.Request {
	if len(s.sentBack) == 0 && s.sentMore == nil { // else they may have been done
		s.sentBack, s.back = s.back, nil
		s.sentMore, s.more = s.more, nil
	}
	r := &store.Request{
		Bucket: s.Bucket, Quotas: s.quotas, Late: s.late, Horizon: Horizon, Member: s.Member, Serial: s.serial,
		Back: s.sentBack, More: s.sentMore, Statements: s.told.send(now),
	}
	if held > max(now, s.held) {
		r.Hold = held.Sub(now)
	}
	return r
}

// Effects is what follows from a reply.
type Effects struct {
	Hold       monotime.Time     // until which others were told to hold the bucket; zero if not
	Statements []quota.Statement // of the server to others
	Unserved   []Unserved        // in the order in which they were asked for
	Retry      monotime.Time     // when to ask again if any of those asked for still waits; zero if at once
	Events     []Event
}

// Unserved is a waiter for whom there was no slot.
type Unserved struct {
	Waiter int // its place among those of Line.InOrder
	Due    limit.Due
}

// Step takes in what became of a call that was sent at an instant.
func (s *Lease) Step(now, sent monotime.Time, c *Call, reply *store.Reply, err error) (e Effects) {
	s.calling = false
	if err != nil {
		s.failed(now, err, &e)
		return e
	}
	s.recovered(now, &e)
	s.Acknowledged()
	s.heard, s.members = now, max(reply.Members, 1)
	s.trip(now.Sub(sent))
	s.next, s.tail, s.bound = now.Add(reply.Next), now.Add(reply.Ahead), reply.Bound
	if len(c.Request.Asks) == 0 {
		s.next = now
	}
	if reply.Lost {
		s.lost(now, &e)
	}
	if reply.Hold > 0 {
		e.Hold = now.Add(min(reply.Hold, monotime.Longest))
	}
	e.Statements = reply.Statements
	if c.sets == s.sets { // else these slots are for other quotas
		s.receive(now, sent, c.Request, reply, &e)
		s.unserved(now, c, reply, &e)
	}
	return e
}

// Acknowledged notes that the store has done what the last request said.
func (s *Lease) Acknowledged() {
	s.serial++
	s.sentBack, s.sentMore, s.told.sent = nil, nil, nil
}

// receive takes the slots of a reply in hand.
func (s *Lease) receive(now, sent monotime.Time, r *store.Request, reply *store.Reply, e *Effects) {
	late := max(reply.Late, r.Late)
	for _, got := range reply.Slots {
		if got.Ask < 0 || got.Ask >= len(r.Asks) || got.Count <= 0 {
			continue
		}
		in := min(max(got.In, 0), monotime.Longest)
		h := &heldSlot{id: got.ID, from: now.Add(in), until: sent.Add(in + late), epoch: s.hand.epoch}
		h.left = slices.Clone(r.Asks[got.Ask].Cost)
		for i := range h.left {
			h.left[i] *= got.Count
		}
		s.got += slot.Total(h.left)
		if h.until < h.from {
			s.slow(now, e)
			s.wasted += slot.Total(h.left)
			s.giveBack(now, h, h.left)
			continue
		}
		s.hand.put(h)
		s.err = nil
	}
}

// unserved finds those for whom there was no slot.
func (s *Lease) unserved(now monotime.Time, c *Call, reply *store.Reply, e *Effects) {
	asks := c.Request.Asks
	got := make([]int, len(asks))
	for _, sl := range reply.Slots {
		if sl.Ask >= 0 && sl.Ask < len(got) {
			got[sl.Ask] += sl.Count
		}
	}
	s.full = false
	for i, a := range asks {
		s.full = s.full || got[i] < a.Count
	}
	s.nextFor = nil
	if n := len(asks); n > 0 {
		s.nextFor = asks[n-1].Cost
	}
	due := limit.Due{At: s.next, Cause: limit.Pace}
	if s.bound >= 0 && s.bound < len(s.names) {
		due.Quota = s.names[s.bound]
	}
	var first []int // the cost of the first ask that got too little
	for _, a := range c.Asked {
		if got[a.ask] > 0 {
			got[a.ask]--
			continue
		}
		if first == nil {
			first = asks[a.ask].Cost
			s.nextFor = first
		}
		if slot.Suffices(asks[a.ask].Cost, first) {
			e.Unserved = append(e.Unserved, Unserved{a.Waiter, due})
		}
	}
	if len(reply.Slots) > 0 || len(asks) == 0 {
		return
	}
	soon := now.Add(min(max(reply.Next, 10*time.Millisecond), Horizon))
	if len(c.Asked) == 0 {
		s.scarce = soon
	} else {
		e.Retry = now.Add(min(max(reply.Next/4, 10*time.Millisecond), Horizon))
	}
}

// AskAgain has the store not be called before an instant.
func (s *Lease) AskAgain(at monotime.Time) { s.retry = at }

// Farewell gives back all that is in hand and returns the request to leave; one that does not
// leave if something is to be told before. It returns nil if there is nothing to tell and the
// store has never heard of this process. Acknowledged must be called when it has arrived.
func (s *Lease) Farewell(now, held monotime.Time) *store.Request {
	for _, h := range s.hand.remove(func(*heldSlot) bool { return true }) {
		s.giveBack(now, h, h.left)
	}
	if s.serial == 1 && s.heard == 0 && !s.news() {
		return nil
	}
	r := s.request(now, held)
	r.Leave = len(s.back) == 0 && s.more == nil
	return r
}
