package adaptive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// counted is what a Server knows that Count changes: all but what the passing of time tells, and what the
// resets say of a rate.
func (s *Server) counted() string {
	text := fmt.Sprint(s.sequence, s.inFlight, s.statedAt, s.silent, s.successes, s.strays, s.Steady())
	for _, w := range s.windows {
		refill := w.refill
		refill.drip, refill.blind = drip{}, blind{}
		text += fmt.Sprint("; ", w.name, w.unit, w.stated, w.remaining, w.nextRemaining, w.nextSince, w.lastAnswer, w.others.usedByUs, w.others.atStart, w.last, w.usedUpSince, w.looking, refill)
		if w.price != nil {
			text += fmt.Sprint(*w.price)
		}
	}
	return text
}

// TestCountIsLearn: two Servers see the same requests. One learns from all answers, the other counts what it
// may. They know the same, but for what others use, whatever the order of the answers.
func TestCountIsLearn(t *testing.T) {
	total, refills := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		config := Config{MaxHold: time.Minute, SlowStart: seed%2 == 0, Random: func() float64 { return 0 }}
		var site, fastSite Site
		var slow, fast Server
		slow.Init(&site, config)
		fast.Init(&fastSite, config)
		in := time.Hour
		if seed%3 == 0 {
			in = 10 * time.Second
		}
		units := []string{"", "tokens"}[:1+seed%2]
		left, now, counted := []int{1000, 100_000}, monotime.Time(1), 0
		type flight struct {
			slow, fast Ticket
			left       [2]int
		}
		var flights []flight
		var stated *inside.Mark
		kind := Kind{Verb: "GET", Path: "/a"}
		for step := range 400 {
			if now = now.Add(time.Duration(r.IntN(50)) * time.Microsecond); seed%3 == 0 && step < 100 {
				now = now.Add(50 * time.Millisecond) // the reset is always as far away: the limit comes back token by token
				stated = nil
			}
			d := limit.Demand{Claims: 1, N: 1}
			if open := slow.Open(now, &d, &kind, 0); open && (len(flights) == 0 || r.IntN(2) == 0) {
				f := flight{slow: Ticket{Sent: now, N: 1}, fast: Ticket{Sent: now, N: 1}}
				slow.Take(now, now, &d, &kind, 0, &f.slow)
				if fast.Steady() && fast.OpenSteady(now, 1, &kind) {
					fast.TakeSteady(now, &f.fast)
				} else {
					fast.Take(now, now, &d, &kind, 0, &f.fast)
				}
				if f.fast != f.slow {
					t.Fatalf("seed %d: ticket %+v, want %+v", seed, f.fast, f.slow)
				}
				left[0]--
				left[1] -= 90 + r.IntN(20)
				copy(f.left[:], left)
				flights = append(flights, f)
			} else if len(flights) > 0 {
				i := r.IntN(len(flights))
				f := flights[i]
				flights = append(flights[:i], flights[i+1:]...)
				var said []quota.Statement
				for k, unit := range units {
					said = append(said, quota.Statement{Unit: unit, Limit: int64([]int{1000, 100_000}[k]), Remaining: int64(f.left[k]), Reset: in, ResetKnown: true, Resolution: time.Second})
				}
				slow.End(&f.slow, nil)
				slow.Learn(now, &f.slow, kind, &Answer{Statements: said})
				if of := stated; of != nil && fast.Steady() && fast.Count(of, numbers(f.left[:len(units)]...), now, &f.fast, &kind) {
					counted++
				} else {
					fast.End(&f.fast, nil)
					fast.Learn(now, &f.fast, kind, &Answer{Statements: said})
					stated = fast.Stated(said)
				}
			}
			if got, want := fast.counted(), slow.counted(); got != want {
				t.Fatalf("seed %d:\ngot  %s\nwant %s", seed, got, want)
			}
		}
		if fast.windows[0].refill.refills {
			refills++
		}
		if total += counted; counted == 0 {
			t.Fatalf("seed %d: no answer was counted", seed)
		}
	}
	if refills < 35 {
		t.Errorf("%d of 40 servers refill", refills)
	}
	if total < 10_000 {
		t.Errorf("%d of 24,000 answers were counted, want more than 10,000: the others come out of order", total)
	}
}

