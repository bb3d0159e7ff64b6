package promises

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// line is what becomes of a crowd that nothing but MaxStandstill bounds.
type line struct {
	name      string
	quotas    string              // configured
	algorithm pacertest.Algorithm // of the server; nil serves all
	dialect   pacertest.Dialect
	callers   int

	served int
	last   time.Duration // when the last of them was served, to the minute
	told   time.Duration // when the others were told, to the second
	wait   time.Duration // what they were told, to the second
}

// A line that moves is waited for, however long it is; a standstill is not, whatever its cause is.
func TestPromiseALineThatMovesIsWaitedFor(t *testing.T) {
	const m = time.Minute
	none := pacertest.NoHeaders
	for _, l := range []line{
		{"a minute", "60/m", nil, none, 300, 300, 4 * m, 0, 0},
		{"a minute, even", "60/m even", nil, none, 300, 300, 5 * m, 0, 0},
		{"a minute, a window", "60/m window", nil, none, 300, 300, 4 * m, 0, 0},
		{"a minute, stated", "", &pacertest.ClockWindow{Limit: 60, Window: m}, pacertest.XRateLimit, 300, 300, 4 * m, 0, 0},
		{"a minute, refused", "", &pacertest.ClockWindow{Limit: 60, Window: m}, pacertest.RetryAfterOnly, 300, 300, 4 * m, 0, 0},
		{"a slow bucket", "", &pacertest.TokenBucket{Rate: 1. / 60, Burst: 5}, pacertest.XRateLimit, 30, 30, 25 * m, 0, 0},

		{"five minutes, a window", "10/5m window", nil, none, 30, 10, 0, 0, 5 * m},
		// The last fifth is spread, for two minutes from one to the next at the most.
		{"five minutes", "10/5m", nil, none, 30, 10, 2 * m, 2 * m, 3 * m},
		{"an hour", "100/h", nil, none, 130, 100, 38 * m, 38 * m, 22 * m},
		{"a day", "10/d", nil, none, 30, 10, 2 * m, 2 * m, 24*time.Hour - 2*m},
		{"five minutes, stated", "", &pacertest.FixedWindow{Limit: 10, Window: 5 * m}, pacertest.XRateLimit, 30, 10, 2 * m, 2 * m, 3*m - time.Second},
		{"an hour, stated", "", &pacertest.FixedWindow{Limit: 100, Window: time.Hour}, pacertest.XRateLimit, 130, 100, 38 * m, 38 * m, 22*m - time.Second},
		{"a very slow bucket", "", &pacertest.TokenBucket{Rate: 1. / 150, Burst: 5}, pacertest.XRateLimit, 30, 5, 0, 0, 150 * time.Second},
	} {
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, l.stand)
		})
	}
}

func (l *line) stand(t *testing.T) {
	lab.UntilToday()
	tr := &pacer.Transport{Rand: lab.Zero}
	if l.quotas != "" {
		qs, err := quota.Parse(l.quotas)
		if err != nil {
			t.Fatal(err)
		}
		tr.Quotas = lab.All(qs...)
	}
	algorithm := l.algorithm
	if algorithm == nil {
		algorithm = &pacertest.FixedWindow{Limit: 1e9, Window: time.Second}
	}
	server := pacertest.NewServer(algorithm, l.dialect)
	server.Latency = 20 * time.Millisecond
	defer server.Close()
	tr.Base = lab.Direct(server)
	client := &http.Client{Transport: tr}
	defer client.CloseIdleConnections()
	start := time.Now()
	var mu sync.Mutex // protects what follows
	var wg sync.WaitGroup
	served, last := 0, time.Duration(0)
	for range l.callers {
		wg.Go(func() {
			resp, err := client.Get("http://a.example/")
			mu.Lock()
			defer mu.Unlock()
			if at := time.Since(start); err == nil {
				resp.Body.Close()
				served++
				last = at
				return
			}
			var e *throttle.Error
			if !errors.As(err, &e) || !errors.Is(e, throttle.ErrStandstill) || time.Since(start).Round(time.Second) != l.told || e.Wait.Round(time.Second) != l.wait {
				t.Errorf("after %v: %v; want ErrStandstill after %v, and a wait of %v", time.Since(start), err, l.told, l.wait)
			}
		})
		synctest.Wait()
	}
	wg.Wait()
	if served != l.served || last.Round(time.Minute) != l.last {
		t.Errorf("%d were served, the last after %v; want %d and %v", served, last, l.served, l.last)
	}
}

// A batch that waits for each hour is not refused, if MaxHold lets nobody go to look before, or a window of its
// own says when.
func TestPromiseABatchIsNotRefused(t *testing.T) {
	for _, batch := range []struct {
		quotas  string
		maxHold time.Duration
	}{{"", time.Hour}, {"500/h", time.Hour}, {"500/h", pacer.Forever}, {"500/h window", 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := pacertest.NewServer(&pacertest.FixedWindow{Limit: 500, Window: time.Hour}, pacertest.XRateLimit)
			defer s.Close()
			tr := &pacer.Transport{Base: lab.Direct(s), Quotas: pacer.Table{"/": quota.MustParse(batch.quotas)}, MaxStandstill: pacer.Forever, Learn: pacer.Learn{MaxHold: batch.maxHold}}
			client, start := &http.Client{Transport: tr}, time.Now()
			for range 1600 {
				if status := lab.Get(t, client, "http://a.example/"); status != 200 {
					t.Errorf("%+v: %d", batch, status)
				}
			}
			if n, took := s.Stats().Refused, time.Since(start); n != 0 || took.Round(time.Minute) != 3*time.Hour {
				t.Errorf("%+v: refused %d times in %v, want none in 3h", batch, n, took)
			}
		})
	}
}
