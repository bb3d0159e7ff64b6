package whose

import (
	"math"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// evidence tells a server that refuses because too much is asked of it from one that refuses a request whatever
// happens, or whose limit for such requests is narrower than for the rest: the request is refused again and
// again, although others are served in between, so often that chance hardly explains it. Then its refusals say
// nothing about the bucket. What became of the others says how likely a refusal is.
//
// It is kept of each claim, and of the requests of a kind together: where one after the other is made, none of
// them may be refused often enough before the line has grown so long that it does not go again.
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

// refuse takes in a refusal of a request, which went ahead of all others if first says so; so many others have
// been served and refused so far.
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

// improbable reports whether chance hardly explains the refusals, now that so many others have been served and
// refused.
func (e *evidence) improbable(served, refused int) bool {
	r, s := float64(max(refused-e.refused, 0)), float64(served-e.served)
	chance := math.Pow((r+1)/(r+s+2), float64(e.rounds))
	return e.rounds >= enoughRounds && chance < byChance || e.rounds == enoughRounds-1 && chance < byChanceInTwo
}

const (
	// enoughRounds is how often others must be served between two refusals, and of one claim, how often it must
	// be refused when it goes ahead. At servers that refuse and do not say why, two were too few: now and then
	// claims met that, whose refusals were then not heeded.
	enoughRounds = 3

	// byChance is how likely chance may be to bring as many refusals. In 2761 requests of five processes that
	// share a server, of which one of four is refused, 0.001 was too much: each request is a trial.
	byChance = 0.0001

	// byChanceInTwo is the same where others were served between two refusals no more often than twice:
	// refusals that hold the bucket for half a minute are few.
	byChanceInTwo = byChance / 10
)

// unserved are kinds of requests of which some were refused, and none was served since. What kind a request is
// of is seen in several ways, from the narrowest to the widest: where each request has a path of its own, only
// those of all paths alike show what becomes of them.
type unserved [5]unservedKinds

// unservedKinds are the kinds as they are seen in one way, the one that was refused latest last.
type unservedKinds struct {
	kinds []refusedKind
	lucky int // refusals of requests that are of no kind, or of whose kinds one was served later
}

type refusedKind struct {
	kind    Kind          // as in the way
	heardAt monotime.Time // the latest refusal
	all     int           // refusals
	heard   uint64        // the latest refusal that counts: who was granted before it says nothing new
	evidence
}

// maxUnserved bounds how many kinds are remembered.
const maxUnserved = 16

// refuse takes in a refusal of a claim. It reports whether that turned out to be the matter of the claim or of
// a kind.
func (u *unserved) refuse(now monotime.Time, p *Past, r *Refusal) (found bool) {
	known, others := p.alone, math.MaxInt
	for way := range u {
		k := u[way].recall(now, r.Kind, way)
		known = known || k.alone
		others = min(others, u[way].lucky+k.all)
	}
	others -= p.refusals
	p.refuse(r.First, r.Served, others)
	p.alone = known || p.firsts >= enoughRounds && p.improbable(r.Served, others)
	if r.Kind == (Kind{}) {
		for way := range u {
			u[way].lucky++
		}
		return p.alone && !known
	}
	for way := range u {
		u[way].refuse(now, p, r, way)
	}
	return p.alone && !known
}

// serve takes in that a request of a kind was served.
func (u *unserved) serve(now monotime.Time, kind Kind) {
	for way := range u {
		u[way].serve(now, kind, way)
	}
}

// any reports whether some kind was refused and not served since.
func (u *unserved) any() bool { return len(u[byPath].kinds) > 0 }

// recall returns what is known of a kind.
func (u *unservedKinds) recall(now monotime.Time, kind Kind, way int) (k refusedKind) {
	if i := u.find(kind, way); i >= 0 && now < u.kinds[i].heardAt.Add(unservedFor) {
		return u.kinds[i]
	}
	return refusedKind{kind: kind.as(way)}
}

// refuse takes in a refusal of a claim. Whether that is the matter of the claim, or of some kind, is in p; it
// is set if it is of this one. What is seen of a claim goes for its kind, unless one of the kind was served
// since its first refusal.
func (u *unservedKinds) refuse(now monotime.Time, p *Past, r *Refusal, way int) {
	k := u.recall(now, r.Kind, way)
	if i := u.find(r.Kind, way); i >= 0 {
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	u.forget(now)
	if r.Granted >= k.heard {
		k.refuse(r.First, r.Served, u.lucky)
		k.heard = r.Answer
		k.alone = k.alone || k.improbable(r.Served, u.lucky)
		p.alone = p.alone || k.alone
	}
	k.all++
	k.alone, k.heardAt = k.alone || p.alone && k.served <= p.served, now
	if len(u.kinds) == maxUnserved {
		u.lucky += u.kinds[0].all
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
	u.kinds = append(u.kinds, k)
}

// serve takes in that a request of a kind was served.
func (u *unservedKinds) serve(now monotime.Time, kind Kind, way int) {
	if i := u.find(kind, way); i >= 0 {
		u.lucky += u.kinds[i].all
		u.kinds = slices.Delete(u.kinds, i, i+1)
	}
	u.forget(now)
}

// forget forgets the kinds of which none was refused for long.
func (u *unservedKinds) forget(now monotime.Time) {
	for len(u.kinds) > 0 && now >= u.kinds[0].heardAt.Add(unservedFor) {
		u.kinds = slices.Delete(u.kinds, 0, 1)
	}
}

func (u *unservedKinds) find(kind Kind, way int) int {
	return slices.IndexFunc(u.kinds, func(k refusedKind) bool { return k.kind.fits(&kind, way) })
}
