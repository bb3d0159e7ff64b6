package adaptive

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// FuzzLearn: whatever servers say, in whatever order, nothing panics, overflows or grows.
func FuzzLearn(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a request, an answer, and so on: what the bytes mean is written below"))
	for op := range byte(ops) {
		for _, hostile := range []byte{0, 7, 13, 255} {
			f.Add(slices.Repeat([]byte{op, hostile, 1, hostile, hostile, 2, hostile}, 20))
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		c := newChaos(t, bytes)
		for len(c.bytes) > 0 {
			c.step()
			c.check()
		}
		c.finish()
	})
}

// TestLearnAtRandom is FuzzLearn with bytes from a generator, so that every run of the tests has
// long sequences.
func TestLearnAtRandom(t *testing.T) {
	for seed := range whole.Or[uint64](100, 300) {
		random := rand.New(rand.NewPCG(seed, 0))
		bytes := make([]byte, 2000)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		c := newChaos(t, bytes)
		for len(c.bytes) > 0 {
			c.step()
			c.check()
		}
		c.finish()
	}
}

// TestPricesAtRandom: as TestLearnAtRandom, where all that is stated is of one limit, and nobody says what
// requests cost of it.
func TestPricesAtRandom(t *testing.T) {
	for seed := range whole.Or[uint64](100, 300) {
		random := rand.New(rand.NewPCG(seed, 1))
		bytes := make([]byte, 4000)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		c := newChaos(t, bytes)
		s := &c.servers[0]
		for len(c.bytes) > 0 {
			switch c.next() % 5 {
			case 0:
				c.now = c.now.Add(max(pick(c, spans[:9]), 0))
			case 1, 2:
				d := limit.Demand{Claims: 1, N: int(c.next()%8) + 1}
				f := flight{Ticket{Sent: c.now, N: d.N}, d}
				s.Take(c.now, c.now, &d, nil, 0, &f.ticket)
				c.flying[0] = append(c.flying[0], f)
			default:
				if len(c.flying[0]) == 0 {
					break
				}
				f := c.end(0)
				st := c.statement()
				st.Name, st.Counter, st.Unit = "", "", "tokens"
				if st.Reset, st.Resolution = pick(c, spans[:9]), pick(c, spans[:7]); c.next()%2 > 0 {
					st.Limit, st.Remaining = int64(c.next()), int64(c.next())
				}
				s.Learn(c.now, &f.ticket, Kind{Path: pick(c, units)}, &Answer{Refused: c.next()%4 == 0, Statements: append(c.statements()[:0], st), Cost: &f.demand})
			}
			c.check()
		}
		c.finish()
	}
}

// chaos has some Servers of one Site do what bytes say.
type chaos struct {
	t       *testing.T
	bytes   []byte
	now     monotime.Time
	clock   monotime.Clock
	site    Site
	config  Config
	servers [3]Server
	flying  [3][]flight
	reading [3][]Ticket // of answers that are being read, of which it is to be told when they were
}

// flight is a request in flight.
type flight struct {
	ticket Ticket
	demand limit.Demand
}

// What a step may be.
const (
	pass = iota
	take
	answer
	cancel
	overhear
	split
	restart
	remember
	inherit
	endReading
	ops
)

var (
	spans = []time.Duration{
		0, 1, -1, time.Millisecond, 999 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour,
		monotime.Longest - 1, monotime.Longest, monotime.Longest + 1, math.MaxInt64, math.MinInt64, -math.MaxInt64, -time.Second,
	}
	counts = []int{0, 1, 2, 3, 5, 10, 100, 5000, -1, 1 << 30, math.MaxInt32, math.MaxInt, math.MaxInt - 1, math.MinInt, math.MaxInt / 2, -7}
	rates  = []float64{0, 1, 0.5, 1e-300, 1e300, -1, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64, math.MaxInt32}
	units  = []string{"", quota.Requests, "tokens", "points"}
)

func newChaos(t *testing.T, bytes []byte) *chaos {
	t.Helper()
	c := &chaos{t: t, bytes: bytes, now: 1}
	c.clock.Start()
	c.config = Config{
		MaxHold: pick(c, []time.Duration{15 * time.Minute, 0, time.Second, monotime.Longest}), MaxStandstill: pick(c, []time.Duration{0, time.Second}),
		Spend: pick(c, []Spend{Auto, Eager, Balanced, Even}), SlowStart: c.next()%2 > 0, Random: func() float64 { return float64(c.next()) / 256 },
	}
	for i := range c.servers {
		c.servers[i].Init(&c.site, c.config)
	}
	return c
}

