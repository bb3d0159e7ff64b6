package simulation

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// cell is one cell of the matrix: a server that nobody told of, in the place of a class and a
// column. All of it follows from the seed and the name.
type cell struct {
	simulation
	name          string // class/column/number
	class, column string
	refusedCount  bool          // refused requests count like admitted ones
	rate          float64       // of the limit, per second
	free          int           // what a fresh server admits at once
	idle          time.Duration // between the two parts of the column idle
	factor        float64       // by which the limit changes, or 0
}

// The classes: how much a server says.
const (
	classExact  = "exact"  // limit, remaining, and a reset to the millisecond
	classCoarse = "coarse" // a reset in whole seconds
	classHint   = "hint"   // a Retry-After alone
	classSilent = "silent" // nothing

	// Of these, second runs are watched alone.
	classUnstated = "unstated" // limit and remaining
	classBehind   = "behind"   // limit, a reset, and what remained before the request
)

// The columns: what is asked of it.
const (
	columnIdle   = "idle"   // one process, again after it idled
	columnHalf   = "half"   // one process, always busy; the limit is halved
	columnDouble = "double" // doubled
)

// crowds are the other columns: so many processes, and a short or a long run.
var crowds = map[string]struct {
	processes int
	long      bool
}{
	"1-short": {1, false}, "1-long": {1, true}, "3-short": {3, false}, "3-long": {3, true}, "10-long": {10, true},
}

// dialects are those of the classes.
var dialects = map[string][]speaking{
	classExact: {
		{"duration, hint in seconds", headers, layer{dialect: pacertest.OpenAI}},
		{"epoch ms", headers, trio(pacertest.ResetEpochMillis, "")},
		{"epoch ms, hint in ms", headers, trio(pacertest.ResetEpochMillis, pacertest.RetryAfterMillis)},
		{"decimal", headers, trio(pacertest.ResetDecimal, pacertest.RetryAfterDecimal)},
		{"decimal, hint in seconds", headers, trio(pacertest.ResetDecimal, pacertest.RetryAfterSeconds)},
	},
	classCoarse: spoken("X delta", "X delta, floored", "X delta, hint floored", "draft 6", "draft 7", "draft 8", "draft 8, no hint",
		"epoch", "epoch, floored", "epoch, hint", "RFC 3339"),
	classHint:   spoken("hint", "hint floored", "hint ms", "hint date"),
	classSilent: append(slices.Repeat(spoken("silent"), 5), spoken("silent 503")...),

	classUnstated: {{"no reset", headers, trio(pacertest.ResetOmitted, "")}},
	classBehind:   spoken("X delta", "draft 7", "epoch"),
}

// trio is a layer that writes X-RateLimit fields.
func trio(reset pacertest.ResetForm, hint pacertest.RetryAfterForm) layer {
	return layer{dialect: pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: reset, RetryAfter: hint}}
}

// spoken returns the ways to speak that have these names.
func spoken(names ...string) (list []speaking) {
	for _, name := range names {
		i := slices.IndexFunc(speakings, func(s speaking) bool { return s.name == name })
		list = append(list, speakings[i])
	}
	return list
}

// The ranges from which cells are drawn.
const (
	leastRate, mostRate       = 3, 500
	leastWindow, mostWindow   = 1, 60 // seconds
	leastBurst, mostBurst     = 1, 200
	leastLatency, mostLatency = time.Millisecond, 300 * time.Millisecond
	mostCallers               = 64

	// mostLimit bounds what a window admits, and with it how long a cell runs: where the rate and the
	// window would make it more, the window is shorter.
	mostLimit = 2000
	// mostPaused bounds the window where the limit changes: who waits for a window to end cannot learn
	// meanwhile that the limit has changed.
	mostPaused = 10 // seconds
)

var errName = errors.New("no such cell")

