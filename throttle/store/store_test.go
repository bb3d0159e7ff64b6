package store

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
)

const horizon = 500 * time.Millisecond

// script runs requests of one quota against a new store, and returns the replies.
type script struct {
	t     *testing.T
	store Memory
	qs    quota.Quotas
}

func (s *script) exchange(r Request) *Reply {
	s.t.Helper()
	r.Version, r.Bucket, r.Quotas, r.SlotLife, r.Horizon = 1, "b", s.qs, 10*time.Millisecond, horizon
	reply, err := s.store.Exchange(context.Background(), &r)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply
}

// in returns in how long the slots are.
func in(r *Reply) (at []time.Duration) {
	for _, s := range r.Slots {
		for range s.Count {
			at = append(at, s.In)
		}
	}
	return at
}

// one asks for n slots of 1.
func one(n int) []Ask { return []Ask{{Cost: []int64{1}, Count: n, Within: -1}} }

func TestStoreSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Kind: quota.SlidingLog})}}
		r := s.exchange(Request{Member: "a", Serial: 1, Asks: one(10)})
		back := []Part{{r.Slots[0].ID, []int64{4}}}
		time.Sleep(time.Millisecond)
		for i, c := range []struct {
			r    Request
			want int // slots that are to be had at once
		}{
			{Request{Member: "a", Serial: 2, Back: back}, 4},
			{Request{Member: "a", Serial: 2, Back: back}, 4},       // again
			{Request{Member: "a", Serial: 1, Back: back}, 4},       // late
			{Request{Member: "b", Serial: 7, Back: back}, 4},       // not known
			{Request{Member: "b", Serial: 8, Back: back}, 8},       // known
			{Request{Member: "c", Serial: 1, More: []int64{3}}, 5}, // sent without asking
			{Request{Member: "c", Serial: 1, More: []int64{3}}, 5}, // again
		} {
			if r := s.exchange(c.r); r.Lost != (i == 3) {
				t.Errorf("%d: lost %v", i, r.Lost)
			}
			n := 0
			for n < 20 && s.free(n+1) {
				n++
			}
			if n != c.want {
				t.Errorf("%d: %d slots, want %d", i, n, c.want)
			}
		}
	})
}

// TestStoreSameSerial: a request that comes again gets the slots which it got then, as far as they may still be
// used, and no more.
func TestStoreSameSerial(t *testing.T) {
	const ms = time.Millisecond
	q := quota.MustParse("10/s burst 3").Explicit()[0]
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(q)}}
		r := Request{Member: "a", Serial: 1, Asks: one(5)}
		s.exchange(r)
		for i, c := range []struct {
			after time.Duration
			r     Request
			want  []time.Duration
		}{
			{0, r, []time.Duration{0, 0, 10 * ms, 110 * ms, 210 * ms}},
			{10 * ms, r, []time.Duration{-10 * ms, -10 * ms, 0, 100 * ms, 200 * ms}},
			{ms, r, []time.Duration{-ms, 99 * ms, 199 * ms}}, // the others were of use for 10 ms
			{0, Request{Member: "a", Serial: 1}, nil},
			{150 * ms, r, []time.Duration{49 * ms}},
			{0, Request{Member: "a", Serial: 2, Asks: one(1)}, []time.Duration{149 * ms}},
			{0, r, nil},
			{0, Request{Member: "a", Serial: 2, Asks: one(1)}, []time.Duration{149 * ms}},
		} {
			time.Sleep(c.after)
			if got := in(s.exchange(c.r)); !slices.Equal(got, c.want) {
				t.Errorf("%d: slots in %v, want %v", i, got, c.want)
			}
		}
	})
}

// free reports whether n can be had at once; it asks with a cost, for which there is no place later.
func (s *script) free(n int) bool {
	s.t.Helper()
	b, now := s.store.buckets["b"], instant(s.store.now())
	at, _, _ := b.earliest([]int64{int64(n)}, now)
	return int64(n) <= s.qs[0].N && at <= now
}

// TestStoreHoles: what comes back of near slots to come goes out again at their own instants, once.
func TestStoreHoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 100, Burst: 1})}}
		a := s.exchange(Request{Member: "a", Serial: 1, Asks: one(3)})
		b := s.exchange(Request{Member: "b", Serial: 1, Asks: one(1)})
		us := time.Microsecond
		if got := append(in(a), in(b)...); !slices.Equal(got, []time.Duration{0, 10100 * us, 20200 * us, 30300 * us}) {
			t.Errorf("slots in %v", got)
		}
		r := s.exchange(Request{Member: "a", Serial: 2, Back: []Part{{a.Slots[1].ID, []int64{1}}, {a.Slots[2].ID, []int64{1}}}})
		if r.Ahead != 30300*us {
			t.Errorf("ahead %v", r.Ahead)
		}
		time.Sleep(15 * time.Millisecond)
		// That at 10.1 ms has passed, and would have spilled over.
		if got := in(s.exchange(Request{Member: "b", Serial: 2, Asks: one(3)})); !slices.Equal(got, []time.Duration{5200 * us, 25400 * us, 35500 * us}) {
			t.Errorf("slots in %v", got)
		}
	})
}

// TestStoreSlotsAheadComeBack: what comes back of slots that are not near is as if it had never been handed
// out.
func TestStoreSlotsAheadComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Burst: 1})}}
		a := s.exchange(Request{Member: "a", Serial: 1, Asks: one(3)})
		b := s.exchange(Request{Member: "b", Serial: 1, Asks: one(1)})
		ms := time.Millisecond
		if got := append(in(a), in(b)...); !slices.Equal(got, []time.Duration{0, 101 * ms, 202 * ms, 303 * ms}) {
			t.Errorf("slots in %v", got)
		}
		s.exchange(Request{Member: "a", Serial: 2, Back: []Part{{a.Slots[1].ID, []int64{1}}, {a.Slots[2].ID, []int64{1}}}})
		time.Sleep(150 * ms)
		// One now leaves room for that at 303 ms, and two do not.
		if got := in(s.exchange(Request{Member: "b", Serial: 2, Asks: one(3)})); !slices.Equal(got, []time.Duration{0, 254 * ms, 355 * ms}) {
			t.Errorf("slots in %v", got)
		}
	})
}

