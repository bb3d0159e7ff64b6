package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file says whose matter a refusal is, and which claim goes next: a refusal may be the matter of the bucket, of
// the claim or its kind alone, or of something in front of the server. What shows that is in persistence.go, alone.go
// and stray.go. Claims are those that wait in the line, of which this package sees no more than it is told.

// Refuse takes in a refusal of a claim, of a kind of request, with ticket t, before Learn. Asked is for how long the
// server wants no requests; zero if it does not say. Stated says that the refusal states a limit. Own says that the
// refusal is the claim's own matter, of which Learn is not to be told. Hold is for how long the claim is not to be
// made again; zero if that is for the bucket to say.
func (s *Server) Refuse(now monotime.Time, t *Ticket, p *Past, kind Kind, asked time.Duration, stated bool) (hold time.Duration, own bool) {
	p.yielded = false
	if s.stray(now, stated) {
		p.strays++
		return s.alone(asked, p.strays), true
	}
	if s.persistence == nil {
		s.persistence = &persistence{}
	}
	ofKind := s.unserved.refuse(now, p, kind, t, s.successes, s.sequence)
	before := p.granted
	p.granted = max(t.Granted(), 1) // one that was granted without Take is older than all others
	v, found := s.persistence.refuse(now, before, p.granted, uint64(s.sequence), t.First, p.alone)
	if ofKind || found {
		s.pace.Forget() // the refusals said nothing about a pace
	}
	if v == ofBucket && (asked > 0 || p.rounds < patientRounds) {
		return 0, false
	} else if v == tryAnother {
		s.Restart(false)
	}
	return s.alone(asked, p.refusals), v != ofBucket
}

// patientRounds is how often others must be served between the refusals of a claim, if the server does not say for
// how long, so that the claim waits by itself, for longer each time. Without that, a claim of a narrow limit would be
// refused as often as it may be within seconds, each time after the short hold of the bucket.
const patientRounds = 2

// stray takes in a refusal, and reports whether it comes from something in front of the server. Stated says that the
// refusal states a limit.
func (s *Server) stray(now monotime.Time, stated bool) bool {
	if stated || len(s.windows) == 0 || s.silent > 0 {
		return false
	}
	paced := s.pace.Known()
	if paced && s.pace.Risen(now) {
		s.strays.slow = 0
		return false
	}
	left := true
	for _, w := range s.windows {
		left = left && w.remaining > 0
	}
	if !s.strays.refuse(left, paced) {
		return false
	}
	if s.strays.slow >= enoughSlow { // the pace was not the reason of the refusals from which it was learned
		s.pace, s.strays.slow = pace.Rate{}, 0
	}
	s.advance()
	s.doubted = s.sequence // a quota of the user counts again until the server states its numbers once more, see States
	return true
}

// Served takes in that a request of a kind was served, with ticket t: so its kind is not always refused. Past is what
// became of its claim before; nil if the claim was not refused. Pass is how often a claim that stands before this one,
// which went ahead, is to let others pass, since several were refused in a row. That is once while the evidence is not
// enough for another request to be tried (triesFrom), so that none waits for long where others are refused as well.
func (s *Server) Served(now monotime.Time, kind Kind, t *Ticket, p *Past) (pass int) {
	if s.unserved.any() {
		s.unserved.serve(now, kind)
	}
	if s.persistence == nil {
		return 0
	}
	before := p.Latest() != 0
	switch {
	case before:
	case s.persistence.trying():
		pass = math.MaxInt
	case s.persistence.flights > severalRefusals:
		pass = 1
	}
	if s.persistence.serve(t.Granted(), before); !s.persistence.any(now) {
		s.persistence = nil
	}
	return pass
}

// Yields reports whether a claim that waits goes behind others that come before an instant, since several requests were
// refused in a row, and notes that. P is what became of the claim; nil if it was not refused: then it does not yield.
// A claim yields once before it is made again, while the evidence is not enough to try another: else it would never go
// where such rows come sooner than all others have gone.
func (s *Server) Yields(p *Past, before monotime.Time) bool {
	if p == nil || p.yielded && !s.persistence.trying() {
		return false
	}
	p.Behind, p.yielded = max(p.Behind, before), true
	return true
}

// TriesAnother reports whether a request is to go at once, alone, after a refusal that does not hold the bucket.
func (s *Server) TriesAnother() bool { return s.persistence.trying() && s.slowStart.allowed == 1 }

// Ahead returns which of n claims is to go ahead after a hold; kind returns what kind they are of. The first one is the
// first in line, the others were not refused yet. If the first is of a kind that was refused, and of which none was
// served since, it is the first of another kind: else requests that the server always refuses would go ahead one after
// the other. They may be of the same kind as others, or each of its own. So after several refusals in a row, it is any
// one: not the last one that came, which would always be that of the caller that was served last. Where a limit that
// the server states explains the refusals, it is the first one.
func (s *Server) Ahead(n int, kind func(i int) *Kind) int {
	refused := func(i int) bool { return s.unserved[byPath].find(*kind(i), byPath) >= 0 }
	if n > 1 && refused(0) {
		for i := 1; i < n; i++ {
			if !refused(i) {
				return i
			}
		}
	}
	if (s.refusals > severalRefusals || s.persistence.trying()) && s.unserved.any() {
		return max(0, min(int(s.persistence.draw(s.config.Random)*float64(n)), n-1))
	}
	return 0
}

// RefusedAgain reports whether the latest refusal, of a request with ticket t, came right after another one: nothing
// was served in between, or only requests that were under way when the other one came.
func (s *Server) RefusedAgain(t *Ticket) bool { return s.refusals > 1 || t.First }

// OthersFirst reports whether other claims are to go before one that was refused now: the latest claims that went
// first again after a refusal were refused again, and none of them was served since.
func (s *Server) OthersFirst() bool { return s.persistence != nil && s.persistence.othersFirst }
