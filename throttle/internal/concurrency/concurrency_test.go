package concurrency

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// start is the first instant of the tests.
const start = monotime.Time(1000 * time.Hour)

// TestMost: how many of ours may be under way after answers to requests that cost one each, with what they
// state.
func TestMost(t *testing.T) {
	left := func(most, n int) quota.Concurrency {
		return quota.Concurrency{Limit: int64(most), Remaining: int64(n), RemainingKnown: true}
	}
	type answer struct {
		says     quota.Concurrency
		underway int
		refused  bool
	}
	none := answer{underway: 1}
	for name, test := range map[string]struct {
		answers []answer
		stated  bool
		most    int
	}{
		"nothing is stated":               {[]answer{none}, false, 0},
		"what others leave":               {[]answer{{left(10, 5), 2, false}}, true, 7},
		"no more than in all":             {[]answer{{left(10, 9), 5, false}}, true, 10},
		"one may always go":               {[]answer{{left(10, 0), 0, false}}, true, 1},
		"a limit alone":                   {[]answer{{quota.Concurrency{Limit: 10}, 1, false}}, true, 10},
		"what remains alone":              {[]answer{{left(0, 3), 2, false}}, true, 5},
		"a refusal leaves one less":       {[]answer{{left(10, 0), 6, false}, {left(10, 0), 6, true}}, true, 5},
		"a refusal of which more remains": {[]answer{{left(10, 4), 6, false}, {left(10, 4), 6, true}}, true, 10},
		"answers that state nothing":      {[]answer{{left(10, 5), 2, false}, none, none, none, none}, true, 7},
		"refusals alone state it":         {[]answer{{left(10, 0), 6, true}}, true, 5},
		"and what is served allows more":  {[]answer{{left(10, 0), 6, true}, none, none, none}, true, 7},
		"up to what the server allows":    {[]answer{{left(6, 0), 6, true}, none, none, none, none, none}, true, 6},
		"nothing is bounded":              {[]answer{{quota.Concurrency{Remaining: math.MaxInt64, RemainingKnown: true}, 1, false}}, true, unbounded},
	} {
		var c Bound
		for i, a := range test.answers {
			granted := uint64(2*i + 1)
			c.Learn(start, &a.says, &Ended{Granted: granted, Latest: granted, N: 1, Underway: a.underway, Refused: a.refused, Served: !a.refused})
		}
		if c.Stated() != test.stated || c.most != test.most {
			t.Errorf("%s: stated %v, %d at a time, want %v, %d", name, c.Stated(), c.most, test.stated, test.most)
		}
	}
}

// TestAfterAPause: when all answers have come, what was under way before is no more: what remains beside one
// request is all that others leave, and a refusal of one is not because too many were under way.
func TestAfterAPause(t *testing.T) {
	stated := func(left int) *quota.Concurrency {
		return &quota.Concurrency{Limit: 10, Remaining: int64(left), RemainingKnown: true}
	}
	burst := func() (c Bound) {
		c.Learn(start, stated(9), &Ended{Granted: 1, Latest: 1, N: 1, Underway: 1, Served: true})
		for n := range 12 { // the last two must not wait
			c.Take(start, uint64(n+2), Flight{N: n + 1}, 1)
		}
		for n := range 12 {
			c.Learn(start, stated(0), &Ended{Granted: uint64(n + 2), Latest: 13, N: 1, Underway: 12 - n, Served: true})
		}
		return c
	}
	c, later := burst(), start.Add(time.Minute)
	c.Take(later, 14, Flight{N: 1}, 1)
	if c.Learn(later, stated(3), &Ended{Granted: 14, Latest: 14, N: 1, Underway: 1, Served: true}); c.most != 4 {
		t.Errorf("%d at a time, want 4, as three more remain: %+v", c.most, c)
	}
	c = burst()
	c.Take(later, 14, Flight{N: 1}, 1)
	if explains, _ := c.Learn(later, stated(3), &Ended{Granted: 14, Latest: 14, N: 1, Underway: 1, Refused: true}); explains {
		t.Errorf("a refusal of one, where three more remain, is explained: %+v", c)
	}
}