// drawCell makes the cell of a name, which is class/column/number.
func drawCell(seed uint64, name string) (c cell, err error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || dialects[parts[0]] == nil {
		return c, fmt.Errorf("%w: %q", errName, name)
	}
	number, err := strconv.Atoi(parts[2])
	crowd, isCrowd := crowds[parts[1]]
	if err != nil || number < 0 || !isCrowd && !slices.Contains([]string{columnIdle, columnHalf, columnDouble}, parts[1]) {
		return c, fmt.Errorf("%w: %q", errName, name)
	}
	r := drawing{rand.New(rand.NewPCG(seed, hashed(name))), seed, parts[0] + "/" + parts[1], number}
	c.simulation = simulation{seed: r.Uint64(), costs: 1, workload: batch, processes: max(1, crowd.processes)}
	c.name, c.class, c.column = name, parts[0], parts[1]
	switch c.column {
	case columnHalf:
		c.factor = 0.5
	case columnDouble:
		c.factor = 2
	}

	speaking := dialects[c.class][int(r.even("dialect")*float64(len(dialects[c.class])))]
	counting := countings[int(r.even("algorithm")*float64(len(countings)))]
	c.counts, c.resets, c.speaks, c.voice = counting.name, counting.resets, speaking.name, speaking.voice
	c.layers = []layer{speaking.layer}
	c.layers[0].algorithm = c.drawAlgorithm(r, counting)
	c.refusedCount = (c.counts == "log" || c.counts == "cells" || c.counts == "estimate") && r.IntN(4) == 0

	c.callers = min(mostCallers, int(math.Exp2(6.02*r.even("callers"))))
	c.latency = time.Duration(between(r.even("latency"), float64(leastLatency), float64(mostLatency)))
	for range c.processes {
		skew := time.Duration(0)
		if r.IntN(2) == 0 {
			skew = time.Duration(r.NormFloat64() * float64(time.Second))
		}
		c.skews = append(c.skews, skew)
	}
	short := max(100, int(float64(c.free)*(1.2+1.3*r.Float64())))
	long := max(1000, int(float64(c.free)*(4+2*r.Float64())))
	fill := float64(c.free) / c.rate
	switch {
	case crowd.long:
		c.requests = long
	case c.factor != 0:
		// Callers who wait for answers must be able to ask for more than there is.
		asks := 2 * max(1, c.factor) * c.rate
		c.callers = max(c.callers, min(mostCallers, int(asks*c.latency.Seconds())+1))
		c.latency = min(c.latency, time.Duration(float64(c.callers)/asks*1e9))
		c.requests = int(c.rate * (before.Seconds() + max(1, c.factor)*after.Seconds()))
	default:
		c.requests = short
	}
	if c.column == columnIdle {
		c.idle = time.Duration(between(r.Float64(), max(5, 2.1*fill), max(300, 2.1*fill)) * 1e9) // so long that all has come back
		c.requests *= 2
	}
	return c, nil
}

// drawAlgorithm draws how the server counts.
func (c *cell) drawAlgorithm(r drawing, counting counting) pacertest.Algorithm {
	size := r.even("window or burst")
	c.rate = between(r.even("rate"), leastRate, mostRate)
	seconds := math.Round(between(size, leastWindow, mostWindow))
	if c.factor != 0 {
		seconds = math.Round(between(size, leastWindow, mostPaused))
	}
	c.free = int(math.Round(between(size, leastBurst, mostBurst)))
	switch counting.name {
	case "bucket":
		return &pacertest.TokenBucket{Rate: c.rate, Burst: c.free}
	case "GCRA":
		return &pacertest.GCRA{Rate: c.rate, Burst: c.free}
	case "leaky":
		return &pacertest.LeakyBucket{Rate: c.rate, Depth: c.free}
	case "queue":
		return &pacertest.LeakyBucket{Rate: c.rate, Depth: c.free, Queue: true}
	}
	seconds = min(seconds, math.Floor(mostLimit/c.rate))
	c.free = int(math.Round(c.rate * seconds))
	c.rate = float64(c.free) / seconds
	c.limit, c.window = c.free, time.Duration(seconds)*time.Second
	return counting.of(r.Rand, c.limit, c.window)
}

