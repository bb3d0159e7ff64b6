package pacertest_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// Seven servers that all say "10 a minute" are asked for 10 at once, three times.
func ExampleAlgorithm() {
	clock := func(minute, second int) time.Time { return time.Date(2026, 11, 21, 8, minute, second, 0, time.UTC) }
	for _, a := range []pacertest.Algorithm{
		&pacertest.FixedWindow{Limit: 10, Window: time.Minute},
		&pacertest.ClockWindow{Limit: 10, Window: time.Minute},
		&pacertest.SlidingWindow{Limit: 10, Window: time.Minute, Cells: 6},
		&pacertest.SlidingLog{Limit: 10, Window: time.Minute},
		&pacertest.EstimatedWindow{Limit: 10, Window: time.Minute},
		&pacertest.TokenBucket{Rate: 10. / 60, Burst: 10},
		&pacertest.GCRA{Rate: 10. / 60, Burst: 1},
	} {
		fmt.Printf("%-26T", a)
		for _, now := range []time.Time{clock(17, 59), clock(18, 1), clock(18, 51)} {
			admitted := 0
			for range 10 {
				if a.Take(now, 1).OK {
					admitted++
				}
			}
			fmt.Printf("%3d at %s", admitted, now.Format("4:05"))
		}
		fmt.Println()
	}
	// Output:
	// *pacertest.FixedWindow     10 at 17:59  0 at 18:01  0 at 18:51
	// *pacertest.ClockWindow     10 at 17:59 10 at 18:01  0 at 18:51
	// *pacertest.SlidingWindow   10 at 17:59  0 at 18:01 10 at 18:51
	// *pacertest.SlidingLog      10 at 17:59  0 at 18:01  0 at 18:51
	// *pacertest.EstimatedWindow 10 at 17:59  0 at 18:01  8 at 18:51
	// *pacertest.TokenBucket     10 at 17:59  0 at 18:01  8 at 18:51
	// *pacertest.GCRA             1 at 17:59  0 at 18:01  1 at 18:51
}

// ban admits one request a second, and nothing for a minute after each refusal.
type ban struct{ until time.Time }

func (b *ban) Fresh() pacertest.Algorithm { return &ban{} }

func (b *ban) Take(now time.Time, n int) pacertest.Verdict {
	wait := max(0, b.until.Sub(now))
	v := pacertest.Verdict{OK: n == 0 || wait == 0, Limit: 1, Window: time.Second}
	if n > 0 {
		wait = time.Second
		if !v.OK {
			wait = time.Minute
		}
		b.until, v.RetryAfter = now.Add(wait), wait
	}
	if wait == 0 {
		v.Remaining = 1
	}
	v.Reset = wait
	return v
}

// An Algorithm of a test's own: a server that punishes clients for not waiting.
func ExampleAlgorithm_own() {
	server := pacertest.NewServer(&ban{}, pacertest.RetryAfterOnly)
	defer server.Close()

	client := &http.Client{Transport: server.Transport()}
	for range 2 {
		resp, err := client.Get("https://api.example.com/items")
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Printf("%d %q\n", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 429 "60"
}

// The windows of one user start 20 seconds after those of the clock.
func ExampleClockWindow() {
	a := &pacertest.ClockWindow{Limit: 100, Window: time.Minute, Phase: 20 * time.Second}
	v := a.Take(time.Date(2026, 11, 21, 8, 17, 59, 0, time.UTC), 1)
	fmt.Println(v.Remaining, "left for", v.Reset)
	// Output: 99 left for 21s
}

// nginx's limit_req with rate=10r/s and burst=2 serves three requests evenly, and refuses
// the fourth.
func ExampleLeakyBucket() {
	a := &pacertest.LeakyBucket{Rate: 10, Depth: 3, Queue: true}
	now := time.Now()
	for range 4 {
		v := a.Take(now, 1)
		fmt.Println(v.OK, v.Delay)
	}
	// Output:
	// true 0s
	// true 100ms
	// true 200ms
	// false 0s
}

// A client that asks again every 10 seconds is never admitted where refused requests
// count, too.
func ExampleSlidingLog() {
	for _, count := range []bool{false, true} {
		a := &pacertest.SlidingLog{Limit: 1, Window: 30 * time.Second, CountRefused: count}
		admitted := 0
		for now := range 10 {
			if a.Take(time.Unix(int64(10*now), 0), 1).OK {
				admitted++
			}
		}
		fmt.Println(admitted, "of 10")
	}
	// Output:
	// 4 of 10
	// 1 of 10
}
