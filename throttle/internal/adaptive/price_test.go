package adaptive

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// What kinds of requests cost is told apart, also where several of them are served at once.
func TestPriceOfKinds(t *testing.T) {
	a, b := Kind{Path: "/a"}, Kind{Path: "/b"}
	var p price
	for i := range 600 {
		spent := 0.0
		for range (i + 1) % 3 { // of a one, two, or none
			p.count(&a)
			spent += 100
		}
		for range 2 {
			p.count(&b)
			spent += 7
		}
		p.learn(spent, 0)
	}
	if got, want := p.of(&a), 100.0; math.Abs(got-want) > 1 {
		t.Errorf("a costs %.2f, want %.2f", got, want)
	}
	if got, want := p.of(&b), 7.0; math.Abs(got-want) > 1 {
		t.Errorf("b costs %.2f, want %.2f", got, want)
	}
	if got, others := p.of(&Kind{Path: "/c"}), p.of(nil); got != others || got < 7 || got > 100 {
		t.Errorf("an unknown kind costs %.2f, and %.2f is the mean of all; want both between", got, others)
	}
}

// Requests whose paths differ in what looks like an ID are of one kind.
func TestPriceOfPathsWithIDs(t *testing.T) {
	path := func(i int) string { return "/threads/" + strconv.Itoa(10_000+i) + "/runs" }
	learned := func(p *price) {
		for i := range 2 * maxPricedKinds {
			for verb, spent := range map[string]float64{"GET": 10, "POST": 5000} {
				p.count(&Kind{Verb: verb, Path: path(i)})
				p.learn(spent, 0)
			}
		}
	}
	var p price
	learned(&p)
	if len(p.kinds) != 2 {
		t.Errorf("%d kinds, want 2: %v", len(p.kinds), p.kinds)
	}
	for verb, want := range map[string]float64{"GET": 10, "POST": 5000} {
		if got := p.of(&Kind{Verb: verb, Path: path(-1)}); got != want {
			t.Errorf("a %s costs %v, want %v", verb, got, want)
		}
	}
	another := Kind{Verb: "POST", Path: path(1)}
	if allocs := testing.AllocsPerRun(100, func() {
		p.count(&another)
		p.of(&another)
	}); allocs != 0 {
		t.Errorf("a request of a kind that is known allocates %v times", allocs)
	}
}

// Two methods of one model, behind a colon, are two kinds.
func TestPriceOfMethods(t *testing.T) {
	small, large := Kind{Verb: "POST", Path: "/models/gemini-2.5-flash:countTokens"}, Kind{Verb: "POST", Path: "/models/gemini-2.5-flash:generateContent"}
	var p price
	for range 64 {
		p.count(&small)
		p.learn(10, 0)
		p.count(&large)
		p.learn(5000, 0)
	}
	if s, l := p.of(&small), p.of(&large); s != 10 || l != 5000 {
		t.Errorf("countTokens costs %v, generateContent %v, want 10 and 5000", s, l)
	}
}

// How much more must remain than requests cost in the mean: 2.5 standard deviations, of what each of them does
// and of the mean.
func TestPriceNeed(t *testing.T) {
	p := price{mean: 100, variance: 16, learned: 16}
	for _, test := range []struct{ n, inFlight, want int }{
		{1, 0, 111},  // 100 + 2.5 · 4 · √(1 + 1/16), rounded up
		{1, 15, 157}, // 100 + 2.5 · 4 · √(16 + 16)
		{2, 14, 257},
	} {
		if got := p.need(nil, test.n, test.inFlight); got != test.want {
			t.Errorf("%d with %d in flight need %d, want %d", test.n, test.inFlight, got, test.want)
		}
	}
	p = price{first: 40, learned: enoughPrices - 1, mean: 1000}
	if got, want := p.need(nil, 1, 0), 182; got != want { // 40 + 2.5 · 40 · √2
		t.Errorf("before the price is known: %d, want %d", got, want)
	}
}

// Kinds have a price of their own as long as there are few. Nobody knows what was spent for those that were
// skipped.
func TestPriceIsBounded(t *testing.T) {
	var p price
	for i := range 100 {
		p.count(&Kind{Path: string(rune('A' + i))})
	}
	if len(p.kinds) != maxPricedKinds {
		t.Errorf("%d kinds, want %d", len(p.kinds), maxPricedKinds)
	}
	p.skip(0)
	p.learn(1000, 0)
	if p.learned != 0 {
		t.Error("learned a price of requests that were skipped")
	}
}

