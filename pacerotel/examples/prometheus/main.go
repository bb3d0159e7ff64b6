// The program shows pacer's metrics in Prometheus: 30 requests go to an API of which it knows the quota, ten in
// a second. It prints what a Prometheus would scrape meanwhile, the lines that are of pacer. It runs offline,
// for two seconds, and needs no Prometheus. With -listen localhost:9464, it goes on, and a Prometheus can
// scrape http://localhost:9464/metrics.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacerotel"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

func main() {
	listen := flag.String("listen", "", "serve /metrics at this `address`, and go on")
	flag.Parse()
	if err := run(os.Stdout, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, listen string) error {
	server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 10, Burst: 10}, pacertest.NoHeaders) // in place of an API
	defer server.Close()
	p, err := newProgram(server.Transport(), quota.MustParse("10/s burst 10"))
	if err != nil {
		return err
	}
	if listen == "" {
		p.work(out, 30)
		_, err := io.WriteString(out, scrape(p.metrics))
		return errors.Join(err, p.close())
	}
	http.Handle("GET /metrics", p.metrics)
	go func() {
		for { // it is an example of something that goes on
			p.work(out, 30)
		}
	}()
	return http.ListenAndServe(listen, nil) //nolint:gosec // an example
}

// program is what any program has: a client, and a handler of metrics.
type program struct {
	client  *http.Client
	metrics http.Handler
	close   func() error
}

func newProgram(base http.RoundTripper, quotas quota.Quotas) (*program, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	meters := metric.NewMeterProvider(metric.WithReader(reader))

	telemetry, err := pacerotel.New(&pacerotel.Options{MeterProvider: meters})
	if err != nil {
		return nil, err
	}
	transport := &pacer.Transport{
		Base:   base,
		Quotas: pacer.Table{"api.example.com/": quotas},
		Trace:  telemetry.Trace(),
	}
	telemetry.Watch(transport)

	return &program{
		client:  &http.Client{Transport: transport},
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		close:   func() error { return errors.Join(meters.Shutdown(context.Background()), telemetry.Close()) },
	}, nil
}

// work sends requests at once, and returns when all are answered.
func (p *program) work(out io.Writer, n int) {
	start := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://api.example.com/", nil)
			if err != nil {
				fmt.Fprintln(out, err)
				return
			}
			resp, err := p.client.Do(req)
			if err != nil {
				fmt.Fprintln(out, err)
				return
			}
			resp.Body.Close()
		})
	}
	wg.Wait()
	fmt.Fprintf(out, "%d requests in %.1f s\n\n", n, time.Since(start).Seconds())
}

// scrape returns what a Prometheus is told, the lines that are of pacer and no comment.
func scrape(metrics http.Handler) string {
	w := httptest.NewRecorder()
	metrics.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", nil))
	var lines strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "pacer_") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}
