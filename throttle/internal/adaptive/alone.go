package adaptive

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Past is what became of a claim so far, where the server has refused it. It tells a server that refuses because too much
// is asked of it from one that refuses this request whatever happens, or whose limit for such requests is narrower than for
// the rest: it is refused again and again, although others are served in between, and even when it goes ahead of all
// others. Then its refusals say nothing about the bucket.
//
// In come refusals (refuse). Out comes whether they are the claim's own matter.
type Past struct {
	Behind monotime.Time // others that came before that go first; zero if the claim has its place

	refusals  int  // how often it was refused
	firsts    int  // how often it was refused when it went ahead of all others, after a refusal
	rounds    int  // how often others were served between two of its refusals
	successes int  // how many had been served at the latest one
	alone     bool // its refusals are its own matter
}

// refuse takes in a refusal of the claim, which went ahead of all others if first says so; so many requests have been
// served so far. It reports whether its refusals have turned out to be its own matter now.
func (p *Past) refuse(first bool, successes int) (found bool) {
	if p.refusals++; p.refusals > 1 && successes > p.successes {
		p.rounds++
	}
	p.successes = successes
	if first {
		p.firsts++
	}
	found = !p.alone && p.firsts >= enoughRefusals && p.rounds >= enoughRefusals
	p.alone = p.alone || found
	return found
}

// enoughRefusals is how often a claim must be refused when it goes ahead, and how often others must be served in between. At
// servers that refuse and do not say why, two were too few: now and then claims met that, whose refusals were then not
// heeded.
const enoughRefusals = 3

// Kind is what kind of request a claim is for.
type Kind struct{ Verb, Path string }

// loners are the kinds of requests that were refused although others were served, and of which none was served since, the
// latest last.
type loners []loner

type loner struct {
	kind    Kind
	refused monotime.Time // when one of the kind was refused last
}

const (
	// maxLoners bounds how many kinds are remembered.
	maxLoners = 16

	// lonerFor is for how long a kind is remembered after a refusal.
	lonerFor = 10 * time.Minute
)

// note takes in a refusal of a request. It reports whether the refusal is the request's own matter: since it was seen to
// be (alone), or since that was seen of another one of the kind.
func (ls *loners) note(now monotime.Time, kind Kind, alone bool) bool {
	for _, l := range *ls {
		alone = alone || l.kind == kind && now < l.refused.Add(lonerFor)
	}
	ls.forget(kind)
	if !alone || kind == (Kind{}) {
		return alone
	}
	if len(*ls) == maxLoners {
		*ls = slices.Delete(*ls, 0, 1)
	}
	*ls = append(*ls, loner{kind, now})
	return true
}

func (ls *loners) forget(kind Kind) {
	*ls = slices.DeleteFunc(*ls, func(l loner) bool { return l.kind == kind })
}
