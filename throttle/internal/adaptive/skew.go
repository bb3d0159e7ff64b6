package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// skew is by how much the local clock is ahead of the server's, where resets or hints are instants by the
// latter. The server writes its time into Date, cut to whole seconds, so that one answer leaves more than a
// second open; but the difference hardly changes, and the answers just before and after a tick of Date narrow
// it down to a round trip. So does an answer whose reset is near: it was written before.
//
// In come answers (note). Out comes the difference as an interval (bounds), in which clocks that may agree are
// taken to agree, since most do; and when an instant of the server comes (absolute, until).
type skew struct {
	least, most time.Duration
	known       bool
	set         bool          // the latest answer is by another clock than those before, see wasSet
	apart       time.Duration // by how much answers contradicted others: so far apart are the clocks of several instances
}

// wasSet is by how much an answer must contradict those before so that the clock was set, or a Date is wrong,
// and what resets said is forgotten: the clocks of several instances of a server differ by less.
const wasSet = time.Minute

// note takes in an answer with a Date, which was that much before the local time when its request was sent, and
// was written within some time after Date, up to a round trip later than it was sent. It reports whether this
// shows that clocks which were taken to agree do not.
func (s *skew) note(ahead, within, roundTrip time.Duration) (differ bool) {
	agreed := s.known && s.agree()
	least, most := ahead-within, ahead+roundTrip
	apart := max(least-s.most, s.least-most)
	switch s.set = s.known && apart > wasSet; {
	case s.set:
		s.apart = 0
	case s.known && apart <= 0:
		least, most = max(least, s.least), min(most, s.most)
	case s.known:
		s.apart = max(s.apart, apart)
	}
	s.least, s.most, s.known = least, most, true
	return agreed && !s.agree()
}

// agree reports whether the clocks may agree.
func (s *skew) agree() bool { return s.least <= 0 && s.most >= 0 }

// bounds returns the least and the most by which the local clock is ahead.
func (s *skew) bounds() (least, most time.Duration) {
	if s.agree() {
		return 0, 0
	}
	return s.least, s.most
}

// noted is s after an answer.
func (s skew) noted(ahead, within, roundTrip time.Duration) skew {
	s.note(ahead, within, roundTrip)
	return s
}

// writtenWithin returns within how long after its Date an answer about a limit of so many tokens was written: a
// second, to which Date is cut; and before its reset, if something is missing until then.
func writtenWithin(st *quota.Statement, limit int) time.Duration {
	if st.Reset <= 0 || st.Reset >= time.Second || st.Remaining >= int64(limit) {
		return time.Second
	}
	return min(st.Reset+min(max(st.Resolution, 0), time.Second), time.Second)
}

// absolute returns the interval of a reset that the server states as an instant by its clock: so long after the
// Date of an answer, which was that much before the local time when its request was sent.
func (s *skew) absolute(sent monotime.Time, ahead, in, step time.Duration) (early, late monotime.Time) {
	least, most := s.bounds()
	at := sent.Add(in - ahead)
	return at.Add(least - step), at.Add(most)
}

// until returns how far away an instant is that a hint states by the server's clock: so long after the Date of
// its answer, which was that much before the local time when the request was sent. It is the latest one that
// the clocks leave open, also where they may agree, so that nobody comes sooner than the server says: the first
// such hint counts from when it came, which may be a second too late, and each further one, by its Date, from
// less than that. Where the clocks of several instances differ, it is later by as much as was seen: one of them
// may have narrowed down what another says.
func (s *skew) until(sent, now monotime.Time, ahead, in time.Duration) time.Duration {
	s.note(ahead, time.Second, now.Sub(sent))
	return min(max(sent.Add(in-ahead+s.most+s.apart).Sub(now), 1), in)
}
