// Package overload finds out whether a failure without explanation is a refusal. By default nginx answers 503,
// and nothing else, to requests over its limit; but a broken server answers 503 as well. The difference:
// refusals end when requests go more slowly, and failures do not.
//
// In come answers without explanation ([Failures.Take]), served or failed, while the server states no limit.
// One that states limits is taken to say when it refuses: there, only failures count that say that nothing
// remains. Out comes whether a failure is taken for a refusal ([Failures.Belief]). overload.go has the trials
// that find it out, and recurrence.go looks whether as many requests get through each time. What is done about
// a refusal is a matter of packages adaptive and pace.
package overload

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Failures is what was seen of the failures of one bucket. The zero Failures has seen none. Its belief is what
// they mean:
//
//	belief        ends when                                                           then
//	MeanFailure   a good part of the answers fail, and others are served (suspect)    OnTrial
//	              far more fail than in a trial that failed (helped)                  OnTrial
//	              as many are served between two long failures again (recurrence)     OnTrial
//	OnTrial       many are served at a pace, and few fail (trialServed)               MeanRefusal
//	OnTrial, or   more fail at a pace (trialFailed, laterFailed), and not far fewer   MeanFailure
//	MeanRefusal   than without one (helps)
//	              nothing is served any more (unserved)                               MeanFailure
//	              some fail at a pace for a minute or longer, and less than half is
//	              served of what was usual (harms)                                   MeanFailure
//
// They are taken for refusals unless the belief is MeanFailure, so that requests are paced.
//
// Where others use the limit too, some requests fail however slowly ours go. So a trial goes on while far fewer
// fail than before it.
//
// Few limits serve less than half of what was usual before they refused; a bucket that was full at first may.
// If one does, the trial ends, and then so many fail without a pace that the next trial begins at once
// (helped). What the pace served is usual from then on.
//
// While a window is used up, nothing is served either, so that nobody can tell it from a broken server at
// first. A trial in which nothing is served ends soon (patience, or laterUnserved), but for two cases. Where
// requests have only begun, a limit is more likely than a server that breaks in this very minute: the trial
// goes on for newUnserved. Where something was served after such failures, the trial goes on for more than
// twice the longest time of late for which they lasted (missed), or for four times that (inTurn), up to
// newUnserved.
type Failures struct {
	belief Belief
	// Answers: before a trial, since countingSince; in a trial, since it began; afterwards, since it
	// ended well. From the trial on, failures in a row count as one.
	served, failed int
	countingSince  monotime.Time

	lastFailed    bool          // the latest answer of the trial was a failure
	unpaced       counted       // answers to requests that went before the trial, from the first failure on
	paced         counted       // answers of the trials, each failure counted; halved when a trial ends well
	since         counted       // answers since a trial failed
	lastServed    monotime.Time // when a request was served last
	lastAnswer    monotime.Time
	trialFrom     uint64        // requests granted later are part of the trial
	unserved      time.Duration // for how long nothing may be served in the trial
	failureHeard  uint64        // the latest failure that counted
	broken        bool          // nothing was served
	unsuccessful  int           // trials in which something was served
	begun         monotime.Time // the first answer, or the first one after idling
	recurrence    recurrence
	serving       tally         // what is served while failures mean failure, and then at a pace
	usual         float64       // served in a second, over a minute or more before the trial; or since, if that is more
	noTrialBefore monotime.Time // no trial begins before that, since one has failed
}

// tally counts answers from an instant on.
type tally struct {
	from           monotime.Time
	served, failed int
}

// rate returns how many were served in a second. A time of less than a minute counts as a minute, since what a
// full bucket serves at first is no rate.
func (c *tally) rate(now monotime.Time) float64 {
	return float64(c.served) / max(now.Sub(c.from), time.Minute).Seconds()
}

// counted is how many answers there were, of which the latest weigh the most.
type counted struct{ served, failed int }

// half has what was counted weigh half as much.
func (s *counted) half() { s.served, s.failed = s.served/2, s.failed/2 }

// mostCounted is how many answers are counted. Then all of them are halved.
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

// helped reports whether the latest trial has ended too early, as what failed since shows. If others use the
// limit as well, many fail in a trial, and most without one. Then the next trial begins at once, even if
// nothing is served any more: where refused requests count, nothing is served until fewer are sent.
//
// If nothing was served in that trial, there may be an outage. Then what failed counts only from when something
// is served again (broken).
func (o *Failures) helped() bool { return !o.broken && o.paced.served > 0 && fewer(&o.paced, &o.since) }

// fewer reports whether the odds of a failure with a pace are a quarter of those without one, or less.
func fewer(paced, unpaced *counted) bool {
	return unpaced.failed >= enoughFailed && 4*paced.failed*(unpaced.served+1) <= unpaced.failed*paced.served
}

