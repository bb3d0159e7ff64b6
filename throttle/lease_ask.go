package throttle

import (
	"context"
	"crypto/rand"
	"slices"
	"time"
)

// horizon is how far ahead slots are got that may not be needed, of all members together.
// More saves round trips, and has a newcomer wait longer for its share.
const horizon = 500 * time.Millisecond

// callTimeout is how long a call of the store may take.
const callTimeout = 250 * time.Millisecond

// manyAsks bounds what is asked for in one request.
const manyAsks = 256

// caller asks a store for slots. At most one call is under way, for all who wait, in
// a goroutine which lives as long as the call.
type caller struct {
	member  string
	serial  int64
	calling chan struct{} // closed when the call that is under way has ended; nil if none is
	closed  bool
	stop    func() // ends listening
	deaf    bool   // the store has no news

	back, sentBack []Part
	more, sentMore []int
	sentTold       []said
	told           []said  // what the server said, and the store was not told
	spent          instant // the reset of what is used up, of which it was told
	held           instant // the hold that the store knows of
	surplus        bool    // there may be more in hand than who waits wants
	room           bool    // there may be slots before those in hand
	looked         instant // when such were asked for last
	lull           instant // since when only those who may come want something
	urgent         bool    // there is something to tell at once

	wake  instant // when to look again what there is to ask or tell; zero if not
	timer *time.Timer
	retry instant // no call before

	// What the last reply said.
	heard   instant
	next    instant // when the next slot could be had
	nextFor []int   // that costs so much
	tail    instant // of the schedule
	bound   int
	members int
	tooks   [3]time.Duration // the last round trips
	full    bool             // it gave less than was asked for
	scarce  instant          // until then there is nothing to be had for those who may come

	calls, got, wasted int
}

func newMember() string { return rand.Text() }

// later has what there is to tell told in d, if no call goes before.
func (s *lease) later(now instant, d time.Duration) {
	at := now.add(d)
	if s.closed || s.wake != 0 && s.wake <= at {
		return
	}
	s.wake = at
	if s.timer == nil {
		s.timer = time.AfterFunc(d, s.tick)
	} else {
		s.timer.Reset(d)
	}
}

// tick runs when the timer fires.
func (s *lease) tick() {
	root := s.l.lock()
	defer s.l.unlock(root)
	now := root.now()
	if s.wake == 0 || s.closed {
		return
	}
	if d := s.wake.sub(now); d > 0 {
		s.timer.Reset(d)
		return
	}
	s.purge(now)
	s.wake, s.urgent = 0, s.urgent || s.news() || s.l.hold > max(now, s.held)
	s.l.run(now)
	s.ask(now)
}

// lookAgain has what is in hand looked at when the last of it is too old: it may be all
// that there is to tell.
func (s *lease) lookAgain(now instant) {
	if n := len(s.hand); n > 0 {
		s.later(now, max(s.hand[n-1].until.sub(now), 0)+1)
	}
}

// news reports whether there is anything to tell.
func (s *lease) news() bool {
	return len(s.back) > 0 || len(s.sentBack) > 0 || s.more != nil || s.sentMore != nil
}

// ask calls the store if somebody waits for what is not in hand, if too little is in hand for those
// who may come, or if there is something to tell. It requires that mu is held, and is
// called whenever something has changed.
func (s *lease) ask(now instant) {
	if s.calling != nil || s.closed {
		return
	}
	if now < s.retry {
		if s.l.line.waiting > 0 || s.urgent {
			s.later(now, s.retry.sub(now))
		}
		return
	}
	s.purge(now)
	asks, asked := s.asks(now)
	s.lookAgain(now)
	if len(asks) == 0 && !s.urgent {
		return
	}
	s.urgent, s.lull = false, 0
	r := &Request{
		Bucket: s.l.storeName(), Quotas: s.quotas, Late: s.late, Horizon: horizon, Member: s.member, Serial: s.serial,
		Hand: slices.Clone(s.sum), Asks: asks,
	}
	if len(asked) > 0 && !s.ready(now, asked[0].w) {
		r.Hand = nil // it is of no use to who is first
	}
	s.pack(r, now)
	done := make(chan struct{})
	s.calling = done
	s.calls++
	go s.call(r, asked, done)
}

// pack puts in what there is to tell.
func (s *lease) pack(r *Request, now instant) {
	if len(s.sentBack) == 0 && s.sentMore == nil { // else they may have been done
		s.sentBack, s.back = s.back, nil
		s.sentMore, s.more = s.more, nil
	}
	r.Back, r.More = s.sentBack, s.sentMore
	if s.l.hold > max(now, s.held) {
		r.Hold = s.l.hold.sub(now)
	}
	for _, w := range s.told {
		w.Reset = max(w.reset.sub(now), 0)
		r.Statements = append(r.Statements, w.Statement)
	}
	s.sentTold, s.told = s.told, nil
}

