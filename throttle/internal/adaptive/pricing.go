package adaptive

import "math"

// pricing tells a process whose requests cost several tokens each, which nobody says, from one that shares the
// limit with others: both see more used than they count. It has a bit for each whole price up to highestPrice:
// set if that price does not explain what was used, were all of it ours.
//
// Prices of which more than two requests find place in the limit are not thought of (lowestPrice): at such a
// price, a process that takes itself for several uses as much of the limit, and is refused less.
type pricing uint64

// highestPrice is the highest price that is thought of: a pricing has 64 bits.
const highestPrice = 63

// pricingHalf is how many tokens may seem to be missing of a limit that is full, since resets are rounded.
const pricingHalf = 0.5

// pricingDrifts is by which factor what was used may be taken for too much or too little, as drifts is: clocks
// are not exact.
const pricingDrifts = 1.02

// lowestPrice is the lowest price that is thought of.
func lowestPrice(limit int) int { return max((limit+1)/2, 2) }

// refute takes in that between least and most tokens were used, while the server counted between fewest and all
// of our requests. A price explains that if price · k is between least and most for some k between fewest and
// all.
func (p *pricing) refute(price int, least, most float64, fewest, all int) {
	k := max(math.Ceil(least/float64(price)), float64(fewest))
	if k > float64(all) || k*float64(price) > most {
		*p |= 1 << price
	}
}

// open reports whether a price may be what our requests cost.
func (p pricing) open(price int) bool { return p&(1<<price) == 0 }

// none reports whether no price explains what was used of a limit, so that others have used it.
func (p pricing) none(limit int) bool {
	for price := lowestPrice(limit); price <= min(limit, highestPrice); price++ {
		if p.open(price) {
			return false
		}
	}
	return true
}
