package adaptive

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// step is a statement in whole seconds.
func step(remaining, limit int, reset time.Duration) quota.Statement {
	s := left(remaining, limit, reset)
	s.Resolution = time.Second
	return s
}

// TestRefillDetected: a limit that comes back token by token gives itself away.
func TestRefillDetected(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name  string
		first Answer
		then  []Answer // a second after one another
		rate  float64  // zero if the limit does not refill
	}{
		{"reset moves on", says(left(5, 10, 5*s)), []Answer{says(left(4, 10, 6*s))}, 1},
		{"reset stays", says(left(5, 10, 5*s)), []Answer{says(left(4, 10, 4*s))}, 0},
		{"more remains", says(left(5, 10, 5*s)), []Answer{says(left(6, 10, 6*s))}, 0},
		{"clocks drift", says(left(5, 10, 5*s)), []Answer{says(left(4, 10, 4*s+s/10))}, 0},
		{"another limit", says(left(99, 100, 5*s)), []Answer{says(left(19, 20, 30*s))}, 0},
		{"another limit, whose reset moves on", says(left(49, 50, 5*s)), []Answer{says(left(8, 10, 4*s)), says(left(7, 10, 6*s))}, 0.5}, // 10 in 6 s * 10/3; and nobody else took 42
		{"limit is not stated: six were there", says(left(5, 0, 5*s)), []Answer{says(left(4, 0, 6*s))}, 1. / 3},
		{"and all of these after the reset", says(left(5, 0, s)), []Answer{refuses(left(0, 0, s)), says(left(5, 0, s))}, 0},
		{"a part after the reset", refuses(left(0, 10, s)), []Answer{says(left(2, 10, s))}, 10 / 1.05},
		{"all after the reset", refuses(left(0, 10, s)), []Answer{says(left(9, 10, s))}, 0},
		{"all but what others took", refuses(left(0, 10, s)), []Answer{says(left(8, 10, s))}, 0},
		{"refused", says(left(5, 10, 5*s)), []Answer{refuses(left(4, 10, 6*s))}, 0},
		{"refused, and others took what came back", says(left(0, 10, 9*s)), []Answer{refuses(left(0, 10, 10*s))}, 1},
	} {
		b := newBucket(t, Config{})
		b.exchange(test.first)
		for i, a := range test.then {
			b.at(time.Duration(i+1) * s).exchange(a)
		}
		r := b.window1().refill
		if r.refills != (test.rate > 0) || r.refills && r.rate != test.rate {
			t.Errorf("%s: refills %v at %v per second, want %v", test.name, r.refills, r.rate, test.rate)
		}
	}
}

// TestRefillOfALog: the resets of a log are when the oldest request is forgotten. Where they move on, the limit
// is not full sooner than it was to be when nothing remained.
func TestRefillOfALog(t *testing.T) {
	b := newBucket(t, Config{})
	for n := 9; n >= 0; n-- {
		b.exchange(says(left(n, 10, 4*time.Second)))
	}
	b.at(4 * time.Second)
	for n := 9; n >= 6; n-- {
		b.exchange(says(left(n, 10, 100*time.Millisecond)))
	}
	b.at(4050 * time.Millisecond).exchange(says(left(5, 10, 50*time.Millisecond)))
	b.at(4080 * time.Millisecond).exchange(says(left(4, 10, 200*time.Millisecond)))
	if r := b.window1().refill; !r.refills || r.rate != 10./4 {
		t.Errorf("refills %v at %v/s, want 10 in 4 s", r.refills, r.rate)
	}
}

// TestRefillOfALogAtItsEnd: a log is used up just before its oldest requests are forgotten, which is stated
// then and moves on by as little. It was far before, and so it is no bucket of thousands per second. Of a reset
// that was stated two of its times ago nothing follows any more.
func TestRefillOfALogAtItsEnd(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		pause time.Duration
		want  float64
	}{{0, 10. / 2}, {2031 * ms, 10 / 0.03}} {
		b := newBucket(t, Config{})
		for n := 9; n > 0; n-- {
			b.exchange(says(left(n, 10, 2000*ms)))
		}
		end := 1980*ms + test.pause
		b.at(end).exchange(says(left(0, 10, 20*ms)))
		b.at(end + 10*ms).exchange(says(left(0, 10, 30*ms)))
		r := b.window1().refill // most of what came back meanwhile is taken for others'
		if !r.refills || math.Abs(r.crowd.most-test.want) > 1e-9 {
			t.Errorf("after a pause of %v refills %v at %v/s for all, want %v", test.pause, r.refills, r.crowd.most, test.want)
		}
	}
}

// TestRefillPaces: with nothing left, one token goes at a time, at the rate that was seen; what
// comes back faster is spent at once; a refusal lowers the rate, and two in a row end it.
func TestRefillPaces(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(1, 10, 9*time.Second)))
	b.exchange(says(left(0, 10, 10*time.Second)))
	b.wantDue(time.Second)
	b.at(time.Second).exchange(says(left(3, 10, 7*time.Second)))
	b.wantOpen(3)
	w := b.window1()
	for i := range 3 {
		b.exchange(says(left(2-i, 10, time.Duration(8+i)*time.Second)))
	}
	w.refill.finds, w.refill.rate, w.refill.atMost = 0, 1, 1
	b.exchange(refuses(left(0, 10, 10*time.Second)))
	if w.refill.rate != refusalFactor {
		t.Errorf("rate %v after a refusal, want %v", w.refill.rate, refusalFactor)
	}
	b.wantDue(1250 * time.Millisecond)
	b.exchange(refuses(left(0, 10, 10*time.Second)))
	if w.refill.refills || w.refill.doubtRefills.failures != 1 || w.refill.doubtRefills.skip != 0 {
		t.Errorf("refills %v, doubt %+v", w.refill.refills, w.refill.doubtRefills)
	}
}

// TestRefillForecast: one request goes at the rate, but those who line up behind it may expect all that has
// come back since the latest answer, since its answer will show that; not beside others, who may have taken it.
func TestRefillForecast(t *testing.T) {
	for _, test := range []struct {
		name   string
		others bool
		idle   time.Duration    // since the latest answer
		went   int              // requests, since then
		want   [6]time.Duration // expected by one behind none, one, two …
	}{
		{"all is back", false, 10 * time.Second, 1, [6]time.Duration{}},
		{"three are back, and one of them went", false, 3 * time.Second, 1, [6]time.Duration{0, 0, 1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}},
		{"no more than the limit is back", false, time.Hour, 6, [6]time.Duration{4: 1 * time.Second, 5: 2 * time.Second}},
		{"others are likely", true, 10 * time.Second, 1, [6]time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second}},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(1, 10, 9*time.Second)))
		b.exchange(says(left(0, 10, 10*time.Second)))
		w := b.window1()
		if w.refill.rate, w.refill.atMost = 1, 1; test.others {
			w.refill.crowd.begin(1)
		}
		b.at(test.idle)
		for range test.went {
			b.send()
		}
		b.wantDue(time.Second)
		for ahead, want := range test.want {
			if got := b.DueFrom(limit.Due{At: b.now}, of(ahead), of(1), nil, 0, true).At.Sub(b.now); got != want {
				t.Errorf("%s: behind %d, in %v, want %v", test.name, ahead, got, want)
			}
		}
	}
}

// TestRefillOfALimitThatIsFull: Remaining is rounded to thousands, and the limit still full by that. That the
// reset moves on does not say that one token is missing: else 8000 tokens that come back in a minute would take
// hours.
func TestRefillOfALimitThatIsFull(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range 4 {
		st := left(8000, 8000, time.Duration(1+i)*time.Second)
		st.Unit = "tokens"
		b.at(time.Duration(i) * time.Second).exchange(says(st))
	}
	if b.window1().refill.refills {
		t.Error("a limit of which nothing is missing is taken to come back token by token")
	}
}

// TestRefillMeasured: after half the time to full, the rate is what came back, less a margin.
func TestRefillMeasured(t *testing.T) {
	r := refill{refills: true, rate: 1, span: 10 * time.Second, meter: meter{from: start}, maxHold: time.Hour}
	for _, test := range []struct {
		after     time.Duration
		remaining int
		want      float64
	}{
		{4 * time.Second, 8, 1},                      // too early
		{5 * time.Second, 9, 0.97 * (2 + 9 - 1) / 5}, // two granted, nine left, one may have been there
		{6 * time.Second, 0, 0.97 * (2 + 9 - 1) / 5}, // what was kept once is believed
	} {
		now := start.Add(test.after)
		r.measure(&outcome{sent: now, now: now, n: 1, limit: 10, remaining: test.remaining, newest: true})
		if r.rate != test.want {
			t.Errorf("after %v: rate %v, want %v", test.after, r.rate, test.want)
		}
	}
}

