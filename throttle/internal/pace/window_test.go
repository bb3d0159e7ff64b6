package pace

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// client is one caller, who always asks, and the server that it asks. Each way takes 5 ms.
type client struct {
	Rate
	now     monotime.Time
	admits  func(now monotime.Time) bool
	hint    func(now monotime.Time) time.Duration // what a refusal asks for, in whole seconds; nil if it does not say
	inARow  int                                   // refusals
	refused []monotime.Time                       // all refusals
	longest time.Duration                         // a hint is waited for so long at most; zero if for as long as it asks
	turns   []int                                 // how many were served, of those that came within a second of each other
	latest  monotime.Time                         // the latest that was served
	asked   monotime.Time                         // the latest time that it asked
	every   time.Duration                         // it asks no sooner than so long after that
}

// run asks until an instant.
func (c *client) run(until monotime.Time) {
	for {
		at := c.Due(max(c.now, c.asked.Add(c.every)), 0, 1, 0, false)
		if at > until {
			c.now = max(c.now, until) // a hold goes on
			return
		}
		c.asked = at
		c.Take(at, at, 1)
		c.now = at.Add(10 * time.Millisecond)
		if c.admits(at.Add(5 * time.Millisecond)) {
			c.Serve(c.now, 1, Went{})
			if c.inARow = 0; c.latest == 0 || c.now.Sub(c.latest) >= time.Second {
				c.turns = append(c.turns, 0)
			}
			c.latest = c.now
			c.turns[len(c.turns)-1]++
			continue
		}
		c.inARow++
		c.refused = append(c.refused, c.now)
		c.Refuse(c.now, c.hint != nil)
		hold := 100 * time.Millisecond << min(c.inARow-1, 8)
		if c.hint != nil {
			asked := c.hint(c.now)
			c.Hint(c.now, asked, time.Second)
			if asked > 0 {
				c.now = c.now.Add(min(asked, cmp.Or(c.longest, asked)))
				continue
			}
		}
		if look, ok := c.Look(c.now, c.inARow, true, 0); ok {
			hold = look
		}
		c.now = c.now.Add(hold)
	}
}

// fixed is a server that admits so many in each window, which begins with the first request.
func fixed(limit *int, lasts *time.Duration) func(now monotime.Time) bool {
	var from monotime.Time
	var used int
	return func(now monotime.Time) bool {
		if from == 0 || now >= from.Add(*lasts) {
			from, used = now, 0
		}
		used++
		return used <= *limit
	}
}

// slides is a server that admits so many in any span.
func slides(limit int, span time.Duration) func(now monotime.Time) bool {
	var all []monotime.Time
	return func(now monotime.Time) bool {
		all = slices.DeleteFunc(all, func(t monotime.Time) bool { return t <= now.Add(-span) })
		if len(all) >= limit {
			return false
		}
		all = append(all, now)
		return true
	}
}

// TestWindow: where as many are served in each window, and nothing else, a window is known after the second.
// From then on, as many go at once in each, and nothing is refused but one request now and then that finds out
// whether there are more.
func TestWindow(t *testing.T) {
	limit, lasts := 20, 7*time.Second
	hints := map[string]func(now monotime.Time) time.Duration{
		"silent": nil,
		"hint":   nil, // below
	}
	for name := range hints {
		c := client{now: start, admits: fixed(&limit, &lasts)}
		if name == "hint" {
			admits, ends := c.admits, monotime.Time(0)
			c.admits = func(now monotime.Time) bool {
				if ends == 0 || now >= ends {
					ends = now.Add(lasts)
				}
				return admits(now)
			}
			c.hint = func(now monotime.Time) time.Duration {
				return (ends.Sub(now) + time.Second - 1).Truncate(time.Second)
			}
		}
		c.run(start.Add(25 * time.Second))
		if size, span, known := c.Window(); !known || size != 20 || span != lasts {
			t.Fatalf("%s: after 25 s: %d in %v, known %v, want 20 in 7s", name, size, span, known)
		}
		c.refused, c.turns, c.latest = nil, nil, 0
		c.run(start.Add(45 * time.Second))
		if !slices.Equal(c.turns, []int{20, 20, 20}) || len(c.refused) > 1 {
			t.Errorf("%s: from 25 to 45 s, %v were served at once, and %d refused, want 20 three times, and one at most", name, c.turns, len(c.refused))
		}
		limit = 31
		c.turns, c.latest = nil, 0
		c.run(start.Add(2 * time.Minute))
		if got := c.turns[len(c.turns)-1]; got != 31 {
			t.Errorf("%s: within 75 s after the limit rose to 31, %d go at once", name, got)
		}
		limit = 12
		c.turns, c.latest = nil, 0
		c.run(start.Add(150 * time.Second))
		if got := c.turns[len(c.turns)-1]; got != 12 {
			t.Errorf("%s: after the limit fell to 12, %v go at once", name, c.turns)
		}
		limit = 20
	}
}

