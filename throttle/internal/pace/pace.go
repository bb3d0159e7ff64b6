// Package pace finds the rate of a server that refuses some requests and states nothing that explains it.
//
// The rate at which the server serves while it also refuses is a rate that it allows, whatever it counts. So
// requests go at just under this rate. The pace rises, to find out whether more is allowed, and it rises more
// slowly each time a rise was refused.
//
// In come refusals ([Rate.Refuse]), what was served ([Rate.Serve]) and grants ([Rate.Take]). Out come when a
// request may go ([Rate.Due]) and when to look again after a refusal ([Rate.Look]). What was learned is kept
// for a later run ([Rate.Memory], [Rate.Resume]).
//
// The package is a state machine, which is given the instant: it has no lock, no clock and no timer. It does
// not know what requests ask for, who waits, or which limits the server states.
//
//   - pace.go: the rate, and when a request may go at it. episode.go: episodes of refusals, over which it is
//     measured.
//   - former.go: a rate that was served before is tried again, and twice the pace where there is none.
//   - meter.go: what is served from one refusal to the next one.
//   - first.go: the first pace, where a hint may stand for much less.
//   - catchup.go: what a hold has kept back goes after it. spare.go: what has come back while nobody asked.
//   - row.go: what is served in a row, and when to look again after it.
//   - window.go: as many in each row, and as long from one to the next: a window that nobody states, of which
//     all goes at once.
//   - sliding.go: each token back as long after it went: a log that nobody states.
//   - burst.go: what may go at once after idling. memory.go: what is kept, and what people are told.
package pace

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Rate is what was found out about one server. Nothing is known before the first refusal: the zero Rate knows
// nothing, and to set a Rate to zero is to forget all.
type Rate struct {
	lastGrant monotime.Time // of the latest request
	lastServe monotime.Time // of the latest answer: who waits for it does not ask

	rate    float64       // tokens per second at setAt; zero if it is not known
	setAt   monotime.Time // when the rate was set
	growth  float64       // share of the rate by which it grows per second
	pacedTo monotime.Time // until when the granted requests have used up the rate
	undo    undo

	episodes    episodes
	rose        bool // the pace had risen when the latest refusal came
	provisional bool // the rate is from less than an episode
	unshared    bool // nobody else used what the server allows when the latest refusal came
	useless     int  // how often in a row the pace was lowered and soon refused again, maxUseless at most

	row     row        // what is served in a row, and the hold after it
	window  window     // as many in each row
	sliding sliding    // each token back as long after it went
	former  formerRate // is tried again after a fall
	burst   burst      // may go at once when the server has idled
	meter   meter      // what is served since the latest refusal
	first   first      // the first pace, where a hint may stand for less
	catchUp catchUp    // what the latest hold has kept back
	spare   spare      // what has come back while nobody asked
}

// undo is what was before the latest grant at a rate, for when the request is not sent.
type undo struct {
	went    monotime.Time // the grant; zero if there was none, or it was taken back
	n       int           // tokens of it
	pacedTo monotime.Time
	tried   float64 // of formerRate
}

const (
	// paceShare is the share of the served rate at which requests go: at exactly the server's
	// rate, the jitter of the network alone would have requests refused.
	paceShare = 0.95
	// maxGrowth is how fast the pace begins to rise: by a fifth per second. It is halved with
	// each episode, down to minGrowth, a two-thousandth per second.
	maxGrowth, minGrowth = 0.2, 0.0005
	// acceleration is by which share of itself the growth grows in a second without a refusal,
	// while it is maxGrowth; it is halved with the growth. With more, the pace overruns the
	// server's windows again and again.
	acceleration = 0.15
	// unsharedGrowth is by which share the pace grows at most per token where nobody else uses the limit: by a
	// tenth while sameEpisode are served. Then a fifth per second is far too much of a limit of few a minute.
	// Where others use it as well, who has little would come back too slowly.
	unsharedGrowth = 0.1 / sameEpisode
	// longestDebt bounds for how long nothing goes because more went before than the rate.
	longestDebt = 10 * time.Second
	// risen is the share by which a pace must have risen to be the reason of a refusal: it was set to less than
	// what the server was seen to allow.
	risen = 0.03
	// maxUseless is how often in a row the pace is lowered although it is soon refused again. It follows what
	// was served, so it is soon low enough, if it is the reason of the refusals at all. But what was measured
	// may have been of the time before a fall of the limit. So from then on it is lowered where sameEpisode
	// were served before the refusal. A server that refuses so many at random that fewer are served in a row
	// would have it lowered ever more.
	maxUseless = 4
	// maxOverPace bounds the pace that was refused, as a multiple of the served rate, where
	// both are averaged.
	maxOverPace = 1.25
)

