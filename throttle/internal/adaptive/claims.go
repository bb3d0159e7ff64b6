package adaptive

import (
	"cmp"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
	"github.com/gopacer/pacer/throttle/internal/whose"
)

// This file says whose matter a refusal is, and which claim goes next: a refusal may be the matter of the
// bucket, of the claim or its kind alone or of something in front of the server (package whose). Claims are
// those that wait in the line, of which this package sees no more than it is told.

// Refuse takes in a refusal of a claim, of a kind of request, with ticket t, before Learn. Asked is for how
// long the server wants no requests; zero if it does not say. Stated says that the refusal states a limit. Own
// says that the refusal is the claim's own matter, of which Learn is not to be told. Hold is for how long the
// claim is not to be made again; zero if that is for the bucket to say.
func (s *Server) Refuse(now monotime.Time, t *Ticket, p *Past, kind Kind, asked time.Duration, stated bool) (hold time.Duration, own bool) {
	if s.stray(now, stated) {
		return s.alone(asked, p.Stray()), true
	}
	v, found := s.judge.Refuse(now, p, &whose.Refusal{Kind: kind, Granted: t.Granted(), First: t.First, Served: s.successes, Answer: uint64(s.sequence)})
	if found {
		s.pace.Forget() // the refusals said nothing about a pace
	}
	if v == whose.OfBucket && (asked > 0 || !p.WaitsAlone()) {
		return 0, false
	} else if v == whose.TryAnother {
		s.Restart(false)
	}
	return s.alone(asked, p.Refusals()), v != whose.OfBucket
}

// RefusedClaim takes in, after Learn, that an answer refuses a claim, and returns for how long the claim waits
// by itself: alone, if Refuse has said so already, or if servers can hold the bucket. Where none can
// (Config.MaxHold is zero), that is for how long the server asks, else until the limits that it says are used
// up come back, else a backoff. Vain reports whether nothing was served since the claim was refused before.
func (s *Server) RefusedClaim(alone time.Duration, past **Past, asked time.Duration, stated []quota.Statement) (wait time.Duration, vain bool) {
	p := PastOf(past)
	vain = p.Vain(s.successes)
	if alone > 0 || s.config.MaxHold > 0 {
		return alone, vain
	}
	said := asked > 0
	for i := range stated {
		if st := &stated[i]; !said && st.Remaining <= 0 && st.ResetKnown {
			asked = max(asked, st.Reset)
		}
	}
	return s.alone(asked, p.Stray()), vain
}

// PastOf returns the past of a claim that was refused, which begins with that.
func PastOf(p **Past) *Past {
	*p = cmp.Or(*p, new(Past))
	return *p
}

// stray takes in a refusal, and reports whether it comes from something in front of the server. Stated says
// that the refusal states a limit.
func (s *Server) stray(now monotime.Time, stated bool) bool {
	if stated || len(s.windows) == 0 || s.silent > 0 {
		return false
	}
	paced := s.pace.Known()
	if paced && s.pace.Risen(now) {
		s.strays.Explained()
		return false
	}
	left := true
	for _, w := range s.windows {
		left = left && w.remaining > 0
	}
	stray, unpaced := s.strays.Refuse(left, paced)
	if !stray {
		return false
	}
	if unpaced { // the pace was not the reason of the refusals from which it was learned
		s.pace = pace.Rate{}
	}
	s.advance()
	s.doubted = s.sequence // a quota of the user counts again until the server states its numbers once more, see States
	return true
}

// Served takes in that a request of a kind was served, with ticket t; see [whose.Judge.Served].
func (s *Server) Served(now monotime.Time, kind Kind, t *Ticket, p *Past) (pass int) {
	return s.judge.Served(now, kind, t.Granted(), p)
}

// Yields is [whose.Judge.Yields].
func (s *Server) Yields(p *Past, before monotime.Time) bool { return s.judge.Yields(p, before) }

// TriesAnother reports whether a request is to go at once, alone, after a refusal that does not hold the
// bucket.
func (s *Server) TriesAnother() bool { return s.judge.Tries() && s.slowStart.Allowed() == 1 }

// Ahead returns which of n claims is to go ahead after a hold; see [whose.Judge.Ahead].
func (s *Server) Ahead(n int, kind func(i int) *Kind) int {
	return s.judge.Ahead(n, s.refusals, kind, s.config.Random)
}

// RefusedAgain reports whether the latest refusal, of a request with ticket t, came right after another one:
// nothing was served in between, or only requests that were under way when the other one came. One that costs
// more than what remains does not count: it goes first, since too little would remain for ever if others took
// what comes back.
func (s *Server) RefusedAgain(t *Ticket) bool { return !s.dear && (s.refusals > 1 || t.First) }

// OthersFirst is [whose.Judge.OthersFirst].
func (s *Server) OthersFirst() bool { return s.judge.OthersFirst() }