// TestStoreShare: who has nothing gets something, and nobody more than its share of the horizon.
func TestStoreShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 100, Burst: 1})}}
		for i, c := range []struct {
			member string
			hand   int
			want   int
			next   time.Duration
		}{
			{"a", 0, 50, 505 * time.Millisecond},    // alone: 500 ms
			{"b", 0, 25, 757500 * time.Microsecond}, // half of it
			{"b", 25, 0, 757500 * time.Microsecond},
			{"b", 20, 5, 808 * time.Millisecond},
			{"a", 50, 0, 808 * time.Millisecond},
			{"c", 0, 17, 979700 * time.Microsecond}, // a third
		} {
			r := s.exchange(Request{Member: c.member, Serial: int64(i + 1), Hand: []int64{int64(c.hand)}, Asks: one(100)})
			if n := len(in(r)); n != c.want || r.Next != c.next {
				t.Errorf("%d: %d slots, want %d; next in %v, want %v", i, n, c.want, r.Next, c.next)
			}
		}
		if r := s.exchange(Request{Member: "b", Serial: 9, Leave: true}); r.Members != 2 {
			t.Errorf("%d members", r.Members)
		}
		time.Sleep(3 * time.Second)
		if r := s.exchange(Request{Member: "d", Serial: 1}); r.Members != 1 {
			t.Errorf("%d members", r.Members)
		}
	})
}

// TestStoreClock: no slot is so late in a window of the clock that what is sent late would be in the
// next one, and what is missing from a window comes with the next.
func TestStoreClock(t *testing.T) {
	for _, kind := range []quota.Kind{quota.ClockWindow, quota.EstimatedWindow} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Kind: kind})}}
				time.Sleep(985 * time.Millisecond)
				if got := in(s.exchange(Request{Member: "a", Serial: 1, Asks: one(1)})); got[0] != 0 {
					t.Errorf("15 ms before a tick: in %v", got)
				}
				time.Sleep(5 * time.Millisecond)
				if got := in(s.exchange(Request{Member: "a", Serial: 2, Asks: one(1)})); got[0] != 10*time.Millisecond {
					t.Errorf("10 ms before a tick: in %v", got)
				}
			})
		})
	}
}

// TestStoreLost: each kind begins as if it had been used evenly, at the horizon.
func TestStoreLost(t *testing.T) {
	for _, c := range []struct {
		quota quota.Quota
		want  []time.Duration // of slots for 1, 2, 4 and 8
	}{
		{quota.Quota{N: 10, Burst: 10}, []time.Duration{600e6, 700e6, 900e6, 1300e6}},
		{quota.Quota{N: 10, Kind: quota.SlidingLog}, []time.Duration{600e6, 700e6, 900e6, 1300e6}},
		{quota.Quota{N: 10, Kind: quota.FixedWindow}, []time.Duration{600e6, 700e6, 900e6, 1300e6}},
		{quota.Quota{N: 10, Kind: quota.SlidingWindow}, []time.Duration{600e6, 700e6, 900e6, 1300e6}},
		{quota.Quota{N: 10, Kind: quota.ClockWindow}, []time.Duration{500e6, 500e6, 500e6, 1000e6}}, // half of it is left
		{quota.Quota{N: 10, Kind: quota.EstimatedWindow}, []time.Duration{550000001, 650000001, 850000001, 1500000001}},
	} {
		for i, n := range []int64{1, 2, 4, 8} {
			synctest.Test(t, func(t *testing.T) {
				s := script{t: t, qs: quota.Quotas{plain(c.quota)}}
				s.store.Lose()
				asks := []Ask{{Cost: []int64{n}, Count: 1, Within: -1}}
				r := s.exchange(Request{Member: "a", Serial: 1, Asks: asks})
				if !r.Lost || len(r.Slots) > 0 || r.Next != c.want[i] {
					t.Errorf("%v: slots for %d: %v, next in %v, want none, and %v", c.quota, n, r.Slots, r.Next, c.want[i])
				}
				time.Sleep(horizon)
				r = s.exchange(Request{Member: "a", Serial: 2, Asks: asks})
				if r.Lost || r.Slots[0].In != c.want[i]-horizon {
					t.Errorf("%v: slot for %d in %v, want %v", c.quota, n, r.Slots[0].In, c.want[i]-horizon)
				}
			})
		}
	}
}

// TestStoreLostWhatItAnswered: a store that has an older state than the one that it answered from has lost the
// bucket, and tells so. One that has only not answered has not.
func TestStoreLostWhatItAnswered(t *testing.T) {
	qs := plain(quota.Quota{N: 10, Kind: quota.SlidingLog, Per: 10 * time.Second})
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	ask := func(l *Ledger, now time.Duration, member string, serial, answered int64) (*Reply, News) {
		r := request(quota.Quotas{qs}, serial)
		r.Member, r.Answered, r.Asks = member, answered, one(2)
		reply, news, err := l.Exchange(now, r)
		if err != nil {
			t.Fatal(err)
		}
		return reply, news
	}
	ask(l, time.Second, "a", 1, 0)
	ask(l, time.Second, "b", 1, 0)
	old := again(t, l)
	ask(l, 2*time.Second, "a", 2, 1)
	if r, _ := ask(old, 2100*time.Millisecond, "b", 2, 1); r.Lost || len(r.Slots) == 0 {
		t.Errorf("to who knows no more: lost is %v, %d slots, want some", r.Lost, len(r.Slots))
	}
	if r, news := ask(old, 2200*time.Millisecond, "a", 3, 2); !r.Lost || !news.Lost || len(r.Slots) > 0 || r.Next < horizon {
		t.Errorf("to who knows more: %+v, %+v, want a loss", r, news)
	}
	if r, _ := ask(l, 2100*time.Millisecond, "a", 4, 2); r.Lost || len(r.Slots) == 0 {
		t.Errorf("after a request that was not answered: %+v, want no loss", r)
	}
}

