package warmup

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
	"time"
)

// testdata/guava.json was recorded from Guava 31.1's RateLimiter on a fake
// stopwatch. All times in it are microseconds.
type guavaCase struct {
	Name string
	Tags []string
	New  struct {
		Kind       string // "bursty" or "warmup"
		Rate       number
		MaxBurst   number `json:"max_burst_s"`
		WarmUp     int64  `json:"warmup_us"`
		ColdFactor number `json:"cold_factor"`
		T0         int64
		Err        bool
	}
	Clock string // "advance": one caller that sleeps; "hold": many callers
	Ops   []guavaOp
	Final struct{ Max, Stored, Rate number }
}

type guavaOp struct {
	Op      string // "acquire", "try", "rate" or "sleep"
	T       int64  // when it is called
	N       int
	Timeout int64 // of try
	Rate    number
	D       int64 // of sleep
	Wait    int64
	OK      bool
	Err     bool
	Stored  number
	Next    int64 // when the next caller may go
}

// number is a float64 that JSON may write as "Infinity", "-Infinity" or "NaN".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"Infinity"`:
		*n = number(math.Inf(1))
	case `"NaN"`:
		*n = number(math.NaN())
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

func guavaCases(t *testing.T) []guavaCase {
	t.Helper()
	text, err := os.ReadFile("testdata/guava.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		CaseCount int `json:"case_count"`
		OpCount   int `json:"op_count"`
		Cases     []guavaCase
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ops := 0
	for _, c := range file.Cases {
		ops += len(c.Ops)
	}
	if len(file.Cases) != file.CaseCount || ops != file.OpCount || len(file.Cases) != 84 || ops != 1444 {
		t.Fatalf("%d cases with %d ops, want 84 with 1444", len(file.Cases), ops)
	}
	return file.Cases
}

func (c guavaCase) ramp() Ramp {
	if c.New.Kind == "warmup" {
		return Ramp{Rate: float64(c.New.Rate), WarmUp: micros(c.New.WarmUp), ColdFactor: float64(c.New.ColdFactor)}
	}
	burst := time.Duration(float64(c.New.MaxBurst) * 1e9)
	if burst == 0 {
		burst = -1 // zero is the default of a second
	}
	return Ramp{Rate: float64(c.New.Rate), MaxBurst: burst}
}

func (c guavaCase) tagged(tag string) bool { return slices.Contains(c.Tags, tag) }

// micros converts microseconds to a Duration, the longest one if they are too many.
func micros(us int64) time.Duration {
	if us > math.MaxInt64/1000 {
		return forever
	}
	return time.Duration(us) * time.Microsecond
}

// TestRampGuava replays every case. Where Guava is right, a Ramp must agree with it,
// up to the microseconds that Guava truncates. Where Guava is wrong (tag quirk),
// TestRampGuavaQuirk has the right answer. The totals make sure that no case is left
// out.
func TestRampGuava(t *testing.T) {
	treated := map[string]int{}
	total := map[string]int{}
	for _, c := range guavaCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			how := c.treatment()
			treated[how]++
			if how == "quirk" {
				if quirks[c.Name] == nil {
					t.Fatal("no test of what is right")
				}
				quirks[c.Name](t, c)
				return
			}
			r := replay{t: t, c: c, total: total}
			r.run()
		})
	}
	want := map[string]int{"within truncation": 77, "invalid": 2, "saturated": 2, "quirk": 3}
	for how, n := range want {
		if treated[how] != n {
			t.Errorf("%s: %d cases, want %d", how, treated[how], n)
		}
	}
	// Counted from the file by another program.
	wantOps := map[string]int{
		"waits": 1251, "grants of try": 18, "refusals of try": 17, "sleeps": 91, "rates": 33,
		"invalid calls": 9, "saturated waits": 1, "stored": 1302, "stored without a limit": 17,
		"next": 1313, "next at the end of time": 6,
	}
	for what, n := range wantOps {
		if total[what] != n {
			t.Errorf("%s: %d, want %d", what, total[what], n)
		}
	}
	if len(treated) != len(want) || len(total) != len(wantOps) {
		t.Errorf("treatments %v of cases and %v of ops, want %v and %v", treated, total, want, wantOps)
	}
}

