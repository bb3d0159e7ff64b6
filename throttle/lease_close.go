package throttle

import (
	"context"
	"errors"
)

// ErrClosed means that Limiter.Close was called.
var ErrClosed = errors.New("closed")

// Close gives back to the Store what is in hand, and ends the membership there. Whoever waits
// and whoever asks from then on gets ErrClosed. It returns the error of the store, whose slots
// die by themselves then. Without a Store, it does nothing and returns nil.
//
// A Limiter that is not closed may be forgotten all the same: the others go without what it had
// in hand then, at most its share of the next half a second.
func (l *Limiter) Close() error {
	if l.Store == nil {
		return nil
	}
	root := l.lock()
	if l.lease == nil || l.lease.closed {
		l.unlock(root)
		return nil
	}
	s := l.lease
	s.closed = true
	now := root.now()
	l.invalid = &Error{Bucket: l.Name, Err: ErrClosed}
	l.change(now, func() {
		for w := range l.line.all() {
			w.end(Grant{}, w.refusal(now, due{at: now}, ErrClosed))
		}
	})
	calling := s.calling
	l.unlock(root)
	if calling != nil {
		<-calling
	}
	return s.leave()
}

// leave makes the last call.
func (s *lease) leave() error {
	root := s.l.lock()
	now := root.now()
	if s.timer != nil {
		s.timer.Stop()
	}
	for _, h := range s.hand {
		s.giveBack(now, h, h.left)
	}
	s.hand = nil
	clear(s.sum)
	stop := s.stop
	first := len(s.sentBack) > 0 || s.sentMore != nil
	r := s.farewell(now)
	s.l.unlock(root)
	if stop != nil {
		stop()
	}
	if s.serial == 1 && s.heard == 0 && !s.news() && len(r.Back) == 0 {
		return nil // the store has never heard of us
	}
	err := s.bye(r)
	if err == nil && first {
		// What a call that failed had to tell was told now. The rest follows.
		root := s.l.lock()
		s.serial++
		s.sentBack, s.sentMore = nil, nil
		r = s.farewell(now)
		s.l.unlock(root)
		err = s.bye(r)
	}
	return err
}

// farewell is a request to leave.
func (s *lease) farewell(now instant) *Request {
	r := &Request{Bucket: s.l.storeName(), Quotas: s.quotas, Late: s.late, Horizon: horizon, Member: s.member, Serial: s.serial, Leave: true}
	s.pack(r, now)
	if len(s.back) > 0 || s.more != nil {
		r.Leave = false // what remains is told before
	}
	return r
}

func (s *lease) bye(r *Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, err := s.l.Store.Exchange(ctx, r)
	return err
}
