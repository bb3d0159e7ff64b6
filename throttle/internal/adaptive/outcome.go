package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// outcome is what one answer says about one window, together with what was known of the window
// before. The parts of a window (refill, otherUsers) draw their conclusions from it.
type outcome struct {
	sent, now monotime.Time
	n         int           // what the request has cost of the limit
	limit     int           // of the window
	span      time.Duration // of the window
	remaining int
	refused   bool
	probe     bool  // the request went although nothing remained
	guess     guess // why the probe went before the reset, if it did
	newest    bool  // the server wrote the answer after all answers before
	unpriced  bool  // nobody said what the request costs of the limit: n is what was learned of that

	resetMoved      bool // the answer states a later reset, and the reset known before has not come yet
	foundRoundsDown bool // the answer is the first to show that the server rounds resets down

	remainingBefore         int           // the least Remaining before the answer
	earlyBefore, lateBefore monotime.Time // the reset before the answer
	spentSince              monotime.Time // when nothing remained first; zero if something remained
}
