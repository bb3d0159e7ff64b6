package adaptive

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestBeliefs: what is believed is said in words, in a known order.
func TestBeliefs(t *testing.T) {
	clock := wallClock()
	date := func(d time.Duration) string { return at(start.Add(d), clock) }
	floored := quota.Statement{Limit: 9, ResetKnown: true, Resolution: time.Second}
	for name, test := range map[string]struct {
		of   func(b *bucket)
		want []string
	}{
		"nothing":         {func(*bucket) {}, nil},
		"nothing special": {func(b *bucket) { b.exchange(says(left(5, 10, time.Minute))) }, nil},
		"refills": {func(b *bucket) {
			b.exchange(says(left(5, 10, 5*time.Second)))
			b.at(time.Second).exchange(says(left(4, 10, 6*time.Second)))
		}, []string{"the server's limit of 10: refills 1/s, seen since " + date(time.Second)}},
		"rounds down, and a window": {func(b *bucket) {
			st := floored
			st.Name, st.Window = "core", 2*time.Minute
			b.exchange(refuses(st))
		}, []string{"core of 9: a window lasts 2m; resets are rounded down to 1s"}},
		"several": {func(b *bucket) {
			for _, name := range []string{"b", "a"} {
				st := floored
				st.Name = name
				b.exchange(refuses(st))
			}
		}, []string{"a of 9: resets are rounded down to 1s", "b of 9: resets are rounded down to 1s"}},
		"instances": {func(b *bucket) {
			b.exchange(Answer{Statements: []quota.Statement{left(5, 10, time.Minute)}, Instances: true})
		}, []string{"the server's limit of 10: several instances of the server count, each by itself: the emptiest one counts here"}},
		"no reset": {func(b *bucket) {
			b.exchange(says(quota.Statement{Limit: 10}))
			b.at(time.Second).exchange(says(quota.Statement{Limit: 10, Remaining: 9}))
			b.at(2 * time.Second).exchange(says(quota.Statement{Limit: 10}))
			b.at(3 * time.Second).exchange(refuses(quota.Statement{Limit: 10}))
		}, []string{"the server's limit of 10: no reset is stated; it was back within 1s; nothing was back at a look, once"}},
		"the last one spread": {spreadOf(Auto, 5), []string{"the server's limit of 5: the last one is spread over the time to the reset"}},
		"the last two spread": {spreadOf(Auto, 10), []string{"the server's limit of 10: the last 2 are spread over the time to the reset"}},
		"all of it is spread": {spreadOf(Even, 10), []string{"the server's limit of 10: all of it is spread over the time to the reset"}},
		"behind": {func(b *bucket) {
			b.exchange(says(left(5, 10, time.Minute)))
			b.window1().behind.fail(0)
		}, []string{"the server's limit of 10: states what remained before the request: one less counts"}},
		"a pace": {refuseAtRate, []string{"serves about 5/s while it refuses more, measured at " + date(2*time.Second) + "; tries twice that at " + date(32*time.Second)}},
		"a log": {func(b *bucket) {
			for i := range 20 {
				b.at(time.Duration(i) * time.Second).exchange(Answer{})
			}
			b.at(20 * time.Second).exchange(refuses())
			b.at(29 * time.Second).exchange(refuses())
			b.at(30 * time.Second).exchange(Answer{})
			b.exchange(refuses())
		}, []string{"serves 20 in any 30s, each back as long after it went; tries more at " + date(time.Minute)}},
		"a window": {func(b *bucket) {
			for turn := range 3 {
				b.at(time.Duration(turn) * 3 * time.Second)
				for range 8 {
					b.exchange(Answer{})
				}
				b.exchange(refuses())
				b.at(time.Duration(turn)*3*time.Second + 2*time.Second).exchange(refuses())
			}
		}, []string{"serves 8 in each window of 3s, all at once; tries more at " + date(36*time.Second)}},
		"failures": {func(b *bucket) { b.overload.Believe() }, []string{"failures without explanation, such as a 503, are refusals: they end when requests go more slowly"}},
		"an earlier run": {func(b *bucket) {
			b.Remember(b.now, &Memory{Windows: []WindowMemory{{Name: "a", Habits: Habits{Floors: true}}}}, clock)
		}, []string{"1 limit that the server has not stated yet is known from an earlier run"}},
		"a limit that is stated no more": {func(b *bucket) {
			b.exchange(says(quota.Statement{Name: "a", Limit: 2}))
			b.at(time.Second)
			b.exchange(Answer{})
		}, []string{"1 limit that the server states no more is known from before"}},
	} {
		b := newBucket(t, Config{MaxStandstill: time.Hour})
		test.of(b)
		if got := b.Beliefs(b.now, clock); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// spreadOf has a server state a limit whose reset is further away than a claim may wait.
func spreadOf(s Spend, n int) func(*bucket) {
	return func(b *bucket) {
		b.config.Spend = s
		b.exchange(says(left(n-1, n, 2*time.Hour)))
	}
}

// TestBeliefsAreHarmless: a server cannot make them long, or have them print what it likes.
func TestBeliefsAreHarmless(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range 100 {
		b.exchange(refuses(quota.Statement{Name: fmt.Sprintf("\x1b[2J%d", i) + strings.Repeat("x\n", 1000), Limit: 9, ResetKnown: true, Resolution: time.Second}))
	}
	all := b.Beliefs(b.now, wallClock())
	if len(all) == 0 || len(all) > maxWindows+5 {
		t.Errorf("%d texts", len(all))
	}
	for _, text := range all {
		if len(text) > 1000 || strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "1s", 90 * time.Second: "1m30s", time.Minute: "1m", time.Hour: "1h", 10 * time.Minute: "10m", 1500 * time.Millisecond: "1.5s"} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
