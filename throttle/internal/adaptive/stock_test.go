package adaptive

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestStockPace: all are the slower the less remains, and three that have a third each take together what comes
// back where about five tokens remain.
func TestStockPace(t *testing.T) {
	for _, test := range []struct {
		part, there float64
		limit       int
		want        float64 // of rate · part
	}{
		{1.0 / 3, 5.35, 100, 1},
		{1.0 / 3, 1, 100, 0.065},
		{1.0 / 3, 20, 100, 9900},
		{0.1, 4.51, 100, 1},
		{1.0 / 3, 2.55, 4, 1}, // the scale is 0.731 · 4
		{1, 0.5, 100, 1},      // alone, nothing need be left over
	} {
		s := stock{least: 10, most: 10, part: test.part}
		perSecond, _ := s.pace(test.there, test.limit)
		if got := perSecond / (10 * test.part); math.Abs(got/test.want-1) > 0.02 {
			t.Errorf("with a part of %v, where %v of %d remain, the pace is %v of rate · part, want %v", test.part, test.there, test.limit, got, test.want)
		}
	}
}

// read is an answer of a limit of 20 that comes back in 20 seconds: so much remains of it, and the reset comes
// at an instant.
func read(at time.Duration, remaining int, reset time.Duration) *outcome {
	return &outcome{
		sent: start.Add(at), now: start.Add(at), n: 1, flight: 1, limit: 20, remaining: remaining, newest: true,
		resetEarly: start.Add(reset), resetLate: start.Add(reset), inLeast: reset - at, inMost: reset - at,
	}
}

// oneToken is that ours cost one token, and no other price.
const oneToken = pricing(math.MaxUint64)

// TestStockSeesOthers: others are certain where the reset has moved on by a token more than ours explain, and
// nowhere else.
func TestStockSeesOthers(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name   string
		change func(*outcome)
		reset  time.Duration
		want   bool
	}{
		{"one token, which was ours", func(*outcome) {}, 11 * s, false},
		{"a token more", func(*outcome) {}, 12*s + ms, true},
		{"not quite", func(*outcome) {}, 12 * s, false},
		{"the step leaves it open", func(o *outcome) { o.resetEarly -= monotime.Time(2 * ms) }, 12*s + ms, false},
		{"it may be the one on its way", func(o *outcome) { o.flight = 2 }, 12*s + ms, false},
		{"two tokens more", func(o *outcome) { o.flight = 2 }, 13*s + ms, true},
		{"refused", func(o *outcome) { o.refused = true }, 11*s + ms, true},
		{"an answer that was overtaken", func(o *outcome) { o.newest = false }, 12*s + ms, false},
		{"no reset", func(o *outcome) { o.resetLate = 0 }, 12*s + ms, false},
	} {
		k := stock{pricing: oneToken}
		if k.note(read(0, 10, 10*s), 1, 1) {
			t.Errorf("%s: the first answer shows others", test.name)
		}
		o := read(s, 8, test.reset)
		test.change(o)
		if got := k.note(o, 1, 1); got != test.want {
			t.Errorf("%s: others %v, want %v", test.name, got, test.want)
		}
	}

	// It was full half a second ago, if all was ours: so one of ours explains a reset in a second.
	for reset, want := range map[time.Duration]bool{3 * s: false, 3*s + ms: true} {
		k := stock{pricing: oneToken}
		k.note(read(0, 19, s/2), 1, 1)
		if got := k.note(read(s, 18, reset), 1, 1); got != want {
			t.Errorf("it was full, and the reset is at %v: others %v, want %v", reset, got, want)
		}
	}

	// By an instant it is not known when the limit was full. Of two tokens that are missing, and a part of one,
	// one may be ours, and one is left open; of three, others have taken one.
	for _, test := range []struct {
		remaining int
		reset     time.Duration
		want      bool
	}{{17, 20 * s, false}, {16, 7 * s, false}, {16, 7*s + ms, true}} {
		k := stock{pricing: oneToken}
		for _, o := range []*outcome{read(0, 19, 5*s), read(s, test.remaining, test.reset)} {
			o.inLeast, o.inMost = 0, time.Minute
			if got := k.note(o, 1, 1); got != (test.want && o.sent > start) {
				t.Errorf("%d remain, and the reset is an instant, %v: others %v, want %v", test.remaining, test.reset, got, test.want)
			}
		}
	}

	// What was used while no rate was known is not known to be ours.
	k := stock{pricing: oneToken}
	k.note(read(0, 10, 10*s), 0, 0)
	if k.note(read(s, 6, 15*s), 1, 1) || k.alone != start.Add(15*s) {
		t.Errorf("the first answer since the rate is known shows others, or is not what the next ones count from: %v", k.alone)
	}

	stale := stock{pricing: oneToken, stale: true}
	for i, reset := range []time.Duration{10 * s, 13 * s} {
		o := read(time.Duration(i)*s, 10, reset)
		o.sent = o.now.Add(-4 * s)
		if stale.note(o, 1, 1) {
			t.Error("what answers say is of long ago, and others are certain")
		}
	}

	// At half a token a second at least, one of ours explains two seconds. What it has not moved the reset by
	// is not left for others to use.
	k = stock{pricing: oneToken}
	k.note(read(0, 10, 10*s), 0.5, 0.7)
	k.note(read(s, 9, 11*s), 0.5, 0.7)
	if !k.note(read(2*s, 6, 15*s+ms), 0.5, 0.7) {
		t.Error("the reset has moved on from 11 s by more than two tokens take, and others are not certain")
	}
	for _, part := range []struct{ before, want float64 }{{1, crowdPart}, {0.4, 0.4}} {
		k := stock{part: part.before}
		if k.begin(start); !k.on || k.part != part.want {
			t.Errorf("on %v, with a part of %v after %v; want %v", k.on, k.part, part.before, part.want)
		}
	}
}

