package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// start is the first instant of the tests.
const start = monotime.Time(1000 * time.Hour)

// serve has a request go and be served in the same instant.
func (r *Rate) serve(now monotime.Time) {
	r.Take(now, now, 1)
	r.Serve(now, 1, Went{})
}

// refusedAtRate is of a server that has refused, served 10 in 2 s, and refused again.
func refusedAtRate() (r Rate) {
	r.Refuse(start, false)
	for i := range 10 {
		r.serve(start.Add(time.Duration(i+1) * 200 * time.Millisecond))
	}
	now := start.Add(2 * time.Second)
	r.Take(now, now, 1)
	r.Refuse(now, false)
	return r
}

// TestTrialBeginsBehindManyTokens: a request of many tokens goes when the pace that has risen lets it, and is
// charged at that pace, although it begins a trial, which is slower at first: only its last token is charged at
// that.
func TestTrialBeginsBehindManyTokens(t *testing.T) {
	r := refusedAtRate()
	due := r.Due(r.setAt, 0, 400, 0, false)
	if r.former.next = due; r.rateAt(due) < 2*r.rate || !r.former.up {
		t.Fatalf("a pace of %v/s has risen to %v/s, and the next trial is of twice the pace: %v", r.rate, r.rateAt(due), r.former.up)
	}
	if r.Take(due, start, 400); !r.former.trial || r.pacedTo > due.Add(monotime.Seconds(1/r.rate)) {
		t.Errorf("a trial is on: %v; nothing goes for %v, want a token at %v/s", r.former.trial, r.pacedTo.Sub(due), r.rate)
	}
}

// TestTrialBeginsBehindNoToken: a request that costs nothing is charged nothing, although it begins a trial.
func TestTrialBeginsBehindNoToken(t *testing.T) {
	r := refusedAtRate()
	now := r.Due(r.setAt, 0, 400, 0, false)
	r.pacedTo, r.former.next = now, now
	if r.Take(now, now, 0); !r.former.trial || r.pacedTo != now {
		t.Errorf("a trial is on: %v; nothing goes for %v", r.former.trial, r.pacedTo.Sub(now))
	}
}

// TestRate: the rate is just under that at which the server served while it refused, and a request goes when
// the pace lets it, not later: it rises meanwhile.
func TestRate(t *testing.T) {
	var unknown Rate
	if at := unknown.Due(start, 5, 5, 0, false); at != start || unknown.Known() || !unknown.Fresh() {
		t.Errorf("due %v after the start, known %v, fresh %v, before anything is known", at.Sub(start), unknown.Known(), unknown.Fresh())
	}
	r := refusedAtRate() // ten between 0.2 and 2 s: an episode that lasted for 1.9 s
	if want := paceShare * (10 / 1.9); r.rate != want || !r.Measured() || r.Fresh() {
		t.Errorf("rate %v, want %v", r.rate, want)
	}
	var slow Rate
	slow.Resume(start, &Memory{Rate: 1e-300, At: start}, 1./60)
	for name, r := range map[string]*Rate{"measured": &r, "kept": &slow} {
		now := r.setAt
		at := r.Due(now, 0, 1, 0, false)
		for _, test := range []struct {
			before time.Duration
			open   bool
		}{{-time.Nanosecond, true}, {time.Nanosecond, false}} /* it is rounded */ {
			then := at.Add(-test.before)
			if got := r.rateAt(then) * then.Sub(r.pacedTo).Seconds(); got >= 1 != test.open {
				t.Errorf("%s: a request may go in %v; the pace lets %v of it go %v before", name, at.Sub(now), got, test.before)
			}
		}
		if at <= now || at > now.Add(time.Minute) {
			t.Errorf("%s: a request may go in %v, want more than nothing and a minute at most", name, at.Sub(now))
		}
	}
}

