package overload

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// start is the first instant of the tests.
const start = monotime.Time(1000 * time.Hour)

// TestTrial: how a trial ends.
func TestTrial(t *testing.T) {
	const s = time.Second
	repeat := func(n int, a string) (all string) {
		for range n {
			all += a
		}
		return all
	}
	for _, test := range []struct {
		name    string
		answers string
		every   time.Duration
		want    Belief
		over    bool
		next    time.Duration // after how long another trial may begin
	}{
		{"served", repeat(32, "."), 0, MeanRefusal, false, 0},
		{"nearly", repeat(31, "."), 0, OnTrial, false, 0},
		{"six failures", repeat(6, ".F"), 0, OnTrial, false, 0},
		{"seven failures", repeat(7, ".F"), 0, MeanFailure, true, nextTrial},
		{"failures in a row are one", "." + repeat(30, "F"), 0, OnTrial, false, 0},
		{"failures of one flight are one", repeat(32, ".f"), 0, MeanRefusal, false, 0},
		{"nothing is served any more", "." + repeat(6, "F"), s, MeanFailure, true, time.Hour}, // MaxHold
		{"later, four", repeat(32, ".") + repeat(4, ".F"), 0, MeanRefusal, false, 0},
		{"later, five", repeat(32, ".") + repeat(5, ".F"), 0, MeanFailure, true, nextTrial},
	} {
		o := Failures{belief: OnTrial, trialFrom: 1, lastFailed: true, lastServed: start, lastAnswer: start}
		now, over := start, false
		for i, a := range test.answers {
			now = now.Add(test.every)
			granted := uint64(2*i + 2)
			if a == 'f' {
				granted = 2
			}
			refused, ends := o.Take(now, Attempt{Granted: granted, Failed: a != '.', Paced: true}, uint64(2*i+3), time.Hour)
			over = over || ends
			if refused != (a != '.' && !ends) {
				t.Errorf("%s: answer %d: refused %v", test.name, i, refused)
			}
		}
		if o.belief != test.want || over != test.over {
			t.Errorf("%s: %v, over %v; want %v, %v", test.name, o.belief, over, test.want, test.over)
		}
		if over && o.noTrialBefore != now.Add(test.next) {
			t.Errorf("%s: the next trial in %v, want %v", test.name, o.noTrialBefore.Sub(now), test.next)
		}
	}
	o := Failures{belief: OnTrial, trialFrom: 5, lastServed: start, lastAnswer: start}
	for range 20 {
		o.Take(start, Attempt{Granted: 4, Paced: true}, 9, time.Hour)
		o.Take(start, Attempt{Granted: 6}, 9, time.Hour)
	}
	if o.served != 0 {
		t.Errorf("%d counted from before the trial, and from before the pace was known", o.served)
	}
}

// TestInVain: failures at a pace are failures after a minute at least, if enough are failures, and less
// than half is served of what was usual: in the latest whole minute before, in a part of one, or at a pace.
func TestInVain(t *testing.T) {
	for name, test := range map[string]struct {
		usual          func(o *Failures, n *uint64)
		served, failed int           // at a pace
		in             time.Duration // these
		want           Belief
	}{
		"less than half":            {wholeMinute, 290, 8, time.Minute, MeanFailure},
		"as much as a lower limit":  {wholeMinute, 310, 8, time.Minute, MeanRefusal},
		"too few fail to tell":      {wholeMinute, 100, 7, time.Minute, MeanRefusal},
		"less is asked for":         {wholeMinute, 100, 0, time.Minute, MeanRefusal},
		"too soon to tell":          {wholeMinute, 100, 8, 59 * time.Second, MeanRefusal},
		"in several minutes":        {wholeMinute, 5 * 290, 8, 5 * time.Minute, MeanFailure},
		"too far apart":             {wholeMinute, 100, 8, harmsWithin + 10*time.Second, MeanRefusal},
		"nothing was seen before":   {nothing, 100, 8, time.Minute, MeanRefusal},
		"of a part of a minute":     {partOfMinute, 140, 8, time.Minute, MeanFailure},
		"half of that part":         {partOfMinute, 160, 8, time.Minute, MeanRefusal},
		"than at the pace before":   {atPace, 290, 8, time.Minute, MeanFailure},
		"half of the pace before":   {atPace, 310, 8, time.Minute, MeanRefusal},
		"of what was told together": {toldTogether, 290, 8, time.Minute, MeanFailure},
		"half of what was told":     {toldTogether, 310, 8, time.Minute, MeanRefusal},
	} {
		t.Run(name, func(t *testing.T) {
			o, n := Failures{serving: tally{from: start}}, uint64(1)
			test.usual(&o, &n)
			if o.belief == MeanFailure {
				o.try(start.Add(time.Hour), n)
				o.belief = MeanRefusal
			}
			attempts(&o, &n, start.Add(time.Hour), test.served, test.failed, test.in)
			if o.belief != test.want {
				t.Errorf("failures are %v, want %v", o.belief, test.want)
			}
		})
	}
}

