package adaptive

import "time"

// This file has what is kept of one limit, as JSON has it, and says how long it is true.

// WindowMemory is what is known of one limit of the server.
type WindowMemory struct {
	Name      string `json:"name,omitempty"`
	Counter   string `json:"bucket,omitempty"` // called so in all texts that were saved
	Unit      string `json:"unit,omitempty"`
	Limit     int    `json:"limit,omitzero"`
	Remaining int    `json:"remaining"`

	// The reset is in [Early, Late]; both are zero if it is not known. Remaining counts until then. Where no
	// reset is stated, they are what looks have found (BackAfter, BackWithin). The server states resets in
	// steps of Resolution. Span is the length of the window, zero if the server does not state it.
	Early      time.Time     `json:"early,omitzero"`
	Late       time.Time     `json:"late,omitzero"`
	Resolution time.Duration `json:"resolution,omitzero"`
	Span       time.Duration `json:"span,omitzero"`

	// The window began so long before Late, give or take BeganWithin, as its first answer showed. Both are zero
	// if that is not known.
	Began       time.Duration `json:"began,omitzero"`
	BeganWithin time.Duration `json:"beganWithin,omitzero"`

	Habits // are true after the reset, too

	// OfNow says that this process has seen them in this run. It is not written.
	OfNow bool `json:"-"`
}

// of returns of which limit m is.
func (m *WindowMemory) of() limitName {
	return limitName{m.Name, m.Counter, canonical(m.Unit)}
}

// Habits are how a server counts a limit and how it speaks of it: what is still true after the reset. They are
// a part of WindowMemory. A later run of the program, or another process, begins with them when the server
// first states the limit.
type Habits struct {
	// Floors says that resets are rounded down. WholeSteps is 1 if windows last a whole number of the steps in
	// which resets are stated, and 2 if they do not (guessWholeSteps).
	Floors     bool `json:"floors,omitzero"`
	WholeSteps int  `json:"wholeSteps,omitzero"`

	// Millis says that resets which are bare numbers are milliseconds, as the clock has shown.
	Millis bool `json:"millis,omitzero"`

	// Refill is the rate at which the limit comes back token by token, in tokens per second. Zero if the whole
	// limit comes back at once. Raises says that the rate is raised now and then, since no answer shows that
	// more comes back.
	Refill float64 `json:"refill,omitzero"`
	Raises bool    `json:"raises,omitzero"`

	// EarlyFailed is how many looks before the reset found nothing, RefillFailed how often the limit was
	// wrongly taken for one that refills, and EmptyReset says that a reset brought nothing.
	EarlyFailed  int  `json:"earlyFailed,omitzero"`
	RefillFailed int  `json:"refillFailed,omitzero"`
	EmptyReset   bool `json:"emptyReset,omitzero"`

	// BackAfter and BackWithin are about a limit whose reset is not stated: so long after the window began, a
	// look found nothing, and something. Zero if none did. BackConfirmed is how many looks in a row found it.
	// See seek. It is called backHeld in all texts that were saved.
	BackAfter     time.Duration `json:"backAfter,omitzero"`
	BackWithin    time.Duration `json:"backWithin,omitzero"`
	BackConfirmed int           `json:"backHeld,omitzero"`

	// BehindFailed is how often a request was refused of which the server had said that one remains, see
	// behind.
	BehindFailed int `json:"behindFailed,omitzero"`

	// Price is what requests cost of the limit, in its unit; nil if they say so themselves, or if it is not
	// known.
	Price *PriceMemory `json:"price,omitempty"`
}

// PriceMemory is what requests cost.
type PriceMemory struct {
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance,omitzero"`
}

// longestWindow bounds spans that a file may say: a month, the longest common window.
const longestWindow = 31 * 24 * time.Hour

// any reports whether there are any.
func (h *Habits) any() bool { return *h != Habits{} }

// forgetRates forgets what changes: rates and prices.
func (h *Habits) forgetRates() { h.Refill, h.Raises, h.Price = 0, false, nil }
