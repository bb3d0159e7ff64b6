package pacerotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/throttle"
)

// Trace returns hooks for the Transports that are to be reported. pacer.Traces joins them with other hooks.
func (t *Telemetry) Trace() *pacer.Trace {
	return &pacer.Trace{
		Went: func(e pacer.Went) {
			t.counts(&e.Event).grants.Add(1)
			if e.Wait > 0 {
				t.waited(&e.Event, wait{whole: e.Wait, parts: e.Waits, resends: e.Attempt - 1})
			}
		},
		NotSent: func(e pacer.NotSent) {
			f := failure(e.Err)
			t.counts(&e.Event).notSent[f].Add(1)
			if e.Wait > 0 {
				t.waited(&e.Event, wait{whole: e.Wait, parts: e.Waits, inVain: failures[f].name})
			}
		},
		Answered: func(e pacer.Answered) {
			if e.Refused {
				t.counts(&e.Event).refusals.Add(1)
			}
		},
		Retrying: func(e pacer.Retrying) {
			c := t.counts(&e.Event)
			if e.Refused {
				c.refusedAgain.Add(1)
			} else {
				c.failedAgain.Add(1)
			}
			add(&c.backoff, e.Delay)
		},
		GaveUp: func(e pacer.GaveUp) {
			c := t.counts(&e.Event)
			c.gaveUp[which(reasons[:], e.Reason)].Add(1)
			add(&c.backoff, e.Delay)
			if e.Wait > 0 {
				t.waited(&e.Event, wait{whole: e.Wait, parts: e.Waits, resends: e.Attempts, inVain: whyInVain(e)})
			}
		},
		StoreEvent: func(e throttle.StoreEvent) {
			c := &t.buckets.get(e.Label).real
			c.storeEvents[which(storeEvents[:], e.Kind)].Add(1)
			add(&c.storeDownTime, e.Down)
		},
	}
}

// counts returns the counts of a request.
func (t *Telemetry) counts(e *pacer.Event) *counts { return t.buckets.get(e.Label).of(e.Mode) }

// whyInVain is the error.type of a request that waited and was not sent again.
func whyInVain(e pacer.GaveUp) string {
	var local *throttle.Error
	switch {
	case errors.As(e.Because, &local):
		return failures[failure(local)].name
	case e.Reason == pacer.ReasonCanceled || errors.Is(e.Because, context.Canceled):
		return failures[failure(throttle.ErrCanceled)].name
	case e.Reason == pacer.ReasonDeadline:
		return failures[failure(throttle.ErrDeadline)].name
	}
	return string(e.Reason)
}

// wait is a wait in line that is over.
type wait struct {
	whole   time.Duration
	parts   []throttle.Wait
	resends int    // how often the request was sent before
	inVain  string // the error.type of a request that was not sent; else empty
}

// waited records a wait that ends now: in the counters, as a span, and in the histogram, with that span for an
// example.
func (t *Telemetry) waited(e *pacer.Event, w wait) {
	for _, part := range w.parts {
		add(&t.buckets.get(part.Label).of(e.Mode).waits[which(causes[:], part.Cause)], part.For)
	}
	ctx := e.Request.Context()
	if e.Mode != pacer.ModeObserve {
		ctx = t.span(ctx, e, w)
	}
	c := t.counts(e)
	options := c.waited
	if w.inVain != "" {
		options = []metric.RecordOption{c.with(keyError.String(w.inVain))}
	}
	t.waits.Record(ctx, w.whole.Seconds(), options...)
}

// span makes the span of a wait, if the context has one that it can be a child of. It returns the context of
// the new one.
func (t *Telemetry) span(ctx context.Context, e *pacer.Event, w wait) context.Context {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx // it would be a trace of its own, which is of no use
	}
	end := time.Now()
	ctx, span := t.tracer.Start(ctx, "pacer wait", trace.WithTimestamp(end.Add(-w.whole)), trace.WithSpanKind(trace.SpanKindInternal))
	if span.IsRecording() {
		span.SetAttributes(spanAttributes(e, w)...)
		if w.inVain != "" && w.inVain != failures[failure(throttle.ErrCanceled)].name { // who cancels wants it so
			span.SetStatus(codes.Error, "not sent: "+w.inVain)
		}
	}
	span.End(trace.WithTimestamp(end))
	return ctx
}

// byLabel returns waits with one for each label, cause and quota, the longest first: a span tells buckets of
// one label not apart.
func byLabel(waits []throttle.Wait) (sums []throttle.Wait) {
	for _, w := range waits {
		i := slices.IndexFunc(sums, func(s throttle.Wait) bool { return s.Label == w.Label && s.Cause == w.Cause && s.Quota == w.Quota })
		if i < 0 {
			sums = append(sums, w)
			continue
		}
		sums[i].For += w.For
	}
	slices.SortStableFunc(sums, func(a, b throttle.Wait) int { return cmp.Compare(b.For, a.For) })
	return sums
}

func spanAttributes(e *pacer.Event, w wait) []attribute.KeyValue {
	texts := make([]string, 0, len(w.parts))
	var sums [len(causes)]time.Duration
	for _, part := range byLabel(w.parts) {
		text := fmt.Sprintf("%v %s", part.For, strings.ReplaceAll(string(part.Cause), "_", " "))
		if part.Quota != "" {
			text += fmt.Sprintf(" %q", clean(part.Quota))
		}
		if part.Label != "" {
			text += " of " + clean(part.Label)
		}
		texts = append(texts, text)
		sums[which(causes[:], part.Cause)] += part.For
	}
	attributes := []attribute.KeyValue{keyBucket.String(clean(e.Label)), attribute.StringSlice("pacer.wait.causes", texts)}
	for i, sum := range sums {
		if sum > 0 {
			attributes = append(attributes, attribute.Float64("pacer.wait.time."+string(causes[i]), sum.Seconds()))
		}
	}
	if w.resends > 0 {
		attributes = append(attributes, keyResends.Int(w.resends))
	}
	if w.inVain != "" {
		attributes = append(attributes, keyError.String(w.inVain))
	}
	return attributes
}

// ResendCount returns a RoundTripper that marks the spans of attempts after the first one with
// http.request.resend_count. Place it below the RoundTripper that makes the spans, and both below pacer. If
// base is nil, it is http.DefaultTransport.
//
//	transport.Base = otelhttp.NewTransport(pacerotel.ResendCount(nil))
func ResendCount(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &resendCount{base}
}

type resendCount struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r *resendCount) RoundTrip(req *http.Request) (*http.Response, error) {
	if n := pacer.Resends(req.Context()); n > 0 {
		trace.SpanFromContext(req.Context()).SetAttributes(keyResends.Int(n))
	}
	return r.base.RoundTrip(req)
}

// CloseIdleConnections forwards to the base, as http.Client expects.
func (r *resendCount) CloseIdleConnections() {
	if c, ok := r.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
