package adaptive

import (
	"math"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// price is what requests cost of a limit in a unit in which they do not say their cost, such as the tokens of a
// language model. It is seen from how far Remaining falls.
//
// In come served requests (count) and how much was spent meanwhile (learn). Out come the mean cost of a kind of
// request, and how much must remain so that one may go (need): so much more than the mean that it rarely costs
// more.
//
// Requests are of one kind if they have the same verb, and paths that differ only in what looks like an ID
// (Kind.WithoutIDs). Otherwise each thread of a forum, say, would have a price of its own, and none would be
// known.
//
// The mean of each kind is learned by least mean squares. If several requests were served between two answers,
// what they cost more than was thought is shared out among their kinds, in proportion to how many there were of
// each.
type price struct {
	kinds     []kindPrice // the one that was counted latest is the last
	mean      float64     // of all kinds, as often as each comes
	variance  float64     // around the mean of the kind
	learned   int         // how often learn was told
	grain     int         // what the limit and Remaining are multiples of; zero before
	streaming streaming
	carried   float64 // what was spent for those that are counted, while they are too few to be learned from
	partial   bool    // others were under way when counting began: some of what they cost is not in carried
	least     int     // that remained, of the answers since at
	first     float64 // the price before it is known, see enoughPrices; zero if much was missing, perhaps of others

	// The newest answer came at an instant, and stated that so much remains.
	at        monotime.Time
	remaining int
}

type kindPrice struct {
	kind    Kind // WithoutIDs
	mean    float64
	learned int
	served  float64 // that are counted, and were not learned from; a part of a request whose answer is being read
}

const (
	// enoughPrices is after how many observations a price is known. Before that, the price is what was missing
	// of a new window at the first answer, or more than what remained at a refusal (first); one token if
	// neither is known.
	enoughPrices = 4

	// enoughNumbers is after how many observations it is known what the server rounds to.
	enoughNumbers = 64

	// priceMemory is over how many observations the mean of all kinds is taken in the long run: prices change.
	priceMemory = 32

	// kindMemory is the same for the mean of one kind. It is shorter, since least mean squares take long where
	// steps are short and kinds come together.
	kindMemory = 8

	// maxPricedKinds bounds how many kinds have a price of their own.
	maxPricedKinds = 16

	// sameBurst is within how many round trips the next answer must come for the price to be learned from it:
	// in a longer time, others may have used much.
	sameBurst = 4

	// priceMargin is how many standard deviations a request may cost more than the mean and still be allowed.
	priceMargin = 2.5
)

func (p *price) known() bool { return p.learned >= enoughPrices }

// of returns the mean cost of a kind of request; that of all kinds if kind is nil.
func (p *price) of(kind *Kind) float64 {
	switch {
	case !p.known():
		return max(p.first, 1)
	case kind == nil:
		return p.mean
	}
	if i := p.find(kind); i >= 0 {
		return p.thought(&p.kinds[i])
	}
	return p.mean
}

// ofLatest is of for the kind that was counted last.
func (p *price) ofLatest() float64 {
	if !p.known() {
		return max(p.first, 1)
	}
	return p.thought(&p.kinds[len(p.kinds)-1])
}

// thought returns the mean of a kind; that of all kinds if nothing is known of this one.
func (p *price) thought(k *kindPrice) float64 {
	if k.learned > 0 {
		return k.mean
	}
	return p.mean
}

// need returns how much must remain, beside the mean cost of so many requests in flight, so that n of a kind
// may go.
//
// What k requests cost together varies for two reasons: the cost of each varies, and the mean of m observations
// may be off, by the same for each. So its variance is variance · (k + k²/m).
func (p *price) need(kind *Kind, n, inFlight int) int {
	k, m, variance := float64(n+inFlight), float64(min(p.learned, priceMemory)), p.variance
	if !p.known() {
		m, variance = 1, p.first*p.first // nothing is known of it
	}
	return tokens(math.Ceil(float64(n)*p.of(kind) + priceMargin*math.Sqrt(variance*(k+k*k/m))))
}

// most bounds what each of k requests needs, of whatever kinds, of which some are in flight and the others are
// to go; it is one token at least. All of them together need k times as much at most: k + k²/m ≤ k²·(1 + 1/m) ≤
// 2k², and no price is above that of the dearest kind.
func (p *price) most() float64 {
	most := p.mean
	for i := range p.kinds {
		if mean := p.thought(&p.kinds[i]); mean > most {
			most = mean
		}
	}
	if most += priceMargin * math.Sqrt(2*p.variance); most > 1 {
		return most
	}
	return 1
}

// count takes in that a request of a kind was served.
func (p *price) count(kind *Kind) { p.countPart(kind, 1) }

// countPart is count for a part of a request, see streaming.
func (p *price) countPart(kind *Kind, part float64) {
	if n := len(p.kinds); n > 0 {
		if latest := &p.kinds[n-1]; latest.kind == *kind || latest.kind.Fits(kind) {
			latest.served += part
			return
		}
	}
	p.countOther(kind, part)
}

// countOther is count for a kind that was not the latest.
func (p *price) countOther(kind *Kind, part float64) {
	k := kindPrice{kind: kind.WithoutIDs()}
	if i := p.find(kind); i >= 0 {
		k = p.kinds[i]
		p.kinds = slices.Delete(p.kinds, i, i+1)
	} else if len(p.kinds) == maxPricedKinds {
		p.kinds = slices.Delete(p.kinds, 0, 1)
	}
	k.served += part
	p.kinds = append(p.kinds, k)
}

// beginReading counts a request of a kind that was served, and whose answer is being read. It reports whether
// endReading is to be told when it was.
func (p *price) beginReading(kind *Kind) bool {
	if p.streaming.seen = true; !p.streaming.watched(p.mean) {
		p.count(kind)
		return false
	}
	p.countPart(kind, p.streaming.part(p.mean))
	p.streaming.begun += p.of(kind)
	return true
}

// endReading counts the rest of a request that beginReading has counted.
func (p *price) endReading(kind *Kind) {
	if !p.streams() {
		return // the limit is a new one, or all is counted when an answer begins, since this one did
	}
	p.countPart(kind, 1-p.streaming.part(p.mean))
	p.streaming.begun -= p.of(kind)
}

// streams reports whether it is not known that nothing is charged any more for answers that are being read.
func (p *price) streams() bool { return p.streaming.watched(p.mean) }

// unread returns as how many requests n count whose answers are being read.
func (p *price) unread(n int) float64 {
	if p == nil || n == 0 || !p.streams() {
		return 0
	}
	return (1 - p.streaming.part(p.mean)) * float64(n)
}

// owed returns what is still to be charged for n requests whose answers are being read.
func (p *price) owed(n int) int {
	if unread := p.unread(n); unread > 0 {
		return tokens(math.Ceil(unread * p.of(nil)))
	}
	return 0
}

// learn takes in that the requests that were counted cost so much together, while others are under way, whose
// answers may have been overtaken. So their cost is perhaps in what was spent: until as many are counted as are
// under way, what was spent is carried, or a price would be learned that is as many times too high. Before the
// price is known, any will do: where costs are charged when answers are written, nothing else tells it before
// much more is sent than there is.
func (p *price) learn(spent float64, underway int) {
	kinds := p.kinds
	requests, squares, thought := 0.0, 0.0, 0.0
	for i := range kinds {
		k := &kinds[i]
		n := k.served
		requests, squares, thought = requests+n, squares+n*n, thought+n*p.thought(k)
	}
	if requests == 0 && !p.streams() {
		return
	}
	enough := 1.0
	if p.known() {
		enough = max(1, float64(underway))
	}
	if spent += p.carried; requests < enough {
		p.carried = spent
		return
	}
	if p.carried = 0; p.partial { // what follows begins as this ends
		p.skip(0)
		return
	}
	more := spent - thought
	p.streaming.learn(more, p.mean)
	for i := range kinds {
		k := &kinds[i]
		if n := k.served; n > 0 {
			k.mean = positive(p.thought(k) + share(k.learned, kindMemory)*more*n/squares)
			k.learned++
			k.served = 0
		}
	}
	if n := p.learned - enoughPrices + 1; n >= 0 { // the first surprises say nothing of how much prices vary
		p.variance += share(n, priceMemory) * (more*more/requests - p.variance)
	}
	// If more came back than was thought, less than nothing seems to be spent: spent is negative then.
	p.mean = positive(p.mean + share(p.learned, priceMemory)*(spent/requests-p.mean))
	p.learned++
}

// skip forgets which requests were counted, since nobody knows what they cost, while so many are under way.
func (p *price) skip(underway int) {
	p.carried, p.partial, p.streaming.begun = 0, underway > 0 && p.known(), 0
	for i := range p.kinds {
		p.kinds[i].served = 0
	}
}

// share returns by which share of the difference a mean of so many observations goes towards the next one.
func share(learned, memory int) float64 { return 1 / float64(min(learned+1, memory)) }

func (p *price) find(kind *Kind) int {
	if n := len(p.kinds); n > 0 && p.kinds[n-1].kind == *kind {
		return n - 1
	}
	return slices.IndexFunc(p.kinds, func(k kindPrice) bool { return k.kind.Fits(kind) })
}

// times returns what n requests of a kind cost; of all kinds if kind is nil.
func (p *price) times(n int, kind *Kind) int {
	if n == 0 {
		return 0
	}
	return product(n, p.of(kind))
}

// product returns what n requests cost. To round down is one instruction, and to round is 25.
func product(n int, each float64) int { return tokens(math.Floor(float64(n)*each + 0.5)) }

// maxTokens bounds what servers state. It is so large that it makes no difference, and so small that no sum of
// a few such numbers overflows, nor ten times such a sum.
const maxTokens = math.MaxInt / 32

// bounded returns n within [0, maxTokens].
func bounded[N int | int64](n N) int { return int(min(max(n, 0), maxTokens)) }

// tokens returns n within [0, maxTokens]. N is a product of what servers state, so it may be anything.
func tokens(n float64) int {
	switch {
	case n >= maxTokens:
		return maxTokens
	case n > 0:
		return int(n)
	}
	return 0
}

// positive returns x, zero if that is less. Unlike the built-in max, it takes two instructions.
func positive(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

// notice finds what the numbers that the server states are multiples of: some round what remains to thousands.
func (p *price) notice(limit, remaining int) {
	if p.grain == 0 || limit%p.grain != 0 || remaining%p.grain != 0 {
		p.grain = divisor(divisor(p.grain, limit), remaining)
	}
}

// divisor returns the greatest common divisor of a and b, which are not negative; that of 0 and b is b.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// habit is what a later run, or another process, begins with; nil if the price is not known. It is not kept by
// kinds: these are soon known again, and a later run that knew them was refused no less.
func (p *price) habit() *PriceMemory {
	if p == nil || !p.known() {
		return nil
	}
	return &PriceMemory{Mean: p.mean, Variance: p.variance}
}

// price returns a price that begins with what m says; nil if m says what no price can be.
func (m *PriceMemory) price() *price {
	if !(m.Mean >= 0 && m.Mean <= maxTokens && m.Variance >= 0 && m.Variance <= maxTokens) {
		return nil
	}
	return &price{mean: m.Mean, variance: m.Variance, learned: enoughPrices}
}

// clone returns a copy that learns on its own.
func (p *price) clone() *price {
	if p == nil {
		return nil
	}
	own := *p
	own.kinds = slices.Clone(p.kinds)
	return &own
}