func (c *chaos) next() (b byte) {
	if len(c.bytes) > 0 {
		b, c.bytes = c.bytes[0], c.bytes[1:]
	}
	return b
}

func pick[T any](c *chaos, from []T) T { return from[int(c.next())%len(from)] }

func (c *chaos) statement() quota.Statement {
	return quota.Statement{
		Name: string(rune('a' + c.next()%40)), Counter: pick(c, []string{"", "x", "y"}), Unit: pick(c, units),
		Limit: int64(pick(c, counts)), Remaining: int64(pick(c, counts)), Reset: pick(c, spans), ResetKnown: c.next()%4 > 0,
		Resolution: pick(c, spans), Absolute: c.next()%3 == 0, Skew: pick(c, spans), Window: pick(c, spans),
	}
}

func (c *chaos) statements() (s []quota.Statement) {
	for range c.next() % 4 {
		s = append(s, c.statement())
	}
	return s
}

// step does what the next bytes say.
func (c *chaos) step() {
	i := int(c.next()) % len(c.servers)
	s := &c.servers[i]
	switch c.next() % ops {
	case pass:
		c.now = min(c.now.Add(min(max(pick(c, spans), 0), 365*24*time.Hour)), monotime.Time(monotime.Longest))
	case take:
		d := limit.Demand{Claims: 1, N: int(c.next()%8) + 1}
		if c.next()%2 > 0 {
			d.Costs = quota.Costs{pick(c, units[2:]): int64(c.next())}
		}
		f := flight{Ticket{Sent: c.now, N: d.N}, d}
		s.Take(c.now, max(c.now.Add(-time.Duration(c.next())), 1), &d, nil, float64(c.next()%3)/4, &f.ticket)
		c.flying[i] = append(c.flying[i], f)
	case answer:
		if len(c.flying[i]) == 0 {
			break
		}
		f := c.end(i)
		flags := c.next()
		a := Answer{
			Refused: flags&1 > 0, MayRefuse: flags&2 > 0, Lost: flags&4 > 0, HoldKnown: flags&8 > 0,
			Hold: pick(c, spans), HoldAbsolute: flags&16 > 0, HoldSkew: pick(c, spans), Statements: c.statements(), Cost: &f.demand,
		}
		if flags&16 > 0 {
			a.Cost = &limit.Demand{Claims: 1, N: f.demand.N, Costs: quota.Costs{pick(c, units): int64(max(pick(c, counts), 0))}}
		}
		a.Reading = flags&32 > 0
		if flags&64 > 0 {
			a.Concurrency = quota.Concurrency{Limit: int64(pick(c, counts)), Remaining: int64(pick(c, counts)), RemainingKnown: flags&128 > 0}
		}
		e := s.Learn(c.now, &f.ticket, Kind{}, &a)
		if f.ticket.Reading {
			c.reading[i] = append(c.reading[i], f.ticket)
		}
		if e.Hold > c.config.MaxHold {
			c.t.Fatalf("held for %v, MaxHold is %v", e.Hold, c.config.MaxHold)
		}
		if e.Refused != a.Refused && !a.MayRefuse {
			c.t.Fatal("taken for a refusal")
		}
	case cancel:
		if len(c.flying[i]) > 0 {
			f := c.land(i)
			s.Cancel(&f.ticket, &f.demand)
		}
	case overhear:
		st := c.statement()
		s.Overhear(c.now, &st, store.Doubt(&st))
	case split:
		switch c.next() % 8 {
		case 0:
			s.Leave()
		default:
			s.SplitOff(pick(c, []string{"", "x", "y"}), &c.servers[(i+1)%len(c.servers)])
		}
	case restart:
		s.Restart(c.next()%2 > 0)
	case remember:
		m := s.Memory(c.now, &c.clock)
		if c.next()%2 > 0 {
			m = c.memory()
		}
		b, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil && c.sane(&m) {
			c.t.Fatal(err)
		}
		if s.Fresh() {
			s.Remember(c.now, &m, &c.clock)
		}
	case inherit:
		m := c.memory()
		s.Inherit(c.now, &m, &c.clock)
	case endReading:
		if n := len(c.reading[i]); n > 0 {
			s.EndReading(&c.reading[i][n-1], &Kind{})
			c.reading[i] = c.reading[i][:n-1]
		}
	}
}

