package simulation

import (
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// memberUntold are processes that are told how the server counts, and none of its numbers: where limits are
// stated, each reads them in the answers to its own requests. Where there are none to be read, one that is
// alone guesses (guess_test.go).
const memberUntold = "untold"

// pupil is a process that reads what remains (as the careful ones do), and that knows as much of the limit as
// the answers to its own requests have told. Resets say at which rate a bucket comes back: missing/reset, of
// which the one is known to a token, and the other to its step. And the longest reset says how long a window
// is, which is a whole number of seconds.
type pupil struct {
	*reader
	least, most float64 // the rate of a bucket is between these
	longest     time.Duration
}

func newPupil(c *cell, start time.Time, process int) *pupil {
	known := *c
	known.free, known.rate = 1, leastRate
	if known.window > 0 {
		known.window = time.Second
	}
	known.layers = slices.Clone(c.layers)
	p := &pupil{reader: newReader(&known, start, readers["careful"][c.counted()], process), most: math.Inf(1)}
	p.figure()
	return p
}

// hear implements hunter.
func (p *pupil) hear(e event) {
	v := e.verdict
	p.free = v.Limit
	step := time.Second
	if p.class == classExact {
		step = time.Millisecond
	}
	if said := roundUp(v.Reset, step); p.window > 0 {
		p.longest = max(p.longest, v.Reset)
		p.window = max(time.Second, roundUp(p.longest, time.Second))
	} else if missing := float64(v.Limit - v.Remaining); missing >= 1 && said > 0 {
		least, most := max(missing-1, 0)/said.Seconds(), math.Inf(1)
		if said > step {
			most = missing / (said - step).Seconds()
		}
		p.least, p.most = max(p.least, least), min(p.most, most)
	}
	p.figure()
	if !p.heard {
		p.level = float64(p.free)
	}
	if a, ok := p.layers[0].algorithm.(*pacertest.EstimatedWindow); ok {
		end := p.start.Add(e.sent + p.trip/2 + v.Reset)
		p.layers[0].algorithm = &pacertest.EstimatedWindow{Limit: a.Limit, Window: p.window, Phase: time.Duration(end.UnixNano() % int64(p.window))}
	}
	p.reader.hear(e)
}

// figure works out the rate.
func (p *pupil) figure() {
	switch {
	case p.window > 0:
		p.rate = float64(p.free) / p.window.Seconds()
	case math.IsInf(p.most, 1):
		p.rate = max(p.least, leastRate)
	default:
		p.rate = math.Sqrt(max(p.least, p.most/4) * p.most)
	}
}

// roundUp rounds up to whole steps.
func roundUp(d, step time.Duration) time.Duration { return (d + step - 1).Truncate(step) }
