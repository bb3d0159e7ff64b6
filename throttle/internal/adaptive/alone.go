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
	strays int           // how often it was refused by something in front of the server
	evidence
}

// evidence tells a server that refuses because too much is asked of it from one that refuses a request whatever happens,
// or whose limit for such requests is narrower than for the rest: the request is refused again and again, although others
// are served in between, so often that chance hardly explains it. Then its refusals say nothing about the bucket. What became of the
// others says how likely a refusal is.
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

	served, refused int // how many others had been served, and refused, at the first one
}

// refuse takes in a refusal of a request, which went ahead of all others if first says so; so many others have been
// served and refused so far.
func (e *evidence) refuse(first bool, served, refused int) {
	switch e.refusals++; {
	case e.refusals == 1:
		e.served, e.refused = served, refused
	case served > e.successes:
		e.rounds++
	}
	e.successes = served
	if first {
		e.firsts++
	}
}

// improbable reports whether chance hardly explains the refusals, now that so many others have been served and refused.
func (e *evidence) improbable(served, refused int) bool {
	r, s := float64(max(refused-e.refused, 0)), float64(served-e.served)
	return e.rounds >= enoughRounds && math.Pow((r+1)/(r+s+2), float64(e.rounds)) < byChance
}

const (
	// enoughRounds is how often others must be served between two refusals, and of one claim, how often it must be refused
	// when it goes ahead. At servers that refuse and do not say why, two were too few: now and then claims met that, whose
	// refusals were then not heeded.
	enoughRounds = 3

	// byChance is how likely chance may be to bring as many refusals. In 2761 requests of five processes that share a server, of
	// which one of four is refused, 0.001 was too much: each request is a trial.
	byChance = 0.0001
)

// unserved are kinds of requests of which some were refused, and none was served since, the one that was refused latest last.
type unserved struct {
	kinds []refusedKind
	lucky int // refusals of requests that are of no kind, or of whose kinds one was served later
}

type refusedKind struct {
	kind    Kind
	heardAt monotime.Time // the latest refusal
	all     int           // refusals
	heard   sequence      // the latest refusal that counts: who was granted before it says nothing new
	evidence
}

const (
	// maxUnserved bounds how many kinds are remembered.
	maxUnserved = 16

	// unservedFor is for how long a kind is remembered after a refusal.
	unservedFor = 10 * time.Minute
)

// refuse takes in a refusal of a claim for a request of a kind, with ticket t; so many requests have been served, and the
// latest answer is so far in the sequence. It reports whether that turned out to be the matter of the claim or of the kind.
func (u *unserved) refuse(now monotime.Time, p *Past, kind Kind, t *Ticket, served int, answer sequence) (found bool) {
	k := refusedKind{kind: kind}
	if i := u.find(kind); i >= 0 && now < u.kinds[i].heardAt.Add(unservedFor) {
		k = u.kinds[i]
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	u.forget(now)
	known := k.alone || p.alone

	others := u.lucky + k.all - p.refusals
	p.refuse(t.First, served, others)
	p.alone = known || p.firsts >= enoughRounds && p.improbable(served, others)
	if kind == (Kind{}) {
		u.lucky++
		return p.alone && !known
	}
	if t.sequence >= k.heard {
		k.refuse(t.First, served, u.lucky)
		k.heard = answer
		p.alone = p.alone || k.improbable(served, u.lucky)
	}
	k.all++
	k.alone, k.heardAt = p.alone, now
	if len(u.kinds) == maxUnserved {
		u.lucky += u.kinds[0].all
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
	u.kinds = append(u.kinds, k)
	return p.alone && !known
}

// serve takes in that a request of a kind was served.
func (u *unserved) serve(now monotime.Time, kind Kind) {
	if i := u.find(kind); i >= 0 {
		u.lucky += u.kinds[i].all
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	u.forget(now)
}

// forget forgets the kinds of which none was refused for long.
func (u *unserved) forget(now monotime.Time) {
	for len(u.kinds) > 0 && now >= u.kinds[0].heardAt.Add(unservedFor) {
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
}

func (u *unserved) find(kind Kind) int {
	return slices.IndexFunc(u.kinds, func(k refusedKind) bool { return k.kind == kind })
}
