package adaptive

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/counter"
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

// TestOverlapInARow: what one Server hears twice in a row contradicts nothing: its requests may have cost
// nothing.
func TestOverlapInARow(t *testing.T) {
	for _, test := range []struct {
		name   string
		who    string
		said   []int
		shared bool
	}{
		{"of two windows", "abbbab", []int{9, 9, 9, 9, 8, 7}, true},
		{"of two windows, in turns", "ababab", []int{9, 9, 9, 9, 8, 7}, false},
		{"of one window", "abbbb", []int{9, 8, 8, 8, 8}, true},
		{"of one window, in turns", "ababa", []int{9, 8, 8, 8, 8}, false},
	} {
		var site Site
		a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
		for i, n := range test.said {
			map[byte]*bucket{'a': a, 'b': b}[test.who[i]].exchange(says(left(n, 10, time.Minute)))
		}
		if got := a.window1() == b.window1(); got != test.shared {
			t.Errorf("%s: one window: %v, want %v", test.name, got, test.shared)
		}
	}
}

// TestOverlapOfCounters: what package counter has told apart is not one, whatever is stated of it; of another
// name it may be.
func TestOverlapOfCounters(t *testing.T) {
	for _, name := range []string{"", "other"} {
		var site Site
		whole, a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
		a.CountApart(a.now, whole.Server, "", counter.Stated{})
		b.CountApart(b.now, whole.Server, "", counter.Stated{})
		st := left(9, 10, time.Minute)
		st.Name = name
		a.exchange(says(st))
		st.Remaining = 8
		b.exchange(says(st))
		if got, want := a.window1() == b.window1(), name == "other"; got != want {
			t.Errorf("limits of the name %q are one: %v, want %v", name, got, want)
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
	if !slices.Equal(site.compared, []*Server{b.Server}) {
		t.Errorf("%d Servers are compared, want one", len(site.compared))
	}
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

// TestOverlapReading: what is still to be charged for answers that are being read is missing for both of two,
// as what is in flight is: once, until it was read, and no longer than whoever sent it draws on the limit.
func TestOverlapReading(t *testing.T) {
	for name, part := range map[string]func(a, b *bucket, ticket *Ticket){
		"read":     func(a, _ *bucket, ticket *Ticket) { a.EndReading(ticket, &Kind{}) },
		"leaves":   func(a, _ *bucket, _ *Ticket) { a.Leave() },
		"separate": func(a, _ *bucket, _ *Ticket) { a.separate(a.window1(), 900, 900) },
	} {
		var site Site
		a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
		tokens := func(n int) Answer {
			st := left(n, 1000, time.Minute)
			st.Unit = "tokens"
			return says(st)
		}
		a.exchange(tokens(990))
		b.exchange(tokens(980))
		w := b.window1()
		if a.window1() != w {
			t.Fatal("the window is not shared")
		}
		w.price = &price{mean: 100, learned: priceMemory, streaming: streaming{seen: true, square: 1e9}} // all is charged when it was read
		ticket, begun := a.send(), tokens(970)
		begun.Reading = true
		if a.done(ticket, begun); !ticket.Reading {
			t.Fatal("nobody is to say when the answer was read")
		}
		if got := b.inFlightOn(w); got < 90 || got > 100 {
			t.Errorf("%s: while an answer is being read, %d are in flight, want its cost", name, got)
		}
		if part(a, b, ticket); b.inFlightOn(w) != 0 {
			t.Errorf("%s: %d are in flight, want nothing", name, b.inFlightOn(w))
		}
		if a.EndReading(ticket, &Kind{}); a.reading != 0 {
			t.Errorf("%s: %d answers are being read, want none", name, a.reading)
		}
	}
}

// TestEndlessReading: streams that never end, and are never charged, leave half of a limit to others.
func TestEndlessReading(t *testing.T) {
	b := newBucket(t, Config{})
	st := left(1000, 1000, time.Minute)
	st.Unit = "tokens"
	b.exchange(says(st))
	b.window1().price = &price{mean: 100, learned: priceMemory, streaming: streaming{seen: true, square: 1e9}}
	a := says(st)
	a.Reading = true
	for range 20 {
		b.done(b.send(), a)
	}
	b.wantOpen(5)
}

// TestSplitOffReading: what is still to be charged for answers that were being read when windows went to
// another Server is not missing there for ever.
func TestSplitOffReading(t *testing.T) {
	var site Site
	a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	st := left(990, 1000, time.Minute)
	st.Unit, st.Counter = "tokens", "x"
	a.exchange(says(st))
	w := a.window1()
	w.price = &price{mean: 100, learned: priceMemory, streaming: streaming{seen: true, square: 1e9}}
	ticket, begun := a.send(), says(st)
	begun.Reading = true
	a.done(ticket, begun)
	a.SplitOff("x", b.Server)
	a.EndReading(ticket, &Kind{})
	if w != b.window1() || b.inFlightOn(w) != 0 {
		t.Errorf("%d are in flight, want nothing", b.inFlightOn(w))
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

// TestSplitOffHeirs: a Server whose windows go to many others has so many of them look again when its requests
// are answered. From the windows of further ones, what is in flight is taken for good.
func TestSplitOffHeirs(t *testing.T) {
	var site Site
	all := newBucketOf(t, &site, Config{})
	flying := all.send()
	split := func(names ...string) *bucket {
		own := newBucketOf(t, &site, Config{})
		for _, name := range names {
			st := left(5, 10, time.Minute)
			st.Counter = name
			all.exchange(says(st))
			all.SplitOff(st.Counter, own.Server)
		}
		return own
	}
	last := split("x", "y")
	for n := range maxHeirs - 1 {
		last = split(strconv.Itoa(n))
	}
	further := split("z")
	if got := all.Sharing(nil); len(got) != maxHeirs || got[maxHeirs-1] != last.id {
		t.Errorf("%d Servers look again, want %d, each once", len(got), maxHeirs)
	}
	last.wantOpen(4)
	further.wantOpen(4)
	all.done(flying, says(left(9, 10, time.Minute))) // it drew on none of these
	last.wantOpen(5)
	further.wantOpen(4)
}

// TestSplitOffLooking: whoever takes over a window at which a look is under way looks for itself, since that
// look may be at another window.
func TestSplitOffLooking(t *testing.T) {
	var site Site
	all, own := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	x := left(0, 10, 2*time.Second)
	x.Counter = "x"
	all.exchange(says(x))
	all.at(3 * time.Second).send()
	own.at(3 * time.Second)
	if !all.SplitOff("x", own.Server) {
		t.Fatal("no window of x was moved")
	}
	if !own.Open(own.now, of(1), nil, 0) {
		t.Error("nothing looks")
	}
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

// TestStatesForAllUnheard: as long as nobody knows on what the first request of another Server was counted,
// nothing is believed in place of a quota of both.
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
