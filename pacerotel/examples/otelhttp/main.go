// The program shows the spans of a request that waits and is sent again, with otelhttp below pacer: a span for
// each attempt, as the semantic conventions ask, and one for each wait. It runs offline, for two seconds.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacerotel"
)

func main() {
	if err := run(os.Stdout, below, nil); err != nil {
		fmt.Fprintln(os.Stderr, "otelhttp:", err)
		os.Exit(1)
	}
}

// below returns a client with otelhttp below pacer. This is what a program should have.
func below(base http.RoundTripper, paced *pacer.Transport, traces trace.TracerProvider) *http.Client {
	paced.Base = otelhttp.NewTransport(pacerotel.ResendCount(base), otelhttp.WithTracerProvider(traces))
	return &http.Client{Transport: paced}
}

// above returns a client with otelhttp above pacer: one span has all attempts and waits in it.
func above(base http.RoundTripper, paced *pacer.Transport, traces trace.TracerProvider) *http.Client {
	paced.Base = base
	return &http.Client{Transport: otelhttp.NewTransport(paced, otelhttp.WithTracerProvider(traces))}
}

// connect makes a client of what sends requests, of pacer, and of what makes spans.
type connect func(http.RoundTripper, *pacer.Transport, trace.TracerProvider) *http.Client

// run sends a request with a client, and prints its spans as a tree. Rand is for jitter; see pacer.Transport.
func run(out io.Writer, client connect, rand func() float64) error {
	exporter := tracetest.NewInMemoryExporter() // a program has one that sends the spans somewhere
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	telemetry, err := pacerotel.New(&pacerotel.Options{TracerProvider: traces})
	if err != nil {
		return err
	}

	ctx, parent := traces.Tracer("program").Start(context.Background(), "program")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/", nil)
	if err != nil {
		return err
	}
	resp, err := client(&api{}, &pacer.Transport{Trace: telemetry.Trace(), Rand: rand}, traces).Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	parent.End()

	spans := exporter.GetSpans()
	return tree(out, spans, spans[len(spans)-1], "") // the parent has ended last
}

// api is an API that refuses the first request, and says to come again in 2 s.
type api struct{ asked int }

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}
	if a.asked++; a.asked == 1 {
		resp.StatusCode = http.StatusTooManyRequests
		resp.Header.Set("Retry-After", "2")
	}
	return resp, nil
}

// tree prints the spans below one, in the order in which they ended.
func tree(out io.Writer, spans tracetest.SpanStubs, parent tracetest.SpanStub, indent string) error {
	start := spans[len(spans)-1].StartTime
	for _, s := range spans {
		if s.Parent.SpanID() != parent.SpanContext.SpanID() {
			continue
		}
		line := fmt.Sprintf("%s%s (%v), from %.1f s to %.1f s", indent, s.Name, s.SpanKind, s.StartTime.Sub(start).Seconds(), s.EndTime.Sub(start).Seconds())
		for _, a := range s.Attributes {
			if slices.Contains([]string{"pacer.wait.causes", "http.request.resend_count", "http.response.status_code"}, string(a.Key)) {
				line += fmt.Sprintf(", %s %v", a.Key, a.Value.AsInterface())
			}
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
		if err := tree(out, spans, s, indent+"  "); err != nil {
			return err
		}
	}
	return nil
}
