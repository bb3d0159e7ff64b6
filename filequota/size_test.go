//go:build unix

package filequota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// charge has so many processes charge a bucket by turns, some milliseconds apart, whether that is there or not. It returns how many bytes were
// written in a step at most.
func (p *process) charge(processes, steps, cost int) (most int, err error) {
	p.m.t.Helper()
	for i := range steps {
		p.m.pass(time.Duration(1+i%13) * time.Millisecond)
		p.name = fmt.Sprintf("process-%022d", i%processes) // as long as those of a Limiter
		r := p.request(0)
		r.Asks, r.More = nil, []int{cost}
		if _, err := p.Exchange(p.m.t.Context(), r); err != nil {
			return most, err
		}
		most = max(most, len(p.bucket("api").buf))
	}
	return most, nil
}

// TestSizes: how much a step writes of a log is as README.md says: of its tokens, of what is charged beyond them, and of processes.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		quotas                 string
		processes, steps, cost int
		most                   int
	}{
		{"1000/m log", 1, 1000, 1, 4400},
		{"1000/m log", 1, 6000, 7, 26_000},
		{"1000/m log", 512, 1000, 1, 34_000},
		{"1000/m sliding 1000", 1, 6000, 7, 10_000},
		{"100000/m log", 1, 6000, 70, 10_000},
	} {
		most, err := newMachine(t).process("", c.quotas).charge(c.processes, c.steps, c.cost)
		if err != nil || most > c.most || most < c.most*9/10 {
			t.Errorf("%d steps of %d of %s, %d processes: %d bytes, %v, want up to %d", c.steps, c.cost, c.quotas, c.processes, most, err, c.most)
		}
	}
}

// TestTooLarge: a state for which a file has no room is an error, until enough of it has passed; nothing of a step with that error has happened.
func TestTooLarge(t *testing.T) {
	m := newMachine(t)
	p := m.process("a", "1000/m log")
	r := p.request(0)
	for i := range 12 { // so that it takes fewer steps
		r.Statements = append(r.Statements, quota.Statement{Name: strings.Repeat("a", 21_000) + string(rune('a'+i)), Remaining: 1, Reset: time.Hour, ResetKnown: true})
	}
	p.exchange(r)
	most, err := p.charge(1, 6000, 7)
	if err == nil || !strings.Contains(err.Error(), "want 261952 at most") || most < 261_000 {
		t.Fatalf("%d bytes, %v", most, err)
	}
	before := peek(m.path())
	if _, err := p.charge(1, 1, 7); err == nil || peek(m.path()) != before {
		t.Errorf("then: %v, or it was written", err)
	}
	m.pass(16 * time.Minute) // for so long it is in debt, at most
	if most, err := p.charge(1, 10, 7); err != nil {
		t.Errorf("later: %d bytes, %v", most, err)
	}
}
