package adaptive

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// A server charges what an answer costs when it begins, when it has been read, or half of it each time. Each
// answer is read while up to five others begin; costs vary tenfold, and the server may round what remains to
// thousands.
func TestStreaming(t *testing.T) {
	for _, part := range []float64{1, 0.5, 0} {
		for _, grain := range []float64{1, 1000} {
			random := rand.New(rand.NewPCG(3, 5))
			kind := &Kind{Verb: "POST", Path: "/chat"}
			var p price
			var open []float64
			left, stated := 1e9, 1e9
			for range 2000 {
				cost := 40 * math.Pow(10, random.Float64())
				left -= part * cost
				if watched := p.beginReading(kind); watched {
					open = append(open, cost)
				} else if part < 1 { // it was watched for too short a time: more is in flight than is thought, and a request is refused
					p.streaming.heard = 0
					left += part * cost
					continue
				}
				now := math.Round(left/grain) * grain
				p.learn(stated-now, 0)
				for stated = now; len(open) > random.IntN(6); open = open[1:] {
					left -= (1 - part) * open[0]
					p.endReading(kind)
				}
			}
			if got := p.streaming.part(p.mean); math.Abs(got-part) > map[float64]float64{1: 0.1, 1000: 0.25}[grain] {
				t.Errorf("of %v that is charged at the begin, in steps of %v, %.2f is learned", part, grain, got)
			}
			if p.mean < 100 || p.mean > 220 {
				t.Errorf("part %v, in steps of %v: the mean cost is %.0f, want about 156", part, grain, p.mean)
			}
		}
	}
}

// What is still to be charged is in flight; of a server that charges at once, that is nothing.
func TestStreamingOwed(t *testing.T) {
	p := price{mean: 100, learned: priceMemory, streaming: streaming{seen: true, square: 1e9}}
	if got := p.owed(3); got != 300 {
		t.Errorf("three answers are being read, of 100 tokens that are charged later: %d are owed, want 300", got)
	}
	p.streaming.both = p.streaming.square
	if got := p.owed(3); got != 0 {
		t.Errorf("%d tokens are owed to a server that charges at once", got)
	}
	if p.owed(0) != 0 || (*price)(nil).owed(3) != 0 {
		t.Error("tokens are owed for nothing")
	}
}

// Nobody waits for the end of answers of which all is charged when they begin, until a request is refused.
func TestStreamingIsWatched(t *testing.T) {
	kind := &Kind{Verb: "POST", Path: "/chat"}
	p := price{mean: 100, learned: priceMemory}
	if p.streams() {
		t.Error("answers are watched before any was read for a while")
	}
	for i := range streamingEnough {
		if !p.beginReading(kind) {
			t.Fatalf("answer %d is not watched", i)
		}
		p.learn(100, 0)
		p.endReading(kind)
	}
	if p.beginReading(kind) || p.streams() {
		t.Error("answers are watched though nothing is charged at their end")
	}
	if p.streaming.heard = 0; !p.beginReading(kind) {
		t.Error("answers are not watched after a refusal")
	}
}

// An answer is in flight, and its end counts, only if its begin did: not that of a request which said what it
// costs, and whose answer is watched because the server states how many may be under way; nor where all counted
// when the answer began.
func TestStreamingEndsWhatBegan(t *testing.T) {
	chat, said := Kind{Verb: "POST", Path: "/chat"}, Kind{Verb: "POST", Path: "/said"}
	c := &convoy{bucket: newBucket(t, Config{})}
	begin := func(kind Kind, cost *limit.Demand) *Ticket {
		a := atATime(10, 5)
		a.Reading, a.Cost, a.Statements = true, cost, []quota.Statement{{Unit: "tokens", Limit: 1e6, Remaining: 1e6}}
		c.goes(1)
		t := c.flying[0]
		c.flying = nil
		c.End(t, nil)
		c.Learn(c.now, t, kind, &a)
		return t
	}
	c.EndReading(begin(chat, nil), &chat)
	p := c.window1().price
	p.streaming.square = 1e9 // all is charged at the end
	first := begin(chat, nil)
	other := begin(said, &limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 50}})
	if got, want := c.inFlightIn(c.window1()), p.owed(1); got != want {
		t.Errorf("%d tokens are still to be charged for one answer and one whose cost is known, want %d", got, want)
	}
	c.EndReading(other, &said)
	if got := p.kinds[len(p.kinds)-1]; got.kind != chat || got.served > 1e-3 {
		t.Errorf("an answer that never began has counted: %+v", p.kinds)
	}
	c.EndReading(first, &chat)
	if got := p.kinds[0].served; len(p.kinds) != 1 || math.Abs(got-1) > 1e-3 || p.streaming.begun != -p.of(&chat) {
		t.Errorf("one answer counts as %v: %+v", got, p)
	}
	p.streaming.both, p.streaming.heard = p.streaming.square, streamingEnough // all is charged at the begin
	first = begin(chat, nil)
	p.streaming.both, p.streaming.begun = 0, 0
	before := p.kinds[len(p.kinds)-1].served
	if c.EndReading(first, &chat); p.kinds[len(p.kinds)-1].served != before || p.streaming.begun != 0 {
		t.Errorf("an answer of which all had counted counts again, after %v: %+v", before, p)
	}
}

func TestGrain(t *testing.T) {
	var p price
	for i, test := range []struct{ limit, remaining, want int }{{0, 0, 0}, {8000, 8000, 8000}, {8000, 7000, 1000}, {8000, 0, 1000}, {8000, 3999, 1}, {8000, 4000, 1}} {
		if p.notice(test.limit, test.remaining); p.grain != test.want {
			t.Errorf("%d: grain %d after %d of %d, want %d", i, p.grain, test.remaining, test.limit, test.want)
		}
	}
}
