package adaptive

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/concurrency"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// convoy is a bucket that has granted requests which are under way.
type convoy struct {
	*bucket
	flying []*Ticket
}

// goes grants as many of n requests as may go, and returns how many that were.
func (c *convoy) goes(n int) (went int) {
	for ; went < n && c.Open(c.now, of(1), &Kind{}, 0); went++ {
		t := &Ticket{Sent: c.now, N: 1}
		c.Take(c.now, c.now, of(1), &Kind{}, 0, t)
		c.flying = append(c.flying, t)
	}
	return went
}

// answer ends the oldest request.
func (c *convoy) answer(a Answer) (e Effect, t *Ticket) {
	t, c.flying = c.flying[0], c.flying[1:]
	c.End(t, nil)
	return c.Learn(c.now, t, Kind{}, &a), t
}

// atATime is an answer which states that so many may be under way, of which so many are left.
func atATime(most, left int) Answer {
	return Answer{Concurrency: quota.Concurrency{Limit: int64(most), Remaining: int64(left), RemainingKnown: true}}
}

func refusedAs(a Answer) Answer {
	a.Refused = true
	return a
}

func (c *convoy) want(n int) {
	c.t.Helper()
	if got := c.goes(1000); got != n {
		c.t.Errorf("%d go, want %d: %+v", got, n, c.atOnce)
	}
}

// TestConcurrency: of what a server allows at a time, as much is ours as others leave.
func TestConcurrency(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(2)
	c.answer(atATime(10, 5)) // two of ours, so three of others
	c.want(6)
	for range 7 {
		c.answer(atATime(10, 3)) // seven of ours and nobody else, by all answers of a round trip
	}
	c.want(7)
	c.answer(atATime(10, 3))
	c.want(4)
	for range 3 { // whatever is under way by now
		c.answer(atATime(10, 0))
	}
	c.want(3)
	c.answer(atATime(4, 0))
	c.want(0)
	for len(c.flying) > 0 {
		c.answer(atATime(0, -1))
	}
	if got := c.Beliefs(c.now, nil); len(got) != 1 || got[0] != c.atOnce.Belief() {
		t.Errorf("%q is believed, want %q", got, c.atOnce.Belief())
	}
}

// TestConcurrencyRefused: a refusal leaves one request less to us. It teaches no pace, and holds nothing unless
// nothing else of ours is under way.
func TestConcurrencyRefused(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(1)
	c.answer(atATime(10, 9))
	c.want(10)
	if e, _ := c.answer(refusedAs(atATime(10, 0))); !e.Refused || e.Hold != 0 || e.PushedBack {
		t.Errorf("%+v, want a refusal without a hold", e)
	}
	c.want(0)
	c.answer(Answer{})
	c.want(1)
	for len(c.flying) > 1 {
		c.answer(Answer{Lost: true})
	}
	if e, _ := c.answer(refusedAs(atATime(10, 0))); e.Hold == 0 || c.pace.Known() {
		t.Errorf("%+v, want a hold, and no pace: others have all that there is", e)
	}
	c.want(1)
}

// TestConcurrencyUnexplained: what something remains of is no reason for a refusal.
func TestConcurrencyUnexplained(t *testing.T) {
	for _, a := range []Answer{atATime(10, 1), {Concurrency: quota.Concurrency{Limit: 10}}} {
		c := &convoy{bucket: newBucket(t, Config{})}
		c.goes(3)
		if e, _ := c.answer(refusedAs(a)); e.Hold == 0 || !e.PushedBack {
			t.Errorf("%+v after %+v, want a hold", e, a.Concurrency)
		}
	}
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(11)
	if e, _ := c.answer(refusedAs(Answer{Concurrency: quota.Concurrency{Limit: 10}})); e.Hold != 0 {
		t.Errorf("%+v of eleven, want no hold", e)
	}
	c.want(0)
}