// numbers are how much remains of some limits.
func numbers(left ...int) *inside.Left {
	var all inside.Left
	copy(all[:], left)
	return &all
}

// TestSteadyNot: whatever there is to find out is no matter of counting.
func TestSteadyNot(t *testing.T) {
	says := func(left int) *Answer {
		return &Answer{Statements: []quota.Statement{{Limit: 100, Remaining: int64(left), Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}}
	}
	begin := func() (*Server, *inside.Mark) {
		s := &Server{}
		s.Init(&Site{}, Config{MaxHold: time.Minute, SlowStart: true, Random: func() float64 { return 0 }})
		var tk Ticket
		s.Take(1, 1, &limit.Demand{Claims: 1, N: 1}, &Kind{}, 0, &tk)
		tk.N, tk.Sent = 1, 1
		s.End(&tk, nil)
		a := says(50)
		s.Learn(2, &tk, Kind{}, a)
		return s, s.Stated(a.Statements)
	}
	s, of := begin()
	if of == nil || !s.Steady() || s.Timed() {
		t.Fatal("a server that counts down is not steady")
	}
	for name, left := range map[string][]int{"nothing": {0}, "more": {51}, "of none": {}} {
		if s.Count(of, numbers(left...), 3, &Ticket{N: 1, sequence: 9}, &Kind{}) {
			t.Errorf("%s remains, and is counted", name)
		}
	}
	if s.findOrAdd(limitName{name: "of two"}); s.Count(of, numbers(49, 3), 3, &Ticket{N: 1, sequence: 9}, &Kind{}) {
		t.Error("of two remains, and one of them is counted")
	}
	s, of = begin()
	if s.windows[0].refill.refills = true; s.Count(of, numbers(49), 3, &Ticket{N: 1}, &Kind{}) {
		t.Error("how fast a limit comes back is measured without a clock")
	}
	s.windows[0].refill.refills = false
	if s.Count(of, numbers(49), 3, &Ticket{N: 1, looks: true}, &Kind{}) {
		t.Error("the answer to a look is counted")
	}
	s.Add(5)         // went without the lock before the answer was heard
	const later = 10 // others that were unseen at the first answer would be seen
	if s.OpenSteady(later, 46, &Kind{}) || !s.OpenSteady(later, 45, &Kind{}) {
		t.Error("what went meanwhile is not taken from what may go")
	}
	s.Add(-5)
	if s.OpenSteady(later, 51, &Kind{}) || !s.OpenSteady(later, 50, &Kind{}) {
		t.Error("what remains is not what may go")
	}
	if !s.Count(of, numbers(49), 3, &Ticket{N: 1}, &Kind{}) || s.windows[0].remaining != 49 {
		t.Error("an answer that says the same is not counted")
	}
	if !s.Count(of, numbers(51), 3, &Ticket{N: 1, sequence: 1}, &Kind{}) || s.windows[0].remaining != 49 {
		t.Error("an answer that others have overtaken is not counted, or more remains by it")
	}
	if s.Stated(says(49).Statements) != of {
		t.Error("the same limit has another mark when it is stated again: of two goroutines that were told, one would count nothing")
	}
	if s.mark = nil; s.Stated(says(49).Statements) == of || s.Count(of, numbers(49), 3, &Ticket{N: 1}, &Kind{}) {
		t.Error("a mark is that of before, or counts, although the limits may be others")
	}
	if s.Stated([]quota.Statement{{Name: "another"}}) != nil {
		t.Error("a limit that is not known can be counted")
	}
	for name, change := range map[string]func(s *Server, w *window){
		"is one of its own":      func(s *Server, w *window) { s.separate(w, 50, 50) },
		"gave way to another":    func(s *Server, w *window) { s.leave(w); s.windows[0] = &window{remains: remains{remaining: 50}} },
		"is one of another, too": func(s *Server, w *window) { o, _ := begin(); o.merge(o.windows[0], s, w, 50, 0) },
	} {
		s, of := begin()
		if change(s, s.windows[0]); s.Count(of, numbers(49), 3, &Ticket{N: 1}, &Kind{}) {
			t.Errorf("a limit that now %s is counted", name)
		}
	}
	other, _ := begin()
	if other.Count(of, numbers(49), 3, &Ticket{N: 1}, &Kind{}) {
		t.Error("the limit of another server is counted")
	}
	for name, change := range map[string]func(s *Server){
		"a refusal":        func(s *Server) { s.Learn(3, &Ticket{N: 1, sequence: 9}, Kind{}, &Answer{Refused: true}) },
		"a slow start":     func(s *Server) { s.Restart(false) },
		"nothing remains":  func(s *Server) { s.Learn(3, &Ticket{N: 1, sequence: 9}, Kind{}, says(0)) },
		"a look":           func(s *Server) { s.windows[0].looking = true },
		"it is shared":     func(s *Server) { s.windows[0].overlap.users = []*Server{s, {}} },
		"costs in tokens":  func(s *Server) { s.addCosts(&limit.Demand{N: 1, Costs: quota.Costs{"tokens": 3}}, 1) },
		"contradictions":   func(s *Server) { s.contradicted = true },
		"nothing is known": func(s *Server) { s.windows = nil },
	} {
		if s, _ := begin(); true {
			if change(s); s.Steady() {
				t.Errorf("%s: steady", name)
			}
		}
	}
}

// contradicted reports whether answers contradict each other of a server with some counters, of which so much
// remains at first. Each counts down in the order in which requests come to it, and the answers to so many
// callers come in any order. Of five requests, one is of the first counter.
func contradicted(seed uint64, callers int, left []int) bool {
	r := rand.New(rand.NewPCG(seed, 7))
	var s Server
	s.Init(&Site{}, Config{MaxHold: time.Minute, Random: func() float64 { return 0 }})
	type flight struct {
		t       Ticket
		counter int
		left    int // zero before the server has counted it
	}
	var flights []*flight
	now, kind := monotime.Time(1), Kind{}
	for range 4000 {
		now = now.Add(time.Duration(r.IntN(50)) * time.Microsecond)
		if len(flights) < callers {
			f := &flight{t: Ticket{Sent: now, N: 1}, counter: min(r.IntN(5), len(left)-1)}
			s.Take(now, now, &limit.Demand{Claims: 1, N: 1}, &kind, 0, &f.t)
			flights = append(flights, f)
			continue
		}
		i := r.IntN(len(flights))
		f := flights[i]
		if f.left == 0 {
			left[f.counter]--
			f.left = left[f.counter]
			continue
		}
		flights = append(flights[:i], flights[i+1:]...)
		s.End(&f.t, nil)
		s.Learn(now, &f.t, kind, &Answer{Statements: []quota.Statement{{Limit: 1_000_000, Remaining: int64(f.left), Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}})
	}
	_, any := s.Contradicted()
	return any
}

// TestOvertakenIsNoContradiction: answers that overtake one another are of one counter, whatever they say; and
// two counters are not taken for one because of that.
func TestOvertakenIsNoContradiction(t *testing.T) {
	var one, two []string // the runs in which that is not so
	for seed := range uint64(20) {
		for _, callers := range []int{1, 2, 16, 64} {
			run := fmt.Sprintf("seed %d, %d callers", seed, callers)
			if contradicted(seed, callers, []int{1_000_000}) {
				one = append(one, run)
			}
			if !contradicted(seed, callers, []int{900_000, 400_000}) {
				two = append(two, run)
			}
		}
	}
	if len(one) > 0 {
		t.Errorf("the answers of one counter contradict each other in %d runs of 80, at first with %s", len(one), one[0])
	}
	if len(two) > 0 {
		t.Errorf("the answers of two counters do not contradict each other in %d runs of 80, at first with %s", len(two), two[0])
	}
}

// TestSteadyIsOpen: a request that may go without a look at the windows may go with one, too, whatever is in
// flight when a Server is found Steady, and in whatever order answers come: of requests, of tokens, of both,
// and where others use most of the limit.
func TestSteadyIsOpen(t *testing.T) {
	steady := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s Server
		s.Init(&Site{}, Config{MaxHold: time.Minute, Random: func() float64 { return 0 }})
		type flight struct {
			t    Ticket
			left []int
		}
		var flights []flight
		var stated *inside.Mark
		which := [][2]int{{0, 1}, {1, 2}, {0, 2}}[seed%3]
		units, full := []string{"", "tokens"}[which[0]:which[1]], []int{400, 4000}[which[0]:which[1]]
		left := slices.Clone(full)
		now, kind := monotime.Time(1), Kind{Verb: "GET", Path: "/a"}
		for step := range 600 {
			now = now.Add(time.Duration(r.IntN(50)) * time.Microsecond)
			open, atOnce := s.Open(now, &limit.Demand{Claims: 1, N: 1}, &kind, 0), stated != nil && s.OpenSteady(now, 1, &kind)
			if atOnce {
				steady++
			}
			if atOnce && !open {
				t.Fatalf("seed %d, step %d: a request may go at once that a look at the windows delays", seed, step)
			}
			if open && len(flights) < 12 && (len(flights) == 0 || r.IntN(2) == 0) {
				f := flight{t: Ticket{Sent: now, N: 1}}
				if atOnce {
					s.TakeSteady(now, &f.t)
				} else {
					s.Take(now, now, &limit.Demand{Claims: 1, N: 1}, &kind, 0, &f.t)
					stated = nil
				}
				for i, unit := range units {
					if left[i]--; unit != "" {
						left[i] -= 40 + r.IntN(20)
					} else if seed%5 == 0 {
						left[i] -= r.IntN(4) // others
					}
					left[i] = max(left[i], 0)
				}
				f.left = slices.Clone(left)
				flights = append(flights, f)
			} else if len(flights) > 0 {
				i := r.IntN(len(flights))
				f := flights[i]
				flights = append(flights[:i], flights[i+1:]...)
				if stated != nil && s.Count(stated, numbers(f.left...), now, &f.t, &kind) {
					continue
				}
				var said []quota.Statement
				for k, unit := range units {
					said = append(said, quota.Statement{Unit: unit, Limit: int64(full[k]), Remaining: int64(f.left[k]), Reset: time.Hour, ResetKnown: true, Resolution: time.Second})
				}
				s.End(&f.t, nil)
				s.Learn(now, &f.t, kind, &Answer{Statements: said})
				stated = s.Stated(said)
			}
		}
	}
	if steady < 1000 {
		t.Errorf("%d requests could go without a look, want more", steady)
	}
}

// TestSteadyInACrowd: what is left to others counts as if nothing remained, in both ways to take.
func TestSteadyInACrowd(t *testing.T) {
	begin := func(stated int) *Server {
		s := &Server{}
		s.Init(&Site{}, Config{MaxHold: time.Minute, Random: func() float64 { return 0 }})
		tk := Ticket{N: 1, Sent: 1}
		s.Take(1, 1, &limit.Demand{Claims: 1, N: 1}, &Kind{}, 0, &tk)
		s.End(&tk, nil)
		s.Learn(2, &tk, Kind{}, &Answer{Statements: []quota.Statement{{Limit: int64(stated), Remaining: 10, Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}})
		w := s.windows[0]
		w.refill.refills, w.refill.rate, w.refill.atMost, w.refill.crowd.left, w.refill.crowd.leaves, w.refill.maxHold = true, 1, 1, 5, true, time.Minute
		return s
	}
	for _, stated := range []int{100, 0} {
		slow, fast := begin(stated), begin(stated)
		if !fast.Steady() {
			t.Fatal("a server that counts down is not steady")
		}
		for now := monotime.Time(3); now < 20; now++ {
			open, atOnce := slow.Open(now, &limit.Demand{Claims: 1, N: 1}, &Kind{}, 0), fast.OpenSteady(now, 1, &Kind{})
			if atOnce && !open {
				t.Fatalf("at %d, a request may go at once that a look delays", now)
			}
			if !atOnce {
				break
			}
			a, b := Ticket{N: 1}, Ticket{N: 1}
			slow.Take(now, now, &limit.Demand{Claims: 1, N: 1}, &Kind{}, 0, &a)
			fast.TakeSteady(now, &b)
			if got, want := fast.counted(), slow.counted(); got != want {
				t.Fatalf("at %d:\ngot  %s\nwant %s", now, got, want)
			}
		}
	}
}
