// Package check says what is wrong with the configuration of a bucket, and what the values of its fields stand
// for.
//
// In come fields, quotas, and units of costs; out come errors in the words of their users, and effective
// values. The package knows nothing of claims, of time, and of what a bucket has left.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/lease"
)

// Fields returns what is wrong with the fields of a throttle.Limiter, to which limiter points, but its Quotas,
// and with those of its Shared, to which shared points: a Reserve that is no share; an Outage or a Spend that
// is none of the constants; durations that were probably meant to be in another unit; fields that want a Store;
// and a Store that is a nil pointer.
func Fields(limiter, shared any, reserve float64, outage, spend string) error {
	var wrong []error
	for _, s := range slices.Concat(
		fields.Share("Reserve", reserve),
		fields.OneOf("Shared.Outage", outage, fields.Outages),
		fields.OneOf("Spend", spend, fields.Spends),
		fields.BareNumbers(limiter, time.Microsecond),
		fields.SetWithout("Shared.", shared, "Store"),
	) {
		wrong = append(wrong, errors.New("throttle: "+s))
	}
	return errors.Join(wrong...)
}

// What the constants of package throttle stand for.
var (
	outages = map[string]lease.Outage{"": lease.Share, "share": lease.Share, "closed": lease.Closed, "open": lease.Open}
	spends  = map[string]adaptive.Spend{"": adaptive.Auto, "auto": adaptive.Auto, "eager": adaptive.Eager, "balanced": adaptive.Balanced, "even": adaptive.Even}
)

// Outage returns what a throttle.Outage stands for.
func Outage[O ~string](o O) lease.Outage { return outages[string(o)] }

// Spend returns what a throttle.Spend stands for.
func Spend[S ~string](s S) adaptive.Spend { return spends[string(s)] }

// Stream returns what a throttle.Reader or Writer lacks, which has a name: where its bytes come from or go,
// which a field has, or the Limiter.
func Stream(name, field string, hasEnd, hasLimiter bool) error {
	var wrong []error
	if !hasEnd {
		wrong = append(wrong, fmt.Errorf("throttle: %s.%s is nil, want an io.%[1]s", name, field))
	}
	if !hasLimiter {
		wrong = append(wrong, fmt.Errorf("throttle: %s.Limiter is nil, want a Limiter with a quota in bytes", name))
	}
	return fields.Invalid(errors.Join(wrong...))
}

// Context panics if a claim has a nil context, as all that waits does.
func Context(ctx context.Context) {
	if ctx == nil {
		panic("throttle: nil context")
	}
}

// Claim returns what is wrong with a throttle.Claim: a bound that was probably meant to be in another unit, or
// costs in requests, for which there is N.
func Claim(maxWait time.Duration, costs quota.Costs) error {
	if why := fields.BareNumber(maxWait, time.Microsecond); why != "" {
		return fields.Invalid(errors.New("throttle: Claim.MaxWait is " + why))
	}
	for _, unit := range [...]string{quota.Requests, ""} {
		if n, ok := costs[unit]; ok {
			return fields.Invalid(fmt.Errorf("throttle: Claim.Costs has %q: %d, want the cost in requests in Claim.N", unit, n))
		}
	}
	return nil
}

// Fine reports, at no cost, whether Claim finds nothing wrong.
func Fine(maxWait time.Duration, costs quota.Costs) bool {
	return (maxWait <= 0 || maxWait >= time.Microsecond) && (costs == nil || Claim(0, costs) == nil)
}