// call makes one call.
func (s *lease) call(r *Request, asked []claimed, done chan struct{}) {
	defer close(done)
	if s.stop == nil && !s.deaf {
		s.listen()
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	sent := s.l.root().now()
	reply, err := s.l.Store.Exchange(ctx, r)
	root := s.l.lock()
	now := root.now()
	s.l.change(now, func() {
		s.calling = nil
		if err != nil {
			s.failed(now, err)
			return
		}
		s.answered(now, sent, r, reply, asked)
	})
	for _, c := range asked {
		if c.w.quick && c.w.places != nil {
			s.l.change(now, func() { c.w.end(Grant{}, c.w.refusal(now, c.w.project(now, true), ErrWait)) })
		}
	}
	s.ask(now)
	s.report(root)
	s.l.unlock(root)
}

// answered takes in a reply.
func (s *lease) answered(now, sent instant, r *Request, reply *Reply, asked []claimed) {
	s.recovered(now)
	s.serial++
	s.sentBack, s.sentMore, s.sentTold = nil, nil, nil
	s.heard, s.members = now, max(reply.Members, 1)
	s.trip(now.sub(sent))
	late := max(reply.Late, r.Late)
	s.next, s.tail, s.bound = now.add(reply.Next), now.add(reply.Ahead), reply.Bound
	if len(r.Asks) == 0 {
		s.next = now
	}
	if len(r.Quotas) != len(s.sum) || len(s.quotas) > 0 && &r.Quotas[0] != &s.quotas[0] {
		return // SetQuotas came between: these slots are for other quotas
	}
	if reply.Lost {
		s.forgotten(now)
	}
	for _, slot := range reply.Slots {
		if slot.Ask < 0 || slot.Ask >= len(r.Asks) || slot.Count <= 0 {
			continue
		}
		in := min(max(slot.In, 0), ages)
		h := &held{id: slot.ID, from: now.add(in), until: sent.add(in + late), epoch: s.epoch}
		h.left = slices.Clone(r.Asks[slot.Ask].Cost)
		for i := range h.left {
			h.left[i] *= slot.Count
		}
		s.got += total(h.left)
		if h.until < h.from {
			s.slow(now)
			s.wasted += total(h.left)
			s.giveBack(now, h, h.left)
			continue
		}
		s.put(h)
		add(s.sum, h.left, 1)
		s.err = nil
	}
	s.hear(now, reply)
	s.refuse(now, r, reply, asked)
	if len(reply.Slots) == 0 && len(r.Asks) > 0 && len(asked) == 0 {
		s.scarce = now.add(min(max(reply.Next, 10*time.Millisecond), horizon))
	}
	if len(reply.Slots) == 0 && slices.ContainsFunc(asked, func(c claimed) bool { return c.w.places != nil && !c.w.quick }) {
		s.retry = now.add(min(max(reply.Next/4, 10*time.Millisecond), horizon))
	}
}

// refuse refuses those for whom there is no slot in time.
func (s *lease) refuse(now instant, r *Request, reply *Reply, asked []claimed) {
	got := make([]int, len(r.Asks))
	for _, slot := range reply.Slots {
		if slot.Ask >= 0 && slot.Ask < len(got) {
			got[slot.Ask] += slot.Count
		}
	}
	s.full = false
	for i, a := range r.Asks {
		s.full = s.full || got[i] < a.Count
	}
	s.nextFor = nil
	if n := len(r.Asks); n > 0 {
		s.nextFor = r.Asks[n-1].Cost
	}
	var first []int // the cost of the first ask that got too little
	for _, c := range asked {
		if got[c.ask] > 0 {
			got[c.ask]--
			continue
		}
		if first == nil {
			first = r.Asks[c.ask].Cost
			s.nextFor = first
		}
		if c.w.places == nil || c.w.quick || !suffices(r.Asks[c.ask].Cost, first) {
			continue
		}
		d := due{at: s.next, by: s.l, cause: CausePace}
		if s.bound >= 0 && s.bound < len(s.places) {
			q := &s.l.quotas[s.places[s.bound]]
			d.cause, d.quota = q.cause(), q.label()
		}
		if why := c.w.late(d.at); why != nil {
			c.w.end(Grant{}, c.w.refusal(now, d, why))
		}
	}
}
