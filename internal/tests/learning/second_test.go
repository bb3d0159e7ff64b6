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