// TestRateDueAtOneInstant: when a request may go, also one behind others, does not depend on from when that is
// asked: the timer that is set for it comes neither too soon nor too late.
func TestRateDueAtOneInstant(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := Rate{rate: math.Exp(10*random.Float64() - 6), setAt: start, growth: maxGrowth * math.Exp(-6*random.Float64())}
		r.pacedTo = start.Add(time.Duration(random.Int64N(int64(4*time.Second))) - 2*time.Second)
		if seed%4 == 0 {
			r.former = formerRate{rate: 3 * r.rate, next: start.Add(time.Second), trial: seed%8 == 0, tried: random.Float64()}
		}
		ahead, n := random.IntN(2)*random.IntN(100), 1+random.IntN(3)
		at := r.Due(start, ahead, n, 0, false)
		for range 20 {
			t1 := start.Add(time.Duration(random.Int64N(int64(max(at.Sub(start), 1)))))
			if got := r.Due(t1, ahead, n, 0, false); got != at {
				t.Errorf("seed %d: due after %v, and asked after %v, %v later", seed, at.Sub(start), t1.Sub(start), got.Sub(at))
			}
		}
		if got := r.Due(at, ahead, n, 0, false); got != at {
			t.Errorf("seed %d: due after %v, and then after %v", seed, at.Sub(start), got.Sub(start))
		}
		if best := r.Due(start, ahead, n, 0, true); best > at {
			t.Errorf("seed %d: due after %v, at best after %v", seed, at.Sub(start), best.Sub(start))
		}
	}
}

// TestRateProvisional: less than an episode gives a rate, too; the next one takes its place.
func TestRateProvisional(t *testing.T) {
	var s Rate
	s.Refuse(start, false)
	s.serve(start.Add(time.Second))
	s.Refuse(start.Add(2*time.Second), false)
	if s.Measured() || !s.Known() {
		t.Errorf("measured %v, known %v; want a rate from less than an episode", s.Measured(), s.Known())
	}
	if got := s; got.rate != paceShare/2 || !got.provisional || got.episodes.count != 1 {
		t.Errorf("%+v, want one served in two seconds", got)
	}
}

// TestRateRises: exactly as the formula says, and only with time.
func TestRateRises(t *testing.T) {
	s := Rate{rate: 10, setAt: start, growth: maxGrowth}
	last := 0.0
	for d := range 60 {
		got := s.rateAt(start.Add(time.Duration(d) * time.Second))
		if got <= last {
			t.Errorf("after %d s: %v, %v before", d, got, last)
		}
		last = got
	}
	if got := s.rateAt(start.Add(-time.Second)); got != 10 {
		t.Errorf("before it was set: %v, want 10", got)
	}
	if got, want := s.rateAt(start.Add(10*time.Second)), 10*math.Exp(0.2*10*(1+0.15*10)); got != want {
		t.Errorf("after 10 s: %v, want %v: a rate that is a hundredth of what is allowed is found within 10 s", got, want)
	}
}

// TestRateLate: what was on its way when a refusal came does not count to the episode that the refusal begins.
func TestRateLate(t *testing.T) {
	var s Rate
	s.Refuse(start, false)
	now := start.Add(50 * time.Millisecond)
	for range 2*sameEpisode - 1 {
		s.Serve(now, 1, Went{BeforeRefusal: true})
	}
	if s.episodes.servedSince != 0 || s.episodes.count != 1 || s.episodes.list[0].served != 0 || s.episodes.list[0].start != now {
		t.Errorf("%+v, want an episode that begins now, of which nothing is served", s)
	}
	if s.Refuse(start.Add(150*time.Millisecond), false); s.rate != 0 {
		t.Errorf("a rate of %v/s, want none", s.rate)
	}
	now = start.Add(time.Second)
	if s.serve(now); s.episodes.servedSince != 1 || s.episodes.list[0].served != 1 || s.episodes.list[0].servedFrom != now {
		t.Errorf("%+v, want one served", s)
	}
}