// Known reports whether there is a rate at which requests go.
func (r *Rate) Known() bool { return r.rate != 0 || r.sliding.on() }

// Measured reports whether the rate is known from a whole episode at least, or what comes back is.
func (r *Rate) Measured() bool { return r.rate != 0 && !r.provisional || r.sliding.proven() }

// Fresh reports whether nothing was refused yet, and nothing was taken over.
func (r *Rate) Fresh() bool { return r.episodes.measuredFrom == 0 }

// Risen reports whether the pace has risen by so much that it may be the reason of a refusal.
func (r *Rate) Risen(now monotime.Time) bool { return r.rateAt(now) > (1+risen)*r.rate }

// rateAt returns the rate at t: rate · exp(growth · d · (1 + acceleration · growth/maxGrowth · d)),
// d seconds after it was set. It rises the faster the longer nothing is refused: the measured rate
// may be far too low, if the server was not serving then.
func (r *Rate) rateAt(t monotime.Time) float64 {
	if r.former.trial {
		return r.former.during(r.rate, r.former.tried)
	}
	return r.rate * r.grown(max(t.Sub(r.setAt), 0).Seconds())
}

// grown returns by what the rate grows in d seconds.
func (r *Rate) grown(d float64) float64 {
	return math.Exp(r.growth * d * (1 + acceleration*r.growth/maxGrowth*d))
}

// mostAt returns the highest rate that is possible at t. If a trial of the former rate is under way, or due by
// then, it is not refused, and the rate grows afterwards.
func (r *Rate) mostAt(t monotime.Time) float64 {
	d := max(t.Sub(r.setAt), 0).Seconds()
	switch {
	case r.former.trial:
		return r.former.during(r.rate, d) * r.grown(d)
	case r.former.due(t):
		return r.former.during(r.rate, t.Sub(r.former.next).Seconds()) * r.grown(d)
	}
	return r.rate * r.grown(d)
}

// Due returns when n tokens may go, not before t, if ahead tokens go before. The rate rises meanwhile, until
// something is refused: an optimist expects that of the time in which others go before, too. If nothing happens
// until then, that instant is the same from whenever it is asked for: else the timer for it would come too late
// or too soon.
func (r *Rate) Due(t monotime.Time, ahead, n, inFlight int, optimist bool) monotime.Time {
	if r.sliding.on() {
		return r.sliding.due(t, r.lastGrant, ahead+min(n, r.sliding.size), inFlight)
	}
	if r.rate == 0 || r.burst.allows(ahead+n) {
		return t
	}
	if r.window.known() {
		return r.window.due(t, ahead+n)
	}
	rateAt, from := r.rateAt, r.pacedTo
	takes := func(d time.Duration) time.Duration { return monotime.Seconds(float64(ahead+n) / rateAt(from.Add(d))) }
	if r.pacedTo.Add(takes(t.Sub(from))) <= t {
		return t
	}
	if optimist && ahead > 0 {
		rateAt, from = r.mostAt, max(r.pacedTo, t)
	}
	return max(t, r.pacedTo.Add(soonest(takes)))
}

// soonest returns the first d that is no less than takes(d), which never grows with d. Takes(d) is a bound from
// the other side than d: where it changes little, as it mostly does, the bounds meet after two steps. Else each
// step goes to where a line between the latest points on both sides meets d; the Illinois method (Dowell and
// Jarratt, 1971): of two steps to one side, the second halves the other side's weight. Each third step halves
// what is left, whatever takes is.
func soonest(takes func(d time.Duration) time.Duration) time.Duration {
	less := time.Duration(-1) // than what is sought; enough is not
	enough := takes(less)
	from, to, over, under, last := less, enough, float64(enough-less), float64(enough), 0.0 // takes(from) is over from, takes(to) under to, by so much
	for step, d := 1, enough; enough-less > 1; step++ {
		at := takes(d)
		off := float64(at - d)
		switch {
		case off > 0:
			less, enough, from, over = d, min(enough, at), d, off
			if last > 0 {
				under /= 2
			}
		default:
			less, enough, to, under = max(less, at-1), d, d, -off
			if last < 0 {
				over /= 2
			}
		}
		last, d = off, from+time.Duration(float64(to-from)*over/(over+under))
		if step%3 == 0 {
			d = less + (enough-less)/2
		}
		d = min(max(d, less+1), enough-1)
	}
	return enough
}

