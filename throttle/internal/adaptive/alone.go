package adaptive

import (
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Past is what became of a claim so far, where the server has refused it.
type Past struct {
	Behind monotime.Time // others that came before that go first; zero if the claim has its place
	evidence
}

// evidence tells a server that refuses because too much is asked of it from one that refuses a request whatever happens,
// or whose limit for such requests is narrower than for the rest: the request is refused again and again, although others
// are served in between, and even when it goes ahead of all others. Then its refusals say nothing about the bucket.
//
// It is kept of each claim, and of the requests of a kind together: where one after the other is made, none of them may be
// refused often enough before the line has grown so long that it does not go again.
//
// In come refusals (refuse). Out comes whether they are the matter of the claim, or of the kind, alone.
type evidence struct {
	refusals  int  // how many came
	firsts    int  // of these, of a request that went ahead of all others, after a refusal
	rounds    int  // how often others were served between two of them
	successes int  // how many had been served at the latest one
	alone     bool // the refusals are its own matter
}

// refuse takes in a refusal of a request, which went ahead of all others if first says so; so many requests have been
// served so far. It reports whether the refusals have turned out to be its own matter now.
func (e *evidence) refuse(first bool, successes int) (found bool) {
	if e.refusals++; e.refusals > 1 && successes > e.successes {
		e.rounds++
	}
	e.successes = successes
	if first {
		e.firsts++
	}
	found = !e.alone && e.firsts >= enoughRefusals && e.rounds >= enoughRefusals
	e.alone = e.alone || found
	return found
}

// enoughRefusals is how often a request must be refused when it goes ahead, and how often others must be served in between. At
// servers that refuse and do not say why, two were too few: now and then claims met that, whose refusals were then not
// heeded.
const enoughRefusals = 3

// Kind is what kind of request a claim is for.
type Kind struct{ Verb, Path string }

// unserved are kinds of requests of which some were refused, and none was served since, the one that was refused latest last.
//
// Of a kind, the refusals are its own matter also where chance hardly explains them: so many came while so many others were
// served. The others show how likely a refusal is.
type unserved struct {
	kinds []refusedKind
	lucky int // refusals of requests of whose kinds one was served later
}

type refusedKind struct {
	kind    Kind
	refused monotime.Time // when one of the kind was refused last
	heard   sequence      // after the latest refusal that counts: who was granted before it says nothing new
	evidence
	served int // how many had been served at the first refusal
	lucky  int // unserved.lucky at the first refusal
}

const (
	// maxUnserved bounds how many kinds are remembered.
	maxUnserved = 16

	// unservedFor is for how long a kind is remembered after a refusal.
	unservedFor = 10 * time.Minute

	// byChance is how likely chance may be to bring as many refusals of a kind.
	byChance = 0.001
)

// refuse takes in a refusal of a request of a kind, with ticket t; so many requests have been served, and the latest answer
// is so far in the sequence. Alone says that the refusal is the request's own matter. It reports whether refusals of the kind are
// their own matter, and whether that has turned out now.
func (u *unserved) refuse(now monotime.Time, kind Kind, t *Ticket, alone bool, successes int, answer sequence) (own, found bool) {
	k := refusedKind{kind: kind, served: successes, lucky: u.lucky}
	if i := u.find(kind); i >= 0 && now < u.kinds[i].refused.Add(unservedFor) {
		k = u.kinds[i]
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	u.forget(now)
	if len(u.kinds) == maxUnserved {
		u.lucky += u.kinds[0].refusals
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
	if before := k.alone; t.sequence >= k.heard {
		k.refuse(t.First, successes)
		k.heard = answer
		k.alone = k.alone || k.rounds >= enoughRefusals && u.chance(&k, successes) < byChance
		found = k.alone && !before
	}
	k.alone, k.refused = k.alone || alone, now
	u.kinds = append(u.kinds, k)
	return k.alone, found
}

// chance returns how likely it is that a kind is refused in as many rounds although that has nothing to do with the kind.
func (u *unserved) chance(k *refusedKind, successes int) float64 {
	refused, served := float64(u.lucky-k.lucky), float64(successes-k.served)
	return math.Pow((refused+1)/(refused+served+2), float64(k.rounds))
}

// serve takes in that a request of a kind was served.
func (u *unserved) serve(now monotime.Time, kind Kind) {
	if i := u.find(kind); i >= 0 {
		u.lucky += u.kinds[i].refusals
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	u.forget(now)
}

// forget forgets the kinds of which none was refused for long.
func (u *unserved) forget(now monotime.Time) {
	for len(u.kinds) > 0 && now >= u.kinds[0].refused.Add(unservedFor) {
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
}

func (u *unserved) find(kind Kind) int {
	return slices.IndexFunc(u.kinds, func(k refusedKind) bool { return k.kind == kind })
}
