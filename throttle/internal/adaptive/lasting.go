package adaptive

import (
	"github.com/gopacer/pacer/throttle/internal/overload"
	"github.com/gopacer/pacer/throttle/internal/whose"
)

// lasting is what a server that refuses is known by when its bucket has idled: Server.Restart forgets the pace
// as a whole, unless a window is known or used up, and nothing of this. A long hold counts as idling. So what a
// rule learns from a hint, or of a habit of the server, is a field here, and not one of pace.Rate. Each
// function has a line for each field, as those of parts have, and a test finds the line that is left out.
// Restart is given no instant: what is to be done after idling at one is done by the next Server.Take.
type lasting struct {
	overload overload.Failures // are failures without explanation refusals
	strays   whose.Strays      // refusals that are not the server's
	hinted   skew              // the clock by which hints are instants
	judge    whose.Judge       // whose matter refusals are
}

// refusalsSettled reports whether nothing of that waits for the answer to a request that is served.
func (l *lasting) refusalsSettled() bool {
	// overload: waits for failures.
	// strays: is told by Count.
	// hinted: hears refusals alone.
	return l.judge.Settled()
}

// neverRefused reports whether nothing of that makes a difference: no failure is counted either.
func (l *lasting) neverRefused() bool {
	// strays: counts only where windows are known.
	// hinted: a clock is no refusal.
	return l.judge.Settled() && l.overload.Unseen()
}