// TestStoreReturnedSlotAndLongerSlotLife: a slot that comes back is not handed out again to be used for longer
// than those after it reckon with.
func TestStoreReturnedSlotAndLongerSlotLife(t *testing.T) {
	for _, q := range []quota.Quota{{N: 10, Kind: quota.SlidingLog}, {N: 10, Kind: quota.SlidingWindow, Cells: 10}, {N: 10, Kind: quota.FixedWindow}} {
		qs := quota.Quotas{plain(q)}
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		serial := int64(0)
		ask := func(member string, slotLife time.Duration, back ...Part) Slot {
			serial++
			r := request(qs, serial)
			r.Member, r.SlotLife, r.Back, r.Asks = member, slotLife, back, []Ask{{Cost: []int64{10}, Count: 1, Within: -1}}
			return exchange(t, l, time.Second, r).Slots[0]
		}
		ask("a", 10*time.Millisecond)
		second, third := ask("b", 10*time.Millisecond), ask("c", 10*time.Millisecond)
		again := ask("b", 60*time.Millisecond, Part{second.ID, []int64{10}})
		if least := third.In + qs[0].Per + 60*time.Millisecond; again.In < least {
			t.Errorf("%v: to be used for longer, a slot in %v beside one in %v, want %v at least", q, again.In, third.In, least)
		}
		if same := ask("b", 60*time.Millisecond, Part{again.ID, []int64{10}}); same.ID != again.ID {
			t.Errorf("%v: asked again, %+v, want %+v", q, same, again)
		}
	}
}

// TestStoreLostUntilHeardOf: a member is told of a loss until a reply that says so was answered, however often
// it asks, and no longer.
func TestStoreLostUntilHeardOf(t *testing.T) {
	qs := plain(quota.Quota{N: 10, Kind: quota.SlidingLog, Per: 10 * time.Second})
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	ask := func(now time.Duration, serial, answered int64) bool {
		r := request(quota.Quotas{qs}, serial)
		r.Member, r.Answered, r.Asks = "a", answered, one(2)
		reply, _, err := l.Exchange(now, r)
		if err != nil {
			t.Fatal(err)
		}
		l = again(t, l)
		return reply.Lost
	}
	ask(time.Second, 1, 0)
	ask(2*time.Second, 2, 1)
	l.Lose()
	for i, c := range []struct {
		serial, answered int64
		lost             bool
	}{
		{3, 2, true}, {3, 2, true}, {4, 2, true}, {3, 2, true}, // an old one, on its way for long
		{5, 4, false}, {5, 4, false}, {6, 5, false},
	} {
		if lost := ask(3*time.Second+time.Duration(i)*time.Millisecond, c.serial, c.answered); lost != c.lost {
			t.Errorf("%d: request %d, after the answer to %d: lost is %v", i, c.serial, c.answered, lost)
		}
	}
}

func TestStoreStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Burst: 1})}}
		say := func(remaining int, reset time.Duration, known bool) []quota.Statement {
			return []quota.Statement{{Name: "core", Limit: 60, Remaining: int64(remaining), Reset: reset, ResetKnown: known}}
		}
		for i, c := range []struct {
			say       []quota.Statement
			remaining int // -1 if nothing is known
			reset     time.Duration
		}{
			{nil, -1, 0},
			{say(30, 10*time.Second, true), 30, 10 * time.Second},
			{say(40, 10500*time.Millisecond, true), 30, 10 * time.Second}, // older
			{say(20, 10500*time.Millisecond, true), 20, 10500 * time.Millisecond},
			{say(40, 10*time.Second, true), 20, 10500 * time.Millisecond}, // older
			{say(25, 11*time.Second+1, true), 25, 11*time.Second + 1},
			{say(50, 60*time.Second, true), 50, 60 * time.Second}, // of the next window
			{say(10, 20*time.Second, true), 50, 60 * time.Second}, // of the one before
			{say(10, 0, false), 50, 60 * time.Second},
		} {
			r := s.exchange(Request{Member: "a", Serial: int64(i + 1), Statements: c.say})
			switch {
			case c.remaining < 0 && len(r.Statements) == 0:
			case len(r.Statements) != 1 || r.Statements[0].Remaining != int64(c.remaining) || r.Statements[0].Reset != c.reset:
				t.Errorf("%d: %+v", i, r.Statements)
			}
		}
		time.Sleep(time.Minute)
		if r := s.exchange(Request{Member: "a", Serial: 10}); len(r.Statements) != 0 {
			t.Errorf("after the reset: %+v", r.Statements)
		}
	})
}

// TestStoreStatementsOfShortWindows: of windows of three seconds whose resets come in whole ones, the latest
// counts, whatever was said of the one before. Where a reset is an instant, two seconds are within what clocks
// differ by.
func TestStoreStatementsOfShortWindows(t *testing.T) {
	for absolute, want := range map[bool]int{false: 29, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Burst: 1})}}
			say := func(serial int64, remaining int, reset time.Duration) []quota.Statement {
				st := quota.Statement{Limit: 30, Remaining: int64(remaining), Reset: reset, ResetKnown: true, Resolution: time.Second, Absolute: absolute}
				return s.exchange(Request{Member: "a", Serial: serial, Statements: []quota.Statement{st}}).Statements
			}
			say(1, 0, time.Second)
			time.Sleep(100 * time.Millisecond)
			if got := say(2, 29, 3*time.Second); len(got) != 1 || got[0].Remaining != int64(want) {
				t.Errorf("absolute %v: %+v, want %d left", absolute, got, want)
			}
		})
	}
}

