package pace

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestResumeMeasures: a refusal ends a measurement that began with the run. Else runs that end before the
// second refusal would learn nothing, and each would find the limit anew.
func TestResumeMeasures(t *testing.T) {
	for _, test := range []struct {
		served int // in 4 s
		want   float64
	}{
		{0, 4},
		{sameEpisode - 1, 4},
		{20, paceShare * 5},
	} {
		var r Rate
		if known, _ := r.Resume(start, &Memory{Rate: 4, At: start}, 0); !known {
			t.Fatal("no rate is known")
		}
		now := start
		for range test.served {
			now = now.Add(4 * time.Second / time.Duration(test.served))
			r.Take(now, now, 1)
			r.Serve(now, 1, Went{})
		}
		now = start.Add(4 * time.Second)
		r.Refuse(now, true)
		if got := r.State(now).Rate; got != test.want {
			t.Errorf("a rate of %v after %d were served in 4 s and one was refused, want %v", got, test.served, test.want)
		}
	}
}

// TestRateStateInTheMiddle: what is told is when the former rate is tried, also while the middle is tried
// before that; and both are scaled.
func TestRateStateInTheMiddle(t *testing.T) {
	r := Rate{rate: 8, setAt: start, former: formerRate{rate: 100}}
	r.former.note(start, 10, time.Second, 8, 32)
	if s := r.State(start); s.Former != 100 || s.Next != start.Add(firstGap) || s.Tries != 0 {
		t.Errorf("%v/s is tried at %v, and %v/s now, want 100/s %v later, and 0/s", s.Former, s.Next, s.Tries, firstGap)
	}
	if near := (Rate{rate: 90, former: r.former}); near.State(start).Former != 100 {
		t.Errorf("what is tried of 90/s is %v/s, want 100/s", near.State(start).Former)
	}
	if r.Scale(0.5); r.former.goal(r.rate) != 8 {
		t.Errorf("of half of the rate, %v/s is tried, want 8/s", r.former.goal(r.rate))
	}
}

// TestRateStateOfAWindow: where a window is known, what is told is when a turn goes beyond it, whatever is to
// be tried of the pace.
func TestRateStateOfAWindow(t *testing.T) {
	r := Rate{rate: 8, setAt: start, former: formerRate{rate: 100}}
	r.former.note(start, 10, time.Second, 8, 32)
	r.window = window{size: 80, alike: 1, sudden: true, least: 9 * time.Second, most: 10 * time.Second, next: start.Add(time.Minute)}
	if s := r.State(start); !r.former.middle || s.Window != 80 || s.Next != start.Add(time.Minute) {
		t.Errorf("a window of %d, and more is tried in %v, want 80 and a minute", s.Window, s.Next.Sub(start))
	}
}

// TestRateStateOfAFastPace: what was measured is told, also once the pace has grown beyond all bounds, since
// few ask.
func TestRateStateOfAFastPace(t *testing.T) {
	var r Rate
	r.Resume(start, &Memory{Rate: 3, Growth: maxGrowth, At: start}, 1./60)
	for _, after := range []time.Duration{0, time.Minute, 10 * time.Minute} {
		if got := r.State(start.Add(after)); got.Rate != 3 || got.SetAt != start || got.Tries != 0 {
			t.Errorf("after %v: %+v, want 3/s", after, got)
		}
	}
}

