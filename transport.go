// Package pacer makes a program a good guest of the HTTP APIs that it calls.
//
//	client := &http.Client{Transport: &pacer.Transport{}}
//
// A [Transport] is an [http.RoundTripper] which paces requests before the server
// has to refuse them. It learns every host's limits from the headers of its
// answers, holds everybody back when a server says so, starts slowly where it
// knows nothing, and retries what is safe to retry.
//
// # One request
//
// A request draws on buckets: that of its host, and, where Quotas name a pattern
// for it, that of the most specific one. It goes when all of them grant it at the
// same instant: as a request, in flight, and in the units of its Cost. If it cannot
// go now, Mode says what happens; by default it waits in line, the urgent before
// others and of equals the first who came, for at most MaxWait and never towards a
// deadline of its context that it would miss. Acquire does this part alone.
//
// A [Call] in the context of a request says what is different for that one, and how
// it went.
//
// The answer is learned from. What headers say about limits bounds what may go
// until the reset; a Retry-After holds the whole bucket, not only the call that
// received it; after a hold one request goes first and the others follow what it
// learns. Package throttle has the rules.
//
// # Again
//
// A refusal, which is a 429 or another status with which a server says "not yet"
// (403, 503 and their like with a Retry-After), did nothing: the request goes back
// to the front of its line, whatever its method, until MaxWait has passed.
//
// A failure, which is a transport error or a 408, 425 or 5xx but 501, is retried with
// jittered exponential backoff if the method is idempotent, the request carries an
// Idempotency-Key or it provably was not processed, for MaxAttempts at most, and within
// a retry budget, so that an outage is not met with a multiple of the load.
// docs/retrying.md has the tables.
//
// A body is sent again only if the request has GetBody (as those of http.NewRequest
// from bytes and strings have), or is no longer than BufferBody. Unless that is set,
// bodies are not buffered.
//
// # What is returned
//
// A response is returned as it came, whatever its status: after the last attempt,
// that is the server's own last answer, body unread. An error means that no answer
// was received, or, if it is a [*throttle.Error], that pacer did not send the
// request; errors.As finds it, and it says why and when it could have gone.
//
// Nothing is logged, no goroutine is kept, and there is nothing to close.
package pacer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// Transport is an http.RoundTripper that paces, learns and retries. The zero
// Transport is ready to use. Fields must not be changed after the first request;
// a Transport must not be copied. It is safe for concurrent use.
type Transport struct {
	// Base sends the requests. If nil, http.DefaultTransport is used.
	Base http.RoundTripper

	// Quotas are what providers grant, under the patterns of http.ServeMux:
	// "api.github.com/", "GET api.github.com/search/",
	// "POST discord.com/api/channels/{channel}/messages". "/" is for every host
	// that is not named, each for itself. A request draws on its host's pattern
	// and on the most specific other one; each value of a wildcard is a bucket of
	// its own. What the server says may only lower them. None are needed: what is
	// not configured is learned. SetQuotas replaces them while requests wait.
	Quotas Table

	// Store, if not nil, is where Quotas live: all processes with the same Store, such as one
	// of package redisquota, share them, and what a server says to one holds all. Patterns
	// and quotas must be the same in all. What has no Quotas is learned by each process for
	// itself. See store.Store, and Close.
	Store store.Store

	// Outage is what to do while the Store cannot be reached. Zero is throttle.Share.
	Outage throttle.Outage

	// Late is for how long after its instant in the Store's schedule a request may still go; see
	// throttle.Limiter.Late. Zero or negative means what suits the quotas, and the distance of
	// the store. Where no request should wait for a far store, five to ten round trips.
	Late time.Duration

	// Key splits buckets further, by tenant or credential. If nil, all requests
	// to a host draw on the same.
	Key func(*http.Request) string

	// Cost is what a request is thought to cost, in the units of Quotas:
	// {"tokens": 1200}. Of quota.Requests it costs 1 if that is not among them or
	// less than 1. Of quota.Bytes, where a quota is of bytes, it costs as many as
	// the bodies of request and response have, if they are not among them. If nil,
	// each request costs nothing else. What it returns must not be changed later.
	Cost func(*http.Request) quota.Costs

	// Spent is what a request has cost as its answer tells: what differs from Cost
	// is given back, or charged to those who come next. It must not read the body; see
	// Call.Settle for what is in there. If nil, answers say nothing of costs.
	Spent func(*http.Response) quota.Costs

	// Mode says what happens to a request that cannot go now. Zero is Wait.
	Mode Mode

	// Modes says so for some requests, under patterns as those of Quotas: the most
	// specific one counts. Zero is the Mode of the Transport.
	Modes map[string]Mode

	// Fallback answers, in mode Degrade, what pacer would otherwise not send; what
	// the server refuses is returned as it came. It must be set if Mode or one of
	// Modes is Degrade.
	Fallback http.RoundTripper

	// Priority is how urgent a request is, unless its Call says so. If nil, all are
	// Normal.
	Priority func(*http.Request) throttle.Priority

	// Ageing is after how long of waiting a request is as good as a more urgent one that
	// comes then; see throttle.Priority. Zero means 10 seconds. If negative, never.
	Ageing time.Duration

	// Reserve is the share of every quota and limit, from 0 to less than 1, that only
	// Urgent requests may use. Zero means none.
	Reserve float64

	// MaxUnread bounds for how long an answer that nobody reads or closes counts as in
	// flight, where Quotas say how many may be. Zero means 5 minutes. If negative,
	// it counts for as long as its context lasts.
	MaxUnread time.Duration

	// MaxWait bounds how long a request waits for its turn, and how long one that
	// the server refuses is tried again. Zero means two minutes, so that limits per
	// minute, which are the most common, are waited for. If negative, none waits.
	MaxWait time.Duration

	// MaxQueue bounds how many requests wait in a bucket. Zero means no bound. If
	// negative, none waits.
	MaxQueue int

	// Spend says how what remains of a limit that the server speaks of is spent until
	// its reset. Zero is throttle.Auto.
	Spend throttle.Spend

	// MaxHold bounds for how long a bucket is held on a server's word; after it,
	// one request probes. Zero means 15 minutes. If negative, nothing that a
	// server says holds a bucket.
	MaxHold time.Duration

	// IdleAfter is how long a bucket must idle before it starts slowly again. Zero
	// means a minute. If negative, only a new bucket, and one whose hold has
	// ended, starts slowly.
	IdleAfter time.Duration

	// MaxAttempts bounds how often a request that fails is sent, the first time
	// included. Zero means 3. If negative, 1. A request that the server refuses
	// as too early does not count; see MaxRefusals.
	MaxAttempts int

	// MaxRefusals bounds how often a request that the server refuses as too early
	// is sent again. Zero means 10. If negative, it is not.
	MaxRefusals int

	// Backoff is the delay before a retry of a failure, unless the server asks for
	// a longer one. If nil, backoff.Exponential{} with full jitter is used. One of
	// go-retryablehttp becomes one by RetryableBackoff.
	Backoff backoff.Backoff

	// NewBackOff, if not nil, is used in place of Backoff: it returns a fresh
	// BackOff of github.com/cenkalti/backoff for each request that fails, whose
	// Stop ends the retrying. If it returns nil, Backoff is used.
	NewBackOff func() cenkalti.BackOff

	// CheckRetry, if not nil, says which answers of 400 and above, and which errors, may be
	// followed by another attempt, in place of pacer's own table (docs/retrying.md), which
	// it can ask in turn: ShouldRetry. What is not safe to repeat is not sent again all the
	// same. The body of the answer must not be read. If it returns an error, that ends the
	// retrying, and what RoundTrip returns is still the answer or the error at hand.
	CheckRetry retryablehttp.CheckRetry

	// PrepareRetry, if not nil, is called with the request of each attempt but the first,
	// after its body was renewed: to sign it anew, say. An error ends the retrying.
	PrepareRetry retryablehttp.PrepareRetry

	// MaxElapsed is how long after a request was sent for the first time it may be sent
	// again. A delay or a place in line that would end later is not begun. If zero or
	// negative, there is no bound but MaxAttempts, MaxRefusals and the context.
	MaxElapsed time.Duration

	// AttemptTimeout bounds how long Base may take until the answer of one attempt begins,
	// without the wait for its turn. An attempt that takes longer has failed, and is
	// retried as one whose connection broke; the error of the last one is an
	// ErrAttemptTimeout. Reading the answer's body is bounded by the context of the
	// request alone, since what the caller has begun to read cannot be had again. If zero or
	// negative, there is no bound. In mode Observe there is none.
	AttemptTimeout time.Duration

	// BufferBody is up to how many bytes of a body without GetBody are kept while it is
	// sent, so that it can be sent again. A longer one is sent once. If zero or negative,
	// nothing is kept. In mode Observe nothing is.
	BufferBody int64

	// IdempotencyKey, if not nil, returns the Idempotency-Key of a request whose method is
	// not idempotent and that has no such header: all its attempts are sent with the same
	// one, and it is retried as an idempotent one is. It is for servers that know the header;
	// for other requests it returns "", and they get none. RandomKey makes keys. A redirect
	// is a request of its own. In mode Observe it is not called.
	IdempotencyKey func(*http.Request) string

	// ResendHeader is the name of a header that says how often a request was sent
	// before: none in the first attempt, 1 in the second (http.request.resend_count in
	// the semantic conventions of OpenTelemetry). If empty, there is none.
	ResendHeader string

	// BudgetRatio is how many retries of failures each success of a bucket pays
	// for. Zero means 0.1: an outage is met with 1.1 times the load. If negative,
	// only the first 10 retries, which are free, are made.
	BudgetRatio float64

	// Headers reads what answers say of limits. If nil, it knows the dialects of
	// package headers, and no others.
	Headers *headers.Reader

	// Bodies says into which answers' bodies to look for what some services say nowhere
	// else; see headers.ParseBody. Up to 64 kB are read before RoundTrip returns, and the
	// body is handed on as it came. ErrorBodies is for all errors. If nil, into none.
	Bodies func(*http.Response) bool

	// Trace is told what happens. If nil, nobody is.
	Trace *Trace

	// Rand gives numbers from [0, 1) for all jitter. If nil, that of math/rand/v2.
	// Tests set it to be exact.
	Rand func() float64

	once          sync.Once
	invalid       error
	routes        atomic.Pointer[routes]
	buckets       throttle.Group
	lastHost      atomic.Pointer[hostSpelling] // only of hosts, where there is no Key
	modes         *pattern.Set[Mode]
	marksRequests bool // requests say that t retries
}