// TestStoreStatementsInMillis: what a member has said that read milliseconds as seconds gives way to what is in
// milliseconds, and does not take its place before its reset, whatever remains.
func TestStoreStatementsInMillis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Burst: 1})}}
		for i, c := range []struct {
			member    string
			remaining int
			in, step  time.Duration
			absolute  bool
			want      int           // of what a member that joins hears
			wantIn    time.Duration // after which a tenth of a second passes
		}{
			{"a", 12, 4980 * time.Second, time.Second, false, 12, 4980 * time.Second},
			{"b", 0, 4880 * time.Second, time.Second, false, 12, 4979900 * ms}, // the later one, as ever
			{"a", 9, 4780 * ms, ms, false, 9, 4780 * ms},
			{"b", 0, 4680 * time.Second, time.Second, false, 9, 4680 * ms}, // has not found out
			{"b", 10, 4580 * ms, ms, false, 9, 4580 * ms},                  // overtaken
			{"b", 7, 4480 * ms, ms, false, 7, 4480 * ms},
			{"a", 6, 5 * time.Second, time.Second, false, 6, 5 * time.Second}, // as far away in either unit
			{"a", 8, 5100 * ms, ms, false, 6, 4900 * ms},
			{"a", 20, 9 * time.Second, ms, false, 20, 9 * time.Second},                // of the next window
			{"a", 30, 90 * time.Second, time.Second / 2, false, 30, 90 * time.Second}, // no bare number
			{"a", 30, 9 * time.Second, ms, false, 30, 89900 * ms},                     // of the window before
			{"a", 40, 4980 * time.Second, time.Second, true, 40, 4980 * time.Second},  // no bare number
			{"a", 10, 9 * time.Second, ms, false, 40, 4979900 * ms},                   // of the window before
		} {
			st := quota.Statement{Limit: 50, Remaining: int64(c.remaining), Reset: c.in, ResetKnown: true, Resolution: c.step, Absolute: c.absolute}
			s.exchange(Request{Member: c.member, Serial: int64(i + 1), Statements: []quota.Statement{st}})
			got := s.exchange(Request{Member: fmt.Sprint("joins ", i), Serial: 1}).Statements
			if len(got) != 1 || got[0].Remaining != int64(c.want) || got[0].Reset != c.wantIn {
				t.Errorf("%d: %+v, want %d left for %v", i, got, c.want, c.wantIn)
			}
			time.Sleep(100 * ms)
		}
	})
}

// TestStoreStatementWithoutReset: what was said without a reset is passed on without one, for a horizon; the
// latest counts.
func TestStoreStatementWithoutReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Burst: 1})}}
		say := func(serial int64, remaining ...int) {
			t.Helper()
			var said []quota.Statement
			for _, n := range remaining {
				said = append(said, quota.Statement{Name: "core", Limit: 60, Remaining: int64(n)})
			}
			r := s.exchange(Request{Member: "a", Serial: serial, Statements: said})
			if len(said) > 0 && !slices.Equal(r.Statements, said) {
				t.Errorf("said %+v, heard %+v", said, r.Statements)
			}
		}
		say(1, 10)
		time.Sleep(100 * time.Millisecond)
		say(2, 20)
		time.Sleep(horizon - 1)
		if r := s.exchange(Request{Member: "b", Serial: 1}); len(r.Statements) != 1 || r.Statements[0].Remaining != 20 || r.Statements[0].ResetKnown || r.Statements[0].Reset != 0 {
			t.Errorf("before the horizon has passed: heard %+v, want 20 of 60 without a reset", r.Statements)
		}
		time.Sleep(time.Nanosecond)
		if r := s.exchange(Request{Member: "b", Serial: 2}); len(r.Statements) != 0 {
			t.Errorf("a horizon later: heard %+v", r.Statements)
		}
	})
}

// TestStoreMembers: a member counts for 2 s after a request, and while a slot of it may be used.
func TestStoreMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 1, Per: 10 * time.Second, Burst: 1})}}
		want := func(members int, serial int64) {
			t.Helper()
			if r := s.exchange(Request{Member: "who leaves", Serial: serial, Leave: true}); r.Members != members {
				t.Errorf("%d members, want %d", r.Members, members)
			}
		}
		for _, member := range []string{"a", "b", "c"} {
			s.exchange(Request{Member: member, Serial: 1})
		}
		want(3, 1)
		time.Sleep(2*time.Second - 1)
		want(3, 2)
		s.exchange(Request{Member: "a", Serial: 2, Asks: one(1)})
		far := s.exchange(Request{Member: "b", Serial: 2, Asks: one(1)}).Slots[0].In
		s.exchange(Request{Member: "c", Serial: 2, Asks: one(1)})
		time.Sleep(time.Nanosecond)
		want(3, 3)
		time.Sleep(far + 10*time.Millisecond - 2) // c's is later
		want(2, 4)
		time.Sleep(time.Nanosecond)
		want(1, 5)
	})
}

// TestStoreAfterALeave: what comes again of a member that has left makes it none anew, and loses the bucket for
// nobody; nor does it keep those from being remembered that are still there.
func TestStoreAfterALeave(t *testing.T) {
	qs := quotas(t, "60/4s log").Explicit()
	var ledger Ledger
	now := time.Duration(0)
	send := func(member string, serial int64, leave bool) *Reply {
		t.Helper()
		now += 10 * time.Millisecond
		r := &Request{Version: 1, Quotas: qs, Horizon: horizon, SlotLife: 40 * time.Millisecond, Member: member, Serial: serial, Answered: serial - 1, Since: time.Millisecond, Leave: leave}
		if !leave {
			r.Asks = one(1)
		}
		return exchange(t, &ledger, now, r)
	}
	send("stays", 1, false)
	for serial := range int64(7) {
		send("leaves", 1+serial, false)
	}
	send("leaves", 8, true)
	before := send("stays", 2, false)
	for _, serial := range []int64{5, 7} { // copies that were on their way
		if r := send("leaves", serial, false); r.Lost || len(r.Slots) > 0 {
			t.Errorf("the copy of %d got %+v", serial, r)
		}
	}
	send("leaves", 8, true)
	if r := send("stays", 3, false); r.Lost || r.Known < before.Known || r.Members != 1 || r.Sharing != 1 || r.Left[0] != before.Left[0]-1 {
		t.Errorf("after the copies %+v, before %+v", r, before)
	}
	now = 0
	ledger = Ledger{}
	send("stays", 1, false)
	for i := range 2 * mostMembers {
		now -= 19 * time.Millisecond // all within two seconds
		send(fmt.Sprint(i), 1, false)
		send(fmt.Sprint(i), 2, true)
	}
	if r := send("stays", 2, false); r.Lost || len(ledger.members) > mostMembers {
		t.Errorf("after many that left: lost %v, %d members", r.Lost, len(ledger.members))
	}
}