// TestRateInVain: where a hint is obeyed, and the look after it is refused, nothing has come back: what was on
// its way when the hint came is no rate. What was served before, or is served besides, is one.
func TestRateInVain(t *testing.T) {
	for _, test := range []struct {
		name         string
		before       int // served after an earlier refusal
		late, served int // after the hint
		want         float64
		episode      int // what the episode has
	}{
		{"a row on its way", 0, 36, 0, 0, 0},
		{"a few on their way", 0, sameEpisode - 1, 0, 0, 0},
		{"a few on their way, and some of before", 4, 3, 0, paceShare * 4 / 5, 4},
		{"a few on their way, and one that went later", 0, 3, 1, paceShare, 4},
	} {
		var r Rate
		r.Refuse(start, true)
		r.Serve(start.Add(time.Second), test.before, Went{})
		if test.before > 0 {
			r.Refuse(start.Add(time.Second), true)
			r.rate = 0 // or it would be the rate
		}
		r.Serve(start.Add(time.Second), test.late, Went{BeforeRefusal: true})
		r.Serve(start.Add(2*time.Second), test.served, Went{})
		now := start.Add(time.Duration(4+min(test.before, 1)) * time.Second)
		if r.Refuse(now, true); r.rate != test.want || r.episodes.count != 1 || r.episodes.list[0].served != test.episode || r.episodes.servedSince != 0 {
			t.Errorf("%s: %v/s, %d episodes, of which %d served in the latest, want %v/s, 1, %d", test.name, r.rate, r.episodes.count, r.episodes.list[0].served, test.want, test.episode)
		}
	}
	scaled := Rate{rate: 1, meter: meter{from: start}, episodes: episodes{servedSince: 4, count: 1}}
	scaled.episodes.list[0].served = 4
	scaled.Scale(0.5) // nobody knows any more which of these were on their way
	if scaled.Refuse(start.Add(time.Second), true); scaled.episodes.list[0].served != 4 {
		t.Errorf("%d served, want 4", scaled.episodes.list[0].served)
	}
}

// TestRateGrowthHalves: a rise that was refused makes the next ones slower.
func TestRateGrowthHalves(t *testing.T) {
	s := Rate{}
	now, want := start, maxGrowth
	s.Refuse(now, true)
	for i := range 20 {
		s.Serve(now, sameEpisode, Went{})
		now = now.Add(time.Second)
		s.Refuse(now, true)
		if i > 0 {
			want = max(want/2, minGrowth)
		}
		if s.growth != want {
			t.Errorf("episode %d: growth %v, want %v", i, s.growth, want)
		}
		if want := min(i+2, maxEpisodes); s.episodes.count != want {
			t.Errorf("%d episodes, want %d", s.episodes.count, want)
		}
	}
	if s.growth != minGrowth {
		t.Errorf("growth %v, want %v", s.growth, minGrowth)
	}
}

// TestRateExtraRefusals: refusals after a few served requests belong to one episode, but only so
// many.
func TestRateExtraRefusals(t *testing.T) {
	s := Rate{}
	now := start
	s.Refuse(now, false)
	for i := range 5 {
		if s.episodes.count != 1 || s.episodes.extra != i {
			t.Errorf("%d episodes, %d extra refusals; want 1, %d", s.episodes.count, s.episodes.extra, i)
		}
		s.Serve(now, sameEpisode-1, Went{})
		now = now.Add(time.Second)
		s.Refuse(now, false)
	}
	if s.episodes.count != 2 || s.provisional {
		t.Errorf("%d episodes, provisional %v; want 2 after four extra refusals, and a measured rate", s.episodes.count, s.provisional)
	}
}

// TestRateIsCutInVain: a pace that is refused whatever it is is lowered four times, and then only if a row was
// served before the refusal.
func TestRateIsCutInVain(t *testing.T) {
	for _, test := range []struct {
		served, useless int
		want            bool // that it is lowered
	}{
		{1, 0, true},
		{1, maxUseless - 1, true},
		{1, maxUseless, false},
		{sameEpisode - 1, maxUseless, false},
		{sameEpisode, maxUseless, true},
		{provenServed - 1, maxUseless, true},
	} {
		r := Rate{rate: 100, setAt: start, growth: minGrowth, episodes: episodes{servedSince: test.served, count: 1}, useless: test.useless}
		r.episodes.list[0] = episode{start: start, lastRefusal: start, served: test.served}
		if r.measure(start.Add(time.Second)); (r.rate < 100) != test.want || r.useless != min(test.useless+1, maxUseless) {
			t.Errorf("%d served, lowered %d times in vain: %v/s, %d times, want it lowered: %v", test.served, test.useless, r.rate, r.useless, test.want)
		}
	}
}

