package adaptive

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Habits are how a server counts a limit and how it speaks of it: what is still true after the reset. They are a part of
// WindowMemory. A later run of the program, or another process, begins with them when the server first states the limit.
type Habits struct {
	// Floors says that resets are rounded down. WholeSteps is 1 if windows last a whole number of the steps in which resets are
	// stated, and 2 if they do not (guessWholeSteps).
	Floors     bool `json:"floors,omitzero"`
	WholeSteps int  `json:"wholeSteps,omitzero"`

	// Refill is the rate at which the limit comes back token by token, in tokens per second. Zero if the whole limit comes
	// back at once. Raises says that the rate is raised now and then, since no answer shows that more comes back.
	Refill float64 `json:"refill,omitzero"`
	Raises bool    `json:"raises,omitzero"`

	// EarlyFailed is how many looks before the reset found nothing, RefillFailed how often the limit was wrongly taken for one
	// that refills, and EmptyReset says that a reset brought nothing.
	EarlyFailed  int  `json:"earlyFailed,omitzero"`
	RefillFailed int  `json:"refillFailed,omitzero"`
	EmptyReset   bool `json:"emptyReset,omitzero"`

	// Price is what requests cost of the limit, in its unit; nil if they say so themselves, or if it is not known.
	Price *PriceMemory `json:"price,omitempty"`
}

// PriceMemory is what requests cost.
type PriceMemory struct {
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance,omitzero"`

	// Kinds has the means of kinds of requests, by digests of these, since a path may contain a credential.
	Kinds map[string]float64 `json:"kinds,omitempty"`
}

// any reports whether there are any.
func (h *Habits) any() bool { return *h != Habits{} }

// forgetRates forgets what changes: rates and prices.
func (h *Habits) forgetRates() { h.Refill, h.Raises, h.Price = 0, false, nil }

// most bounds counts that a file may say.
const mostFailed = 16

// habits returns those of a window.
func (w *window) habits() (h Habits) {
	h = Habits{
		Floors: w.reset.roundsDown, WholeSteps: int(w.wholeSteps), EmptyReset: w.refill.emptyReset,
		EarlyFailed: int(min(w.refill.doubtEarly.failures, mostFailed)), RefillFailed: int(min(w.refill.doubtRefills.failures, mostFailed)),
	}
	if w.refill.refills && saneRate(w.refill.rate) {
		h.Refill, h.Raises = w.refill.rate, w.refill.raise > 0
	}
	if p := w.price; p != nil && p.known() {
		h.Price = p.memory()
	}
	return h
}

// keep has the habits of a limit be those of the window of the limit, when there is one. Of what is known already, nothing
// changes.
func (s *Server) keep(m *WindowMemory) {
	if m.any() && s.find(m.Name, m.Bucket, canonical(m.Unit)) == nil && len(s.kept) < maxWindows {
		s.kept = append(s.kept, *m)
	}
}

// recall gives a new window the habits that are kept of its limit.
func (s *Server) recall(w *window) {
	i := slices.IndexFunc(s.kept, func(m WindowMemory) bool {
		return m.Name == w.name && m.Bucket == w.bucket && canonical(m.Unit) == w.unit
	})
	if i < 0 {
		return
	}
	m := s.kept[i]
	s.kept = slices.Delete(s.kept, i, i+1)
	w.adopt(&m)
}

// adopt gives w the habits of its limit, but for the rate at which it refills: see resume.
func (w *window) adopt(m *WindowMemory) {
	w.kept = m
	h := &m.Habits
	w.reset.roundsDown = h.Floors
	if w.wholeSteps = proof(h.WholeSteps); w.wholeSteps < untried || w.wholeSteps > wrong {
		w.wholeSteps = untried
	}
	w.refill.emptyReset = h.EmptyReset
	w.refill.doubtEarly.restore(h.EarlyFailed, 0)
	w.refill.doubtRefills.restore(h.RefillFailed, 1)
	if w.unit != "" && h.Price != nil {
		w.price = h.Price.price()
	}
}

// resume takes up again the rate at which a new window refills, if the limit is still what it was.
func (s *Server) resume(now monotime.Time, w *window) {
	m := w.kept
	if m == nil {
		return
	}
	w.kept = nil
	if !saneRate(m.Refill) || w.limit <= 0 || w.limit != bounded(m.Limit) || w.instances {
		return
	}
	w.refill.resume(now, w.limit, w.remaining, m.Refill, m.Raises, s.config.MaxHold)
	w.scheduleProbe(now, &s.config)
}

// resume takes the server for one that refills at a rate, now that so much remains of the limit.
func (r *refill) resume(now monotime.Time, limit, remaining int, rate float64, raises bool, maxHold time.Duration) {
	r.maxHold = maxHold
	full := monotime.Seconds(float64(limit) / rate)
	r.start(&outcome{now: now, limit: limit, remaining: remaining}, now, full, full)
	if raises && limit < fewTokens {
		r.raise, r.raiseFrom, r.raiseGap, r.raiseAt = 1, r.rate, raiseAfter, 0
	}
}

// restore sets how often the attempt has failed, of which so many failures are free. It is made again at the next occasion.
func (d *doubt) restore(failures int, free uint) {
	if failures = min(max(failures, 0), mostFailed); failures > 0 {
		d.failures = uint(failures - 1)
		d.fail(free)
	}
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

// price returns a price that begins with what is known; nil if that is no price.
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
func (p *price) recall(kind Kind) (k kindPrice) {
	k.kind = kind
	if len(p.kept) > 0 {
		if mean, ok := p.kept[kind.digest()]; ok {
			k.mean, k.learned = mean, 1
		}
	}
	return k
}

// digest names a kind without saying it.
func (k Kind) digest() string {
	sum := sha256.Sum256([]byte(k.Verb + " " + k.Path))
	return hex.EncodeToString(sum[:8])
}