// Take counts a grant, now, of n tokens to a request that came at the instant asked.
func (r *Rate) Take(now, asked monotime.Time, n int) {
	r.burst.take(now, n)
	if r.episodes.measuredFrom == 0 {
		return
	}
	// Who was refused has asked all the time, even if one that came later goes before it when the hold ends.
	held := r.row.refused != 0 && asked < now
	last := max(r.lastGrant, r.lastServe)
	if !held && asked.Sub(last) > askingPause && asked.Sub(r.episodes.measuredFrom) > askingPause {
		r.setAt = r.setAt.Add(max(asked.Sub(max(last, r.setAt)), 0) - askingPause) // the pace does not rise for longer while nobody asks
		r.episodes.restart(now)
	}
	first, latest := r.lastGrant <= r.meter.from, r.lastGrant
	r.lastGrant = now
	if r.sliding.on() {
		return
	}
	r.window.take(now, n)
	if r.rate > 0 && !r.window.known() {
		last := min(n, 1)
		took := float64(n-last) / r.rateAt(now) // a trial, which may be slower, begins with the last token
		if r.former.due(now) {
			r.try(now)
		}
		took += float64(last) / r.rateAt(now)
		// A timer that is late by up to limit.Lag does not lower the rate.
		r.undo = undo{now, n, r.pacedTo, r.former.tried}
		paced, lag := r.pacedTo.Add(monotime.Seconds(took)), now.Add(-limit.Lag)
		if r.former.trial && paced >= lag {
			r.former.take(took)
		}
		burst := r.burst.memory(r.rate)
		by := r.catchUp.behind(now, paced >= lag, burst, r.rate)
		if !first { // else it is a hold that has kept something back
			idle := lag.Sub(paced) - max(now.Sub(max(asked, latest)), 0)
			by = max(by, r.spare.behind(now, idle, n, burst, r.rateAt(now)))
		}
		r.pacedTo = max(paced, lag.Add(-by))
	}
}

// Cancel takes back a grant of n tokens that went at an instant and was not sent: others go in its place. What
// went before the rate was set, or before the turn of the window began, is out of the count already.
func (r *Rate) Cancel(went monotime.Time, n int) {
	r.burst.cancel(n)
	r.spare.cancel()
	r.window.cancel(went, n)
	switch {
	case r.rate == 0 || went < r.setAt:
	case went == r.undo.went && n == r.undo.n: // exactly, since the rate in a trial depends on what has gone
		r.pacedTo, r.former.tried, r.undo.went = r.undo.pacedTo, r.undo.tried, 0
	default:
		took := monotime.Seconds(float64(n) / r.rateAt(went))
		r.pacedTo, r.undo.pacedTo = r.pacedTo.Add(-took), r.undo.pacedTo.Add(-took)
	}
}

// try begins a trial of the former rate.
func (r *Rate) try(now monotime.Time) {
	pace := r.rateAt(now)
	r.former.before = pace
	if r.former.up { // the pace may have grown to the limit, where more are refused: so it grows again afterwards, see endTrial
		pace = r.rate
	}
	r.rate, r.setAt = pace, now
	r.former.begin(pace)
	r.first.end()
	r.episodes.restart(now)
}

// Serve counts n tokens that were served. A request that was on its way when the latest refusal came belongs to
// the row before (serveLate); or, where the server said for how long it refuses, counts only if something else
// is served as well before the next refusal. Of others, one that went no later than the refused request and
// took more than twice as long does not count at all (overtaken): the server had surely counted it before.
func (r *Rate) Serve(now monotime.Time, n int, went Went) {
	counted := r.sliding.counted(now, went.Sent)
	overtaken := !went.BeforeRefusal && counted <= r.meter.from && counted.Add(r.sliding.took) < now
	late := went.BeforeRefusal || overtaken
	went.BeforeRefusal = late
	r.lastServe = now
	r.burst.serve(n, late, r.meter.from)
	r.meter.serve(n, late)
	if !late {
		r.first.serve(now)
	}
	if from := r.window.turn.from; !r.sliding.on() {
		if r.window.serve(now, n, went); r.window.turn.from != from {
			r.sliding.begins(counted)
		}
	}
	r.sliding.serve(counted, n)
	if late && !r.former.trial && (r.episodes.serveLate(now) || overtaken) {
		return
	}
	r.row.serve(now, n)
	r.episodes.serve(now, n)
	r.former.owedTo = 0
	if r.former.trial && r.former.succeeds(r.rate, r.episodes.servedSince) {
		r.rate, r.setAt = r.former.goal(r.rate), now
		r.useless = 0 // it may have succeeded too soon: then the pace is the reason for refusals
		r.former.succeed(now, r.rate)
	}
	if now.Sub(r.row.from) >= Kept && !Sane(r.rateAt(now)) {
		*r = Rate{}
	}
}