// TestWindowSlides: of a window that slides, requests come back one by one. There are a few refusals where a
// turn comes a little too soon, and then turns begin later.
func TestWindowSlides(t *testing.T) {
	c := client{now: start, admits: slides(50, 4*time.Second)}
	c.run(start.Add(20 * time.Second))
	if size, span, known := c.Window(); !known || size != 50 || span != 4*time.Second {
		t.Fatalf("after 20 s: %d in %v, known %v, want 50 in 4s", size, span, known)
	}
	c.refused, c.turns, c.latest = nil, nil, 0
	c.run(start.Add(80 * time.Second))
	var served int
	for _, n := range c.turns {
		served += n
	}
	if served < 14*50 || len(c.refused) > 4 {
		t.Errorf("in a minute %d were served and %d refused, want 700 of 750 at least, and 4 at most", served, len(c.refused))
	}
	// The first request of a turn comes too soon: the turn before goes on. After mostStumbles, no window is
	// known.
	from := c.window.turn.from
	for i := range mostStumbles {
		now := c.window.turn.from.Add(c.window.period())
		c.window.turn.granted, c.window.turn.refused, c.window.next = c.window.size, 0, now.Add(time.Hour)
		if !c.Alone(now, 1, 0) {
			t.Fatalf("after %d: the first request of a turn does not go alone", i)
		}
		c.Take(now, now, 1)
		c.Refuse(now, false)
		if _, _, known := c.Window(); known != (i < mostStumbles-1) {
			t.Errorf("after %d turns that were refused too soon, a window is known: %v", i+1, known)
		}
	}
	if c.window.turn.from != from {
		t.Error("a turn that was refused at once has begun")
	}
}

// TestWindowHintTooLong: a server that asks to be left alone for an hour serves again after ten seconds, when a
// request goes since nothing is held for longer. What was not true says nothing of the window: else each turn
// would come an hour after the one before.
func TestWindowHintTooLong(t *testing.T) {
	limit, lasts := 20, 10*time.Second
	c := client{now: start, admits: fixed(&limit, &lasts), hint: func(monotime.Time) time.Duration { return time.Hour }, longest: 10 * time.Second}
	c.run(start.Add(2 * time.Minute))
	if size, span, known := c.Window(); known && span > 11*time.Second {
		t.Errorf("a window of %d in %v is seen, want 10 or 11 s", size, span)
	}
	if n := len(c.turns); n < 11 || slices.Min(c.turns[:n-1]) < limit {
		t.Errorf("in two minutes, %v were served at once, want %d eleven times", c.turns, limit)
	}
}

// TestNoWindow: no window is seen where there is none, whatever is served at once.
func TestNoWindow(t *testing.T) {
	bucket := func(rate, burst float64) func(now monotime.Time) bool {
		level, at := burst, start
		return func(now monotime.Time) bool {
			level = min(level+rate*now.Sub(at).Seconds(), burst)
			if at = now; level < 1 {
				return false
			}
			level--
			return true
		}
	}
	second := func(monotime.Time) time.Duration { return time.Second }
	minute := func(monotime.Time) time.Duration { return time.Minute }
	for name, c := range map[string]*client{
		"bucket":                         {admits: bucket(20, 30)},
		"bucket, few tokens":             {admits: bucket(20, 2)},
		"slow bucket":                    {admits: bucket(1, 12)},
		"bucket that says a second":      {admits: bucket(20, 10), hint: second},
		"slow bucket that says a second": {admits: bucket(2, 50), hint: second},
		"small windows":                  {admits: slides(leastRow-1, 3*time.Second)},
		"no limit":                       {admits: func(monotime.Time) bool { return true }},
	} {
		c.now = start
		for range 60 {
			c.run(c.now.Add(time.Second))
			if size, span, known := c.Window(); known {
				t.Errorf("%s: a window of %d in %v is seen after %v", name, size, span, c.now.Sub(start))
				break
			}
		}
	}
	// Who always says a minute, and serves as many after it each time, cannot be told from a window.
	c := client{now: start, admits: bucket(20, 20), hint: minute}
	c.run(start.Add(5 * time.Minute))
	if _, _, known := c.Window(); !known {
		t.Error("no window is seen although as many are served after a minute each time")
	}
}

