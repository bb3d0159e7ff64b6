package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Past is what became of a claim so far, where the server has refused it. It tells a server that refuses because too much
// is asked of it from one that refuses this request whatever happens, or whose limit for such requests is narrower than for
// the rest: it is refused when it goes alone, although others are served. Then its refusals say nothing about the bucket.
//
// In come refusals (Refuse). Out comes whether they are the claim's own matter, and whether it has lost its place in line:
// a request that was refused when it went ahead lets another one go ahead the next time.
type Past struct {
	Behind monotime.Time // when it lost its place; zero if it has it

	refusals  int  // how often it was refused
	firsts    int  // how often it was refused when it went ahead of all others, after a refusal
	successes int  // how many others had been served before the first of these
	alone     bool // its refusals are its own matter
}

// Refuse takes in a refusal of the claim with ticket t, before s learns of it. If it is the claim's own matter, s is not to
// learn of it, and hold is for how long the claim is not to be made again; else hold is zero. The server has asked for so
// long a hold; zero if it did not say.
func (p *Past) Refuse(now monotime.Time, t *Ticket, s *Server, asked time.Duration) (hold time.Duration) {
	p.refusals++
	if t.First {
		if p.firsts++; p.firsts == 1 {
			p.successes = s.successes
		}
		p.alone = p.alone || p.firsts > 1 && s.successes > p.successes
		if s.refusals > 0 {
			p.Behind = now
		}
	}
	if !p.alone {
		return 0
	}
	return min(Hold(asked, p.refusals), s.config.MaxHold)
}
