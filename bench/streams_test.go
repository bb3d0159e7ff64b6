package bench

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// span is short, so that the gate, which only tries that all of it runs, takes no two minutes for it. A figure
// is worth something from 3s on:
//
//	go test -run NONE -bench 'Streams|Readers' -benchtime 1x . -args -span 3s
var span = flag.Duration("span", 150*time.Millisecond, "for how long streams are measured, after a third of that")

// BenchmarkStreams tells how much of a streamed quota bodies get over real sockets, in percent: of one stream
// and of a hundred, of answers and of uploads. An iteration takes as long as -span says.
func BenchmarkStreams(b *testing.B) {
	for _, rate := range []string{"64kB", "1MB", "100MB", "1GB", "bare"} { // bare: what the machine can do, in percent of 1GB
		for _, streams := range []int{1, 100} {
			for _, upload := range []bool{false, true} {
				name := map[bool]string{false: "answers", true: "uploads"}[upload]
				b.Run(fmt.Sprintf("%s/%d/%s", rate, streams, name), func(b *testing.B) { streamed(b, rate+"/s streamed", streams, upload) })
			}
		}
	}
}

// zeros is a body that does not end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// count is how much was written to it.
type count struct{ atomic.Int64 }

func (c *count) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// streamed reports which share of a quota so many streams get.
func streamed(b *testing.B, text string, streams int, upload bool) {
	b.Helper()
	var flown count
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if upload {
			_, _ = io.CopyBuffer(struct{ io.Writer }{&flown}, struct{ io.Reader }{r.Body}, make([]byte, 64<<10))
		} else {
			_, _ = io.CopyBuffer(struct{ io.Writer }{w}, zeros{}, make([]byte, 64<<10))
		}
	}))
	defer srv.Close()
	base := &http.Transport{MaxIdleConnsPerHost: streams, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	defer base.CloseIdleConnections()
	n, client := 1_000_000_000, &http.Client{Transport: base}
	if qs, err := quota.Parse(text); err == nil {
		n, client.Transport = int(qs[0].N), &pacer.Transport{Base: base, Quotas: pacer.Table{"/": qs}, Retry: pacer.Retry{MaxAttempts: -1}}
	}
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			method, body := http.MethodGet, io.Reader(nil)
			if upload {
				method, body = http.MethodPut, zeros{}
			}
			req, err := http.NewRequestWithContext(ctx, method, srv.URL, body)
			if err != nil {
				b.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				return // an upload that is canceled has no answer
			}
			defer resp.Body.Close()
			_, _ = io.CopyBuffer(struct{ io.Writer }{&flown}, struct{ io.Reader }{resp.Body}, make([]byte, 64<<10))
		})
	}
	time.Sleep(*span / 3) // connections, a slow start, and what is there at once
	share := 0.0
	for b.Loop() {
		before, since := flown.Load(), time.Now()
		time.Sleep(*span)
		got := float64(flown.Load() - before)
		share = 100 * got / (float64(n) * time.Since(since).Seconds())
	}
	b.ReportMetric(share, "%quota")
	b.ReportMetric(0, "ns/op")
	cancel()
	wg.Wait()
}

// BenchmarkReaders is BenchmarkStreams without sockets: which share of a quota so many Readers get, whose
// sources cost nothing.
func BenchmarkReaders(b *testing.B) {
	for _, rate := range []string{"64kB", "1MB", "100MB", "1GB"} {
		for _, streams := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", rate, streams), func(b *testing.B) {
				qs := quota.MustParse(rate + "/s streamed")
				l := &throttle.Limiter{Quotas: qs}
				ctx, cancel := context.WithCancel(b.Context())
				var flown count
				var wg sync.WaitGroup
				for range streams {
					wg.Go(func() {
						_, _ = io.CopyBuffer(struct{ io.Writer }{&flown}, struct{ io.Reader }{&throttle.Reader{R: zeros{}, Limiter: l, Context: ctx}}, make([]byte, 64<<10))
					})
				}
				time.Sleep(*span / 3)
				share := 0.0
				for b.Loop() {
					before, since := flown.Load(), time.Now()
					time.Sleep(*span)
					share = 100 * float64(flown.Load()-before) / (float64(qs[0].N) * time.Since(since).Seconds())
				}
				b.ReportMetric(share, "%quota")
				b.ReportMetric(0, "ns/op")
				cancel()
				wg.Wait()
			})
		}
	}
}
