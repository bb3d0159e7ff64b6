package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// overload finds out whether a failure without explanation (Answer.MayRefuse) is a refusal. By
// default nginx answers 503, and nothing else, to requests over its limit; but a broken server
// answers 503 as well. The difference: refusals end when requests go more slowly, and failures
// do not.
//
// In come answers without explanation (take), served or failed, while no window is known: a server
// that states limits is taken to say when it refuses. Out comes whether a failure is taken for a
// refusal. That depends on the belief:
//
//	belief        ends when                                                           then
//	meanFailure   a good part of the answers fail, and others are served (suspect)    onTrial
//	              far more fail than in a trial that failed (helped)                  onTrial
//	              as many are served between two long failures again (recurrence)     onTrial
//	onTrial       many are served at a pace, and few fail (trialServed)               meanRefusal
//	onTrial, or   more fail at a pace (trialFailed, laterFailed), and not far fewer   meanFailure
//	meanRefusal   than without one (helps)
//	              nothing is served any more (unserved)                               meanFailure
//	              some fail at a pace for a minute or longer, and less than half is
//	              served of what was usual (inVain)                                   meanFailure
//
// Failures are taken for refusals unless the belief is meanFailure, so that requests are paced.
//
// Where others use the limit too, some fail however slowly requests go. So a trial goes on while far fewer fail than before it.
//
// Few limits serve less than half of what was usual. If this one does (a bucket that was full at first), so many fail without
// a pace that the next trial begins at once (helped), and what the pace served is usual from then on.
//
// While a window is used up, nothing is served either, and nobody can tell at first. So a trial in which nothing is served ends soon
// (laterUnserved), but for two cases. Where requests have only begun, a limit is more likely than a server that breaks in this
// very minute: it goes on for newUnserved. Where something was served after such failures, it goes on for twice the time for which
// they lasted, and more (missed).
type overload struct {
	belief belief
	// Answers: before a trial, since countingSince; in a trial, since it began; afterwards, since it
	// ended well. From the trial on, failures in a row count as one.
	served, failed int
	countingSince  monotime.Time

	lastFailed    bool          // the latest answer of the trial was a failure
	unpaced       counted       // answers to requests that went before the trial, from the first failure on
	paced         counted       // answers of the trials, each failure counted; all before one that ended well weighs half
	since         counted       // answers since a trial failed
	lastServed    monotime.Time // when a request was served last
	lastAnswer    monotime.Time
	trialFrom     sequence      // requests granted later are part of the trial
	unserved      time.Duration // for how long nothing may be served in the trial
	failureHeard  sequence      // the latest failure that counted
	broken        bool          // nothing was served
	unsuccessful  int           // trials in which something was served
	begun         monotime.Time // the first answer, and the first one after idling
	recurrence    recurrence
	serving       tally         // what is served while failures mean failure; then, at a pace
	usual         float64       // served in a second, over the latest minute or more before the trial; or in the part of one that follows, if that is more
	noTrialBefore monotime.Time // since a trial has failed
}

// tally counts answers from an instant on.
type tally struct {
	from           monotime.Time
	served, failed int
}

// rate returns how many were served in a second. Less than a minute counts as one: what a bucket that is full serves at first is no rate.
func (c *tally) rate(now monotime.Time) float64 {
	return float64(c.served) / max(now.Sub(c.from), time.Minute).Seconds()
}

// counted is how many answers there were, of which the latest weigh the most.
type counted struct{ served, failed int }

// half has what was counted weigh half as much.
func (s *counted) half() { s.served, s.failed = s.served/2, s.failed/2 }

// mostCounted is how many answers are counted. Then all count half.
const mostCounted = 1000

// add counts one.
func (s *counted) add(failed bool) {
	if s.served+s.failed >= mostCounted {
		s.half()
	}
	if failed {
		s.failed++
	} else {
		s.served++
	}
}

// helped reports whether the latest trial has ended too early, as what failed since shows: if others use the limit as well, many fail
// in a trial, and most without one. So the next trial begins at once, even if nothing is served any more: where refused requests count,
// nothing will be, until fewer are sent.
//
// Where nothing was served in that trial, that may be an outage: then what failed counts from when something is served again.
func (o *overload) helped() bool { return !o.broken && o.paced.served > 0 && fewer(&o.paced, &o.since) }