// TestRateAfterTrial: what is measured first after a trial that was refused with a hint does not lower the
// pace, if it is measured soon: what the trial took is missing. It may raise it.
func TestRateAfterTrial(t *testing.T) {
	first := episode{start: start, lastRefusal: start, hinted: true, served: 20}
	for _, test := range []struct {
		name  string
		first episode
		count int
		rate  float64
		after time.Duration
		want  float64
	}{
		{"soon", first, 1, 100, tookFor - 1, 100},
		{"soon, and more was served", first, 1, 3, time.Second, paceShare * 20},
		{"later", first, 1, 100, tookFor, paceShare * 5},
		{"no hint says when the next one is back", episode{start: start, lastRefusal: start, served: 20}, 1, 100, time.Second, paceShare * 20},
		{"a rate was measured in between", first, 2, 100, time.Second, paceShare * 20},
	} {
		r := Rate{rate: test.rate, setAt: start, growth: minGrowth, episodes: episodes{servedSince: sameEpisode, count: test.count}}
		for i := range test.count {
			r.episodes.list[i] = test.first
			r.episodes.list[i].start = start.Add(time.Duration(i+1-test.count) * time.Second)
		}
		if r.measure(start.Add(test.after)); r.rate != test.want {
			t.Errorf("%s: %v/s, want %v/s", test.name, r.rate, test.want)
		}
	}
}

// TestRateIsTooFast: a pace that is lowered in vain is lowered by a twentieth where two long episodes in a row
// served as many each: of a token in 12 s, each second request would else be refused for ever at a pace that is
// a little faster.
func TestRateIsTooFast(t *testing.T) {
	for _, test := range []struct {
		name   string
		before int // tokens of the episode before
		lasted time.Duration
		want   float64
	}{
		{"as many", 1, longEpisode, 100 * paceShare},
		{"more by chance", 2, longEpisode, 100},
		{"soon", 1, longEpisode - 1, 100},
	} {
		r := Rate{rate: 100, setAt: start, growth: minGrowth, episodes: episodes{servedSince: 1, count: 2}, useless: maxUseless}
		r.episodes.list = [maxEpisodes]episode{{start: start, lastRefusal: start, served: test.before}, {start: start, lastRefusal: start, served: 1}}
		if r.measure(start.Add(test.lasted)); r.rate != test.want {
			t.Errorf("%s: %v/s, want %v", test.name, r.rate, test.want)
		}
	}
}

// TestRateWhileAnswered: who asks as soon as an answer has come has not paused, however long the answer took.
func TestRateWhileAnswered(t *testing.T) {
	for answered, want := range map[time.Duration]int{2 * time.Second: 1, 2*time.Second + 1: 2} { // how many episodes there are then
		s := refusedAtRate() // until 2 s
		s.Take(start.Add(2*time.Second), start.Add(2*time.Second), 1)
		s.Serve(start.Add(2*time.Second+answered), 1, Went{Sent: start.Add(2 * time.Second)})
		now := start.Add(4*time.Second + askingPause + 1)
		if s.Take(now, now, 1); s.episodes.count != want {
			t.Errorf("answered after %v: %d episodes, want %d", answered, s.episodes.count, want)
		}
	}
}

// TestRateProven: between what was served while the pace rose and the pace that was refused
// lies the new pace.
func TestRateProven(t *testing.T) {
	for _, test := range []struct{ rate, want float64 }{
		{20, math.Sqrt(16*20) * paceShare}, // 20·exp(0.23) were refused: at most 1.25·16 counts
		{10, 16 * paceShare},               // 10·exp(0.23) are less than 16
	} {
		s := Rate{rate: test.rate, setAt: start, growth: maxGrowth, episodes: episodes{servedSince: provenServed, count: 1}}
		s.episodes.list[0] = episode{start: start, lastRefusal: start, servedFrom: start, served: 16}
		if s.measure(start.Add(time.Second)); s.rate != test.want {
			t.Errorf("rate %v after %v, want %v", s.rate, test.rate, test.want)
		}
	}
}

// TestRatePause: what a server serves while nobody asks for more is not measured.
func TestRatePause(t *testing.T) {
	s := refusedAtRate() // until 2 s
	now := start.Add(2*time.Second + askingPause)
	s.Take(now, now, 1)
	if s.episodes.count != 2 {
		t.Errorf("%d episodes after a short pause, want 2", s.episodes.count)
	}
	before := s.rateAt(now.Add(askingPause))
	now = start.Add(3*time.Second + 2*askingPause)
	if s.Take(now, now, 1); s.episodes.count != 1 || s.episodes.measuredFrom != now || s.episodes.servedSince != 0 {
		t.Errorf("after a pause: %+v", s)
	}
	if got := s.rateAt(now); got != before || got <= s.rate {
		t.Errorf("the pace is %v after a pause of two seconds, want %v as after one", got, before)
	}
	now = start.Add(3*time.Second + 6*askingPause) // an answer set the pace while the next request waited in line
	s.setAt = now
	s.row.serve(now, 1)
	if s.Take(now, now.Add(-2*askingPause), 1); s.setAt != now.Add(-askingPause) {
		t.Errorf("the pace has risen for %v in the pause, want one", now.Sub(s.setAt))
	}
}

