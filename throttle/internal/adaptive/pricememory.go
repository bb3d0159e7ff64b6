package adaptive

import (
	"maps"
	"slices"
)

// habit is memory, if the price is known; else nil, as of no price.
func (p *price) habit() *PriceMemory {
	if p == nil || !p.known() {
		return nil
	}
	return p.memory()
}

// memory returns what is known of the price.
func (p *price) memory() *PriceMemory {
	m := &PriceMemory{Mean: p.mean, Variance: p.variance}
	add := func(digest string, mean float64) {
		if m.Kinds == nil {
			m.Kinds = map[string]float64{}
		}
		m.Kinds[digest] = mean
	}
	for i := range p.kinds {
		if k := &p.kinds[i]; k.learned > 0 {
			add(k.kind.digest(), k.mean)
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(p.kept)) {
		if len(m.Kinds) < maxPricedKinds {
			add(digest, p.kept[digest])
		}
	}
	return m
}

// price returns a price that begins with what m says; nil if m says what no price can be.
func (m *PriceMemory) price() *price {
	sane := func(f float64) bool { return f >= 0 && f <= maxTokens }
	if !sane(m.Mean) || !sane(m.Variance) {
		return nil
	}
	p := &price{mean: m.Mean, variance: m.Variance, learned: enoughPrices}
	for _, digest := range slices.Sorted(maps.Keys(m.Kinds)) {
		if mean := m.Kinds[digest]; sane(mean) && len(digest) <= maxDigest && len(p.kept) < maxPricedKinds {
			if p.kept == nil {
				p.kept = map[string]float64{}
			}
			p.kept[digest] = mean
		}
	}
	return p
}

// recall returns what an earlier run has learned of a kind, as if this run had learned it once.
func (p *price) recall(kind *Kind) (k kindPrice) {
	if len(p.kept) > 0 {
		if mean, ok := p.kept[kind.digest()]; ok {
			k.mean, k.learned = mean, 1
		}
	}
	return k
}
