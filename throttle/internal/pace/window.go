package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// window recognizes a window that nobody states: the server serves as many requests each time, and serves again
// as long after the first of them each time. From then on, as many go in each turn, and the next turn begins
// when the window does. So nothing is refused, and all of a window can go at once; a pace would spread it.
//
// A turn begins with the first request that is served after a refusal, and has all that are served until the
// next turn begins. If two turns have exactly as many, the window is longer than the time from the beginning of
// a turn to the last refusal before the next one (least), and no longer than the time to the next turn (most).
// Nobody configures other windows than whole seconds; so it is a whole number of seconds, if there is one
// between these. If there are several, the one in the middle is tried.
//
// Turns at a bucket may be alike, too. But a bucket fills all the time, so that it would have served looks
// within the hold. So a turn counts only if nothing was served at a look, or a hint said so, at which a bucket
// would have had something (sudden).
//
// A window that slides gives back requests one by one, as they went. So a turn may be refused before it is
// over, and go on soon; and the turns after it begin a little later (slack). A limit may fall: then a turn has
// less, which is believed once. A limit may rise: so a turn goes on until one is refused, first after firstUp,
// and then as seldom as twice a pace is tried. What is served when the window may be over is the first of the
// next turn: else two windows would be taken for one. Where turns are refused again and again, there is no such
// window.
//
// In come grants (take), what was served (serve, count), refusals (refuse) and hints (hint). Out come whether a
// window is known (known), when a request may go (due), whether one that goes is to go alone (alone), and for
// how long nothing goes after a refusal (look).
type window struct {
	turn        turn
	size        int           // tokens of the latest turn; if a window is known, of each
	alike       int           // how many turns in a row had as many as the one before
	sudden      bool          // a bucket would not serve as many again
	sparse      bool          // a bucket would have served few only when the turn began
	least, most time.Duration // how long the window lasts: longer than least, and most at most; zero if that is not known
	slack       time.Duration // so much later than the window a turn begins
	fell        bool          // the latest turn had less
	stumbles    int           // how many of the latest turns were refused too soon, in a row
	next        monotime.Time // when a turn is to go on until one is refused
	gap         time.Duration // from the latest such turn to the next one
}

// turn is what is served from the beginning of a window to that of the next one.
type turn struct {
	from     monotime.Time // when the first request was served; zero before that
	before   monotime.Time // from, of the turn before, while the first request is on its way, and it is not known yet whether the window has begun
	granted  int           // tokens
	served   int           // tokens
	refused  monotime.Time // the first refusal; zero if there was none
	since    int           // tokens granted since the latest refusal, or since one went beyond what the window has
	least    time.Duration // how long after from the latest refusal came
	beyond   bool          // it goes on until one is refused
	stumbled bool          // it was refused too soon
	hinted   time.Duration // how long after from something is back at the soonest, as a hint says; zero if there is none
	shown    time.Duration // the same, if the hint is off by no more than its step
	near     bool          // the time of a hint is over, and the server says that it takes no more than a step
}

// Went says of a request that was served when it went, and what came after that: mostly nothing of the
// following.
type Went struct {
	Sent          monotime.Time // zero if that is not known
	BeforeRefusal bool          // it was on its way when the latest refusal came
	BeforeAlone   bool          // it went before the latest request that was to go alone, see Rate.Alone
}

const (
	// suddenBy is how many times what a bucket would have served a turn must have. A look shows something only
	// if nothing was served for a suddenBy-th of the time from the first refusal to the next turn.
	suddenBy = 4

	// fewRow are as many as a row where a turn lasts as long as a usual window, and fewBy is suddenBy there.
	fewRow, fewBy = 3, 2

	// sparseBy is for which part of a turn nothing is served at least where it comes back one by one.
	sparseBy = 16

	// perUp is how many are served in the end from one turn that goes on until one is refused to the next one.
	perUp = 200

	// mostStumbles is how many turns in a row may be refused before they are over.
	mostStumbles = 3

	// nearLook is how far apart looks are, and nearLooks how many come, where the end of a known window is over
	// and nothing is served yet. The end is known to the time that answers take. A window by the clock begins
	// with no request of ours: where it ends 40 ms after a caller came, a look after half of a row lost 24 s of
	// 60.
	nearLook, nearLooks = 250 * time.Millisecond, 4

	// turnsDiffer is the part by which the turns of a known window may differ.
	turnsDiffer = 20

	// slackStep is by how much turns begin later after one was refused too soon, and mostSlack by how much at
	// most.
	slackStep, mostSlack = 100 * time.Millisecond, time.Second
)

