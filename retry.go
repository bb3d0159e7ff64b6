package pacer

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/delay"
)

// Retry says which requests are sent again, and when. The zero Retry sends again what is safe to send again,
// after jittered exponential backoff. docs/retrying.md has the tables.
type Retry struct {
	// MaxAttempts bounds how often a request that fails is sent, the first time included. Zero means 3. If
	// negative, 1. Refusals do not count; see MaxRefusals.
	MaxAttempts int

	// MaxRefusals bounds how often a request that the server refuses as too early is sent again. If negative,
	// it is not sent again. Zero means 10, where a refusal does not count that says nothing of this request:
	// nothing of its bucket was served since its refusal before. So a request outlasts a limit that is used up.
	// Once nothing was served for MaxStandstill, or more than one refusal comes each second, all of them count.
	MaxRefusals int

	// MaxElapsed bounds how long after its first attempt a request may be sent again. A delay or a wait in line
	// that would end later is not begun. Zero means no bound: only MaxAttempts, MaxRefusals and the context end
	// the retries. If negative, nothing is sent again.
	MaxElapsed time.Duration

	// AttemptTimeout bounds how long Base may take until the answer of one attempt begins, not counting the
	// wait for its turn. An attempt that takes longer has failed, and is retried like one whose connection
	// broke; the error of the last attempt is an ErrAttemptTimeout. Only the context of the request bounds how
	// long the caller reads the body of the answer, since an answer that the caller has begun to read cannot be
	// replaced. Zero means no bound, and there is none in ModeObserve. Negative is an error, since no attempt
	// could be answered in time.
	AttemptTimeout time.Duration

	// Backoff returns the delay before a retry of a failure; if the server asks for a longer delay, that one
	// counts. If nil, backoff.Exponential{} with full jitter is used. RetryableBackoff makes a Backoff of
	// go-retryablehttp fit here.
	Backoff backoff.Backoff

	// NewSequence, if not nil, is used in place of Backoff: it returns a fresh Sequence for each request that
	// fails, such as a BackOff of github.com/cenkalti/backoff. If the Sequence returns a negative delay, as
	// Stop of that package is, the request is not sent again. If NewSequence returns nil, Backoff is used.
	NewSequence func() backoff.Sequence

	// BudgetRatio is how many retries of failures each success of a bucket pays for: each answer that is
	// neither a refusal nor a failure. Zero or NaN means 0.1: during an outage, the load is at most 1.1 times
	// the usual one. If negative, a bucket makes only its first 10 retries, which are free.
	BudgetRatio float64

	// CheckRetry, if not nil, replaces pacer's own table (docs/retrying.md): it says which answers of 400 and
	// above, and which errors, may be followed by another attempt. It may call ShouldRetry, which is that
	// table. A request that is not safe to repeat is not sent again, even if CheckRetry says so. CheckRetry
	// must not read the body of the answer. A CheckRetry of go-retryablehttp fits here. As there, an error that
	// it returns stops nothing; but one that is marked with backoff.Permanent does. RoundTrip returns the
	// answer or the error at hand, and never that of CheckRetry.
	CheckRetry func(ctx context.Context, resp *http.Response, err error) (again bool, why error)

	// PrepareRetry, if not nil, is called with the request of each attempt but the first, after its body was
	// renewed: for example to sign it anew. If it returns an error, the request is not sent again. A
	// PrepareRetry of go-retryablehttp fits here.
	PrepareRetry func(*http.Request) error

	// BufferBody is how many bytes of a body without GetBody are kept while the body is sent, so that it can be
	// sent again. A longer body is sent once. If zero or negative, nothing is kept, and nothing is kept in
	// ModeObserve.
	BufferBody int64

	// IdempotencyKey, if not nil, returns the Idempotency-Key for a request whose method is not idempotent and
	// that has no such header. All attempts are sent with the same key, and the request is retried like one
	// whose method is idempotent. It is for servers that know the header; for other requests it returns "", and
	// they get no key. RandomIdempotencyKey makes keys. A redirect is a request of its own, and gets its own
	// key. In ModeObserve, IdempotencyKey is not called.
	IdempotencyKey func(*http.Request) string

	// ResendHeader is the name of a header that says how often a request was sent before: the first attempt has
	// no such header, the second has 1 (http.request.resend_count in the semantic conventions of
	// OpenTelemetry). If empty, no header is added.
	ResendHeader string
}

func (r *Retry) maxAttempts() int {
	return max(cmp.Or(r.MaxAttempts, 3), 1)
}

// maxElapsed returns MaxElapsed, and whether there is such a bound.
func (r *Retry) maxElapsed() (most time.Duration, ok bool) {
	return max(r.MaxElapsed, 0), r.MaxElapsed != 0 && r.MaxElapsed != Forever
}

func (r *Retry) maxRefusals() int {
	return max(cmp.Or(r.MaxRefusals, 10), 0)
}

// RetryableBackoff makes a Backoff of github.com/hashicorp/go-retryablehttp a Retry.Backoff. b is called with
// the answer at hand, whose body it must not read, and with min and max, which are RetryWaitMin and
// RetryWaitMax of a Client of go-retryablehttp: zero means 1 s for min and 30 s for max, as there. If b is nil,
// retryablehttp.DefaultBackoff is used.
//
// A negative delay counts as zero. A delay over MaxStandstill or MaxWait counts as one that the server asked
// for, since DefaultBackoff returns a Retry-After unchanged: the request is not sent again, and the answer at
// hand is returned.
func RetryableBackoff(b func(min, max time.Duration, attemptNum int, resp *http.Response) time.Duration, min, max time.Duration) backoff.Backoff {
	return delay.Retryable(b, min, max)
}

// retryableType is a client that may have a Transport of this package below it.
var retryableType = reflect.TypeFor[*retryablehttp.Client]()
