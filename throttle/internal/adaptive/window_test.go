package adaptive

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestWindowBound: what may go is the least Remaining less what is in flight.
func TestWindowBound(t *testing.T) {
	b := newBucket(t, Config{})
	first, second, third := b.send(), b.send(), b.send()
	b.done(first, says(left(8, 10, time.Minute)))
	b.wantOpen(6) // 8, two in flight
	b.done(third, says(left(7, 10, time.Minute)))
	b.wantOpen(6) // 7, one in flight
	b.done(second, says(left(9, 10, time.Minute)))
	b.wantOpen(7) // an answer that was overtaken does not raise the least
	b.exchange(says(left(20, 20, time.Minute)))
	b.wantOpen(20) // one that cannot have been overtaken does
}

// TestWindowTally: answers are out of date when the request of a newer answer went after they had
// come back.
func TestWindowTally(t *testing.T) {
	b := newBucket(t, Config{})
	old := b.send()
	b.exchange(says(left(3, 10, time.Minute))) // nextSince
	newer, newest := b.send(), b.send()
	b.done(old, says(left(9, 10, time.Minute)))
	if got := b.window1().remaining; got != 3 {
		t.Errorf("remaining %d, want 3: the old answer was overtaken", got)
	}
	b.done(newer, says(left(8, 10, time.Minute)))
	if got := b.window1().remaining; got != 8 {
		t.Errorf("remaining %d, want 8: the 3 is out of date, the 9 was heard later than it went", got)
	}
	b.done(newest, says(left(7, 10, time.Minute)))
	if got := b.window1().remaining; got != 7 {
		t.Errorf("remaining %d, want 7", got)
	}
}

// TestRemainingBesideNoLimit: where an answer does not say of how many something remains, the limit is the one
// that was stated before, unless more remains: then what remains counts.
func TestRemainingBesideNoLimit(t *testing.T) {
	for _, test := range []struct {
		remaining int64
		open      int
		limit     int // that the rules count with
	}{
		{8, 8, 10},
		{10, 10, 10},
		{0, 0, 10},
		{500, 500, 501},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(9, 10, time.Minute)))
		b.exchange(says(quota.Statement{Remaining: test.remaining, Reset: time.Minute, ResetKnown: true}))
		b.wantOpen(test.open)
		if got := b.window1().limit(); got != test.limit {
			t.Errorf("%d remain, and the limit is not stated any more: it is %d, want %d", test.remaining, got, test.limit)
		}
		b.exchange(says(left(7, 10, time.Minute)))
		b.wantOpen(7)
		if got := b.window1().limit(); got != 10 {
			t.Errorf("%d remained: the limit is %d when it is stated again, want 10", test.remaining, got)
		}
	}
}

// TestWindowUnits: costs in the unit of a limit count against it.
func TestWindowUnits(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(quota.Statement{Unit: "tokens", Limit: 100, Remaining: 100, Reset: time.Minute, ResetKnown: true}))
	d := limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 60}}
	if !b.Open(b.now, &d, nil, 0) {
		t.Error("60 of 100 tokens may not go")
	}
	ticket := Ticket{Sent: b.now, N: 1}
	b.Take(b.now, b.now, &d, nil, 0, &ticket)
	if b.Open(b.now, &d, nil, 0) {
		t.Error("60 of 40 tokens may go")
	}
	if got := b.Windows(b.now)[0].Available; got != 40 {
		t.Errorf("%d tokens available, want 40", got)
	}
	b.End(&ticket, &d)
	if b.otherUnits["tokens"] != (unitCost{}) || !b.Open(b.now, &d, nil, 0) {
		t.Error("60 of 100 tokens may not go after the end")
	}
}

// TestWindowReserve: a share of the limit is left to urgent requests.
func TestWindowReserve(t *testing.T) {
	for _, test := range []struct {
		limit, n int
		share    float64
		want     int
	}{
		{10, 1, 0, 0}, {10, 1, 0.2, 2}, {10, 1, 0.25, 3}, {10, 1, 1, 9}, {10, 12, 0.5, 0}, {0, 1, 0.5, 0},
	} {
		if got := reserved(test.limit, test.n, test.share); got != test.want {
			t.Errorf("reserved(%d, %d, %v) = %d, want %d", test.limit, test.n, test.share, got, test.want)
		}
	}
}

// TestWindowUnstated: a window of which an answer does not speak loses what the request cost.
func TestWindowUnstated(t *testing.T) {
	named := quota.Statement{Counter: "x", Limit: 10, Remaining: 5, Reset: time.Minute, ResetKnown: true}
	other := quota.Statement{Counter: "y", Limit: 10, Remaining: 5, Reset: time.Minute, ResetKnown: true}
	for _, test := range []struct {
		name  string
		first quota.Statement
		then  Answer
		want  int
	}{
		{"served", left(5, 10, time.Minute), Answer{}, 4},
		{"refused", left(5, 10, time.Minute), Answer{Refused: true}, 5},
		{"lost", left(5, 10, time.Minute), Answer{Lost: true}, 4},
		{"of another bucket", named, says(other), 5},
		{"of no bucket", named, Answer{}, 4},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(test.first))
		b.exchange(test.then)
		if got := b.windows[0].remaining; got != test.want {
			t.Errorf("%s: remaining %d, want %d", test.name, got, test.want)
		}
	}
}

