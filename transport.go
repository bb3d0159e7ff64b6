// Package pacer makes a program a good guest of the HTTP APIs that it calls.
//
//	client := &http.Client{Transport: &pacer.Transport{}}
//
// A [Transport] is an [http.RoundTripper] that paces requests before the server has to refuse them. It learns
// the limits of every host from the headers of the host's answers. When a server says to wait, all requests to
// that host or route wait, and not only the refused one. At a new host the Transport starts slowly: one request
// goes first, and each answer lets two more go (fewer, once 50 go in a second). If answers are slow and none is
// a refusal, more requests go without waiting for them (docs/learning.md). The Transport sends again what is
// safe to send again.
//
// Limits that the provider documents, and that its answers do not state, are written down as quotas of the
// host:
//
//	quotas := pacer.Table{"api.example.com/": quota.MustParse("5/s burst 10")}
//	client := &http.Client{Transport: &pacer.Transport{Quotas: quotas}}
//
// The Transport decides which buckets a request draws on, what an answer says, and whether a request is sent
// again. Package throttle knows how a bucket counts, and package headers how headers are written. A request
// goes to Base when its turn has come, and the answer of Base goes to the caller.
//
// # One request
//
// A request draws on buckets: on the bucket of its host, and, if Quotas have other patterns that match, on the
// bucket of the most specific one. The request goes when all its buckets grant it at the same instant: as a
// request, as one more in flight, and in the units of its Cost. If it cannot go now, [Mode] says what happens.
// By default it waits in line ([Line]). More urgent requests go first; among equally urgent ones, flows go in
// turns, and within a flow the order is that of arrival.
//
// A request waits for as long as its line moves. It fails at once if nothing can go for longer than
// MaxStandstill, if it would wait for longer than a MaxWait that is set, or if its answer would miss the
// deadline of the context. (An answer is expected to take as long as nine of ten recent answers took at most.)
//
// [Transport.Acquire] only waits, and leaves the sending to its caller. [Transport.Forecast] says how long a
// request would wait, and how long the rest of a batch that stands in line will take.
//
// A [Call] in the context of a request says what is different for that request, and how it went.
//
// The Transport learns from the answer. What headers say about limits bounds how many requests may go until
// the reset. A Retry-After holds all requests of the most specific bucket of the refused request, and not only
// that request. After a hold, one request goes first, and its answer decides how the others follow. Package
// throttle has the rules.
//
// # Again
//
// A refusal is a 429, or another status with which a server says "not yet": 403, 503 and some others with a
// Retry-After. The server did nothing, so the request goes back to the front of its line, whatever its
// method is. While others are served, it goes back MaxRefusals times at most.
//
// A failure is a transport error, a 408, a 425, or any 5xx except 501. A request that failed is sent again,
// after jittered exponential backoff, if its method is idempotent, if it carries an Idempotency-Key, or if
// the server provably did not process it. It is sent MaxAttempts times at most, the first time included. A
// retry budget keeps the load small during an outage. docs/retrying.md has the tables.
//
// A body is sent again only if the request has GetBody (http.NewRequest sets it for bytes and strings), or
// if the body is no longer than Retry.BufferBody. Bodies are buffered only if BufferBody is set. A request with
// a Trailer is sent once, since the reading of its body may fill in the Trailer.
//
// # What is returned
//
// A response is returned as it came, whatever its status is. After several attempts, it is the last answer of
// the server, with its body unread. The Request of the response is the caller's, as http.Transport has it, or
// the one that Base sent in its place (with a token, say). An error is one of three:
//
//   - errors.As finds a [*throttle.Error]: pacer did not send the request, or not again. The error says why,
//     and when the request could have gone.
//   - errors.Is finds [throttle.ErrInvalid]: something is wrong with the Transport, with the Call, or with the
//     request itself. Nothing was sent, and no other attempt helps until the mistake is mended.
//   - Any other error says that no answer was received.
//
// Nothing is logged, and no goroutine is kept. Only a Transport with a Shared.Store has to be closed. If it is
// not, the other processes cannot use for half a second what this one has in hand, and count this one as
// present for a minute. What was learned is lost with the program, unless [Transport.Save] has written it.
package pacer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/below"
	"github.com/gopacer/pacer/internal/delay"
	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/internal/hosts"
	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// Transport is an http.RoundTripper that paces, learns and retries. The zero Transport is ready to use. It is