// TestStockPricing: while what the reset moves on by is so many times what we count, it may be a price that
// nobody says. Others are certain once no price explains it.
func TestStockPricing(t *testing.T) {
	const s = time.Second
	type change = func(*outcome)
	of4 := func(at time.Duration, remaining int, reset time.Duration, changes ...change) *outcome {
		o := read(at, remaining, reset)
		o.limit = 4
		for _, change := range changes {
			change(o)
		}
		return o
	}
	refused, two, unknown := func(o *outcome) { o.refused = true }, func(o *outcome) { o.flight = 2 }, func(o *outcome) { o.limit = 2 }
	for _, test := range []struct {
		name    string
		answers []*outcome // after one at zero, by which the limit is full in 2 s
		open    []int      // prices that explain them
		others  bool
	}{
		{"two tokens for one of ours", []*outcome{of4(s, 1, 4*s), of4(2*s, 0, 6*s)}, []int{2}, false},
		{"and then three", []*outcome{of4(s, 1, 4*s), of4(2*s, 0, 6*s), of4(5*s, 0, 9*s)}, nil, true},
		{"one", []*outcome{of4(s, 2, 3*s)}, nil, false},
		{"one, and then three", []*outcome{of4(s, 2, 3*s), of4(2*s, 0, 6*s)}, nil, true},
		{"four, of two at the most", []*outcome{of4(2*s, 0, 6*s, two)}, []int{2, 4}, false},
		{"two, by clocks that are not exact", []*outcome{of4(s, 0, 4*s+30*time.Millisecond)}, []int{2}, false},
		{"two, but a refused request has cost none", []*outcome{of4(s, 1, 4*s, refused)}, nil, true},
		{"it may have been full meanwhile", []*outcome{of4(30*s, 2, 32*s)}, []int{2, 3, 4}, false},
		{"it may have been, but more is missing than two", []*outcome{of4(30*s, 1, 33*s)}, []int{3, 4}, false},
		{"the rate was not known meanwhile", []*outcome{of4(s, 1, 3*s, unknown), of4(s, 1, 3*s)}, []int{2, 3, 4}, false},
	} {
		var k stock
		k.note(of4(0, 2, 2*s), 1, 1)
		others := false
		for _, o := range test.answers {
			others = k.note(o, 1, 1)
		}
		var open []int
		for price := 2; price <= 4; price++ {
			if k.pricing.open(price) {
				open = append(open, price)
			}
		}
		if others != test.others || !slices.Equal(open, test.open) {
			t.Errorf("%s: others %v, prices %v; want %v, %v", test.name, others, open, test.others, test.open)
		}
	}
}