// TestRefillProvisional: if most comes back in a moment, the limit does not refill after all.
func TestRefillProvisional(t *testing.T) {
	r := refill{refills: true, rate: 1, span: 10 * time.Second, provisionalSpan: 10 * time.Second, meter: meter{from: start}, maxHold: time.Hour}
	now := start.Add(4 * time.Second)
	r.measure(&outcome{sent: now, now: now, n: 1, limit: 10, remaining: 7, newest: true}) // 7 of 10
	if !r.refills {
		t.Error("seven of ten are not most")
	}
	r.measure(&outcome{sent: now, now: now, n: 1, limit: 10, remaining: 7, newest: true}) // 8 of 10
	if r.refills {
		t.Error("eight of ten are most")
	}
}

// TestRefillRaise: the rate of a small limit rises with each token until a refusal, and then in
// smaller steps.
func TestRefillRaise(t *testing.T) {
	r := refill{refills: true, rate: 4, raise: raise{by: firstRaise}, span: time.Second, maxHold: time.Hour}
	r.measure(&outcome{sent: start, now: start, n: 1})
	if r.rate != 8 {
		t.Errorf("rate %v, want 8", r.rate)
	}
	r.slowDown()
	if want := 8 / (firstRaise * firstRaise); r.rate != want || r.raise.by != 1.25 {
		t.Errorf("rate %v, raise %v; want %v, 1.25", r.rate, r.raise.by, want)
	}
	for range 2 {
		r.slowDown()
	}
	if r.raise.by != 1 {
		t.Errorf("raise %v, want 1", r.raise.by)
	}
}

// TestRefillStartsWithoutRaise: a rate that is not a small limit's is not raised with each answer.
func TestRefillStartsWithoutRaise(t *testing.T) {
	r := refill{raise: raise{by: firstRaise}, maxHold: time.Hour}
	r.start(&outcome{now: start, limit: 10}, start, 10*time.Second, 10*time.Second)
	if r.measure(&outcome{sent: start, now: start, n: 1}); r.rate != 1 {
		t.Errorf("rate %v, want 1", r.rate)
	}
}

// TestRefillRaiseAnyRefusal: whichever limit refused a request, a rate that is raised was too high.
func TestRefillRaiseAnyRefusal(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(0, 1, time.Minute)))
	w := b.window1()
	w.refill = refill{refills: true, rate: 5, raise: raise{by: firstRaise}, maxHold: time.Hour}
	b.exchange(Answer{Refused: true})
	if want := 5 / (firstRaise * firstRaise); w.refill.rate != want {
		t.Errorf("rate %v, want %v", w.refill.rate, want)
	}
	w.refill = refill{refills: true, rate: 5, raise: raise{by: firstRaise}, maxHold: time.Hour}
	b.exchange(says(quota.Statement{Name: "another", Limit: 10, Remaining: 5}))
	if w.refill.rate != 5 || w.refill.raise.by != firstRaise {
		t.Errorf("rate %v, raise %v; want 5, %v: the request was served", w.refill.rate, w.refill.raise.by, firstRaise)
	}
	w.refill = refill{refills: true, rate: 5, maxHold: time.Hour}
	b.exchange(Answer{Refused: true})
	if w.refill.rate != 5 {
		t.Errorf("rate %v, want 5: it was measured, and another limit refused", w.refill.rate)
	}
}

// TestRefillCrowd: a refusal after which the reset has moved on is the doing of others. Then each halves its
// part of the rate, leaves a little over, and takes more where more than that remains.
func TestRefillCrowd(t *testing.T) {
	const s = time.Second
	b := newBucket(t, Config{})
	b.exchange(says(left(1, 20, 19*s)))
	b.exchange(says(left(0, 20, 20*s))) // one a second
	r := &b.window1().refill
	b.at(s).exchange(refuses(left(0, 20, 20*s))) // a token came back, and somebody took it
	if !r.refills || r.refusalsInRow != 0 || r.rate != crowdShare || r.crowd.left != crowdFor {
		t.Fatalf("refills %v, %d refusals in a row, %v per second, crowd for %d", r.refills, r.refusalsInRow, r.rate, r.crowd.left)
	}
	b.wantDue(2 * s)
	b.at(3 * s).exchange(says(left(2, 20, 18*s)))
	b.wantOpen(2) // it has happened once
	b.at(4 * s).exchange(refuses(left(0, 20, 20*s)))
	if want := crowdShare * crowdRaise * crowdShare; r.rate != want {
		t.Errorf("%v per second, want %v", r.rate, want)
	}
	r.rate = crowdShare
	b.at(4 * s).exchange(says(left(5, 20, 15*s)))
	b.wantDue(2 * s) // five are the others'
	if r.rate != crowdShare {
		t.Errorf("%v per second, want %v: no more remains than is kept", r.rate, crowdShare)
	}
	r.crowd.most = 1
	b.at(5 * s).exchange(says(left(7, 20, 13*s)))
	b.wantOpen(2)
	if want := crowdShare * crowdRaise; r.rate != want || r.atMost < want {
		t.Errorf("%v per second, at most %v; want %v", r.rate, r.atMost, want)
	}
	if b.at(5 * s).exchange(says(left(4, 20, 16*s))); r.crowd.left != crowdFor-1 {
		t.Errorf("crowd for %d, want %d: less is left than is kept", r.crowd.left, crowdFor-1)
	}
	for i := range crowdFor - 1 {
		b.at(time.Duration(6+i) * s).exchange(says(left(5, 20, time.Duration(15+5*(i%2))*s))) // no even rate, else it is a stock
	}
	if r.crowd.left != 0 || r.shared() {
		t.Fatalf("crowd for %d, shared %v; want 0", r.crowd.left, r.shared())
	}
	b.wantOpen(5)
}

// TestRefillTakenByOthers: who is refused although something was left beside all of ours that was under way has
// lost it to others, whatever the reset says. Then something is left to them at once. That the limit refills is
// as doubtful as after any other refusal.
func TestRefillTakenByOthers(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name   string
		least  int // what the answers before said to remain at the least
		left   int // what the latest answer said
		beside int // requests of ours that are under way
		stated int // to remain, with the refusal
		limit  int // likewise
		want   bool
	}{
		{"three were left", 0, 3, 0, 0, 20, true},
		{"one was left", 0, 1, 0, 0, 20, true},
		{"one was left, or the server is one behind", 1, 1, 0, 0, 20, false},
		{"two were left, or one", 1, 2, 0, 0, 20, true},
		{"nothing was left", 0, 0, 0, 0, 20, false},
		{"ours may have taken it", 0, 2, 2, 0, 20, false},
		{"one more than ours take", 0, 2, 1, 0, 20, true},
		{"one more than ours take, or none", 1, 2, 1, 0, 20, false},
		{"something is left still", 0, 3, 0, 1, 20, false},
		{"the limit fell", 0, 3, 0, 0, 10, false},
	} {
		b := newBucket(t, Config{})
		for n := 1; n >= 0; n-- {
			b.exchange(says(left(test.least+n, 20, time.Duration(20-test.least-n)*s))) // one a second
		}
		reset := 20*s - time.Duration(test.left)*s
		b.at(2 * s).exchange(says(left(test.left, 20, reset)))
		for range test.beside {
			b.send()
		}
		r := &b.window1().refill
		r.finds = 0
		b.exchange(refuses(left(test.stated, test.limit, reset)))
		if r.crowd.on() != test.want || r.crowd.leaves != test.want || r.refusalsInRow != 1 {
			t.Errorf("%s: a crowd %v, leaves %v, %d refusals in a row; want %v, %[5]v, 1", test.name, r.crowd.on(), r.crowd.leaves, r.refusalsInRow, test.want)
		}
	}
}

// TestRefillBeginsInACrowd: where most of what was used was not ours, our part of the rate is that of what was
// used, from the start.
func TestRefillBeginsInACrowd(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name   string
		limit  int
		first  int // so many remain after the first request,
		then   int // and after the second one
		after  time.Duration
		unit   string
		rate   float64
		others bool
	}{
		{"all is ours", 20, 19, 18, 0, "", 1, false},
		{"few tokens say nothing", 20, 19, 17, 0, "", 1, false},
		{"half is ours", 20, 19, 16, 0, "", 0.5, true},
		{"2 of 15 are ours", 20, 19, 5, 0, "", 2.0 / 15, true},
		{"3 came back meanwhile", 40, 30, 16, 3 * s, "", 2.0 / 18, true},
		{"of nothing that was missing", 20, 19, 5, 3 * s, "", 2.0 / 15, true},
		{"what was missing at first was used before", 20, 10, 7, 0, "", 0.5, true},
		{"nobody knows what was used of it by ours", 20, 19, 5, 0, "tokens", 1, false},
		{"a limit of few tokens", 3, 2, 0, 0, "", 1, false},
	} {
		b := newBucket(t, Config{})
		for _, remaining := range []int{test.first, test.then} {
			st := left(remaining, test.limit, time.Duration(test.limit-remaining)*s)
			if remaining == test.first {
				st.Reset += test.after // it has not come yet
			}
			st.Unit = test.unit
			b.exchange(says(st))
			b.at(test.after)
		}
		r := &b.window1().refill
		if others := r.crowd.left == crowdFor && r.crowd.leaves && r.crowd.most == 1; !r.refills || math.Abs(r.rate-test.rate) > 1e-9 || others != test.others {
			t.Errorf("%s: refills %v, %v per second, up to %v, crowd for %d; want %v, and others %v", test.name, r.refills, r.rate, r.crowd.most, r.crowd.left, test.rate, test.others)
		}
	}
}

