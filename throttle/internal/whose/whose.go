// Package whose finds out whose matter a refusal is: the bucket's, since too much was asked of the server; that
// of the refused request alone, since the server never takes it; or that of its kind.
//
// In come refusals ([Judge.Refuse]) and what was served ([Judge.Served]), by their places in a sequence of all
// grants and answers. Out come how a refusal is to be taken (a [Verdict]), and which of the claims that wait
// goes next. whose.go has the Judge, and what became of each claim ([Past]). alone.go looks at claims and kinds
// ([Kind], kind.go) that are refused again and again, persistence.go at what becomes of all that were refused
// and are made again. stray.go tells refusals that are not the server's at all ([Strays]), and tenants.go those
// that are meant for all tenants ([Tenants]). What the server states, holds and paces are matters of package
// adaptive.
package whose

import (
	"math"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Past is what became of a claim so far, where the server has refused it.
type Past struct {
	behind  monotime.Time // a rank: claims that have it, or a better one, go first
	last    monotime.Time // but none of its priority that come after this instant; zero if the claim has its place
	yielded bool          // it went behind others, after refusals in a row, since it was refused itself; see Judge.Yields
	strays  int           // how often it was refused by something in front of the server, or where no refusal holds the bucket
	granted uint64        // the latest attempt, if the server refused it
	seen    int           // at the latest refusal, so many of the bucket had been served, and one more; zero before the first one
	evidence
}

// Placed is the rank behind which a claim with this past fell, but not behind those of its priority that come
// after the instant last; that is zero if the claim has its place.
func (p *Past) Placed() (behind, last monotime.Time) {
	if p == nil {
		return 0, 0
	}
	return p.behind, p.last
}

// Fell reports whether a claim with this past fell behind others.
func (p *Past) Fell() bool { return p != nil && p.last != 0 }

// FallBack has the claim fall behind a rank, but not behind those of its priority that come after an instant;
// not if it fell farther before.
func (p *Past) FallBack(behind, last monotime.Time) {
	if p.last != 0 {
		behind = max(behind, min(p.behind, p.last))
	}
	p.behind, p.last = behind, max(p.last, last)
}

// All is a rank behind those of all claims.
const All = monotime.Time(math.MaxInt64)

// Latest is the latest attempt that was refused of a claim with this past, the larger the later; zero if none
// was.
func (p *Past) Latest() uint64 {
	if p == nil {
		return 0
	}
	return p.granted
}

// Stray takes in that the claim was refused by something in front of the server, or where no refusal holds the
// bucket, and returns how often that was so.
func (p *Past) Stray() int {
	p.strays++
	p.yielded = false
	return p.strays
}

// Vain takes in a refusal of the claim, of a bucket of which so many requests were served, and reports whether
// none of them was served since the claim was refused before. Such a refusal says nothing of this claim: all
// are refused.
func (p *Past) Vain(served int) bool {
	before := p.seen
	p.seen = served + 1
	return p.seen == before
}

// Refusals is how often the claim was refused.
func (p *Past) Refusals() int { return p.refusals }

// WaitsAlone reports whether others were served so often between the refusals of the claim that it waits by
// itself, for longer each time, also where the server does not say for how long. Without that, a claim of a
// narrow limit would be refused as often as it may be within seconds, each time after the short hold of the
// bucket.
func (p *Past) WaitsAlone() bool { return p.rounds >= patientRounds }

// patientRounds is how often others must be served for that.
const patientRounds = 2

// Judge is what is known of the refusals of a server. The zero Judge has heard of none.
type Judge struct {
	unserved    unserved     // kinds of requests that were refused, and not served since
	persistence *persistence // are refusals the matter of the bucket; nil if none came lately
}

// Settled reports whether nothing waits for the answer to a request that is served: no refusal came lately.
func (j *Judge) Settled() bool { return !j.unserved.any() && j.persistence == nil }

// Refusal is what is told of a request that was refused.
type Refusal struct {
	Kind    Kind   // of the request
	Granted uint64 // its place in the sequence
	First   bool   // it went ahead of all others
	Served  int    // how many requests have been served
	Answer  uint64 // the place of the latest answer in the sequence
}

// Refuse takes in a refusal of a claim, of which p is the past, and says how it is to be taken. Found says that
// it is this refusal which shows that refusals are the matter of requests.
func (j *Judge) Refuse(now monotime.Time, p *Past, r *Refusal) (v Verdict, found bool) {
	if j.persistence == nil {
		j.persistence = &persistence{}
	}
	p.yielded = false
	ofKind := j.unserved.refuse(now, p, r)
	before := p.granted
	p.granted = max(r.Granted, 1) // one that was granted unseen is older than all others
	v, found = j.persistence.refuse(now, before, p.granted, r.Answer, r.First, p.alone)
	return v, found || ofKind
}

// Served takes in that a request of a kind was served, which was granted at a place in the sequence: so its
// kind is not always refused. Past is what became of its claim before; nil if the claim was not refused. Pass
// is how often a claim that stands before this one, which went ahead, is to let others pass, since several were
// refused in a row. That is once while the evidence is not enough for another request to be tried (triesFrom),
// so that none waits for long where others are refused as well.
func (j *Judge) Served(now monotime.Time, kind Kind, granted uint64, p *Past) (pass int) {
	if j.unserved.any() {
		j.unserved.serve(now, kind)
	}
	if j.persistence == nil {
		return 0
	}
	before := p.Latest() != 0
	switch {
	case before:
	case j.persistence.trying():
		pass = math.MaxInt
	case j.persistence.flights > severalRefusals:
		pass = 1
	}
	if j.persistence.serve(granted, before); !j.persistence.any(now) {
		j.persistence = nil
	}
	return pass
}

// Suspects reports whether there is evidence at all that some requests are never taken.
func (j *Judge) Suspects() bool { return j.persistence.suspects() }

// Tries reports whether another request goes at once after a refusal, to see whether others are refused as
// well.
func (j *Judge) Tries() bool { return j.persistence.trying() }

// Yields reports whether a claim that waits goes behind others that come before an instant, since several
// requests were refused in a row, and notes that. P is what became of the claim; nil if it was not refused:
// then it does not yield.
// A claim yields once before it is made again, while the evidence is not enough to try another: else it would
// never go where such rows come sooner than all others have gone.
func (j *Judge) Yields(p *Past, before monotime.Time) bool {
	if p == nil || p.yielded && !j.persistence.trying() {
		return false
	}
	p.FallBack(All, before)
	p.yielded = true
	return true
}

// Ahead returns which of n claims is to go ahead after a hold, after so many refusals in a row; kind returns
// what kind they are of. The first one is the first in line, the others were not refused yet. If the first is
// of a kind that was refused, and of which none was served since, it is the first of another kind: else
// requests that the server always refuses would go ahead one after the other. They may be of the same kind as
// others, or each of its own. So after several refusals in a row, it is any one: not the last one that came,
// which would always be that of the caller that was served last. Where a limit that the server states explains
// the refusals, it is the first one.
func (j *Judge) Ahead(n, refusals int, kind func(i int) *Kind, random func() float64) int {
	refused := func(i int) bool { return j.unserved[byPath].find(*kind(i), byPath) >= 0 }
	if n > 1 && refused(0) {
		for i := 1; i < n; i++ {
			if !refused(i) {
				return i
			}
		}
	}
	if (refusals > severalRefusals || j.persistence.trying()) && j.unserved.any() {
		return max(0, min(int(j.persistence.draw(random)*float64(n)), n-1))
	}
	return 0
}

// OthersFirst reports whether other claims are to go before one that was refused now: the latest claims that
// went first again after a refusal were refused again, and none of them was served since.
func (j *Judge) OthersFirst() bool { return j.persistence != nil && j.persistence.othersFirst }

// severalRefusals is how many refusals in a row may come with claims that go ahead in their order. After the
// second, those that were refused go behind others, and one is drawn.
const severalRefusals = 1