func (c guavaCase) treatment() string {
	switch {
	case c.tagged("quirk"):
		return "quirk"
	case c.New.Err:
		return "invalid"
	case slices.ContainsFunc(c.Ops, func(op guavaOp) bool { return op.Next == math.MaxInt64 }):
		return "saturated"
	default:
		return "within truncation"
	}
}

// replay runs one case against a Ramp.
//
// Tolerance. Guava truncates the cost of a grant to whole microseconds in up to
// three parts (ramp, flat part, fresh tokens). In theory its next free instant may
// run up to 3 µs a grant ahead of ours; on these cases it was measured to run less
// than 1 µs a grant ahead. The test allows 1 µs a grant, and 2 µs more, since the
// instants at which the recorded caller comes are truncated, too.
//
// For Guava the drift is idle time, for a Ramp it is not: an instant that is d
// earlier stores d·max/span more tokens, where span is the time in which the store
// fills. A setRate keeps the share that is stored, so the drift keeps its share of
// the new max.
type replay struct {
	t      *testing.T
	c      guavaCase
	total  map[string]int
	grants int
}

func (p *replay) run() {
	t, ramp := p.t, p.c.ramp()
	if p.c.New.Err {
		// Guava refuses a rate of 0 and a negative warm-up. Here Validate reports the
		// rate, and a negative warm-up means that there is none, as documented.
		if bad := !(ramp.Rate > 0); (ramp.Validate() != nil) != bad {
			t.Errorf("Validate() = %v", ramp.Validate())
		}
		if ramp.WarmUp < 0 && ramp.curve() != (&Ramp{Rate: ramp.Rate}).curve() {
			t.Error("a negative WarmUp is not the same as none")
		}
		return
	}
	if err := ramp.Validate(); err != nil {
		t.Error(err)
	}
	ramp.Reserve(time.UnixMicro(p.c.New.T0), 0) // starts the clock
	for i, op := range p.c.Ops {
		now := time.UnixMicro(op.T)
		if op.Err {
			p.total["invalid calls"]++
			p.invalid(ramp, now, op)
			continue
		}
		switch op.Op {
		case "acquire":
			p.total["waits"]++
			p.wait(i, op, ramp.Reserve(now, op.N).Sub(now))
		case "try":
			at := ramp.Next(now, 0)
			if ok := at.Sub(now) <= max(micros(op.Timeout), 0); ok != op.OK {
				t.Errorf("op %d: try = %v in %v, want %v", i, ok, at.Sub(now), op.OK)
			}
			if !op.OK {
				p.total["refusals of try"]++
				break
			}
			p.total["grants of try"]++
			if got := ramp.Reserve(now, op.N); !got.Equal(at) {
				t.Errorf("op %d: Reserve = %v, but Next = %v", i, got, at)
			}
			p.wait(i, op, at.Sub(now))
		case "rate":
			p.total["rates"]++
			ramp.SetRate(now, float64(op.Rate))
		case "sleep":
			p.total["sleeps"]++
			continue
		default:
			t.Fatalf("unknown op %q", op.Op)
		}
		p.state(i, op, &ramp, now)
	}
}

// invalid replays a call that Guava refuses with an exception. Here Validate finds a
// rate that is not positive, a negative n panics, and an n of 0 takes nothing.
func (p *replay) invalid(ramp Ramp, now time.Time, op guavaOp) {
	p.t.Helper()
	switch before := ramp; {
	case op.Op == "rate":
		ramp.Rate = float64(op.Rate)
		if ramp.Validate() == nil {
			p.t.Errorf("Validate of rate %v = nil", op.Rate)
		}
	case op.N == 0:
		if at := ramp.Reserve(now, 0); !at.Equal(now) || ramp != before {
			p.t.Errorf("Reserve of 0 = %v and changed the state to %+v", at.Sub(now), ramp)
		}
	default:
		defer func() {
			if recover() == nil {
				p.t.Errorf("Reserve of %d did not panic", op.N)
			}
		}()
		ramp.Reserve(now, op.N)
	}
}

func (p *replay) wait(i int, op guavaOp, got time.Duration) {
	p.t.Helper()
	p.grants++
	if op.Wait == math.MaxInt64 {
		// 292 000 years are longer than the longest Duration, which is the answer.
		p.total["saturated waits"]++
		if got != forever {
			p.t.Errorf("op %d: wait = %v, want the longest", i, got)
		}
		return
	}
	if want := micros(op.Wait); got < 0 || (got-want).Abs() > p.tolerance() {
		p.t.Errorf("op %d: wait = %v, want %v ± %v", i, got, want, p.tolerance())
	}
}