// tokens is a statement about tokens, of which a minute brings all back.
func tokensLeft(remaining int, reset time.Duration) quota.Statement {
	return quota.Statement{Unit: "tokens", Limit: 10_000, Remaining: int64(remaining), Reset: reset, ResetKnown: true}
}

// One request after the other costs 1000 tokens. When that is known, one goes if 1000 are left for it beside
// what is in flight. Who says what he costs is not asked.
func TestPriceOfAWindow(t *testing.T) {
	b := newBucket(t, Config{})
	remaining := 10_000
	for i := range enoughPrices + 1 {
		b.at(time.Duration(2*i) * time.Second)
		ticket := b.send()
		remaining -= 1000
		b.at(time.Duration(2*i+1) * time.Second)
		b.done(ticket, says(tokensLeft(remaining, time.Minute-time.Duration(2*i+1)*time.Second)))
	}
	b.wantOpen(5)
	for range 4 {
		b.send()
	}
	b.wantOpen(1)
	b.send()
	b.wantDue(51 * time.Second) // at the reset
	b.now = start.Add(9 * time.Second)
	if d := (limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 0}}); !b.Open(b.now, &d, nil, 0) {
		t.Error("what costs nothing has to wait")
	}
}

// A request that is refused while a tenth of the limit remains, or less, costs more than that: until the price
// is known, no other one goes before the reset. While more remains, or another limit is used up, a refusal says
// nothing of it.
func TestPriceOfARefusal(t *testing.T) {
	for name, test := range map[string]struct {
		answer Answer
		want   time.Duration
	}{
		"a tenth":       {refuses(tokensLeft(1000, time.Minute)), time.Minute},
		"more":          {refuses(tokensLeft(1001, time.Minute)), 0},
		"another limit": {refuses(tokensLeft(1000, time.Minute), left(0, 500, 10*time.Second)), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, Config{})
			first := b.send()
			b.done(b.send(), says(tokensLeft(5000, time.Minute))) // the first to be answered: nobody knows what it has cost
			second := b.send()
			b.wantDue(0)
			b.done(second, test.answer)
			b.done(first, says(tokensLeft(8000, time.Minute)))
			b.wantDue(test.want)
		})
	}
}

// Of requests that go at once, the first answer to come may be to the last one that the server has counted:
// what it says was spent is for all of them. What they cost together is known when all are answered, in
// whatever order.
func TestPriceOfAnswersThatOvertakeOthers(t *testing.T) {
	const each = 10
	b := newBucket(t, Config{})
	remaining := 10_000
	for range enoughPrices + 1 {
		remaining -= each
		b.exchange(says(tokensLeft(remaining, time.Minute)))
	}
	for i := range 2 * enoughPrices {
		b.at(time.Duration(i) * time.Second)
		var flight []*Ticket
		for range 9 {
			flight = append(flight, b.send())
		}
		b.at(time.Duration(i)*time.Second + 500*time.Millisecond)
		remaining -= each * len(flight)
		for j, ticket := range flight {
			b.done(ticket, says(tokensLeft(remaining+each*j, time.Minute-b.now.Sub(start))))
		}
	}
	if p := b.window1().price; p.mean != each || p.variance != 0 || !p.known() {
		t.Errorf("a request costs %.1f with a variance of %.1f, seen %d times; want %d and 0", p.mean, p.variance, p.learned, each)
	}
}

// An answer that comes when the next window has begun, to a request that went before, says nothing of what is
// spent in it.
func TestPriceOfAnAnswerAboutTheWindowBefore(t *testing.T) {
	const each = 500
	left := func(remaining int) quota.Statement {
		return quota.Statement{Unit: "tokens", Limit: 10_000, Remaining: int64(remaining)}
	}
	b := newBucket(t, Config{})
	for i := range 18 {
		b.exchange(says(left(10_000 - (i+1)*each)))
	}
	late := b.send()
	b.exchange(says(left(each)))
	b.at(time.Minute)
	look := b.send()
	b.done(look, says(left(10_000-each)))
	if !look.looks || b.window1().restored != look.sequence {
		t.Fatal("no look has found the next window")
	}
	b.at(61 * time.Second)
	for i := range 4 {
		if b.exchange(says(left(10_000 - (i+2)*each))); i == 2 {
			b.done(late, says(left(0)))
		}
	}
	if p := b.window1().price; p.mean != each || p.variance != 0 {
		t.Errorf("a request costs %.0f with a variance of %.0f, want %d and 0", p.mean, p.variance, each)
	}
}

