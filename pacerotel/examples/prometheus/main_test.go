package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// A scrape has the three seconds and more for which requests waited, exactly.
func TestScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 10, Burst: 10}, pacertest.NoHeaders)
		defer server.Close()
		p, err := newProgram(server.Transport(), quota.MustParse("10/s burst 10"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		var out strings.Builder
		p.work(&out, 30)
		p.client.CloseIdleConnections()
		text := scrape(p.metrics)
		for _, want := range []string{
			`pacer_grants_total{pacer_bucket="api.example.com"} 30`,
			// 20 wait for 0.1 s, 0.2 s, …, 2 s: 21 s in all.
			`pacer_wait_time_seconds_total{pacer_bucket="api.example.com",pacer_cause="pace"} 21`,
			`pacer_queue_length{pacer_bucket="api.example.com"} 0`,
			`pacer_quota_limit{pacer_bucket="api.example.com",pacer_quota="10/s burst 10",pacer_unit="requests"} 10`,
			`pacer_quota_remaining{pacer_bucket="api.example.com",pacer_quota="10/s burst 10",pacer_unit="requests"} 0`,
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("no %s", want)
			}
		}
		if t.Failed() || out.String() != "30 requests in 2.0 s\n\n" {
			t.Errorf("%s%s", &out, text)
		}
	})
}

// TestWhyItWaitedThreeSeconds scrapes after the story of the test of this name in internal/tests/pacing: the
// README shows what there is.
func TestWhyItWaitedThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *program
		made := func(base http.RoundTripper) http.RoundTripper {
			var err error
			if p, err = newProgram(base, quota.Quotas{lab.OnePerSecond()}); err != nil {
				t.Fatal(err)
			}
			tr := p.client.Transport.(*pacer.Transport)
			tr.Rand = lab.Zero
			return tr
		}
		after, err := lab.ThreeSeconds(t, made, func() {}, lab.Request(t, "GET", "http://api.example.com/why", ""))
		if after != 3*time.Second || err != nil {
			t.Errorf("sent after %v, %v", after, err)
		}
		const line = `pacer_wait_time_seconds_total{pacer_bucket="api.example.com",pacer_cause="window_used_up"} 2.5`
		if text := scrape(p.metrics); !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
		if readme, err := os.ReadFile("../../../README.md"); err != nil || !strings.Contains(string(readme), "`"+line+"`") {
			t.Errorf("README.md does not have %s, %v", line, err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
}

// The program as it is, but for the time that it takes.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(&out, ""); err != nil || !strings.Contains(out.String(), "pacer_wait_duration_seconds_count{") {
			t.Errorf("%v: %s", err, &out)
		}
	})
}
