// Package pacerotel reports to OpenTelemetry what a pacer.Transport does: why requests wait, as metrics and as
// spans, and what is left of each quota.
//
//	telemetry, err := pacerotel.New(nil) // with the global providers
//	if err != nil {
//		return err
//	}
//	transport := &pacer.Transport{
//		Base:  otelhttp.NewTransport(pacerotel.ResendCount(http.DefaultTransport)),
//		Trace: telemetry.Trace(), // with other hooks: pacer.Traces(pacer.Log(logger), telemetry.Trace())
//	}
//	telemetry.Watch(transport)
//	client := &http.Client{Transport: transport}
//
// # Metrics
//
// Each metric has the attribute pacer.bucket, a Label of pacer: the host, or the pattern of a quota. It has no
// other part of a URL, no value of a wildcard, and nothing of what Key returns. It has at most MaxBuckets
// values, and "other" for all further buckets.
//
//	pacer.wait.duration   histogram, s         whole waits in line, of requests that waited; with error.type if the request was not sent
//	pacer.wait.time       counter, s           the same time, by pacer.cause and the bucket that delayed the request
//	pacer.backoff.time    counter, s           for how long requests backed off before the next attempt, after a failure or a refusal of one request alone
//	pacer.grants          counter, {request}   attempts that went
//	pacer.refusals        counter, {request}   answers by which a server refused a request as too early
//	pacer.retries         counter, {request}   attempts that were made again, by pacer.retry.cause: refusal or failure
//	pacer.not_sent        counter, {request}   requests that pacer did not send, by error.type
//	pacer.gave_up         counter, {request}   requests that were not sent again, by pacer.reason: see pacer.Reason
//	pacer.store.events    counter, {event}     what happened to a Store, by pacer.store.event: down, back, slow, lost, others; see throttle.StoreEventKind
//	pacer.store.down.time counter, s           how long outages of a Store lasted, counted when an outage is over
//
// The following metrics are those of the Transports given to Watch, as they are when a reader collects the
// metrics. Buckets of one label are added up; of the last three metrics, the bucket that has the least left is
// shown.
//
//	pacer.queue.length    up-down counter, {request}   requests in line
//	pacer.active_requests up-down counter, {request}   requests that were granted and have no answer yet
//	pacer.held_buckets    up-down counter, {bucket}    buckets that are held, mostly since a server said so
//	pacer.retry.budget    gauge, {request}             retries that are left, of buckets whose retry budget is not full
//	pacer.quota.limit     gauge, {unit}                the limit of a quota
//	pacer.quota.remaining gauge, {unit}                how much may go now; of "server", how much its latest answer said remains
//
// The last two metrics have the attributes pacer.quota and pacer.unit. The value of pacer.quota is the text of
// a configured quota ("other" in the bucket "other"), or "server" for a limit that the server states. Of a
// limit that the server states, a unit other than requests, tokens and bytes is "other". Its
// pacer.quota.remaining changes only with the next answer: after the reset it may show zero, although the next
// request of the bucket may go.
//
// The values of pacer.cause are those of throttle.Cause: "pace", "window_used_up", "hold", …. An error.type is
// named after the error of package throttle that the request got: "max_wait", "deadline", "canceled", …; for
// any other error it is "_OTHER". If a retry is not made for a reason without an error of throttle, it is the
// pacer.Reason. In ModeObserve, nothing waits: the metrics tell what would have happened, with an attribute
// pacer.mode "observe".
//
// # Spans
//
// A request that has waited in line, and whose context has a span, gets a child span "pacer wait" of kind
// INTERNAL. The span begins when the request began to wait, and ends when it went or was not sent. Its
// attributes are pacer.bucket; pacer.wait.causes, a text for each cause, the longest wait first; and
// pacer.wait.time.CAUSE, the seconds of each cause. Their sum is the wait. The span of a retry has
// http.request.resend_count, and the span of a wait in vain an error.type. The span is made after the wait: for
// a request that does not wait, none is made.
//
// Place otelhttp below pacer, as in the example: then each attempt is a span of kind CLIENT, as the semantic
// conventions ask, and ResendCount marks the attempts after the first one. Above pacer, otelhttp makes one span
// of all attempts and waits, with the waits as its children.
//
// # Cost
//
// A request that does not wait adds to some atomic counters, which are read when a reader collects the metrics.
// There is no goroutine.
package pacerotel

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/gopacer/pacer"
)