// land takes a request of a Server out of those in flight.
func (c *chaos) land(i int) flight {
	j := int(c.next()) % len(c.flying[i])
	f := c.flying[i][j]
	c.flying[i] = slices.Delete(c.flying[i], j, j+1)
	return f
}

// end ends a request of a Server.
func (c *chaos) end(i int) flight {
	f := c.land(i)
	c.servers[i].End(&f.ticket, &f.demand)
	return f
}

func (c *chaos) memory() (m Memory) {
	m = Memory{
		Rate: pick(c, rates), Growth: pick(c, rates), At: c.clock.Date(c.now.Add(pick(c, spans[:9]))), Former: pick(c, rates), Burst: pick(c, counts),
		FailuresRefuse: c.next()%2 > 0,
	}
	for range c.next() % 40 {
		early := c.clock.Date(c.now.Add(pick(c, spans[:11])))
		m.Windows = append(m.Windows, WindowMemory{
			Name: string(rune('a' + c.next()%40)), Unit: pick(c, units), Limit: pick(c, counts), Remaining: pick(c, counts),
			Early: early, Late: c.clock.Date(c.now.Add(pick(c, spans[:11]))), Resolution: pick(c, spans), Span: pick(c, spans),
			Began: pick(c, spans), BeganWithin: pick(c, spans), Habits: c.habits(),
		})
	}
	return m
}

func (c *chaos) habits() (h Habits) {
	h = Habits{
		Floors: c.next()%2 > 0, Millis: c.next()%2 > 0, WholeSteps: pick(c, counts), Refill: pick(c, rates), Raises: c.next()%2 > 0,
		EarlyFailed: pick(c, counts), RefillFailed: pick(c, counts), EmptyReset: c.next()%2 > 0,
		BackAfter: pick(c, spans), BackWithin: pick(c, spans), BackConfirmed: pick(c, counts), BehindFailed: pick(c, counts),
	}
	if c.next()%2 > 0 {
		h.Price = &PriceMemory{Mean: pick(c, rates), Variance: pick(c, rates)}
	}
	return h
}

// sane reports whether a Memory is not one that chaos has made up, which JSON has no numbers for.
func (c *chaos) sane(m *Memory) bool {
	finite := func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
	for _, w := range m.Windows {
		if p := w.Price; !finite(w.Refill) || p != nil && (!finite(p.Mean) || !finite(p.Variance)) {
			return false
		}
	}
	return finite(m.Rate) && finite(m.Growth) && finite(m.Former)
}

// check checks what always holds.
func (c *chaos) check() {
	c.t.Helper()
	for i := range c.servers {
		s := &c.servers[i]
		want := 0
		for _, f := range c.flying[i] {
			want += f.demand.N
		}
		if s.InFlight() != want {
			c.t.Fatalf("in flight: %d, want %d", s.InFlight(), want)
		}
		reading := 0
		for _, t := range c.reading[i] {
			reading += t.N
		}
		if s.reading != reading {
			c.t.Fatalf("answers to %d are being read, want %d", s.reading, reading)
		}
		if s.atOnce != nil && !s.atOnce.Fits(1) {
			c.t.Fatalf("not even one may go: %+v", s.atOnce)
		}
		if len(s.windows) > maxWindows || len(c.site.compared) > maxCompared || len(s.otherUnits) > len(units) {
			c.t.Fatalf("%d windows, %d compared, %d units", len(s.windows), len(c.site.compared), len(s.otherUnits))
		}
		for _, w := range s.windows {
			c.checkWindow(s, w)
		}
		c.checkDue(s)
	}
}

