//go:build unix

package filequota

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

const year = 365 * 24 * time.Hour

// make has a process that begins make the files of so many buckets.
func (m *machine) make(name string, n int) {
	m.t.Helper()
	p := m.process(name, "10/m log")
	for i := range n {
		r := p.request(1)
		r.Bucket, r.Serial = fmt.Sprint(name, i), 1
		p.exchange(r)
	}
}

// TestIdleFiles: whoever makes files removes those of buckets that are idle, also of such as were used before
// the machine was started anew.
func TestIdleFiles(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		m := newMachine(t)
		m.make("a", 300)
		m.pass(year)
		if restarted {
			m.clock.now, m.clock.boot = time.Minute, bootID{2}
		}
		m.make("b", 60)
		if files, err := os.ReadDir(m.dir); err != nil || len(files) != 60+1 {
			t.Errorf("restarted is %v: %d files, %v, want 60 and that of news", restarted, len(files), err)
		}
	}
}

// TestIdleFilesOfMany: of more than a thousand files, most who make one read no names, and some look at a
// thousand.
func TestIdleFilesOfMany(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct {
		files       int
		readAll     bool
		names, look int
	}{
		{1000, false, 1000, looksAt},
		{1100, false, 0, 0},
		{1100, true, mostNames, mostNames},
	} {
		for i := range c.files {
			if err := os.WriteFile(filepath.Join(m.dir, fileName(fmt.Sprint(i))), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		names, look := bucketFiles(m.dir, c.readAll)
		if len(names) != c.names || look != c.look {
			t.Errorf("of %d files: %d names, and a look at %d; want %d, and %d", c.files, len(names), look, c.names, c.look)
		}
	}
}

// TestIdleFilesOpen: for a process that has had an idle bucket open, it is a new one, or what others made of
// it, and nothing is lost.
func TestIdleFilesOpen(t *testing.T) {
	for _, used := range []int{0, 7} {
		for _, killed := range []bool{false, true} { // before it removes the file
			m := newMachine(t)
			a := m.process("a", "10/m log")
			a.ask(10)
			m.pass(year)
			if killed {
				if f, err := os.OpenFile(m.path(), os.O_RDWR, 0); err != nil || renew(f, peek(m.path()).seq+1, m.clock) != nil || f.Close() != nil {
					t.Fatal(err)
				}
			} else {
				m.make("b", 1)
			}
			if _, err := os.Stat(m.path()); (err == nil) != killed {
				t.Fatalf("killed is %v: %v", killed, err)
			}
			if used > 0 {
				if n := m.process("c", "10/m log").ask(used); n != used {
					t.Errorf("got %d, want %d", n, used)
				}
			}
			if n := a.ask(20); n != 10-used {
				t.Errorf("killed is %v, %d used: got %d", killed, used, n)
			}
			if h := peek(m.path()); h.lost != 0 {
				t.Error("it is lost")
			}
		}
	}
}

// TestIdleFilesStay: what is not idle stays, and so does what is lost, which a new bucket is not.
func TestIdleFilesStay(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(m *machine, a *process)
		after time.Duration
		got   int // of 10
	}{
		"within a day":  {after: 24 * time.Hour, got: 10},
		"a long window": {after: 48 * time.Hour, do: func(_ *machine, a *process) { a.Exchange(a.m.t.Context(), a.long(4)) }, got: 10},
		"held": {after: 48 * time.Hour, do: func(_ *machine, a *process) {
			r := a.request(0)
			r.Hold = 72 * time.Hour
			a.exchange(r)
		}},
		"truncated":           {after: year, do: func(m *machine, _ *process) { m.write(func([]byte) []byte { return nil }) }},
		"zeroed":              {after: year, do: func(m *machine, _ *process) { m.write(func(b []byte) []byte { return make([]byte, len(b)) }) }},
		"of a later version":  {after: year, do: func(m *machine, _ *process) { m.write(func(b []byte) []byte { b[9]++; return b }) }},
		"of an earlier state": {after: year, do: func(m *machine, _ *process) { m.write(earlier) }},
		"the clock went back": {after: -30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a := m.process("a", "10/m log")
			a.ask(10)
			a.ask(0)
			if c.do != nil {
				c.do(m, a)
			}
			m.pass(c.after)
			before, err := os.Stat(m.path())
			if err != nil {
				t.Fatal(err)
			}
			m.make("b", 5)
			if after, err := os.Stat(m.path()); err != nil || !os.SameFile(before, after) {
				t.Fatalf("it is gone: %v", err)
			}
			if n := m.process("c", "10/m log").ask(20); n != c.got {
				t.Errorf("got %d, want %d", n, c.got)
			}
		})
	}
}

// long is a request by a quota of 60 hours, too.
func (p *process) long(n int) *store.Request {
	q := p.m.process("long", "10/m log, 100/60h log")
	r := q.request(n)
	r.Asks[0].Cost = []int64{1, 1}
	return r
}

// earlier has all states be of an earlier version.
func earlier(b []byte) []byte {
	for _, b := range [][]byte{b[:stride], b[stride:]} {
		reseal(b, func(h *header, state []byte) {
			if len(state) > 0 {
				h.version--
				state[0]--
			}
		})
	}
	return b
}
