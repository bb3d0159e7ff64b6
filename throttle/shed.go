package throttle

// shed finds out whether failures by which a server may mean "too fast" (Answer.Shed) do.
// nginx answers 503 by default to what is over its limit, and says nothing else; but
// servers that are broken do so too. The difference is that refusals end when requests
// are paced, and failures do not. So if a good part of the answers are such failures while
// others are served, they are taken for refusals, and the answers that follow show
// whether that was right. When nothing is served any more, failures are failures.
type shed struct {
	trial          shedding
	served, failed int     // of the answers since since; in a trial, failures in a row are one
	since          instant // when they began
	row            bool    // the latest answer of the trial was a failure
	worked         instant // when an answer was served last
	heard          instant // when there was one at all
	from           uint64  // requests that were granted after this, in order, are part of the trial
	until          instant // nothing is tried before
}

// shedding is what is thought of failures.
type shedding int

const (
	failures shedding = iota // they are what they are
	perhaps                  // they are taken for refusals, on trial
	refusals                 // they were seen to be refusals
)

const (
	// shedEnough is how many failures there must be, and one in shedPart of the
	// answers, before a trial: who asks twice as fast as he may gets one in two.
	shedEnough = 4
	shedPart   = 4

	// shedTrial is how many are served in a trial, from when the pace is known, and shedMost
	// how many failures there may be between them: that many it takes to find the right
	// pace. After it, there may be shedFew in as many, or it was chance.
	shedTrial = 32
	shedMost  = 6
	shedFew   = 4
)

// tell takes in an answer, which may be a failure, and reports whether that is a refusal.
// After a trial that showed otherwise there is none for as long as a hold may be.
func (s *shed) tell(g *Grant, now instant, failed bool, l *Limiter) (refused bool) {
	if s.trial == failures {
		return s.suspect(now, failed, l)
	}
	if now.sub(s.heard) > patience {
		s.served, s.failed, s.worked = 0, 0, now // the pace has to be found anew
	}
	s.heard = now
	if !failed {
		s.worked = now
	}
	switch {
	case failed && now.sub(s.worked) > patience:
		return s.reject(now, l)
	case g.order < s.from, l.server.delivered.rate == 0, l.server.delivered.guessed:
		return failed // it was on its way before the trial, or is what finds the pace
	case !failed:
		if s.served++; s.served >= shedTrial {
			s.trial, s.served, s.failed = refusals, 0, 0
		}
	case !s.row:
		if s.failed++; s.failed > shedMost || s.failed > shedFew && s.trial == refusals {
			return s.reject(now, l)
		}
	}
	s.row = failed
	return failed
}

// suspect counts answers, and begins a trial if there is reason to.
func (s *shed) suspect(now instant, failed bool, l *Limiter) bool {
	if now < s.until {
		return false
	}
	if now.sub(s.since) > patience {
		s.served, s.failed, s.since = 0, 0, now
	}
	if failed {
		s.failed++
	} else {
		s.served++
	}
	if s.served == 0 || s.failed < shedEnough || shedPart*s.failed < s.served+s.failed {
		return false
	}
	*s = shed{trial: perhaps, from: l.server.order, row: true, worked: now, heard: now}
	return true
}

// reject ends a trial.
func (s *shed) reject(now instant, l *Limiter) bool {
	*s = shed{until: now.add(l.maxHold())}
	l.server.delivered, l.server.refusals = delivered{}, 0
	return false
}