// fewer reports whether the odds of a failure are a quarter with a pace of what they are without one.
func fewer(paced, unpaced *counted) bool {
	return unpaced.failed >= enoughFailed && 4*paced.failed*(unpaced.served+1) <= unpaced.failed*paced.served
}

// helps reports whether fewer fail since requests are paced: so many that the odds are a quarter of those before. At a server that
// fails so often whatever is asked of it, pacing changes nothing. At a limit that others use as well, many are refused however
// slowly requests go, but not nearly as many.
func (o *overload) helps() bool { return fewer(&o.paced, &o.unpaced) }

// serve counts n requests that were served while failures mean failure.
func (o *overload) serve(now monotime.Time, n int) {
	if o.serving.served += n; now.Sub(o.serving.from) >= time.Minute {
		o.usual, o.serving = o.serving.rate(now), tally{from: now}
	}
}

// inVain takes in an answer of a trial, and reports whether, at a pace, some fail although less than half is served of what was usual.
// Where fewer fail than enough to tell in vainWithin, nothing is wrong with the pace.
func (o *overload) inVain(now monotime.Time, a attempt) bool {
	s := &o.serving
	lasted := now.Sub(s.from)
	if s.from == 0 || !a.paced || lasted > vainWithin {
		*s, lasted = tally{from: now}, 0
	}
	if !a.failed {
		s.served++
		return false
	}
	if s.failed++; s.failed < 2*minFailures || lasted < time.Minute {
		return false
	}
	rate := s.rate(now)
	if 2*rate < o.usual {
		return true
	}
	o.usual, *s = max(o.usual, rate), tally{from: now}
	return false
}

// mostFail reports whether, without a pace, three of four fail.
func (o *overload) mostFail() bool { return o.unpaced.failed >= max(minFailures, 3*o.unpaced.served) }

// belief is what failures are thought to mean.
type belief int

const (
	meanFailure belief = iota
	onTrial            // they are taken for refusals, and that is being tested
	meanRefusal
)

const (
	// minFailures is how many failures there must be before a trial, and one in minFailedPart
	// is the part of the answers that they must be: at twice the rate that is allowed, one
	// request in two fails.
	minFailures   = 4
	minFailedPart = 4

	// enoughFailed is how many must have failed without a pace for it to be compared with one. With four, a server that fails a few at random, and
	// several in turns at first, stays paced; with eight, a process of which others take most cannot tell soon enough.
	enoughFailed = 6

	// A trial ends well after trialServed served requests, counted from when the pace is known.
	// It fails after more than trialFailed failures: the search for the right pace takes as
	// many. After a trial that ended well, each further trialServed may have laterFailed: with
	// more, the trial ended well by chance.
	trialServed = 32
	trialFailed = 6
	laterFailed = 4

	// vainWithin is how soon at most failures at a pace must be enough to tell that the pace is in vain.
	vainWithin = 10 * time.Minute

	// newFor is for how long requests have only begun, and newUnserved is for how long nothing may then be served in a trial:
	// a quarter longer than the windows of a minute that are common. When something was served in it, the next time is known, or it
	// is no window: then it is laterUnserved at most, which is longer than the windows of 10 s that are common.
	newFor        = time.Minute
	newUnserved   = 75 * time.Second
	laterUnserved = 15 * time.Second
	// missed is how many times half of the time for which nothing was served before that may be: others may have taken all of the window
	// that began then, and so the next one is waited for.
	missed = 5

	// nextTrial is how long after a trial that failed another one may begin, if requests were served in it.
	nextTrial = 30 * time.Second
)

// attempt is one answer without explanation.
type attempt struct {
	granted sequence // of the request
	failed  bool
	paced   bool // the served rate was known
}