// TestWindowGone: where a turn that goes on is not refused any more, there is no window.
func TestWindowGone(t *testing.T) {
	limit, lasts := 20, 3*time.Second
	c := client{now: start, admits: fixed(&limit, &lasts)}
	c.run(start.Add(15 * time.Second))
	if _, _, known := c.Window(); !known {
		t.Fatal("no window is known")
	}
	copied := c.Rate
	if copied.Scale(0.5); copied.window != (window{}) {
		t.Error("a window is known after others came")
	}
	limit = 1 << 30
	c.run(start.Add(time.Minute))
	if _, _, known := c.Window(); known {
		t.Error("a window is known where nothing was refused for half a minute")
	}
}

// TestWindowDue: who is behind others waits for as many windows as these need.
func TestWindowDue(t *testing.T) {
	w := window{size: 10, alike: 1, sudden: true, least: 4500 * time.Millisecond, most: 5300 * time.Millisecond, next: start.Add(time.Hour)}
	w.turn = turn{from: start, granted: 4}
	for _, test := range []struct {
		tokens int
		want   time.Duration
	}{{6, 0}, {7, 5 * time.Second}, {16, 5 * time.Second}, {17, 10 * time.Second}, {10_006, 5000 * time.Second}} {
		if got := w.due(start, test.tokens).Sub(start); got != test.want {
			t.Errorf("%d tokens: in %v, want %v", test.tokens, got, test.want)
		}
	}
	w.least = 2500 * time.Millisecond // three, four or five seconds
	if got := w.lasts(w.least); got != 4*time.Second {
		t.Errorf("a window of 2.5 to 5.3 s is tried after %v, want 4s", got)
	}
	if got := w.lasts(5100 * time.Millisecond); got != w.most {
		t.Errorf("a window of 5.1 to 5.3 s is tried after %v, want %v", got, w.most)
	}
}

// TestWindowNear: a hint is over, and the server says that it takes no step more. So looks come soon, and not
// after half of the row.
func TestWindowNear(t *testing.T) {
	var r Rate
	r.serve(start)
	now := start.Add(50 * time.Millisecond)
	r.Refuse(now, true)
	r.Hint(now, 9*time.Second, time.Second)
	now = now.Add(9 * time.Second)
	r.Refuse(now, true)
	r.Hint(now, 0, time.Second)
	if hold, ok := r.Look(now, 3, true, 0); ok {
		t.Errorf("the look after a hint of 9 s comes in %v, want it soon", hold)
	}
	var other Rate
	other.serve(start)
	other.Refuse(now, true)
	other.Hint(now, 0, time.Second) // it never said more
	if _, ok := other.Look(now, 3, true, 0); !ok {
		t.Error("no look after the row, where no hint said more than nothing")
	}
}

// TestWindowSlack: requests that come back one by one have the turns begin a tenth of a second later each time,
// and by a second at most.
func TestWindowSlack(t *testing.T) {
	w := window{size: 50, alike: 1, sudden: true, least: 3 * time.Second, most: 4 * time.Second, turn: turn{from: start, granted: 10, served: 10}}
	var got []int64
	for now := start; len(got) < 12; now = now.Add(time.Millisecond) {
		w.stumbles = 0 // turns between were not refused too soon
		w.turn.stumbled = false
		w.refuse(now)
		w.serve(now, 1, Went{})
		got = append(got, w.slack.Milliseconds())
	}
	if want := "[100 200 300 400 500 600 700 800 900 1000 1000 1000]"; fmt.Sprint(got) != want {
		t.Errorf("slack of %v ms, want %s", got, want)
	}
}