// TestStockEven: the limit is one to be shared so where its rate is known closely, it is of some tokens, and a
// round trip is short beside it.
func TestStockEven(t *testing.T) {
	for _, test := range []struct {
		name        string
		limit       int
		trip        time.Duration
		least, most float64
		want        bool
	}{
		{"a bucket", 20, time.Second, 1, 1.4, true},
		{"the rate is not known", 20, time.Second, 0, math.Inf(1), false},
		{"hardly known", 20, time.Second, 1, 1.5, false},
		{"three tokens", 3, 500 * time.Millisecond, 1, 1, true},
		{"two tokens", 2, 100 * time.Millisecond, 1, 1, false},
		{"more than a quarter of it comes back in a round trip", 20, 5*time.Second + 1, 1, 1, false},
	} {
		var k stock
		o := read(0, 1, time.Second)
		o.limit, o.sent = test.limit, o.now.Add(-test.trip)
		if k.note(o, test.least, test.most); (k.even && !k.stale) != test.want {
			t.Errorf("%s: even %v, stale %v; want %v", test.name, k.even, k.stale, test.want)
		}
	}
	k := stock{part: 0.5}
	k.note(read(0, 10, 10*time.Second), 0, math.Inf(1))
	if k.note(read(0, 10, 10*time.Second), 1, 1); k.part != 0.5 {
		t.Errorf("a part of %v after the rate was not known, want 0.5 as before", k.part)
	}
	for _, test := range []struct {
		before bool
		took   time.Duration
		want   bool
	}{{false, 4 * time.Second, false}, {false, 6 * time.Second, true}, {true, 3 * time.Second, true}, {true, 2 * time.Second, false}} {
		k := stock{stale: test.before}
		o := read(0, 10, 10*time.Second)
		o.sent = o.now.Add(-test.took)
		if k.note(o, 1, 1); k.stale != test.want {
			t.Errorf("a quarter of the limit comes back in 5 s, and a round trip takes %v: stale %v, want %v", test.took, k.stale, test.want)
		}
	}
}

// TestStockTrip: the round trip is a short one of late, since that of a queue is as long as the queue.
func TestStockTrip(t *testing.T) {
	const ms = time.Millisecond
	var k stock
	for _, trip := range []struct{ took, want time.Duration }{{100 * ms, 100 * ms}, {40 * ms, 40 * ms}, {400 * ms, 42 * ms}, {43 * ms, 43 * ms}} {
		o := read(time.Second, 1, 2*time.Second)
		o.sent = o.now.Add(-trip.took)
		if k.note(o, 1, 1); k.trip < trip.want || k.trip > trip.want*21/20 {
			t.Errorf("after a round trip of %v it is %v, want %v", trip.took, k.trip, trip.want)
		}
		if k.at != o.sent.Add(k.trip) {
			t.Errorf("an answer after a round trip of %v is of %v after its request, want %v", trip.took, k.at.Sub(o.sent), k.trip)
		}
	}
}

// TestStockPart: our part is that of what is used, about; what others have used is what came back, less ours
// and what remains.
func TestStockPart(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name        string
		o           *outcome
		level, part float64
	}{
		{"as many were ours as came back", read(s, 9, 0), 10, 1},
		{"two were others'", read(s, 7, 0), 8, 6.68 / 8.68},
		{"the reset says 7.5", read(s, 7, 13500*time.Millisecond), 7.5, 6.68 / (6.68 + 2.5)},
		{"more came back than was thought", read(s, 12, 0), 12, 1},
		{"others took all for long", read(100*s, 0, 0), 1, 6.68 / (6.68 + 18)},
	} {
		if test.o.resetLate == start {
			test.o.resetLate = 0
		}
		k := stock{part: 1, level: 10, at: start, credited: start}
		k.note(test.o, 1, 1)
		if math.Abs(k.level-test.level) > 1e-9 || math.Abs(k.part-test.part) > 1e-9 || k.at != test.o.now {
			t.Errorf("%s: %v there, a part of %v; want %v, %v", test.name, k.level, k.part, test.level, test.part)
		}
	}
	k := stock{part: 0.5, level: 10, at: start, credited: start}
	for range 40 {
		k.note(&outcome{n: maxTokens}, 1, 1)
	}
	if k.note(read(s, 9, 0), 1, 1); k.part < 0.99 {
		t.Errorf("a part of %v where far more was ours than there is", k.part)
	}
	k = stock{part: crowdLeast, level: 10, at: start, credited: start}
	o := read(1000*s, 0, 1020*s)
	o.refused = true
	if k.note(o, 1, 1); k.part != crowdLeast {
		t.Errorf("a part of %v, want %v at least", k.part, crowdLeast)
	}
}