// TestRefillEmptiedByOthers: where too little was used to tell as the refilling was noticed, others show when
// nothing remains. Whatever has come back meanwhile, what is missing was used.
func TestRefillEmptiedByOthers(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name    string
		before  []int // so much remains after our requests, before the one that leaves nothing
		refused bool  // that one
		uneven  bool  // resets contradict an even rate
		rate    float64
		shared  bool
	}{
		{"4 of 20 are ours", []int{19, 18, 9}, false, false, 4.0 / 20, false},
		{"3 of 20 are ours, and one was refused", []int{19, 18, 9}, true, false, crowdShare * 3.0 / 20, false},
		{"14 of 20 are ours", []int{19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7}, false, false, 1, false},
		{"13 of 20 are ours", []int{19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8}, false, true, 13.0 / 20, false},
		{"13 of 20 are ours, and the rate is even", []int{19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8}, false, false, 0.319, true},
		{"much has come back", []int{19, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18}, false, false, 1, false},
	} {
		b := newBucket(t, Config{})
		for i, remaining := range append(test.before, 0) {
			b.at(time.Duration(max(i-2, 0)) * s)
			st := left(remaining, 20, time.Duration(20-remaining)*s)
			if test.uneven && i == 8 {
				st.Reset *= 2
			}
			if a := says(st); remaining == 0 && test.refused {
				b.exchange(refuses(st))
			} else {
				b.exchange(a)
			}
		}
		if r := &b.window1().refill; !r.refills || math.Abs(r.rate-test.rate) > 1e-3 || (r.crowd.left > 0) != (test.rate < 1) || r.shared() != test.shared {
			t.Errorf("%s: refills %v, %v per second, crowd for %d, shared %v; want %v, %v", test.name, r.refills, r.rate, r.crowd.left, r.shared(), test.rate, test.shared)
		}
	}
}

// TestRefillEmptiedInSilence: what is served without a statement is ours as well.
func TestRefillEmptiedInSilence(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range 20 {
		a := Answer{}
		if n := 19 - i; i%3 == 0 || n == 0 {
			a = says(left(n, 20, time.Duration(20-n)*time.Second))
		}
		b.exchange(a)
	}
	if r := &b.window1().refill; !r.refills || r.crowd.left != 0 || r.rate != 1 {
		t.Errorf("refills %v, %v per second, crowd for %d; want 1, and nobody else", r.refills, r.rate, r.crowd.left)
	}
}

// TestRefillLeastInCrowd: refusals by chance do not lower our part of the rate without an end, nor does a first
// answer that is a refusal.
func TestRefillLeastInCrowd(t *testing.T) {
	r := refill{refills: true, rate: 10, span: time.Hour, maxHold: time.Hour}
	for range 20 {
		r.measure(&outcome{sent: start, now: start, n: 1, limit: 20, refused: true, change: laterReset})
	}
	if want := crowdLeast * refusalFactor * 10; math.Abs(r.rate-want) > 1e-9 {
		t.Errorf("%v per second after 20 refusals, want %v", r.rate, want)
	}
	b := newBucket(t, Config{})
	b.exchange(refuses(left(0, 20, 19*time.Second)))
	b.window1().others.atStart = 20
	b.exchange(refuses(left(0, 20, 20*time.Second)))
	if r := &b.window1().refill; r.rate != crowdLeast {
		t.Errorf("%v per second where nothing was ours, want %v", r.rate, crowdLeast)
	}
	r.rate, r.crowd.most = 0.01, 10
	if r.slowDown(); r.rate != 0.01 {
		t.Errorf("%v per second, want 0.01: a refusal raises no rate", r.rate)
	}
}