func nothing(o *Failures, _ *uint64) { o.serving.from = start.Add(time.Hour) }

func wholeMinute(o *Failures, n *uint64) {
	o.serving = tally{from: start.Add(time.Hour - 2*time.Minute)}
	attempts(o, n, start.Add(time.Hour-2*time.Minute), 600, 0, time.Minute)
	o.Take(start.Add(time.Hour-time.Minute), Attempt{Granted: *n}, *n, time.Hour)
}

func partOfMinute(o *Failures, n *uint64) {
	o.serving = tally{from: start.Add(time.Hour - 30*time.Second)}
	attempts(o, n, start.Add(time.Hour-30*time.Second), 300, 0, 30*time.Second)
}

// toldTogether is 600 in each minute, of which is told in the end.
func toldTogether(o *Failures, _ *uint64) { o.Serve(start.Add(time.Hour), 60*600) }

func atPace(o *Failures, n *uint64) {
	nothing(o, n)
	o.try(start.Add(time.Hour-time.Minute), *n)
	o.belief = MeanRefusal
	attempts(o, n, start.Add(time.Hour-time.Minute), 600, 8, time.Minute)
}

// attempts makes some that are served, in a span, and some that fail between them; the last one too.
func attempts(o *Failures, n *uint64, from monotime.Time, served, failed int, in time.Duration) {
	all := served + failed
	for i := range all {
		fails := (i+1)*failed/all > i*failed/all
		*n += 2
		o.Take(from.Add(time.Duration(i)*in/time.Duration(all-1)), Attempt{Granted: *n, Failed: fails, Paced: true}, *n+1, time.Hour)
	}
}

// TestUnserved: for how long nothing may be served in a trial, after so long of asking, and where
// nothing was served for so long before.
func TestUnserved(t *testing.T) {
	for _, test := range []struct {
		asked, longest time.Duration
		served         bool // something was, in the trial
		want           time.Duration
	}{
		{0, 0, false, 75 * time.Second},
		{newFor - 1, 0, false, 75 * time.Second},
		{newFor - 1, 0, true, 15 * time.Second},
		{newFor, 0, false, patience},
		{newFor, 0, true, patience},
		{newFor, 40 * time.Second, false, 100 * time.Second},
		{0, 40 * time.Second, true, 100 * time.Second},
		{newFor, 7 * time.Second, true, 28 * time.Second},
		{newFor, 20 * time.Second, false, 75 * time.Second},
	} {
		o := Failures{begun: start, recurrence: recurrence{longest: test.longest}}
		now := start.Add(test.asked)
		o.try(now, 1)
		take := func(at monotime.Time) bool {
			_, over := o.Take(at, Attempt{Granted: 2, Failed: true, Paced: true}, 3, time.Hour)
			return over
		}
		o.Take(now, Attempt{Granted: 0}, 3, time.Hour) // under way before the trial
		if test.served {
			o.Take(now, Attempt{Granted: 2}, 3, time.Hour)
		}
		for at := now; at < now.Add(test.want); at = at.Add(time.Second) {
			if take(at) {
				t.Errorf("%+v: over after %v", test, at.Sub(now))
			}
		}
		if take(now.Add(test.want)) || !take(now.Add(test.want+1)) {
			t.Errorf("%+v: not over after that", test)
		}
	}
}

