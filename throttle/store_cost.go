package throttle

import "time"

// What a store reckons with is a cost of each quota.

// add adds o to c, sign times.
func add(c, o []int, sign int) {
	for i := range o {
		c[i] += sign * o[i]
	}
}

// suffices reports whether c is enough for o.
func suffices(c, o []int) bool {
	for i := range o {
		if c[i] < o[i] {
			return false
		}
	}
	return true
}

// empty reports whether nothing costs anything.
func empty(c []int) bool {
	for _, n := range c {
		if n > 0 {
			return false
		}
	}
	return true
}

// work is the time in which a cost comes back: the longest of all quotas.
func (qs Quotas) work(cost []int) (d time.Duration) {
	for i, n := range cost {
		if n > 0 && i < len(qs) {
			d = max(d, scale(qs[i].per(), int64(n), int64(qs[i].N)))
		}
	}
	return d
}

// total is the sum of a cost.
func total(c []int) (n int) {
	for i := range c {
		n += c[i]
	}
	return n
}
