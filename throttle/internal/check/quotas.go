package check

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Bucket is what the quotas of a bucket have to fit.
type Bucket struct {
	Name      string
	StoreName string
	Quotas    quota.Quotas
	SlotLife  time.Duration // as in lease.Config
	Stored    bool          // there is a Store
}

// Quotas returns an error if the quotas of a bucket do not fit those of the buckets above, or cannot live in
// the Store.
func Quotas(b Bucket, above []Bucket) error {
	if b.Stored && cmp.Or(b.StoreName, b.Name) == "" {
		return errors.New("throttle: a Limiter with a Store needs a Name, by which others share it")
	}
	b.Quotas = b.Quotas.Explicit()
	for _, a := range above {
		if err := b.units(a); err != nil {
			return err
		}
		if b.Stored && a.Stored {
			if err := b.below(a); err != nil {
				return err
			}
		}
	}
	if b.Stored {
		return b.inStore()
	}
	return nil
}

// inStore returns an error if the quotas cannot live in a store.
func (b *Bucket) inStore() error {
	for i := range b.Quotas {
		switch q := &b.Quotas[i]; {
		case lease.Stored(q) && (q.Months > 0 || q.From > 0 || q.Zone != ""):
			return fmt.Errorf("throttle: quota %q begins on days of the calendar, which is not shared: want a Per by UTC such as d window grid, 7d or 30d for what lives in a Store", q.Name)
		case q.WarmUp > 0:
			return fmt.Errorf("throttle: quota %q: WarmUp is %v, want 0 for what lives in a Store", q.Name, q.WarmUp)
		case lease.Stored(q) && q.Kind != quota.TokenBucket && b.SlotLife > q.Per/2:
			return fmt.Errorf("throttle: quota %q: Per is %v, want at least twice SlotLife, %v: set SlotLife (of a Transport, Shared.SlotLife) to %v or less", q.Name, q.Per, b.SlotLife, q.Per/2)
		}
	}
	return nil
}

// below returns an error if b cannot be below a, each in a store: a slot of each of the two schedules must be
// valid at the same time.
func (b *Bucket) below(a Bucket) error {
	longer := max(lease.EffectiveSlotLife(b.Quotas, b.SlotLife), lease.EffectiveSlotLife(a.Quotas, a.SlotLife))
	for i := range a.Quotas {
		q := &a.Quotas[i]
		if q.N <= 0 || q.Kind != quota.TokenBucket {
			continue
		}
		if each := monotime.Scale(q.Per, 1, q.N); each > longer {
			return fmt.Errorf("throttle: quota %q of %s, above %s with a Store too, has a token come back each %v, want one within SlotLife, %v: set SlotLife (of a Transport, Shared.SlotLife) to %v or more",
				q.Name, a.Name, b.Name, each, longer, each)
		}
	}
	return nil
}

// units returns an error if a quota is in a unit that is nearly one of the quotas of a: a cost has one of the
// two, and would draw on nothing of the other.
func (b *Bucket) units(a Bucket) error {
	for i := range b.Quotas {
		q := &b.Quotas[i]
		if o := meantBy(q.Unit, a.Quotas); o != nil && q.N > 0 {
			return fmt.Errorf("throttle: %s: the Unit of %q is %q, want %q as in %q of %s", b.Name, q.Name, limit.UnitName(q), limit.UnitName(o), o.Name, a.Name)
		}
	}
	return nil
}