// safe for concurrent use. The first call of a method, Validate and Load too, reads the fields: they must not
// be changed after that.
//
// Make one Transport, and keep it: each has its own lines, its own quotas, and what it has learned. A Transport
// for each call would know nothing of the calls before. Several clients, each with a Timeout of its own, may
// have the same Transport. A Transport must not be copied: each request of a copy of a used one returns an
// error, since the copy would share its buckets without its locks, and State, Stats and RetryBudgets of the
// copy show nothing.
//
// If Base or a function in a field panics, the panic goes on to the caller, and what the request held is given
// back: its place in line, its slots, its bodies. Trace.StoreEvent has no such caller: a panic there ends the
// program. A panic of the Store is a failure of that call to it.
//
// In each field that bounds something, except AttemptTimeout, a negative value is a bound of zero, and
// [NoLimit] or [Forever] is no bound. A duration above zero and below 1 ms is an error: it is a number without
// a unit.
type Transport struct {
	// Base sends the requests. If nil, http.DefaultTransport is used; a nil pointer in it is an error. A Base
	// that makes requests wait, as an http.Transport with MaxConnsPerHost does, sends them later than they were
	// granted, and so perhaps more at once than Quotas allow. Beside such a Base, write an "in flight" quota of
	// as many requests as Base sends at a time.
	//
	// The body of an answer of Base must allow Close while another goroutine is in its Read, as bodies of
	// net/http do: with Close, pacer ends a Read that stalls. Such a goroutine reads a body that is searched
	// (Learn.Bodies), and one that is kept or discarded before another attempt. A ContentLength of zero says
	// that the body is empty, as in net/http; a length that is not known is -1.
	Base http.RoundTripper

	// Quotas are what providers grant, under the patterns of http.ServeMux: "api.github.com/", "GET
	// api.github.com/search/", "POST discord.com/api/channels/{channel}/messages". "/" stands for every host
	// that is not named; each such host has a bucket of its own. A request draws on the pattern of its host and
	// on the most specific other pattern that matches. Each value of a wildcard has a bucket of its own. What
	// the server says can only lower the numbers of the quotas; see quota.Plain for one exception. If empty,
	// all limits are learned. SetQuotas replaces Quotas while requests wait.
	Quotas Table

	// Key returns the tenant or credential of a request. Each tenant has buckets of its own, except for Quotas
	// that are Overall. What a server says to one tenant holds no other tenant, unless the server says the same
	// to two within a second. If nil, all requests to a host draw on the same buckets. Errors, Trace and State
	// show only the KeyDigest of a key.
	Key func(*http.Request) string

	// Cost returns what a request is expected to cost, in the units of Quotas: {"tokens": 1200}. If
	// quota.Requests is not among them or less than 1, the request costs 1 of that unit. If quota.Bytes is not
	// among them and some quota is of bytes, the bodies of request and response are counted. If Cost is nil, a
	// request costs nothing in other units, and quotas in other units are an error unless Spent is set. A Cost
	// that returns nil leaves the costs to Call.Costs. A unit that no quota has is ignored, but "token" beside
	// quotas in "tokens" is throttle.ErrUnit: see quota.Costs. The map that Cost returns must not be changed
	// later.
	Cost func(*http.Request) quota.Costs

	// Spent returns what a request has cost according to its answer. The difference from what was expected is
	// given back, or charged to later requests. If neither Cost nor a Call says what a request costs in a unit,
	// the expected cost is the average of requests of its method and like paths: see package throttle. A unit
	// that Spent leaves out keeps its expected cost. A zero says that the request cost nothing, and counts for
	// that average. A quota.Requests of zero gives the request itself back: the server does not count it.
	// Spent must not read the body; Call.Settle is for costs that stand in the body. If nil, answers say
	// nothing of costs.
	Spent func(*http.Response) quota.Costs

	// Mode says what happens to a request that cannot go now. Zero is ModeWait.
	Mode Mode

	// Modes are the modes of some requests, under patterns as in Quotas; the most specific pattern that
	// matches counts. A zero Mode in the map means the Mode of the Transport.
	Modes map[string]Mode

	// Fallback answers requests in ModeDegrade that pacer does not send; the error says why. An answer of
	// the server, a refusal too, is returned as it came, without Fallback. Fallback returns an answer or an
	// error, such as the one that it is given. If it reads the body of the request, it has to close it.
	// Fallback must be set if Mode or one of Modes is ModeDegrade.
	Fallback func(*http.Request, *throttle.Error) (*http.Response, error)

	// MaxWait bounds how long a request waits for its turn, and for how long a request that the server
	// refuses is sent again. Zero means no bound but MaxStandstill: a request waits while its line moves, until
	// its context ends. If negative, no request waits, and at a host of which nothing is known all requests go
	// at once. If MaxWait is a bound, a request waits for the slow start of such a host for a quarter of
	// MaxWait at most, and for an eighth until something was answered.
	MaxWait time.Duration

	// MaxStandstill bounds how far away the next request of a bucket may be, with nobody ahead. If it is
	// further away, because of a hold, a reset, a quota or a Store that cannot be reached, nobody waits for it:
	// requests fail at once with throttle.ErrStandstill, and a refusal that asks for a longer wait is returned.
	// Zero means two minutes, whatever MaxWait is, so that requests wait for limits per minute, the most common
	// ones. With Forever, a server that does nothing but refuse is asked until MaxWait, Retry.MaxElapsed,
	// Retry.MaxRefusals if it is set, or the context ends that. If negative, it is zero: requests wait only for
	// other requests, and for answers. (A throttle.Limiter has no such bound unless it is set: its caller knows
	// the quotas, and passes a context. A Transport has one, since a server may hold it for as long as the
	// server likes, and many requests have no deadline.)
	//
	// If the reset of a limit is further away than MaxStandstill, or than a MaxWait that is set, the last fifth
	// of the limit is spread over the time to the reset, unless MaxStandstill or MaxWait is negative; see
	// Learn.Spend.
	MaxStandstill time.Duration

	// Line says how requests wait in line.
	Line Line

	// Retry says which requests are sent again, and when.
	Retry Retry

	// Learn says what is learned from answers.
	Learn Learn

	// Shared says with which other processes the Quotas are shared.
	Shared Shared

	// Trace has hooks that are told what happens. If nil, no hook is called.
	Trace *Trace

	// Rand returns numbers in [0, 1) for all jitter, and is safe for concurrent use. If nil, math/rand/v2 is
	// used. Tests set Rand to get exact results.
	Rand func() float64

	counts         counts
	once           sync.Once
	itself         *Transport // whose init was called; another one is a copy
	invalid        error
	routes         atomic.Pointer[routes]
	buckets        throttle.Group
	streams        throttle.Group                        // of bodies, by the quotas that are Streamed
	hosts          hosts.Hosts[throttle.Limiter]         // only if Quotas are of hosts and Key is nil
	paths          hosts.Paths[routes, throttle.Limiter] // only if Quotas are not of hosts alone and Key is nil
	modes          *pattern.Set[Mode]
	aboveTransport bool                      // there is another Transport in Base
	short          atomic.Pointer[Transport] // itself, if there is the way of a request that goes at once: init has found no mistake, and nothing is left to do but to send it
}