// Count counts n tokens that were served while nothing was known. As a rule, there are none.
func (r *Rate) Count(now monotime.Time, n int) {
	if n == 0 {
		return
	}
	r.row.count(n)
	r.window.count(n)
	r.sliding.serve(now, n)
}

// Alone reports whether requests are to go one at a time from one of n tokens on that goes now, since it shows
// whether a window has begun, or has more than before.
func (r *Rate) Alone(now monotime.Time, n, inFlight int) bool {
	if r.sliding.on() {
		return r.sliding.alone(now, inFlight+n)
	}
	return r.window.alone(now, n)
}

// Open reports whether a window has begun of which it is known how many it has: so it is known what may go.
func (r *Rate) Open() bool {
	return r.sliding.proven() && !r.sliding.beyond || !r.sliding.on() && r.window.open()
}

// Window returns how many tokens the server serves in each window that it does not state, and how long a window
// lasts, if that was seen.
func (r *Rate) Window() (size int, lasts time.Duration, known bool) {
	if r.sliding.on() {
		return r.sliding.size, r.sliding.span, true
	}
	return r.window.size, r.window.lasts(r.window.least), r.window.known()
}

// RowOver reports, once in a row and while no rate is known, whether as many are served or in flight as the row
// before had: more would be refused.
func (r *Rate) RowOver(inFlight int) bool {
	return r.rate == 0 && !r.sliding.on() && r.row.over(inFlight)
}

// Look returns for how long nothing goes after the n-th refusal in a row, if the server does not say, and
// whether what was served before shows that. Later says that looks for buckets may be left out. So many others
// wait to look in turns.
func (r *Rate) Look(now monotime.Time, n int, later bool, others int) (hold time.Duration, ok bool) {
	if r.sliding.on() {
		return max(r.sliding.due(now, r.lastGrant, 1, 0).Sub(now), leastLook), true
	}
	if hold, ok := r.window.look(now, n); ok {
		return hold, hold > 0
	}
	token := monotime.Longest
	if r.rose {
		token = monotime.Seconds(1 / r.rateAt(now))
	}
	return r.row.look(now, n, later, token, others)
}

// Answered takes in how long the latest refusal took to come, before Refuse, and whether limits that the server
// states show that nobody else uses what it allows.
func (r *Rate) Answered(took time.Duration, unshared bool) {
	r.sliding.took, r.unshared = took, unshared
}

// Refuse takes in a refusal: it is the first of all, or belongs to the latest episode, or ends
// that and begins the next. Hinted says that the server said for how long it would refuse.
func (r *Rate) Refuse(now monotime.Time, hinted bool) {
	r.burst.refuse(now)
	r.row.refuse(now)
	switch {
	case r.sliding.on():
		if r.sliding.refuse(now); !r.sliding.on() {
			r.window, r.setAt, r.pacedTo = window{}, now, now
		}
	case r.window.refuse(now) && !hinted:
		r.sliding.begin(now, r.window.size, r.window.least, r.window.most)
	}
	since, next := now.Sub(r.episodes.measuredFrom), episode{start: now, lastRefusal: now, hinted: hinted}
	r.rose = r.rate > 0 && r.Risen(now)
	r.first.refuse(now, r.meter.served, r.rateAt(now), r.episodes.count > 0)
	if r.meter.empty() { // what was on its way may have been served before that refusal: nothing is known to have come back
		r.episodes.takeBack()
	}
	switch {
	case r.former.trial:
		r.endTrial(now, hinted)
		fallthrough
	case r.episodes.count == 0:
		r.episodes.begin(next)
	case r.episodes.goesOn(now, r.unshared && r.rate > 0):
		r.continueEpisode(now)
	case now > r.episodes.latest().start:
		r.measure(now)
		r.episodes.next(next)
	}
	r.episodes.measuredFrom, r.episodes.servedSince = now, 0
	r.meter.refuse(now)
	r.catchUp.refuse(now, hinted && r.rate > 0, since)
	r.spare.refuse(now, r.rose)
	if r.unshared && !r.provisional {
		r.growth = min(r.growth, unsharedGrowth*r.rate)
	}
}

