package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// echo keeps to a limit that gives each token back as long after it was taken: a log, or a window that slides.
// What was served spread over half a window comes back spread over half a window, so that a pace which was
// measured while it comes back is too fast, and one that was measured while nothing does, too slow; and a
// window of which all goes at once is refused but for its first.
//
// A row shows such a limit: nothing is served for long after it, and then few. Of that moment window knows how
// many the row had, and after how long the first of it came back. From then on, as many go within that time,
// the span, as the row had (due). Looks pass over no usual window (row.go), so that the span is the whole
// second before one was served, if nothing was refused after that. One that is refused although it was to be
// back says nothing if provenServed were served since the one before: a server may refuse some by chance. If
// not, the span is as long as it took; and else there is no such limit. After mostFailed of these none is
// looked for within barredFor.
//
// The limit may rise, and the span may be shorter. So now and then more goes, until one is refused, as of a
// window. That is unlearned when less is served later: of a window that slides, tokens may come back sooner
// than they do as a rule.
//
// In come what was served and when that was counted (counted, serve), refusals (begin, refuse) and turns (begins).
// Out come whether such a limit is known (on), when a request may go (due), and whether it is to go alone (alone).
type echo struct {
	served [echoCells]cell // oldest first
	cells  int
	most   int           // tokens of a cell
	turn   monotime.Time // when the first of the turn of the window was counted

	size    int           // tokens in any span; zero if no such limit is known
	top     int           // size when it was found
	former  int           // size before more went; zero once that is proven, or if it never was
	span    time.Duration // until a token comes back
	longest time.Duration // after so long one was served
	back    int           // tokens served since size is known
	calm    int           // tokens served since size is known, two times provenServed at most, less that for each refused by chance
	failed  int           // how often there was no such limit
	barred  monotime.Time // until when none is looked for
	took    time.Duration // how long the latest refusal took to come; zero if that is not known
	beyond  bool          // more goes until one is refused
	next    monotime.Time // when that is to be again
	gap     time.Duration // from the latest time to the next one
}

// cell is so many tokens, the last of which was served at an instant.
type cell struct {
	at monotime.Time
	n  int
}

const (
	// echoCells is in how many parts at most it is known when tokens come back: each as late as the last one of its part.
	echoCells = 32
	// mostFailed is how often a limit is looked for that gives back each token as long after it went, and barredFor after how
	// long once more: by then the server may count differently, and one that never did refuses three requests an hour for it.
	mostFailed = 3
	barredFor  = time.Hour
)

// on reports whether such a limit is known.
func (e *echo) on() bool { return e.size > 0 }

// proven reports whether as much has come back as shows that the limit is such a one.
func (e *echo) proven() bool { return e.back >= leastRow }

// counted returns when the server has counted a request at the latest that was sent at an instant, zero if that is not
// known, and answered now. Answers of a server may take long; but it has counted when it knows whether to refuse, and
// refusals come as soon as it does.
func (e *echo) counted(now, sent monotime.Time) monotime.Time {
	if sent == 0 || e.took == 0 {
		return now
	}
	return min(now, sent.Add(e.took))
}

// serve takes in that n tokens were served, and counted at an instant.
func (e *echo) serve(now monotime.Time, n int) {
	if e.on() {
		e.back = min(e.back+n, mostCounted)
		e.calm = min(e.calm+min(n, mostCounted), 2*provenServed)
		e.forget(now.Add(-e.span))
	}
	if last := e.cells - 1; last >= 0 && (e.served[last].at >= now || e.served[last].n+n <= e.most) {
		e.served[last] = cell{max(now, e.served[last].at), min(e.served[last].n+n, mostCounted)}
		return
	}
	e.open(cell{now, n})
}

// open has what is served from now on be in a cell, and not with what was served before it.
func (e *echo) open(c cell) {
	if e.cells == echoCells {
		e.most = max(2*e.most, 2)
		e.merge()
	}
	if e.cells > 0 {
		c.at = max(c.at, e.served[e.cells-1].at)
	}
	e.served[e.cells] = c
	e.cells++
}

// merge makes one of each two cells.
func (e *echo) merge() {
	for i := range echoCells / 2 {
		a, b := e.served[2*i], e.served[2*i+1]
		e.served[i] = cell{b.at, min(a.n+b.n, mostCounted)}
	}
	e.cells = echoCells / 2
}

// forget forgets what was served until an instant.
func (e *echo) forget(until monotime.Time) {
	i := 0
	for i < e.cells && e.served[i].at <= until {
		i++
	}
	copy(e.served[:], e.served[i:e.cells])
	if e.cells -= i; e.cells < echoCells/8 {
		e.most /= 2
	}
}

