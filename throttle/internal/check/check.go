// Package check says what is wrong with the configuration of a bucket, and what the values of its fields stand for.
//
// In come fields, quotas, and units of costs; out come errors in the words of their users, and effective values. The
// package knows nothing of claims, of time, and of what a bucket has left.
package check

import (
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/lease"
)

// OfStore says of each field that does nothing without a Store whether it is set, and of the Store.
type OfStore struct{ Store, StoreName, Late, Outage, StoreEvent, New bool }

// Fields returns what is wrong with the fields of a throttle.Limiter, to which limiter points, but its Quotas: a Reserve
// that is no share; an Outage or a Spend that is none of the constants; durations that were probably meant to be in another
// unit; and fields that want a Store.
func Fields(limiter any, reserve float64, outage, spend int, set OfStore) error {
	var wrong []error
	if !(reserve >= 0 && reserve < 1) {
		wrong = append(wrong, fmt.Errorf("throttle: Reserve is %v, want a share from 0 to less than 1", reserve))
	}
	if outage < int(lease.Share) || outage > int(lease.Open) {
		wrong = append(wrong, fmt.Errorf("throttle: Outage is %d, want OutageShare, OutageClosed or OutageOpen", outage))
	}
	if spend < int(adaptive.Auto) || spend > int(adaptive.Even) {
		wrong = append(wrong, fmt.Errorf("throttle: Spend is %d, want SpendAuto, SpendEager, SpendBalanced or SpendEven", spend))
	}
	sentences := fields.BareNumbers(limiter, time.Microsecond)
	if set != (OfStore{}) {
		sentences = append(sentences, fields.SetWithout("", set, "Store")...)
	}
	for _, s := range sentences {
		wrong = append(wrong, errors.New("throttle: "+s))
	}
	return errors.Join(wrong...)
}

// Claim returns what is wrong with the bound of a throttle.Claim: it was probably meant to be in another unit.
func Claim(maxWait time.Duration) error {
	if why := fields.BareNumber(maxWait, time.Microsecond); why != "" {
		return fields.Invalid(errors.New("throttle: Claim.MaxWait is " + why))
	}
	return nil
}

// Fine reports, at no cost, whether Claim finds nothing wrong.
func Fine(maxWait time.Duration) bool { return maxWait <= 0 || maxWait >= time.Microsecond }
