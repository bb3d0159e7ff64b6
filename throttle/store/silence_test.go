package store

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// a silence is of members that used a bucket at zero, each one token. Those of shares send their parts while
// they cannot reach the store.
type silence struct {
	t      *testing.T
	ledger Ledger
	quotas quota.Quotas
	shares string // letters, each the name of a member
	serial map[string]int64
}

func newSilence(t *testing.T, text, members, shares string) *silence {
	t.Helper()
	qs, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &silence{t: t, quotas: qs.Explicit(), shares: shares, serial: map[string]int64{}}
	for _, m := range members {
		if n := s.ask(0, m, 1, nil); n != 1 {
			t.Fatalf("%c got %d of 1", m, n)
		}
	}
	return s
}

// ask is what a member gets at once that asks for so many.
func (s *silence) ask(now time.Duration, member rune, count int, change func(*Request)) (n int) {
	s.t.Helper()
	name := string(member)
	s.serial[name]++
	r := request(s.quotas, s.serial[name])
	r.Member = name
	for _, o := range s.shares {
		r.GoesOn = r.GoesOn || o == member
	}
	if count > 0 {
		r.Asks = []Ask{{Cost: []int64{1}, Count: count, Within: -1}}
	}
	if change != nil {
		change(r)
	}
	for _, slot := range exchange(s.t, &s.ledger, now, r).Slots {
		if slot.In == 0 {
			n += slot.Count
		}
	}
	return n
}

// TestSilence: the first that asks after a silence gets what is spare, by the doc of Request.GoesOn; and the
// rest a Horizon later.
func TestSilence(t *testing.T) {
	const edge = horizon + 10*time.Millisecond // SlotLife
	for name, c := range map[string]struct {
		quotas, members, shares string
		now                     time.Duration
		asks                    rune
		want, rest              int
	}{
		"a window":                         {"100/s log", "ab", "ab", 10 * time.Second, 'a', 55, 45},
		"of three":                         {"100/s log", "abc", "abc", 10 * time.Second, 'a', 40, 60},
		"one that is new":                  {"100/s log", "ab", "abc", 10 * time.Second, 'c', 10, 90},
		"the others send nothing":          {"100/s log", "ab", "a", 10 * time.Second, 'a', 100, 0},
		"one of the others sends nothing":  {"100/s log", "abc", "ab", 10 * time.Second, 'a', 70, 30},
		"nobody sends anything":            {"100/s log", "ab", "", 10 * time.Second, 'a', 100, 0},
		"who asks sends nothing":           {"100/s log", "ab", "b", 10 * time.Second, 'a', 55, 45},
		"one that is new and sends none":   {"100/s log", "ab", "ab", 10 * time.Second, 'c', 10, 90},
		"alone":                            {"100/s log", "a", "a", 10 * time.Second, 'a', 100, 0},
		"no silence":                       {"100/10s log", "ab", "ab", edge, 'a', 98, 0},
		"a silence":                        {"100/10s log", "ab", "ab", edge + 1, 'a', 54, 44},
		"what was left":                    {"60/10s log", "ab", "ab", 5 * time.Second, 'a', 32, 26},
		"what was left counts no more":     {"60/10s log", "ab", "ab", 10*time.Second + 20*time.Millisecond, 'a', 33, 27},
		"used up":                          {"2/s log", "ab", "ab", 900 * time.Millisecond, 'a', 0, 2},
		"used up, and it has passed":       {"2/s log", "ab", "ab", 1020 * time.Millisecond, 'a', 2, 0},
		"of one, and it has passed":        {"1/2s log", "a", "ab", 3 * time.Second, 'b', 1, 0},
		"of the clock, and it has passed":  {"2/s window grid", "ab", "ab", 1020 * time.Millisecond, 'a', 2, 0},
		"one is left":                      {"3/10s log", "ab", "ab", 5 * time.Second, 'a', 1, 0},
		"a bucket":                         {"10/m burst 60", "ab", "ab", time.Hour, 'a', 33, 27},
		"what came back":                   {"10/s burst 3", "ab", "ab", 600 * time.Millisecond, 'a', 2, 2},
		"shares that are no whole tokens":  {"2/s burst 4", "abc", "abc", 1200 * time.Millisecond, 'a', 3, 1},
		"a bucket of one token":            {"1/m burst 1", "a", "ab", time.Hour, 'b', 1, 0},
		"a small bucket":                   {"1/m burst 3", "ab", "abc", time.Hour, 'c', 1, 2},
		"a minute after the bucket was":    {"100/s log", "ab", "ab", 10 * time.Minute, 'a', 55, 45},
		"a window of the clock":            {"100/s window grid", "ab", "ab", 10 * time.Second, 'a', 55, 45},
		"an estimate, of the window ahead": {"100/s estimate", "ab", "ab", 10 * time.Second, 'a', 55, 45},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSilence(t, c.quotas, c.members, c.shares)
			if n := s.ask(c.now, c.asks, 200, nil); n != c.want {
				t.Errorf("got %d, want %d", n, c.want)
			}
			if n := s.ask(c.now+horizon, c.asks, 200, nil); n != c.rest {
				t.Errorf("later got %d, want %d", n, c.rest)
			}
		})
	}
}

