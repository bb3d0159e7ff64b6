package adaptive

import "math"

// pricing is which whole prices do not explain what was used of a limit, if all of that was ours: a bit for each, up to highestPrice. A process whose requests cost two tokens each,
// which nobody says, sees as much used beyond what it counts as one that shares the limit. Where more than two of its requests find place in the limit, it may take itself for
// several: it uses as much, and is refused less. So lower prices are not thought of.
type pricing uint64

// highestPrice is the highest price that is thought of.
const highestPrice = 63

// pricingHalf is by how many tokens more may be missing of a limit that was full, since resets are rounded.
const pricingHalf = 0.5

// pricingDrifts is by which share what was used may be taken for too much or too little, as drifts is: clocks are not exact.
const pricingDrifts = 1.02

// lowestPrice is the lowest price that is thought of.
func lowestPrice(limit int) int { return max((limit+1)/2, 2) }

// refute takes in that between least and most tokens were used, while between fewest and all of ours were counted. A price explains that which, times one of these, is between the others.
func (p *pricing) refute(price int, least, most float64, fewest, all int) {
	k := max(math.Ceil(least/float64(price)), float64(fewest))
	if k > float64(all) || k*float64(price) > most {
		*p |= 1 << price
	}
}

// open reports whether a price may be ours.
func (p pricing) open(price int) bool { return p&(1<<price) == 0 }

// none reports whether no price explains what was used of a limit.
func (p pricing) none(limit int) bool {
	for price := lowestPrice(limit); price <= min(limit, highestPrice); price++ {
		if p.open(price) {
			return false
		}
	}
	return true
}