// TestOthersUsed: what other buckets of ours use is not told from what others use, and what was refused is not
// used.
func TestOthersUsed(t *testing.T) {
	for _, test := range []struct {
		name string
		u    others
		o    outcome
		want used
	}{
		{"nothing was stated before", others{}, outcome{n: 1, flight: 5, remaining: 3}, used{}},
		{"siblings", others{began: start, atStart: 9, usedByUs: 2, siblings: true}, outcome{n: 1, flight: 5, remaining: 3}, used{}},
		{"served", others{began: start, atStart: 9, usedByUs: 2}, outcome{n: 1, flight: 5, remaining: 3}, used{start, 7, 6}},
		{"refused", others{began: start, atStart: 9, usedByUs: 2}, outcome{n: 1, flight: 5, remaining: 3, refused: true}, used{start, 6, 6}},
		{"rested", others{began: start, rested: time.Second, atStart: 9, usedByUs: 2}, outcome{n: 1, flight: 5, remaining: 3}, used{start.Add(time.Second), 7, 6}},
	} {
		if got := test.u.used(&test.o); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestOthersRest: nothing comes back of a bucket that is full while it is left alone.
func TestOthersRest(t *testing.T) {
	const s = time.Second
	o := outcome{newest: true, limit: 50, leastThen: 49, heardThen: start.Add(s), sent: start.Add(4 * s)}
	for _, test := range []struct {
		name   string
		change func(*outcome)
		want   time.Duration
	}{
		{"full", func(*outcome) {}, 3 * s},
		{"a tenth is missing", func(o *outcome) { o.leastThen = 45 }, 3 * s},
		{"more is missing", func(o *outcome) { o.leastThen = 40 }, 0},
		{"in use", func(o *outcome) { o.sent = o.heardThen }, 0},
		{"not the newest", func(o *outcome) { o.newest = false }, 0},
		{"before the window began", func(o *outcome) { o.heardThen = start.Add(-1) }, 0},
	} {
		u, got := others{began: start.Add(-s), heard: start}, o
		test.change(&got)
		if u.rest(&got); u.rested != test.want {
			t.Errorf("%s: rested for %v, want %v", test.name, u.rested, test.want)
		}
	}
}

// TestRefillCrowdLeaves: in a crowd, each of two others has as much in flight as we have. What is not theirs
// goes at once, and then the pace counts.
func TestRefillCrowdLeaves(t *testing.T) {
	for _, test := range []struct{ limit, inFlight, want int }{{20, 0, 5}, {20, 2, 5}, {20, 4, 8}, {8, 0, 2}, {8, 3, 6}, {3, 1, 0}} {
		r := refill{refills: true, crowd: crowd{left: 1, leaves: true}}
		if got := r.crowd.leave(test.limit, test.inFlight); got != test.want {
			t.Errorf("%d in flight of a limit of %d: %d are left to others, want %d", test.inFlight, test.limit, got, test.want)
		}
		if r.crowd.left = 0; r.crowd.leave(test.limit, test.inFlight) != 0 {
			t.Error("something is left to others that are not there")
		}
	}
	for _, stated := range []int{40, 0} { // a limit that is not stated is the most that was there
		b := newBucket(t, Config{})
		b.exchange(says(left(39, stated, time.Minute)))
		b.exchange(says(left(30, stated, time.Minute)))
		w := b.window1()
		w.refill.refills, w.refill.rate, w.refill.atMost, w.refill.crowd.left, w.refill.crowd.leaves, w.refill.maxHold = true, 1, 1, 5, true, time.Minute
		n := 0
		for ; n < 30 && b.Open(b.now, of(1), nil, 0); n++ {
			b.send()
		}
		if n != 10 {
			t.Errorf("%d go at once where 30 remain and the limit is stated as %d, want 10: 10 + 2·10", n, stated)
		}
		b.wantDue(time.Second)
	}
}

// TestRefillCrowdIsSearched: in a crowd, our part of the rate grows to four fifths of what was refused first.
func TestRefillCrowdIsSearched(t *testing.T) {
	r := refill{refills: true, rate: 10, span: time.Hour, maxHold: time.Hour}
	for _, most := range []float64{8, 8} {
		r.measure(&outcome{sent: start, now: start, n: 1, limit: 20, refused: true, change: laterReset})
		for range 20 {
			r.measure(&outcome{sent: start, now: start, n: 1, limit: 20, remaining: 10})
		}
		if math.Abs(r.rate-most) > 1e-9 {
			t.Errorf("%v per second, want %v", r.rate, most)
		}
	}
}

// TestRefillStops: nothing of a crowd outlasts the belief that the limit comes back token by token, so that a
// belief which begins later has the whole rate, and measures.
func TestRefillStops(t *testing.T) {
	const s = time.Second
	crowd := func(t *testing.T) *bucket {
		t.Helper()
		b := newBucket(t, Config{})
		b.exchange(says(left(1, 100, 99*s/10)))
		b.exchange(says(left(0, 100, 10*s))) // 10/s
		for i := range 2 {
			b.at(time.Duration(i+1) * s).exchange(refuses(left(0, 100, 10*s)))
		}
		if r := &b.window1().refill; !r.refills || r.crowd.left != crowdFor || !r.crowd.leaves {
			t.Fatalf("refills %v, crowd for %d, crowded %v", r.refills, r.crowd.left, r.crowd.leaves)
		}
		return b
	}
	for name, stop := range map[string]func(b *bucket){
		"two refusals that others do not explain": func(b *bucket) {
			b.at(3 * s).exchange(refuses(left(0, 100, 9*s)))
			b.at(4 * s).exchange(refuses(left(0, 100, 8*s)))
		},
		"most comes back at once": func(b *bucket) {
			r := &b.window1().refill
			r.provisionalSpan, r.crowd.left, r.finds = time.Hour, 1, proven
			b.at(3 * s).exchange(says(left(9, 100, 9*s))) // the last one in the crowd
			b.at(4 * s).exchange(says(left(99, 100, 8*s)))
		},
		"several instances": func(b *bucket) {
			a := says(left(50, 100, 5*s))
			a.Instances = true
			b.at(3 * s).exchange(a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := crowd(t)
			stop(b)
			w := b.window1()
			r := &w.refill
			if r.refills || r.crowd.left != 0 || r.crowd.leaves || r.crowd.most != 0 || r.finds != 0 || r.served != 0 {
				t.Errorf("refills %v, crowd for %d, crowded %v, up to %v; found %d, served %d; want all zero", r.refills, r.crowd.left, r.crowd.leaves, r.crowd.most, r.finds, r.served)
			}
			if w.others.unseenUntil = 0; w.room(0) == unknownRoom { // they were unseen at the first answer
				t.Error("nobody knows how many may go")
			}
			b.at(time.Hour)
			r.resume(b.now, 100, 3, 10, false, time.Hour)
			w.remaining, w.heardAt = 3, b.now
			b.wantOpen(3) // none is left to others
		})
	}
}

// TestRefillMore: what comes back before the stated reset beyond two windows comes back token by token.
func TestRefillMore(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		limit int
		falls int                       // by how much Remaining is less in each second answer
		until func(i int) time.Duration // the stated reset, from the answer on
		want  int                       // the answer that shows that the limit refills, zero if none does
	}{
		{"the same reset", 3, 1, func(i int) time.Duration { return time.Second - time.Duration(i)*10*ms }, 15},
		{"requests that cost nothing", 3, 0, func(i int) time.Duration { return time.Second - time.Duration(i)*10*ms }, 0},
		{"another window", 3, 1, func(i int) time.Duration { return 50*ms - time.Duration(i%5)*10*ms }, 0},
		{"no limit stated, three were there", 0, 1, func(i int) time.Duration { return time.Second - time.Duration(i)*10*ms }, 15},
	} {
		b := newBucket(t, Config{})
		got := 0
		for i := 0; i < 30 && got == 0; i++ {
			b.at(time.Duration(i) * 10 * ms).exchange(says(left(2-i%2*test.falls, test.limit, test.until(i))))
			if b.window1().refill.refills {
				got = i + 1
			}
		}
		if got != test.want {
			t.Errorf("%s: refills from answer %d on, want %d", test.name, got, test.want)
		}
		if r := b.window1().refill; got > 0 && math.Abs(r.rate-7/0.14) > 1e-3 {
			t.Errorf("%s: %v per second, want what came back: %v", test.name, r.rate, 7/0.14)
		}
	}
}

// TestRefillFaith: what paced requests have found outlasts refusals that do not say that others are there, and
// each halves it.
func TestRefillFaith(t *testing.T) {
	for found, want := range map[int]int{0: 2, 1: 2, 2: 3, proven: 5} {
		r := refill{refills: true, rate: 1, finds: found}
		n := 0
		for r.refills {
			r.doubt()
			n++
		}
		if n != want {
			t.Errorf("found %d times: the belief ends with refusal %d, want %d", found, n, want)
		}
	}
	b := newBucket(t, Config{})
	b.exchange(says(left(1, 10, 9*time.Second)))
	b.exchange(says(left(0, 10, 10*time.Second)))
	for i := range 2 * proven {
		b.at(time.Duration(i+1) * time.Second).exchange(says(left(0, 10, 10*time.Second)))
	}
	if got := b.window1().refill.finds; got != proven {
		t.Errorf("found %d times, want %d", got, proven)
	}
}

// TestRefillRefusedWithoutAWord: where refusals state nothing, two in a row of requests that were paced show
// that a limit does not refill.
func TestRefillRefusedWithoutAWord(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(0, 100, time.Minute)))
	w := b.window1()
	w.refill = refill{refills: true, rate: 10, pacedFrom: b.now, maxHold: time.Hour}
	for i := range 2 {
		b.wantDue(100 * time.Millisecond)
		b.at(time.Duration(i+1) * 100 * time.Millisecond)
		b.exchange(Answer{Refused: true})
	}
	b.wantDue(time.Minute - 200*time.Millisecond)
}

// TestRefillSpans: how long a limit takes to come back of which a part is there after the reset, and
// within what time most of it must not be back.
func TestRefillSpans(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name              string
		span, resolution  time.Duration
		next              time.Duration // after the reset
		far               time.Duration // the farthest reset that was stated
		full, provisional time.Duration
	}{
		{"from reset to reset", 0, 0, 10 * s, 20 * s, 10 * s, 10 * s},
		{"two steps too long, perhaps", 0, s, 10 * s, 20 * s, 10 * s, 8 * s},
		{"two steps", 0, 5 * s, 10 * s, 20 * s, 10 * s, 10 * s / 8},
		{"as stated", 8 * s, 5 * s, 10 * s, 20 * s, 8 * s, 8 * s},
		{"the next is near", 0, s, s, 20 * s, 20 * s, 18 * s},
		{"the next is near, and nothing was left at the resets before", 0, s, s, 3 * s, 5 * s, 3 * s},
		{"the next is near, and nothing was left at three resets before", 0, s, s, 3*s + 1, 20 * s, 18 * s},
		{"the next is near, and farther than any before", 0, s, s, s / 2, 5 * s / 2, s / 2},
	} {
		r := refill{maxHold: time.Hour}
		at := start.Add(20 * s) // of the reset
		o := outcome{
			sent: at, now: at, n: 1, limit: 10, remaining: 2, span: test.span, look: true,
			earlyBefore: at, lateBefore: at, usedUpSince: start, farIn: test.far,
		}
		r.detect(&o, &reset{late: at.Add(test.next), resolution: test.resolution})
		if want := test.full + test.full/20; r.span != want || r.provisionalSpan != test.provisional {
			t.Errorf("%s: full %v, provisional %v; want %v, %v", test.name, r.span, r.provisionalSpan, want, test.provisional)
		}
	}
}

// TestFullNoSooner: whichever reset shows that a limit refills, it takes no less time to be full than the
// farthest reset of late was away, as of a log of 20 in 4 s whose oldest requests are forgotten in a moment.
func TestFullNoSooner(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	at := start.Add(10 * s)
	for name, test := range map[string]struct {
		o     outcome
		next  time.Duration
		full  time.Duration // where no farther reset was stated
		bound time.Duration // else, of 4 s
	}{
		"a part before the reset": {outcome{remaining: 3, earlyBefore: at.Add(15 * ms), lateBefore: at.Add(16 * ms), usedUpSince: at.Add(-20 * ms), look: true}, 40 * ms, 37 * ms, 4 * s},
		"a part at the reset":     {outcome{remaining: 3, earlyBefore: at.Add(-1 * ms), lateBefore: at, usedUpSince: at.Add(-20 * ms), look: true}, 39 * ms, 40*ms + 2*ms, 4 * s},
		"the reset moved on":      {outcome{remaining: 1, remainingBefore: 2, earlyBefore: at.Add(15 * ms), lateBefore: at.Add(16 * ms), change: laterReset, requests: true}, 18 * ms, 20 * ms, 4 * s},
	} {
		o := test.o
		o.sent, o.now, o.n, o.limit, o.farIn = at, at, 1, 20, s
		for far, want := range map[time.Duration]time.Duration{0: test.full, 4 * s: test.bound} {
			r := refill{maxHold: time.Hour, drip: drip{farIn: far}}
			r.detect(&o, &reset{early: at.Add(test.next - ms), late: at.Add(test.next), resolution: ms})
			if !r.refills || r.span != want || r.atMost < r.rate {
				t.Errorf("%s, the farthest reset %v away: full after %v, want %v; %v per second, %v at most", name, far, r.span, want, r.rate, r.atMost)
			}
		}
	}
}