func (p *replay) tolerance() time.Duration {
	return 2*time.Microsecond + time.Duration(p.grants)*time.Microsecond
}

func (p *replay) state(i int, op guavaOp, ramp *Ramp, now time.Time) {
	t := p.t
	t.Helper()
	next := ramp.Next(now, 0)
	if op.Next == math.MaxInt64 {
		p.total["next at the end of time"]++
		// 292 years after the instant 0, at which tokens were reserved.
		if want := time.UnixMicro(0).Add(forever); !next.Equal(want) {
			t.Errorf("op %d: next = %v, want %v", i, next, want)
		}
	} else {
		p.total["next"]++
		want := time.UnixMicro(op.Next)
		if now.After(want) {
			want = now
		}
		if d := next.Sub(want); d.Abs() > p.tolerance() {
			t.Errorf("op %d: next is off by %v, more than %v", i, d, p.tolerance())
		}
	}
	got, c := ramp.stored(now), ramp.curve()
	if ramp.Rate >= limitless {
		// Guava returns 0, infinity or NaN; a Ramp returns 0.
		p.total["stored without a limit"]++
		if got != 0 {
			t.Errorf("op %d: stored = %v, want 0", i, got)
		}
		return
	}
	p.total["stored"]++
	drift := 0.0
	if c.span > 0 {
		drift = float64(p.tolerance()) / c.span * c.max
	}
	if want := float64(op.Stored); !(math.Abs(got-want) <= 1e-9*c.max+drift) {
		t.Errorf("op %d: stored = %v, want %v ± %v", i, got, want, 1e-9*c.max+drift)
	}
}

// quirks are the right answers where Guava is wrong, by case.
var quirks = map[string]func(*testing.T, guavaCase){
	// Guava's interval of 0.5 µs is truncated to 0.
	"QUIRK rate above 1e6/s: the interval truncates to 0 us, nothing is ever throttled": func(t *testing.T, c guavaCase) {
		t.Helper()
		ramp, start := c.ramp(), time.UnixMicro(c.New.T0)
		taken := 0
		for i, op := range c.Ops {
			at := ramp.Reserve(start, op.N)
			if want := time.Duration(taken) * 500; at.Sub(start) != want {
				t.Errorf("op %d: goes at %v, want %v", i, at.Sub(start), want)
			}
			taken += op.N
		}
	},
	"QUIRK warm-up 0: storedPermits becomes NaN after the first idle and nothing is throttled again": noWarmUp,
	"QUIRK warm-up below 1 us counts as 0: same NaN":                                                 noWarmUp,
}

// noWarmUp expects that a WarmUp of 0 means no warm-up: then a Ramp is a SmoothBursty
// with its burst of one second. (The recorded waits are right until the first idle
// gap.)
func noWarmUp(t *testing.T, c guavaCase) {
	t.Helper()
	ramp := c.ramp()
	interval := time.Duration(1e9 / float64(c.New.Rate))
	ramp.Reserve(time.UnixMicro(c.New.T0), 0)
	next, stored := time.UnixMicro(c.New.T0), 0.0
	for i, op := range c.Ops {
		if op.Op == "sleep" {
			continue
		}
		now := time.UnixMicro(op.T)
		if now.After(next) { // as a textbook has it
			stored = min(stored+now.Sub(next).Seconds()*ramp.Rate, ramp.Rate)
			next = now
		}
		if at := ramp.Reserve(now, op.N); !at.Equal(next) {
			t.Errorf("op %d: goes at %v, want %v", i, at, next)
		}
		fresh := max(float64(op.N)-stored, 0)
		stored = max(stored-float64(op.N), 0)
		next = next.Add(time.Duration(math.Round(fresh * float64(interval))))
		if got := ramp.stored(now); math.Abs(got-stored) > 1e-9 {
			t.Errorf("op %d: stored = %v, want %v", i, got, stored)
		}
	}
	if !ramp.Next(next, 0).Equal(next) || !next.After(time.UnixMicro(c.Ops[len(c.Ops)-1].T)) {
		t.Error("not throttled at the end, after idling")
	}
}
