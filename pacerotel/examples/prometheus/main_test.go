package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gopacer/pacer/pacertest"
)

// A scrape has the three seconds and more for which requests waited, exactly.
func TestScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 10, Burst: 10}, pacertest.NoHeaders)
		defer server.Close()
		p, err := newProgram(server.Transport())
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

// The program as it is, but for the time that it takes.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(&out, ""); err != nil || !strings.Contains(out.String(), "pacer_wait_duration_seconds_count{") {
			t.Errorf("%v: %s", err, &out)
		}
	})
}
