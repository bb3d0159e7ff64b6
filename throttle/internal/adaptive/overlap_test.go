package adaptive

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestOverlap: which statements to two Servers in turns make one window of two. Numbers are what
// remains, first of a, then of b, and so on.
func TestOverlap(t *testing.T) {
	for _, test := range []struct {
		name   string
		said   []int
		shared bool
	}{
		{"one each", []int{9, 8}, true},
		{"less and less", []int{9, 8, 7, 6}, true},
		{"the same", []int{9, 9}, false},
		{"more", []int{5, 9}, false},
		{"a contradiction later", []int{9, 8, 9, 9}, false},
		{"one is made up for", []int{9, 8, 7, 6, 6}, true},
		{"two are not", []int{9, 8, 7, 6, 6, 6}, false},
		{"two are not, after many", []int{9, 8, 7, 6, 5, 4, 3, 3, 3}, false},
		{"nothing remains for both", []int{0, 0}, true},
	} {
		var site Site
		a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
		for i, n := range test.said {
			[]*bucket{a, b}[i%2].exchange(says(left(n, 10, time.Minute)))
		}
		if got := a.window1() == b.window1(); got != test.shared {
			t.Errorf("%s: one window: %v, want %v", test.name, got, test.shared)
		}
		if got := len(a.Sharing(nil)) == 1 && a.Sharing(nil)[0] == b.id; got != test.shared {
			t.Errorf("%s: sharing %v", test.name, a.Sharing(nil))
		}
	}
}

// TestOverlapInFlight: what either of two has in flight is missing for both.
func TestOverlapInFlight(t *testing.T) {
	var site Site
	a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	a.exchange(says(left(9, 10, time.Minute)))
	b.exchange(says(left(8, 10, time.Minute)))
	a.send()
	b.send()
	a.wantOpen(6)
	b.wantOpen(6)
	a.Leave()
	if len(a.windows) != 0 || a.Overlaps() || len(b.Sharing(nil)) != 0 {
		t.Error("still shared")
	}
	b.wantOpen(7)
}

// TestOverlapNeeds: windows that differ in what was stated are two.
func TestOverlapNeeds(t *testing.T) {
	base := left(8, 10, time.Minute)
	for _, test := range []struct {
		name   string
		change func(*quota.Statement)
	}{
		{"name", func(s *quota.Statement) { s.Name = "x" }},
		{"bucket", func(s *quota.Statement) { s.Counter = "x" }},
		{"unit", func(s *quota.Statement) { s.Unit = "tokens" }},
		{"limit", func(s *quota.Statement) { s.Limit = 11 }},
		{"reset", func(s *quota.Statement) { s.Reset = time.Hour }},
		{"no reset", func(s *quota.Statement) { s.ResetKnown = false }},
	} {
		var site Site
		a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
		a.exchange(says(left(9, 10, time.Minute)))
		st := base
		test.change(&st)
		b.exchange(says(st))
		if a.window1() == b.window1() {
			t.Errorf("%s: one window", test.name)
		}
	}
}

// TestOverlapIsBounded: no more than maxCompared Servers are compared.
func TestOverlapIsBounded(t *testing.T) {
	var site Site
	for i := range 3 * maxCompared {
		b := newBucketOf(t, &site, Config{})
		b.exchange(says(left(i+1, 1000, time.Minute)))
		if n := len(b.window1().overlap.comparisons); n > maxCompared {
			t.Fatalf("%d comparisons", n)
		}
	}
	if n := len(site.compared); n != maxCompared {
		t.Errorf("%d compared, want %d", n, maxCompared)
	}
}

// TestSplitOff: the windows of a bucket of the server go to the other Server. What is in flight may draw on
// them, until it is answered.
func TestSplitOff(t *testing.T) {
	var site Site
	all, own := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	x, y := left(5, 10, time.Minute), left(6, 10, time.Minute)
	x.Counter, y.Counter = "x", "y"
	all.exchange(says(x, y))
	all.send()
	if all.SplitOff("z", own.Server) {
		t.Error("a window of z was moved")
	}
	if !all.SplitOff("x", own.Server) {
		t.Fatal("no window of x was moved")
	}
	if w := own.window1(); w.counter != "x" || w.remaining != 5 {
		t.Errorf("%d remain of %s, want 5 of x", w.remaining, w.counter)
	}
	if w := all.window1(); w.counter != "y" || w.remaining != 6 {
		t.Errorf("%d remain of %s, want 6 of y", w.remaining, w.counter)
	}
}

