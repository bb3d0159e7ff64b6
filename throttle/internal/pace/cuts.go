package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// cuts counts how often in a row a pace was lowered although that did not help: it was soon refused again. The
// pace follows what was served, so it is soon low enough, if the pace is the reason of the refusals at all. So
// after maxCuts it stays. But these may have come within a second of a fall of the limit, when what was
// measured was still of the time before it: then the pace stays too high, and each eight requests or so one is
// refused. So one more cut is made firstCutGap after the latest one, and each further one after twice as long,
// where sameEpisode were served before the refusal, but for one of them (short). A server that refuses so many
// at random that fewer are served in a row would have the pace lowered ever more.
type cuts struct {
	count  int
	latest monotime.Time
	short  bool          // one beyond maxCuts was made where fewer than sameEpisode were served
	gap    time.Duration // from the latest one to the next, beyond maxCuts; zero before that
}

const (
	maxCuts     = 4
	firstCutGap = 10 * time.Second
)

// another reports whether the pace is to be lowered once more after a refusal before which so many tokens were
// served, and counts that.
func (c *cuts) another(now monotime.Time, served int) bool {
	switch {
	case c.count < maxCuts:
		c.count++
		c.gap = firstCutGap
	case now.Sub(c.latest) < c.gap || served < sameEpisode && c.short:
		return false
	default:
		c.short = c.short || served < sameEpisode
		c.gap = min(2*c.gap, Kept)
	}
	c.latest = now
	return true
}
