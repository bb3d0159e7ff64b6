package pace

import (
	"testing"
	"time"
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

// TestRateStateInTheMiddle: what is told is when the former rate is tried, also while the middle is tried before that;
// and both are scaled.
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

// TestRateStateOfAWindow: where a window is known, what is told is when a turn goes beyond it, whatever is to be tried
// of the pace.
func TestRateStateOfAWindow(t *testing.T) {
	r := Rate{rate: 8, setAt: start, former: formerRate{rate: 100}}
	r.former.note(start, 10, time.Second, 8, 32)
	r.window = window{size: 80, alike: 1, sudden: true, least: 9 * time.Second, most: 10 * time.Second, next: start.Add(time.Minute)}
	if s := r.State(start); !r.former.middle || s.Window != 80 || s.Next != start.Add(time.Minute) {
		t.Errorf("a window of %d, and more is tried in %v, want 80 and a minute", s.Window, s.Next.Sub(start))
	}
}

// TestRateStateOfAFastPace: what was measured is told, also once the pace has grown beyond all bounds, since few ask.
func TestRateStateOfAFastPace(t *testing.T) {
	var r Rate
	r.Resume(start, &Memory{Rate: 3, Growth: maxGrowth, At: start}, 1./60)
	for _, after := range []time.Duration{0, time.Minute, 10 * time.Minute} {
		if got := r.State(start.Add(after)); got.Rate != 3 || got.SetAt != start || got.Tries != 0 {
			t.Errorf("after %v: %+v, want 3/s", after, got)
		}
	}
}