// known reports whether a window is known.
func (w *window) known() bool { return w.alike > 0 && w.sudden }

// lasts returns how long the window lasts, if it is longer than least.
func (w *window) lasts(least time.Duration) time.Duration {
	first, last := least.Truncate(time.Second)+time.Second, w.most.Truncate(time.Second)
	if first <= last {
		return first + ((last - first) / 2).Truncate(time.Second)
	}
	return max(least, w.most)
}

// period is the time from the beginning of a turn to that of the next one.
func (w *window) period() time.Duration { return w.lasts(w.least) + w.slack }

// due returns when the last of so many tokens may go, not before t. One that goes beyond the turn waits for the
// answers to all of the turn, or until half of the window is over: else the server may serve it and refuse
// another one of the turn, which it overtook, and more would go beyond.
func (w *window) due(t monotime.Time, tokens int) monotime.Time {
	tokens -= w.size - w.turn.granted
	beyond := t >= w.next
	if tokens <= 0 || w.turn.refused != 0 || w.turn.beyond || beyond && w.turn.served >= w.turn.granted {
		return t
	}
	turns := float64((tokens-1)/w.size + 1)
	if beyond {
		turns = 0.5
	}
	return max(t, w.turn.from.Add(monotime.Seconds(turns*w.period().Seconds())))
}

// begins reports whether a request that goes now is the first one of a turn.
func (w *window) begins(now monotime.Time) bool {
	t := &w.turn
	return w.known() && t.before == 0 && t.refused == 0 && !t.beyond && now >= t.from.Add(w.period())
}

// full reports whether so many tokens that go now are more than a turn has.
func (w *window) full(now monotime.Time, n int) bool {
	t := &w.turn
	return w.known() && t.refused == 0 && !t.beyond && t.granted+n > w.size && now >= w.next
}

// open reports whether a turn has begun, and goes on.
func (w *window) open() bool {
	return w.known() && w.turn.before == 0 && w.turn.refused == 0 && !w.turn.beyond
}

// alone reports whether requests are to go one at a time from one of n tokens on that goes now: it begins a
// turn, of which nobody knows whether the window has begun; or nobody knows whether there is more.
func (w *window) alone(now monotime.Time, n int) bool { return w.begins(now) || w.full(now, n) }

// take counts a grant of n tokens.
func (w *window) take(now monotime.Time, n int) {
	switch {
	case w.begins(now):
		if !w.turn.stumbled {
			w.stumbles = 0
		}
		w.turn = turn{from: w.turn.from, before: w.turn.from}
	case w.full(now, n):
		w.turn.beyond, w.turn.since = true, 0
	}
	w.turn.granted += n
	w.turn.since += n
}

// cancel takes back a grant of n tokens that went at an instant.
func (w *window) cancel(went monotime.Time, n int) {
	if went >= w.turn.from {
		w.turn.granted, w.turn.since = max(w.turn.granted-n, 0), max(w.turn.since-n, 0)
	}
}

// count takes in n tokens of requests that were served while nothing was known.
func (w *window) count(n int) {
	if w.turn.refused == 0 {
		w.turn.served += n
	}
}

