package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// spare is what has come back while nobody asked, and may go at once. A pace alone has one request go after the
// other: of many that come each second and do not wait, one would go.
//
// How much comes back is not known: a bucket has room for its burst, a queue for nothing. So it is tried.
// First, one token may go at once beyond the token that goes anyway; then two, four, and so on, each time that
// all of these went at once and nothing was refused until as much was back. A refusal before that halves the
// size, unless the pace had risen and is the reason. From then on, the size grows by one, after healedBy bursts
// that went well. No more goes than the server served at once before its first refusal (burst), and nothing
// where that is less than leastSpare.
//
// In come grants (behind), what is taken back of them (cancel), and refusals (refuse). Out comes by how much
// the pace may be behind.
type spare struct {
	size    int           // so many tokens may go at once, beyond the one that goes anyway
	full    monotime.Time // when all of them were there; zero if that was before the latest refusal
	back    monotime.Time // when what went at once is back, be it all of them or a part
	tried   bool          // all of them went at once, and back is still to come
	refused bool          // less may go than was tried
	well    int           // how often all went well since then, or since the size grew
}

// leastSpare is the least burst, beyond the rate, of which something goes at once. Less is worth little, and
// where it was used, one bucket of two was found to be far slower than it is (internal/tests/matrix/tried.md).
const leastSpare = 2

// behind returns by how much the pace may be behind when a request for n tokens goes now. For so long nobody
// asked and the pace would have let something go; the server serves so many at once, beyond the rate. That all
// of them went shows in that nothing is left for another such request. What is left after limit.Lag goes first,
// so that at a high rate they go in that time.
func (s *spare) behind(now monotime.Time, idle time.Duration, n, burst int, rate float64) time.Duration {
	if burst < leastSpare {
		return 0
	}
	if s.tried && now >= s.back {
		s.tried = false
		s.grow()
	}
	if !s.refused {
		s.size = max(s.size, 1)
	}
	s.size = min(s.size, burst)
	by := monotime.Seconds(float64(s.size) / rate)
	if idle >= by {
		s.full = now
	}
	another := monotime.Seconds(float64(max(n, 1)) / rate)
	if s.full != 0 && now.Sub(s.full) <= max(by, limit.Lag) {
		s.back = now.Add(by)
		s.tried = s.tried || min(idle, by)+limit.Lag < another
	}
	idle = min(by, max(idle, 0))
	if idle >= another { // a part of them goes
		s.back = max(s.back, now.Add(idle))
	}
	return idle
}

// grow takes in that all went at once, and none of it was refused.
func (s *spare) grow() {
	if !s.refused {
		s.size *= 2
	} else if s.well++; s.well == healedBy {
		s.size, s.well = s.size+1, 0
	}
}

// cancel takes in that not all was sent that went.
func (s *spare) cancel() { s.tried = false }

// refuse takes in a refusal. Rose says that the pace had risen.
func (s *spare) refuse(now monotime.Time, rose bool) {
	if !rose && now < s.back {
		s.size, s.refused, s.well = s.size/2, true, 0
	}
	s.full, s.back, s.tried = 0, 0, false
}