// TestWindowThatEndsWhileItIsTried: what is served beyond a turn when the window may be over is the first of
// the next turn, and not more of this one.
func TestWindowThatEndsWhileItIsTried(t *testing.T) {
	at := func(d time.Duration) monotime.Time { return monotime.Time(time.Second).Add(d) }
	w := window{size: 10, alike: 1, sudden: true, least: 59 * time.Second, most: 60 * time.Second, next: at(30 * time.Second)}
	w.turn, w.fell = turn{from: at(0), granted: 10, served: 10}, true
	w.take(at(59500*time.Millisecond), 1)
	if !w.turn.beyond {
		t.Fatal("the request does not go beyond the turn")
	}
	w.serve(at(59600*time.Millisecond), 1, Went{})
	if w.size != 10 || w.turn.from != at(59600*time.Millisecond) || w.turn.beyond || w.turn.granted != 1 || w.turn.served != 1 {
		t.Errorf("size %d, turn %+v, want 10 and a turn that begins", w.size, w.turn)
	}
	if w.most != 59600*time.Millisecond || w.fell {
		t.Errorf("a window of %v at most, which had less in the latest turn: %v, want 59.6 s, false", w.most, w.fell)
	}
}

// TestWindowThatBeganBeforeItsTurn: windows begin by the clock, and a caller who has paused begins in the
// middle of one. So what a turn has is used up, and the next window begins, sooner than a window lasts: that
// says nothing about how long it does.
func TestWindowThatBeganBeforeItsTurn(t *testing.T) {
	const limit, lasts = 1000, time.Minute
	first := start - start%monotime.Time(lasts) + monotime.Time(lasts)
	for _, test := range []struct{ pause, every time.Duration }{
		{5 * time.Second, 55 * time.Millisecond},
		{15 * time.Second, 45 * time.Millisecond},
	} {
		var window monotime.Time
		used := 0
		c := client{now: start, admits: func(now monotime.Time) bool {
			if w := now - now%monotime.Time(lasts); w != window {
				window, used = w, 0
			}
			used++
			return used <= limit
		}}
		c.run(first.Add(5 * lasts))
		c.now, c.every, c.refused = c.now.Add(test.pause), test.every, nil
		for i := range 8 {
			c.run(first.Add(time.Duration(6+i) * lasts))
			if size, span, known := c.Window(); size != limit || span.Round(time.Second) != lasts || !known {
				t.Errorf("%v: %d minutes later: %d in %v, known %v, want %d in %v", test, i+1, size, span, known, limit, lasts)
			}
		}
		if len(c.refused) > 4 {
			t.Errorf("%v: %d refused in eight windows, want 4 at most", test, len(c.refused))
		}
	}
}

// Turns that are served for more than half of the window show it once three had as many, and not after two;
// those that are served for more than two thirds, once four had; and never, if next to nothing of it is left.
func TestWindowThatIsUsedForMoreThanHalf(t *testing.T) {
	for _, test := range []struct {
		used  time.Duration // until the first refusal, of seven seconds
		turns int           // after how many the window is known; zero if it is not
	}{{3400 * time.Millisecond, 2}, {3800 * time.Millisecond, 3}, {4600 * time.Millisecond, 3}, {4800 * time.Millisecond, 4}, {6500 * time.Millisecond, 4}, {6600 * time.Millisecond, 0}} {
		w, got := window{}, 0
		for turn := range 6 {
			begins := monotime.Time(1).Add(time.Duration(turn) * 7 * time.Second)
			w.take(begins, 1)
			w.serve(begins, 1, Went{})
			if w.known() {
				got = turn
				break
			}
			w.take(begins, 999)
			w.serve(begins.Add(test.used), 999, Went{})
			for _, at := range []time.Duration{test.used, 6900 * time.Millisecond} {
				w.refuse(begins.Add(at))
			}
		}
		if got != test.turns {
			t.Errorf("used up after %v: known after %d turns, want %d", test.used, got, test.turns)
		}
	}
}