// TestWindowIsForgotten: a window whose look is answered without a statement is forgotten.
func TestWindowIsForgotten(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(0, 10, time.Second)))
	b.at(time.Second).wantDue(0)
	look := b.send()
	b.wantDue(Patience) // one goes ahead, the others wait for its answer
	b.done(look, Answer{})
	if len(b.windows) != 0 {
		t.Error("not forgotten")
	}
}

// TestWindowsAreForgotten: after a look that is answered without a statement, the windows at which a look is
// due are forgotten, and the others are kept.
func TestWindowsAreForgotten(t *testing.T) {
	b := newBucket(t, Config{})
	looked, due, later := left(0, 10, time.Second), left(5, 10, time.Second), left(5, 10, time.Minute)
	looked.Name, due.Name, later.Name = "looked", "due", "later"
	b.exchange(says(looked, due, later))
	b.at(time.Second).exchange(Answer{})
	if w := b.window1(); w.name != "later" || w.remaining != 4 {
		t.Errorf("%d remain of %s, want 4 of later", w.remaining, w.name)
	}
}

// TestOneLook: while one window is looked at, nothing goes to look at another, although that is due.
func TestOneLook(t *testing.T) {
	b := newBucket(t, Config{})
	first, second := left(0, 10, time.Second), left(1, 10, 2*time.Second)
	first.Name, second.Name = "first", "second"
	b.exchange(says(first, second))
	b.at(time.Second)
	b.send() // the look; it takes what remains of the other window
	b.at(2 * time.Second).wantDue(Patience - time.Second)
	if d := b.DueFrom(limit.Due{At: b.now}, of(0), of(1), nil, 0, true); d.At != b.now {
		t.Errorf("an optimist waits for %v", d.At.Sub(b.now))
	}
}

// TestNoLookNoJitter: while something remains, no random number is spent on an instant that the next
// answer computes anew.
func TestNoLookNoJitter(t *testing.T) {
	b := newBucket(t, Config{Random: func() float64 { t.Error("a random number"); return 0 }})
	for i := range 5 {
		b.exchange(says(left(9-i, 10, time.Minute)))
	}
}

// TestWindowLongQueue: what needs more than one window waits for the windows that follow; for a part of one,
// until it is known that the limit does not come back token by token. A span that is not stated is at least as
// long as the wait for a reset was, and no longer than from one reset to the next.
func TestWindowLongQueue(t *testing.T) {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for _, test := range []struct {
		name   string
		stated time.Duration
		second int // the reset that the answer to the look states, in seconds; zero if there is none
		left   int // after that
		share  float64
		want   map[int]int // in seconds, by what is ahead
	}{
		{"stated", time.Minute, 0, 0, 0, map[int]int{0: 30, 9: 30, 10: 36, 19: 90, 20: 96}},
		{"half is reserved", time.Minute, 0, 0, 0.5, map[int]int{4: 30, 5: 42, 9: 90, 10: 102}},
		{"seen", 0, 0, 0, 0, map[int]int{0: 30, 9: 30, 10: 33, 19: 60, 20: 63}},
		{"stated and whole", time.Minute, 60, 9, 0, map[int]int{9: 30, 10: 90, 19: 90, 20: 150}},
		{"seen and whole", 0, 60, 9, 0, map[int]int{9: 30, 10: 90, 19: 90, 20: 150}},
		{"the next reset is sooner", 0, 20, 9, 0, map[int]int{9: 30, 10: 50, 19: 50, 20: 70}},
	} {
		b := newBucket(t, Config{})
		first := left(0, 10, 30*time.Second)
		first.Window = test.stated
		b.exchange(says(first))
		if test.second > 0 {
			next := left(test.left, 10, seconds(test.second))
			next.Window = test.stated
			b.at(30 * time.Second).exchange(says(next))
			for i := range test.left { // all of it is used
				s := left(test.left-1-i, 10, seconds(test.second))
				s.Window = test.stated
				b.exchange(says(s))
			}
		}
		for ahead, want := range test.want {
			if test.second > 0 {
				want += test.second - 30
			}
			if got := b.DueFrom(limit.Due{At: b.now}, of(ahead), of(1), nil, test.share, true).At.Sub(b.now); got != seconds(want) {
				t.Errorf("%s, %d ahead: due in %v, want %v", test.name, ahead, got, seconds(want))
			}
		}
	}
}

