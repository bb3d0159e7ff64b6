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

// TestNeighborComesAndGoes: at a server that says only when to come back, another program takes nearly all in ten minutes of each twenty. In each of the others, the pace is soon what it
// was before, however often that has happened.
func TestNeighborComesAndGoes(t *testing.T) {
	const phase, rate, phases, every = 10 * time.Minute, 4.0, 12, time.Second / 5 // the other program asks for more than there is
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		start := time.Now()
		bucket := &tokens{rate: rate, burst: 2, left: 2, at: start}
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
				bucket.Take(neighbor, 1)
			}
			resp := lab.Answer(r, http.StatusOK, "")
			v := bucket.Take(now, 1)
			pacertest.Dialect{RetryAfter: pacertest.RetryAfterDecimal}.Set(resp.Header, v, now)
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
				t.Errorf("%.2f of what is there are used in minutes %d to %d, without the other program", share, 10*i+5, 10*i+10)
			}
		}
	})
}