// helps reports whether far fewer fail since requests are paced: the odds are a quarter of those before, or
// less. At a server that fails at random, pacing changes nothing. At a limit that others use as well, many are
// refused however slowly ours go, but not nearly as many as before.
func (o *Failures) helps() bool { return fewer(&o.paced, &o.unpaced) }

// Serve counts n requests that were served, if failures mean failure: trials count for themselves.
func (o *Failures) Serve(now monotime.Time, n int) {
	if n == 0 || o.belief != MeanFailure {
		return
	}
	if o.serving.served += n; now.Sub(o.serving.from) >= time.Minute {
		o.usual, o.serving = o.serving.rate(now), tally{from: now}
	}
}

// harms takes in an answer of a trial. It reports whether the pace does harm: some requests fail at it,
// although less than half is served of what was usual. If too few fail within harmsWithin to tell, nothing is
// wrong with the pace.
func (o *Failures) harms(now monotime.Time, a Attempt) bool {
	s := &o.serving
	lasted := now.Sub(s.from)
	if s.from == 0 || !a.Paced || lasted > harmsWithin {
		*s, lasted = tally{from: now}, 0
	}
	if !a.Failed {
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
func (o *Failures) mostFail() bool { return o.unpaced.failed >= max(minFailures, 3*o.unpaced.served) }

// Belief is what failures are thought to mean.
type Belief int

// What failures mean. They are taken for refusals unless that is MeanFailure.
const (
	MeanFailure Belief = iota
	OnTrial            // they are taken for refusals, and that is being tested
	MeanRefusal
)

const (
	// A trial begins after minFailures failures, if they are one in minFailedPart of the answers or more: at
	// twice the rate that is allowed, one request in two fails.
	minFailures   = 4
	minFailedPart = 4

	// enoughFailed is how many must have failed without a pace to be compared with what fails at one. With
	// four, a server that fails a few at random, several in turn at first, stays paced. With eight, a process
	// that shares a limit of which others take most cannot tell soon enough.
	enoughFailed = 6

	// A trial ends well after trialServed served requests, counted from when the pace is known.
	// It fails after more than trialFailed failures: the search for the right pace takes as
	// many. After a trial that ended well, each further trialServed may have laterFailed: with
	// more, the trial ended well by chance.
	trialServed = 32
	trialFailed = 6
	laterFailed = 4

	// patience is for how long nothing is served in a trial before it fails, where nothing else says so. After
	// as long a pause in asking, answers are counted anew.
	patience = 5 * time.Second

	// harmsWithin is within which time so many must fail at a pace that does harm, see harms.
	harmsWithin = 10 * time.Minute

	// newFor is for how long after the first answer requests have only begun. In a trial that begins then,
	// nothing may be served for newUnserved: a quarter longer than the windows of a minute that are common.
	// Once something was served in a trial, nothing may be served for laterUnserved at most, which is longer
	// than the windows of 10 s that are common.
	newFor        = time.Minute
	newUnserved   = 75 * time.Second
	laterUnserved = 15 * time.Second
	// For missed/2 times as long as nothing was served before, nothing may be served in a trial: others may
	// have taken all of the window that began then, so that the next one is waited for. Where many ask for few
	// tokens, chance says who gets one: then it takes more than inTurn times as long now and then only. A
	// process that gives up has its callers ask each second, and so the trials of all others fail as well.
	missed = 5
	inTurn = 4

	// nextTrial is how long after a trial that failed another one may begin, if requests were served in the one
	// that failed.
	nextTrial = 30 * time.Second
)

// Attempt is one answer without explanation.
type Attempt struct {
	Granted uint64 // the place of the grant of the request among all grants and answers
	Failed  bool
	Paced   bool // the rate was known at which the server serves
}

// Take takes in an answer, which has a place among all grants and answers. Refused says that the answer is
// taken for a refusal.
// Over says that failures are failures after all: the trial has failed, or had ended well by chance. When the
// next trial may begin is for after to say.
func (o *Failures) Take(now monotime.Time, a Attempt, answer uint64, maxHold time.Duration) (refused, over bool) {
	if o.begun == 0 {
		o.begun = now
	}
	if again := o.recurrence.take(now, a.Failed); o.belief == MeanFailure {
		if again {
			o.try(now, answer)
			return true, false
		}
		return o.suspect(now, a.Failed, answer), false
	}
	if now.Sub(o.lastAnswer) > patience {
		o.served, o.failed, o.lastServed = 0, 0, now // after a pause in asking, the pace has to be found anew
	}
	o.lastAnswer = now
	o.score(now, a)
	switch {
	case o.harms(now, a):
		o.usual, over = o.serving.rate(now), true
	case a.Failed && now.Sub(o.lastServed) > o.mayGoUnserved():
		o.broken, over = true, true
	case a.Granted < o.trialFrom || !a.Paced:
		return a.Failed, false // granted before the trial, or while the pace is still searched for
	case !a.Failed:
		if o.served++; o.served >= trialServed {
			o.belief, o.served, o.failed = MeanRefusal, 0, 0
			o.paced.half()
		}
	case !o.lastFailed && a.Granted >= o.failureHeard: // one that was under way when another failed says nothing new
		o.failureHeard = answer
		o.failed++
		over = (o.failed > trialFailed || o.failed > laterFailed && o.belief == MeanRefusal) && !o.helps()
	}
	if over {
		*o = o.after(now, maxHold)
		return false, true
	}
	o.lastFailed = a.Failed
	return a.Failed, false
}

// mayGoUnserved is for how long nothing may be served in a trial.
func (o *Failures) mayGoUnserved() time.Duration {
	return max(o.unserved, missed*o.recurrence.longest/2, min(inTurn*o.recurrence.longest, newUnserved), patience)
}

// score counts an answer in a trial.
func (o *Failures) score(now monotime.Time, a Attempt) {
	inTrial := a.Granted >= o.trialFrom
	if !a.Failed {
		if o.lastServed = now; inTrial {
			o.unserved = min(o.unserved, laterUnserved)
		}
	}
	switch {
	case !inTrial:
		o.unpaced.add(a.Failed)
	case a.Paced:
		o.paced.add(a.Failed)
	}
}

// suspect counts answers from the first failure on, and one that was served before it, which shows that the
// server serves. It begins a trial if enough of these answers are failures, and reports whether it did.
func (o *Failures) suspect(now monotime.Time, failed bool, answer uint64) bool {
	if now.Sub(o.countingSince) > patience {
		o.served, o.failed, o.countingSince = 0, 0, now
	}
	if failed {
		o.failed++
	} else {
		o.Serve(now, 1)
		if o.failed > 0 || o.served == 0 {
			o.served++
		}
		if o.broken {
			o.broken, o.since, o.noTrialBefore = false, counted{}, min(o.noTrialBefore, now.Add(doubled(patience, o.unsuccessful)))
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
func (o *Failures) try(now monotime.Time, answer uint64) {
	unserved := patience
	if now.Sub(o.begun) < newFor || o.helped() && o.served > 0 {
		unserved = newUnserved
	}
	*o = Failures{
		belief: OnTrial, trialFrom: answer, lastFailed: true, lastServed: now, lastAnswer: now,
		begun: o.begun, recurrence: o.recurrence, unsuccessful: o.unsuccessful, unpaced: o.unpaced, paced: o.paced,
		unserved: unserved, usual: max(o.usual, o.serving.rate(now)),
	}
}

// after returns what is left of a trial that failed. If nothing was served any more (broken), the next trial
// begins after maxHold at the soonest, or soon after something is served again. If something was served, the
// pace may have been wrong. Then the next trial begins after nextTrial at the soonest, or after patience if
// most fail without a pace; both double with each trial.
func (o *Failures) after(now monotime.Time, maxHold time.Duration) Failures {
	next := Failures{begun: o.begun, recurrence: o.recurrence, unsuccessful: o.unsuccessful + 1, unpaced: o.unpaced, broken: o.broken, usual: o.usual, serving: tally{from: now}, paced: o.paced}
	if o.broken {
		next.noTrialBefore = now.Add(maxHold)
		return next
	}
	gap := nextTrial
	if o.mostFail() {
		gap = patience
	}
	next.noTrialBefore = now.Add(min(doubled(gap, next.unsuccessful), maxHold))
	return next
}

// Meet notes that the first request of the bucket goes.
func (o *Failures) Meet(now monotime.Time) { o.serving.from = now }

// Again notes that requests begin again, after idling: they have only begun.
func (o *Failures) Again() { o.begun = 0 }

// LongestHold bounds a hold after a failure that is taken for a refusal and has no hint: while nothing is
// served, requests must go often enough for the trial to go on.
const LongestHold = patience / 2

// Belief returns what failures are thought to mean.
func (o *Failures) Belief() Belief { return o.belief }

// Heeds reports whether answers that are served tell anything: failures are counted, or taken for refusals.
func (o *Failures) Heeds() bool { return o.belief != MeanFailure || o.failed > 0 }

// Unseen reports whether no failure makes a difference that was seen.
func (o *Failures) Unseen() bool { return o.failed == 0 && !o.recurrence.known() }

// Believe takes failures for refusals, as an earlier run has found.
func (o *Failures) Believe() { o.belief = MeanRefusal }

// doubled returns d · 2^(n−1) for the n-th time in a row, and d · 2^20 at most.
func doubled(d time.Duration, n int) time.Duration { return d << min(max(n-1, 0), 20) }
