// Package payment keeps a grant that was got for a request until the request is sent, or will not be.
package payment

import (
	"context"
	"sync/atomic"

	"github.com/gopacer/pacer/throttle"
)

// Payment is a grant that was got for a request that is not sent yet.
type Payment struct {
	owner   any
	limiter *throttle.Limiter // of the most specific bucket
	grant   *throttle.Grant
	stop    func() bool // stops waiting for the end of the request's context
	used    atomic.Bool
	next    *Payment // got by another owner for the same request; nil if there is none
}

// New returns a Payment that owner got in the bucket l, beside the next of other owners. It is given back when
// ctx, the context of the request, ends.
func New(ctx context.Context, owner any, l *throttle.Limiter, g *throttle.Grant, next *Payment) *Payment {
	p := &Payment{owner: owner, limiter: l, grant: g, next: next}
	p.stop = context.AfterFunc(ctx, p.giveBack)
	return p
}

// Cancel gives the grant back to its bucket, unless it was used or given back before.
func (p *Payment) Cancel() {
	p.stop()
	p.giveBack()
}

func (p *Payment) giveBack() {
	if !p.used.Swap(true) {
		p.grant.Cancel()
	}
}

// Of returns the Payment of an owner among p and the next ones; nil if there is none.
func (p *Payment) Of(owner any) *Payment {
	for p != nil && p.owner != owner {
		p = p.next
	}
	return p
}

// Redeem returns the grant; nil if it was used or given back. If the request belongs to another bucket now than
// to l, because it was changed since, Redeem gives the grant back and returns nil.
func (p *Payment) Redeem(l *throttle.Limiter) *throttle.Grant {
	p.stop()
	if p.used.Swap(true) {
		return nil
	}
	if l != p.limiter {
		p.grant.Cancel()
		return nil
	}
	return p.grant
}
