// Package expect says what a claim is expected to cost in units of which it does not say it: what others of its
// kind turned out to cost. Of one kind are claims with the same verb, and with paths that differ in what looks
// like an ID. It also says how long an answer is expected to take (Answer), of whatever kind.
//
// In come claims that go (Ticket.Begin), what their requests turn out to cost (Ticket.Settle), and that they
// have ended (Ticket.End). Out come, for each kind and unit, the mean cost (Cost); how much more must be there,
// since what is under way may cost more than its means (Spare); and until when others are to show first what
// claims of the kind cost (Until).
//
// The mean and the variance are weighted: of n costs, the latest counts 1/n, but no less than has half of the
// weight be that of the latest 32 (D. H. D. West, Updating mean and variance estimates, 1979, with weights that
// fade). Few costs say little of how much they vary: one more, as far from the mean as zero is, counts beside
// them. A kind of which nothing is known is expected to cost what all kinds together do.
package expect

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/alike"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

const (
	// halfLife is how many costs have half of the weight of a mean: as many tell it to a tenth if costs vary by
	// a factor of ten, and what requests cost changes with the hours.
	halfLife = 32

	// margin is how many standard deviations all that is under way may cost more than was thought before the
	// quota is in debt by more than one mean cost. Few costs tell the deviation badly, and most costs are
	// skewed, so that it is more than normal costs would need: see TestExpect of package throttle. There, with
	// 3.5, several of 100 half hours have a larger debt, and with 4.5 less than 95 of 100 of the quota is used.
	margin = 3.75

	// enough is from how many costs on as many claims may be under way as the quota and Spare let go: from when
	// their mean is known to a tenth.
	enough = halfLife

	// patience is how long a kind of which little is known waits for a word of what it costs, until twice as
	// many may be under way. It is that of a slow start after a refusal: see package adaptive.
	patience = 5 * time.Second

	// dust is the largest mean that counts as zero, in tokens: however many costs of zero come, they bring no
	// mean down to it.
	dust = 0.01

	// maxKinds bounds how many kinds are remembered: those that came latest.
	maxKinds = 64

	// maxUnits bounds in how many units the cost of a kind is remembered.
	maxUnits = 8

	// maxPath is how many bytes of a path tell kinds apart.
	maxPath = 256
)

// least is the least weight of the latest cost.
var least = 1 - math.Pow(2, -1.0/halfLife)

// Kinds are the kinds of claims. The zero value knows none.
type Kinds struct {
	kinds []*Kind // the one that came latest is the last
	all   Kind    // all of them together
	under []under // by unit
	begun *Kind   // see Begun
}

// under is what is under way in a unit of which claims do not say what they cost.
type under struct {
	unit     string
	n        int
	variance float64 // the sum of those of their kinds
}

// Kind is a kind of claims.
type Kind struct {
	of         *Kinds
	verb, path string // the latter with a star for each part that looks like an ID
	costs      []cost // by unit
}

// cost is what is known of what claims of a kind cost in a unit.
type cost struct {
	unit           string
	asked          bool // a claim has gone that did not say it
	learned        int  // how many costs were
	mean, variance float64
	under          int           // claims under way that do not say it
	silent         int           // how many of them were served without a word of it
	since          monotime.Time // the latest word of it, or end without one; or when the first of those under way went, if that is later
}

// Of returns the kind of a claim, and remembers it.
func (k *Kinds) Of(verb, path string) *Kind {
	kind, i := k.find(verb, path)
	switch {
	case i >= 0:
		k.kinds = slices.Delete(k.kinds, i, i+1)
	case len(k.kinds) == maxKinds:
		k.kinds = slices.Delete(k.kinds, 0, 1) // claims that have it already go on with it
	}
	k.kinds = append(k.kinds, kind)
	return kind
}

// Begun calls f for the kind of which a claim has gone, so that others of it are to wait for what that one
// costs; once for each such claim at most.
func (k *Kinds) Begun(now monotime.Time, f func(now monotime.Time, kind *Kind)) {
	if kind := k.begun; kind != nil {
		k.begun = nil
		f(now, kind)
	}
}

// Like returns the kind of a claim, and remembers nothing.
func (k *Kinds) Like(verb, path string) *Kind {
	kind, _ := k.find(verb, path)
	return kind
}

// find returns a kind and its index, or a new one and -1.
func (k *Kinds) find(verb, path string) (*Kind, int) {
	for i, kind := range slices.Backward(k.kinds) {
		if kind.verb == verb && alike.Fits(kind.path, short(path), alike.IDs) {
			return kind, i
		}
	}
	return &Kind{of: k, verb: strings.Clone(verb), path: alike.Stars(short(path), alike.IDs)}, -1
}

func short(path string) string { return path[:min(len(path), maxPath)] }

// Any returns all kinds together.
func (k *Kind) Any() *Kind {
	k.of.all.of = k.of
	return &k.of.all
}