// TestRateHoldIsNoPause: who was refused asks all the time, even if one that comes later is the first to go
// after the hold; but not if one that comes after the hold is.
func TestRateHoldIsNoPause(t *testing.T) {
	for late, count := range map[time.Duration]int{1: 2, 0: 1} {
		s := refusedAtRate() // until 2 s
		now := start.Add(12 * time.Second)
		if s.Take(now, now.Add(-late), 1); s.episodes.count != count {
			t.Errorf("%d episodes after a hold, one asked %v before its end, want %d", s.episodes.count, late, count)
		}
	}
}

// TestRateIsForgotten: a pace that has risen above all is forgotten when requests were served for a day.
func TestRateIsForgotten(t *testing.T) {
	const step = 10 * time.Second
	r := refusedAtRate()
	r.former.next = 0 // or it would be tried, and not rise
	first := start.Add(2*time.Second + step)
	for now := first; now < first.Add(Kept); now = now.Add(step) {
		if r.serve(now); r.Fresh() {
			t.Fatalf("forgotten after %v", now.Sub(first))
		}
	}
	if r.serve(first.Add(Kept)); !r.Fresh() || r.Known() {
		t.Errorf("not forgotten after a day: %+v", r)
	}
}

// TestRateRefused: the pace that was refused is the one that had risen until then, with the growth that it had;
// there was none before the first rate.
func TestRateRefused(t *testing.T) {
	r := refusedAtRate()
	if r.former.ceiling != 0 {
		t.Errorf("%v/s was refused before a rate was known, want none", r.former.ceiling)
	}
	now := r.setAt
	for range sameEpisode {
		now = now.Add(time.Second)
		r.serve(now)
	}
	now = now.Add(time.Millisecond)
	want := r.rateAt(now)
	r.former.rate = 2 * want
	r.episodes.list[0].servedFrom = r.episodes.list[0].start // so that the former rate stays
	if r.Refuse(now, false); r.former.ceiling != want {
		t.Errorf("%v/s was refused, want %v/s", r.former.ceiling, want)
	}
}

// TestRefusedInTheSameInstant: nothing is measured in no time, neither before a rate is known nor after.
func TestRefusedInTheSameInstant(t *testing.T) {
	var r Rate
	r.Refuse(start, true)
	r.serve(start)
	if r.Refuse(start, true); r.Known() || r.provisional {
		t.Errorf("%v/s, provisional %v, of one served in no time; want none", r.rate, r.provisional)
	}
	r.Serve(start, sameEpisode, Went{})
	if r.Refuse(start, true); r.Known() || r.episodes.count != 1 {
		t.Errorf("%v/s, %d episodes, want none and one", r.rate, r.episodes.count)
	}
	var refused Rate // and nothing at all was served
	refused.Refuse(start, true)
	if refused.Refuse(start.Add(time.Second), true); refused.Known() || refused.provisional {
		t.Errorf("%v/s, provisional %v, where nothing was served; want none", refused.rate, refused.provisional)
	}
}

// TestRateOfTheFirstEpisode: what the server says for how long it refuses counts in full, and of what it does
// not say half of the time until something is served is left out.
func TestRateOfTheFirstEpisode(t *testing.T) {
	for hinted, want := range map[bool]float64{true: paceShare * 20 / 4, false: paceShare * 20 / 3} {
		var r Rate
		r.Refuse(start, hinted)
		r.Serve(start.Add(2*time.Second), 20, Went{})
		if r.Refuse(start.Add(4*time.Second), hinted); r.rate != want {
			t.Errorf("hinted %v: %v/s, want %v/s", hinted, r.rate, want)
		}
		if kept := r.catchUp.from != 0; kept != hinted {
			t.Errorf("hinted %v: the hold is made up for: %v", hinted, kept)
		}
	}
	var r Rate
	if r.Refuse(start, true); r.catchUp.from != 0 {
		t.Error("a hold is made up for although no rate was known")
	}
}

