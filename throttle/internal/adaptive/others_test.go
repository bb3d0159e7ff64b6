package adaptive

import (
	"math"
	"testing"
	"time"
)

// TestOthersOfARefill: where others use a limit that comes back token by token, what may not be in flight
// beside theirs goes at the pace of the limit, one after the other, however much remains; if the rate is hardly
// known, as of a limit that is back within a step, all of it goes a token's time after the answer.
func TestOthersOfARefill(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		back time.Duration
		want int
	}{{100 * s, 11}, {4 * s, 11}, {4*s - 1, 99}} {
		b := newBucket(t, Config{})
		b.exchange(says(left(99, 100, 100*s)))
		w := b.window1()
		w.others.perOurToken, w.others.unseenUntil, w.reset.resolution = 2, 0, s
		r := &w.refill
		r.refills, r.rate, r.atMost, r.span, r.maxHold, r.pacedFrom = true, 1, 1, test.back, time.Minute, start
		b.at(10 * s)
		for b.InFlight() < 100 && b.Open(b.now, of(1), nil, 0) {
			b.send()
		}
		if got := b.InFlight(); got != test.want { // 11 + 4·2·11 = 99
			t.Errorf("back in %v: %d go at once, want %d", test.back, got, test.want)
		}
		for i := 11; test.want == 11 && i < 14; i++ {
			b.wantDue(s)
			b.at(time.Duration(i) * s).send()
		}
	}
}

// TestOthersBesideAFlight: where others are there for certain, what of ours went after the request of an answer
// is not taken for used. Where all of ours explain what is missing, nobody is seen. Where the reset is stated
// in seconds, all that is in flight is taken for used.
func TestOthersBesideAFlight(t *testing.T) {
	for _, test := range []struct {
		remaining int
		step      time.Duration
		want      float64
	}{
		{89, time.Millisecond, 0},
		{88, time.Millisecond, 5},
		{86, time.Millisecond, 6},
		{88, time.Second, 1. / 11},
		{86, time.Second, 3. / 11},
	} {
		b := newBucket(t, Config{})
		left := func(remaining int) Answer {
			st := left(remaining, 100, time.Minute)
			st.Resolution = test.step
			return says(st)
		}
		b.exchange(left(99))
		var flight []*Ticket
		for range 10 {
			flight = append(flight, b.send())
		}
		b.at(100*time.Millisecond).done(flight[0], left(test.remaining))
		if got := b.window1().others.perOurToken; math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%d remain, in steps of %v: %v for each of ours, want %v", test.remaining, test.step, got, test.want)
		}
	}
}

// TestOthersAfterASplit: what the Server had granted whose limit was split off is no number of the one that has
// it now. So nobody knows what of ours went after the request of an answer, until the limit is back: all of it
// is taken for used.
func TestOthersAfterASplit(t *testing.T) {
	var site Site
	all, own := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	left := func(remaining int) Answer {
		st := left(remaining, 100, time.Minute)
		st.Resolution, st.Counter = time.Millisecond, "x"
		return says(st)
	}
	for range 50 {
		all.exchange(says())
	}
	all.exchange(left(99))
	if !all.SplitOff("x", own.Server) {
		t.Fatal("no window of x was moved")
	}
	var flight []*Ticket
	for range 10 {
		flight = append(flight, own.send())
	}
	own.at(100*time.Millisecond).done(flight[1], left(88))
	if got, want := own.window1().others.perOurToken, 1./11; math.Abs(got-want) > 1e-9 { // 12 are used, of which 11 are ours
		t.Errorf("others use %v for each token of ours, want %v", got, want)
	}
	joined := others{atStart: 100, notSince: 50} // likewise of a limit that was shared, when one Server alone has it again
	joined.join(&others{usedByUs: 1}, 88, 10)
	if got, want := joined.beside(&outcome{remaining: 88, flight: 10, granted: 10, resetLate: 1}), 1./11; math.Abs(got-want) > 1e-9 {
		t.Errorf("joined: others use %v for each token of ours, want %v", got, want)
	}
}

// TestOthersAtAReset: of what is kept back for others until a reset, one goes then, and the rest waits for its
// answer, and no longer than Patience for each.
func TestOthersAtAReset(t *testing.T) {
	const s = time.Second
	flight := func(b *bucket) (all []*Ticket) {
		for b.Open(b.now, of(1), nil, 0) {
			all = append(all, b.send())
		}
		return all
	}
	b := newBucket(t, Config{})
	for i := range 5 {
		b.exchange(says(left(98-2*i, 100, 10*s))) // one of ours, one of theirs
	}
	if got := len(flight(b)); got != 18 { // n + 4·1·n ≤ 90
		t.Fatalf("%d requests go at once, want 18", got)
	}
	b.wantDue(10 * s)
	one := flight(b.at(10 * s))
	if len(one) != 1 {
		t.Fatalf("%d requests go at the reset, want 1", len(one))
	}
	b.wantDue(Patience)
	b.at(15 * s)
	if one = append(one, flight(b)...); len(one) != 2 {
		t.Fatalf("%d requests go after Patience, want 1", len(one)-1)
	}
	b.done(one[0], says(left(99, 100, 10*s)))
	if got := len(flight(b)); got != 80 { // the others are gone, and 19 are under way
		t.Errorf("%d requests go with the answer, want 80", got)
	}
}