func (c *chaos) checkWindow(s *Server, w *window) {
	c.t.Helper()
	if len(w.overlap.comparisons) > maxCompared || w.overlap.users != nil && !slices.Contains(w.overlap.users, s) {
		c.t.Fatalf("overlap: %+v", w.overlap)
	}
	if w.stated < 0 || w.reset.early > w.reset.late && !w.reset.roundsDown || w.refill.refills && !(w.refill.rate > 0) {
		c.t.Fatalf("window: %+v", *w)
	}
	if l := w.seek; l.least < 0 || l.most < 0 || l.from > c.now || len(w.sought) > maxSought {
		c.t.Fatalf("seek: %+v at %d", l, c.now)
	}
	if p := w.price; p != nil {
		c.checkPrice(p)
	}
	if o := w.others.perOurToken; !(o >= 0 && o <= maxPerOurToken) {
		c.t.Fatalf("others: %+v", w.others)
	}
	// The hold and its jitter.
	if bound := c.config.MaxHold; w.nextLook > c.now.Add(bound) {
		c.t.Fatalf("the look goes in %v, MaxHold is %v", w.nextLook.Sub(c.now), bound)
	}
}

// checkPrice checks that a price is one, and no product of it is beyond what servers may state.
func (c *chaos) checkPrice(p *price) {
	c.t.Helper()
	if !(p.mean >= 0 && p.mean <= maxTokens && p.variance >= 0 && p.first >= 0) || len(p.kinds) > maxPricedKinds {
		c.t.Fatalf("price: %+v", p)
	}
	if part := p.streaming.part(p.mean); !(part >= 0 && part <= 1) || p.owed(1000) < 0 || p.owed(1000) > maxTokens {
		c.t.Fatalf("%v of a price is charged when its answer begins, and for 1000 that are being read, %d are to be: %+v", part, p.owed(1000), p)
	}
	for _, n := range []int{0, 1, 1000} {
		if a, b := p.times(n, nil), p.need(nil, n, 1000); a < 0 || a > maxTokens || b < 0 || b > maxTokens {
			c.t.Fatalf("%d requests cost %d, and need %d: %+v", n, a, b, p)
		}
	}
}

// checkDue checks when a request may go, and that more requests may not go earlier.
func (c *chaos) checkDue(s *Server) {
	c.t.Helper()
	// The pace rises with time, so that it may be due earlier if it is asked for later.
	var last monotime.Time
	for _, n := range []int{1, 2, 1000} {
		d := s.DueFrom(limit.Due{At: c.now}, &limit.Demand{}, of(n), nil, 0, false)
		switch {
		case d.Never || d.At < c.now:
			c.t.Fatalf("%+v at %d", d, c.now)
		case d.At < last && len(s.windows) == 0:
			c.t.Fatalf("%d requests may go at %d, fewer at %d", n, d.At, last)
		case n == 1 && s.Open(c.now, of(n), nil, 0) != (d.At <= c.now):
			c.t.Fatalf("Open and Due disagree: %+v at %d", d, c.now)
		}
		if o := s.DueFrom(limit.Due{At: c.now}, &limit.Demand{}, of(n), nil, 0, true); o.At > d.At && !s.pace.Known() {
			c.t.Fatalf("an optimist waits longer: %+v, %+v", o, d)
		}
		last = d.At
	}
}

// finish ends all requests: nothing is in flight then, and no wait is endless.
func (c *chaos) finish() {
	for i := range c.servers {
		s := &c.servers[i]
		for len(c.flying[i]) > 0 {
			f := c.end(i)
			s.LookOver(&f.ticket)
		}
		for j := range c.reading[i] {
			s.EndReading(&c.reading[i][j], &Kind{})
		}
		if s.InFlight() != 0 || len(s.otherUnits) != 0 {
			c.t.Fatalf("in flight: %d, %v", s.InFlight(), s.otherUnits)
		}
		// Where the user spreads a limit without a MaxWait, and where the pace was seen to be
		// slower than that, a request waits longer.
		bound := max(c.config.MaxHold, Patience) + time.Second
		if at := s.DueFrom(limit.Due{At: c.now}, &limit.Demand{}, of(1), nil, 0, false).At; at > c.now.Add(bound) && !s.pace.Known() && (c.config.Spend <= Eager || c.config.MaxStandstill > 0) {
			c.t.Fatalf("a request waits for %v, MaxHold is %v", at.Sub(c.now), c.config.MaxHold)
		}
		s.Windows(c.now)
		s.Sharing(nil)
	}
}
