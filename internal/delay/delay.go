// Package delay says for how long a request that failed is to back off before it is sent again.
//
// In come a policy, of package backoff, cenkalti/backoff or go-retryablehttp, how often the request has failed,
// and the answer at hand; out comes a delay. The package does not wait, and does not know whether the request
// may be sent again.
package delay

import (
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/fields"
)

// Policy is what delays go by.
type Policy struct {
	Backoff     backoff.Backoff         // nil for backoff.Exponential{}
	NewSequence func() backoff.Sequence // makes what is used in place of Backoff, unless it or what it returns is nil
	Rand        func() float64          // as in backoff.Exponential
}

// Delays are the delays before the retries of one request.
type Delays struct {
	last    time.Duration // which some policies start from
	backOff backoff.Sequence
}

// Next returns the delay after n failures. Resp is the answer at hand, nil if there is none. If there is to be
// no other attempt, ok is false; asked reports whether that is so since the server asks for a delay over what
// mayWait allows.
func (d *Delays) Next(p *Policy, n int, resp *http.Response, mayWait func(time.Duration) bool) (delay time.Duration, ok, asked bool) {
	if p.NewSequence != nil && d.backOff == nil {
		if d.backOff = p.NewSequence(); d.backOff != nil {
			d.backOff.Reset() // as the loop of cenkalti/backoff does
		}
	}
	r, isRetryable := p.Backoff.(retryable)
	switch {
	case d.backOff != nil:
		delay = d.backOff.NextBackOff()
	case isRetryable:
		// A longer delay comes from Retry-After: what their Backoff computes itself is bounded by its max.
		if delay = r.delayAfter(n, resp); !mayWait(delay) {
			return 0, false, true
		}
	case p.Backoff == nil:
		delay = backoff.Exponential{Rand: p.Rand}.Delay(n, d.last)
	default:
		delay = p.Backoff.Delay(n, d.last)
	}
	d.last = delay
	return delay, delay >= 0, false // cenkalti.Stop is negative, and so is a delay that has overflowed
}

// Between returns the delay of Backoff after n failures, or if that is nil, min and full jitter of min, 2·min,
// …, up to max. If a server asks for a longer one, that counts.
func (p *Policy) Between(min, max time.Duration, n int, hint headers.Retry) time.Duration {
	var delay time.Duration
	if p.Backoff != nil {
		delay = p.Backoff.Delay(n, 0)
	} else if delay = min; max > min {
		delay += backoff.Exponential{Initial: min, Max: max - min, Rand: p.Rand}.Delay(n, 0)
	}
	if hint.Known && hint.After > delay {
		return hint.After
	}
	return delay
}

// Retryable makes a Backoff of go-retryablehttp one of package backoff. Nil is retryablehttp.DefaultBackoff;
// zero means 1 s for min and 30 s for max.
func Retryable(b retryablehttp.Backoff, min, max time.Duration) backoff.Backoff {
	r := retryable{b, min, max}
	if b == nil {
		r.backoff = retryablehttp.DefaultBackoff
	}
	if min == 0 {
		r.min = time.Second
	}
	if max == 0 {
		r.max = 30 * time.Second
	}
	return r
}

// retryable is a Backoff of go-retryablehttp and the bounds that it is called with.
type retryable struct {
	backoff  retryablehttp.Backoff
	min, max time.Duration
}

// Delay implements backoff.Backoff for attempts without an answer.
func (r retryable) Delay(n int, _ time.Duration) time.Duration { return r.delayAfter(n, nil) }

// delayAfter returns the delay before retry n. Resp is nil if there was no answer. N counts from one;
// go-retryablehttp counts from zero.
func (r retryable) delayAfter(n int, resp *http.Response) time.Duration {
	return max(r.backoff(r.min, r.max, max(n, 1)-1, resp), 0)
}

// Mistakes returns a sentence for each field of a policy of package backoff, or of one to which policy points,
// that is a duration below 1 ms, which is a number without a unit, or an unknown jitter; and one for a nil
// pointer or a nil Func, whose Delay would panic. Name is that of the field in which policy is. What the fields
// of other policies mean is not known.
func Mistakes(name string, policy backoff.Backoff) (sentences []string) {
	v := reflect.ValueOf(policy)
	if f, ok := policy.(backoff.Func); ok && f == nil || v.Kind() == reflect.Pointer && v.IsNil() && v.Type().Elem().Implements(reflect.TypeFor[backoff.Backoff]()) {
		return []string{fmt.Sprintf("%s is a nil %T, want a policy, or no %s at all for backoff.Exponential{}", name, policy, name)}
	}
	v = reflect.Indirect(v)
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[backoff.Exponential]().PkgPath() {
		return nil
	}
	for _, s := range fields.BareNumbers(policy, time.Millisecond) {
		sentences = append(sentences, name+"."+s)
	}
	if f := v.FieldByName("Jitter"); f.IsValid() {
		switch j := backoff.Jitter(f.String()); j {
		case "", backoff.FullJitter, backoff.EqualJitter, backoff.NoJitter:
		default:
			sentences = append(sentences, fmt.Sprintf("%s.Jitter is %q, want %q, %q or %q", name, j, backoff.FullJitter, backoff.EqualJitter, backoff.NoJitter))
		}
	}
	return sentences
}