// NoLimit as the value of a field that bounds a number means that there is no bound.
const NoLimit = throttle.NoLimit

// Forever as the value of a field that bounds a duration means that there is no bound.
const Forever = throttle.Forever

// Line says how requests wait in line. With the zero Line, any number may wait, first come, first served.
type Line struct {
	// MaxQueue bounds how many requests wait in one bucket. Zero means no bound. If negative, no request waits.
	// Those that wait for nothing but the slow start of a new host, which has refused nothing, do not count.
	// A request that the server refused finds room in any case when it goes back to its line: so more than
	// MaxQueue may wait, by as many as were under way.
	MaxQueue int

	// Priority returns how urgent a request is, unless its Call says so. If nil, all requests are
	// throttle.Normal.
	Priority func(*http.Request) throttle.Priority

	// Flow returns for whom a request is: a user, a tenant, a job. Requests of different flows go in turns, by
	// what they cost, so that nobody waits for all that another has in line: see throttle.Claim. They share
	// their quotas; Key is for those who do not. Errors, hooks, State and Save do not show it. If nil, all are
	// one flow.
	Flow func(*http.Request) string

	// Weight returns the share of the request's Flow beside others: of 3, it gets three times as much as one of
	// 1 while both wait. Zero and negative mean 1. If nil, all are 1.
	Weight func(*http.Request) int

	// Aging keeps less urgent requests from waiting for ever: for every Aging it has waited, a request counts
	// as one step more urgent; see throttle.Priority. Zero means 10 seconds. If negative, requests do not age.
	Aging time.Duration

	// Reserve is the share of every quota and limit that only Urgent requests may use, from 0 to less than 1.
	// Zero means none.
	Reserve float64

	// MaxUnread bounds how long an answer that nobody reads or closes counts as in flight, if Quotas or the
	// server limit what is in flight. Zero means 5 minutes. If negative, an answer counts only until it is
	// returned. Whatever the bound, it counts no longer than until the context of its request ends.
	MaxUnread time.Duration
}

