package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
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

// TestSoughtIsNotShared: what a window forgets of a limit that is stated in turns, a window that was split off
// from it keeps.
func TestSoughtIsNotShared(t *testing.T) {
	p := parts{sought: sought{{10, seek{most: time.Second}}, {20, seek{most: time.Minute}}}}
	own := p
	own.unshare()
	own.sought.forget(10)
	if i := p.sought.find(10); i != 0 || own.sought.find(10) >= 0 {
		t.Errorf("%v after %v forgot the first", p.sought, own.sought)
	}
}
