package pace

import (
	"testing"
	"time"
)

// TestRateCancel: a grant that was not sent has used nothing of the pace, whichever of them it was.
func TestRateCancel(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name string
		went time.Duration // of the one that is taken back
		n    int
		want time.Duration // for which the others use the rate
	}{
		{"the latest", 200 * ms, 1, 900 * ms},
		{"another one of that instant", 200 * ms, 5, 500 * ms},
		{"an earlier one", 0, 2, 800 * ms},
		{"one from before the rate was set", -1, 2, 1000 * ms},
	} {
		r := Rate{episodes: episodes{measuredFrom: start}, lastGrant: start, rate: 10, setAt: start, pacedTo: start}
		r.Take(start, start, 2)
		for _, n := range []int{2, 5, 1} {
			now := start.Add(200 * ms)
			r.Take(now, now, n)
		}
		if got := r.pacedTo.Sub(start); got != 1000*ms {
			t.Fatalf("ten tokens use the rate for %v, want 1s", got)
		}
		if r.Cancel(start.Add(test.went), test.n); r.pacedTo != start.Add(test.want) {
			t.Errorf("%s: the others use the rate for %v, want %v", test.name, r.pacedTo.Sub(start), test.want)
		}
	}
	var unknown Rate
	unknown.Take(start, start, 1)
	if unknown.Cancel(start, 1); unknown.pacedTo != 0 {
		t.Errorf("no rate is known, and it is used up until %v", unknown.pacedTo)
	}
}

// TestRateCancelInATrial: nothing of it is left, not even how fast the trial has become; and each grant is
// taken back once.
func TestRateCancelInATrial(t *testing.T) {
	r := fallenTo1()
	r.ask(2*time.Second, 0)
	before, now := r, r.Due(start.Add(2*time.Second), 0, 1, 0, false)
	r.Take(now, now, 1)
	if r.former.tried == before.former.tried {
		t.Fatal("the grant is not in the trial")
	}
	r.Cancel(now, 1)
	if r.pacedTo != before.pacedTo || r.former.tried != before.former.tried {
		t.Errorf("the rate is used up until %v, and %v s are tried, want %v and %v", r.pacedTo, r.former.tried, before.pacedTo, before.former.tried)
	}
	if r.Cancel(now, 1); r.pacedTo >= before.pacedTo {
		t.Error("the other one of that instant is not taken back")
	}
}

// TestCancelOfABurst: what an earlier run has found may go at once after all, and no more than that.
func TestCancelOfABurst(t *testing.T) {
	var r Rate
	r.Resume(start, &Memory{Rate: 10, At: start.Add(-time.Hour), Burst: 5}, 0)
	r.Take(start, start, 3)
	if r.Cancel(start, 3); r.burst.left != 5 {
		t.Errorf("%d may go at once, want 5", r.burst.left)
	}
	if r.Cancel(start, 3); r.burst.left != 5 {
		t.Errorf("%d may go at once, want no more than 5", r.burst.left)
	}
	r.Take(start, start, 5)
	if r.Cancel(start, 1); r.burst.left != 0 {
		t.Errorf("%d may go at once where all had gone, want none", r.burst.left)
	}
}

// TestCancelInAWindow: a turn has one more again. What went before the turn is not of it.
func TestCancelInAWindow(t *testing.T) {
	for _, test := range []struct {
		went                 time.Duration
		n                    int
		wantGranted, wantNow int
	}{{0, 2, 2, 1}, {0, 9, 0, 0}, {-1, 2, 4, 3}} {
		r := Rate{rate: 1, window: window{size: 10, turn: turn{from: start, granted: 4, since: 3}}}
		r.Cancel(start.Add(test.went), test.n)
		if got := r.window.turn; got.granted != test.wantGranted || got.since != test.wantNow {
			t.Errorf("%d of %v: %+v, want %d granted, %d of them since", test.n, test.went, got, test.wantGranted, test.wantNow)
		}
	}
}

// TestRateCancelInAnyOrder: grants that are given back leave the pace as if they had not gone, whichever they
// are and in whatever order.
func TestRateCancelInAnyOrder(t *testing.T) {
	const s = time.Second
	type grant struct {
		at time.Duration
		n  int
	}
	for name, test := range map[string]struct {
		goes []grant
		back []int
		want time.Duration // when the next one is due
	}{
		"none":                              {[]grant{{0, 1}, {s, 1}}, nil, 2 * s},
		"the latest":                        {[]grant{{0, 1}, {s, 1}}, []int{1}, s},
		"the one before":                    {[]grant{{0, 1}, {s, 1}}, []int{0}, s},
		"both":                              {[]grant{{0, 1}, {s, 1}}, []int{1, 0}, 0},
		"both, the first one first":         {[]grant{{0, 1}, {s, 1}}, []int{0, 1}, 0},
		"two at one instant":                {[]grant{{0, 1}, {0, 5}}, []int{1, 0}, 0},
		"the larger of two at one instant":  {[]grant{{0, 1}, {0, 5}}, []int{1}, s},
		"the smaller of two at one instant": {[]grant{{0, 1}, {0, 5}}, []int{0}, 5 * s},
		"two, the smaller one first":        {[]grant{{0, 1}, {0, 5}}, []int{0, 1}, 0},
	} {
		r := Rate{rate: 1, episodes: episodes{measuredFrom: start}, setAt: start, pacedTo: start.Add(-s)}
		for _, g := range test.goes {
			r.Take(start.Add(g.at), start.Add(g.at), g.n)
		}
		for _, i := range test.back {
			r.Cancel(start.Add(test.goes[i].at), test.goes[i].n)
		}
		if due := r.Due(start, 0, 1, 0, false).Sub(start); due != test.want {
			t.Errorf("%s: the next one is due in %v, want %v", name, due, test.want)
		}
	}
}
