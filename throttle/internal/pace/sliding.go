package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// sliding keeps to a limit that gives each token back as long after it was taken: a log, or a window that
// slides. What was served spread over half a window comes back spread over half a window, so that a pace which
// was measured while it comes back is too fast, and one that was measured while nothing does, too slow; and a
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
// In come what was served and when that was counted (counted, serve), refusals (begin, refuse) and turns
// (begins). Out come whether such a limit is known (on), when a request may go (due), and whether it is to go
// alone (alone).
type sliding struct {
	served [slidingCells]cell // oldest first
	cells  int
	most   int           // tokens of a cell
	turn   monotime.Time // when the first of the turn of the window was counted

	size    int           // tokens in any span; zero if no such limit is known
	top     int           // size when it was found
	former  int           // size before more went; zero once that is proven, or if it never was
	scaled  [3]float64    // these, as the latest scale has made them before they were rounded
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
	// slidingCells is in how many parts at most it is known when tokens come back: each as late as the last one
	// of its part.
	slidingCells = 32
	// mostFailed is how often a limit is looked for that gives back each token as long after it went, and
	// barredFor after how long once more: by then the server may count differently, and one that never did
	// refuses three requests an hour for it.
	mostFailed = 3
	barredFor  = time.Hour
)

// on reports whether such a limit is known.
func (s *sliding) on() bool { return s.size > 0 }

// proven reports whether as much has come back as shows that the limit is such a one.
func (s *sliding) proven() bool { return s.back >= leastRow }

// counted returns when the server has counted a request at the latest that was sent at an instant, zero if that
// is not known, and answered now. Answers of a server may take long; but it has counted when it knows whether
// to refuse, and refusals come as soon as it does.
func (s *sliding) counted(now, sent monotime.Time) monotime.Time {
	if sent == 0 || s.took == 0 {
		return now
	}
	return min(now, sent.Add(s.took))
}

// serve takes in that n tokens were served, and counted at an instant.
func (s *sliding) serve(now monotime.Time, n int) {
	if s.on() {
		s.back = min(s.back+n, mostCounted)
		s.calm = min(s.calm+min(n, mostCounted), 2*provenServed)
		s.forget(now.Add(-s.span))
	}
	if last := s.cells - 1; last >= 0 && (s.served[last].at >= now || s.served[last].n+n <= s.most) {
		s.served[last] = cell{max(now, s.served[last].at), min(s.served[last].n+n, mostCounted)}
		return
	}
	s.open(cell{now, n})
}

// open has what is served from now on be in a cell, and not with what was served before it.
func (s *sliding) open(c cell) {
	if s.cells == slidingCells {
		s.most = max(2*s.most, 2)
		s.merge()
	}
	if s.cells > 0 {
		c.at = max(c.at, s.served[s.cells-1].at)
	}
	s.served[s.cells] = c
	s.cells++
}

// merge makes one of each two cells.
func (s *sliding) merge() {
	for i := range slidingCells / 2 {
		a, b := s.served[2*i], s.served[2*i+1]
		s.served[i] = cell{b.at, min(a.n+b.n, mostCounted)}
	}
	s.cells = slidingCells / 2
}

// forget forgets what was served until an instant.
func (s *sliding) forget(until monotime.Time) {
	i := 0
	for i < s.cells && s.served[i].at <= until {
		i++
	}
	copy(s.served[:], s.served[i:s.cells])
	if s.cells -= i; s.cells < slidingCells/8 {
		s.most /= 2
	}
}

// begins takes in that a turn of the window begins with what was counted at an instant: what is older than the
// turn before is forgotten, and what the turn before had comes back no later for it.
func (s *sliding) begins(counted monotime.Time) {
	s.forget(s.turn - 1)
	s.open(cell{at: counted})
	s.turn = counted
}

// used returns how many tokens were served in the span before an instant.
func (s *sliding) used(t monotime.Time) (n int) {
	for _, c := range s.served[:s.cells] {
		if c.at.Add(s.span) > t {
			n += c.n
		}
	}
	return n
}