// TestResetNarrows: the reset is in all intervals that were stated.
func TestResetNarrows(t *testing.T) {
	const s = time.Second
	type said struct {
		sent, came time.Duration
		st         quota.Statement
	}
	in := func(reset, resolution time.Duration) quota.Statement {
		return quota.Statement{Limit: 10, Remaining: 5, Reset: reset, ResetKnown: true, Resolution: resolution}
	}
	dated := func(reset, skew time.Duration) quota.Statement {
		st := in(reset, s)
		st.Absolute, st.Skew = true, skew
		return st
	}
	spent := in(0, s)
	spent.Remaining = 0
	for _, test := range []struct {
		name        string
		said        []said
		early, late time.Duration
		count       int
		down        bool
	}{
		{"exact", []said{{0, 0, in(9*s, 0)}}, 9 * s, 9 * s, 1, false},
		{"round trip", []said{{0, s, in(9*s, 0)}}, 9 * s, 10 * s, 1, false},
		{"step", []said{{0, 0, in(9*s, s)}}, 8 * s, 9 * s, 1, false},
		{"intersected", []said{{0, 0, in(9*s, s)}, {s / 2, s / 2, in(8*s, s)}}, 8 * s, 8*s + s/2, 1, false},
		{"wider", []said{{0, 0, in(9*s, 0)}, {0, s, in(9*s, 5*s)}}, 9 * s, 9 * s, 1, false},
		{"another", []said{{0, 0, in(9*s, 0)}, {s, s, in(9*s, 0)}}, 10 * s, 10 * s, 2, false},
		{"passed", []said{{0, 0, in(s, 0)}, {s, s, in(9*s, 0)}}, 10 * s, 10 * s, 2, false},
		{"rounded down", []said{{0, 0, in(9*s, s)}, {9 * s, 9 * s, spent}}, 9 * s, 10 * s, 1, true},
		{"clocks agree", []said{{0, s, dated(9*s, s/2)}}, 7*s + s/2, 8*s + s/2, 1, false},
		{"clocks differ", []said{{0, s, dated(9*s, time.Hour)}}, 7 * s, 10 * s, 1, false},
		{"clocks turn out to differ", []said{{0, 0, dated(9*s, 0)}, {s / 2, s / 2, dated(8*s, -s/2)}}, 7 * s, 8*s + s/2, 1, false},
		{"the next one touches it", []said{{0, 0, dated(2*s, 0)}, {s + s/2, s + s/2, dated(2*s, s/2)}}, 2 * s, 3 * s, 2, false},
		{"touched where it has not come", []said{{0, 0, dated(2*s, 0)}, {s / 2, s / 2, dated(3*s, s/2)}}, 2 * s, 2 * s, 1, false},
		{"far", []said{{0, 0, in(monotime.Longest+1, 0)}}, monotime.Longest, monotime.Longest, 1, false},
	} {
		var r reset
		for _, said := range test.said {
			r.narrow(start.Add(said.sent), start.Add(said.came), &said.st, 10)
		}
		if early, late := r.early.Sub(start), r.late.Sub(start); early != test.early || late != test.late || r.count != test.count || r.roundsDown != test.down {
			t.Errorf("%s: reset %d in [%v, %v], rounded down %v; want %d in [%v, %v], %v",
				test.name, r.count, early, late, r.roundsDown, test.count, test.early, test.late, test.down)
		}
	}
}

// TestResetUnstated: a used-up limit without a reset is looked at after firstLook.
func TestResetUnstated(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(refuses(quota.Statement{Limit: 10}))
	b.wantDue(firstLook)
}

// TestResetOfMoreThanIsLeft: a request that costs more than remains goes when the whole limit is surely back.
func TestResetOfMoreThanIsLeft(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(step(1, 10, 5*time.Second))) // back in 4 to 5 s
	if got := b.dueAfter(0, 2); got != 5*time.Second {
		t.Errorf("two may go in %v, want 5s", got)
	}
}

// TestHintBeforeTheReset: a hint of a refusal says when one request may go, whatever the reset says.
func TestHintBeforeTheReset(t *testing.T) {
	b := newBucket(t, Config{})
	a := refuses(left(0, 10, time.Minute))
	a.Hold, a.HoldKnown = 2*time.Second, true
	b.exchange(a)
	b.wantDue(2 * time.Second)

	b = newBucket(t, Config{})
	a.Hold = 2 * time.Minute
	b.exchange(a)
	b.wantDue(time.Minute)
}

// TestLookHoldDoubles: a look after the reset that is refused holds the next one up for longer
// and longer, but not for longer than MaxHold.
func TestLookHoldDoubles(t *testing.T) {
	near := left(0, 10, 20*time.Millisecond)
	b := newBucket(t, Config{MaxHold: 700 * time.Millisecond})
	b.exchange(refuses(near))
	for b.window1().missedLooks == 0 { // it looks for a part, too
		b.at(b.now.Sub(start) + b.dueAfter(0, 1)).exchange(refuses(near))
	}
	for _, want := range []int{100, 200, 400, 700, 700} {
		b.wantDue(time.Duration(want) * time.Millisecond)
		b.at(b.now.Sub(start) + time.Duration(want)*time.Millisecond).exchange(refuses(near))
	}
}

// TestSpend: what remains is spread over the time to the reset, or not.
func TestSpend(t *testing.T) {
	const reset = 110 * time.Second
	for _, test := range []struct {
		name      string
		spend     Spend
		maxWait   time.Duration
		remaining int
		want      time.Duration
	}{
		{"eager", Eager, time.Second, 10, 0},
		{"auto, reset is near", Auto, reset, 10, 0},
		{"auto, reset is too far", Auto, 20 * time.Second, 10, 10 * time.Second},
		{"auto, no bound", Auto, 0, 10, 0},
		{"balanced, a fifth", Balanced, 0, 20, 0},
		{"balanced, less", Balanced, 0, 10, 10 * time.Second},
		{"even", Even, 0, 54, 2 * time.Second},
		{"even, at most MaxWait", Even, time.Second, 54, time.Second},
	} {
		b := newBucket(t, Config{Spend: test.spend, MaxStandstill: test.maxWait})
		b.exchange(says(left(test.remaining, 100, reset)))
		if got := b.dueAfter(0, 1); got != test.want {
			t.Errorf("%s: due in %v, want %v", test.name, got, test.want)
		}
	}
}

// TestSpendInFlight: when the next request may go does not depend on whether the answer to the one
// before has come; and one that may go now waits for nothing.
func TestSpendInFlight(t *testing.T) {
	b := newBucket(t, Config{Spend: Even})
	b.exchange(says(left(11, 100, 110*time.Second)))
	ticket := b.send()
	b.wantDue(10 * time.Second) // 110 s for eleven: ten, and the reset
	b.done(ticket, says(left(10, 100, 110*time.Second)))
	b.wantDue(10 * time.Second)
	b.at(10 * time.Second)
	if d := b.DueFrom(limit.Due{At: b.now}, of(0), of(1), nil, 0, false); d.At != b.now || d.Cause != "" {
		t.Errorf("%+v, want now, without a cause", d)
	}
}