// TestHelps: a trial goes on while far fewer fail than before it.
func TestHelps(t *testing.T) {
	for _, test := range []struct {
		unpaced, paced counted
		want           bool
	}{
		{counted{0, 8}, counted{8, 16}, true},
		{counted{0, 8}, counted{8, 17}, false},
		{counted{0, 5}, counted{32, 1}, false}, // few
		{counted{0, 6}, counted{6, 9}, true},
		{counted{9, 40}, counted{20, 20}, true},
		{counted{9, 40}, counted{19, 20}, false},
		{counted{20, 10}, counted{20, 10}, false}, // pacing changes nothing
		{counted{200, 100}, counted{20, 7}, false},
		{counted{10, 30}, counted{0, 0}, true},
		{counted{0, mostCounted}, counted{0, 1}, false},
	} {
		o := Failures{unpaced: test.unpaced, paced: test.paced}
		if got := o.helps(); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	var s counted
	for range 100 * mostCounted {
		if s.add(true); s.served+s.failed > mostCounted {
			t.Fatalf("%+v: more than %d", s, mostCounted)
		}
	}
	if s.add(false); s.served != 1 || s.failed < mostCounted/2-1 {
		t.Errorf("%+v: forgotten", s)
	}
}

// TestShared: at a limit of which others take a half, a trial goes on; and without a pace, all but one
// of ten failed.
func TestShared(t *testing.T) {
	o, n := Failures{begun: start}, uint64(0)
	take := func(failed bool) (over bool) {
		n += 2
		_, over = o.Take(start, Attempt{Granted: n, Failed: failed, Paced: true}, n+1, time.Hour)
		return over
	}
	for i := range 10 {
		n += 2
		o.Take(start, Attempt{Granted: 1, Failed: i > 0, Paced: true}, n+1, time.Hour)
	}
	if o.belief != OnTrial {
		t.Fatalf("%v, want a trial", o.belief)
	}
	for i := range 100 {
		if take(i%2 == 0) {
			t.Fatalf("over after %d answers", i)
		}
	}
	if o.belief != MeanRefusal {
		t.Errorf("%v, want refusals", o.belief)
	}
	for i := range 200 {
		if take(i%4 > 0) {
			return
		}
	}
	t.Error("not over when three of four fail")
}

// TestBroken: after a trial in which nothing was served, the next one begins after MaxHold, or soon
// after something was served.
func TestBroken(t *testing.T) {
	for want, served := range map[time.Duration]bool{time.Hour: false, 2 * patience: true} {
		o := Failures{broken: true, unsuccessful: 1, begun: start}
		o = o.after(start, time.Hour)
		if served {
			o.Take(start, Attempt{Granted: 1}, 2, time.Hour)
		}
		if got := o.noTrialBefore.Sub(start); got != want {
			t.Errorf("served %v: the next trial in %v, want %v", served, got, want)
		}
	}
}

// TestTrialsAreRare: the next trial comes twice as late as the one before, up to MaxHold; sooner if most fail.
func TestTrialsAreRare(t *testing.T) {
	for i, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		o := Failures{unpaced: counted{1, 4}, unsuccessful: i}
		o = o.after(start, 15*time.Minute)
		if got := o.noTrialBefore.Sub(start); got != want {
			t.Errorf("trial %d: the next one in %v, want %v where most fail", i+1, got, want)
		}
	}
	o := Failures{}
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
		o = o.after(start, 15*time.Minute)
		if got := o.noTrialBefore.Sub(start); got != want {
			t.Errorf("trial %d: the next one in %v, want %v", i+1, got, want)
		}
		o.try(start, 1)
	}
}

