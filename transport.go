// Package pacer makes a program a good guest of the HTTP APIs that it calls.
//
//	client := &http.Client{Transport: &pacer.Transport{}}
//
// A [Transport] is an [http.RoundTripper] that paces requests before the server has to refuse them. It
// learns the limits of every host from the headers of its answers. When a server says to wait, the requests
// that it has not refused yet wait as well. Where it knows nothing yet, it starts slowly. It sends again
// what is safe to send again.
//
// The Transport decides which buckets a request draws on, what an answer says, and whether a request is
// sent again. In come requests and the answers of Base; out go the same requests, at their instant, and the
// answers. The package does not know how a bucket counts, which package throttle does, nor how headers are
// written, which package headers does.
//
// # One request
//
// A request draws on buckets: on the bucket of its host, and, if Quotas have other patterns that match, on
// the bucket of the most specific one. The request goes when all its buckets grant it at the same instant:
// as a request, as one more in flight, and in the units of its Cost. If it cannot go now, Mode says what
// happens. By default it waits in line. More urgent requests go first; among equally urgent ones, the order
// is that of arrival. A request never waits longer than MaxWait, and does not begin to wait for an instant
// after the deadline of its context. Acquire does this part alone.
//
// A [Call] in the context of a request says what is different for that request, and how it went.
//
// The Transport learns from the answer. What headers say about limits bounds how many requests may go until
// the reset. A Retry-After holds the whole bucket, not only the request that received it. After a hold, one
// request goes first, and the others follow according to what it learns. Package throttle has the rules.
//
// # Again
//
// A refusal is a 429, or another status with which a server says "not yet": 403, 503 and some others with a
// Retry-After. The server did nothing, so the request goes back to the front of its line, whatever its
// method, until MaxWait has passed.
//
// A failure is a transport error, a 408, a 425, or a 5xx but 501. A request that failed is sent again,
// after jittered exponential backoff, if its method is idempotent, if it carries an Idempotency-Key, or if
// it provably was not processed. It is sent MaxAttempts times at most. A retry budget keeps the load small
// during an outage. docs/retrying.md has the tables.
//
// A body is sent again only if the request has GetBody (http.NewRequest sets it for bytes and strings), or
// if the body is no longer than BufferBody. Unless BufferBody is set, bodies are not buffered.
//
// # What is returned
//
// A response is returned as it came, whatever its status: after the last attempt, that is the server's own
// last answer, body unread. An error means that no answer was received, or, if the error is a
// [*throttle.Error], that pacer did not send the request. errors.As finds the *throttle.Error, which says
// why the request was not sent and when it could have gone.
//
// Nothing is logged, no goroutine is kept, and there is nothing to close unless Store is set.
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