// TestMoreShareThanAreRemembered: where all members that are remembered share the bucket, nobody knows how many
// do, until a minute after there were so many.
func TestMoreShareThanAreRemembered(t *testing.T) {
	qs := quotas(t, "1000000/s even").Explicit()
	var ledger Ledger
	now := time.Duration(0)
	send := func(who int, serial int64) (int, int) {
		now += time.Millisecond
		r := request(qs, serial)
		r.Member = fmt.Sprint(who)
		reply, news, err := ledger.Exchange(now, r)
		if err != nil {
			t.Fatal(err)
		}
		return reply.Sharing, news.Sharing
	}
	for i := 1; i <= mostMembers+100; i++ {
		share, news := i, i
		if i >= mostMembers {
			share, news = 1<<30, 1<<30
		}
		if i > mostMembers {
			news = 0 // it is none
		}
		if reply, told := send(i, 1); reply != share || told != news {
			t.Fatalf("with %d members %d share, and news are %d, want %d and %d", i, reply, told, share, news)
		}
	}
	now += SharingFor + 3*time.Second
	if n, _ := send(mostMembers+100, 2); n != 1 {
		t.Errorf("when the others were silent for a minute, %d share, want 1", n)
	}
}

// TestOldRequestSaysNothingOfTheClock: a request that comes after a later one, and late, loses no bucket.
func TestOldRequestSaysNothingOfTheClock(t *testing.T) {
	qs := quotas(t, "60/4s log").Explicit()
	var ledger Ledger
	for i, c := range []struct {
		at     time.Duration
		serial int64
		lost   bool
	}{{0, 1, false}, {10 * time.Millisecond, 2, false}, {20 * time.Millisecond, 3, false}, {3 * time.Second, 2, false}, {4 * time.Second, 4, true}} {
		r := &Request{Version: 1, Quotas: qs, Horizon: horizon, Member: "a", Serial: c.serial, Answered: c.serial - 1, Since: 10 * time.Millisecond}
		if reply := exchange(t, &ledger, c.at, r); reply.Lost != c.lost {
			t.Errorf("%d: lost %v, want %v", i, reply.Lost, c.lost)
		}
	}
}

