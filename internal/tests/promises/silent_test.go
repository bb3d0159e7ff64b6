package promises

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer"
)

// visitSilent is a visit for so long, by a caller who never tires, to a server that serves 10 a
// second, refuses all others, and says nothing.
func visitSilent(t *testing.T, span time.Duration, test func(*guest)) {
	t.Helper()
	visit(t, nil, func(g *guest) {
		var next time.Duration
		g.serve = func(int) *http.Response {
			now := time.Since(g.start)
			if now < next {
				return reply(429)
			}
			next = now + 100*time.Millisecond
			return reply(200)
		}
		for time.Since(g.start) < span {
			g.get()
		}
		test(g)
	})
}

// measured is the rate at which a server delivered between two refusals, and the pause between two
// requests that it served after the second one, when nothing held them.
type measured struct {
	delivered float64 // per second
	pause     time.Duration
}

func (g *guest) measured() (all []measured) {
	last, served := time.Duration(-1), 0
	for i, status := range g.got {
		if status == 200 {
			served++
			continue
		}
		if at := g.went[i]; last >= 0 && i+2 < len(g.went) {
			all = append(all, measured{float64(served) / (at - last).Seconds(), g.went[i+2] - g.went[i+1]})
		}
		last, served = g.went[i], 0
	}
	return all
}

// No headers at all, only refusals: measure the rate that the server delivers while it refuses,
// pace just under it.
func TestPromiseSilentServerIsPacedJustUnder(t *testing.T) {
	visitSilent(t, 10*time.Minute, func(g *guest) {
		all := g.measured()
		for _, m := range all {
			if rate := 1 / m.pause.Seconds(); rate >= max(m.delivered, 10) {
				t.Errorf("paced at %.3f/s after %.3f/s were delivered, want less", rate, m.delivered)
			}
		}
		if n := len(g.refused()); len(all) < 5 || 100*n > len(g.went) {
			t.Errorf("%d of %d refused, want a few, and at most 1 of 100", n, len(g.went))
		}
	})
}

// Success must not be slowed below what was delivered.
func TestPromiseSilentServerIsNotSlowedBelow(t *testing.T) {
	visitSilent(t, 10*time.Minute, func(g *guest) {
		for _, m := range g.measured() {
			if rate := 1 / m.pause.Seconds(); rate < 0.95*m.delivered {
				t.Errorf("paced at %.3f/s after %.3f/s were delivered, want 0.95 of it", rate, m.delivered)
			}
		}
		for i, pause := range pauses(g.went) {
			if pause > 200*time.Millisecond {
				t.Errorf("nothing went for %v after %v", pause, g.went[i])
			}
		}
		if n := len(g.went) - len(g.refused()); n < 5000 {
			t.Errorf("%d served in 10 minutes, want at least 5000 of the 6000 that it could have", n)
		}
	})
}

// Probe upward ever more rarely when probes are refused: in the end every two minutes.
func TestPromiseSilentServerIsProbedEverMoreRarely(t *testing.T) {
	visitSilent(t, 10*time.Minute, func(g *guest) {
		between := pauses(g.refused())
		for i := 1; i < len(between); i++ {
			if between[i] < min(between[i-1]*85/100, 2*time.Minute) {
				t.Errorf("refused after pauses of %v, want ever longer ones, up to 2 min", between)
				break
			}
		}
		if last := len(between) - 1; last < 10 || between[last] < 2*time.Minute {
			t.Errorf("refused after pauses of %v", between)
		}
	})
}

// One burst of refusals is one signal.
func TestPromiseBurstOfRefusalsIsOneSignal(t *testing.T) {
	const ms = time.Millisecond
	visit(t, nil, func(g *guest) {
		g.serve = func(n int) *http.Response {
			time.Sleep(time.Second + time.Duration(n)*ms)
			if n < 32 || n > 43 {
				return reply(200)
			}
			return reply(429)
		}
		var held []time.Duration
		g.crowd(32).Wait()
		g.Trace = &pacer.Trace{Answered: func(a pacer.Answered) {
			if a.Refused && a.Held > 0 {
				held = append(held, a.Held)
			}
		}}
		g.crowd(10).Wait() // of which two are refused again, one by one
		want := slices.Repeat([]time.Duration{100 * ms}, 10)
		// The third look comes at a whole second after the row that was served began: 4 s after that.
		if want = append(want, 200*ms, 1293*ms); !slices.Equal(held, want) {
			t.Errorf("held for %v, want %v", held, want)
		}
	})
}

// Answered tells of each refusal after which the bucket is held, and for how long: also of those that are
// failures by their words, and are taken for refusals.
func TestPromiseAnsweredTellsOfFailuresThatAreRefusals(t *testing.T) {
	visit(t, nil, func(g *guest) {
		g.Retry.MaxAttempts = 1
		var next time.Duration
		g.serve = func(int) *http.Response { // five a second
			now := time.Since(g.start)
			if now < next {
				return reply(503)
			}
			next = now + 200*time.Millisecond
			return reply(200)
		}
		holds := 0
		g.Trace = &pacer.Trace{Answered: func(a pacer.Answered) {
			if held := g.State()[0].Held; a.Held != held || a.Refused && (held == 0 || a.Status != 503) {
				t.Errorf("after %v: %d, refused %v, held for %v, want %v", time.Since(g.start), a.Status, a.Refused, a.Held, held)
			}
			if a.Refused && a.Held > 0 {
				holds++
			}
		}}
		for time.Since(g.start) < time.Minute {
			g.get()
			time.Sleep(50 * time.Millisecond)
		}
		if holds == 0 {
			t.Error("no refusal held the bucket")
		}
	})
}
