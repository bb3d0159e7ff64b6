package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// overload finds out whether failures by which a server may mean "too fast"
// (Answer.MayRefuse) do. nginx answers 503 by default to what is over its limit, and says
// nothing else; but servers that are broken do so too. The difference is that refusals end
// when requests are paced, and failures do not. So if a good part of the answers are such
// failures while others are served, they are taken for refusals, and the answers that follow
// show whether that was right. When nothing is served any more, failures are failures.
type overload struct {
	belief         shedding
	served, failed int           // of the answers since since; on trial, failures in a row are one
	since          monotime.Time // when they began
	row            bool          // the latest answer on trial was a failure
	worked         monotime.Time // when an answer was served last
	heard          monotime.Time // when there was one at all
	from           uint64        // requests that were granted after this, in order, are part of the trial
	until          monotime.Time // nothing is tried before
}

// shedding is what is thought of failures.
type shedding int

const (
	failures shedding = iota // they are what they are
	onTrial                  // they are taken for refusals, on trial
	refusals                 // they were seen to be refusals
)

const (
	// suspicious is how many failures there must be, and one in suspiciousPart of the
	// answers, before a trial: at twice the rate that is allowed one in two fails.
	suspicious     = 4
	suspiciousPart = 4

	// trialServed is how many are served in a trial, from when the pace is known, and
	// trialFailed how many failures there may be between them: that many it takes to find the
	// right pace. After the trial there may be laterFailed in as many, or it was chance.
	trialServed = 32
	trialFailed = 6
	laterFailed = 4
)

// attempt is an answer to a request that was granted after others, in order.
type attempt struct {
	granted uint64
	failed  bool
	paced   bool // the server's pace is known
}

// take takes in an answer, after which the order is that of now, and reports whether it is a
// refusal, and whether a trial has ended that showed otherwise. After such a trial there is
// none for as long as a hold may be.
func (o *overload) take(now monotime.Time, a attempt, order uint64, maxHold time.Duration) (refused, over bool) {
	if o.belief == failures {
		return o.suspect(now, a.failed, order), false
	}
	if now.Sub(o.heard) > patience {
		o.served, o.failed, o.worked = 0, 0, now // the pace has to be found anew
	}
	o.heard = now
	if !a.failed {
		o.worked = now
	}
	switch {
	case a.failed && now.Sub(o.worked) > patience:
		over = true
	case a.granted < o.from || !a.paced:
		return a.failed, false // it was on its way before the trial, or is what finds the pace
	case !a.failed:
		if o.served++; o.served >= trialServed {
			o.belief, o.served, o.failed = refusals, 0, 0
		}
	case !o.row:
		o.failed++
		over = o.failed > trialFailed || o.failed > laterFailed && o.belief == refusals
	}
	if over {
		*o = overload{until: now.Add(maxHold)}
		return false, true
	}
	o.row = a.failed
	return a.failed, false
}

// suspect counts answers, and begins a trial if there is reason to. It reports whether it did.
func (o *overload) suspect(now monotime.Time, failed bool, order uint64) bool {
	if now < o.until {
		return false
	}
	if now.Sub(o.since) > patience {
		o.served, o.failed, o.since = 0, 0, now
	}
	if failed {
		o.failed++
	} else {
		o.served++
	}
	if o.served == 0 || o.failed < suspicious || suspiciousPart*o.failed < o.served+o.failed {
		return false
	}
	*o = overload{belief: onTrial, from: order, row: true, worked: now, heard: now}
	return true
}
