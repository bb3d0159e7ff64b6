package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// looks counts looks in a row that were refused although the server had said when to look, and a pace is known. Then others have taken what came back
// meanwhile: whoever looks as soon as the hint and the pace let it finds nothing as often as there are others. So the pace rests after such a look, for restPerLook requests of
// its own after the first one, for twice as many after the second, and so on. A hint that is longer than that, and the request that goes next, is waited for alone.
//
// Where the server does not say when to look, only looks find out when a window comes back, see row.
type looks struct {
	vain int // refused in a row
}

const (
	// restPerLook is for how many requests at the pace nothing goes after a look in vain, for each in a row. What it is worth stands in internal/tests/matrix/tried.md.
	restPerLook = 2
	// longestRest is for how long nothing goes at most.
	longestRest = 10 * time.Second
)

// serve takes in that a request was served: a look was not in vain.
func (l *looks) serve() { l.vain = 0 }

// refuse takes in that a look was in vain, and returns for how long the pace rests.
func (l *looks) refuse(rate float64) time.Duration {
	l.vain = min(l.vain+1, mostVain)
	return min(monotime.Seconds(restPerLook*float64(l.vain)/rate), longestRest)
}

// mostVain bounds what is counted, so that no sum overflows.
const mostVain = 1 << 20