// Cost returns the mean cost in a unit, in whole tokens: rounded up, or any number of claims that cost less
// than one could be under way at once. It is zero if it is not known.
func (k *Kind) Cost(unit string) int64 {
	if c := k.known(unit); c != nil {
		return whole(math.Ceil(c.mean - dust))
	}
	return 0
}

// Spare returns how much must be there beside the mean cost of a claim: what all that is under way, and the
// claim, may cost more than was thought, less the debt of one mean cost that is put up with. All of them vary
// by what each does, and by how far the mean may be off, which is the same for each.
func (k *Kind) Spare(unit string) int64 {
	c := k.known(unit)
	one := c.spread()
	if one == 0 {
		return 0
	}
	n, variance := 1.0, one
	if u := k.of.in(unit); u != nil {
		n, variance = n+float64(u.n), variance+u.variance
	}
	variance += n * n * one * c.weight()
	return whole(math.Ceil(margin*math.Sqrt(variance) - c.mean))
}

// Until returns how long the claim is to wait for others of its kind, zero if enough is known of what they
// cost. Else at first one goes, then two more for each cost that was said, and one more for each that was
// served without a word of it; and twice as many after patience. An instant that has passed is no wait. An
// answer may come before.
func (k *Kind) Until(unit string) (at monotime.Time) {
	c := k.in(unit)
	switch {
	case c == nil:
		return 1
	case c.learned >= enough:
		return 0
	}
	at = max(c.since, 1)
	for may := 1 + 2*c.learned + c.silent; may <= c.under; may *= 2 {
		at = at.Add(patience)
	}
	return at
}

// known returns what is known of the cost in a unit: of all kinds, if nobody knows anything of this one.
func (k *Kind) known(unit string) *cost {
	if c := k.in(unit); c != nil && c.learned+c.silent > 0 {
		return c
	}
	return k.of.all.in(unit)
}

func (k *Kind) in(unit string) *cost {
	for i := range k.costs {
		if c := &k.costs[i]; c.unit == unit {
			return c
		}
	}
	return nil
}

// make returns what is known of the cost in a unit, which may be nothing; nil if there are too many.
func (k *Kind) make(unit string) *cost {
	c := k.in(unit)
	if c == nil && len(k.costs) < maxUnits {
		k.costs = append(k.costs, cost{unit: unit})
		c = &k.costs[len(k.costs)-1]
	}
	return c
}

// ask is make for a unit of which a claim does not say what it costs. If there are too many, the unit takes the
// place of one that no claim has asked for: answers may name more units than the quotas have.
func (k *Kind) ask(unit string) *cost {
	c := k.make(unit)
	if i := slices.IndexFunc(k.costs, func(c cost) bool { return !c.asked }); c == nil && i >= 0 {
		c = &k.costs[i]
		*c = cost{unit: unit}
	}
	if c != nil {
		c.asked = true
	}
	return c
}

func (k *Kinds) in(unit string) *under {
	for i := range k.under {
		if u := &k.under[i]; u.unit == unit {
			return u
		}
	}
	return nil
}

// begin notes that a claim is under way, or that it has ended if sign is -1.
func (k *Kinds) begin(unit string, variance float64, sign int) {
	u := k.in(unit)
	if u == nil {
		k.under = append(k.under, under{unit: unit})
		u = &k.under[len(k.under)-1]
	}
	u.n += sign
	u.variance = max(u.variance+float64(sign)*variance, 0)
	if u.n == 0 {
		k.under = slices.DeleteFunc(k.under, func(u under) bool { return u.n == 0 })
	}
}

// spread is the variance of a cost, as far as it is known; zero of a nil cost.
func (c *cost) spread() float64 {
	if c == nil {
		return 0
	}
	return c.variance + c.mean*c.mean/float64(max(c.learned, 1))
}

// weight is that of the latest cost.
func (c *cost) weight() float64 { return max(1/float64(max(c.learned, 1)), least) }

// learn takes in a cost, and reports whether claims may wait for it.
func (c *cost) learn(now monotime.Time, n int64) (news bool) {
	if c == nil {
		return false
	}
	news, c.since = c.learned < enough, now
	c.learned++
	w, off := c.weight(), float64(n)-c.mean
	c.mean += w * off
	c.variance = (1 - w) * (c.variance + w*off*off)
	return news
}

// whole returns n within what a claim may cost.
func whole(n float64) int64 { return int64(min(max(n, 0), float64(quota.MaxN))) }

// Graspable returns spent as far as it is learned: of each unit no more than most says, unless that is zero.
func Graspable(spent quota.Costs, most func(unit string) int64) quota.Costs {
	known := quota.Costs{}
	for unit, n := range spent {
		if known[unit] = n; most(unit) > 0 {
			known[unit] = min(n, most(unit))
		}
	}
	return known
}