// TestStockDue: a request goes as the pace says; not beyond what may be in flight; and no later than our least
// part, and MaxHold, say.
func TestStockDue(t *testing.T) {
	const s = time.Second
	even := stock{least: 1, most: 1, part: 0.5, level: 20, at: start, trip: s, credited: start.Add(-s)}
	answerless := stock{least: 1, most: 1, part: 0.5, at: start.Add(-32 * s), trip: s, credit: -40, credited: start.Add(-32 * s)}
	half := stock{least: 1, most: 1, part: 0.5, level: 10, at: start, credited: start}
	little := stock{least: 1, most: 1, part: 0.5, level: 1, at: start, credited: start}
	for _, test := range []struct {
		name                       string
		k                          stock
		ahead, n, inFlight, others int
		maxHold                    time.Duration
		optimist                   bool
		least, most                time.Duration
	}{
		{"much is there", even, 0, 1, 0, 0, time.Hour, false, 0, 0},
		{"so many are in flight that answers come first", even, 0, 1, 2, 0, time.Hour, false, s, s},
		{"answers do not come", answerless, 0, 1, 2, 0, time.Hour, false, 0, 0},
		{"so many that another is not due yet", answerless, 1, 1, 2, 0, time.Hour, false, s, s},
		{"nor within MaxHold", answerless, 1, 1, 2, 0, 32 * s, false, 0, 0},
		{"an optimist", even, 0, 1, 2, 0, time.Hour, true, 0, 0},
		{"what is there is reserved", half, 0, 1, 0, 10, time.Hour, false, 2 * s, 20 * s},
		{"little is there", little, 0, 1, 0, 0, time.Hour, false, 7 * s, 9 * s},
		{"three go before", little, 3, 1, 0, 0, time.Hour, false, 10 * s, 15 * s},
		{"our least part", stock{least: 1, most: 1, part: crowdLeast, at: start, credited: start}, 0, 1, 0, 0, time.Hour, false, 31 * s, 32 * s},
		{"MaxHold", stock{least: 1e-9, most: 1e-9, part: 0.5, at: start, credited: start}, 0, 1, 0, 0, time.Minute, false, time.Minute, time.Minute},
	} {
		due := func(after time.Duration) time.Duration {
			t := start.Add(after)
			return test.k.due(t, 20, test.maxHold, &want{test.n, test.ahead, test.others, test.inFlight, test.optimist}).Sub(start)
		}
		at := due(0)
		if at < test.least || at > test.most {
			t.Errorf("%s: due in %v, want %v to %v", test.name, at, test.least, test.most)
		}
		if at > 0 && test.inFlight == 0 && test.ahead == 0 {
			const ms = time.Millisecond
			if early, late := due(at-ms), due(at+ms); early <= at-ms || early > at+ms || late != at+ms {
				t.Errorf("%s: due in %v; just before in %v, and then in %v", test.name, at, early, late)
			}
		}
	}
}

// TestStockTake: what has gone is waited for, and a refusal has the next one wait as long as after one that
// went.
func TestStockTake(t *testing.T) {
	const s = time.Second
	k := stock{least: 1, most: 1, part: 1, level: 10, at: start, credited: start.Add(-s)}
	k.take(start, 20, 0)
	if k.credit != 0 || k.credited != start {
		t.Errorf("a credit of %v, want 0 of 1", k.credit)
	}
	k.take(start, 20, 1)
	if k.credit != -1 {
		t.Errorf("a credit of %v, want -1", k.credit)
	}
	k.credit = 0.5
	o := read(s, 0, 21*s)
	o.refused = true
	if k.note(o, 1, 1); k.credit != 0 {
		t.Errorf("a credit of %v after a refusal, want 0", k.credit)
	}
}

// tank is a bucket of tokens, which come back one a second.
type tank struct {
	limit int
	full  monotime.Time
}

// take takes a token, if one is there, and says what remains, and when all is back.
func (k *tank) take(now monotime.Time) Answer {
	k.full = max(k.full, now)
	ok := k.full.Add(time.Second).Sub(now) <= time.Duration(k.limit)*time.Second
	if ok {
		k.full = k.full.Add(time.Second)
	}
	in := k.full.Sub(now)
	st := quota.Statement{
		Limit: int64(k.limit), Remaining: int64((time.Duration(k.limit)*time.Second - in) / time.Second),
		Reset: (in + time.Millisecond - 1).Truncate(time.Millisecond), ResetKnown: true, Resolution: time.Millisecond,
	}
	return Answer{Refused: !ok, Statements: []quota.Statement{st}}
}