const scope = "github.com/gopacer/pacer/pacerotel"

// Options are optional arguments of New. Nil means the zero Options.
type Options struct {
	// MeterProvider makes the metrics. If nil, otel.GetMeterProvider is called for it.
	MeterProvider metric.MeterProvider

	// TracerProvider makes the spans. If nil, otel.GetTracerProvider is called for it.
	TracerProvider trace.TracerProvider

	// MaxBuckets bounds how many values of pacer.bucket the metrics have, besides "other". The buckets that
	// come first have one. Zero means 100. If negative, all buckets are "other".
	MaxBuckets int
}

// Telemetry reports to OpenTelemetry what Transports do. New makes one. It is safe for concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	waits   metric.Float64Histogram
	buckets buckets

	registration metric.Registration

	mu      sync.Mutex // protects the field below
	watched []*watch   // in the order of Watch
}

// watch is a call of Watch that was not stopped.
type watch struct{ transport *pacer.Transport }

// bounds are the boundaries of the histogram in seconds: those of client-go for waits at its limiter, which end
// with a minute, and above them what quotas of an hour may take.
var bounds = []float64{.005, .025, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900, 3600}

// New returns a Telemetry. Options may be nil. If the MeterProvider cannot make an instrument, New returns its
// error.
func New(o *Options) (*Telemetry, error) {
	if o == nil {
		o = &Options{}
	}
	meters, tracers := o.MeterProvider, o.TracerProvider
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	meter := meters.Meter(scope)
	t := &Telemetry{tracer: tracers.Tracer(scope)}
	t.buckets.init(o.MaxBuckets)
	var err error
	if t.waits, err = meter.Float64Histogram("pacer.wait.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(bounds...),
		metric.WithDescription("How long requests waited in line, of those that waited.")); err != nil {
		return nil, err
	}
	in, err := newInstruments(meter)
	if err != nil {
		return nil, err
	}
	t.registration, err = meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		t.observe(observer{to, in})
		return nil
	}, in.all...)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Watch adds the gauges of a Transport: its lines, and what is left of its quotas. Call it when all fields of
// the Transport are set. The gauges end when stop or Close is called. A watched Transport stays in memory, so a
// program that drops a Transport before its own end calls one of the two. A Transport that is watched twice is
// reported once, until both stop functions are called. For a nil Transport, Watch does nothing.
func (t *Telemetry) Watch(transport *pacer.Transport) (stop func()) {
	w := &watch{transport}
	t.mu.Lock()
	defer t.mu.Unlock()
	if transport != nil {
		t.watched = append(t.watched, w)
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watched = slices.DeleteFunc(t.watched, func(x *watch) bool { return x == w })
	}
}

// transports returns those that are watched, each once.
func (t *Telemetry) transports() (all []*pacer.Transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := map[*pacer.Transport]bool{}
	for _, w := range t.watched {
		if !known[w.transport] {
			known[w.transport] = true
			all = append(all, w.transport)
		}
	}
	return all
}

// Close ends all metrics but pacer.wait.duration, and forgets the Transports: for a program that goes on
// without them. A program that ends need not call Close, and must not call it before the Shutdown of the
// MeterProvider: what was counted since the last reading would be lost. After Close, hooks of requests that are
// still under way do no harm. An error is that of the MeterProvider.
func (t *Telemetry) Close() error {
	t.mu.Lock()
	t.watched = nil
	t.mu.Unlock()
	return t.registration.Unregister()
}
