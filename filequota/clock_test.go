//go:build unix

package filequota

import (
	"strings"
	"testing"
	"time"
)

// TestClock is what becomes of a bucket when something happens to the clocks: 10 an hour, all used.
func TestClock(t *testing.T) {
	const used = 0
	for name, c := range map[string]struct {
		quotas string
		do     func(m *machine)
		lost   bool
		after  time.Duration // then something can be had
		want   int
	}{
		"nothing happens":                        {"10/h log", func(*machine) {}, false, time.Hour + 20*time.Millisecond, 10},
		"time passes":                            {"10/h log", func(m *machine) { m.pass(30 * time.Minute) }, false, 30*time.Minute + 20*time.Millisecond, 10},
		"the machine sleeps":                     {"10/h log", func(m *machine) { m.pass(30 * time.Minute); m.clock.asleep += 30 * time.Minute }, false, 30*time.Minute + 20*time.Millisecond, 10},
		"the wall clock is set":                  {"10/h log", func(m *machine) { m.clock.wall += int64(time.Hour) }, false, time.Hour + 20*time.Millisecond, 10},
		"it is set, and there are windows by it": {"10/h window grid", func(m *machine) { m.clock.wall += int64(90 * time.Minute) }, true, 30 * time.Minute, 10},
		"another container":                      {"10/h log", func(m *machine) { m.clock.boot = bootID{2} }, false, time.Hour + 20*time.Millisecond, 10},
		"the clock goes back":                    {"10/h log", func(m *machine) { m.clock.now -= 3 * time.Second; m.clock.wall -= 3e9 }, true, 6*time.Minute + 500*time.Millisecond, 1},
		"the clock goes back a little":           {"10/h log", func(m *machine) { m.clock.now -= time.Second; m.clock.wall -= 1e9 }, false, time.Hour + 1020*time.Millisecond, 10},
		"the machine is started anew":            {"10/h log", func(m *machine) { m.restart(30 * time.Minute) }, false, 30*time.Minute + 20*time.Millisecond, 9},
		"it is, and nobody knows":                {"10/h log", func(m *machine) { m.restart(30 * time.Minute); m.clock.boot = bootID{} }, true, 6*time.Minute + 500*time.Millisecond, 1},
		"it is, and runs for longer than before": {"10/4h log", func(m *machine) { m.restart(100 * time.Minute); m.clock.now = 90 * time.Minute }, false, 140*time.Minute + 20*time.Millisecond, 9},
		"it is, twice": {"10/h log", func(m *machine) {
			m.restart(20 * time.Minute)
			m.process("c", "10/h log").ask(0)
			m.restart(10 * time.Minute)
		}, false, 30*time.Minute + 20*time.Millisecond, 8},
		"it is, with the wall clock of before": {"10/h log", func(m *machine) { m.restart(-2 * time.Hour) }, false, time.Hour + 20*time.Millisecond, 10},
		"it is, and the window is short":       {"10/m log", func(m *machine) { m.restart(time.Hour) }, true, 6*time.Second + 500*time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a := m.process("a", c.quotas)
			if n := a.ask(10); n != 10 {
				t.Fatalf("got %d, want 10", n)
			}
			c.do(m)
			b := m.process("b", c.quotas)
			r := b.exchange(b.request(10))
			if r.Lost != c.lost || count(r) != used {
				t.Errorf("lost is %v, want %v; got %d", r.Lost, c.lost, count(r))
			}
			m.pass(c.after - time.Millisecond)
			if n := b.ask(10); n >= c.want {
				t.Errorf("before: %d", n)
			}
			m.pass(time.Millisecond)
			if n := b.ask(c.want + 1); n != c.want && !c.lost || n < c.want && c.lost {
				t.Errorf("then: %d, want %d", n, c.want)
			}
		})
	}
}

// restart starts the machine anew, so much later by the wall clock.
func (m *machine) restart(after time.Duration) {
	m.clock = reading{now: time.Minute, wall: m.clock.wall + int64(after), boot: bootID{m.clock.boot[0] + 1}}
}

// TestClockSlots: when the machine has slept, nothing is handed out before Limiters know it, if there are slots
// about.
func TestClockSlots(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "10/s burst 5")
	r := a.request(8)
	r.Asks[0].Within = -1
	if n := count(a.exchange(r)); n != 6 {
		t.Fatalf("got %d slots, want 6", n)
	}
	m.pass(time.Hour)
	m.clock.asleep += time.Hour
	reply := a.exchange(a.request(5))
	if count(reply) != 0 || reply.Hold != 140*time.Millisecond {
		t.Errorf("%d slots, held for %v", count(reply), reply.Hold)
	}
	m.pass(reply.Hold)
	if n := a.ask(5); n != 4 {
		t.Errorf("then: %d, want 4, what there is", n)
	}
}

// TestTwoMachines: two that share a directory are told.
func TestTwoMachines(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/h log"), m.process("b", "10/h log")
	other := reading{now: 5 * time.Hour, wall: m.clock.wall, boot: bootID{9}}
	b.clock = func() reading { return other }
	a.ask(1)
	b.ask(1)
	_, err := a.Exchange(t.Context(), a.request(1))
	if err == nil || !strings.Contains(err.Error(), "two machines use it") || !strings.Contains(err.Error(), m.path()) {
		t.Errorf("got %v", err)
	}
}

// TestClockHold: a hold ends when its server said, although the machine sleeps, or is started anew, meanwhile.
func TestClockHold(t *testing.T) {
	for name, do := range map[string]func(m *machine){
		"nothing happens":             func(m *machine) { m.pass(30 * time.Minute) },
		"the machine sleeps":          func(m *machine) { m.pass(30 * time.Minute); m.clock.asleep += 30 * time.Minute },
		"the machine is started anew": func(m *machine) { m.restart(30 * time.Minute) },
		"the wall clock is set":       func(m *machine) { m.pass(30 * time.Minute); m.clock.wall += int64(5 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a := m.process("a", "100/h log")
			r := a.request(0)
			r.Hold = time.Hour
			a.exchange(r)
			do(m)
			b := m.process("b", "100/h log")
			if r := b.exchange(b.request(1)); r.Lost || count(r) != 0 || r.Hold != 30*time.Minute {
				t.Errorf("lost is %v, %d slots, held for %v; want a hold of 30 minutes", r.Lost, count(r), r.Hold)
			}
		})
	}
}
