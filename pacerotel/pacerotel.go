// Package pacerotel tells OpenTelemetry what a pacer.Transport does: why requests wait as metrics and spans,
// and what is left of each quota.
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
// All have the attribute pacer.bucket, a Label of pacer: the host, or the pattern of a quota. It has no other
// part of a URL, no value of a wildcard, and nothing of what Key returns. There are at most MaxBuckets of them;
// what is about further ones is under "other".
//
//	pacer.wait.duration   histogram, s         whole waits in line, of requests that waited; error.type if in vain
//	pacer.wait.time       counter, s           the same time, by pacer.cause and the bucket that delayed the request
//	pacer.backoff.time    counter, s           of requests that backed off, after a failure, or a refusal of one request alone, before the next attempt
//	pacer.grants          counter, {request}   attempts that went
//	pacer.refusals        counter, {request}   answers by which a server refused a request as too early
//	pacer.retries         counter, {request}   attempts that were made again, by pacer.retry.cause: refusal or failure
//	pacer.not_sent        counter, {request}   requests that pacer did not send, by error.type
//	pacer.gave_up         counter, {request}   requests that were not sent again, by pacer.reason: see pacer.Reason
//	pacer.store.events    counter, {event}     what happened to a Store, by pacer.store.event: down, back, slow, lost, others; see throttle.StoreEventKind
//	pacer.store.down.time counter, s           how long outages of a Store were that are over
//
// The following are of the Transports given to Watch, as they are when a reader asks. Buckets of one label are
// added up; of the last three, the one that has the least left is shown.
//
//	pacer.queue.length    up-down counter, {request}   requests in line
//	pacer.active_requests up-down counter, {request}   requests that were granted and have no answer yet
//	pacer.held_buckets    up-down counter, {bucket}    buckets that are held, mostly since a server said so
//	pacer.retry.budget    gauge, {request}             retries that are left, of buckets whose retry budget is not full
//	pacer.quota.limit     gauge, {unit}                the limit of a quota
//	pacer.quota.remaining gauge, {unit}                what may go now; of "server", as its latest answer said
//
// The last two are told for each pacer.quota, the text of a configured quota ("other" in the bucket "other"),
// or "server" for what the server states, and each pacer.unit. Of what a server states, units other than
// requests, tokens and bytes are "other", and zero may remain after the reset, until the next answer: a bucket
// that idles may go all the same.
//
// The values of pacer.cause are those of throttle.Cause: "pace", "window_used_up", "hold", …. An error.type is
// named after the error of throttle that a request got: "max_wait", "deadline", "canceled", …; of another error
// it is "_OTHER", and of a retry that is not made for another reason a pacer.Reason. In mode ModeObserve,
// nothing waits, and the metrics tell what would have been, with an attribute pacer.mode "observe".
//
// # Spans
//
// A request that has waited in line, and whose context has a span, gets a child span "pacer wait" of kind
// INTERNAL, from when it began to wait until it went, or did not. Its attributes are pacer.bucket;
// pacer.wait.causes, a text for each cause, the longest first; and pacer.wait.time.CAUSE, the seconds of each
// cause. Their sum is the wait. A retry has http.request.resend_count, and a wait in vain an error.type. The
// span is made after the wait: a request that does not wait pays nothing.
//
// Otelhttp is best placed below pacer, as in the example: then each attempt is a span of kind CLIENT, as the
// semantic conventions ask, and ResendCount marks those that are sent again. Above pacer, it makes one span of
// all attempts and waits, with the waits as its children.
//
// # Cost
//
// A request that does not wait costs some atomic counters, which are read when a reader asks. There is no
// goroutine.
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

// Options are what New may be told. The zero Options are those of nil.
type Options struct {
	// MeterProvider makes the metrics. If nil, that of otel.GetMeterProvider.
	MeterProvider metric.MeterProvider

	// TracerProvider makes the spans. If nil, that of otel.GetTracerProvider.
	TracerProvider trace.TracerProvider

	// MaxBuckets bounds how many values of pacer.bucket the metrics have, besides "other". The first ones
	// count. Zero means 100. If negative, it is zero: all is under "other".
	MaxBuckets int
}

// Telemetry tells OpenTelemetry what Transports do. Make one by New. It is safe for concurrent use.
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

// New returns a Telemetry. Options may be nil. An error is one of the MeterProvider.
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

// Watch adds the gauges of a Transport: its lines, and what is left of its quotas. It is called when all fields
// of the Transport are set. The gauges end when stop is called, or Close: a program that drops the Transport
// before its own end calls one of them, since a Transport that is watched stays in memory. One that is watched
// twice is told once, until both are stopped. Of a nil Transport, there is nothing to tell.
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

// Close ends the metrics that are read when a reader asks, and forgets the Transports: for a program that goes
// on without them. One that ends need not call it, and must not before the MeterProvider's Shutdown: what was
// counted since the last reading would be lost. Hooks of requests that are still under way do no harm then.
func (t *Telemetry) Close() error {
	t.mu.Lock()
	t.watched = nil
	t.mu.Unlock()
	return t.registration.Unregister()
}