// TestStoreSharing: a member counts as one that shares the bucket for a minute after it was active, unless it
// leaves; and a member that comes is news. What is written down keeps it.
func TestStoreSharing(t *testing.T) {
	const s = time.Second
	ledger := Ledger{Epoch: time.Unix(1, 0)}
	serials := map[string]int64{}
	qs := quota.MustParse("10/s even").Explicit()
	for i, c := range []struct {
		at     time.Duration
		member string
		leave  bool
		want   [3]int // members, those that share, and these as news
	}{
		{0, "a", false, [3]int{1, 1, 1}},
		{0, "a", false, [3]int{1, 1, 0}},
		{s, "b", false, [3]int{2, 2, 2}},
		{10 * s, "c", false, [3]int{1, 3, 3}},
		{61 * s, "c", false, [3]int{1, 3, 0}},
		{62 * s, "c", false, [3]int{1, 2, 0}}, // a was active until 2 s
		{62 * s, "a", false, [3]int{2, 3, 3}},
		{63*s - 1, "b", false, [3]int{3, 3, 0}},
		{64 * s, "b", true, [3]int{1, 2, 0}},
		{64 * s, "b", true, [3]int{1, 2, 0}}, // that it left may be told again
		{65 * s, "b", false, [3]int{1, 3, 3}},
		{999 * s, "b", true, [3]int{1, 1, 0}},
		{999 * s, "a", false, [3]int{1, 1, 1}},
	} {
		data, err := ledger.MarshalBinary()
		if err == nil {
			err = ledger.UnmarshalBinary(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		serials[c.member]++
		r := &Request{Version: 1, Quotas: qs, Horizon: s / 2, Member: c.member, Serial: serials[c.member], Leave: c.leave}
		look := *r
		look.Look = true
		looked, news, err := ledger.Exchange(c.at, &look)
		if err != nil || news != (News{}) {
			t.Fatalf("looking: %+v, %v", news, err)
		}
		reply, news, err := ledger.Exchange(c.at, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]int{reply.Members, reply.Sharing, news.Sharing}; got != c.want || looked.Sharing != reply.Sharing {
			t.Errorf("%d: got %v, looking %d; want %v", i, got, looked.Sharing, c.want)
		}
	}
}

// TestLedgerMembersBounded: of members that never leave, those that were silent for longest are forgotten.
func TestLedgerMembersBounded(t *testing.T) {
	whole.Alone(t)
	qs := quotas(t, "1000000/d sliding").Explicit()
	var ledger Ledger
	ask := func(i int, serial int64) *Reply {
		return exchange(t, &ledger, time.Duration(i)*time.Second, &Request{
			Version: 1, Quotas: qs, SlotLife: 10 * time.Millisecond, Horizon: horizon, Member: fmt.Sprint("tool ", i%10_000), Serial: serial, Asks: one(1),
		})
	}
	for i := range 10_000 {
		ask(i, 1)
	}
	data, err := ledger.MarshalBinary()
	if err != nil || len(data) > 32<<10 || len(ledger.members) != mostMembers {
		t.Errorf("%d members, %d bytes, %v", len(ledger.members), len(data), err)
	}
	if r := ask(20_000-mostMembers, 2); r.Lost { // the last one that is known
		t.Error("one of the latest was forgotten")
	}
	if r := ask(10_000, 2); !r.Lost {
		t.Error("the first was not forgotten")
	}
}

// TestLedgerLose: a ledger that has lost what it knew says so once, hands out nothing within the horizon, and
// still counts the windows of the clock by its epoch.
func TestLedgerLose(t *testing.T) {
	qs := quotas(t, "10/s window grid").Explicit()
	ledger := Ledger{Epoch: time.Unix(1000, 300e6)} // windows begin at 700 ms of each second
	ask := func(now time.Duration, serial int64, n int) *Reply {
		return exchange(t, &ledger, now, &Request{
			Version: 1, Quotas: qs, SlotLife: 10 * time.Millisecond, Horizon: horizon, Member: "a", Serial: serial, Asks: []Ask{{Cost: []int64{int64(n)}, Count: 1, Within: -1}},
		})
	}
	if r := ask(10*time.Second, 1, 1); r.Lost || r.Slots[0].In != 0 {
		t.Errorf("before: lost is %v, a slot in %v", r.Lost, r.Slots[0].In)
	}
	ledger.Lose()
	r := ask(10*time.Second+200*time.Millisecond, 1, 10)
	if !r.Lost || len(r.Slots) > 0 || r.Next != 500*time.Millisecond {
		t.Errorf("after: lost is %v, all of a window in %v, want true, at the horizon, at which one begins", r.Lost, r.Next)
	}
	if r := ask(10*time.Second+700*time.Millisecond, 2, 10); r.Lost || r.Slots[0].In != 0 {
		t.Errorf("at the horizon: lost is %v, all of a window in %v, want false, at once", r.Lost, r.Slots[0].In)
	}
	if r := ask(10*time.Second+800*time.Millisecond, 3, 10); r.Lost || r.Slots[0].In != 900*time.Millisecond {
		t.Errorf("later: lost is %v, all of a window in %v, want false, and the next one", r.Lost, r.Slots[0].In)
	}
}

// TestStoreLowerRate: what is missing in a bucket comes back at the rate of now: a lower one makes no tokens of
// it.
func TestStoreLowerRate(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	ask := func(now time.Duration, member string, n int) *Reply {
		r := request(quota.Quotas{plain(quota.Quota{N: int64(n), Burst: 11})}, 1)
		r.Member, r.Asks = member, []Ask{{Cost: []int64{1}, Count: 20, Within: 0}}
		return exchange(t, l, now, r)
	}
	if r := ask(time.Second, "a", 10); len(r.Slots) != 1 || r.Slots[0].Count != 10 || r.Next != 10*time.Millisecond {
		t.Fatalf("%+v, next in %v, want ten at once", r.Slots, r.Next)
	}
	if r := ask(time.Second, "b", 5); len(r.Slots) > 0 || r.Next != 20*time.Millisecond {
		t.Errorf("at half of the rate %+v, next in %v, want none, and one in 20 ms", r.Slots, r.Next) // 0.9 are there, of which a tenth may go late
	}
}

// TestStoreOldQuotasOfOthers: a member that gets wider quotas does not end the narrower ones of those that
// still ask by them.
func TestStoreOldQuotasOfOthers(t *testing.T) {
	narrow, wide := quota.Quotas{plain(quota.Quota{N: 5, Per: 20 * time.Second, Kind: quota.SlidingLog})}, quota.Quotas{plain(quota.Quota{N: 7, Per: 20 * time.Second, Kind: quota.SlidingLog})}
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	ask := func(now time.Duration, member string, serial int64, qs quota.Quotas) (n int) {
		r := request(qs, serial)
		r.Member, r.Asks = member, []Ask{{Cost: []int64{1}, Count: 10, Within: 0}}
		for _, s := range exchange(t, l, now, r).Slots {
			n += s.Count
		}
		return n
	}
	if n := ask(time.Second, "b", 1, narrow) + ask(1100*time.Millisecond, "a", 1, narrow); n != 5 {
		t.Fatalf("%d of 5", n)
	}
	if n := ask(1200*time.Millisecond, "b", 2, wide); n != 0 {
		t.Errorf("%d more for who has got wider quotas, while another has the narrower ones", n)
	}
	if n := ask(12*time.Second, "b", 3, wide); n != 2 {
		t.Errorf("%d more ten seconds later, want 2", n)
	}
}

// TestStoreRollout: while processes differ in the numbers of a quota, both draw on one ledger; a
// quota of another kind begins anew, as if used, and the other one still holds.
func TestStoreRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t}
		for i, c := range []struct {
			quota quota.Quota
			want  []time.Duration
		}{
			{quota.Quota{N: 4, Kind: quota.SlidingLog}, []time.Duration{0, 0}},
			{quota.Quota{N: 6, Kind: quota.SlidingLog}, []time.Duration{0, 0}},
			{quota.Quota{N: 4, Kind: quota.SlidingLog}, []time.Duration{1010e6}}, // four went; the next one is beyond the share of three
			{quota.Quota{N: 10, Burst: 10}, []time.Duration{1110e6}},             // empty after the last of them; the next one is beyond the share of four, by the log
		} {
			s.qs = quota.Quotas{plain(c.quota)}
			r := s.exchange(Request{Member: fmt.Sprint("m", i), Serial: 1, Asks: []Ask{{Cost: []int64{1}, Count: 2, Within: -1}}})
			if got := in(r); !slices.Equal(got, c.want) {
				t.Errorf("%d: slots in %v, want %v", i, got, c.want)
			}
		}
	})
}