// What is thought before the price is known is often wrong by far, and says nothing of how much prices vary.
func TestPriceVariesFromWhenItIsKnown(t *testing.T) {
	var p price
	for i, spent := range []float64{30_000, 10, 900, 100, 100} {
		if want := 0.0; p.variance != want {
			t.Errorf("after %d observations: a variance of %.0f, want %.0f", i, p.variance, want)
		}
		p.count(&Kind{})
		p.learn(spent, 0)
		if p.known() {
			break
		}
	}
	if want := square(100 - 30_910./3); math.Abs(p.variance-want) > 1 {
		t.Errorf("when the price is known: a variance of %.0f, want %.0f", p.variance, want)
	}
}

func square(x float64) float64 { return x * x }

// Of several that may go when it is time to look, since too little remains for what each of them may cost, one
// looks, and the others wait for its answer: also where it is left that they cost in the mean.
func TestPriceOfALook(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(tokensLeft(9000, time.Minute)))
	b.window1().price = &price{learned: priceMemory, mean: 1000, variance: 1e6, at: b.now, remaining: 9000}
	b.exchange(says(tokensLeft(2000, time.Minute)))
	b.wantDue(time.Minute) // 1000 + 2.5 · 1000 · √(1 + 1/32) are needed
	b.at(time.Minute)
	if look := b.send(); !look.looks {
		t.Error("the first request does not look")
	}
	b.wantDue(Patience)
}

// A refusal is explained by a limit of which less remains than the request may cost: nothing is learned of a
// pace from it.
func TestPriceExplainsARefusal(t *testing.T) {
	for name, test := range map[string]struct {
		remaining int
		want      bool
	}{
		"less than requests cost": {999, true},
		"as much":                 {1000, false},
	} {
		b := newBucket(t, Config{})
		for i := range 2 * enoughPrices {
			b.exchange(says(tokensLeft(9000-1000*i, time.Minute)))
		}
		b.at(time.Second)
		b.exchange(refuses(tokensLeft(test.remaining, 59*time.Second)))
		if got := b.pace.Fresh() && b.doubted == 0; got != test.want {
			t.Errorf("%s: the refusal is explained: %v, want %v", name, got, test.want)
		}
	}
}

// In a long time others may have spent much: the price is not learned from that.
func TestPriceOfAPause(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range 20 {
		b.at(time.Duration(2*i) * 100 * time.Millisecond)
		ticket := b.send()
		b.at(time.Duration(2*i)*100*time.Millisecond + 10*time.Millisecond)
		b.done(ticket, says(tokensLeft(9999-400*i, time.Hour)))
	}
	if p := b.window1().price; p.learned != 0 {
		t.Errorf("%+v", p)
	}
}

// A server states how many tokens remain, and not of how many: what it has not said is not missing.
func TestPriceOfALimitThatIsNotStated(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(quota.Statement{Unit: "tokens", Remaining: 30_000}))
	b.wantDue(0)
	b.exchange(says(quota.Statement{Unit: "tokens", Remaining: 29_900}))
	b.wantDue(0)
}

// Two windows that turned out to be two do not learn one price.
func TestPriceOfWindowsThatWereTakenForOne(t *testing.T) {
	var site Site
	a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	a.exchange(says(tokensLeft(9000, time.Minute)))
	b.exchange(says(tokensLeft(8000, time.Minute)))
	if a.window1() != b.window1() {
		t.Fatal("not taken for one")
	}
	for range 4 { // more remains than of one
		a.exchange(says(tokensLeft(9000, time.Minute)))
		b.exchange(says(tokensLeft(9000, time.Minute)))
	}
	if a.window1() == b.window1() {
		t.Fatal("taken for one")
	}
	if a.window1().price == b.window1().price {
		t.Error("one price")
	}
}

// What came back unseen is not paid to those who ask.
func TestPriceIsNeverNegative(t *testing.T) {
	var p price
	p.count(&Kind{})
	p.learn(-1e9, 0)
	for range enoughPrices {
		p.count(&Kind{})
		p.learn(0, 0)
	}
	if got := p.of(nil); got < 0 {
		t.Errorf("a request costs %v", got)
	}
	if got := p.need(&Kind{Path: "/another"}, 1, 0); got < 0 {
		t.Errorf("needs %v", got)
	}
}

