package adaptive

import (
	"math"
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

// unserved are kinds of requests that were refused, and of which none was served since, the one that was refused latest last. If
// one of them was refused again and again while others were served, its refusals are its own matter, as those of a claim are
// (Past): either a claim of the kind has shown that, or chance does not explain it.
type unserved struct {
	kinds []refusedKind
	lucky int // refusals of requests of whose kinds one was served later
}

type refusedKind struct {
	kind     Kind
	refused  monotime.Time // latest
	refusals int
	heard    sequence // after the latest refusal; who was granted before it says nothing new
	rounds   int      // how often others were served between two refusals
	served   int      // how many others had been served at the latest refusal
	first    int      // the same at the first one
	lucky    int      // unserved.lucky at the first one
	alone    bool     // its refusals are its own matter
}

const (
	// maxUnserved bounds how many kinds are remembered.
	maxUnserved = 16

	// unservedFor is for how long a kind is remembered after a refusal.
	unservedFor = 10 * time.Minute

	// byChance is how likely refusals that have nothing to do with the kind may be what was seen of it.
	byChance = 0.001
)

// refuse takes in a refusal of a request, when so many requests had been served. It reports whether the refusal is the
// request's own matter. Alone says that this was seen of the request itself.
func (u *unserved) refuse(now monotime.Time, kind Kind, granted, heard sequence, alone bool, served int) bool {
	if kind == (Kind{}) {
		return alone
	}
	k := refusedKind{kind: kind, heard: heard, served: served, first: served, lucky: u.lucky}
	if i := u.find(kind); i >= 0 {
		if now < u.kinds[i].refused.Add(unservedFor) {
			k = u.kinds[i]
		}
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	if len(u.kinds) == maxUnserved {
		u.lucky += u.kinds[0].refusals
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
	if granted >= k.heard {
		if served > k.served {
			k.rounds++
		}
		k.heard, k.served = heard, served
	}
	k.refused = now
	k.refusals++
	// That of others so many were refused, and so many served, tells how likely a refusal is.
	refusals, successes := float64(u.lucky-k.lucky), float64(served-k.first)
	likely := (refusals + 1) / (refusals + successes + 2)
	k.alone = k.alone || alone || k.rounds >= enoughRefusals && math.Pow(likely, float64(k.rounds)) < byChance
	u.kinds = append(u.kinds, k)
	return k.alone
}

// serve takes in that a request of the kind was served.
func (u *unserved) serve(kind Kind) {
	if i := u.find(kind); i >= 0 {
		u.lucky += u.kinds[i].refusals
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
}

func (u *unserved) find(kind Kind) int {
	return slices.IndexFunc(u.kinds, func(k refusedKind) bool { return k.kind == kind })
}