// TestSilenceIsOver: after a silence, a member says what it sent, and then nothing is handed out until all
// could; what is charged is not handed out.
func TestSilenceIsOver(t *testing.T) {
	const at = 10 * time.Second
	s := newSilence(t, "100/s log", "abc", "abc")
	want := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	want("c asks for nothing", s.ask(at-time.Second, 'c', 0, nil), 0)
	want("a asks", s.ask(at, 'a', 15, nil), 15)
	want("b, too", s.ask(at+1, 'b', 15, nil), 15)
	want("c sent its part", s.ask(at+horizon/2, 'c', 0, func(r *Request) {
		r.Outage, r.Own = true, []Own{{In: -time.Millisecond, Cost: []int64{25}}}
	}), 0)
	want("a asks before all have told", s.ask(at+horizon-1, 'a', 1, nil), 0)
	want("a asks then", s.ask(at+horizon, 'a', 100, nil), 45)
}

// TestSilenceHeard: who asks after a silence, and was not out of reach, has sent nothing; so its part is there,
// too. When all have asked, all is.
func TestSilenceHeard(t *testing.T) {
	const at = 10 * time.Second
	type asks struct {
		in   int // ms
		who  rune
		want int // of 200
	}
	for name, c := range map[string]struct {
		quotas string
		before func(*silence)
		asks   []asks
	}{
		"a window":              {"100/s log", nil, []asks{{0, 'a', 40}, {100, 'b', 30}, {200, 'c', 30}}},
		"twice":                 {"100/s log", nil, []asks{{0, 'a', 40}, {100, 'b', 30}, {200, 'b', 0}, {300, 'a', 0}, {400, 'c', 30}}},
		"one that is new":       {"100/s log", nil, []asks{{0, 'd', 10}, {100, 'a', 30}, {200, 'e', 0}}},
		"a bucket":              {"2/s burst 4", nil, []asks{{0, 'a', 2}, {100, 'b', 1}, {150, 'b', 0}, {200, 'c', 1}}},
		"less than their parts": {"100/s log", func(s *silence) { s.ask(at-20*time.Millisecond, 'c', 0, func(r *Request) { r.More = []int64{60} }) }, []asks{{0, 'a', 0}, {100, 'b', 10}, {200, 'c', 30}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSilence(t, c.quotas, "abc", "abcde")
			if c.before != nil {
				c.before(s)
			}
			for _, o := range c.asks {
				if n := s.ask(at+time.Duration(o.in)*time.Millisecond, o.who, 200, nil); n != o.want {
					t.Errorf("%c got %d after %d ms, want %d", o.who, n, o.in, o.want)
				}
			}
		})
	}
}