// However much a server says that requests cost, no product of it overflows.
func TestPriceIsHuge(t *testing.T) {
	var p price
	for range enoughPrices {
		p.count(&Kind{})
		p.learn(maxTokens, 0)
	}
	if got := p.times(1000, nil); got <= 0 {
		t.Errorf("1000 requests cost %v", got)
	}
	if got := p.need(nil, 1000, 1000); got <= 0 {
		t.Errorf("1000 requests need %v", got)
	}
}

// Where the rate at which tokens come back is wrong, whatever the reason, a request looks after MaxHold, as at
// any limit.
func TestPriceOfASlowRefill(t *testing.T) {
	b := newBucket(t, Config{MaxHold: time.Minute})
	b.exchange(says(tokensLeft(0, time.Hour)))
	w := b.window1()
	w.refill.start(&outcome{now: b.now, limit: 10_000}, b.now, time.Hour*24*365, 0)
	w.price = &price{learned: priceMemory, mean: 1000}
	b.wantDue(time.Minute)
}

// While something remains, a request waits for MaxStandstill at most, however many tokens it needs.
func TestPriceOfALimitThatIsSpread(t *testing.T) {
	b := newBucket(t, Config{MaxStandstill: 10 * time.Minute})
	b.exchange(says(tokensLeft(1000, 24*time.Hour)))
	b.window1().price = &price{learned: priceMemory, mean: 500}
	b.wantDue(10 * time.Minute)
}

// Costs that differ thirtyfold do not have one request go in each window of a minute, for ever; nor does a
// price that is too high by far.
func TestPriceThatVariesALot(t *testing.T) {
	const limit, roundTrip = 6000, 100 * time.Millisecond
	for name, test := range map[string]struct {
		cost  func(i int) int
		price *price // from when it is not nil
		want  int    // served in the last ten minutes
	}{
		"a few are expensive": {func(i int) int { return []int{100, 3000, 100, 100, 200}[i%5] }, nil, 50},
		"all are cheap now":   {func(i int) int { return 100 }, &price{learned: priceMemory, mean: 5950, variance: 9e6, kinds: []kindPrice{{mean: 5950, learned: 32}}}, 590},
	} {
		b := newBucket(t, Config{})
		remaining, reset, served, late := limit, time.Minute, 0, 0
		at := time.Duration(0)
		pass := func(d time.Duration) {
			if at += d; at >= reset {
				remaining, reset = limit, at.Truncate(time.Minute)+time.Minute
			}
			b.at(at)
		}
		for at < 40*time.Minute {
			if wait := b.dueAfter(0, 1); wait > 0 {
				pass(wait)
				continue
			}
			ticket, cost := b.send(), test.cost(served)
			pass(roundTrip)
			a := says()
			if a.Refused = cost > remaining; !a.Refused {
				remaining -= cost
				served++
				if at > 30*time.Minute {
					late++
				}
			}
			a.Statements = []quota.Statement{{Unit: "tokens", Limit: limit, Remaining: int64(remaining), Reset: reset - at, ResetKnown: true}}
			b.done(ticket, a)
			if served == 1 && test.price != nil {
				b.window1().price = test.price
			}
		}
		if late < test.want {
			t.Errorf("%s: %d served in the last ten minutes, want %d; %+v", name, late, test.want, b.window1().price)
		}
	}
}

// What those cost that say it is not the price of the others.
func TestPriceBesideCostsThatAreSaid(t *testing.T) {
	b := newBucket(t, Config{})
	remaining := 10_000
	ask := func(n int, d *limit.Demand) {
		ticket := b.send()
		remaining -= n
		b.now = b.now.Add(100 * time.Millisecond)
		a := says(tokensLeft(remaining, time.Minute-b.now.Sub(start)))
		a.Cost = d
		b.done(ticket, a)
	}
	for range 8 {
		ask(10, nil)
		ask(1000, &limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 1000}})
	}
	if got := b.window1().price.of(nil); got != 10 {
		t.Errorf("costs %v, want 10", got)
	}
}

