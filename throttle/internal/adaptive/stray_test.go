package adaptive

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/pace"
)

// TestStrays: which refusals are those of something in front of the server. A dot was served, with something
// left; 0 was the last of a window; r is a refusal that states nothing, R one that states something; and - is
// one that was served and states nothing.
func TestStrays(t *testing.T) {
	for _, test := range []struct{ answers, want string }{
		{".r", "s"},
		{"r", "n"},                  // nothing is known
		{".R", "n"},                 // the server says so itself
		{".-r", "n"},                // it states nothing any more
		{".rrrrrrrr", "ssssssss"},   // some by chance
		{".rrrrrrrrr", "ssssssssn"}, // and no more
		{".rrrrrrrrr" + strings.Repeat(".", 24) + "r", "ssssssssns"},
		{".rrrrrrrrr" + strings.Repeat(".", 23) + "r", "ssssssssnn"},
		{"0r", "s"},    // the one that looks is unlucky
		{"0rr", "sn"},  // twice in a row: the limit is not restored
		{"0r0r", "ss"}, // not in a row
	} {
		b := newBucket(t, Config{})
		got := ""
		for i, c := range test.answers {
			b.at(time.Duration(i) * time.Millisecond)
			switch c {
			case '.':
				b.exchange(says(left(5, 10, time.Hour)))
			case '0':
				b.exchange(says(left(0, 10, time.Hour)))
			case '-':
				b.exchange(Answer{})
			case 'r', 'R':
				hold, _ := b.Refuse(b.now, b.send(), &Past{}, Kind{Verb: "GET", Path: "/"}, 0, c == 'R')
				got += map[bool]string{true: "s", false: "n"}[hold == firstHold]
			}
		}
		if got != test.want {
			t.Errorf("%s: strays %s, want %s", test.answers, got, test.want)
		}
	}
}

// TestStrayHold: a stray is not sent again before its own hint, or before a hold that doubles; and nobody else
// waits for it.
func TestStrayHold(t *testing.T) {
	b := newBucket(t, Config{MaxHold: time.Minute})
	b.exchange(says(left(5, 10, time.Hour)))
	p := &Past{}
	for i, asked := range []time.Duration{0, 0, 7 * time.Second, time.Hour} {
		want := []time.Duration{firstHold, 2 * firstHold, 7 * time.Second, time.Minute}[i]
		if got, _ := b.Refuse(b.now, b.send(), p, Kind{}, asked, false); got != want {
			t.Errorf("refusal %d: %v, want %v", i, got, want)
		}
	}
	b.inFlight = 0
	b.wantDue(0)
}

// TestStrayAndPace: where a pace was learned, a refusal is a stray unless the pace has risen; and three in a
// row show that the pace was never the reason.
func TestStrayAndPace(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(5, 10, time.Hour)))
	b.pace.Resume(b.now, &pace.Memory{Rate: 10, Growth: 0.02, At: b.now}, 0)
	want := func(after time.Duration, stray, paced bool) {
		t.Helper()
		b.at(after)
		_, got := b.Refuse(b.now, b.send(), &Past{}, Kind{}, 0, false)
		if got != stray || b.pace.Known() != paced {
			t.Errorf("after %v: stray %v, paced %v, want %v, %v", after, got, b.pace.Known(), stray, paced)
		}
	}
	want(0, true, true)
	want(time.Second, true, true)
	want(2*time.Second, false, true) // 2 % a second: 4 %
	b.pace.Resume(b.now, &pace.Memory{Rate: 10, Growth: 0.02, At: b.now}, 0)
	for range 100 {
		b.strays.Serve()
	}
	want(3*time.Second, true, true)
	want(3*time.Second, true, true)
	want(3*time.Second, true, false)
}
