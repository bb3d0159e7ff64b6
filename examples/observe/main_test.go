package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// The report of the program as it stands, in virtual time. Which of the requests that are sent at once wait is
// a matter of chance: of 600 runs in which goroutines took turns at random, 46 to 60 refusals would have been
// saved, 52 on average.
func TestReport(t *testing.T) {
	want := regexp.MustCompile(`^For 6s, a client sends 20 requests every 600ms. pacer only looks on.

api.example.com
  200 answers, 60 of them refusals
  pacer would have saved ([45]\d|60) of the refusals: it would have let these requests wait
  \d+ requests would have waited, for \d+ms on average, for [\d.]+m?s at most
  what for: window used up \(\d+\)(, slow start \(\d+\))?
  the quota that fits: 50/2s, which explains 200 of 200 answers, and is what the host states

	Quotas: pacer.Table{"api.example.com/": quota.MustParse\("50/2s"\)}
$`)
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		defer server.Close()
		var out strings.Builder
		run(&out, &http.Client{Transport: server.Transport()}, "http://api.example.com/", work{6 * time.Second, 600 * time.Millisecond, 20})
		if !want.MatchString(out.String()) {
			t.Errorf("got\n%s\nwant\n%s", &out, want)
		}
	})
}

// A host that refuses nothing and states nothing has no quota, and one that only refuses has the one that
// explains that.
func TestHostsWithoutHeaders(t *testing.T) {
	for _, test := range []struct {
		algorithm pacertest.Algorithm
		want      string
	}{
		{nil, "no quota is to be seen"},
		{&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, "the quota that fits: 50/2s, which explains 200 of 200 answers\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := pacertest.NewServer(test.algorithm, pacertest.NoHeaders)
			defer server.Close()
			var out strings.Builder
			run(&out, &http.Client{Transport: server.Transport()}, "http://api.example.com/", work{6 * time.Second, 600 * time.Millisecond, 20})
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("no %q in\n%s", test.want, &out)
			}
		})
	}
}

// The server sees the same with an observer and without.
func TestNothingChanges(t *testing.T) {
	var seen []string
	for _, observed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer()
			defer server.Close()
			client := &http.Client{Transport: server.Transport()}
			if observed {
				client.Transport = (&observer{}).around(client.Transport)
			}
			work{6 * time.Second, 600 * time.Millisecond, 20}.do(t.Output(), client, "http://api.example.com/")
			seen = append(seen, fmt.Sprintf("%+v", server.Stats()))
		})
	}
	if seen[1] != seen[0] {
		t.Errorf("with an observer: %.500s\nwithout: %.500s", seen[1], seen[0])
	}
}

// For whatever a server counts, the text that fits explains its answers.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		server pacertest.Algorithm
		want   string
	}{
		{&pacertest.SlidingLog{Limit: 30, Window: 5 * time.Second}, "30/5s"},
		{&pacertest.FixedWindow{Limit: 30, Window: 5 * time.Second}, "30/5s window"},
		{&pacertest.ClockWindow{Limit: 30, Window: 10 * time.Second}, "30/10s window grid"},
		{&pacertest.TokenBucket{Rate: 4, Burst: 25}, "4/s burst 25"},
	} {
		t.Run(test.want, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			at := time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC)
			var answers []answer
			for range 400 {
				answers = append(answers, answer{at, !test.server.Take(at, 1).OK})
				at = at.Add(time.Duration(random.Float64() * random.Float64() * float64(time.Second) / 2))
			}
			best, ok := fit(answers, nil)
			if !ok || best.quota.String() != test.want || best.wrong > 4 {
				t.Errorf("got %v, which is wrong %d times", best.quota, best.wrong)
			}
		})
	}
}