// TestDoubt: with each failure the attempt is left out twice as often.
func TestDoubt(t *testing.T) {
	var d doubt
	for i, want := range []int{0, 2, 4, 8} {
		if d.fail(1); d.skip != want {
			t.Errorf("after %d failures, one free: skip %d, want %d", i+1, d.skip, want)
		}
	}
	for range 10 {
		d.occasion()
	}
	if d.skip != 0 {
		t.Errorf("skip %d, want 0", d.skip)
	}
	d = doubt{}
	for i, want := range []int{1, 3, 7} {
		d.fail(0)
		leftOut := 0
		for d.occasion(); d.skip > 0; d.occasion() {
			leftOut++
		}
		if leftOut != want {
			t.Errorf("after %d failures: left out %d times, want %d", i+1, leftOut, want)
		}
	}
	for range 100 {
		d.fail(1)
	}
	if d.skip != maxSkip {
		t.Errorf("skip %d, want %d", d.skip, maxSkip)
	}
}

// TestEarlyLook: when one request may look before the reset, and why.
func TestEarlyLook(t *testing.T) {
	const s = time.Second
	at := start.Add
	for _, test := range []struct {
		name  string
		limit int
		reset reset
		f     refill
		whole proof
		want  time.Duration
		guess guess
	}{
		{"exact", 10, reset{early: at(9 * s), late: at(9 * s), opened: at(0)}, refill{}, untried, 9 * s, noGuess},
		{"coarse", 10, reset{early: at(0), late: at(s), resolution: s, opened: at(0)}, refill{}, untried, s / 5, guessRefill},
		{"coarse, but no time until what is missing is back", 10, reset{early: at(0), late: at(s), resolution: s}, refill{drip: drip{uneven: true}}, untried, s, noGuess},
		{"nor is it as an instant", 10, reset{early: at(0), late: at(s), resolution: s}, refill{instants: drip{uneven: true}}, untried, s, noGuess},
		{"nor did it bring anything", 10, reset{early: at(9 * s), late: at(9 * s)}, refill{emptyReset: true, drip: drip{uneven: true}}, untried, 9 * s / 10, guessRefill},
		{"few tokens", 2, reset{early: at(0), late: at(s), resolution: s, opened: at(0)}, refill{}, untried, s / 2, guessRefill},
		{"all was found once", 10, reset{early: at(0), late: at(s), resolution: s, opened: at(0)}, refill{foundAll: 1}, untried, s / 10, guessRefill},
		{"three times", 10, reset{early: at(0), late: at(s), resolution: s, opened: at(0)}, refill{foundAll: 3}, untried, s / 40, guessRefill},
		{"ever again", 10, reset{early: at(0), late: at(s), resolution: s, opened: at(0)}, refill{foundAll: math.MaxInt}, untried, s / 5 / 1024, guessRefill},
		{"few tokens, half a step at least", 2, reset{early: at(0), late: at(3 * s / 4), resolution: s}, refill{}, untried, s / 2, guessRefill},
		{"few tokens, less than half a step", 2, reset{early: at(0), late: at(s / 4), resolution: s}, refill{}, untried, s / 4, noGuess},
		{"the user says when", 1, reset{early: at(0), late: at(s), resolution: s}, refill{spacing: s / 20}, untried, s / 20, guessRefill},
		{"and that it is later", 1, reset{early: at(0), late: at(s), resolution: s}, refill{spacing: 2 * s}, untried, s / 2, guessRefill},
		{"of a limit of two", 2, reset{early: at(0), late: at(s), resolution: s}, refill{spacing: s / 20}, untried, s / 2, guessRefill},
		{"where a reset is exact", 1, reset{early: at(s), late: at(s), resolution: s / 1000}, refill{spacing: s / 20}, untried, s, noGuess},
		{"one token each half", 1, reset{early: at(0), late: at(s), resolution: s}, refill{doubtEarly: doubt{skip: 1}}, untried, s, noGuess},
		{"in doubt", 10, reset{early: at(0), late: at(s), resolution: s, opened: at(-s / 4)}, refill{doubtEarly: doubt{skip: 1}}, untried, 3 * s / 4, guessWholeSteps},
		{"reset brought nothing", 10, reset{early: at(9 * s), late: at(9 * s)}, refill{emptyReset: true}, untried, 9 * s / 10, guessRefill},
		{"it refills already", 10, reset{early: at(0), late: at(s), resolution: s}, refill{refills: true}, untried, s, noGuess},
		{"whole steps", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2)}, refill{}, untried, 9*s + s/2, guessWholeSteps},
		{"and half a round trip", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2), halfRoundTrip: s / 8}, refill{}, right, 9*s + 5*s/8, guessWholeSteps},
		{"begun in this step", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 8), halfRoundTrip: s / 8}, refill{}, right, 9*s + s/4, guessWholeSteps},
		{"or in the one before", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s/8 - 1), halfRoundTrip: s / 8}, refill{}, right, 10 * s, noGuess},
		{"or in any of many short ones", 10, reset{early: at(10*s - 1), late: at(10 * s), resolution: time.Millisecond, opened: at(0), halfRoundTrip: s / 8}, refill{}, right, 10 * s, guessWholeSteps},
		{"a short round trip sooner", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2), halfRoundTrip: s / 4, trip: s / 8}, refill{}, right, 9*s + 5*s/8, guessWholeSteps},
		{"but no sooner than the request went", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2), halfRoundTrip: s / 4, trip: s}, refill{}, right, 9*s + s/4, guessWholeSteps},
		{"no look was served so yet", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2), halfRoundTrip: s / 4, trip: s / 8}, refill{}, untried, 9*s + 3*s/4, guessWholeSteps},
		{"one was refused", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2), halfRoundTrip: s / 4, trip: s / 8, soonerDoubt: doubt{skip: 1}}, refill{}, right, 9*s + 3*s/4, guessWholeSteps},
		{"no sooner than the reset", 10, reset{early: at(9*s + 11*s/16), late: at(10 * s), resolution: s, opened: at(3 * s / 4), halfRoundTrip: s / 4, trip: s / 2}, refill{}, right, 9*s + 11*s/16, guessWholeSteps},
		{"a round trip is nothing beside the window", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2), halfRoundTrip: s / 8, trip: s / 4}, refill{}, right, 9*s + 5*s/8, guessWholeSteps},
		{"a span is stated", 10, reset{early: at(2 * s), late: at(3 * s), resolution: s, opened: at(s / 8), spanMost: 5 * s / 2}, refill{}, untried, 21 * s / 8, guessWholeSteps},
		{"and the window seems to be shorter", 10, reset{early: at(2 * s), late: at(3 * s), resolution: s, opened: at(s / 8), spanMost: 3 * s}, refill{}, untried, 17 * s / 8, guessWholeSteps},
		{"rounded to the nearest step", 10, reset{early: at(3 * s), late: at(4 * s), resolution: s, opened: at(s / 4), spanMost: 2 * s, roundsDown: true}, refill{}, right, 9 * s / 4, guessWholeSteps},
		{"a step is shorter than a round trip", 10, reset{early: at(2 * s), late: at(3 * s), resolution: s / 4, opened: at(s / 8), halfRoundTrip: s / 8, spanMost: 5 * s / 2}, refill{}, right, 3 * s, guessWholeSteps},
		{"before the step before that: it lasts longer than it did", 10, reset{early: at(3 * s), late: at(4 * s), resolution: s, opened: at(s / 4), spanMost: s, roundsDown: true}, refill{}, right, 13 * s / 4, guessWholeSteps},
		{"whole steps were wrong", 10, reset{early: at(9 * s), late: at(10 * s), resolution: s, opened: at(s / 2)}, refill{}, wrong, 10 * s, noGuess},
	} {
		sooner := time.Duration(0)
		if test.whole == right {
			sooner = test.reset.sooner()
		}
		signs := signs{test.limit, &test.reset, test.whole, sooner, test.f.signs()}
		if got, guess := signs.look(start); got != at(test.want) || guess != test.guess {
			t.Errorf("%s: look in %v on %v, want %v on %v", test.name, got.Sub(start), guess, test.want, test.guess)
		}
	}
}