// TestSilenceAgain: a store may be back for a moment only. The time in which members can tell what they sent is
// none in which nobody asks, although somebody waits.
func TestSilenceAgain(t *testing.T) {
	const at = 20 * time.Second
	type asks struct {
		in    int // ms
		who   rune
		count int
		alone bool
		want  int
	}
	for name, c := range map[string]struct {
		quotas string
		asks   []asks
	}{
		"a window":               {"100/10s log", []asks{{0, 'a', 200, false, 55}, {620, 'a', 200, false, 0}, {1120, 'a', 200, false, 45}}},
		"a bucket":               {"20/s burst 20", []asks{{0, 'a', 200, false, 11}, {620, 'a', 200, false, 7}}},
		"nobody waits":           {"100/10s log", []asks{{0, 'a', 10, false, 10}, {620, 'a', 200, false, 50}}},
		"who waits asks":         {"100/10s log", []asks{{0, 'a', 200, false, 55}, {300, 'a', 200, false, 0}, {600, 'a', 200, false, 45}}},
		"who waits is back":      {"100/10s log", []asks{{0, 'a', 200, false, 55}, {400, 'a', 200, true, 0}, {600, 'a', 200, false, 0}, {900, 'a', 200, false, 45}}},
		"all know of the outage": {"100/10s log", []asks{{0, 'a', 200, true, 0}, {300, 'b', 200, true, 0}, {500, 'a', 200, false, 0}, {800, 'a', 200, false, 100}}},
		"a bucket, all know":     {"10/s burst 10", []asks{{0, 'a', 200, true, 0}, {249, 'b', 200, true, 0}, {500, 'a', 200, false, 5}}},
		"one lost the store":     {"100/10s log", []asks{{0, 'a', 200, true, 0}, {200, 'b', 200, true, 0}, {500, 'a', 200, false, 100}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSilence(t, c.quotas, "ab", "ab")
			for _, o := range c.asks {
				if n := s.ask(at+time.Duration(o.in)*time.Millisecond, o.who, o.count, func(r *Request) { r.Outage = o.alone }); n != o.want {
					t.Errorf("%c got %d after %d ms, want %d", o.who, n, o.in, o.want)
				}
			}
		})
	}
}

// TestSilenceOfABucket: a bucket was empty at the instant at which the first one says that it sent, or if slots
// were handed out for later, at the last of these; and what went after that is charged, whoever tells it.
func TestSilenceOfABucket(t *testing.T) {
	const at = 20 * time.Second
	for name, c := range map[string]struct {
		slots int // that were handed out 300 ms before, 100 ms apart, but for 9 at once
		own   []time.Duration
		want  int // of 10/s burst 10, after 500 ms
	}{
		"nobody else":         {0, nil, 5},
		"it went before":      {0, []time.Duration{-300 * time.Millisecond, -400 * time.Millisecond}, 5},
		"two went since":      {0, []time.Duration{-50 * time.Millisecond, -100 * time.Millisecond}, 3},
		"all that came":       {0, []time.Duration{-1, -2, -3, -4, -5, -6, -7}, 3}, // empty when that was told
		"no slot is ahead":    {12, nil, 5},
		"the last in 210 ms":  {15, nil, 2},
		"and one went since":  {15, []time.Duration{-50 * time.Millisecond}, 2}, // a bucket that is empty has paid for all before
		"the last in 510 ms":  {18, nil, 0},
		"the last in 1010 ms": {23, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSilence(t, "10/s burst 10", "ab", "")
			for range c.slots {
				s.ask(at-300*time.Millisecond, 'a', 1, nil)
			}
			s.ask(at, 'a', 0, func(r *Request) { r.Outage = true })
			s.ask(at+200*time.Millisecond, 'b', 0, func(r *Request) {
				r.Outage = true
				for _, in := range c.own {
					r.Own = append(r.Own, Own{In: in, Cost: []int64{1}})
				}
			})
			if n := s.ask(at+horizon, 'a', 200, nil); n != c.want {
				t.Errorf("got %d, want %d", n, c.want)
			}
		})
	}
}

// TestOwesBeyondWhatWent: what a member owes beyond what it tells as Own is charged after that, and so on top
// of it.
func TestOwesBeyondWhatWent(t *testing.T) {
	l, qs := new(Ledger), quota.MustParse("20/s burst 20 debt").Explicit()
	r := request(qs, 1)
	r.Own, r.More = []Own{{In: -100 * time.Millisecond, Cost: []int64{60}}}, []int64{40}
	r.Asks = []Ask{{Cost: []int64{1}, Count: 1, Within: 0}}
	if next := exchange(t, l, time.Second, r).Next; next != 2050*time.Millisecond {
		t.Errorf("the next token is there in %v, want 2.05s", next)
	}
}