// TestRateAfterATrial: a refused trial begins a measurement with a refusal, as the very first refusal does.
func TestRateAfterATrial(t *testing.T) {
	for _, hinted := range []bool{false, true} {
		r := fallenTo1()
		now := start.Add(2 * time.Second)
		r.Serve(now, 2, Went{})
		r.Refuse(now, hinted)
		if want := (episode{start: now, lastRefusal: now, hinted: hinted}); r.episodes.count != 1 || r.episodes.list[0] != want {
			t.Errorf("%d episodes, %+v, want one, %+v", r.episodes.count, r.episodes.list[0], want)
		}
	}
}

// TestRateOfARowInATrial: what twice the pace was served for twenty seconds, where nobody says for how long it
// refuses, is the rate, and nothing is owed then; for less, it is not.
func TestRateOfARowInATrial(t *testing.T) {
	for _, test := range []struct {
		tried time.Duration
		want  float64
		owed  time.Duration
	}{{servedFor - 1, 1, longestDebt}, {servedFor, paceShare * 2, 0}} {
		r := fallenTo1()
		r.former.rate, r.former.up, r.former.tried = 0, true, test.tried.Seconds()
		end := start.Add(20 * time.Second)
		r.Serve(end, 40, Went{})
		r.former.trial = true // it may hold at once
		r.rate, r.setAt, r.episodes.servedSince = 1, start, 40
		r.Refuse(end, false)
		if got := r.former.owedTo.Sub(end); r.rate != test.want || got != test.owed {
			t.Errorf("tried for %v: %v/s, and %v are owed, want %v/s and %v", test.tried, r.rate, got, test.want, test.owed)
		}
	}
}

// TestRateAfterTwiceThePaceInVain: where nobody says for how long it refuses, a refused trial of twice the pace
// leaves what the pace had grown to before it, as far as that was served.
func TestRateAfterTwiceThePaceInVain(t *testing.T) {
	for _, served := range []int{7, 250, 320, 500} {
		begun, end := start.Add(300*time.Second), start.Add(301*time.Second)
		r := Rate{rate: 1, setAt: start, growth: minGrowth, meter: meter{from: start, served: served}, episodes: episodes{measuredFrom: start}, lastGrant: begun, former: formerRate{up: true, next: begun}}
		grown := r.rateAt(begun)
		r.Take(begun, begun, 1)
		r.Refuse(end, false)
		if want := max(1, min(paceShare*float64(served)/301, grown)); served < provenServed && r.rate != 1 || served >= provenServed && r.rate != want {
			t.Errorf("%d served: %v/s after the trial, want %v/s, and it had grown to %v/s", served, r.rate, want, grown)
		}
	}
}

// TestRateCutsAreForgotten: a pace that was lowered in vain may be lowered again once sixteen were served at
// it, or a trial has succeeded; a provisional rate is not lowered in vain, and one that follows on it grows as
// a first one.
func TestRateCutsAreForgotten(t *testing.T) {
	measured := func(served int, provisional bool) Rate {
		r := Rate{rate: 100, setAt: start, growth: minGrowth, provisional: provisional, episodes: episodes{servedSince: served, count: 1}, useless: maxUseless}
		r.episodes.list[0] = episode{start: start, lastRefusal: start, served: served}
		r.measure(start.Add(time.Second))
		return r
	}
	if r := measured(sameEpisode-1, false); r.rate != 100 || r.useless != maxUseless || r.growth != minGrowth {
		t.Errorf("%v/s, %d, growth %v, want 100/s, no cut, and the growth of before", r.rate, r.useless, r.growth)
	}
	if r := measured(provenServed, false); r.rate == 100 || r.useless != 0 {
		t.Errorf("%v/s, %d, want another rate, and all cuts forgotten", r.rate, r.useless)
	}
	if r := measured(sameEpisode, true); r.rate != paceShare*sameEpisode || r.useless != maxUseless || r.growth != maxGrowth || r.provisional {
		t.Errorf("%v/s, %d, growth %v after a provisional rate, want what was measured, no cut, and %v", r.rate, r.useless, r.growth, maxGrowth)
	}
	held := fallenTo1()
	held.useless = maxUseless
	held.ask(servedFor+100*time.Millisecond, 0)
	if held.Serve(start.Add(servedFor+100*time.Millisecond), provenServed, Went{}); held.former.trial || held.useless != 0 {
		t.Errorf("a trial %v, %d, want one that has succeeded, and all cuts forgotten", held.former.trial, held.useless)
	}
}

