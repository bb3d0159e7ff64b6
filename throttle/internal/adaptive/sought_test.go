package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestSought: what is known of a limit after others, each stated under the same name; of ten, something is back
// after three to four seconds.
func TestSought(t *testing.T) {
	const s = time.Second
	ten := seek{from: start, least: 3 * s, most: 4 * s}
	for name, test := range map[string]struct {
		then []int // the limits after ten
		want seek
	}{
		"it has risen":               {[]int{12}, ten},
		"it has risen and fallen":    {[]int{19, 10, 6}, ten},
		"another one":                {[]int{20}, seek{}},
		"another one, and it again":  {[]int{20, 10}, ten},
		"three others, and it again": {[]int{20, 40, 80, 10}, ten},
		"too many others":            {[]int{20, 40, 80, 160, 320, 10}, seek{}},
	} {
		var known sought
		l, before := ten, 10
		for _, limit := range test.then {
			known.turn(&l, before, &outcome{sent: start.Add(s), now: start.Add(s), n: 1, limit: limit})
			if before = limit; l == (seek{}) && limit != test.then[len(test.then)-1] {
				l.from = start
			}
		}
		if l != test.want || len(known) > maxSought {
			t.Errorf("%s: %+v, want %+v; %d are kept", name, l, test.want, len(known))
		}
	}
}

// TestSoughtLongAgo: a limit of ten a second that is stated again after one of ten minutes, beside a client who
// takes a few of each ten, is looked at as before: its window of ten minutes ago is over.
func TestSoughtLongAgo(t *testing.T) {
	for _, others := range []int{2, 4} {
		b := newBucket(t, Config{})
		l := &twoLimits{n: 10, began: [2]time.Duration{-time.Hour, -time.Hour}}
		served, last := 0, time.Duration(0)
		for b.now < start.Add(90*time.Minute) {
			b.now = b.now.Add(b.dueAfter(0, 1) + 20*time.Millisecond)
			at := b.now.Sub(start)
			if at >= l.began[0]+time.Second {
				l.short, l.began[0] = others, at
			}
			ticket := b.send()
			short, long, ok := l.serve(at)
			if ok && l.long > 1 && at-last > 2*time.Second {
				t.Errorf("%d by others: nothing went from %v to %v", others, last, at)
			}
			if ok {
				served, last = served+1, at
			}
			if long.Remaining <= short.Remaining {
				short = long
			}
			short.Name = ""
			b.done(ticket, Answer{Refused: !ok, Statements: []quota.Statement{short}})
		}
		if served < 895 {
			t.Errorf("%d by others: %d served, want 900", others, served)
		}
	}
}

// TestSoughtLongWindow: once a limit has changed that was back after a minute, looks come as at first, until it
// was back before. One that changes in each window is looked at as before.
func TestSoughtLongWindow(t *testing.T) {
	var known sought
	l := seek{from: start, least: 59 * time.Second, most: time.Minute}
	turn := func(at monotime.Time, before, limit int) {
		t.Helper()
		known.turn(&l, before, &outcome{sent: at, now: at, n: 1, limit: limit})
		l.from = at
	}
	for i, want := range []time.Duration{time.Second, time.Minute, time.Minute, time.Second} {
		at := start.Add(time.Duration(i) * time.Minute)
		if i == 3 {
			at = at.Add(3 * time.Minute) // it has stood for four minutes
		}
		turn(at, 100+i, 101+i)
		if got := l.next(at, 0, 0).Sub(at); got != want {
			t.Errorf("after %d changes: the first look after %v, want %v", i+1, got, want)
		}
		l.least, l.short = 59*time.Second, 0
	}
}

// TestSoughtIsNotShared: what a window forgets of a limit that is stated in turns, a window that was split off
// from it keeps.
func TestSoughtIsNotShared(t *testing.T) {
	p := parts{sought: sought{{10, seek{most: time.Second}, start}, {20, seek{most: time.Minute}, start}}}
	own := p
	own.unshare()
	own.sought.forget(10)
	if i := p.sought.find(10); i != 0 || own.sought.find(10) >= 0 {
		t.Errorf("%v after %v forgot the first", p.sought, own.sought)
	}
}