// TestSilenceAsks: when somebody waits for what others may have to tell, those who listen hear of it, once in
// each silence.
func TestSilenceAsks(t *testing.T) {
	s := newSilence(t, "100/m log", "ab", "ab")
	for _, c := range []struct {
		at     time.Duration
		member rune
		count  int
		alone  bool
		want   bool
	}{
		{2 * time.Second, 'a', 10, false, false}, // that is spare
		{2100 * time.Millisecond, 'a', 80, false, true},
		{2200 * time.Millisecond, 'a', 80, false, false},
		{2300 * time.Millisecond, 'b', 0, false, false}, // now all is there
		{2310 * time.Millisecond, 'a', 1, false, false},
		{4 * time.Second, 'b', 100, false, true}, // anew
		{4100 * time.Millisecond, 'a', 0, true, false},
		{4200 * time.Millisecond, 'b', 100, false, false}, // nobody can say more
	} {
		name := string(c.member)
		s.serial[name]++
		r := request(s.quotas, s.serial[name])
		r.Member, r.GoesOn, r.Outage = name, true, c.alone
		if c.count > 0 {
			r.Asks = []Ask{{Cost: []int64{1}, Count: c.count, Within: -1}}
		}
		if _, news, err := s.ledger.Exchange(c.at, r); err != nil || news.Lost != c.want {
			t.Errorf("at %v: %+v, %v; want that others are asked: %v", c.at, news, err, c.want)
		}
	}
}

// TestNewsOfSlotsAhead: others hear of slots that are more than the horizon ahead, and a quarter farther than
// the last one of which they heard; if there are any that may have to do without the store.
func TestNewsOfSlotsAhead(t *testing.T) {
	for name, c := range map[string]struct {
		shares string // of the members a and b
		counts []int  // of what a asks for, each 0.4 s; -1 is one that costs all of the window
		want   []time.Duration
	}{
		"none are ahead":    {"ab", []int{50, 50}, []time.Duration{0, 0}},
		"some are":          {"ab", []int{100, 1}, []time.Duration{0, 9610 * time.Millisecond}},
		"and that is known": {"ab", []int{100, 1, 1}, []time.Duration{0, 9610 * time.Millisecond, 0}},
		"the other is none": {"a", []int{100, 1}, []time.Duration{0, 0}},
		"who asks is none":  {"b", []int{100, 1}, []time.Duration{0, 9610 * time.Millisecond}},
		"none are that far": {"ab", []int{100, 0, 0}, []time.Duration{0, 0, 0}},
		"farther and farther": {"ab", []int{-1, -1, -1, -1, -1, -1, -1}, []time.Duration{
			0, 9610 * time.Millisecond, 19220 * time.Millisecond, 28820 * time.Millisecond, 38420 * time.Millisecond, 48020 * time.Millisecond, 0,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Ledger{}
			quotas := quota.MustParse("100/10s log").Explicit()
			for _, member := range "ab" {
				r := request(quotas, 1)
				r.Member, r.GoesOn = string(member), strings.ContainsRune(c.shares, member)
				if _, _, err := l.Exchange(0, r); err != nil {
					t.Fatal(err)
				}
			}
			for i, count := range c.counts {
				r := request(quotas, int64(i+2))
				r.Member, r.GoesOn, r.SlotLife = "a", strings.ContainsRune(c.shares, 'a'), 0
				r.Asks = []Ask{{Cost: []int64{1}, Count: count, Within: -1}}
				if count < 0 {
					r.Asks[0] = Ask{Cost: []int64{100}, Count: 1, Within: -1}
				}
				if _, news, err := l.Exchange(time.Duration(i)*400*time.Millisecond, r); err != nil || news.Ahead != c.want[i] {
					t.Errorf("ask %d: %+v, %v; want that slots are %v ahead", i, news, err, c.want[i])
				}
			}
		})
	}
}

// TestSilenceOfWhom: who counts among those that may have sent.
func TestSilenceOfWhom(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*silence)
		want   int // of 100, in the end
	}{
		"both":            {func(*silence) {}, 55},
		"the other left":  {func(s *silence) { s.ask(time.Second, 'b', 0, func(r *Request) { r.Leave = true }) }, 100},
		"not in a minute": {func(s *silence) { s.ask(70*time.Second, 'a', 1, nil) }, 100},
		"in a minute":     {func(s *silence) { s.ask(60*time.Second, 'a', 1, nil) }, 55},
		"no longer shares": {func(s *silence) {
			s.shares = "a"
			s.ask(time.Second, 'b', 0, nil)
		}, 100},
		"in a hold": {func(s *silence) {
			s.ask(89*time.Second, 'b', 0, func(r *Request) { r.Hold = 11*time.Second - 10*time.Millisecond })
		}, 100},
		"what has been served": {func(s *silence) { s.ask(100*time.Second-horizon, 'a', 50, nil) }, 50},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSilence(t, "100/s log", "ab", "ab")
			c.before(s)
			if n := s.ask(100*time.Second, 'a', 200, nil); n != c.want {
				t.Errorf("got %d, want %d", n, c.want)
			}
		})
	}
}