// TestFoundAll: each look before the reset that finds the whole limit halves the time to the next one; one that
// is refused ends that. What is there after the reset says nothing.
func TestFoundAll(t *testing.T) {
	o := func(refused, look bool, g guess, remaining int) *outcome {
		return &outcome{sent: start, now: start, n: 1, limit: 10, remaining: remaining, refused: refused, look: look, guess: g, newest: true, usedUpSince: start.Add(-1)}
	}
	var r refill
	for i, test := range []struct {
		o    *outcome
		want int
	}{
		{o(false, true, guessRefill, 9), 1},
		{o(false, true, guessRefill, 9), 2},
		{o(false, false, noGuess, 9), 2},
		{o(false, true, noGuess, 9), 2},
		{o(false, true, guessWholeSteps, 9), 2},
		{o(true, true, guessRefill, 0), 0},
		{o(false, true, guessRefill, 8), 1},
	} {
		if r.observe(test.o, &reset{}, time.Minute); r.foundAll != test.want {
			t.Errorf("%d: %d looks have found all, want %d", i, r.foundAll, test.want)
		}
	}
}

// TestGuessIsDoubted: an early look that is refused is not tried again on the next occasion, but on
// the one after that.
func TestGuessIsDoubted(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(refuses(step(0, 10, time.Second)))
	b.wantDue(time.Second / 5)
	b.at(time.Second / 5).exchange(refuses(step(0, 10, time.Second)))
	if d := b.window1().refill.doubtEarly; d != (doubt{1, 2}) {
		t.Errorf("doubt %+v, want one failure, and the second occasion", d)
	}
	b.wantDue(4 * time.Second / 5)
	now := time.Second
	for occasion, early := range []bool{false, true} {
		b.at(now).exchange(says(left(10, 10, 0)))
		b.exchange(refuses(step(0, 10, time.Second)))
		if got := b.window1().guess == guessRefill; got != early {
			t.Errorf("occasion %d: early %v, want %v", occasion+1, got, early)
		}
		now += 20 * time.Second
	}
}

// TestRefillRaisesAgain: where one token is there at most, the rate is raised again 15 s after a raise has
// ended, as docs/learning-rules.md promises, half as long again each time up to five minutes, and after 15 s
// once it has doubled or fallen.
func TestRefillRaisesAgain(t *testing.T) {
	r := refill{refills: true, rate: 10, raise: raise{by: 1}, maxHold: time.Hour}
	now := start
	serve := func() { r.measure(&outcome{sent: now, now: now, n: 1, limit: 1, remainingBefore: 1}) }
	next := func() time.Duration {
		serve() // the raise has ended
		at := now
		for now = r.raise.at - 1; r.raise.by == 1; now++ {
			serve()
		}
		if r.raise.by != laterRaise {
			t.Fatalf("raised by %v", r.raise.by)
		}
		return now.Sub(at) - 1
	}
	refuse := func() {
		now++
		r.measure(&outcome{sent: now, now: now, limit: 1, refused: true})
		r.refusalsInRow = 0
	}
	for _, want := range []time.Duration{15 * time.Second, 22500 * time.Millisecond, 33750 * time.Millisecond} {
		r.rate = 10
		if got := next(); got != want {
			t.Errorf("raised after %v, want %v", got, want)
		}
		for r.raise.by > 1 {
			refuse()
		}
		if r.rate > 10 {
			t.Errorf("rate %v after it", r.rate)
		}
	}
	r.rate = 20
	if got := next(); got != 15*time.Second {
		t.Errorf("after it has doubled: %v, want 15s", got)
	}
	r.raise.by = 1
	for range 30 {
		next()
		r.raise.by = 1
	}
	if r.raise.gap != 5*time.Minute {
		t.Errorf("in the end every %v, want 5m", r.raise.gap)
	}
	for range 3 {
		refuse()
	}
	if got := next(); got != 15*time.Second {
		t.Errorf("after it has fallen: %v, want 15s", got)
	}
}

// TestOthersAreNoRefill: what others took of a window that was restored is not missing, as it is of one that
// comes back token by token.
func TestOthersAreNoRefill(t *testing.T) {
	for _, test := range []struct {
		perOurToken float64
		remaining   int
		refills     bool
	}{{0, 20, true}, {0, 26, false}, {4, 20, false}, {4, 15, true}} {
		b := newBucket(t, Config{})
		b.exchange(says(left(0, 28, 2*time.Second)))
		b.window1().others = others{perOurToken: test.perOurToken, atStart: 28}
		b.at(2 * time.Second).exchange(says(left(test.remaining, 28, 2*time.Second)))
		if got := b.window1().refill.refills; got != test.refills {
			t.Errorf("others use %v for each of ours, %d remain: refills %v, want %v", test.perOurToken, test.remaining, got, test.refills)
		}
	}
}

// TestEarlyLooksReturn: at a limit of which nothing remains after each request, an early look that was refused
// is left out at the next two waits, and then made again: each request that is served begins a new wait. At a
// limit of one, others may be gone once a look is served: then it is made again at the next wait.
func TestEarlyLooksReturn(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		limit int
		in    []time.Duration
	}{
		{1, []time.Duration{500 * ms, 250 * ms}},
		{2, []time.Duration{500 * ms, 1000 * ms, 500 * ms}},
	} {
		b := newBucket(t, Config{})
		s := left(0, test.limit, time.Second)
		s.Resolution = time.Second
		b.exchange(says(s))
		at := 500 * ms
		b.wantDue(at)
		b.at(at).exchange(refuses(s)) // others have taken what came back
		for _, in := range test.in {
			b.wantDue(in)
			at += in
			b.at(at)
			for i := range test.limit { // all of it is back
				s.Remaining = int64(test.limit - 1 - i)
				b.exchange(says(s))
			}
		}
		if r := b.window1().refill; !r.refills {
			t.Errorf("limit of %d: a look found all of it before the reset: it refills", test.limit)
		}
	}
}

// TestRefillWithinARoundTrip: a part that is back before a reset which is nearer than a round trip says no more
// of the rate than the round trip does: how long ago the rest was spent is not known better.
func TestRefillWithinARoundTrip(t *testing.T) {
	const ms = time.Millisecond
	sent := start.Add(time.Second)
	o := &outcome{
		sent: sent, now: sent.Add(50 * ms), n: 1, limit: 6, remaining: 2, look: true, newest: true,
		usedUpSince: sent.Add(-ms), earlyBefore: sent.Add(2 * ms), lateBefore: sent.Add(2 * ms),
	}
	var r refill
	r.observe(o, &reset{late: o.now.Add(10 * ms)}, time.Minute)
	if want := 6 / 0.05; !r.refills || r.rate != want {
		t.Errorf("refills %v at %v, want %v", r.refills, r.rate, want)
	}
}

// TestRefillOfAResetThatIsAlwaysAsFar: a server always states the same time to the reset, in whole seconds. So
// an answer is about another reset if it comes over a second after the one that was first about the reset
// before. The server is known to refill if that is over a second and half of the time of one token: less may be
// two clocks that drift apart. So it depends on how close answers follow one another; but where they follow
// close, the reset moves on again and again, by as much as time passes, which clocks do not.
func TestRefillOfAResetThatIsAlwaysAsFar(t *testing.T) {
	const ms = time.Millisecond
	const hour, month = time.Hour, 30 * 24 * time.Hour // of 99,999 tokens, half of one takes 18 ms and 12.96 s
	for _, test := range []struct {
		reset, every time.Duration
		after        time.Duration // it is known to refill
	}{
		{hour, ms, 2002 * ms},
		{hour, 17 * ms, 2006 * ms}, // 118 · 17
		{hour, 19 * ms, 2014 * ms}, // 106 · 19
		{hour, 40 * ms, 1040 * ms}, // 26 · 40
		{hour, 1018 * ms, 1018 * ms},
		{hour, 1017 * ms, 2034 * ms},
		{hour, time.Minute, time.Minute},
		{month, 40 * ms, 14_560 * ms}, // 364 · 40
		{month, 13 * time.Second, 26 * time.Second},
		{month, 14 * time.Second, 14 * time.Second},
	} {
		b := newBucket(t, Config{})
		got := time.Duration(-1)
		for n := 0; n < 4000 && got < 0; n++ {
			after := time.Duration(n) * test.every
			b.at(after)
			b.exchange(says(step(99_986, 99_999, test.reset)))
			if b.window1().refill.refills {
				got = after
			}
		}
		if got != test.after {
			t.Errorf("a reset in %v, stated every %v: refills after %v, want %v", test.reset, test.every, got, test.after)
		}
	}
}

// TestClocksThatDriftAreNoRefill: a reset that moves on again and again by a thousandth of the time that passes
// is that of a clock that goes wrong.
func TestClocksThatDriftAreNoRefill(t *testing.T) {
	b := newBucket(t, Config{})
	const month = 30 * 24 * time.Hour
	for after := time.Duration(0); after < 25*24*time.Hour; after += 10 * time.Minute {
		b.at(after)
		b.exchange(says(step(99_000, 99_999, month-after+after/1000)))
		if b.window1().refill.refills {
			t.Fatalf("refills after %v", after)
		}
	}
}