// TestStoreMoreQuotas has the number of quotas change while something has come back that
// was asked for with fewer.
func TestStoreMoreQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		ask := func(serial int64, back []Part, cost ...int64) *Reply {
			qs := quota.Quotas{{N: 10, Per: time.Second, Kind: quota.TokenBucket, Burst: 1}, {N: 100, Per: time.Minute, Kind: quota.TokenBucket, Burst: 1}}
			reply, err := store.Exchange(t.Context(), &Request{
				Version: 1, Bucket: "b", Quotas: qs[:len(cost)], SlotLife: 10 * time.Millisecond, Horizon: time.Second, Member: "m", Serial: serial,
				Back: back, Asks: []Ask{{Cost: cost, Count: 3, Within: -1}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
		slots := ask(1, nil, 1).Slots
		back := []Part{{Slot: slots[len(slots)-1].ID, Cost: []int64{1}}}
		ask(2, back, 1)
		if got := len(ask(3, back, 1, 1).Slots); got == 0 {
			t.Error("no slots for two quotas")
		}
		time.Sleep(time.Minute)
		if got := len(ask(4, nil, 1, 1).Slots); got == 0 {
			t.Error("no slots after a minute")
		}
	})
}

// plain returns a quota as a store is told of it.
func plain(q quota.Quota) quota.Quota {
	q = quota.Quotas{q}.Explicit()[0]
	q.Name, q.Queue = "", 0
	return q
}

func quotas(t *testing.T, text string) quota.Quotas {
	t.Helper()
	qs, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return qs
}

// TestStoreSlotsOfEachKind: the examples in the documentation of the package, with an E of 100 ms.
func TestStoreSlotsOfEachKind(t *testing.T) {
	const ms = time.Millisecond
	for quotas, c := range map[string]struct{ asked, want []time.Duration }{
		"10/s burst 5":    {make([]time.Duration, 5), []time.Duration{0, 0, 0, 0, 100 * ms}},
		"10/s even":       {make([]time.Duration, 3), []time.Duration{0, 110 * ms, 220 * ms}},
		"3/s log":         {[]time.Duration{0, 20 * ms, 300 * ms, 300 * ms}, []time.Duration{0, 20 * ms, 300 * ms, 1120 * ms}},
		"3/s sliding":     {[]time.Duration{0, 20 * ms, 300 * ms, 300 * ms}, []time.Duration{0, 20 * ms, 300 * ms, 1120 * ms}},
		"3/s window":      {[]time.Duration{0, 21 * ms, 300 * ms, 300 * ms}, []time.Duration{0, 21 * ms, 300 * ms, 1100 * ms}},
		"3/s window grid": {[]time.Duration{850 * ms, 850 * ms, 950 * ms}, []time.Duration{850 * ms, 850 * ms, 1000 * ms}},
		"4/s estimate":    {[]time.Duration{0, 0, 0, 0, 1000 * ms, 1000 * ms}, []time.Duration{0, 0, 0, 0, 1125 * ms, 1375 * ms}},
	} {
		qs, err := quota.Parse(quotas)
		if err != nil {
			t.Fatal(err)
		}
		ledger := Ledger{Epoch: time.Unix(1000, 0)}
		for i, now := range c.asked {
			reply := exchange(t, &ledger, now, &Request{Version: 1, Quotas: qs.Explicit(), SlotLife: 100 * ms, Horizon: horizon, Member: "a", Serial: int64(i + 1), Asks: one(1)})
			if len(reply.Slots) != 1 {
				t.Fatalf("%s: at %v %d slots, want 1", quotas, now, len(reply.Slots))
			}
			// Rounding is to the safe side, by a microsecond at most.
			if got, want := now+reply.Slots[0].In, c.want[i]; got < want || got > want+time.Microsecond {
				t.Errorf("%s: slot %d at %v, want %v", quotas, i, got, want)
			}
		}
	}
}

// TestStoreHold: nothing is handed out before the end of the longest hold that any member tells, not even what
// came back.
func TestStoreHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Burst: 1})}}
		slots := s.exchange(Request{Member: "a", Serial: 1, Asks: one(2)}).Slots // at 0 and 101 ms
		if r := s.exchange(Request{Member: "b", Serial: 1, Hold: 300 * ms}); r.Hold != 300*ms {
			t.Errorf("a hold of %v, want 300ms", r.Hold)
		}
		time.Sleep(50 * ms)
		if r := s.exchange(Request{Member: "c", Serial: 1, Hold: 100 * ms}); r.Hold != 250*ms {
			t.Errorf("after a shorter one: a hold of %v, want 250ms", r.Hold)
		}
		time.Sleep(30 * ms) // then the slot is so near that it would be handed out again
		s.exchange(Request{Member: "a", Serial: 2, Back: []Part{{slots[1].ID, []int64{1}}}})
		if got := in(s.exchange(Request{Member: "a", Serial: 3, Asks: one(1)})); !slices.Equal(got, []time.Duration{220 * ms}) {
			t.Errorf("a slot in %v, want at the end of the hold", got)
		}
	})
}

// TestStoreCostAboveAll: what a quota never grants at once is not handed out, and holds nothing up.
func TestStoreCostAboveAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{t: t, qs: quota.Quotas{plain(quota.Quota{N: 10, Kind: quota.FixedWindow})}}
		asks := []Ask{{Cost: []int64{11}, Count: 1, Within: -1}, {Cost: []int64{10}, Count: 1, Within: -1}}
		if r := s.exchange(Request{Member: "a", Serial: 1, Asks: asks}); len(r.Slots) != 1 || r.Slots[0].Ask != 1 || r.Slots[0].In != 0 {
			t.Errorf("slots %+v, want one, now, for the second ask", r.Slots)
		}
	})
}