// An answer that does not speak of the tokens: its request has cost as many as others.
func TestPriceOfAnswersThatDoNotSpeakOfIt(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range enoughPrices + 1 {
		ticket := b.send()
		b.now = b.now.Add(100 * time.Millisecond)
		b.done(ticket, says(tokensLeft(9000-1000*i, time.Minute-b.now.Sub(start))))
	}
	b.exchange(Answer{})
	if got := b.window1().remaining; got != 4000 {
		t.Errorf("%d remain, want 4000", got)
	}
}

// TestUnitOfWhichNothingIsGranted: a server states that it grants nothing of a unit, and serves all the same.
// That holds nothing, until it refuses a request of which it says so.
func TestUnitOfWhichNothingIsGranted(t *testing.T) {
	b := newBucket(t, Config{})
	none := quota.Statement{Unit: "images", Reset: time.Hour, ResetKnown: true}
	for range 5 {
		b.exchange(says(none, left(10, 100, time.Minute)))
		b.wantDue(0)
	}
	b.exchange(refuses(none, left(10, 100, time.Minute)))
	b.wantDue(15 * time.Minute) // MaxHold
	b.at(15 * time.Minute).exchange(says(none, left(10, 100, time.Minute)))
	b.wantDue(0)

	// Of what was granted once, nothing may be left.
	some := none
	some.Remaining = 5
	b.exchange(says(some, left(10, 100, time.Minute)))
	b.exchange(says(none, left(10, 100, time.Minute)))
	b.wantDue(15 * time.Minute)

	// Whoever says what requests cost of it means it.
	b = newBucket(t, Config{})
	b.exchange(Answer{Statements: []quota.Statement{none}, Cost: &limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"images": 1}}})
	b.wantDue(15 * time.Minute)
}

// TestLookThatCostsLess: a look that is served since it costs less than what remained has not found that
// anything came back. Nobody says when all is back, or what requests cost.
func TestLookThatCostsLess(t *testing.T) {
	b := newBucket(t, Config{})
	tokens := func(remaining int) quota.Statement {
		return quota.Statement{Unit: "tokens", Limit: 1000, Remaining: int64(remaining)}
	}
	for i := range 9 {
		b.exchange(says(tokens(1000 - 100*(i+1))))
	}
	b.exchange(refuses(tokens(100)))
	looks := 0
	for b.now < start.Add(59*time.Second) { // each costs less than the one before
		b.now = b.now.Add(max(b.dueAfter(0, 1), 1))
		b.exchange(says(tokens(100 - looks)))
		looks++
	}
	if looks > 12 {
		t.Errorf("%d looks in a minute, want 12", looks)
	}
	if s := &b.window1().seek; s.most != 0 || s.least < 40*time.Second {
		t.Errorf("all is back within %v, and after %v, want that nothing was in 40 s", s.most, s.least)
	}
}

// TestRefusedBeforeThePriceIsKnown: where answers come late, the first ones are refusals. A limit of another
// unit that is not stated explains these, whatever remains: nobody knows whether that is much. A stated limit
// does not while much of it remains: then a limit that nobody states has refused the request, and only a pace
// tells of that. Once requests are known to cost far less than what remains, neither explains a refusal.
func TestRefusedBeforeThePriceIsKnown(t *testing.T) {
	for _, test := range []struct {
		limit, remaining int
		known, paced     bool
	}{
		{limit: 0, remaining: 279},
		{limit: 0, remaining: 5000},
		{limit: 18_000, remaining: 0},
		{limit: 18_000, remaining: 5000, paced: true},
		{limit: 0, remaining: 9, known: true},
		{limit: 0, remaining: 800, known: true, paced: true},
		{limit: 18_000, remaining: 9, known: true},
		{limit: 18_000, remaining: 800, known: true, paced: true},
	} {
		c := &convoy{bucket: newBucket(t, Config{})}
		left := Answer{Statements: []quota.Statement{{Unit: "tokens", Limit: int64(test.limit), Remaining: int64(test.remaining)}}}
		if test.known {
			c.goes(1)
			c.answer(left)
			p := c.windows[0].price
			p.learned, p.mean = enoughPrices, 10
			c.now = c.now.Add(time.Hour)
		}
		c.goes(1)
		c.answer(refusedAs(left))
		if paced := !c.pace.Fresh(); paced != test.paced {
			t.Errorf("%+v: a pace is learned: %t", test, paced)
		}
	}
}