// drawing draws a cell.
type drawing struct {
	*rand.Rand
	seed   uint64
	place  string // class/column
	number int
}

// even draws a number from 0 to 1 such that each 48 cells of a place have one in each 48th of it: a
// Latin hypercube. So seeds differ less than if all were left to chance.
func (d drawing) even(what string) float64 {
	const cells = 48
	order := rand.New(rand.NewPCG(d.seed, hashed(fmt.Sprintf("%s/%d/%s", d.place, d.number/cells, what)))).Perm(cells)
	return (float64(order[d.number%cells]) + d.Float64()) / cells
}

func hashed(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// between is a number whose logarithm is that share of the way.
func between(share, least, most float64) float64 {
	return least * math.Pow(most/least, share)
}

// algorithm is how the server of the cell counts. (That of its layer is for ideal callers, who
// are never refused, whatever counts.)
func (c *cell) algorithm() pacertest.Algorithm {
	fresh := c.layers[0].algorithm.Fresh()
	if c.class == classBehind {
		return uncounted{fresh}
	}
	switch a := fresh.(type) {
	case *pacertest.SlidingLog:
		a.CountRefused = c.refusedCount
		return a
	case *pacertest.SlidingWindow:
		a.CountRefused = c.refusedCount
		return a
	case *pacertest.EstimatedWindow:
		a.CountRefused = c.refusedCount
		return a
	default:
		return a
	}
}

// uncounted states what remained before the request which it answers.
type uncounted struct{ pacertest.Algorithm }

// Take implements pacertest.Algorithm.
func (b uncounted) Take(now time.Time, n int) pacertest.Verdict {
	remained := b.Algorithm.Take(now, 0).Remaining
	v := b.Algorithm.Take(now, n)
	v.Remaining = remained
	return v
}

// changed is an algorithm whose limit changes by a factor at an instant. What was used before is
// used still.
func changed(a pacertest.Algorithm, factor float64, now time.Time) pacertest.Algorithm {
	scaled := func(limit int) int { return max(1, int(math.Round(float64(limit)*factor))) }
	left := a.Take(now, 0).Remaining
	switch a := a.(type) {
	case *pacertest.FixedWindow:
		a.Limit = scaled(a.Limit)
	case *pacertest.ClockWindow:
		a.Limit = scaled(a.Limit)
	case *pacertest.SlidingLog:
		a.Limit = scaled(a.Limit)
	case *pacertest.SlidingWindow:
		a.Limit = scaled(a.Limit)
	case *pacertest.EstimatedWindow:
		a.Limit = scaled(a.Limit)
	case *pacertest.TokenBucket:
		b := &pacertest.TokenBucket{Rate: a.Rate * factor, Burst: a.Burst}
		b.Take(now, a.Burst-left)
		return b
	case *pacertest.GCRA:
		b := &pacertest.GCRA{Rate: a.Rate * factor, Burst: a.Burst}
		b.Take(now, a.Burst-left)
		return b
	case *pacertest.LeakyBucket:
		b := &pacertest.LeakyBucket{Rate: a.Rate * factor, Depth: a.Depth, Queue: a.Queue}
		b.Take(now, a.Depth-left)
		return b
	}
	return a
}

// String describes the cell.
func (c cell) String() string {
	var text string
	if c.window > 0 {
		text = fmt.Sprintf("%s, %d in %v", c.counts, c.limit, c.window)
	} else {
		text = fmt.Sprintf("%s, %.3g/s burst %d", c.counts, c.rate, c.free)
	}
	if c.refusedCount {
		text += ", refused count"
	}
	text += fmt.Sprintf("; %s; %d × %d callers, latency %v", c.speaks, c.processes, c.callers, c.latency.Round(time.Millisecond/10))
	switch {
	case c.factor != 0:
		text += fmt.Sprintf(", the limit × %g after %v", c.factor, before)
	case c.idle != 0:
		text += fmt.Sprintf(", %d requests, idle for %v, as many again", c.requests/2, c.idle.Round(time.Second))
	default:
		text += fmt.Sprintf(", %d requests", c.requests)
	}
	return text
}