// Validate reports what is wrong with the configuration: which field or pattern,
// and what was expected. It may be called before the first request; else that, and
// every later one, returns the error.
func (t *Transport) Validate() error {
	t.once.Do(func() { t.invalid = t.init() })
	return t.invalid
}

func (t *Transport) init() error {
	degrade := t.Mode == Degrade
	for p, mode := range t.Modes {
		degrade = degrade || mode == Degrade
		if err := mode.check(); err != nil {
			return fmt.Errorf("%w in Modes[%q]", err, p)
		}
		if err := pattern.Check(p); err != nil {
			return fmt.Errorf("pacer: Modes[%q]: %w", p, err)
		}
	}
	switch {
	case t.Mode.check() != nil:
		return t.Mode.check()
	case degrade && t.Fallback == nil:
		return errors.New("pacer: Fallback is nil, want a RoundTripper that answers in mode Degrade")
	case t.Spend < throttle.Auto || t.Spend > throttle.Even:
		return fmt.Errorf("pacer: Spend is %d, want Auto, Eager, Balanced or Even", int(t.Spend))
	case !(t.Reserve >= 0 && t.Reserve < 1):
		return fmt.Errorf("pacer: Reserve is %v, want a share from 0 to less than 1", t.Reserve)
	case t.Outage < throttle.Share || t.Outage > throttle.Open:
		return fmt.Errorf("pacer: Outage is %d, want Share, Closed or Open", int(t.Outage))
	case !validName(t.ResendHeader):
		return fmt.Errorf("pacer: ResendHeader is %q, want the name of a header", t.ResendHeader)
	}
	if err := t.Headers.Validate(); err != nil {
		return fmt.Errorf("pacer: Headers: %w", err)
	}
	if len(t.Modes) > 0 {
		modes, mistakes := pattern.New(t.Modes)
		if len(mistakes) > 0 {
			p := slices.Sorted(maps.Keys(mistakes))[0]
			return fmt.Errorf("pacer: Modes[%q]: %w", p, mistakes[p])
		}
		t.modes = modes
	}
	t.marksRequests = hasTransportBelow(t.Base) && (t.maxAttempts() > 1 || t.maxRefusals() > 0)
	rs, err := newRoutes(t.Quotas)
	t.routes.Store(rs)
	t.buckets.New = t.newLimiter
	return err
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

func (t *Transport) maxWait() time.Duration {
	if t.MaxWait == 0 {
		return 2 * time.Minute
	}
	return t.MaxWait
}

func (t *Transport) maxAttempts() int {
	if t.MaxAttempts == 0 {
		return 3
	}
	return max(t.MaxAttempts, 1)
}

func (t *Transport) maxRefusals() int {
	if t.MaxRefusals == 0 {
		return 10
	}
	return max(t.MaxRefusals, 0)
}

// maxUnread is zero if there is no bound.
func (t *Transport) maxUnread() time.Duration {
	if t.MaxUnread == 0 {
		return 5 * time.Minute
	}
	return max(t.MaxUnread, 0)
}

// Close gives back to the Store what is in hand. Requests to what it kept fail from then on with
// throttle.ErrClosed. Without a Store there is nothing to close. What a process that ends
// without it had in hand is lost to the others for half a second.
func (t *Transport) Close() error {
	if t.Store == nil {
		return nil
	}
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Close()
}

// State returns what the buckets look like now, in no particular order. Idle ones are
// forgotten sooner or later, and are not among them then.
func (t *Transport) State() []throttle.State { return t.buckets.State() }

// Save writes what was learned from the answers of servers, as JSON, for the next run of
// the program to Load: a program that runs every minute would else find out every
// minute that a limit is used up. Hosts, patterns and what Key returns are written as
// digests. What was charged to Quotas is not among it.
func (t *Transport) Save(w io.Writer) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Save(w)
}