// Hint takes in for how long the latest refusal asks, in such steps, if it says so; zero means now. It may
// stand for less: then the first pace is sought.
func (r *Rate) Hint(now monotime.Time, asked, step time.Duration) {
	r.window.hint(now, asked, step)
	if r.rate == 0 || r.first.over() || r.window.known() || !rounded(asked, step) || !r.burst.small() {
		return
	}
	if pace, mean := r.first.seek(); mean || r.provisional {
		r.rate, r.provisional = pace, true
	}
}

// endTrial ends a trial with a refusal. The rate is what it was before; or, after a long row, that of the row:
// then the limit has risen, but not as far. Where refusals are hinted, the row counts only if little can have
// gathered before; else the rate is just under what was served since the refusal before, if that is more. The
// same goes for a trial of twice the pace, as far as the pace had grown to it: else it would stay where it is
// for ever. What went beyond the rate is only missing if the next request is refused as well: of a bucket,
// which serves it, nothing is; and a hint says when it is back.
func (r *Rate) endTrial(now monotime.Time, hinted bool) {
	at := r.rateAt(now)
	before := r.rate * now.Sub(r.setAt).Seconds()
	row := paceShare * float64(r.episodes.servedSince)
	owed := max(row-before, 0) // what went beyond the rate: of a window, that is missing now
	counts, least := !r.former.up || r.former.tried >= servedFor.Seconds(), 0.0
	if hinted {
		seen, over := r.meter.rate(now)
		r.former.seen(seen, over)
		least = paceShare * seen
		counts = !r.former.up && r.burst.small()
		row -= paceShare * float64(r.burst.memory(r.rate))
	} else if r.former.up {
		seen, _ := r.meter.rate(now)
		least = min(paceShare*seen, r.former.before)
	}
	if counts && r.episodes.servedSince >= provenServed && before > 0 && row > longRow*before {
		r.rate *= row / before
		owed = 0
	} else {
		r.rate = max(r.rate, least)
	}
	r.setAt, r.pacedTo = now, now
	r.former.fail(now, at, r.rate)
	r.former.owedTo = now.Add(min(monotime.Seconds(owed/r.rate), longestDebt))
}

// continueEpisode takes in a refusal that belongs to the latest episode.
func (r *Rate) continueEpisode(now monotime.Time) {
	e := r.episodes.carryOn(now)
	switch {
	case r.rate > 0:
		r.setAt, r.pacedTo = now, max(now, r.former.owedTo)
	case e.served > 0 && now > e.start:
		// A rate from less than an episode is better than none.
		r.rate, r.growth, r.setAt, r.pacedTo = paceShare*float64(e.served)/now.Sub(e.start).Seconds(), maxGrowth, now, now
		r.first.low, r.provisional = r.rate, true
	}
}

// measure sets the rate at the end of an episode, which is later than it began and in which something was
// served: to the rate over all episodes or over the latest one, whichever is higher.
func (r *Rate) measure(end monotime.Time) {
	refused := r.rateAt(end)
	rate, all, total := r.episodes.rates(end)
	if r.episodes.extra < maxExtraRefusals { // else one row after another was refused: the limit has fallen
		rate = max(rate, all)
	}
	if r.rate > 0 && r.episodes.servedSince >= provenServed {
		// The rate served while the pace rose is below what the server allows, and the pace that
		// was refused is above: the geometric mean of both.
		rate = math.Sqrt(rate * min(max(refused, rate), maxOverPace*rate))
	}
	rate *= paceShare
	switch {
	case rate < r.rate && !r.provisional && r.episodes.followsTrial(end):
		rate = r.rate
	case r.episodes.servedSince >= provenServed:
		r.useless = 0
	case rate >= r.rate || r.provisional:
	case r.useless < maxUseless:
		r.useless++
	case r.episodes.alike(end):
		rate = max(rate, paceShare*r.rate)
	case r.episodes.servedSince < sameEpisode:
		rate = r.rate // the pace is not the reason of the refusals
	}
	if r.growth = max(r.growth/2, minGrowth); r.rate == 0 || r.provisional {
		r.growth = maxGrowth
	}
	if r.episodes.isServedFirst() {
		total = 0
	}
	r.former.note(end, all, total, rate, refused)
	r.rate, r.setAt, r.pacedTo, r.provisional, r.first.low = rate, end, end, false, rate
}