// TestLook: the reply is what it would be, and nothing changes.
func TestLook(t *testing.T) {
	l := used(t)
	before, _ := l.MarshalBinary()
	for serial := range int64(4) {
		r := request(quotasOf(l), serial)
		r.Look, r.Release, r.Hold, r.More, r.Own = true, serial%2 == 0, time.Hour, []int64{1, 1, 1, 1, 1}, []Own{{0, []int64{1, 1, 1, 1, 1}}}
		r.Asks = []Ask{{Cost: []int64{1, 1, 1, 1, 1}, Count: 4, Within: -1}}
		c := again(t, l)
		got, news, err := l.Exchange(time.Second, r)
		if err != nil || news != (News{}) {
			t.Errorf("news %+v, %v", news, err)
		}
		if after, _ := l.MarshalBinary(); !bytes.Equal(after, before) {
			t.Error("looking has changed the ledger")
		}
		r.Look = false
		if want := exchange(t, c, time.Second, r); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	r := request(nil, 1)
	r.Look = true
	if reply := exchange(t, l, time.Hour, r); len(reply.Others) != 1 || !slices.Equal(reply.Others[0], unnamed(quotasOf(l))) {
		t.Errorf("the quotas are %v, want %v", reply.Others, quotasOf(l))
	}
}

// TestReleaseOfAnOldRequest: a request that comes after a later one of its member does nothing, and is no news.
func TestReleaseOfAnOldRequest(t *testing.T) {
	var l Ledger
	r := request(quota.MustParse("10/s even").Explicit(), 2)
	r.Hold = time.Hour
	exchange(t, &l, 0, r)
	for _, serial := range []int64{1, 2, 3} {
		want := serial >= 2 // that of 2 comes again
		r := request(r.Quotas, serial)
		r.Release = true
		reply, news, err := l.Exchange(time.Second, r)
		if err != nil || news != (News{Released: want}) || reply.Hold > 0 == want {
			t.Errorf("Serial %d after 2: %+v, %+v, %v, want released: %v", serial, reply, news, err, want)
		}
	}
}

// TestReleaseLeavesSlotsAhead: slots that are still to come stay charged, also where they count together with
// some that have gone.
func TestReleaseLeavesSlotsAhead(t *testing.T) {
	const ms = time.Millisecond
	for text, more := range map[string]int{"10/s log": 0, "10/s window": 0, "10/s sliding 10": 0, "10/1000ms log": 100} {
		qs := quotas(t, text).Explicit()
		var ledger Ledger
		var got []time.Duration
		for i, c := range []struct {
			at time.Duration
			n  int
		}{{0, 3}, {60 * ms, 2}, {101 * ms, 5}, {1140 * ms, 5}, {1142 * ms, 5}, {1170 * ms, 0}, {1210 * ms, 5}, {1900 * ms, 5}} {
			r := &Request{Version: 1, Quotas: qs, Horizon: time.Second, SlotLife: 100 * ms, Member: "a", Serial: int64(1 + i), Release: c.n == 0}
			if c.n > 0 {
				r.Asks = one(c.n)
			} else if more > 0 { // what is beyond goes
				r.More = []int64{int64(more)}
			}
			for _, s := range exchange(t, &ledger, c.at, r).Slots {
				for range s.Count {
					got = append(got, c.at+s.In)
				}
			}
		}
		if want := 25; len(got) < want {
			t.Errorf("%s: %d slots, want %d", text, len(got), want)
		}
		for i := 10; i < len(got); i++ {
			if d := got[i] - got[i-10]; d < time.Second {
				t.Errorf("%s: eleven slots in %v, at %v", text, d, got)
				break
			}
		}
	}
}

// TestReleaseWhileNIsSmaller: what went by a larger N is not beyond the quota, as long as it counts. So a
// person who releases the bucket while N is smaller gives nobody more when N is as large again; but what was
// charged beyond that goes.
func TestReleaseWhileNIsSmaller(t *testing.T) {
	for _, kind := range []string{"log", "sliding 10", "window", "window grid", "estimate"} {
		l, got, serial := &Ledger{Epoch: time.Unix(1e9, 0)}, 0, int64(0)
		send := func(at time.Duration, n string, ask, more int, release bool) *Reply {
			serial++
			r := request(quotas(t, n+"/10s "+kind).Explicit(), serial)
			r.Release, r.Fresh, r.Answered = release, true, serial-1
			if ask > 0 {
				r.Asks = []Ask{{Cost: []int64{1}, Count: ask, Within: 0}}
			}
			if more > 0 {
				r.More = []int64{int64(more)}
			}
			reply := exchange(t, l, at, r)
			for _, s := range reply.Slots {
				got += s.Count
			}
			return reply
		}
		send(0, "100", 0, 0, false)
		send(time.Second, "100", 50, 0, false)
		send(3*time.Second, "100", 50, 0, false)
		send(7*time.Second, "50", 0, 0, true)
		send(8*time.Second, "100", 100, 0, false)
		if got != 100 {
			t.Errorf("%s: %d slots in 8s, want 100", kind, got)
		}
		send(9*time.Second, "50", 0, 0, false)
		send(41*time.Second, "50", 0, 120, false)
		send(42*time.Second, "50", 0, 0, true)
		if r := send(43*time.Second, "100", 0, 0, false); r.Left[0] != 50 {
			t.Errorf("%s: after a debt of 120 and a release by 50 %d are left of 100, want 50", kind, r.Left[0])
		}
	}
}

// TestReleaseAfterALoss: what was assumed of windows is forgotten, and a bucket is empty.
func TestReleaseAfterALoss(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10/d even": 2*time.Hour + 23*time.Minute, "1000/d log": 0, "1000/d sliding": 0, "1000/d window grid": 0, "1000/d estimate": 0,
	} {
		qs, err := quota.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		l.Lose()
		exchange(t, l, 0, request(qs.Explicit(), 1))
		r := request(qs.Explicit(), 2)
		r.Release = true
		r.Asks = []Ask{{Cost: []int64{1}, Count: 1, Within: -1}}
		if reply := exchange(t, l, time.Second, r); len(reply.Slots) != 1 || reply.Slots[0].In.Truncate(time.Minute) != want {
			t.Errorf("%s: slots %+v, want one in %v", text, reply.Slots, want)
		}
	}
}

// TestOthers: who asks by other quotas is told of for ten seconds.
func TestOthers(t *testing.T) {
	var lists []quota.Quotas
	for _, text := range []string{"1/s even", "2/s even", "3/s even", "4/s even", "5/s even", "6/s even"} {
		qs, err := quota.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, qs.Explicit())
	}
	var l Ledger
	for i, qs := range lists[:5] {
		r := request(qs, 1)
		r.Member = fmt.Sprint(i)
		exchange(t, &l, time.Duration(i)*time.Second, r)
	}
	for at, want := range map[time.Duration]string{
		4 * time.Second: "[5/s even 4/s even 3/s even]", 13 * time.Second: "[5/s even 4/s even]", 15 * time.Second: "[]",
	} {
		if got := fmt.Sprint(exchange(t, again(t, &l), at, request(lists[5], 1)).Others); got != want {
			t.Errorf("after %v others ask by %s, want %s", at, got, want)
		}
	}
}

// TestLedgerManyReturned: parts of 256 slots are remembered; what comes back beyond lapses.
func TestLedgerManyReturned(t *testing.T) {
	var l Ledger
	q := plain(quota.Quota{N: 100_000, Burst: 1, Kind: quota.TokenBucket})
	exchange := func(r Request) *Reply {
		r.Version, r.Quotas, r.SlotLife, r.Horizon, r.Member = 1, quota.Quotas{q}, 10*time.Millisecond, horizon, "m"
		reply, _, err := l.Exchange(time.Second, &r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	got := exchange(Request{Serial: 1, Asks: one(1000)})
	var back []Part
	for i := len(got.Slots) - 300; i < len(got.Slots); i++ {
		back = append(back, Part{got.Slots[i].ID, []int64{1}})
	}
	exchange(Request{Serial: 2, Back: back})
	again := exchange(Request{Serial: 3, Asks: []Ask{{Cost: []int64{1}, Count: 1000, Within: got.Slots[len(got.Slots)-1].In}}})
	if n := len(again.Slots); n != 256 {
		t.Errorf("%d slots were handed out again, want 256", n)
	}
	if again.Slots[255].ID != back[255].Slot {
		t.Errorf("the last of them is %d, want %d", again.Slots[255].ID, back[255].Slot)
	}
}
