// Package expect says what a claim is expected to cost in units of which it does not say it: what others of its kind turned
// out to cost. Of one kind are claims with the same verb, and with paths that differ in what looks like an ID.
//
// In come claims that go (Ticket.Begin), what their requests turn out to cost (Ticket.Settle), and that they have ended
// (Ticket.End). Out come, for each kind and unit, the mean cost (Cost); how much more must be there, since what is under way
// may cost more than its means (Spare); and that others are to show first what claims of the kind cost (Waits).
//
// The mean and the variance are weighted: of n costs, the latest counts 1/n, but no less than has half of the weight be that
// of the latest 32 (D. H. D. West, Updating mean and variance estimates, 1979, with weights that fade). The spread of the
// first costs is not known, and is taken for as large as the first cost, which counts as one more observation.
package expect

import (
	"math"
	"slices"
	"strings"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/alike"
)

const (
	// halfLife is how many costs have half of the weight of a mean: as many tell it to a tenth if costs vary by a factor of ten,
	// and what requests cost changes with the hours.
	halfLife = 32

	// margin is how many standard deviations all that is under way may cost more than was thought before the quota is in debt by
	// more than one mean cost. Of normal costs, 999 of 1000 stay below it. With less, debts are larger; with more, more of a
	// quota is not used: see TestExpect of package throttle.
	margin = 3.5

	// enough is from how many costs on as many claims may be under way as the quota and Spare let go.
	enough = 8

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
	learned        int // how many costs were
	mean, variance float64
	under          int // claims under way that do not say it
	silent         int // how many of them ended without a word of it
}

// Of returns the kind of a claim.
func (k *Kinds) Of(verb, path string) *Kind {
	if i := k.find(verb, path); i >= 0 {
		kind := k.kinds[i]
		k.kinds = append(slices.Delete(k.kinds, i, i+1), kind)
		return kind
	}
	if len(k.kinds) == maxKinds {
		k.kinds = slices.Delete(k.kinds, 0, 1) // claims that have it already go on with it
	}
	kind := &Kind{of: k, verb: strings.Clone(verb), path: alike.Stars(short(path), alike.IDs)}
	k.kinds = append(k.kinds, kind)
	return kind
}

func (k *Kinds) find(verb, path string) int {
	for i := len(k.kinds) - 1; i >= 0; i-- {
		if kind := k.kinds[i]; kind.verb == verb && alike.Fits(kind.path, short(path), alike.IDs) {
			return i
		}
	}
	return -1
}

func short(path string) string { return path[:min(len(path), maxPath)] }

// Any returns all kinds together.
func (k *Kind) Any() *Kind {
	k.of.all.of = k.of
	return &k.of.all
}

// Cost returns the mean cost in a unit; zero if it is not known.
func (k *Kind) Cost(unit string) int {
	if c := k.in(unit); c != nil {
		return c.tokens()
	}
	return 0
}

// Spare returns how much must be there beside the mean cost of a claim: what all that is under way, and the claim, may cost
// more than their means, less the debt of one mean cost that is put up with. All of them vary by what each does, and by how
// far the mean may be off, which is the same for each.
func (k *Kind) Spare(unit string) int {
	c := k.in(unit)
	if c == nil || c.learned == 0 {
		return 0
	}
	n, variance := 1.0, c.variance
	if u := k.of.in(unit); u != nil {
		n, variance = n+float64(u.n), variance+u.variance
	}
	variance += n * n * c.variance * c.weight()
	return whole(math.Ceil(margin*math.Sqrt(variance) - c.mean))
}

// Waits reports whether the claim is to wait for others of its kind, of which little is known of what they cost: at first one
// goes, then two more for each cost that was said, and one more for each that has ended without a word of it.
func (k *Kind) Waits(unit string) bool {
	c := k.in(unit)
	return c != nil && c.learned < enough && c.under > 2*c.learned+c.silent
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

// tokens is the mean as a number of tokens.
func (c *cost) tokens() int { return whole(math.Round(c.mean)) }

// weight is that of the latest cost.
func (c *cost) weight() float64 { return max(1/float64(max(c.learned, 1)), least) }

// learn takes in a cost, and reports whether claims may wait for it.
func (c *cost) learn(n int) (news bool) {
	if c == nil {
		return false
	}
	news = c.learned < enough
	x := float64(n)
	if c.learned++; c.learned == 1 {
		c.mean, c.variance = x, x*x
		return news
	}
	w, off := c.weight(), x-c.mean
	c.mean += w * off
	c.variance = (1 - w) * (c.variance + w*off*off)
	return news
}

// whole returns n within what a claim may cost.
func whole(n float64) int { return int(min(max(n, 0), quota.MaxN)) }