// TestStockInACrowd: who is alone never shares a limit as a stock. Who is not does, soon after the rate is
// known, and takes about half beside one who takes half; and all again once the other one is gone.
func TestStockInACrowd(t *testing.T) {
	for _, others := range []bool{false, true} {
		b, k := newBucket(t, Config{}), &tank{limit: 10}
		shared, ours := 0, 0
		for i := range 3000 {
			at := time.Duration(i) * 100 * time.Millisecond
			if others && (i%40 == 10 || i%40 == 16) && i < 2000 && k.full.Sub(start.Add(at)) <= 9*time.Second {
				k.take(start.Add(at))
			}
			b.at(at)
			for b.Open(b.now, of(1), nil, 0) && b.inFlight == 0 {
				if ours++; i >= 1000 && i < 2000 {
					shared++
				}
				b.exchange(k.take(b.now))
			}
			r := &b.window1().refill
			if r.shared() && (!others || i < 20) || !r.shared() && others && i > 200 && i < 2000 || r.shared() && i == 2999 {
				t.Fatalf("others %v, after %v: shared %v, a part of %v", others, at, r.shared(), r.stock.part)
			}
		}
		if others && (shared < 45 || shared > 56) {
			t.Errorf("%d of 100 tokens are ours beside one who takes half, want about 50", shared)
		}
		if want := 300; !others && ours < want {
			t.Errorf("%d tokens are ours, want %d and more", ours, want)
		}
	}
}

// TestStockWhereRequestsAreHeldUp: requests that are held up on their way to a limit that is full are counted
// when they come. That moves the reset on from then, and shows nobody else.
func TestStockWhereRequestsAreHeldUp(t *testing.T) {
	const ms, back = time.Millisecond, 20 * time.Millisecond // an answer is on its way for so long
	b, k := newBucket(t, Config{}), &tank{limit: 10}
	count := func(ticket *Ticket, after time.Duration) { // and the answer comes
		b.now = b.now.Add(after)
		a := k.take(b.now)
		b.now = b.now.Add(back)
		b.done(ticket, a)
	}
	for range 100 { // the limit is used up, and comes back token by token
		for !b.Open(b.now, of(1), nil, 0) {
			b.now = b.now.Add(10 * ms)
		}
		count(b.send(), back)
	}
	for range 2 {
		b.now = b.now.Add(time.Minute)
		count(b.send(), back)
	}
	b.now = b.now.Add(time.Minute)
	first, held := b.send(), []*Ticket{b.send(), b.send(), b.send()}
	count(first, back)
	held = append(held, b.send()) // the answer to this one is known to be written later than the first
	b.now = b.now.Add(5 * time.Second)
	for _, ticket := range held {
		count(ticket, 0)
	}
	count(b.send(), back)
	if r := &b.window1().refill; !r.refills || !r.stock.even || r.stock.on {
		t.Errorf("refills %v at an even rate %v, shared with others %v", r.refills, r.stock.even, r.stock.on)
	}
}

// TestStockSteady: what goes at a glance has gone as well; what costs more than a token does not go at the pace
// of single ones; and a limit that does not come back token by token is no stock.
func TestStockSteady(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(10, 20, 10*time.Second)))
	r := &b.window1().refill
	r.refills, r.crowd.leaves, r.crowd.left = true, true, crowdFor
	r.stock = stock{on: true, even: true, least: 1, most: 1, part: 0.5, level: 10, at: b.now, credited: b.now}
	b.findRoom()
	if b.TakeSteady(b.now, &Ticket{Sent: b.now, N: 1}); r.stock.credit != -1 {
		t.Errorf("a credit of %v, want -1", r.stock.credit)
	}
	if b.Open(b.now, of(1), nil, 0) || !b.Open(b.now, of(2), nil, 0) {
		t.Error("want one token to wait for the one before, and two to go where as many remain as others have in flight")
	}
	if r.stop(); r.shared() || r.stock != (stock{}) {
		t.Errorf("it does not come back token by token, and is a stock: %+v", r.stock)
	}
}