// serve takes in that n tokens were served.
func (w *window) serve(now monotime.Time, n int, went Went) {
	t := &w.turn
	switch {
	case t.from == 0:
		t.from = now
	case went.BeforeAlone && !t.beyond: // it is of the turn before, and was slower than the first of this one
		return
	case t.before != 0:
		w.most = min(w.most, now.Sub(t.before))
		t.from, t.before = now, 0
	case t.beyond && !went.BeforeAlone && t.refused == 0 && t.served <= w.size && 2*now.Sub(t.from) > w.least: // the window may be over, and this the first of the next one
		if lasted := now.Sub(t.from); lasted > w.least { // else the turn began in the middle of its window
			w.most = min(w.most, lasted)
		}
		w.fell = false
		*t = turn{from: now, granted: t.since}
	case t.refused == 0 || went.BeforeRefusal:
	case w.known() && t.served < w.size && now.Sub(t.from) < w.lasts(w.least)*3/4: // requests come back one by one
		t.granted, t.refused, t.near, t.beyond = t.served+t.since, 0, false, false
		w.slack = min(w.slack+slackStep, mostSlack)
	default:
		w.end(now)
		*t = turn{from: now, granted: t.since}
	}
	t.served += n
	if t.beyond && t.refused == 0 && now.Sub(t.from) > 2*w.most {
		w.alike = 0 // there is no limit any more
	}
}

// end ends a turn after which one was refused: the next one begins now.
func (w *window) end(now monotime.Time) {
	t, known, lasted := &w.turn, w.known(), now.Sub(w.turn.from)
	if t.hinted > lasted { // it was not true
		t.hinted, t.shown = 0, 0
	}
	less := w.size - t.served
	switch {
	case known && less < 0:
		w.size = t.served
		w.retry(now, firstUp)
	case w.size > 0 && less == 0 || known && turnsDiffer*less <= w.size:
		w.size = t.served
		w.alike++
		w.fell = false
	case known && !w.fell && t.served >= leastRow:
		w.size, w.fell = t.served, true
		w.retry(now, firstGap) // as it may rise again soon
	default:
		w.size, w.alike, w.sudden, w.fell = t.served, 0, false, false
	}
	least := max(t.least, t.hinted)
	if w.alike == 0 || least >= w.most || lasted <= w.least { // it contradicts what was known
		w.least, w.most = least, lasted
	} else {
		w.least, w.most = max(w.least, least), min(w.most, lasted)
	}
	waited := now.Sub(t.refused)
	w.sparse = w.isSparse(max(t.least, t.shown)-t.refused.Sub(t.from), waited, lasted)
	w.sudden = w.known() || w.sparse && w.isSudden(waited, lasted)
	if w.known() && !known {
		w.retry(now, firstUp)
	}
}

// retry has the next turn that goes on until one is refused be so far away, or as long as firstTokens take, if
// that is longer.
func (w *window) retry(now monotime.Time, gap time.Duration) {
	w.gap = max(gap, takes(firstTokens, w.size, w.most))
	w.next = now.Add(w.gap)
}

// takes returns how long so many tokens take of a limit of so many in a span.
func takes(tokens, size int, span time.Duration) time.Duration {
	return monotime.Seconds(float64(tokens) / float64(size) * span.Seconds())
}

// rarer returns after how long more is to go again than a limit of so many in a span, if that was so long
// before: up to longestUp, or until perUp are served, if that takes longer.
func rarer(gap time.Duration, size int, span time.Duration) time.Duration {
	return min(monotime.Seconds(upGrowth*gap.Seconds()), rarest(size, span))
}

// rarest is the longest gap of rarer.
func rarest(size int, span time.Duration) time.Duration {
	return max(longestUp, takes(perUp, size, span))
}

// isSparse reports whether a bucket that is still empty so long after the first refusal would have far less
// than a turn when the next one began. Fewer than a row may be chance, unless the turn lasts as long as a usual
// window: then a bucket of so few has had time for many looks, and less is far enough.
func (w *window) isSparse(empty, waited, lasted time.Duration) bool {
	row, by := leastRow, float64(suddenBy)
	if lasted >= usual[0] && w.size < leastRow {
		row, by = fewRow, fewBy
	}
	return w.size >= row && lasted >= time.Second && sparseBy*waited > lasted && suddenBy*empty > waited &&
		empty.Seconds()*float64(w.size) > by*waited.Seconds()
}

// isSudden reports whether a turn was over soon enough to be that of a window: in half of the time to the next
// one, or in two thirds once three turns had as many. Once four had, it does not matter. Of fewer than a row,
// three must have as many: the parts of ten processes that share a window are alike now and then.
func (w *window) isSudden(waited, lasted time.Duration) bool {
	return w.alike > 2 || w.alike > 1 && 3*waited > lasted || w.size >= leastRow && 2*waited > lasted
}