// TestStatedNoMore: after how many round trips without a word, in each of which all were used, there is no
// limit.
func TestStatedNoMore(t *testing.T) {
	for name, test := range map[string]struct {
		says quota.Concurrency
		want int
	}{
		"the limit":          {quota.Concurrency{Limit: 5}, silentAfter + 6},
		"what others leave":  {quota.Concurrency{Limit: 5, Remaining: 1, RemainingKnown: true}, silentAfter + 8}, // three, up to ten
		"what remains alone": {quota.Concurrency{Remaining: 3, RemainingKnown: true}, silentAfter + 6},
	} {
		var c Bound
		c.Learn(start, &test.says, &Ended{Granted: 1, Latest: 1, N: 1, Underway: 2, Served: true})
		got, later := 0, start.Add(patience)
		for ; c.Stated() && got < 1000; got++ {
			granted := uint64(got + 2)
			c.Take(later, granted, Flight{N: c.most}, 1)
			c.Learn(later, &quota.Concurrency{}, &Ended{Granted: granted, Latest: granted, N: 1, Underway: c.most, Served: true})
		}
		if got != test.want {
			t.Errorf("%s: no limit after %d, want %d", name, got, test.want)
		}
	}
}

// TestDue: one more goes as a look, after five seconds, then after ten, while others have the rest; and never
// beside as many as the server allows in all.
func TestDue(t *testing.T) {
	var c Bound
	c.Learn(start, &quota.Concurrency{Limit: 3, RemainingKnown: true}, &Ended{Granted: 1, Latest: 1, N: 1, Underway: 3, Refused: true})
	for underway, want := range map[int]time.Duration{0: 0, 1: 0, 2: patience, 3: monotime.Longest} {
		d := limit.Due{At: start}
		if c.Due(&d, Flight{N: underway}, 1, false); d.At != start.Add(want) || c.Open(start, Flight{N: underway}, 1) != (want == 0) {
			t.Errorf("beside %d: due after %v, want %v", underway, d.At.Sub(start), want)
		}
		d = limit.Due{At: start}
		if c.Due(&d, Flight{N: underway}, 1, true); d.At != start || (d.Cause == limit.InFlight) != (want > 0) {
			t.Errorf("beside %d, an optimist has %+v", underway, d)
		}
	}
	c.Take(start.Add(patience), 3, Flight{N: 3}, 1)
	d := limit.Due{At: start.Add(patience)}
	if c.Due(&d, Flight{N: 2}, 1, false); d.At != start.Add(3*patience) {
		t.Errorf("after a look, due after %v, want %v", d.At.Sub(start), 3*patience)
	}
	c.served = true
	c.Learn(start.Add(patience), &quota.Concurrency{}, &Ended{Granted: 3, Latest: 4, N: 1, Underway: 3, Served: true})
	d = limit.Due{At: start.Add(patience)}
	if c.Due(&d, Flight{N: 2}, 1, false); d.At != start.Add(2*patience) {
		t.Errorf("after a look that was served, due after %v, want %v", d.At.Sub(start), 2*patience)
	}
}

// TestBelief: people are told how many are allowed, and how many of these are ours.
func TestBelief(t *testing.T) {
	for c, want := range map[Bound]string{
		{}: "", {most: unbounded, limit: unbounded}: "",
		{most: 6, limit: 10}:        "10, of which 6 are ours now",
		{most: 10, limit: 10}:       "10, all of them ours now",
		{most: 6, limit: unbounded}: "6 of ours now",
		{most: 11, limit: 10}:       "11 of ours now", // it is stated no more
	} {
		if got := c.Belief(); strings.TrimPrefix(got, "states how many requests may be under way at a time: ") != want {
			t.Errorf("%+v: %q is believed, want %q", c, got, want)
		}
	}
}
