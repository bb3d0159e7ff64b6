package throttle

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// keep writes and reads a memory, as from one run of a program to the next.
func keep(t *testing.T, m adaptive.Memory) (kept adaptive.Memory) {
	t.Helper()
	text, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestMemoryOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(4, time.Minute))
		a.get() // in flight, and may have been counted
		m := keep(t, a.l.memory())
		reset := time.Now().Add(time.Minute)
		want := adaptive.Memory{Windows: []adaptive.WindowMemory{{Limit: 10, Remaining: 3, Early: reset, Late: reset}}}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Fatal(diff)
		}
		time.Sleep(10 * time.Second)
		b := server10(t)
		b.l.remember(m, 0, (*adaptive.Server).Remember)
		b.wantOpen(1) // it starts slowly, as ever
		b.get().Answered(says(2, 50*time.Second))
		b.wantOpen(2)
		for n := 1; n >= 0; n-- {
			b.get().Answered(says(n, 50*time.Second))
		}
		start := time.Now()
		b.get()
		if got, want := time.Since(start), 50*time.Second; got != want {
			t.Errorf("waited %v, want %v", got, want)
		}
	})
}

func TestMemoryThatIsOutOfDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(0, time.Minute))
		a.l.Pause(30 * time.Second)
		m := keep(t, a.l.memory())
		for after, want := range map[time.Duration]time.Duration{
			0: time.Minute, 20 * time.Second: 40 * time.Second, 59 * time.Second: time.Second, time.Minute: 0, time.Hour: 0,
		} {
			synctest.Wait()
			later := m
			later.Held = m.Held.Add(-after)
			later.Windows = []adaptive.WindowMemory{m.Windows[0]}
			later.Windows[0].Early, later.Windows[0].Late = m.Windows[0].Early.Add(-after), m.Windows[0].Late.Add(-after)
			b := server10(t)
			b.l.remember(later, 0, (*adaptive.Server).Remember)
			if f := b.l.Forecast(Claim{}); f.Wait != want {
				t.Errorf("%v later: %v to wait, want %v", after, f.Wait, want)
			}
		}
	})
}

func TestMemoryOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := asker{t, &Limiter{Rand: noJitter, SlowStart: true}}
		for range 3 { // it serves 10 in a second, and refuses one
			for range 10 {
				a.get().Answered(Answer{})
				time.Sleep(100 * time.Millisecond)
			}
			a.get().Answered(Answer{Refused: true})
		}
		m := keep(t, a.l.memory())
		if m.Rate < 8 || m.Rate > 10 || len(m.Windows) > 0 {
			t.Fatalf("%+v is remembered, want a rate of 9.5 or less", m)
		}
		time.Sleep(30 * time.Second)
		b := asker{t, &Limiter{Rand: noJitter, SlowStart: true}}
		b.l.remember(m, 0, (*adaptive.Server).Remember)
		start := time.Now()
		for range 20 {
			b.get().Answered(Answer{})
		}
		if took := time.Since(start).Seconds(); took < 18/10. || took > 20/8. {
			t.Errorf("20 took %v s at %v a second", took, m.Rate)
		}
		for after, want := range map[time.Duration]bool{time.Hour: true, 24 * time.Hour: false} {
			later := m
			later.At = m.At.Add(-after)
			c := asker{t, &Limiter{Rand: noJitter, SlowStart: true}}
			c.l.remember(later, 0, (*adaptive.Server).Remember)
			if known := c.l.memory().Rate != 0; known != want {
				t.Errorf("%v later, the rate is known: %v, want %v", after, known, want)
			}
		}
	})
}

func TestMemoryOfAServerThatRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := time.Now().Add(time.Hour)
		a := asker{t, &Limiter{Rand: noJitter}}
		a.l.remember(adaptive.Memory{Windows: []adaptive.WindowMemory{{Limit: 10, Late: late, Early: late, Habits: adaptive.Habits{Refill: 2}}}}, 0, (*adaptive.Server).Remember)
		start := time.Now()
		a.get()
		a.get()
		if got, want := time.Since(start), time.Second; got != want {
			t.Errorf("two went after %v, want %v", got, want)
		}
	})
}

func TestMemoryIsNotTakenForNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(9, time.Minute))
		a.l.remember(adaptive.Memory{Held: time.Now().Add(time.Minute), Windows: []adaptive.WindowMemory{{Late: time.Now().Add(time.Minute)}}}, 0, (*adaptive.Server).Remember)
		a.wantOpen(9)
	})
}

// TestMemoryOfOddNames: what a server counts apart is remembered, however long its names are, and whatever
// bytes they have: who reads headers by itself may find Latin-1.
func TestMemoryOfOddNames(t *testing.T) {
	for _, before := range []string{"", strings.Repeat("ä", 128), strings.Repeat("ä", 500), "\xe4", strings.Repeat("\xff", 64), strings.Repeat("\xff", 200)} {
		synctest.Test(t, func(t *testing.T) {
			core, search := before+"core", before+"search"
			answer := func(g *Group, path, name string, remaining int) {
				granted, err := acquireIn(t.Context(), g, func() *Limiter { return g.Limiter("api") }, Claim{Verb: "GET", Path: path})
				if err != nil {
					t.Fatal(err)
				}
				granted.Answered(Answer{Counter: name, Statements: []quota.Statement{{Name: name, Counter: name, Limit: 30, Remaining: int64(remaining), Reset: time.Minute, ResetKnown: true}}})
			}
			like := func(path []string) *Limiter { return &Limiter{Name: path[0], Rand: noJitter} }
			a, b := Group{New: like}, Group{New: like}
			answer(&a, "/users", core, 20)
			for left := range 2 {
				answer(&a, "/search", search, 1-left)
			}
			var saved bytes.Buffer
			if err := a.Save(&saved); err != nil {
				t.Fatal(err)
			}
			if err := b.Load(&saved); err != nil {
				t.Fatal(err)
			}
			for name, g := range map[string]*Group{"this run": &a, "the next": &b} {
				for path, want := range map[string]time.Duration{"/users": 0, "/search": time.Minute} {
					if f := g.Limiter("api").Forecast(Claim{Verb: "GET", Path: path}); f.Wait != want {
						t.Errorf("%q, %s, %s: %v to wait for %q, want %v", core, name, path, f.Wait, f.Bucket, want)
					}
				}
			}
		})
	}
}

// TestMemoryMayBeNonsense: a file may be damaged. Nothing in it can do more than hold
// requests back for MaxHold.
func TestMemoryMayBeNonsense(t *testing.T) {
	ever := time.Unix(1<<50, 0)
	for _, m := range []adaptive.Memory{
		{Held: ever},
		{Rate: math.Inf(1), At: ever},
		{Rate: math.NaN(), Growth: math.NaN()},
		{Rate: -1},
		{Rate: 1e-300, Growth: -1},
		{Windows: make([]adaptive.WindowMemory, 1000)},
		{Windows: []adaptive.WindowMemory{{Limit: math.MinInt, Remaining: math.MinInt, Early: ever, Late: ever, Resolution: math.MinInt64, Span: math.MinInt64}}},
		{Windows: []adaptive.WindowMemory{{Limit: math.MaxInt, Remaining: 0, Early: time.Unix(-1<<50, 0), Late: ever, Resolution: math.MaxInt64, Span: math.MaxInt64}}},
		{Windows: []adaptive.WindowMemory{{Limit: 5, Late: ever, Habits: adaptive.Habits{Refill: math.Inf(1)}}}},
		{Windows: []adaptive.WindowMemory{{Limit: 5, Late: ever, Habits: adaptive.Habits{Refill: 1e-300}}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := server10(t)
			a.l.remember(m, 0, (*adaptive.Server).Remember)
			start := time.Now()
			a.get().Answered(Answer{})
			if waited := time.Since(start); waited > 16*time.Minute {
				t.Errorf("%+v: waited %v", m, waited)
			}
			if n := len(a.l.memory().Windows); n > 16 {
				t.Errorf("%d windows", n)
			}
		})
	}
}