// Learn says what is learned from answers. With the zero Learn, pacer reads all headers that it knows.
type Learn struct {
	// Headers reads what answers say of limits. If nil, the dialects of package headers are known, and no
	// others.
	Headers *headers.Reader

	// Bodies selects the answers whose bodies are searched for limits, since some services state them
	// nowhere else; see headers.Reader.ParseBody. Up to 64 kB are read before RoundTrip returns, for a second
	// at most, and no longer than AttemptTimeout and the context of the request last; the caller gets the whole
	// body as it came. ErrorBodies selects all errors. If nil, no body is searched.
	Bodies func(*http.Response) bool

	// Spend says how fast the remainder of a limit that the server states is spent until its reset. Zero is
	// throttle.SpendAuto.
	Spend throttle.Spend

	// MaxHold bounds how long a bucket is held because a server says so. After MaxHold, one request looks.
	// Zero means 15 minutes. If negative, nothing that a server says holds a bucket: only the request that is
	// refused waits, out of line, for as long as its answer asks for, or for a backoff.
	MaxHold time.Duration

	// IdleAfter is how long a bucket must be idle before it starts slowly again. Zero means a minute. If
	// negative, only new buckets, and buckets whose hold has ended, start slowly.
	IdleAfter time.Duration

	// MaxBuckets bounds how many buckets are remembered, of Quotas too. If there are more than 1024 buckets,
	// idle ones are forgotten in any case, since nothing is lost by that. Beyond MaxBuckets, a new bucket makes
	// the Transport forget those that are indebted, and then those that are held; their quotas start anew with
	// the next request. A bucket in which requests wait or are in flight is never forgotten. See
	// throttle.Group. Zero means 100,000. If negative, only buckets in use are kept.
	MaxBuckets int
}

// Shared says how quotas are shared with other processes. With the zero Shared, they are not. Without a Store,
// the other fields must be zero.
type Shared struct {
	// Store, if not nil, is where the Quotas are counted; a nil pointer in it is an error. All processes that
	// use the same Store, such as one of package redisquota, share the quotas, and a hold that one process is
	// told of holds all. Patterns must be the same in all processes, and so should quotas: while they differ,
	// as when a new version of a program is rolled out, those of all processes hold together. Buckets without
	// Quotas are learned by each process for itself. See store.Store, and Transport.Close.
	//
	// A quota of what is InFlight or Unanswered, and the Queue of a quota, are of each process alone: with 5 in
	// flight, three processes have 15. A quota with a WarmUp, Months or a Zone cannot be shared. If a token
	// bucket of a host has quotas of routes beside it, one token must come back within SlotLife: "20/s even"
	// wants 50 ms. Validate and SetQuotas report both. A store such as Redis cannot tell a bucket that was lost
	// from one that is new, and takes both for used up: see Fresh.
	Store store.Store

	// Fresh says that, as far as you know, nobody has used the quotas before: see throttle.Shared.Fresh.
	// Without it, the first request to a bucket that a store such as Redis does not know waits for
	// MaxStandstill at most, and what an hour grants is back after an hour.
	Fresh bool

	// Outage says what to do while the Store cannot be reached. Zero is throttle.OutageShare: requests go on
	// with a safe part of the quotas. If the Store was never reached, that part is not known, and requests
	// wait for the Store, for MaxStandstill at most.
	Outage throttle.Outage

	// SlotLife is how long after its instant in the Store's schedule a slot may still be used by a request; see
	// throttle.Shared.SlotLife. Zero or negative means a value that suits the quotas and the round trip to the
	// Store. If no request should wait for a Store that is far away, set five to ten round trips. A Store that
	// is farther away than 250 ms needs OutageClosed, and a SlotLife of two round trips: else nothing goes.
	SlotLife time.Duration
}