// TestOthersAtTheFirstAnswer: where something is missing before our first request, however much, others may
// have taken it just now: until further answers show them, or for four round trips, a ninth of what remains
// goes at once. Where nothing is missing, that is a third, and all of a limit of fewer than 20.
func TestOthersAtTheFirstAnswer(t *testing.T) {
	const trip = 100 * time.Millisecond
	for _, test := range []struct{ limit, remaining, want int }{
		{100, 99, 33}, {100, 89, 9}, {100, 39, 4}, {100, 9, 1}, {19, 18, 18}, {19, 9, 1}, {4, 2, 1},
	} {
		b := newBucket(t, Config{})
		first := b.send()
		b.at(trip).done(first, says(left(test.remaining, test.limit, time.Minute)))
		b.window1().others.perOurToken = 0 // few missing tokens say more
		for b.Open(b.now, of(1), nil, 0) {
			b.send()
		}
		if got := b.InFlight(); got != test.want {
			t.Errorf("%d of %d remain: %d go at once, want %d", test.remaining, test.limit, got, test.want)
		}
		if test.want == test.remaining {
			continue
		}
		b.wantDue(4 * trip)
		for b.at(5 * trip); b.Open(b.now, of(1), nil, 0); {
			b.send()
		}
		if got := b.InFlight(); got != test.remaining {
			t.Errorf("%d of %d remain: %d have gone after four round trips, want all", test.remaining, test.limit, got)
		}
	}
}

// TestOthersThatAreGone: where a reset comes while something remains, nobody looks for it. That all is back
// then shows how much others have used, and each time the estimate falls by half at most.
func TestOthersThatAreGone(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		found int // by the request after the reset
		ours  int // requests before it, and as many tokens are theirs
		want  float64
	}{
		"others are gone":        {100, 20, 2},
		"others are as many":     {100, 10, 3},
		"they may have used 12":  {86, 20, 2},
		"they have used some":    {70, 20, 4},
		"few requests were ours": {100, 3, 4},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(99, 100, 10*s)))
		u := &b.window1().others
		for i := range test.ours - 1 {
			remaining := 98 - i
			if test.ours == 10 {
				remaining -= 3 * (i + 2)
			}
			b.exchange(says(left(remaining, 100, 10*s)))
		}
		u.perOurToken, u.measured = 4, true
		b.at(10 * s).exchange(says(left(test.found-1, 100, 10*s)))
		if u.perOurToken != test.want {
			t.Errorf("%s: %v for each of ours, want %v", name, u.perOurToken, test.want)
		}
	}
}

// TestOthersBesideAReserve: a look that had one of the tokens that are reserved begins no window: what others
// take of these after it is theirs. What was there of another limit does not make a look one in vain.
func TestOthersBesideAReserve(t *testing.T) {
	const s = time.Second
	b := newBucket(t, Config{})
	exchange := func(remaining int) {
		ticket := &Ticket{Sent: b.now, N: 1}
		b.Take(b.now, b.now, of(1), nil, 0.5, ticket)
		b.done(ticket, says(left(remaining, 20, 10*s)))
	}
	for i := range 10 {
		exchange(19 - i)
	}
	b.at(10 * s)
	exchange(9)
	b.at(20 * s)
	exchange(4)
	if u := &b.window1().others; u.atStart != 20 || u.usedByUs != 12 {
		t.Errorf("%d were there, and %d of these are ours, want 20 and 12", u.atStart, u.usedByUs)
	}

	o := outcome{idle: 10, remainingBefore: 10, remaining: 4, n: 1}
	if !o.vain() {
		t.Error("a look that found no more than what is reserved is not in vain")
	}
	if o.otherLimit = true; o.vain() {
		t.Error("a look is in vain that found five of another limit")
	}
}

// TestLookThatIsOvertaken: a look whose answer was written before others that have come says nothing of what
// others have used since the window began: this one was seen to begin already.
func TestLookThatIsOvertaken(t *testing.T) {
	for _, newest := range []bool{true, false} {
		u := others{began: start, atStart: 30, foundAtStart: 30, limitAtStart: 30, usedByUs: 1, measured: true}
		u.count(&outcome{sent: start.Add(1), now: start.Add(2), n: 1, flight: 1, limit: 30, remaining: 28, remainingBefore: 3, look: true, newest: newest}, false)
		if seen := u.perOurToken > 0; seen != newest {
			t.Errorf("newest %v: others use %v for each of ours", newest, u.perOurToken)
		}
	}
}
