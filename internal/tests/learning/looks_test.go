package learning

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// uncounted is an Algorithm that states what remained before the request which it answers.
type uncounted struct{ pacertest.Algorithm }

// Take implements pacertest.Algorithm.
func (b uncounted) Take(now time.Time, n int) pacertest.Verdict {
	remained := b.Algorithm.Take(now, 0).Remaining
	v := b.Algorithm.Take(now, n)
	v.Remaining = remained
	return v
}

// Fresh implements pacertest.Algorithm.
func (b uncounted) Fresh() pacertest.Algorithm { return uncounted{b.Algorithm.Fresh()} }

// TestLooksAreKept: a program is run six times, and sends 25 requests each time, at a server that states no
// reset, or what remained before the request. What the first run was refused to find out, the later ones know:
// how many are refused in each.
func TestLooksAreKept(t *testing.T) {
	unstated := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}
	window := &pacertest.FixedWindow{Limit: 10, Window: time.Minute}
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		dialect   pacertest.Dialect
		pause     time.Duration // between the runs
		want      []int
	}{
		{"no reset", window, unstated, time.Minute, []int{10, 1, 0, 0, 0, 0}},
		{"no reset, at once", window, unstated, time.Second, []int{10, 1, 0, 0, 0, 0}},
		{"no reset, by the clock", &pacertest.ClockWindow{Limit: 10, Window: time.Minute}, unstated, 25 * time.Second, []int{8, 5, 0, 0, 0, 0}},
		{"no reset, a bucket", &pacertest.TokenBucket{Rate: 0.5, Burst: 10}, unstated, 10 * time.Second, []int{1, 0, 0, 0, 0, 0}},
		{"before the request", uncounted{window}, pacertest.XRateLimitDelta, 10 * time.Second, []int{2, 0, 1, 0, 0, 0}},
		{"before the request, GCRA", uncounted{&pacertest.GCRA{Rate: 0.5, Burst: 10}}, pacertest.XRateLimitDelta, 10 * time.Second, []int{3, 0, 0, 0, 0, 0}},
		{"both", uncounted{window}, unstated, 10 * time.Second, []int{12, 1, 1, 0, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				time.Sleep(17 * time.Second)
				server := pacertest.NewServer(test.algorithm, test.dialect)
				server.Latency = 20 * time.Millisecond
				defer server.Close()
				var saved bytes.Buffer
				var got []int
				for range test.want {
					before := server.Stats().Refused
					run(t, &saved, server.Transport(), slices.Repeat([]string{"http://a.example/"}, 25)...)
					got = append(got, server.Stats().Refused-before)
					time.Sleep(test.pause)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("%v were refused, want %v", got, test.want)
				}
			})
		})
	}
}

// TestSecondRunOfAFasterServer: what looks have found at 10 in three minutes, or in one, does not keep the next
// run from 10 in ten seconds, but for half an hour where it was one minute. No call fails.
func TestSecondRunOfAFasterServer(t *testing.T) {
	unstated := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}
	for lasted, want := range map[time.Duration]int{3 * time.Minute: 2401, time.Minute: 1081} {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			var file bytes.Buffer
			for _, lasts := range []time.Duration{lasted, 10 * time.Second} {
				server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: lasts}, unstated)
				defer server.Close()
				tr := &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}
				if file.Len() > 0 {
					if err := tr.Load(&file); err != nil {
						t.Fatal(err)
					}
				}
				served := 0
				for end := time.Now().Add(40 * time.Minute); time.Now().Before(end); served++ {
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
					if err != nil {
						if lasts != lasted { // a first run does not know how long it will wait
							t.Errorf("after %v: %v", lasted, err)
						}
						time.Sleep(time.Second)
						continue
					}
					resp.Body.Close()
				}
				if lasts != lasted && served != want {
					t.Errorf("10 in %v before: %d were served in 40 minutes, want %d", lasted, served, want)
				}
				if err := tr.Save(&file); err != nil {
					t.Fatal(err)
				}
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