// TestConcurrencyStatedNoMore: some answers may not state it. When none has for Patience, each round trip in
// which all were used allows one more; what has doubled so is no limit.
func TestConcurrencyStatedNoMore(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(10)
	c.answer(atATime(5, 0))
	for len(c.flying) > 4 {
		c.answer(Answer{})
	}
	roundTrip := func(want int) {
		t.Helper()
		for range len(c.flying) {
			c.answer(Answer{})
		}
		c.want(want)
	}
	c.want(1)
	roundTrip(5)
	roundTrip(5)
	c.now = c.now.Add(Patience - 1)
	roundTrip(5)
	if c.Unknown() || c.Steady() {
		t.Error("nothing is known")
	}
	c.now++
	roundTrip(5) // what was stated is of this round trip, too
	for n := 6; n < 10; n++ {
		roundTrip(n)
	}
	for len(c.flying) > 0 {
		c.answer(Answer{})
	}
	c.goes(1)
	for range 3 { // what is not used proves nothing
		c.answer(Answer{})
		c.goes(1)
	}
	c.want(9)
	c.answer(Answer{})
	c.want(1000)
}

// TestConcurrencyReading: a request is under way until its answer was read.
func TestConcurrencyReading(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(1)
	a := atATime(1, 0)
	a.Reading = true
	_, ticket := c.answer(a)
	c.want(0)
	d := limit.Due{At: c.now}
	c.Due(&d, of(0), of(1), &Kind{}, 0, true)
	if d.At != c.now || d.Cause != limit.InFlight {
		t.Errorf("%+v, want at an answer", d)
	}
	if c.Due(&d, of(0), of(1), &Kind{}, 0, false); d.At != c.now.Add(Patience) {
		t.Errorf("%+v, want a look after Patience", d)
	}
	c.EndReading(ticket, &Kind{})
	c.want(1)
}

// TestConcurrencyUnread: a server that does not count streams is found out by a look beside as many as it
// allows, and one that does count them, after all, by a refusal.
func TestConcurrencyUnread(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(1)
	a := atATime(2, 1)
	a.Reading = true
	c.answer(a)
	c.want(1)
	c.answer(a)
	c.want(0)
	c.now = c.now.Add(Patience)
	c.want(1)
	c.answer(atATime(2, 1))
	c.want(2)
	c.now = c.now.Add(time.Hour)
	c.want(0) // two are under way that were not answered
	c.answer(refusedAs(atATime(2, 0)))
	c.want(0)
	c.answer(atATime(2, 0))
	c.want(0)
}

// TestConcurrencyLooks: while others have the rest, one more goes now and then, and ever more seldom, but never
// beside as many as the server allows in all.
func TestConcurrencyLooks(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{})}
	c.goes(1)
	c.answer(atATime(3, 2))
	c.want(3)
	c.answer(refusedAs(atATime(3, 0)))
	c.want(0)
	for _, in := range []int{5, 10, 20, 40, 80, 120, 120} {
		c.now = c.now.Add(time.Duration(in)*time.Second - 1)
		c.want(0)
		d := limit.Due{At: c.now}
		if c.Due(&d, of(0), of(1), &Kind{}, 0, false); d.At != c.now+1 || d.Cause != limit.InFlight {
			t.Errorf("due at %v, want a nanosecond after %v: %+v", d.At, c.now, d)
		}
		c.now++
		c.want(1)
		c.flying = append(c.flying[2:], c.flying[:2]...) // the look ends first
		c.answer(refusedAs(atATime(3, 0)))
	}
	c.now = c.now.Add(time.Minute)
	c.Take(c.now, c.now, of(1), &Kind{}, 0, new(Ticket)) // it is observed, and no look
	c.Add(-1)
	c.now = c.now.Add(time.Minute)
	c.want(1)
	c.now = c.now.Add(time.Hour)
	c.want(0)                                        // three are under way
	c.flying = append(c.flying[2:], c.flying[:2]...) // it is served
	c.answer(atATime(3, 0))
	c.want(1)
}

// TestConcurrencyExplains: a refusal because too many requests were under way teaches no pace, whatever the
// server states else, and says nothing against limits that it does not speak of.
func TestConcurrencyExplains(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{MaxHold: time.Minute})}
	c.goes(8)
	c.answer(Answer{Statements: []quota.Statement{{Limit: 100, Remaining: 50, Reset: time.Hour, ResetKnown: true}}})
	c.answer(Answer{})
	c.windows[0].dropped.row = 1
	a := refusedAs(atATime(6, 0))
	a.HoldKnown, a.Hold = true, time.Second
	if e, _ := c.answer(a); e.Hold != time.Second || !c.pace.Fresh() || c.windows[0].dropped.wronged > 0 {
		t.Errorf("%+v, %+v, want a hold, no pace, and no doubt", e, c.windows[0].dropped)
	}
}