// TestRefillBeforeAFineReset: a look that a hint allows finds a part of the limit well before a reset which is
// stated to the millisecond. The limit comes back until that reset, and not within a millisecond.
func TestRefillBeforeAFineReset(t *testing.T) {
	b := newBucket(t, Config{})
	said := func(remaining int, reset time.Duration) (a Answer) {
		st := left(remaining, 10, reset)
		st.Resolution = time.Millisecond
		return says(st)
	}
	refused := said(0, 5*time.Second)
	refused.Refused, refused.Hold, refused.HoldKnown = true, 400*time.Millisecond, true
	b.exchange(refused)
	b.at(400 * time.Millisecond).exchange(said(2, 4600*time.Millisecond))
	if r, want := b.window1().refill, 10/(5001*time.Millisecond).Seconds(); !r.refills || r.rate != want {
		t.Errorf("refills %v at %v per second, want %v", r.refills, r.rate, want)
	}
}

// TestRefillOfOneIsNoFasterThanARoundTrip: a limit of one is back early, and its reset is known to a round trip
// alone, while resets are near: nothing tells how much sooner than that it comes back.
func TestRefillOfOneIsNoFasterThanARoundTrip(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	o := &outcome{
		sent: start.Add(9980 * ms), now: start.Add(10080 * ms), n: 1, limit: 1, look: true, guess: guessRefill,
		earlyBefore: start.Add(10 * s), lateBefore: start.Add(10101 * ms), usedUpSince: start.Add(s), farIn: 20 * ms,
	}
	r := refill{maxHold: time.Minute}
	if r.detect(o, &reset{resolution: ms, early: o.earlyBefore, late: o.lateBefore}); r.span != 100*ms || r.pacedFrom < o.sent {
		t.Errorf("comes back in %v, from %v on, want 100ms", r.span, r.pacedFrom.Sub(start))
	}
}

// TestRefillOfAnother: that a limit of 10 gives a token in ten seconds is believed until another one is in its
// place.
func TestRefillOfAnother(t *testing.T) {
	for name, test := range map[string]struct {
		limit, before int
		otherSpan     bool
		in            time.Duration // to the reset
		kept          bool
	}{
		"the same":                       {10, 10, false, time.Second, true},
		"it was raised":                  {25, 10, false, 10 * time.Second, true},
		"it was lowered":                 {4, 10, false, 10 * time.Second, true},
		"a much larger one":              {26, 10, false, 10 * time.Second, false},
		"a much smaller one":             {3, 10, false, 10 * time.Second, false},
		"another window":                 {10, 10, true, 10 * time.Second, false},
		"a reset that is far nearer":     {11, 10, false, 1499 * time.Millisecond, false},
		"one that is nearer":             {11, 10, false, 1500 * time.Millisecond, true},
		"a reset that is not stated":     {11, 10, false, 0, true},
		"a reset nearer, the same limit": {10, 10, false, 100 * time.Millisecond, true},
	} {
		r := refill{refills: true, rate: 0.1, spacing: time.Second, finds: 3}
		o := outcome{now: start, limit: test.limit, limitBefore: test.before, otherLimit: test.limit != test.before, otherSpan: test.otherSpan}
		r.forget(&o, &reset{late: start.Add(test.in)})
		if r.refills != test.kept || r.spacing != time.Second || !test.kept && r != (refill{spacing: time.Second}) {
			t.Errorf("%s: %+v, want it kept: %v", name, r, test.kept)
		}
	}
}

// TestWindowOfAnother: whether a limit refills that takes the place of one far from it is asked at once,
// however often the first was wrongly taken for one; and what failed is remembered.
func TestWindowOfAnother(t *testing.T) {
	for name, test := range map[string]struct {
		limit     int
		otherSpan bool
		skip      int
	}{
		"the same":          {10, false, 64},
		"it was raised":     {25, false, 64},
		"a much larger one": {26, false, 0},
		"another window":    {10, true, 0},
	} {
		failed := doubt{failures: 6, skip: 64}
		r := refill{doubtRefills: failed, doubtEarly: failed}
		o := outcome{now: start, limit: test.limit, limitBefore: 10, otherLimit: test.limit != 10, otherSpan: test.otherSpan}
		r.forget(&o, &reset{late: start.Add(time.Second)})
		if want := (refill{doubtRefills: doubt{failures: 6, skip: test.skip}, doubtEarly: failed}); r != want {
			t.Errorf("%s: %+v and %+v, want %+v and %+v", name, r.doubtRefills, r.doubtEarly, want.doubtRefills, want.doubtEarly)
		}
	}
}

// TestRefillOfAnotherIsHeardOnce: what a limit states is another number once. That counts where another limit
// has refused the request, too, and where another process tells of it.
func TestRefillOfAnotherIsHeardOnce(t *testing.T) {
	for name, tell := range map[string]func(b *bucket, st, other quota.Statement){
		"served":             func(b *bucket, st, other quota.Statement) { b.exchange(says(st, other)) },
		"refused by another": func(b *bucket, st, other quota.Statement) { b.exchange(refuses(st, other)) },
		"told by another process": func(b *bucket, st, _ quota.Statement) {
			b.Overhear(b.now, &st)
			st.Remaining--
			b.exchange(says(st))
		},
	} {
		b := newBucket(t, Config{})
		st, other := left(5, 10, time.Second), left(5, 10, 10*time.Second)
		st.Name, other.Name = "a", "b"
		b.exchange(says(st, other))
		w := b.find(limitName{name: "a"})
		w.refill.resume(b.now, 10, 5, 0.0025, false, b.config.MaxHold)
		b.at(2 * time.Second)
		st.Limit, st.Remaining, st.Reset, other.Remaining = 100, 100, 10*time.Second, 0
		if tell(b, st, other); w.refill.refills {
			t.Errorf("%s: a limit of 100 in ten seconds is believed to give %v a second", name, w.refill.rate)
		}
	}
}

// TestRefillCancel: of two requests that were paced, the one that is not sent leaves its token to the next one.
func TestRefillCancel(t *testing.T) {
	for name, test := range map[string]struct {
		first, second bool // given back
		want          time.Duration
	}{
		"none": {false, false, time.Second}, "the latest": {false, true, 0}, "the one before": {true, false, 0}, "both": {true, true, 0},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(0, 10, 10*time.Second)))
		b.window1().refill.resume(b.now, 10, 0, 1, false, b.config.MaxHold)
		first := b.at(time.Second).send()
		second := b.at(2 * time.Second).send()
		if test.first {
			b.Cancel(first, nil)
		}
		if test.second {
			b.Cancel(second, nil)
		}
		if due := b.dueAfter(0, 1); due != test.want {
			t.Errorf("%s: the next one is due in %v, want %v", name, due, test.want)
		}
	}
}

// TestRefillCancelAfterARefusal: one request of two that were paced is refused, and then the other one is not
// sent. The refusal says when the next one is due, also where that is counted from an instant before the other
// one went: from the reset, or after the time of one token at a pace that was served.
func TestRefillCancelAfterARefusal(t *testing.T) {
	for _, test := range []struct {
		name    string
		refused func(*refill)
		want    time.Duration
	}{
		{"a pace that was served", func(r *refill) { r.raise.by, r.raise.best = gentleRaise, 10 }, 100 * time.Millisecond},
		{"from the reset on", func(r *refill) { r.resumed, r.emptyReset = true, true }, 8800 * time.Millisecond},
	} {
		for _, canceled := range []bool{false, true} {
			b := newBucket(t, Config{})
			b.exchange(says(left(0, 3, 11*time.Second)))
			b.window1().refill.resume(b.now, 3, 0, 0.1, false, b.config.MaxHold)
			test.refused(&b.window1().refill)
			first := b.at(2 * time.Second).send()
			second := b.at(2100 * time.Millisecond).send()
			b.at(2200*time.Millisecond).done(first, refuses(left(0, 3, 8800*time.Millisecond)))
			if canceled {
				b.Cancel(second, nil)
			}
			if due := b.dueAfter(0, 1); due != test.want {
				t.Errorf("%s, canceled %v: the next one is due in %v, want %v", test.name, canceled, due, test.want)
			}
		}
	}
}

// TestRefillFaster: a limit of 10 that gave one in six minutes gives all of them in one, and states that, but
// no other number. Once all of it is found after six minutes, requests look at each reset. Two looks in a row
// that find nothing say that it was none.
func TestRefillFaster(t *testing.T) {
	const slow, full = 6 * time.Minute, time.Minute
	for _, test := range []struct {
		refused int // looks at the reset
		want    time.Duration
	}{{0, full}, {1, full}, {2, slow}} {
		b := newBucket(t, Config{})
		b.exchange(says(left(0, 10, full)))
		r := &b.window1().refill
		r.resume(b.now, 10, 0, 1/slow.Seconds(), false, b.config.MaxHold)
		b.wantDue(slow)
		use := func() {
			b.now = b.now.Add(b.dueAfter(0, 1))
			for i := range 10 {
				b.exchange(says(left(9-i, 10, full)))
			}
		}
		use()
		b.wantDue(full)
		for range test.refused {
			b.now = b.now.Add(b.dueAfter(0, 1))
			b.exchange(refuses(left(0, 10, full)))
		}
		for n := 0; test.refused == 0 && n < 3; n++ {
			use()
		}
		if got := b.dueAfter(0, 1); got > test.want || got < test.want/2 {
			t.Errorf("%d refused: a request may go in %v, want %v", test.refused, got, test.want)
		}
		if was := 1 / slow.Seconds(); test.refused > 0 && r.rate != was {
			t.Errorf("%d refused: the rate is %v, want %v", test.refused, r.rate, was)
		}
	}
}