// TestStockOfACrowd: where others are likely to share a limit whose resets are coarse, it is shared as a stock
// as soon as these say its rate. Exact resets that say the rate do as well where enough tokens are there.
func TestStockOfACrowd(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name   string
		step   time.Duration // of resets
		limit  int
		told   bool // resets say the rate
		lone   bool
		shared bool
	}{
		{name: "whole seconds that say the rate", step: s, limit: 19, told: true, shared: true},
		{name: "milliseconds that say the rate", step: ms, limit: leastLikely, told: true, shared: true},
		{name: "few tokens, of which others are to be certain", step: ms, limit: leastLikely - 1, told: true},
		{name: "nobody else", step: s, limit: 20, told: true, lone: true},
		{name: "whole seconds that do not say the rate", step: s, limit: 20},
		{name: "milliseconds that do not say the rate", step: ms, limit: 20},
		{name: "no step", limit: 20},
	} {
		r := refill{refills: true, rate: 0.5, crowd: crowd{most: 2}, step: test.step, span: 19 * s}
		if !test.lone {
			r.crowd.left, r.crowd.leaves = crowdFor, true
		}
		if test.told {
			r.drip = drip{least: 1, most: 1.2, known: start, met: enoughMet}
		}
		r.seeStock(&outcome{sent: start, now: start, n: 1, flight: 1, limit: test.limit, remaining: 10, newest: true, requests: true})
		if r.shared() != test.shared {
			t.Errorf("%s: shared %v, want %v", test.name, r.shared(), test.shared)
		}
	}
}

// TestStockDoubts: where resets are coarse, two refusals in a row that others do not explain end the belief
// that what is shared comes back token by token.
func TestStockDoubts(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name  string
		step  time.Duration
		moved resetChange
		found int
		want  bool
	}{
		{"whole seconds", s, sameReset, 0, false},
		{"the reset has moved on", s, laterReset, 0, true},
		{"something was found before", s, sameReset, 4, true},
		{"milliseconds", ms, sameReset, 0, true},
	} {
		r := refill{
			refills: true, rate: 1, crowd: crowd{crowdFor, true, 1}, step: test.step, span: 20 * s, maxHold: time.Minute, finds: test.found,
			drip: drip{least: 1, most: 1, known: start, met: enoughMet}, stock: stock{on: true},
		}
		for i := range 2 {
			at := start.Add(time.Duration(i) * s)
			r.measure(&outcome{sent: at, now: at, n: 1, flight: 1, limit: 20, refused: true, newest: true, requests: true, change: test.moved})
		}
		if r.refills != test.want {
			t.Errorf("%s: after two refusals, refills %v, want %v", test.name, r.refills, test.want)
		}
	}
}

// TestStockFinds: a request that went although no more remained than is reserved for others has found
// something, be the limit shared as a stock or ours: that outlasts refusals.
func TestStockFinds(t *testing.T) {
	for _, test := range []struct{ remained, reserved, want int }{{0, 0, 1}, {1, 0, 0}, {2, 2, 1}, {3, 2, 0}} {
		r := refill{refills: true, refusalsInRow: 1}
		o := outcome{sent: start, lateBefore: start.Add(time.Second), paced: test.remained <= test.reserved}
		if !r.believe(&o) || r.finds != test.want || r.refusalsInRow != 0 {
			t.Errorf("%d remained, of which %d were reserved: %d finds, %d refusals in a row; want %d, 0", test.remained, test.reserved, r.finds, r.refusalsInRow, test.want)
		}
		if o.sent = o.lateBefore; r.believe(&o) && r.finds != test.want {
			t.Errorf("%d finds, want %d: the reset had come", r.finds, test.want)
		}
	}
}

// TestStockFarAway: where much of the limit comes back in a round trip, the pace is our part of the rate where
// half of the limit is there, and e times as much where as much more is there as comes back in a round trip.
func TestStockFarAway(t *testing.T) {
	s := stock{stale: true, least: 100, most: 100, part: 0.25, trip: 40 * time.Millisecond}
	for there, want := range map[float64]float64{5: 25, 9: 25 * math.E, 1: 25 / math.E} {
		if got, grows := s.pace(there, 10); math.Abs(got-want) > 1e-9 || grows != 6.25 {
			t.Errorf("where %v are there: %v per second, which grows by %v; want %v, 6.25", there, got, grows, want)
		}
	}
}