// TestRateNewEpisode: the row of refusals that belong to an episode begins anew with the next one.
func TestRateNewEpisode(t *testing.T) {
	var r Rate
	now := start
	r.Refuse(now, true)
	for _, test := range []struct {
		served          int
		after           time.Duration // the refusal before
		extra, episodes int
	}{
		{1, time.Second, 1, 1},
		{1, time.Second, 2, 1},
		{sameEpisode, time.Second, 0, 2},
		{1, longEpisode - 1, 1, 2},
		{1, longEpisode, 0, 3},
		{0, longEpisode, 0, 3},
	} {
		now = now.Add(test.after)
		if test.served > 0 {
			r.Serve(now, test.served, Went{})
		}
		if r.Refuse(now, true); r.episodes.extra != test.extra || r.episodes.count != test.episodes {
			t.Errorf("%d served: %d refusals in %d episodes, want %d in %d", test.served, r.episodes.extra, r.episodes.count, test.extra, test.episodes)
		}
	}
}

// TestRateOfAPause: what is served after a pause in asking begins with what had gathered, and is no rate that
// held.
func TestRateOfAPause(t *testing.T) {
	for _, paused := range []bool{false, true} {
		var r Rate
		now := start
		r.Refuse(now, true)
		if paused {
			r.serve(now)
			now = now.Add(10 * time.Second)
		}
		for range 40 {
			now = now.Add(time.Second)
			r.serve(now)
		}
		r.Refuse(now.Add(time.Second), true)
		if known := r.former.rate > 0; known == paused {
			t.Errorf("paused %v: a rate of %v/s held", paused, r.former.rate)
		}
	}
}

// TestRateTry: a trial of the former rate begins at the pace as it has risen, and one of twice the pace at what
// was measured.
func TestRateTry(t *testing.T) {
	for former, want := range map[float64]float64{0: 1, 10: math.Exp(maxGrowth * (1 + acceleration))} {
		r := Rate{rate: 1, setAt: start, growth: maxGrowth, episodes: episodes{measuredFrom: start}, lastGrant: start, former: formerRate{rate: former, up: former == 0, next: start.Add(time.Second)}}
		now := start.Add(time.Second)
		if r.Take(now, now, 1); r.rate != want || !r.former.trial || r.setAt != now {
			t.Errorf("former %v/s: a trial %v that begins at %v/s, want %v/s", former, r.former.trial, r.rate, want)
		}
	}
}

// TestRateOvertaken: refusals come at once, and answers may take seconds. What the server had counted when it
// refused is no part of what it serves after that, though it is answered later. But where the request is known
// to have been on its way, it counts if something else is served as well, however long it took: all of a window
// goes at once.
func TestRateOvertaken(t *testing.T) {
	const ms, took = time.Millisecond, 60 * time.Millisecond
	for _, test := range []struct {
		sent   time.Duration
		before bool
		want   float64
	}{
		{-took - ms, false, 1},
		{-took, false, 1},
		{-took + ms, false, 2},
		{-took - ms, true, 2},
		{-took, true, 2},
		{-took + ms, true, 2},
	} {
		var r Rate
		r.Answered(took, false)
		r.Refuse(start, true)
		r.Serve(start.Add(300*ms), 1, Went{Sent: start.Add(test.sent), BeforeRefusal: test.before})
		r.Serve(start.Add(1000*ms), 1, Went{Sent: start.Add(700 * ms)})
		r.Answered(took, false)
		r.Refuse(start.Add(2000*ms), true)
		if want := test.want * paceShare / 2; r.rate != want {
			t.Errorf("one that went %v after the refusal, known to be on its way %v: %v/s, want %v", test.sent, test.before, r.rate, want)
		}
	}
}

// TestRateUnshared: where nobody else uses what the server allows, few that were served between two refusals
// are all that came back: so each refusal ends an episode, and the growth falls with it, to less than a tenth
// in an episode.
func TestRateUnshared(t *testing.T) {
	for _, unshared := range []bool{false, true} {
		r, now := refusedAtRate(), start.Add(3*time.Second)
		r.serve(now)
		before := r.episodes.count
		r.Answered(0, unshared)
		r.Refuse(now, false)
		more, growth := 0, maxGrowth
		if unshared {
			more, growth = 1, 0.1/8*r.rate
		}
		if r.episodes.count != before+more || r.growth != growth {
			t.Errorf("unshared %v: %d episodes and not %d, a growth of %v, want %v", unshared, r.episodes.count, before+more, r.growth, growth)
		}
	}
}