// TestLimitIsKept: a later run goes on where the earlier one has ended, at a window and at a log that nobody
// states: the next so many go when they would have gone, and so does the first one beyond. What goes beyond all
// bounds is passed over.
func TestLimitIsKept(t *testing.T) {
	const s = time.Second
	log := Rate{lastGrant: start.Add(40 * s), sliding: sliding{size: 5, top: 5, span: 60 * s, longest: 61 * s, back: leastRow, gap: 5 * time.Minute, next: start.Add(4 * time.Minute)}}
	for i := range monotime.Time(4) {
		log.sliding.serve(start.Add(time.Duration(i)*10*s), 1)
	}
	window := Rate{rate: 0.1, lastGrant: start.Add(40 * s), setAt: start, window: window{
		size: 5, alike: 3, sudden: true, least: 55 * s, most: 60 * s, slack: slackStep, gap: 5 * time.Minute, next: start.Add(4 * time.Minute),
		turn: turn{from: start, granted: 3, served: 3},
	}}
	for name, r := range map[string]*Rate{"log": &log, "window": &window} {
		m, known := r.Memory(0)
		if !known || m.Rate <= 0 || m.Limit.Size != 5 {
			t.Fatalf("%s: %+v is kept", name, m)
		}
		for _, later := range []time.Duration{41 * s, 59 * s, 65 * s, 3 * time.Minute, 5 * time.Minute} {
			now := start.Add(later)
			var next Rate
			if known, atOnce := next.Resume(now, &m, 1./900); !known || atOnce || !next.Known() {
				t.Fatalf("%s, %v later: known %v, at once %v", name, later, known, atOnce)
			}
			for n := range 12 {
				if got, want := next.Due(now, 0, n+1, 0, false), r.Due(now, 0, n+1, 0, false); got != want {
					t.Errorf("%s, %v later: %d go in %v, want %v", name, later, n+1, got.Sub(now), want.Sub(now))
				}
			}
			if got, want := next.Alone(now, 9, 0), r.Alone(now, 9, 0); got != want { // it may note that more goes: on both
				t.Errorf("%s, %v later: alone %v, want %v", name, later, got, want)
			}
			r.sliding.beyond = false
		}
		for what, change := range map[string]func(l *Limit){
			"no size": func(l *Limit) { l.Size = -1 }, "huge": func(l *Limit) { l.Size = math.MaxInt }, "no span": func(l *Limit) { l.Least = 0 },
			"less than nothing": func(l *Limit) { l.Most = l.Least - 1 }, "longer than MaxHold": func(l *Limit) { l.Most = 901 * s }, "slack": func(l *Limit) { l.Slack = time.Hour },
			"no gap": func(l *Limit) { l.Gap = -1 }, "long": func(l *Limit) { l.Went = make([]Past, MaxPast+1) },
		} {
			bad, next := m, Rate{}
			change(&bad.Limit)
			if next.Resume(start, &bad, 1./900); next.sliding.on() || next.window.known() {
				t.Errorf("%s: %s: a limit is taken over", name, what)
			}
		}
		bad, next := m, Rate{}
		bad.Limit.Next, bad.Limit.Went = start.Add(monotime.Longest), []Past{{start.Add(monotime.Longest), math.MaxInt}, {start.Add(monotime.Longest), math.MinInt}}
		next.Resume(start, &bad, 1./900)
		if at := next.Due(start, 0, 1, 0, false); at.Sub(start) > 62*s {
			t.Errorf("%s: after nonsense, one goes in %v", name, at.Sub(start))
		}
		for _, gap := range []time.Duration{time.Hour, monotime.Longest, math.MaxInt64} { // no run has a gap longer than 200 requests take
			bad.Limit.Gap = gap
			next.Resume(start, &bad, 1./900)
			if at := next.State(start).Next.Sub(start); at != 40*time.Minute {
				t.Errorf("%s: after a gap of %v, more goes in %v, want 40m", name, gap, at)
			}
		}
	}
}

// TestLogKeepsWhatIsInFlight: what is in flight when a log is kept may have been served, and is back when it
// would have been in that run; or if as many have been served as can be kept one by one, when two of these are.
func TestLogKeepsWhatIsInFlight(t *testing.T) {
	const s = time.Second
	for _, size := range []int{5, slidingCells + 4} {
		r := Rate{lastGrant: start.Add(40 * s), sliding: sliding{size: size, top: size, span: 60 * s, longest: 61 * s, back: leastRow, gap: 5 * time.Minute, next: start.Add(4 * time.Minute)}}
		for i := range size - 4 {
			r.sliding.serve(start.Add(time.Duration(i)*s/10), 1)
		}
		for inFlight := range 5 {
			m, _ := r.Memory(inFlight)
			for _, later := range []time.Duration{41 * s, 59 * s, 65 * s, 3 * time.Minute} {
				now := start.Add(later)
				var next Rate
				if next.Resume(now, &m, 1./900); !next.sliding.on() {
					t.Fatalf("of %d, %d in flight: nothing is known", size, inFlight)
				}
				for n := range size {
					if got, want := next.Due(now, 0, n+1, 0, false), r.Due(now, 0, n+1, inFlight, false); got != want && (inFlight == 0 || size <= slidingCells || got < want || got > want.Add(s/10)) {
						t.Errorf("of %d, %d in flight, %v later: %d go in %v, want %v", size, inFlight, later, n+1, got.Sub(now), want.Sub(now))
					}
				}
			}
		}
	}
}

// TestTrialIsKept: more is tried when the earlier run would have tried it, also if each run is short.
func TestTrialIsKept(t *testing.T) {
	r := Rate{rate: 8, setAt: start, lastGrant: start, former: formerRate{rate: 8, up: true, upGap: 4 * time.Minute, next: start.Add(3 * time.Minute)}}
	m, _ := r.Memory(0)
	for later, want := range map[time.Duration]time.Duration{0: 3 * time.Minute, 2 * time.Minute: 3 * time.Minute, time.Hour: time.Hour, -time.Hour: -time.Hour + 4*time.Minute} {
		var next Rate
		next.Resume(start.Add(later), &m, 1./900)
		if at := next.State(start.Add(later)).Next.Sub(start); at != want || next.former.upGap != 4*time.Minute {
			t.Errorf("%v later: more is tried after %v, and then %v, want %v and 4m", later, at, next.former.upGap, want)
		}
	}
}