// Validate reports all that is wrong with the configuration, joined by errors.Join: which field or pattern, and
// what was expected. The error is throttle.ErrInvalid. If Validate is not called, the first request and every
// later one return the same error.
func (t *Transport) Validate() error {
	t.once.Do(t.init)
	if t.itself != t {
		return fields.Invalid(errCopied)
	}
	return t.invalid
}

// shown returns t, or an empty Transport in place of one whose requests all fail: the buckets of a copy are
// those of another Transport.
func (t *Transport) shown() *Transport {
	if t.Validate() != nil {
		return &Transport{}
	}
	return t
}

// errCopied says that a Transport is a copy.
var errCopied = errors.New("pacer: the Transport is a copy of one that was used, want a new one with the same fields")

// init checks the fields, and makes from them what requests look up.
func (t *Transport) init() {
	t.itself = t
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf("pacer: "+format, args...)) }
	for _, why := range t.misset() {
		bad("%s", why)
	}
	degrade := t.Mode == ModeDegrade
	if err := t.Mode.check("Mode"); err != nil {
		wrong = append(wrong, err)
	}
	for _, p := range slices.Sorted(maps.Keys(t.Modes)) {
		degrade = degrade || t.Modes[p] == ModeDegrade
		if err := t.Modes[p].check(fmt.Sprintf("Modes[%q]", p)); err != nil {
			wrong = append(wrong, err)
		}
	}
	if degrade && t.Fallback == nil {
		bad("Fallback is nil, want a function that answers in ModeDegrade")
	}
	for _, err := range fields.Each(t.Learn.Headers.Validate()) {
		bad("Learn.Headers: %w", err)
	}
	if len(t.Modes) > 0 {
		modes, mistakes := pattern.New(t.Modes)
		for _, p := range slices.Sorted(maps.Keys(mistakes)) {
			bad("Modes[%q]: %w", p, mistakes[p])
		}
		t.modes = modes
	}
	if t.isBelowItself() {
		wrong = append(wrong, errBelowItself)
	}
	if below.IsNil(t.Base) {
		bad("Base is a nil %T, want a RoundTripper, or no Base at all for http.DefaultTransport", t.Base)
	}
	t.aboveTransport = below.Has[*Transport](t.Base, retryableType)
	rs, err := t.newRoutes(t.Quotas)
	t.routes.Store(rs)
	t.buckets.New, t.buckets.MaxBuckets = t.newLimiter, t.Learn.MaxBuckets
	t.streams.New, t.streams.MaxBuckets = t.newStream, t.Learn.MaxBuckets
	t.invalid = fields.Invalid(errors.Join(append(wrong, err)...))
	if t.invalid == nil && t.isShort() {
		t.short.Store(t) // last: who sees that does not wait for init
	}
}

// isShort reports whether a request that goes at once needs nothing but to be sent.
func (t *Transport) isShort() bool {
	return !t.aboveTransport && t.Mode != ModeObserve && t.modes == nil && t.Key == nil && t.Cost == nil && t.Spent == nil && t.Line.Priority == nil && t.Line.Flow == nil &&
		t.Learn.Bodies == nil && !t.altersRequests() && (t.Retry.AttemptTimeout == 0 || t.Retry.AttemptTimeout == Forever)
}