// TestSplitOffInFlight: what was in flight when the windows were split off counts for them until it is
// answered, and its answer has those look again that wait for them.
func TestSplitOffInFlight(t *testing.T) {
	var site Site
	var peers Peers[string]
	all, own := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	x, y := left(5, 10, time.Minute), left(60, 100, time.Minute)
	x.Counter, y.Counter = "x", "y"
	all.exchange(says(x, y))
	a, b, c := all.send(), all.send(), all.send()
	if !all.SplitOff("x", own.Server) {
		t.Fatal("no window of x was moved")
	}
	peers.Join(own.Server, "own")
	own.wantOpen(2)
	for i, ticket := range []*Ticket{a, b, c} {
		y.Remaining--
		all.done(ticket, says(y)) // none of them drew on x
		if got := slices.Collect(peers.Of(all.Server)); !slices.Equal(got, []string{"own"}) {
			t.Errorf("after %d answers %q look again, want own", i+1, got)
		}
		own.wantOpen(3 + i)
	}
	all.send() // later ones belong to all alone
	own.wantOpen(5)
}

// TestSplitOffShared: a window that another Server shares is shared with the Server that takes it over.
func TestSplitOffShared(t *testing.T) {
	var site Site
	all, other, own := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	x := left(9, 10, time.Minute)
	x.Counter = "x"
	all.exchange(says(x))
	x.Remaining = 8
	other.exchange(says(x))
	if !all.SplitOff("x", own.Server) || own.window1() != other.window1() {
		t.Fatal("not moved, or not shared")
	}
	for range 3 {
		other.send()
	}
	own.send()
	own.wantOpen(4) // 8, four in flight
	other.wantOpen(4)
	if len(own.Sharing(nil)) != 1 || len(other.Sharing(nil)) != 1 || len(all.Sharing(nil)) != 0 {
		t.Errorf("sharing %v, %v, %v", own.Sharing(nil), other.Sharing(nil), all.Sharing(nil))
	}
}

// TestOverhear: what another process heard counts where it is about the same reset and less.
func TestOverhear(t *testing.T) {
	for _, test := range []struct {
		name string
		said quota.Statement
		want int
	}{
		{"less", left(3, 10, time.Minute), 3},
		{"more", left(7, 10, time.Minute), 5},
		{"half a second off", left(3, 10, time.Minute+500*time.Millisecond), 3},
		{"another reset", left(3, 10, time.Minute+500*time.Millisecond+1), 5},
		{"a second and a half off, in whole seconds", step(3, 10, time.Minute+1500*time.Millisecond), 3},
		{"another reset in whole seconds", step(3, 10, time.Minute+1500*time.Millisecond+1), 5},
		{"two seconds off, an instant", quota.Statement{Limit: 10, Remaining: 3, Reset: time.Minute + 2*time.Second, ResetKnown: true, Absolute: true}, 3},
		{"no reset", quota.Statement{Limit: 10, Remaining: 3}, 5},
		{"reset now", left(3, 10, 0), 5},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(5, 10, time.Minute)))
		b.Overhear(b.now, &test.said)
		if got := b.window1().remaining; got != test.want {
			t.Errorf("%s: %d remain, want %d", test.name, got, test.want)
		}
	}
	b := newBucket(t, Config{})
	b.Overhear(b.now, &quota.Statement{Limit: 10, Reset: time.Minute, ResetKnown: true})
	b.wantDue(time.Minute)

	b = newBucket(t, Config{})
	b.exchange(says(left(5, 10, 500*time.Millisecond)))
	b.Overhear(b.now, &quota.Statement{Limit: 10, Remaining: 3})
	b.wantOpen(5) // without a reset, it is not known whether that is about this window
}