// Load takes over what Save wrote, where nothing was learned since: before the first
// request, best. What is out of date is left out. If it cannot be read, nothing is
// changed.
func (t *Transport) Load(r io.Reader) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Load(r)
}

// CloseIdleConnections forwards to Base, as http.Client expects of its Transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// check refuses what cannot be routed, in the words of net/http.
func (t *Transport) check(req *http.Request) error {
	switch {
	case req.URL == nil:
		return errors.New("pacer: nil Request.URL")
	case req.Header == nil:
		return errors.New("pacer: nil Request.Header")
	}
	return t.Validate()
}

// validName reports whether a name is one of a header, which is a token of RFC 9110 section
// 5.6.2, or empty.
func validName(name string) bool {
	return strings.TrimLeft(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// hasTransportBelow reports whether a Transport stands below a RoundTripper, so that requests have to
// say who retries them. It looks at the fields of those that wrap others, and does
// not see what a function has closed over.
func hasTransportBelow(base http.RoundTripper) bool {
	return base != nil && reachesTransport(reflect.ValueOf(base), 16)
}

func reachesTransport(v reflect.Value, depth int) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case depth == 0 || !v.IsValid() || v.Type() == leafType:
		return false
	case v.Type() == transportType:
		return !v.IsNil()
	case v.Kind() == reflect.Pointer:
		return reachesTransport(v.Elem(), depth-1)
	case v.Kind() != reflect.Struct:
		return false
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if (f.Type().Implements(roundTripperType) || f.Type() == clientType || f.Type() == retryableType) && reachesTransport(f, depth-1) {
			return true
		}
	}
	return false
}

var (
	transportType    = reflect.TypeFor[*Transport]()
	roundTripperType = reflect.TypeFor[http.RoundTripper]()
	clientType       = reflect.TypeFor[*http.Client]()
	retryableType    = reflect.TypeFor[*retryablehttp.Client]()
	leafType         = reflect.TypeFor[*http.Transport]()
)