// TestRemembers: what trials have shown counts in the next one, and half of it where one ended well.
func TestRemembers(t *testing.T) {
	for _, test := range []struct {
		before string // answers of a trial, after which it goes on, or is over where another one has begun; F is a failure
		after  string // answers at a pace
		want   bool   // over
	}{
		{strings.Repeat(".", 32), strings.Repeat("FFF.", 5), false},
		{strings.Repeat(".F.", 16), strings.Repeat("FFF.", 5), false}, // 23 of 44, where 9 of 9 failed
		{strings.Repeat(".", 32), strings.Repeat("FFFFFFFFFFFF.", 5), true},
	} {
		o, n, over := Failures{begun: start, unpaced: counted{0, 9}}, uint64(0), false
		o.try(start, 1)
		for _, a := range test.before + test.after {
			n += 2
			if _, over = o.Take(start, Attempt{Granted: n, Failed: a == 'F', Paced: true}, n+1, time.Hour); over {
				break
			}
		}
		if over != test.want {
			t.Errorf("%+v: over %v", test, over)
		}
	}
}

// TestOutage: after a trial in which nothing was served any more, the next one begins once far more
// fail than in the trials before, from when something is served again. In an outage none begins.
func TestOutage(t *testing.T) {
	for after, want := range map[string]bool{
		"FFFFFFFFFFFF":         false,
		"FFFFFFFFFFFF.":        false,
		"FFFFFFFFFFFF.FFFFF":   false, // few
		"FFFFFFFFFFFF.FFFFFF":  true,
		"FFFFFFFFFFFF....FFFF": false,
	} {
		o := Failures{begun: start, broken: true, unpaced: counted{1, 8}, paced: counted{20, 10}}
		o = o.after(start, time.Hour)
		for i, a := range after {
			o.Take(start, Attempt{Granted: uint64(i), Failed: a == 'F'}, uint64(i+1), time.Hour)
		}
		if got := o.belief == OnTrial; got != want {
			t.Errorf("%s: another trial %v", after, got)
		}
	}
}

// TestEndedTooEarly: a trial that failed begins again at once, if four times as many fail without a
// pace as in it.
func TestEndedTooEarly(t *testing.T) {
	for _, test := range []struct {
		paced counted // answers of the trial
		after string  // answers after it, F is a failure
		want  bool    // another trial
	}{
		{counted{20, 30}, "F.FFFFFFFFFFF", true}, // 12 of 13 fail, and 3 of 5 in the trial
		{counted{20, 30}, "F.FFFFFFFFFF", false}, // 11 of 12
		{counted{20, 30}, "FFFFFF", true},        // nothing is served
		{counted{20, 30}, "FFFFF", false},        // few
		{counted{20, 50}, "FFFFFFFFF", false},    // one of ten may be served
		{counted{20, 30}, ".F.F.F.F.F.F.F.F.F", false},
		{counted{40, 10}, ".FFFFF", false}, // few
		{counted{40, 10}, ".FFFFFF", true},
		{counted{0, 10}, ".FFFFFFFFFFFF", false}, // nothing was served in the trial
	} {
		o := Failures{begun: start, unpaced: counted{1, 4}, paced: test.paced}
		o = o.after(start, time.Hour)
		for i, a := range test.after {
			o.Take(start, Attempt{Granted: uint64(i), Failed: a == 'F'}, uint64(i+1), time.Hour)
		}
		if got := o.belief == OnTrial; got != test.want {
			t.Errorf("%+v: another trial %v", test, got)
		}
	}
	for after, want := range map[string]time.Duration{"FFFFFFFF": patience, "F.FFFFFFFFFFF": newUnserved} { // a dead server is not waited for as at the beginning
		hour := start.Add(time.Hour)
		o := Failures{begun: start, paced: counted{20, 30}}
		o = o.after(hour, time.Hour)
		for i, a := range after {
			o.Take(hour, Attempt{Granted: uint64(i), Failed: a == 'F'}, uint64(i+1), time.Hour)
		}
		if o.belief != OnTrial || o.unserved != want {
			t.Errorf("%s an hour later: belief %v, and nothing need be served for %v, want %v", after, o.belief, o.unserved, want)
		}
	}
	o := Failures{broken: true, paced: counted{40, 10}}
	if o = o.after(start, time.Hour); o.helped() {
		t.Error("after a trial in which nothing was served any more, failures begin another one")
	}
}