// Transport is an http.RoundTripper that paces, learns and retries. The zero Transport is ready to use.
// Fields must not be changed after the first request. A Transport must not be copied. It is safe for
// concurrent use.
type Transport struct {
	// Base sends the requests. If nil, http.DefaultTransport is used.
	Base http.RoundTripper

	// Quotas are what providers grant, under the patterns of http.ServeMux: "api.github.com/",
	// "GET api.github.com/search/", "POST discord.com/api/channels/{channel}/messages". "/" stands for
	// every host that is not named; each such host has a bucket of its own. A request draws on the pattern
	// of its host and on the most specific other pattern that matches. Each value of a wildcard has a
	// bucket of its own. What the server says may only lower the quotas. If empty, all limits are learned.
	// SetQuotas replaces Quotas while requests wait.
	Quotas Table

	// Store, if not nil, is where the Quotas are counted: all processes that use the same Store, such as
	// one of package redisquota, share the quotas, and a hold that one process is told of holds all.
	// Patterns and quotas must be the same in all processes. Buckets without Quotas are learned by each
	// process for itself. See store.Store, and Close.
	Store store.Store

	// Outage says what to do while the Store cannot be reached. Zero is throttle.OutageShare.
	Outage throttle.Outage

	// Late is how long after its instant in the Store's schedule a request may still go; see
	// throttle.Limiter.Late. Zero or negative means a value that suits the quotas and the round trip to the
	// Store. If no request should wait for a Store that is far away, set five to ten round trips.
	Late time.Duration

	// Key returns the tenant or credential of a request: each has buckets of its own. If nil, all requests
	// to a host draw on the same buckets.
	Key func(*http.Request) string

	// Cost returns what a request is expected to cost, in the units of Quotas: {"tokens": 1200}. If
	// quota.Requests is not among them or less than 1, the request costs 1 of that unit. If quota.Bytes is
	// not among them and some quota is of bytes, the bodies of request and response are counted. If nil, a
	// request costs nothing else. The map that Cost returns must not be changed later.
	Cost func(*http.Request) quota.Costs

	// Spent returns what a request has cost according to its answer. The difference from Cost is given
	// back, or charged to later requests. Spent must not read the body; see Call.Settle for costs that
	// stand in the body. If nil, answers say nothing of costs.
	Spent func(*http.Response) quota.Costs

	// Mode says what happens to a request that cannot go now. Zero is ModeWait.
	Mode Mode

	// Modes are the modes of some requests, under patterns as in Quotas; the most specific pattern that
	// matches counts. A zero Mode in the map means the Mode of the Transport.
	Modes map[string]Mode

	// Fallback answers requests in mode ModeDegrade that pacer does not send. A refusal of the server is
	// returned as it came, without Fallback. Fallback must be set if Mode or one of Modes is Degrade.
	Fallback http.RoundTripper

	// Priority returns how urgent a request is, unless its Call says so. If nil, all requests are Normal.
	Priority func(*http.Request) throttle.Priority

	// Ageing keeps less urgent requests from waiting for ever: for every Ageing it has waited, a request
	// counts as one step more urgent; see throttle.Priority. Zero means 10 seconds. If negative, requests
	// do not age.
	Ageing time.Duration

	// Reserve is the share of every quota and limit that only Urgent requests may use, from 0 to less than
	// 1. Zero means none.
	Reserve float64

	// MaxUnread bounds how long an answer that nobody reads or closes counts as in flight, if Quotas limit
	// what is in flight. Zero means 5 minutes. If negative, such an answer counts until the context of its
	// request ends.
	MaxUnread time.Duration

	// MaxWait bounds how long a request waits for its turn, and for how long a request that the server
	// refuses is sent again. Zero means two minutes, so that requests wait for limits per minute, the most
	// common ones. If negative, no request waits.
	MaxWait time.Duration

	// MaxQueue bounds how many requests wait in one bucket. Zero means no bound. If negative, no request
	// waits.
	MaxQueue int

	// Spend says how fast the remainder of a limit that the server states is spent until its reset. Zero is
	// throttle.SpendAuto.
	Spend throttle.Spend

	// MaxHold bounds how long a bucket is held because a server says so. After MaxHold, one request probes.
	// Zero means 15 minutes. If negative, nothing that a server says holds a bucket.
	MaxHold time.Duration

	// IdleAfter is how long a bucket must be idle before it starts slowly again. Zero means a minute. If
	// negative, only new buckets, and buckets whose hold has ended, start slowly.
	IdleAfter time.Duration

	// MaxAttempts bounds how often a request that fails is sent, the first time included. Zero means 3. If
	// negative, 1. Refusals do not count; see MaxRefusals.
	MaxAttempts int

	// MaxRefusals bounds how often a request that the server refuses as too early is sent again. Zero means
	// 10. If negative, it is not sent again.
	MaxRefusals int

	// Backoff returns the delay before a retry of a failure; if the server asks for a longer delay, that
	// one counts. If nil, backoff.Exponential{} with full jitter is used. RetryableBackoff makes a Backoff
	// of go-retryablehttp fit here.
	Backoff backoff.Backoff

	// NewBackOff, if not nil, is used in place of Backoff: it returns a fresh BackOff of
	// github.com/cenkalti/backoff for each request that fails. If that BackOff returns Stop, the request is
	// not sent again. If NewBackOff returns nil, Backoff is used.
	NewBackOff func() cenkalti.BackOff

	// CheckRetry, if not nil, replaces pacer's own table (docs/retrying.md): it says which answers of 400
	// and above, and which errors, may be followed by another attempt. It may call ShouldRetry, which is
	// that table. A request that is not safe to repeat is not sent again, even if CheckRetry says so.
	// CheckRetry must not read the body of the answer. If it returns an error, the request is not sent
	// again; RoundTrip still returns the answer or the error at hand, not the error of CheckRetry.
	CheckRetry retryablehttp.CheckRetry

	// PrepareRetry, if not nil, is called with the request of each attempt but the first, after its body
	// was renewed: for example to sign it anew. If it returns an error, the request is not sent again.
	PrepareRetry retryablehttp.PrepareRetry

	// MaxElapsed bounds how long after its first attempt a request may be sent again. A delay or a wait in
	// line that would end later is not begun. If zero or negative, there is no such bound: only
	// MaxAttempts, MaxRefusals and the context end the retries.
	MaxElapsed time.Duration

	// AttemptTimeout bounds how long Base may take until the answer of one attempt begins, not counting the
	// wait for its turn. An attempt that takes longer has failed, and is retried like one whose connection
	// broke; the error of the last attempt is an ErrAttemptTimeout. Only the context of the request bounds
	// how long the body of the answer is read, since an answer that the caller has begun to read cannot be
	// replaced. If zero or negative, there is no bound, and there is none in mode ModeObserve.
	AttemptTimeout time.Duration

	// BufferBody is how many bytes of a body without GetBody are kept while the body is sent, so that it
	// can be sent again. A longer body is sent once. If zero or negative, nothing is kept, and nothing is
	// kept in mode ModeObserve.
	BufferBody int64

	// IdempotencyKey, if not nil, returns the Idempotency-Key for a request whose method is not idempotent
	// and that has no such header. All attempts are sent with the same key, and the request is retried like
	// one whose method is idempotent. It is for servers that know the header; for other requests it returns
	// "", and they get no key. RandomKey makes keys. A redirect is a request of its own, and gets its own
	// key. In mode ModeObserve, IdempotencyKey is not called.
	IdempotencyKey func(*http.Request) string

	// ResendHeader is the name of a header that says how often a request was sent before: the first attempt
	// has no such header, the second has 1 (http.request.resend_count in the semantic conventions of
	// OpenTelemetry). If empty, no header is added.
	ResendHeader string

	// BudgetRatio is how many retries of failures each success of a bucket pays for. Zero means 0.1: during
	// an outage, the load is at most 1.1 times the usual one. If negative, a bucket makes only its first 10
	// retries, which are free.
	BudgetRatio float64

	// Headers reads what answers say of limits. If nil, the dialects of package headers are known, and no
	// others.
	Headers *headers.Reader

	// Bodies selects the answers whose bodies are searched for limits, since some services state them
	// nowhere else; see headers.Reader.ParseBody. Up to 64 kB are read before RoundTrip returns, and the caller
	// gets the whole body as it came. ErrorBodies selects all errors. If nil, no body is searched.
	Bodies func(*http.Response) bool

	// Trace has hooks that are told what happens. If nil, no hook is called.
	Trace *Trace

	// Rand returns numbers from [0, 1) for all jitter. If nil, math/rand/v2 is used. Tests set Rand to get
	// exact results.
	Rand func() float64

	once          sync.Once
	invalid       error
	routes        atomic.Pointer[routes]
	buckets       throttle.Group
	lastHost      atomic.Pointer[hostSpelling] // of the latest request; only if Quotas are of hosts and Key is nil
	modes         *pattern.Set[Mode]
	marksRequests bool // requests tell a Transport below that t retries
}