// misset returns what is wrong with single fields.
func (t *Transport) misset() []string {
	wrong := slices.Concat(fields.BareNumbers(t, time.Millisecond), delay.Mistakes("Retry.Backoff", t.Retry.Backoff), fields.SetWithout("Shared.", t.Shared, "Store"))
	unless := func(fine bool, format string, value any) {
		if !fine {
			wrong = append(wrong, fmt.Sprintf(format, value))
		}
	}
	wrong = append(wrong, fields.OneOf("Learn.Spend", string(t.Learn.Spend), fields.Spends)...)
	wrong = append(wrong, fields.Share("Line.Reserve", t.Line.Reserve)...)
	unless(t.Line.Flow != nil || t.Line.Weight == nil, "Line.Weight is set, want a %s, without which it does nothing", "Flow")
	wrong = append(wrong, fields.OneOf("Shared.Outage", string(t.Shared.Outage), fields.Outages)...)
	unless(t.Retry.AttemptTimeout >= 0, "Retry.AttemptTimeout is %v, want the time of an attempt, or 0 for no bound", t.Retry.AttemptTimeout)
	unless(fields.IsToken(t.Retry.ResendHeader), "Retry.ResendHeader is %q, want the name of a header", t.Retry.ResendHeader)
	return wrong
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

// isAbove reports whether requests may pass through another Transport below t.
func (t *Transport) isAbove() bool {
	_, leaf := t.base().(*http.Transport)
	return t.aboveTransport || t.Base == nil && !leaf
}

// isBelowItself reports whether Base leads in a circle: it is t, or a Transport of which that is so, and so on.
func (t *Transport) isBelowItself() bool {
	const most = 1000 // nobody has as many below each other
	b := t
	for range most {
		next, ok := b.base().(*Transport)
		if !ok || next == nil {
			return false
		}
		b = next
	}
	return true
}

// errBelowItself says that a Transport sends requests through itself.
var errBelowItself = errors.New("pacer: Base leads back to this Transport, want the RoundTripper below it: keep http.DefaultTransport before you replace it")

// maxStandstill is the effective MaxStandstill.
func (t *Transport) maxStandstill() time.Duration { return cmp.Or(t.MaxStandstill, 2*time.Minute) }

// mayWait reports whether a request may wait for d while nothing goes: within MaxStandstill, and with what it
// has waited before within a MaxWait.
func (t *Transport) mayWait(maxWait, before, d time.Duration) bool {
	within := func(bound, d time.Duration) bool { return bound == Forever || d <= max(bound, 0) }
	return within(t.maxStandstill(), d) && (maxWait == 0 || within(maxWait, before+d))
}

// Close gives back to the Store what this process has in hand, and tells it what a server has just said. Later
// requests to buckets that are shared through the Store fail with throttle.ErrClosed. Without a Store, Close
// does nothing. If a process ends without Close, what it had in hand is lost to the other processes for half a
// second, and a hold of the last moment for good. os.Exit and log.Fatal end a process without its deferred
// calls: call Close before them.
func (t *Transport) Close() error {
	if t.Shared.Store == nil {
		return nil
	}
	if err := t.Validate(); err != nil {
		return err
	}
	return errors.Join(t.buckets.Close(), t.streams.Close())
}

// State returns what the buckets look like now, ordered by host and pattern, and after them those of what flows
// (quota.Quota.Streamed): "a.example (bodies)". Idle buckets are forgotten sooner or later; State does not
// return these.
func (t *Transport) State() []throttle.State {
	t = t.shown()
	states := t.buckets.State()
	states = append(states, slices.DeleteFunc(t.streams.State(), func(s throttle.State) bool { return len(s.Limits) == 0 })...)
	for i := range states {
		states[i].Value = nil
	}
	return states
}

// Save writes what was learned from the answers of servers, as JSON, for Load in the next run of the program.
// Without it, a program that runs every minute would find out every minute that a limit is used up. What was
// charged to Quotas of more than a minute is written, too: a day's quota is not spent twice. Hosts, patterns
// and what Key returns are written as digests, and what is out of date is not written: see throttle.Group.Save.
func (t *Transport) Save(w io.Writer) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Save(w)
}

// Load reads what Save wrote, best before the first request. It changes only buckets that have learned nothing
// yet, and quotas that were charged nothing, and leaves out what is out of date. State shows what was read when
// a bucket is asked for. If r cannot be read, Load changes nothing and returns an error, in which errors.Is
// finds errors.ErrUnsupported if a later version of pacer wrote what is read.
func (t *Transport) Load(r io.Reader) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return t.buckets.Load(r)
}

// CloseIdleConnections forwards to Base, as http.Client expects of its Transport. It does nothing if Base leads
// back to t, which Validate and each request report.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok && !t.isBelowItself() {
		c.CloseIdleConnections()
	}
}

// check returns an error if a request cannot be routed, in the words of net/http, or if the configuration is
// wrong.
func (t *Transport) check(req *http.Request, info *requestInfo) error {
	switch {
	case req.URL == nil:
		return fields.Invalid(errors.New("pacer: nil Request.URL"))
	case req.Header == nil:
		return fields.Invalid(errors.New("pacer: nil Request.Header"))
	}
	if err := t.Validate(); err != nil || info == nil {
		return err
	}
	return fields.Invalid(info.check(t, req))
}
