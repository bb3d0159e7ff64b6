package pacerotel

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

// lab has the SDK's readers in memory.
type lab struct {
	*Telemetry
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
	traces *sdktrace.TracerProvider
}

func newLab(tb testing.TB, most int) *lab {
	tb.Helper()
	l := &lab{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	l.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans))
	var err error
	l.Telemetry, err = New(&Options{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader)), TracerProvider: l.traces, MaxBuckets: most,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// read returns all that a reader reads, as sorted lines: "name{attributes} value".
func (l *lab) read(t *testing.T) (lines []string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := l.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			note := func(set attribute.Set, format string, values ...any) {
				lines = append(lines, fmt.Sprintf("%s{%s} ", m.Name, set.Encoded(attribute.DefaultEncoder()))+fmt.Sprintf(format, values...))
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					note(p.Attributes, "%d", p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					note(p.Attributes, "%v", p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					note(p.Attributes, "%d", p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					note(p.Attributes, "%v", p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					note(p.Attributes, "%d in %v", p.Count, p.Sum)
				}
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// only returns the lines that begin so.
func only(lines []string, begin ...string) (some []string) {
	for _, l := range lines {
		if slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(l, b) }) {
			some = append(some, l)
		}
	}
	return some
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// text returns a span as a line: its name, kind, how long it was, its attributes and its status.
func text(s sdktrace.ReadOnlySpan) string {
	set := attribute.NewSet(s.Attributes()...)
	line := fmt.Sprintf("%s %v %v", s.Name(), s.SpanKind(), s.EndTime().Sub(s.StartTime()))
	for _, a := range set.ToSlice() {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value.String())
	}
	if st := s.Status(); st.Description != "" {
		line += fmt.Sprintf(" %v: %s", st.Code, st.Description)
	}
	return line
}

// base is a RoundTripper made of a function.
type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func answer(req *http.Request, status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: req}
}

// script answers with one status after the other, and then with 200. A status of 429 asks for 2 s; one of zero
// is an error.
func script(statuses ...int) base {
	return func(req *http.Request) (*http.Response, error) {
		status := http.StatusOK
		if len(statuses) > 0 {
			status, statuses = statuses[0], statuses[1:]
		}
		switch status {
		case 0:
			return nil, io.ErrUnexpectedEOF
		case http.StatusTooManyRequests:
			return answer(req, status, "Retry-After", "2"), nil
		}
		return answer(req, status), nil
	}
}

func send(ctx context.Context, rt http.RoundTripper, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func zero() float64 { return 0 }

// steady is a Backoff of one second.
type steady struct{}

func (steady) Delay(int, time.Duration) time.Duration { return time.Second }

var onePerSecond = pacer.Table{"/": {quota.Quota{N: 1, Kind: quota.TokenBucket}}}

// play sends a request with ctx for which a quota of one a second is there for the first time in a second, and
// half a second later an answer to another one says that the server's window is used up for 2.5 s. It returns
// when the request was sent.
func play(ctx context.Context, t *testing.T, telemetry *Telemetry) (after time.Duration, err error) {
	t.Helper()
	var at time.Time
	tr := &pacer.Transport{Quotas: onePerSecond, Rand: zero, Base: base(func(req *http.Request) (*http.Response, error) {
		switch req.URL.Path {
		case "/slow":
			time.Sleep(time.Second / 2)
			return answer(req, 200, "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "2.5"), nil
		case "/why":
			at = time.Now()
		}
		return answer(req, 200), nil
	})}
	for range 40 { // so that the bucket is not new
		if err := send(t.Context(), tr, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	tr.Trace = telemetry.Trace() // only now: the others have waited, too
	telemetry.Watch(tr)
	start := time.Now()
	go send(t.Context(), tr, "http://a.example/slow")
	synctest.Wait()
	err = send(ctx, tr, "http://a.example/why?token=secret")
	return at.Sub(start), err
}