// TestJudgeLook: what the answer to a look shows.
func TestJudgeLook(t *testing.T) {
	known := reset{early: start, late: start, resolution: time.Second}
	next := reset{early: start.Add(time.Minute), late: start.Add(time.Minute)}
	for _, test := range []struct {
		name    string
		w       window
		refused bool
		whole   proof
		down    bool
		empty   bool
		missed  int
	}{
		{"served", window{parts: parts{reset: known, look: look{missedLooks: 3}}}, false, untried, false, false, 0},
		{"served on a guess", window{parts: parts{reset: known, look: look{guess: guessWholeSteps}}}, false, right, false, false, 0},
		{"refused on a guess", window{parts: parts{reset: known, look: look{guess: guessWholeSteps}}}, true, wrong, false, false, 0},
		{"refused on a guess, the window was shorter", window{parts: parts{reset: reset{spanMost: 1}, look: look{guess: guessWholeSteps, wholeSteps: right}}}, true, right, false, false, 0},
		{"refused on a guess, the window was as long", window{parts: parts{reset: reset{spanMost: 1}, look: look{guess: guessWholeSteps, wholeSteps: right}}}, true, wrong, false, false, 0},
		{"refused on a guess, a shorter one is stated", window{span: 1, parts: parts{reset: reset{spanMost: 1}, look: look{guess: guessWholeSteps, wholeSteps: right}}}, true, wrong, false, false, 0},
		{"refused on a guess, a moment too soon", window{parts: parts{reset: known, look: look{guess: guessWholeSteps, wholeSteps: right}}}, true, right, false, false, 0},
		{"refused on a guess, the next window is used up", window{parts: parts{reset: known, look: look{guess: guessWholeSteps}}}, true, right, false, false, 0},
		{"came too early", window{parts: parts{reset: known, look: look{wholeSteps: right}}}, true, untried, true, false, 0},
		{"the reset brought nothing", window{parts: parts{reset: next}}, true, untried, false, true, 0},
		{"again", window{parts: parts{reset: next, refill: refill{emptyReset: true}}}, true, untried, false, true, 1},
		{"served after that", window{parts: parts{reset: known, refill: refill{emptyReset: true}}}, false, untried, false, true, 0},
		{"no reason", window{}, true, untried, false, false, 1},
	} {
		w, mayLast := test.w, 2*test.w.reset.spanMost
		if strings.HasSuffix(test.name, "as long") {
			mayLast = w.reset.spanMost
		}
		change := sameReset
		if strings.HasSuffix(test.name, "used up") {
			change = laterReset
		}
		w.judgeLook(&outcome{sent: start, now: start, look: true, spanBefore: w.reset.spanMost, stepsBefore: mayLast, refused: test.refused, lateBefore: start, change: change, sooner: strings.HasSuffix(test.name, "too soon")}, nil)
		if w.wholeSteps != test.whole || w.reset.roundsDown != test.down || w.refill.emptyReset != test.empty || w.missedLooks != test.missed {
			t.Errorf("%s: whole steps %v, rounds down %v, empty reset %v, %d missed", test.name, w.wholeSteps, w.reset.roundsDown, w.refill.emptyReset, w.missedLooks)
		}
	}
}

// TestLoserWaitsForTheReset: where others take all of each window before a request looks, the next one looks at
// the reset that is stated, and after a second at most if that is nearer, however often that happens, if the
// limit is of few tokens (else see TestLooksBecomeRare).
func TestLoserWaitsForTheReset(t *testing.T) {
	for _, window := range []time.Duration{time.Minute, time.Second, 50 * time.Millisecond} {
		b := newBucket(t, Config{})
		b.exchange(says(left(0, leastRare-1, window)))
		for n := range 20 {
			b.at(b.now.Sub(start) + b.dueAfter(0, 1)).exchange(refuses(left(0, leastRare-1, window)))
			if got, want := b.dueAfter(0, 1), max(window, longestBeyond); n >= 8 && got != want {
				t.Errorf("a window of %v, refusal %d: the next one looks in %v, want %v", window, n, got, want)
			}
		}
	}
}

// TestLoserAtAReset: who has lost at many stated resets does not stay away for long because an answer states
// none that is still to come.
func TestLoserAtAReset(t *testing.T) {
	for _, last := range []quota.Statement{left(0, 10, 0), left(0, 10, -time.Minute), {Limit: 10}} {
		b := newBucket(t, Config{})
		b.exchange(says(left(0, 10, 50*time.Millisecond)))
		next := func(st quota.Statement) { b.at(b.now.Sub(start) + b.dueAfter(0, 1)).exchange(refuses(st)) }
		for range 20 {
			next(left(0, 10, 50*time.Millisecond))
		}
		for n, want := range []time.Duration{1e9, 1e9, 1e9, 2e9, 3e9, 4e9} { // see seek
			next(last)
			if got := b.dueAfter(0, 1); got != want {
				t.Errorf("%+v, %d times: the next one looks in %v, want %v", last, n+1, got, want)
			}
		}
	}
}