// TestWindowIsTriedWhileOthersAreOnTheirWay: what went before the request beyond a turn is of that turn, also
// if it is served when the window may be over; and what goes beside it is of the next one.
func TestWindowIsTriedWhileOthersAreOnTheirWay(t *testing.T) {
	at := func(d time.Duration) monotime.Time { return monotime.Time(time.Second).Add(d) }
	w := window{size: 100, alike: 1, sudden: true, least: 59 * time.Second, most: 60 * time.Second, next: at(30 * time.Second)}
	w.turn = turn{from: at(0), granted: 100, served: 80}
	w.take(at(50*time.Second), 1)
	for range 20 {
		w.serve(at(50*time.Second), 1, Went{BeforeAlone: true})
	}
	if w.size != 100 || w.turn.from != at(0) || !w.turn.beyond || w.turn.served != 100 {
		t.Errorf("size %d, turn %+v, want 100 and the turn of before", w.size, w.turn)
	}
	w.take(at(60*time.Second), 1)
	w.serve(at(61*time.Second), 1, Went{})
	w.serve(at(61*time.Second), 1, Went{})
	if w.size != 100 || w.turn.from != at(61*time.Second) || w.turn.granted != 2 || w.turn.served != 2 {
		t.Errorf("size %d, turn %+v, want 100 and a turn that begins with two", w.size, w.turn)
	}
}

// TestWindowWhoseLastAreSlower: what went before the request that shows that a window has begun is of the turn
// before, also if it is answered later than that request, or while that is on its way.
func TestWindowWhoseLastAreSlower(t *testing.T) {
	at := func(d time.Duration) monotime.Time { return monotime.Time(time.Second).Add(d) }
	known := window{size: 100, alike: 1, sudden: true, least: 59 * time.Second, most: 61 * time.Second, next: at(30 * time.Second)}
	beyond := known
	beyond.turn = turn{from: at(0), granted: 100, served: 80}
	beyond.take(at(59*time.Second), 1)
	beyond.serve(at(60*time.Second), 1, Went{})
	begins := known
	begins.turn = turn{from: at(0), granted: 90, served: 70}
	begins.take(at(60*time.Second), 1)
	begins.serve(at(60*time.Second+1), 10, Went{BeforeAlone: true})
	if begins.turn.before == 0 {
		t.Errorf("an answer to what went before has begun a turn: %+v", begins.turn)
	}
	begins.serve(at(60*time.Second+2), 1, Went{})
	for name, w := range map[string]*window{"beyond a turn": &beyond, "the first of a turn": &begins} {
		from := w.turn.from
		w.serve(at(62*time.Second), 10, Went{BeforeAlone: true})
		if w.turn.from != from || w.turn.served != 1 || w.turn.granted != 1 {
			t.Errorf("%s: %+v, want a turn of which one was served", name, w.turn)
		}
	}
}

// TestWindowThatEndsALittleLater: the end of a known window is known to the time that answers take. Where it is
// over by that, and nothing is served yet, the next one is looked for soon, and not after half of a row.
func TestWindowThatEndsALittleLater(t *testing.T) {
	const limit, lasts = 1000, time.Minute
	first := start - start%monotime.Time(lasts) + monotime.Time(lasts)
	var began monotime.Time
	used := 0
	c := client{now: start, admits: func(now monotime.Time) bool {
		if w := now - now%monotime.Time(lasts); w != began {
			began, used = w, 0
		}
		used++
		return used <= limit
	}}
	c.run(first.Add(5 * lasts))
	c.every, c.refused = 12*time.Millisecond, nil
	for i := range 8 {
		c.run(first.Add(time.Duration(5+i)*lasts + 10*time.Second))
		if size, span, known := c.Window(); began != first.Add(time.Duration(5+i)*lasts) || used < 700 || size != limit || !known {
			t.Errorf("10 s after window %d began, %d were served, and a window of %d in %v is known: %v; want 700 at least, and 1000", i, used, size, span, known)
		}
	}
	if len(c.refused) > 16 {
		t.Errorf("%d refused in eight windows, want 16 at most", len(c.refused))
	}
	w := window{size: limit, alike: 1, sudden: true, least: 59500 * time.Millisecond, most: 59950 * time.Millisecond}
	w.turn = turn{from: start, granted: limit, served: limit, beyond: true, refused: start.Add(12 * time.Second)}
	for _, test := range []struct {
		over time.Duration // since the end
		n    int
		want time.Duration
	}{{0, 1, nearLook}, {999 * time.Millisecond, nearLooks, nearLook}, {time.Second, 1, 0}, {0, nearLooks + 1, 0}} {
		if hold, _ := w.look(start.Add(w.most+test.over), test.n); hold != test.want {
			t.Errorf("%v after its end, refused for the %d. time: a look after %v, want %v", test.over, test.n, hold, test.want)
		}
	}
}