// refuse takes in a refusal. It reports whether the turn had far less than the one before it, of which nothing
// was back for long: it comes back one by one.
func (w *window) refuse(now monotime.Time) (slides bool) {
	t := &w.turn
	if t.before != 0 { // the window had not begun
		*t = turn{from: t.before, granted: w.size, served: w.size, refused: now, least: now.Sub(t.before)}
		w.stumble()
		return false
	}
	if t.from == 0 {
		return false
	}
	if t.refused == 0 {
		t.refused = now
		slides = w.sparse && !t.beyond && 2*t.served < w.size && w.most >= usual[0]
		switch {
		case w.early():
			w.stumble()
		case t.beyond:
			w.retry(now, rarer(w.gap, w.size, w.most))
		}
	}
	t.least, t.since = now.Sub(t.from), 0
	return slides
}

// hint takes in for how long the latest refusal asks, in such steps; nothing if it does not say.
func (w *window) hint(now monotime.Time, asked, step time.Duration) {
	t := &w.turn
	step = stepOf(asked, step)
	t.near = asked <= 0 && step > 0 && (t.hinted > 0 || t.near)
	t.hinted, t.shown = 0, 0
	if asked > 0 && t.from != 0 {
		since := now.Sub(t.from)
		t.hinted, t.shown = since+max(asked-2*step, 0), since+max(asked-step, 0) // a date is the difference of two that were rounded
	}
}

// stumble takes in that a turn was refused too soon.
func (w *window) stumble() {
	w.turn.stumbled = true
	if w.stumbles++; w.stumbles >= mostStumbles {
		w.alike = 0
	}
}

// early reports whether the turn was refused long before it was over.
func (w *window) early() bool {
	t := &w.turn
	return w.known() && !t.beyond && turnsDiffer*(w.size-t.served) > w.size && t.refused.Sub(t.from) < w.most/2
}

// fits reports whether the turn may have as many as the one before it, of which nothing was back for long.
func (w *window) fits() bool {
	t := &w.turn
	return w.sudden && turnsDiffer*(t.served-w.size) <= w.size && turnsDiffer*(w.size-t.granted) <= w.size
}

// look returns for how long nothing goes after the n-th refusal in a row; zero if looks are to come soon and
// ever more rarely. Ok says that the window, or a hint, shows it. A window that is known, or expected, says
// when it is back, and a hint that is near only that this is soon.
func (w *window) look(now monotime.Time, n int) (hold time.Duration, ok bool) {
	t := &w.turn
	known := w.known()
	switch lasted := now.Sub(t.from); {
	case known && w.early() && n <= shortLooks:
		return 0, true
	case t.refused == 0 || !known && !w.fits():
		return 0, t.near
	case max(w.least, lasted) < w.most:
		return w.lasts(max(w.least, lasted)) + w.slack - lasted, true
	}
	if known && n <= nearLooks && max(w.least, now.Sub(t.from)) < w.most+time.Second {
		return nearLook, true
	}
	return 0, t.near || known && w.stumbles > 0
}

// memory is what is kept for a later run. A turn that is over, as far as is known, has nothing left.
func (w *window) memory() Limit {
	t := &w.turn
	used := t.granted
	if t.refused != 0 || t.before != 0 {
		used = max(used, w.size)
	}
	return Limit{Size: w.size, Least: max(w.least, 1), Most: w.most, Slack: w.slack, Next: w.next, Gap: w.gap, Went: []Past{{t.from, used}}}
}

// resume takes over what an earlier run has kept.
func (w *window) resume(now monotime.Time, m *Limit) {
	last := m.Went[len(m.Went)-1]
	used, gap := min(max(last.N, 0), mostCounted), m.gapOf(m.Most)
	*w = window{
		size: m.Size, alike: 1, sudden: true, sparse: true, least: m.Least, most: m.Most, slack: m.Slack, gap: gap, next: stillDue(now, m.Next, gap),
		turn: turn{from: min(last.At, now), granted: used, served: used},
	}
}