// TestNearResetsForEver: a server that refuses all, and says each time that the reset is near, is asked ever
// more rarely.
func TestNearResetsForEver(t *testing.T) {
	for _, reset := range []time.Duration{20 * time.Millisecond, time.Second} {
		b := newBucket(t, Config{})
		n := 0
		for ; b.now.Sub(start) < time.Hour; n++ {
			b.at(b.now.Sub(start) + b.dueAfter(0, 1)).exchange(refuses(left(0, 10, reset)))
		}
		if n > 250 {
			t.Errorf("a reset in %v: %d requests in an hour, want 250 at most", reset, n)
		}
	}
}

// TestSpreadOfABurst: the last fifth is spread also where all of it is asked for before an answer says what
// remains.
func TestSpreadOfABurst(t *testing.T) {
	b := newBucket(t, Config{MaxStandstill: 2 * time.Minute})
	b.exchange(says(left(100, 100, time.Hour)))
	n := 0
	for b.Open(b.now, of(1), nil, 0) {
		b.send()
		n++
	}
	if n != 81 {
		t.Errorf("%d go at once, want 81", n)
	}
	b.wantDue(2 * time.Minute)
}

// TestStates: until when what a server states of a limit of 10 a minute counts in place of a quota of 10 a
// minute.
func TestStates(t *testing.T) {
	const reset = 50 * time.Second
	some, none := says(left(5, 10, reset)), says(left(0, 10, reset))
	for _, test := range []struct {
		name    string
		answers []Answer
		at      time.Duration
		want    bool
	}{
		{"nothing is stated", []Answer{{}}, 0, false},
		{"some is left", []Answer{some}, 0, true},
		{"another number", []Answer{says(left(5, 11, reset))}, 0, false},
		{"a reset after more than a minute", []Answer{says(left(5, 10, 61*time.Second))}, 0, false},
		{"before the reset", []Answer{some}, reset - 1, true},
		{"at the reset", []Answer{some}, reset, false},
		{"used up, at the reset: one goes to find out", []Answer{none}, reset, true},
		{"three answers without a statement", []Answer{some, {}, {}, {}}, 0, true},
		{"four", []Answer{some, {}, {}, {}, {}}, 0, false},
		{"four, and one that states it", []Answer{some, {}, {}, {}, {}, says(left(1, 10, reset))}, 0, true},
		{"a refusal that nothing explains", []Answer{some, refuses(left(4, 10, reset))}, 0, false},
		{"and one that was served after it", []Answer{some, refuses(left(4, 10, reset)), says(left(3, 10, reset))}, 0, true},
		{"a refusal, used up", []Answer{some, refuses(left(0, 10, reset))}, 0, true},
	} {
		b := newBucket(t, Config{})
		for _, a := range test.answers {
			b.exchange(a)
		}
		if got := b.at(test.at).States(b.now, "", 10, time.Minute); got != test.want {
			t.Errorf("%s: States says %v, want %v", test.name, got, test.want)
		}
	}
	b := newBucket(t, Config{})
	b.exchange(none)
	b.at(reset).send()
	if b.States(b.now, "", 10, time.Minute) {
		t.Error("while one finds out whether the limit is back, States says true")
	}
}

// TestWindowOfWhichNoAnswerSpeaksAnyMore: a limit that is stated while it is used up, or to another process,
// and one that is stated always. After the reset of the former, requests do not go one at a time.
func TestWindowOfWhichNoAnswerSpeaksAnyMore(t *testing.T) {
	hour, minute := left(0, 10, 5*time.Second), left(50, 60, time.Minute)
	hour.Name, minute.Name = "hour", "minute"
	for name, hear := range map[string]func(b *bucket){
		"stated":    func(b *bucket) { b.exchange(refuses(hour, minute)) },
		"overheard": func(b *bucket) { b.exchange(says(minute)); b.Overhear(b.now, &hour) },
	} {
		b := newBucket(t, Config{})
		hear(b)
		b.wantDue(5 * time.Second)
		b.at(5 * time.Second)
		look := b.send()
		b.wantDue(Patience)
		b.done(look, says(minute))
		b.send()
		if got := b.dueAfter(0, 1); got != 0 {
			t.Errorf("%s: while another one is under way, a request goes after %v, want at once", name, got)
		}
	}
}

// TestRoundedDownIsNoWrongGuess: a look goes when whole seconds have passed, and is refused since the server
// rounds resets down. That says nothing of whole seconds: in the next window, such a look goes again.
func TestRoundedDownIsNoWrongGuess(t *testing.T) {
	const ms = time.Millisecond
	b := newBucket(t, Config{})
	b.exchange(says(step(9, 10, time.Second))) // of 1.9 s
	b.window1().refill.doubtEarly.skip = 9     // no look for a limit that comes back bit by bit
	b.at(300 * ms).exchange(says(step(0, 10, time.Second)))
	b.wantDue(700 * ms)
	b.at(1000 * ms).exchange(refuses(step(0, 10, 0)))
	b.wantDue(1000 * ms)
	look := b.at(2000 * ms).send()
	b.at(2200*ms).done(look, says(step(9, 10, 2*time.Second))) // the window began at 2100 ms, give or take 100
	rest := b.send()
	b.at(2600*ms).done(rest, says(step(0, 10, time.Second)))
	b.wantDue(1600 * ms)
}

