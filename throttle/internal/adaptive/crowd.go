package adaptive

// crowd is others who are likely to share a limit that comes back token by token. Each looks for its part of
// the rate: a refusal halves ours, and it grows while more is left over than is kept for the others.
//
// In come refusals (refuse) and what was served (serve, share). Out comes whether others are there (on), how
// much is left to them (keep, leave), and between which bounds our part of the rate is (least, most).
type crowd struct {
	left   int     // others are taken to be gone after so many more served requests; zero if none are likely
	leaves bool    // something is left to them: they are certain, another request was refused meanwhile, or they were there from the start
	most   float64 // our part of the rate grows up to that
}

const (
	// crowdFor is after how many served requests without a refusal others are taken to be gone.
	crowdFor = 32

	// A refusal in a crowd halves our part of the rate (crowdShare), as TCP does; an answer that leaves more
	// than is kept for others makes it crowdRaise times as much.
	crowdShare = 0.5
	crowdRaise = 1.1

	// crowdPart is which part of what was used is ours at most where others are taken to share the limit from
	// the start.
	crowdPart = 0.7

	// crowdLeast is our part of the rate at least.
	crowdLeast = 1.0 / 32

	// keptForOthers is how many tokens are left in a crowd, as a stock from which requests that come at one
	// instant are served; of a small limit, a quarter.
	keptForOthers = 5

	// crowdFlights is how many others are taken to have as much in flight in a crowd.
	crowdFlights = 2
)

// on reports whether others are likely.
func (c *crowd) on() bool { return c.left > 0 }

// begin takes in that others are there, and up to which rate our part grows.
func (c *crowd) begin(most float64) {
	c.most = most
	c.stay()
}

// stay takes in that others are there still, and that something is to be left to them.
func (c *crowd) stay() { c.left, c.leaves = crowdFor, true }

// refuse takes in a refusal that others explain, for certain perhaps. If it is the first, our part grows up to
// most.
func (c *crowd) refuse(most float64, certain bool) {
	if !c.on() {
		c.most = most
	}
	c.leaves = c.on() || certain
	c.left = crowdFor
}

// wasRefused reports whether nothing was served since others were seen last: if a request was refused now, that
// is their doing.
func (c *crowd) wasRefused() bool { return c.left == crowdFor }

// serve takes in that a request was served, and so much of a limit remains. It reports whether more is left
// than is kept.
// Where less is left than each leaves to the others, these are still there: a part of the rate alone does not
// use so much.
func (c *crowd) serve(remaining, limit int) (more bool) {
	keep := c.keep(limit)
	if c.left--; remaining < keep {
		c.left = crowdFor - 1
	}
	return remaining > keep
}

// share takes in an answer of a limit that is shared as a stock, at a rate, and whether others were seen.
func (c *crowd) share(rate float64, seen bool) {
	c.most = rate
	if c.left--; seen {
		c.left = crowdFor
	}
}

// keep is how much of a limit is left to others while these are likely to share it: to go at once at whatever
// remains is to take it from those that are on their way.
func (c *crowd) keep(limit int) int {
	if !c.on() || !c.leaves {
		return 0
	}
	return min(limit/4, keptForOthers)
}

// leave is keep if so many of ours are in flight: others have as many, each. Where all have been refused and
// rest, more comes back meanwhile than one of them is to take.
func (c *crowd) leave(limit, inFlight int) int {
	keep := c.keep(limit)
	if keep == 0 {
		return 0
	}
	return max(keep, crowdFlights*inFlight)
}

// least returns below which rate ours does not fall, where none is below slowest: one who was refused by chance
// again and again would else not come back for long after the others have gone.
func (c *crowd) least(slowest float64) float64 { return max(crowdLeast*c.most, slowest) }
