// Package charge keeps what only some grants have: costs in other units than requests, corrected costs, and
// what they hold until they end.
//
// In come what was claimed and what became of it; out come costs and slots. The package does not know who was
// granted what, or why.
package charge

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// Extra is what a grant has that costs other units than requests, holds slots, or was settled. A nil *Extra is
// that of a grant which costs requests only.
type Extra struct {
	limit.Charged
	Uses      []lease.Use   // of slots of a Store
	Expected  expect.Ticket // what the claim was expected to cost
	AwaitsEnd bool          // the grant has to be ended once more
}

// Claimed is what was claimed; nil if only requests were.
func (x *Extra) Claimed() *limit.Demand {
	if x == nil {
		return nil
	}
	return &x.Demand
}

// CostOrNil is what the grant has cost, as far as it is known; nil if that is what was claimed, and only
// requests.
func (x *Extra) CostOrNil() *limit.Demand {
	if x == nil {
		return nil
	}
	d := x.Cost()
	return &d
}

// Used is what the grant took of slots of Stores.
func (x *Extra) Used() []lease.Use {
	if x == nil {
		return nil
	}
	return x.Uses
}

// Of is what a grant of n requests was charged, and what it holds.
func (x *Extra) Of(n int) limit.Charged {
	if x != nil {
		return x.Charged
	}
	return limit.Charged{Demand: limit.Demand{Claims: 1, N: n}}
}

// Release gives back the slots of some kinds.
func (x *Extra) Release(kinds ...quota.Kind) {
	if x != nil {
		x.Free(kinds...)
	}
}