// TestRoundedToTheNearestSecond: resets that are stated before they come show that they are rounded down, so
// that a window of 2 s whose reset is stated after it comes seems to last 3 s. A look has shown that none lasts
// longer than 2 s.
func TestRoundedToTheNearestSecond(t *testing.T) {
	const ms = time.Millisecond
	b := newBucket(t, Config{})
	stated := func(remaining int, at time.Duration) quota.Statement { return step(remaining, 10, at-b.now.Sub(start)) }
	b.at(100 * ms).exchange(says(stated(9, 2000*ms)))
	b.window1().refill.doubtEarly.skip = 9 // no look for a limit that comes back bit by bit
	b.at(400 * ms).exchange(says(stated(0, 2000*ms)))
	b.wantDue(700 * ms)
	b.at(1100 * ms).exchange(refuses(stated(0, 2000*ms)))
	b.wantDue(900 * ms)
	b.at(2000 * ms).exchange(refuses(stated(0, 2000*ms))) // rounded down
	b.wantDue(100 * ms)
	b.at(2100 * ms).exchange(says(stated(9, 4000*ms)))
	b.at(2400 * ms).exchange(says(stated(0, 4000*ms)))
	b.wantDue(1700 * ms)
	b.at(4600 * ms).exchange(says(stated(9, 7000*ms)))
	b.at(4900 * ms).exchange(says(stated(0, 7000*ms)))
	b.wantDue(1700 * ms)
}

// TestLookAtTheEndOfASecond: a look is served at the end of a window of a second, before the end of the second
// that was stated. So what it is told is about the next window, though by what was stated both may have the
// same reset: each time, the next look goes when that window is over.
func TestLookAtTheEndOfASecond(t *testing.T) {
	const ms = time.Millisecond
	b := newBucket(t, Config{})
	for window := range 5 {
		at := time.Duration(window) * 1100 * ms // the window begins 50 ms later
		stated := time.Duration(window)*time.Second + 1900*ms
		look := b.at(at).send()
		b.at(at+100*ms).done(look, says(step(9, 10, stated-at-50*ms)))
		b.window1().refill.doubtEarly.skip = 9 // no look for a limit that comes back bit by bit
		rest := b.send()
		b.at(at+200*ms).done(rest, says(step(0, 10, stated-at-150*ms)))
		b.wantDue(900 * ms)
	}
}

// TestLookGoesSooner: once a look was served when a window of a second was over for sure, looks go a round trip
// sooner, to come when it is over; not where the round trip is nothing beside the window. After one that was
// refused, one goes when the window is over for sure, and two windows later one goes sooner again.
func TestLookGoesSooner(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name         string
		trip         time.Duration
		first, later time.Duration
	}{
		{"a tenth", 100 * ms, 1100 * ms, 1000 * ms},
		{"nothing beside the window", 10 * ms, 1010 * ms, 1010 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBucket(t, Config{})
			at := time.Duration(0)
			use := func(after time.Duration) {
				t.Helper()
				look := b.at(at).send()
				b.at(at+test.trip).done(look, says(step(9, 10, time.Second)))
				b.window1().refill.doubtEarly.skip = 9 // no look for a limit that comes back bit by bit
				var rest []*Ticket
				for range 9 {
					rest = append(rest, b.send())
				}
				b.at(at + 2*test.trip)
				for i := range rest {
					b.done(rest[i], says(step(8-i, 10, time.Second)))
				}
				at += after
				b.wantDue(at - b.now.Sub(start))
			}
			use(test.first)
			use(test.later)
			use(test.later)
			if test.later == test.first {
				return
			}
			look := b.at(at).send()
			at += test.trip
			b.at(at).done(look, refuses(step(0, 10, time.Second)))
			b.wantDue(0)
			use(test.first)
			use(test.later)
		})
	}
}

// TestWholeStepsAreTriedAgain: others have begun a window before us, so that a look when a second has passed is
// refused. Another one goes in the 16th window after that, and in the 32nd after that one was refused, since
// the others may have gone; and in each from then on, as that one is served. What an earlier run has found
// wrong is tried in the 128th.
func TestWholeStepsAreTriedAgain(t *testing.T) {
	const ms = time.Millisecond
	b := newBucket(t, Config{})
	at := time.Duration(0)
	use := func() (early bool) {
		t.Helper()
		first := b.at(at).send()
		b.at(at+100*ms).done(first, says(step(9, 10, 2*time.Second))) // it came after 50 ms, give or take 50
		b.window1().refill.doubtEarly.skip = 9                        // no look for a limit that comes back bit by bit
		b.at(at + 900*ms).exchange(says(step(0, 10, time.Second)))
		in := b.dueAfter(0, 1)
		if early = in == 200*ms; !early && in != 1000*ms {
			t.Fatalf("a look goes in %v, want 200ms or 1s", in)
		}
		at += 900*ms + in
		return early
	}
	want := func(windows int) {
		t.Helper()
		n := 1
		for ; n < 200 && !use(); n++ {
			at += ms
		}
		if n != windows {
			t.Errorf("a look goes early in window %d, want %d", n, windows)
		}
	}
	want(1)
	for _, windows := range []int{16, 32} {
		b.at(at).exchange(refuses(step(0, 10, time.Second)))
		b.wantDue(800 * ms)
		at += 801 * ms
		want(windows)
	}
	want(1)
	want(1)

	b, at = newBucket(t, Config{}), 0
	b.Remember(b.now, &Memory{Windows: []WindowMemory{{Limit: 10, Habits: Habits{WholeSteps: int(wrong)}}}}, wallClock())
	want(128)
}