// TestOverhearNextReset: what another process heard of the next reset does not undo what the window
// has learned: whether resets are rounded down, and since when nothing remains.
func TestOverhearNextReset(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(refuses(step(0, 10, time.Second)))
	w := b.window1()
	w.reset.roundsDown, w.missedLooks, w.overlap.lastHeardBy = true, 3, b.Server
	b.at(2 * time.Second)
	count, heard := w.reset.count, step(4, 10, 5*time.Second)
	b.Overhear(b.now, &heard)
	if !w.reset.roundsDown || w.reset.early != b.now.Add(5*time.Second) || w.reset.late != b.now.Add(6*time.Second) {
		t.Errorf("rounds down %v, reset in [%v, %v]; want true, [5s, 6s]", w.reset.roundsDown, w.reset.early.Sub(b.now), w.reset.late.Sub(b.now))
	}
	if w.spentSince != 0 || w.missedLooks != 0 {
		t.Errorf("spent since %v, %d missed looks, and 4 remain", w.spentSince, w.missedLooks)
	}
	if w.reset.count != count+1 || w.overlap.lastHeardBy != nil {
		t.Error("it does not count as another reset")
	}

	b.at(10 * time.Second)
	w.missedLooks = 3
	heard.Remaining = 0
	b.Overhear(b.now, &heard)
	if w.spentSince != b.now || w.missedLooks != 3 {
		t.Errorf("spent since %v, %d missed looks; want now, and 3: nothing has come back", w.spentSince.Sub(start), w.missedLooks)
	}
}

// TestOverhearOfTheWindowBefore: windows of two seconds whose resets are whole seconds look the same to
// processes whose clocks differ. What was said of the one before is not taken for what is left of the one that
// has begun.
func TestOverhearOfTheWindowBefore(t *testing.T) {
	instant := func(remaining int, reset time.Duration) *quota.Statement {
		st := step(remaining, 10, reset)
		st.Absolute = true
		return &st
	}
	b := newBucket(t, Config{})
	b.exchange(says(*instant(0, 2*time.Second)))
	b.at(1900 * time.Millisecond)
	b.exchange(says(*instant(9, 2100*time.Millisecond)))
	for _, test := range []struct {
		in   time.Duration // until the reset of which the other one heard
		left int
	}{{100 * time.Millisecond, 9}, {time.Second, 9}, {1200 * time.Millisecond, 4}, {2100 * time.Millisecond, 3}, {3 * time.Second, 2}} {
		b.Overhear(b.now, instant(min(test.left, 4), test.in))
		if got := b.window1().remaining; got != test.left {
			t.Errorf("a reset in %v: %d remain, want %d", test.in, got, test.left)
		}
	}
}

// TestOverhearOfTheWindowBeforeOneOverheard: the same where this process knows the window that has begun from
// another one, whether it has seen an earlier one itself or has heard of that, too.
func TestOverhearOfTheWindowBeforeOneOverheard(t *testing.T) {
	instant := func(remaining int, at, now time.Duration) *quota.Statement {
		st := step(remaining, 10, at-now)
		st.Absolute = true
		return &st
	}
	b := newBucket(t, Config{})
	b.exchange(says(*instant(0, 2*time.Second, 0)))
	for end := 4 * time.Second; end <= 8*time.Second; end += 2 * time.Second { // of a window
		now := end - 1900*time.Millisecond
		b.at(now)
		b.Overhear(b.now, instant(9, end, now))
		for _, test := range []struct {
			before time.Duration // the end of this window
			left   int
		}{{1800 * time.Millisecond, 9}, {1200 * time.Millisecond, 9}, {800 * time.Millisecond, 4}} {
			b.Overhear(b.now, instant(4, end-test.before, now))
			if got := b.window1().remaining; got != test.left {
				t.Errorf("window to %v, a reset %v before its end: %d remain, want %d", end, test.before, got, test.left)
			}
		}
	}
}

// TestStatesForAllUnheard: as long as nobody knows on what the first request of another Server was counted, nothing is
// believed in place of a quota of both.
func TestStatesForAllUnheard(t *testing.T) {
	var site Site
	a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	believed := func(want bool) {
		t.Helper()
		if got := a.StatesForAll(a.now, "", 10, time.Minute); got != want {
			t.Errorf("believed: %v, want %v", got, want)
		}
	}
	believed(false)
	a.exchange(says(left(9, 10, time.Minute)))
	believed(true)
	a.send()
	believed(true)
	b.send()
	believed(false)
	b.Leave()
	believed(true)
}