// TestConcurrencyBesideOthers: who has none under way looks again and again, however often others had all, and
// teaches no pace: they may end at any time.
func TestConcurrencyBesideOthers(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{MaxHold: time.Hour})}
	for i, want := range []int{100, 200, 400, 800, 1000, 1000, 1000} {
		c.goes(1)
		if e, _ := c.answer(refusedAs(atATime(10, 0))); e.Hold != time.Duration(want)*time.Millisecond || !c.pace.Fresh() {
			t.Errorf("refusal %d: %+v, want a hold of %d ms and no pace", i, e, want)
		}
	}
}

// TestConcurrencySplit: what another bucket of the server has learned holds from the start, beside what is
// under way there.
func TestConcurrencySplit(t *testing.T) {
	for underway, want := range map[int]int{0: 10, 4: 6, 10: 0} {
		c := &convoy{bucket: newBucket(t, Config{})}
		c.goes(1)
		c.answer(atATime(10, 9))
		c.goes(underway)
		to, third := &convoy{bucket: newBucketOf(t, c.site, Config{})}, &convoy{bucket: newBucketOf(t, c.site, Config{})}
		c.SplitOff("x", to.Server)
		c.SplitOff("y", third.Server)
		to.want(want)
		third.want(0)
	}
}

// TestConcurrencyOfTwo: two buckets to which as many are stated draw on one limit. One whose look beside as
// many is served has a limit of its own, and one to which another number is stated, too.
func TestConcurrencyOfTwo(t *testing.T) {
	a := &convoy{bucket: newBucket(t, Config{})}
	b := &convoy{bucket: newBucketOf(t, a.site, Config{})}
	a.goes(1)
	b.goes(1)
	a.answer(atATime(4, 3))
	b.answer(atATime(4, 3))
	a.goes(2)
	b.want(2)
	a.want(0)
	if got := a.Sharing(nil); !slices.Equal(got, []ID{b.id}) {
		t.Errorf("shares with %v, want %v", got, b.id)
	}
	later := a.now.Add(Patience)
	a.now, b.now = later, later
	b.want(1)
	b.flying = append(b.flying[2:], b.flying[:2]...) // the look ends first
	b.answer(atATime(4, 1))
	if b.want(2); !slices.Equal(b.parted, []ID{a.id}) || len(a.Sharing(nil)) > 0 {
		t.Errorf("%v hear that nothing is shared any more, and it shares with %v, want %v and none", b.parted, a.Sharing(nil), a.id)
	}
	a.want(2)
	a.answer(atATime(4, 0))
	a.answer(atATime(4, 1))
	c := &convoy{bucket: newBucketOf(t, a.site, Config{})}
	c.goes(1)
	if c.answer(atATime(4, 1)); c.atOnce != a.atOnce {
		t.Error("a third one has a limit of its own, want that of the first")
	}
	c.goes(1)
	if c.answer(atATime(5, 4)); c.atOnce == a.atOnce || !c.atOnce.Says(5) || !a.atOnce.Says(4) {
		t.Errorf("%+v and %+v are shared, though another number is stated", c.atOnce, a.atOnce)
	}
	a.now = a.now.Add(time.Hour)
	if c.Leave(); c.atOnce != nil {
		t.Error("who has left has a limit")
	}
	for range maxCompared + 1 {
		a.SplitOff("x", newBucketOf(t, a.site, Config{}).Server)
	}
	if n := len(a.atOnce.users); n != maxCompared {
		t.Errorf("%d share a limit, want %d at most", n, maxCompared)
	}
}

// TestConcurrencyOfRefusals: what refusals alone state is not forgotten since served requests do not state it,
// but when the bucket has idled.
func TestConcurrencyOfRefusals(t *testing.T) {
	c := &convoy{bucket: newBucket(t, Config{SlowStart: true})}
	c.drawOn(7)
	c.atOnce.Learn(c.now, &quota.Concurrency{Limit: 7}, &concurrency.Ended{N: 1, Underway: 8, Refused: true})
	for range 10 {
		c.goes(1)
		c.answer(Answer{})
	}
	if !c.atOnce.Fits(7) || c.atOnce.Fits(8) {
		t.Errorf("%+v, want seven at a time", c.atOnce)
	}
	if c.Restart(true); c.atOnce != nil {
		t.Errorf("%+v, want nothing", c.atOnce)
	}
}