// TestRoundedUpIsTriedAgain: resets are taken to be rounded down, as an earlier run says. In the 128th window
// that is used up, a look comes a second sooner, as if they were rounded up, and in each from then on, if it is
// served. If it is refused, that is tried again 128 windows later. Of a window of a minute, a second is not
// worth a refusal.
func TestRoundedUpIsTriedAgain(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		lasts   time.Duration
		refused bool
		want    []int // in how many windows the next look comes sooner
	}{
		{5 * s, false, []int{128, 1, 1}},
		{5 * s, true, []int{128, 128}},
		{60 * s, false, []int{300}},
	} {
		b := newBucket(t, Config{})
		b.Remember(b.now, &Memory{Windows: []WindowMemory{{Limit: 10, Habits: Habits{Floors: true}}}}, wallClock())
		at := time.Duration(0)
		for _, want := range test.want {
			windows := 1
			for ; windows < 300; windows++ {
				b.at(at).exchange(says(step(9, 10, test.lasts)))
				w := b.window1()
				w.refill.doubtEarly.skip, w.wholeSteps = 9, wrong // no look but at the reset
				w.doubtSteps.skip = 9
				b.at(at + 500*ms).exchange(says(step(0, 10, test.lasts-s)))
				in := b.dueAfter(0, 1)
				if at += 500*ms + in; in == test.lasts-s {
					break
				} else if in != test.lasts {
					t.Fatalf("%v: a look in %v", test.lasts, in)
				}
			}
			if windows != want {
				t.Errorf("%v, refused %v: a look comes sooner in window %d, want %d", test.lasts, test.refused, windows, want)
			}
			if test.refused {
				b.at(at).exchange(refuses(step(0, 10, 0)))
				b.wantDue(500 * ms) // when whole seconds have passed
				at += s
			}
		}
	}
}

// TestResetWithinAStep: a server that rounds down states a reset of zero in each answer of a window of a
// second, which says something while nothing remains alone. What it states when something remains, says that
// the window ends within a second. So a look comes a second after the first answer, and not after the last one.
// An instant says as much itself.
func TestResetWithinAStep(t *testing.T) {
	const ms = time.Millisecond
	for _, instants := range []bool{false, true} {
		b := newBucket(t, Config{})
		used := step(0, 10, 0)
		used.Absolute = instants
		b.exchange(says(used))
		b.at(1000 * ms).exchange(says(quota.Statement{Limit: 10, Remaining: 9}))
		b.at(1500 * ms).exchange(says(used))
		w := b.window1()
		if in := w.reset.late.Sub(b.now); in != 500*ms && !instants || in != 1000*ms && instants {
			t.Errorf("instants: %v: the window ends in %v at the latest", instants, in)
		}
	}

	b := newBucket(t, Config{})
	b.exchange(says(step(0, 10, 0)))
	b.at(1000 * ms).exchange(says(step(9, 10, 5000*ms)))
	b.at(2000 * ms).exchange(says(quota.Statement{Limit: 10, Remaining: 8}))
	if w := b.window1(); w.reset.early != start.Add(6000*ms) || w.reset.late != start.Add(7000*ms) {
		t.Errorf("a reset in [%v, %v], want it in [6s, 7s]: it was known to be further away", w.reset.early.Sub(start), w.reset.late.Sub(start))
	}
}

// TestNoResetWithinAStepOfAServerThatStatesSome: a server that states resets only when nothing remains says
// nothing of one while something does; nor does an answer that states none when nothing remains.
func TestNoResetWithinAStepOfAServerThatStatesSome(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(step(0, 10, 5*time.Second)))
	b.at(6 * time.Second).exchange(refuses(step(0, 10, 0))) // so resets are rounded down
	for i, st := range []quota.Statement{{Limit: 10, Remaining: 9}, {Limit: 10}} {
		b.at(time.Duration(10+i) * time.Second).exchange(says(st))
		if w := b.window1(); w.reset.late != 0 || !w.reset.roundsDown {
			t.Errorf("%d remain: a reset in %v, rounded down: %v; want none, and true", st.Remaining, w.reset.late.Sub(b.now), w.reset.roundsDown)
		}
	}

	b = newBucket(t, Config{})
	b.exchange(says(step(0, 10, 0)))
	b.at(10 * time.Second).exchange(says(quota.Statement{Limit: 10}))
	if w := b.window1(); w.reset.late != 0 {
		t.Errorf("nothing remains, and nothing is said of a reset: it is in %v", w.reset.late.Sub(b.now))
	}
}

// TestNoResetIsRoundedDownThatIsNotStated: another process has heard of a reset in whole seconds, and this one
// hears of none.
func TestNoResetIsRoundedDownThatIsNotStated(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(quota.Statement{Limit: 10, Remaining: 5}))
	heard := step(0, 10, 5*time.Second)
	b.Overhear(b.now, &heard)
	for _, want := range []time.Duration{5 * time.Second, time.Second, time.Second} {
		b.wantDue(want)
		b.at(b.now.Sub(start) + want).exchange(refuses(quota.Statement{Limit: 10}))
	}
	if w := b.window1(); w.reset.roundsDown || w.missedLooks != 2 {
		t.Errorf("rounds down: %v, %d looks found nothing; want false and 2", w.reset.roundsDown, w.missedLooks)
	}
}

