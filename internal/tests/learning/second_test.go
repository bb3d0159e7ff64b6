package learning

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestWindowOfASecond: a window of one request a second begins with each request, and ends within the second
// that is stated as an instant. The next one is stated to end within the second after that, which only touches
// it. One look is refused, before it is known how a window begins; each later request goes when a window
// begins.
func TestWindowOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		time.Sleep(370 * time.Millisecond)
		said := pacertest.XRateLimit
		said.RetryAfter = pacertest.RetryAfterSeconds
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Second}, said)
		defer server.Close()
		c := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}}
		start := time.Now()
		for range 60 {
			lab.Get(t, c, "http://a.example/")
		}
		if stats, took := server.Stats(), time.Since(start); stats.Refused != 1 || took > 60*time.Second {
			t.Errorf("%d refused of 60 in %v", stats.Refused, took)
		}
	})
}

// TestWindowThatBeganBeforeItsAnswer: a window of five seconds begins with a request, whose answer takes a
// tenth of a second, and ends in the same part of a second. Where that is just before a whole second, the
// middle of the round trip, at which it began as far as is known, is after it: whole seconds since then would
// end a second too early. No look is refused, and no second is lost: 99 windows take five seconds and less than
// a round trip each.
func TestWindowThatBeganBeforeItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		time.Sleep(37 * time.Millisecond)
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: 5 * time.Second}, pacertest.XRateLimit)
		defer server.Close()
		base := lab.Direct(server)
		c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Millisecond)
			defer time.Sleep(90 * time.Millisecond)
			return base.RoundTrip(r)
		})}}
		start := time.Now()
		for range 1000 {
			lab.Get(t, c, "http://a.example/")
		}
		if stats, took := server.Stats(), time.Since(start); stats.Refused != 0 || took != (504*time.Second+913*time.Millisecond) {
			t.Errorf("%d refused of 1000 in %v", stats.Refused, took)
		}
	})
}