// TestRefillSlowAndRefused: a limit of one that is believed to come back in 5 s, and does in 8, is no faster
// one: each refusal lowers the rate, however often all of it is found. Its resets are rounded up to 10 s, and
// say nothing.
func TestRefillSlowAndRefused(t *testing.T) {
	const full = 8 * time.Second
	st := left(0, 1, 10*time.Second)
	st.Resolution = 10 * time.Second
	b := newBucket(t, Config{})
	b.exchange(says(st))
	r := &b.window1().refill
	r.resume(b.now, 1, 0, 0.2, false, b.config.MaxHold)
	r.finds = proven
	back := b.now.Add(full)
	for range 40 {
		b.now = b.now.Add(b.dueAfter(0, 1))
		if b.now < back {
			b.exchange(refuses(st))
			continue
		}
		b.exchange(says(st))
		back = b.now.Add(full)
	}
	if most := 1 / full.Seconds(); r.rate > most {
		t.Errorf("%v/s after 40 answers, want %v at most", r.rate, most)
	}
}

// TestRefillCancelAfterARefusalAtFirst: likewise where the clock has gone for less than the time of one token.
// Which of both is not sent makes no difference.
func TestRefillCancelAfterARefusalAtFirst(t *testing.T) {
	const s = monotime.Time(time.Second)
	for _, went := range []monotime.Time{2 * s, 3 * s} {
		r := refill{refills: true, rate: 0.1}
		r.pacedGoes(2 * s)
		r.pacedGoes(3 * s)
		r.nextAt(8 * s)
		if r.cancel(went); r.pacedFrom != -2*s {
			t.Errorf("the one after %v is not sent: the pace begins after %v, want -2s", went.Sub(0), r.pacedFrom.Sub(0))
		}
	}
}

// TestUrgentHasFoundNothing: what is reserved counts as nothing for those alone that leave it to others. An
// urgent request that has some of it was not served with what has come back: neither does that speak for a
// limit that refills, nor for how fast it does.
func TestUrgentHasFoundNothing(t *testing.T) {
	const s = time.Second
	b := newBucket(t, Config{})
	limit := 10
	exchange := func(share float64, remaining int) {
		ticket := &Ticket{Sent: b.now, N: 1}
		b.Take(b.now, b.now, of(1), nil, share, ticket)
		b.done(ticket, says(left(remaining, limit, time.Duration(limit-remaining)*s)))
	}
	exchange(0.5, 9)
	r := &b.window1().refill
	r.resume(b.now, limit, 9, 1, false, b.config.MaxHold)
	for remaining := 8; remaining >= 5; remaining-- {
		exchange(0.5, remaining)
	}
	for remaining := 4; remaining >= 1; remaining-- {
		exchange(0, remaining)
	}
	if r.finds != 0 {
		t.Errorf("%d requests have found something, want none", r.finds)
	}

	b, limit = newBucket(t, Config{}), 3
	exchange(0.6, 2)
	r = &b.window1().refill
	r.resume(b.now, limit, 2, 1, true, b.config.MaxHold)
	exchange(0.6, 2)
	b.at(s)
	exchange(0.6, 2)
	b.at(s + 10*time.Millisecond)
	exchange(0, 1)
	b.at(s + 20*time.Millisecond)
	exchange(0, 0)
	b.at(2*s + 30*time.Millisecond)
	exchange(0, 0)
	if r.raise.best > 1 {
		t.Errorf("%.2f tokens came back in a second, want no more than 1", r.raise.best)
	}
}

// TestRefillTooSlow: that a token takes MaxHold or longer to come back is not believed when nothing remains: a
// look at the reset finds as much, and comes after MaxHold at the latest.
func TestRefillTooSlow(t *testing.T) {
	for _, test := range []struct {
		token     time.Duration
		remaining int
		want      bool // that it refills
	}{{time.Minute, 0, false}, {59 * time.Second, 0, true}, {time.Hour, 0, false}, {time.Hour, 1, true}} {
		b := newBucket(t, Config{MaxHold: time.Minute})
		b.exchange(says(left(2, 10, time.Hour)))
		w := b.window1()
		w.refill = refill{refills: true, rate: 1 / test.token.Seconds(), span: 10 * test.token, maxHold: time.Minute}
		if b.exchange(says(left(test.remaining, 10, time.Hour))); w.refill.refills != test.want {
			t.Errorf("a token in %v, of which %d remain: refills %v, want %v", test.token, test.remaining, w.refill.refills, test.want)
		}
	}
}

// TestRowOfRefusals: a row of refusals of paced requests ends when one is served before the reset that is
// stated, which that does not explain, and not when a request is served out of what remained, or after the
// reset. While it lasts, no rate is kept for a later run.
func TestRowOfRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		o          outcome
		row, finds int
	}{
		"paced, before the reset":   {outcome{paced: true, sent: start, lateBefore: start.Add(1)}, 0, 1},
		"paced, after the reset":    {outcome{paced: true, sent: start, lateBefore: start}, 1, 0},
		"paced, and no reset":       {outcome{paced: true, sent: start}, 0, 0},
		"out of what remained":      {outcome{sent: start, lateBefore: start.Add(1)}, 1, 0},
		"likewise, and no reset":    {outcome{sent: start}, 1, 0},
		"likewise, after the reset": {outcome{sent: start, lateBefore: start}, 1, 0},
	} {
		r := refill{refills: true, rate: 1}
		r.doubt()
		r.find(&test.o)
		if r.refusalsInRow != test.row || r.finds != test.finds {
			t.Errorf("%s: a row of %d, %d finds; want %d, %d", name, r.refusalsInRow, r.finds, test.row, test.finds)
		}
		var h Habits
		if r.habits(&h, start); (h.Refill == 0) != (test.row > 0) {
			t.Errorf("%s: a rate of %v is kept for a later run", name, h.Refill)
		}
	}
}

// TestPaced: a request is paced if it goes although nothing remains, or no more than is reserved for others.
// One that went out of what remained is not, though an answer that came sooner says that nothing is left: of
// requests that go together, the answer to the last may overtake the others. Nor is one that finds what another
// answer has said.
func TestPaced(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	believes := func(remaining int) (*bucket, *refill) {
		b := newBucket(t, Config{})
		b.exchange(says(left(remaining, 20, 9*s)))
		r := &b.window1().refill
		*r = refill{refills: true, rate: 5, atMost: 5, span: 4 * s, maxHold: time.Minute, refusalsInRow: 1}
		return b, r
	}
	answer := func(b *bucket, to *Ticket, remaining int) {
		b.at(b.now.Sub(start)+10*ms).done(to, says(left(remaining, 20, start.Add(9*s).Sub(b.now))))
	}
	b, r := believes(4)
	together := []*Ticket{b.send(), b.send(), b.send(), b.send()}
	paced := b.send()
	for i, remaining := range []int{3, 0, 2, 1} {
		if answer(b, together[i], remaining); r.finds != 0 || r.refusalsInRow != 1 {
			t.Errorf("answer %d of requests that went together: %d finds, a row of %d; want 0, 1", i, r.finds, r.refusalsInRow)
		}
	}
	if answer(b, paced, 0); r.finds != 1 || r.refusalsInRow != 0 {
		t.Errorf("beyond what remained: %d finds, a row of %d; want 1, 0", r.finds, r.refusalsInRow)
	}

	b, r = believes(0)
	early, late := b.send(), b.send()
	if answer(b, early, 3); r.finds != 1 {
		t.Errorf("one that went when nothing remained: %d finds, want 1", r.finds)
	}
	if answer(b, late, 2); r.finds != 1 {
		t.Errorf("another one, which finds no more than is known: %d finds, want 1", r.finds)
	}

	for remaining, want := range map[int]int{1: 1, 2: 1, 3: 0} {
		b, r = believes(remaining)
		reserves := &Ticket{Sent: b.now, N: 1}
		b.Take(b.now, b.now, of(1), nil, 0.1, reserves) // two are for others
		if answer(b, reserves, 5); r.finds != want {
			t.Errorf("%d remained, of which two are for others: %d finds, want %d", remaining, r.finds, want)
		}
	}
}