// begins takes in that a turn of the window begins with what was counted at an instant: what is older than the turn before
// is forgotten, and what the turn before had comes back no later for it.
func (e *echo) begins(counted monotime.Time) {
	e.forget(e.turn - 1)
	e.open(cell{at: counted})
	e.turn = counted
}

// used returns how many tokens were served in the span before an instant.
func (e *echo) used(t monotime.Time) (n int) {
	for _, c := range e.served[:e.cells] {
		if c.at.Add(e.span) > t {
			n += c.n
		}
	}
	return n
}

// due returns when the last of so many tokens may go, not before t, if so many are in flight and the latest went at an
// instant: a span after that, all are back, whatever became of them.
func (e *echo) due(t, latest monotime.Time, tokens, inFlight int) monotime.Time {
	all := max(t, latest.Add(e.span))
	need := tokens + inFlight + e.used(t) - e.size
	if need <= 0 || e.beyond || t >= e.next {
		return t
	}
	for _, c := range e.served[:e.cells] {
		if at := c.at.Add(e.span); at > t && at < all {
			if need -= c.n; need <= 0 {
				return at
			}
		}
	}
	return all.Add(monotime.Seconds(float64((max(tokens, 1)-1)/e.size) * e.span.Seconds()))
}

// alone reports whether the last of so many tokens, which goes now, is to go alone: nobody knows whether there are so
// many. From then on, more goes until one is refused.
func (e *echo) alone(now monotime.Time, tokens int) bool {
	if e.beyond || now < e.next || e.used(now)+tokens <= e.size {
		return false
	}
	e.beyond = true
	return true
}

// begin takes in that a row had so many tokens, that the first of them came back after more than shorter, and longer at
// the most, and that a second one was refused.
func (e *echo) begin(now monotime.Time, size int, shorter, longer time.Duration) {
	if now >= e.barred {
		e.size, e.top, e.span, e.longest, e.back, e.calm, e.beyond = size, size, longer, longer, 0, 0, false
		if whole := longer.Truncate(time.Second); whole > shorter {
			e.span = whole
		}
		e.retry(now, firstUp)
	}
}

// scale makes the limit such a part of itself.
func (e *echo) scale(part float64) {
	for _, size := range []*int{&e.size, &e.top, &e.former} {
		if *size > 0 {
			*size = max(int(min(part*float64(*size), mostCounted)), 1)
		}
	}
}

// retry has more go after so long, and after a span at the soonest.
func (e *echo) retry(now monotime.Time, gap time.Duration) {
	e.gap = max(gap, e.span, takes(firstTokens, e.size, e.span))
	e.next = now.Add(e.gap)
}

// refuse takes in a refusal, after which such a limit may be known no more.
func (e *echo) refuse(now monotime.Time) {
	used := e.used(now)
	switch {
	case e.beyond:
		e.beyond = false
		if more := used - e.most; more > e.size { // of a cell, some may be back
			e.former, e.size, e.top, e.calm = e.size, more, more, 0
		}
		e.retry(now, rarer(e.gap, e.size, e.span))
	case used >= e.size: // it was on its way
	case e.calm >= provenServed: // it may have been refused by chance
		e.calm -= provenServed
	case e.former > 0: // tokens came back sooner than they do as a rule
		e.size, e.top, e.former = e.former, e.former, 0
		e.retry(now, rarer(e.gap, e.size, e.span))
	case turnsDiffer*(e.top-used) <= e.top:
		e.size = used
	case e.span < e.longest:
		e.span = e.longest
	case e.failed+1 < mostFailed:
		*e = echo{failed: e.failed + 1, took: e.took}
	default:
		*e = echo{failed: e.failed, took: e.took, barred: now.Add(barredFor)}
	}
}

// memory is what is kept for a later run, if so many are in flight and the latest went at an instant: each of these may
// have been served, and is back a span after that at the latest.
func (e *echo) memory(latest monotime.Time, inFlight int) Limit {
	m, kept := Limit{Size: e.size, Slides: true, Least: e.span, Most: e.longest, Next: e.next, Gap: e.gap}, *e
	if inFlight > 0 {
		kept.open(cell{latest, inFlight})
	}
	for _, c := range kept.served[:kept.cells] {
		if c.n > 0 && c.at.Add(e.span) > latest {
			m.Went = append(m.Went, Past{c.at, c.n})
		}
	}
	return m
}

// resume takes over what an earlier run has kept of a proven limit.
func (e *echo) resume(now monotime.Time, m *Limit) {
	gap := m.gapOf(m.Least)
	*e = echo{size: m.Size, top: m.Size, span: m.Least, longest: m.Most, back: leastRow, calm: provenServed, gap: gap, next: stillDue(now, m.Next, gap)}
	for _, w := range m.Went {
		e.open(cell{min(w.At, now), min(max(w.N, 0), mostCounted)})
	}
}
