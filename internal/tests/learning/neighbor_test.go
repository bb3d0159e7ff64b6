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

// TestNeighborComesAndGoes: another program takes nearly all in ten minutes of each twenty. In each of the
// others, as much is used as before, however often that has happened: at a server that says only when to come
// back, and at one that says what remains, but not until when.
func TestNeighborComesAndGoes(t *testing.T) {
	const phase, rate, phases, every = 10 * time.Minute, 4.0, 12, time.Second / 5 // the other program asks for more than there is
	for name, server := range map[string]struct {
		algorithm pacertest.Algorithm
		dialect   pacertest.Dialect
	}{
		"when to come back": {&tokens{rate: rate, burst: 2}, pacertest.Dialect{RetryAfter: pacertest.RetryAfterDecimal}},
		"what remains":      {&pacertest.FixedWindow{Limit: rate, Window: time.Second}, pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}},
	} {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			start := time.Now()
			algorithm := server.algorithm.Fresh()
			neighbor := start.Add(phase) // when it comes next
			var served [phases + 1]int   // in the last half of each phase
			tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(40 * time.Millisecond)
				now := time.Now()
				for ; !neighbor.After(now); neighbor = neighbor.Add(every) {
					if neighbor.Sub(start)/phase%2 == 0 {
						neighbor = neighbor.Add(phase)
						break
					}
					algorithm.Take(neighbor, 1)
				}
				resp := lab.Answer(r, http.StatusOK, "")
				v := algorithm.Take(now, 1)
				server.dialect.Set(resp.Header, v, now)
				if at := now.Sub(start); !v.OK {
					resp.StatusCode = http.StatusTooManyRequests
				} else if at%phase >= phase/2 {
					served[at/phase]++
				}
				return resp, nil
			})}
			for time.Since(start) < phases*phase {
				if resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err == nil {
					resp.Body.Close()
				} else {
					time.Sleep(time.Second)
				}
			}
			for i := 0; i < phases; i += 2 {
				if share := float64(served[i]) / (rate * (phase / 2).Seconds()); share < 0.8 {
					t.Errorf("%s: %.2f of what is there are used in minutes %d to %d, without the other program", name, share, 10*i+5, 10*i+10)
				}
			}
		})
	}
}