// take takes in an answer, which has a number in the sequence. Refused says that it is taken for a
// refusal. Over says that failures are failures after all: the trial has failed, or had ended well
// by chance. No trial begins for maxHold after that.
func (o *overload) take(now monotime.Time, a attempt, answer sequence, maxHold time.Duration) (refused, over bool) {
	if o.begun == 0 {
		o.begun = now
	}
	if again := o.recurrence.take(now, a.failed); o.belief == meanFailure {
		if again {
			o.try(now, answer)
			return true, false
		}
		return o.suspect(now, a.failed, answer), false
	}
	if now.Sub(o.lastAnswer) > Patience {
		o.served, o.failed, o.lastServed = 0, 0, now // after a pause in asking, the pace has to be found anew
	}
	o.lastAnswer = now
	o.score(now, a)
	switch {
	case o.inVain(now, a):
		o.usual, over = o.serving.rate(now), true
	case a.failed && now.Sub(o.lastServed) > max(o.unserved, missed*o.recurrence.lasted/2, Patience):
		o.broken, over = true, true
	case a.granted < o.trialFrom || !a.paced:
		return a.failed, false // granted before the trial, or while the pace is still searched for
	case !a.failed:
		if o.served++; o.served >= trialServed {
			o.belief, o.served, o.failed = meanRefusal, 0, 0
			o.paced.half()
		}
	case !o.lastFailed && a.granted >= o.failureHeard: // one that was under way when another failed says nothing new
		o.failureHeard = answer
		o.failed++
		over = (o.failed > trialFailed || o.failed > laterFailed && o.belief == meanRefusal) && !o.helps()
	}
	if over {
		*o = o.after(now, maxHold)
		return false, true
	}
	o.lastFailed = a.failed
	return a.failed, false
}

// score counts an answer in a trial.
func (o *overload) score(now monotime.Time, a attempt) {
	inTrial := a.granted >= o.trialFrom
	if !a.failed {
		if o.lastServed = now; inTrial {
			o.unserved = min(o.unserved, laterUnserved)
		}
	}
	switch {
	case !inTrial:
		o.unpaced.add(a.failed)
	case a.paced:
		o.paced.add(a.failed)
	}
}

// suspect counts answers from the first failure on, of which one that is served before shows that the server serves, and begins a trial if
// enough of them are failures. It reports whether it did.
func (o *overload) suspect(now monotime.Time, failed bool, answer sequence) bool {
	if now.Sub(o.countingSince) > Patience {
		o.served, o.failed, o.countingSince = 0, 0, now
	}
	if failed {
		o.failed++
	} else {
		o.serve(now, 1)
		if o.failed > 0 || o.served == 0 {
			o.served++
		}
		if o.broken {
			o.broken, o.since, o.noTrialBefore = false, counted{}, min(o.noTrialBefore, now.Add(doubled(Patience, o.unsuccessful)))
		}
	}
	if o.failed > 0 {
		o.unpaced.add(failed)
		o.since.add(failed)
	}
	if (now < o.noTrialBefore || o.served == 0) && !o.helped() || o.failed < minFailures || minFailedPart*o.failed < o.served+o.failed {
		return false
	}
	o.try(now, answer)
	return true
}

// try begins a trial.
func (o *overload) try(now monotime.Time, answer sequence) {
	unserved := Patience
	if now.Sub(o.begun) < newFor || o.helped() && o.served > 0 {
		unserved = newUnserved
	}
	*o = overload{
		belief: onTrial, trialFrom: answer, lastFailed: true, lastServed: now, lastAnswer: now,
		begun: o.begun, recurrence: o.recurrence, unsuccessful: o.unsuccessful, unpaced: o.unpaced, paced: o.paced,
		unserved: unserved, usual: max(o.usual, o.serving.rate(now)),
	}
}

// after returns what is left of a trial that failed. If nothing was served any more, the next one begins after maxHold at the
// soonest, or soon after something is served again. Else the pace may have been wrong, and it begins after nextTrial, or after
// Patience if most fail without a pace. Both double with each trial.
func (o *overload) after(now monotime.Time, maxHold time.Duration) overload {
	next := overload{begun: o.begun, recurrence: o.recurrence, unsuccessful: o.unsuccessful + 1, unpaced: o.unpaced, broken: o.broken, usual: o.usual, serving: tally{from: now}, paced: o.paced}
	if o.broken {
		next.noTrialBefore = now.Add(maxHold)
		return next
	}
	gap := nextTrial
	if o.mostFail() {
		gap = Patience
	}
	next.noTrialBefore = now.Add(min(doubled(gap, next.unsuccessful), maxHold))
	return next
}

// meet notes that the first request of the bucket goes.
func (o *overload) meet(now monotime.Time) { o.serving.from = now }

// again forgets when requests began: they begin again.
func (o *overload) again() { o.begun = 0 }

// longestHold is for how long at most nothing goes after failures that are taken for refusals without a hint: while nothing is
// served, a request must go often enough for the trial to go on.
const longestHold = Patience / 2

// believe takes failures for refusals, as an earlier run has found.
func (o *overload) believe() { o.belief = meanRefusal }