// due returns when the last of so many tokens may go, not before t, if so many are in flight and the latest
// went at an instant: a span after that, all are back, whatever became of them.
func (s *sliding) due(t, latest monotime.Time, tokens, inFlight int) monotime.Time {
	all := max(t, latest.Add(s.span))
	need := tokens + inFlight + s.used(t) - s.size
	if need <= 0 || s.beyond || t >= s.next {
		return t
	}
	for _, c := range s.served[:s.cells] {
		if at := c.at.Add(s.span); at > t && at < all {
			if need -= c.n; need <= 0 {
				return at
			}
		}
	}
	return all.Add(monotime.Seconds(float64((max(tokens, 1)-1)/s.size) * s.span.Seconds()))
}

// alone reports whether the last of so many tokens, which goes now, is to go alone: nobody knows whether there
// are so many. From then on, more goes until one is refused.
func (s *sliding) alone(now monotime.Time, tokens int) bool {
	if s.beyond || now < s.next || s.used(now)+tokens <= s.size {
		return false
	}
	s.beyond = true
	return true
}

// begin takes in that a row had so many tokens, that the first of them came back after more than shorter, and
// longer at the most, and that a second one was refused.
func (s *sliding) begin(now monotime.Time, size int, shorter, longer time.Duration) {
	if now >= s.barred {
		s.size, s.top, s.span, s.longest, s.back, s.calm, s.beyond = size, size, longer, longer, 0, 0, false
		if whole := longer.Truncate(time.Second); whole > shorter {
			s.span = whole
		}
		s.retry(now, firstUp)
	}
}

// scale makes the limit such a part of itself, and not less than one token. What is rounded is there again when
// the others have gone.
func (s *sliding) scale(part float64) {
	rounded := func(n float64) int { return max(int(min(n*(1+rounding), mostCounted)), 1) }
	for i, size := range [...]*int{&s.size, &s.top, &s.former} {
		if *size == 0 {
			continue
		}
		if scaled := &s.scaled[i]; *scaled == 0 || *size != rounded(*scaled) { // it is another one since
			*scaled = float64(*size)
		}
		s.scaled[i] *= part
		*size = rounded(s.scaled[i])
	}
}

// retry has more go after so long, and after a span at the soonest.
func (s *sliding) retry(now monotime.Time, gap time.Duration) {
	s.gap = max(gap, s.span, takes(firstTokens, s.size, s.span))
	s.next = now.Add(s.gap)
}

// refuse takes in a refusal, after which such a limit may be known no more.
func (s *sliding) refuse(now monotime.Time) {
	used := s.used(now)
	switch {
	case s.beyond:
		s.beyond = false
		if more := used - s.most; more > s.size { // of a cell, some may be back
			s.former, s.size, s.top, s.calm = s.size, more, more, 0
		}
		s.retry(now, rarer(s.gap, s.size, s.span))
	case used >= s.size: // it was on its way
	case s.calm >= provenServed: // it may have been refused by chance
		s.calm -= provenServed
	case s.former > 0: // tokens came back sooner than they do as a rule
		s.size, s.top, s.former = s.former, s.former, 0
		s.retry(now, rarer(s.gap, s.size, s.span))
	case turnsDiffer*(s.top-used) <= s.top:
		s.size = used
	case s.span < s.longest:
		s.span = s.longest
	case s.failed+1 < mostFailed:
		*s = sliding{failed: s.failed + 1, took: s.took}
	default:
		*s = sliding{failed: s.failed, took: s.took, barred: now.Add(barredFor)}
	}
}

// memory is what is kept for a later run, if so many are in flight and the latest went at an instant: each of
// these may have been served, and is back a span after that at the latest.
func (s *sliding) memory(latest monotime.Time, inFlight int) Limit {
	m, kept := Limit{Size: s.size, Slides: true, Least: s.span, Most: s.longest, Next: s.next, Gap: s.gap}, *s
	if inFlight > 0 {
		kept.open(cell{latest, inFlight})
	}
	for _, c := range kept.served[:kept.cells] {
		if c.n > 0 && c.at.Add(s.span) > latest {
			m.Went = append(m.Went, Past{c.at, c.n})
		}
	}
	return m
}

// resume takes over what an earlier run has kept of a proven limit.
func (s *sliding) resume(now monotime.Time, m *Limit) {
	gap := m.gapOf(m.Least)
	*s = sliding{size: m.Size, top: m.Size, span: m.Least, longest: m.Most, back: leastRow, calm: provenServed, gap: gap, next: stillDue(now, m.Next, gap)}
	for _, w := range m.Went {
		s.open(cell{min(w.At, now), min(max(w.N, 0), mostCounted)})
	}
}