// TestCountBack: how much is back by the clock, for claims that cannot wait for a look; and what ends that.
func TestCountBack(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	at := start.Add
	known := func(change func(w *window)) *window {
		w := &window{stated: 10, heardAt: at(0)}
		w.usedUpSince, w.nextLook = at(0), at(s+10*ms)
		w.reset, w.seen.whole = reset{early: at(s), late: at(s), trip: 80 * ms}, true
		change(w)
		return w
	}
	refills := func(w *window) { w.refill.refills, w.refill.rate, w.refill.finds = true, 4, foundEarly }
	for _, test := range []struct {
		name   string
		after  time.Duration
		change func(w *window)
		want   int // that remain then
	}{
		{"after the reset", 3 * s, func(*window) {}, 10},
		{"before it", s - 1, func(w *window) { w.nextLook = at(0) }, 0},
		{"before a look", s + 10*ms - 1, func(*window) {}, 0},
		{"at the look", s + 10*ms, func(*window) {}, 10},
		{"while something remains", s, func(w *window) { w.usedUpSince, w.remaining = 0, 3 }, 10},
		{"nobody found the whole", 3 * s, func(w *window) { w.seen.whole = false }, 0},
		{"no reset", 3 * s, func(w *window) { w.reset.late = 0 }, 0},
		{"no limit", 3 * s, func(w *window) { w.stated = 0 }, 0},
		{"others", 3 * s, func(w *window) { w.others.perOurToken = 0.1 }, 0},
		{"siblings", 3 * s, func(w *window) { w.others.siblings = true }, 0},
		{"instances", 3 * s, func(w *window) { w.instances = true }, 0},
		{"refusals begin the window anew", 3 * s, func(w *window) { w.renewal.renews = true }, 0},
		{"a look in vain", 3 * s, func(w *window) { w.vainLooks = 1 }, 0},
		{"a look after the reset in vain", 3 * s, func(w *window) { w.missedLooks = 1 }, 0},
		{"it was wrong", 3 * s, func(w *window) { w.doubtCount.fail(0) }, 0},
		{"token by token", 2*s - 1, refills, 7},
		{"beside what remains", s, func(w *window) { refills(w); w.remaining = 5 }, 9},
		{"no more than all", 9 * s, refills, 10},
		{"as much as no int is", 9 * s, func(w *window) { refills(w); w.refill.rate = 1e300 }, 10},
		{"at a rate that is not proven", 9 * s, func(w *window) { refills(w); w.refill.finds-- }, 0},
		{"in a crowd", 9 * s, func(w *window) { refills(w); w.refill.crowd.left = 1 }, 0},
	} {
		for _, longest := range []time.Duration{-1, 160 * ms, 160*ms + 1, 0} {
			w, now, want := known(test.change), at(test.after), test.want
			before := w.remaining
			if longest == 0 || longest > 160*ms { // it can wait for the answer to a look
				want = before
			}
			srv := &Server{}
			srv.windows = []*window{w}
			want = max(want, before)
			if more := srv.CountBack(now, longest); w.remaining != want || more != (want > before) {
				t.Errorf("%s, waits for %v: %v, %d remain, want %d", test.name, longest, more, w.remaining, want)
			} else if more && (w.usedUpSince != 0 || w.looking || w.nextLook != now.Add(Patience) || w.countedAt != now) {
				t.Errorf("%s: used up since %v, looking %v, next look in %v, counted at %v", test.name, w.usedUpSince, w.looking, w.nextLook.Sub(now), w.countedAt)
			}
		}
	}
}

// TestCountBackWasWrong: a request that went with what was counted, or within its round trip, says only what
// remains; and if it was refused by the limit, that is tried again 16 windows later.
func TestCountBackWasWrong(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name       string
		o          outcome
		was, wrong bool
	}{
		{"refused", outcome{refused: true, sent: start, now: start.Add(80 * ms)}, true, true},
		{"a moment later", outcome{refused: true, sent: start.Add(80 * ms), now: start.Add(160 * ms)}, true, true},
		{"much later", outcome{refused: true, sent: start.Add(80*ms + 1), now: start.Add(160 * ms)}, false, false},
		{"before", outcome{refused: true, sent: start - 1, now: start.Add(80 * ms)}, false, false},
		{"by another limit", outcome{refused: true, elsewhere: true, sent: start, now: start.Add(80 * ms)}, false, false},
		{"served", outcome{sent: start, now: start.Add(80 * ms)}, true, false},
	} {
		w := &window{}
		if w.wasCounted(&test.o) {
			t.Errorf("%s: it was counted, before anything was", test.name)
		}
		w.countedAt = start
		for range 2 { // all of a burst are refused: it was wrong once
			if got := w.wasCounted(&test.o); got != test.was || (w.doubtCount.skip == 16) != test.wrong {
				t.Errorf("%s: was counted %v, tried again after %d windows; want %v, wrong %v", test.name, got, w.doubtCount.skip, test.was, test.wrong)
			}
		}
	}
}

// A look that goes beside what was left, since the reset has come, is of the same window as these: whichever is
// answered first, nothing is left when they were all served.
func TestLookBesideWhatWasLeft(t *testing.T) {
	for _, first := range []int{0, 49} { // which of them is answered first: the look was granted last
		b := newBucket(t, Config{})
		b.exchange(says(left(49, 50, time.Second)))
		b.at(3 * time.Second)
		tickets := make([]*Ticket, 50)
		for i := range tickets {
			tickets[i] = b.send()
		}
		if !tickets[49].looks || tickets[48].looks {
			t.Fatalf("the last one looks: %v; the one before: %v", tickets[49].looks, tickets[48].looks)
		}
		b.at(3100 * time.Millisecond)
		order := append([]*Ticket{tickets[first]}, append(tickets[:first:first], tickets[first+1:]...)...)
		for i, k := range order {
			b.done(k, says(left(49-i, 50, 5*time.Second)))
		}
		if w := b.window1(); w.remaining != 0 || w.others.perOurToken != 0 {
			t.Errorf("the one at %d was answered first: %d remain, and others use %v for each of ours, want 0 and 0", first, w.remaining, w.others.perOurToken)
		}
	}
}
