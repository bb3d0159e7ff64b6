//go:build unix

package filequota

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// use has so many processes ask a bucket for a token by turns, some milliseconds apart at least; or if there is
// a cost, charge that, whether it is there or not. It returns how many bytes were written in a step at most.
func (p *process) use(processes, steps, cost int) (most int, err error) {
	p.m.t.Helper()
	apart := time.Millisecond
	if cost > 0 {
		apart = max(apart, p.quotas[0].Per/time.Duration(7*steps)) // all of Per
	}
	for i := range steps {
		p.m.pass(time.Duration(1+i%13) * apart)
		p.name = fmt.Sprintf("process-%022d", i%processes) // as long as those of a Limiter
		r := p.request(1)
		if cost > 0 {
			r.Asks, r.More = nil, []int64{int64(cost)}
		}
		if _, err := p.Exchange(p.m.t.Context(), r); err != nil {
			return most, err
		}
		most = max(most, len(p.bucket("api").buf))
	}
	return most, nil
}

// TestSizes: how much a step writes of a log is as README.md says: of its tokens, of what is charged beyond
// them, and of processes.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		quotas                 string
		processes, asks, steps int
		cost                   int
		most                   int
	}{
		{"1000/h log", 1, 1000, 0, 0, 4400},
		{"1000/h log", 1, 1000, 6000, 1, 19_000},
		{"1000/h log", 1, 1000, 20_000, 7, 19_000},
		{"1000/m log", 512, 1000, 0, 0, 38_500},
		{"1000/m sliding 1000", 1, 0, 6000, 7, 13_500},
		{"100000/m log", 1, 0, 6000, 70, 13_500},
	} {
		p := newMachine(t).process("", c.quotas)
		most, err := p.use(c.processes, c.asks, 0)
		more, err2 := p.use(c.processes, c.steps, c.cost)
		if most, err = max(most, more), errors.Join(err, err2); err != nil || most > c.most || most < c.most*9/10 {
			t.Errorf("%d slots of %s, and %d steps of %d, of %d processes: %d bytes, %v, want up to %d", c.asks, c.quotas, c.steps, c.cost, c.processes, most, err, c.most)
		}
	}
}

// TestTooLarge: a state for which a file has no room is an error, until enough of it has passed; nothing of a
// step with that error has happened.
func TestTooLarge(t *testing.T) {
	m := newMachine(t)
	p := m.process("a", "1000/m log")
	r := p.request(0)
	for i := range 12 { // so that it takes fewer steps
		r.Statements = append(r.Statements, quota.Statement{Name: strings.Repeat("a", 21_000) + string(rune('a'+i)), Remaining: 1, Reset: time.Hour, ResetKnown: true})
	}
	p.exchange(r)
	most, err := p.use(1, 6000, 7)
	if err == nil || !strings.Contains(err.Error(), "want 261952 at most") || most < 261_000 {
		t.Fatalf("%d bytes, %v", most, err)
	}
	before := peek(m.path())
	if _, err := p.use(1, 1, 7); err == nil || peek(m.path()) != before {
		t.Errorf("then: %v, or it was written", err)
	}
	m.pass(16 * time.Minute) // for so long it is in debt, at most
	if most, err := p.use(1, 10, 7); err != nil {
		t.Errorf("later: %d bytes, %v", most, err)
	}
}