// Validate reports what is wrong with the configuration: which field or pattern, and what was expected. If
// it is not called, the first request and every later one return the same error.
func (t *Transport) Validate() error {
	t.once.Do(func() { t.invalid = t.init() })
	return t.invalid
}

// init checks the fields, and makes from them what requests look up.
func (t *Transport) init() error {
	degrade := t.Mode == ModeDegrade
	for p, mode := range t.Modes {
		degrade = degrade || mode == ModeDegrade
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
		return errors.New("pacer: Fallback is nil, want a RoundTripper that answers in mode ModeDegrade")
	case t.Spend < throttle.SpendAuto || t.Spend > throttle.SpendEven:
		return fmt.Errorf("pacer: Spend is %d, want Auto, Eager, Balanced or Even", int(t.Spend))
	case !(t.Reserve >= 0 && t.Reserve < 1):
		return fmt.Errorf("pacer: Reserve is %v, want a share from 0 to less than 1", t.Reserve)
	case t.Outage < throttle.OutageShare || t.Outage > throttle.OutageOpen:
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

// maxUnread returns zero if there is no bound.
func (t *Transport) maxUnread() time.Duration {
	if t.MaxUnread == 0 {
		return 5 * time.Minute
	}
	return max(t.MaxUnread, 0)
}

// Close gives back to the Store what this process has in hand. Later requests to buckets that are shared
// through the Store fail with throttle.ErrClosed. Without a Store, Close does nothing. If a process ends
// without Close, what it had in hand is lost to the other processes for half a second.
func (t *Transport) Close() error {
	if t.Store == nil {
		return nil
	}
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Close()
}

// State returns what the buckets look like now, in no particular order. Idle buckets are forgotten sooner
// or later; State does not return these.
func (t *Transport) State() []throttle.State { return t.buckets.State() }

// Save writes what was learned from the answers of servers, as JSON, for Load in the next run of the
// program. Without it, a program that runs every minute would find out every minute that a limit is used
// up. Hosts, patterns and what Key returns are written as digests. What was charged to Quotas is not
// written.
func (t *Transport) Save(w io.Writer) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Save(w)
}

// Load reads what Save wrote, best before the first request. It changes only buckets that have learned
// nothing yet, and leaves out what is out of date. If r cannot be read, Load changes nothing and returns an
// error.
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

// check returns an error if a request cannot be routed, in the words of net/http, or if the configuration
// is wrong.
func (t *Transport) check(req *http.Request) error {
	switch {
	case req.URL == nil:
		return errors.New("pacer: nil Request.URL")
	case req.Header == nil:
		return errors.New("pacer: nil Request.Header")
	}
	return t.Validate()
}

// validName reports whether name is empty or a token of RFC 9110 section 5.6.2, as names of headers are.
func validName(name string) bool {
	return strings.TrimLeft(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// hasTransportBelow reports whether base is or wraps a Transport of this package. Requests must then say
// who retries them. It looks into the fields of RoundTrippers that wrap others; a Transport that only a
// function refers to is not found.
func hasTransportBelow(base http.RoundTripper) bool {
	return base != nil && reachesTransport(reflect.ValueOf(base), 16)
}

// reachesTransport is hasTransportBelow for a value, to a depth of so many fields and pointers.
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
