//go:build unix

package filequota

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// machine is a machine with clocks that a test sets.
type machine struct {
	t   *testing.T
	dir string

	mu    sync.Mutex // protects clock where a Store listens
	clock reading
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := machineOf(t, t.TempDir())
	oldDir(t, m.dir)
	return m
}

func machineOf(t *testing.T, dir string) *machine {
	t.Helper()
	return &machine{t: t, dir: dir, clock: reading{now: time.Hour, wall: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), boot: bootID{1}}}
}

// pass has time pass.
func (m *machine) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.now += d
	m.clock.wall += int64(d)
}

// read reads the clocks.
func (m *machine) read() reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock
}

func (m *machine) path() string { return filepath.Join(m.dir, fileName("api")) }

// process is one that shares the directory.
type process struct {
	*Store
	m      *machine
	quotas quota.Quotas
	serial int64
	name   string
}

func (m *machine) process(name, quotas string) *process {
	m.t.Helper()
	s, err := Open(m.dir, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	s.clock = m.read
	return &process{Store: s, m: m, quotas: quota.MustParse(quotas).Explicit(), name: name}
}

func (p *process) request(n int) *store.Request {
	p.serial++
	return &store.Request{
		Version: 1, Bucket: "api", Quotas: p.quotas, SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
		Member: p.name, Serial: p.serial, Asks: []store.Ask{{Cost: []int64{1}, Count: n, Within: 0}},
	}
}

func (p *process) exchange(r *store.Request) *store.Reply {
	p.m.t.Helper()
	reply, err := p.Exchange(p.m.t.Context(), r)
	if err != nil {
		p.m.t.Fatal(err)
	}
	return reply
}

// ask returns how many of n are to be had at once.
func (p *process) ask(n int) (got int) {
	p.m.t.Helper()
	return count(p.exchange(p.request(n)))
}

func count(r *store.Reply) (n int) {
	for _, s := range r.Slots {
		n += s.Count
	}
	return n
}

// write changes the file of the bucket in place.
func (m *machine) write(change func(b []byte) []byte) {
	m.t.Helper()
	b, err := os.ReadFile(m.path())
	if err == nil {
		err = os.WriteFile(m.path(), change(b), 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// TestFileDamaged: a file in which there is no whole slot is a lost bucket, and not a new one; also to who has
// had it open.
func TestFileDamaged(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"truncated to nothing": func([]byte) []byte { return nil },
		"truncated":            func(b []byte) []byte { return b[:100] },
		"foreign":              func([]byte) []byte { return []byte(strings.Repeat("{\"quota\": 1}\n", 100_000)) },
		"zeroed":               func(b []byte) []byte { return make([]byte, len(b)) },
		"bits flipped in both": func(b []byte) []byte { b[headerSize+9] ^= 4; b[stride+headerSize+9] ^= 4; return b },
		"no states":            func(b []byte) []byte { clear(b[headerSize:stride]); clear(b[stride+headerSize:]); return b },
		"slots exchanged":      func(b []byte) []byte { return append(append([]byte{}, b[stride:]...), b[:stride]...) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a := m.process("a", "10/m log")
			for range 2 { // so that both slots have a state
				if n := a.ask(1); n != 1 {
					t.Fatalf("got %d, want 1", n)
				}
			}
			m.write(change)
			b := m.process("b", "10/m log")
			r := b.exchange(b.request(10))
			if !r.Lost || count(r) != 0 {
				t.Errorf("lost is %v, with %d slots, want true, without any", r.Lost, count(r))
			}
			if r := a.exchange(a.request(10)); count(r) != 0 {
				t.Errorf("who had it open got %d", count(r))
			}
			m.pass(6500 * time.Millisecond) // a tenth of the window after the horizon
			if n := b.ask(10); n != 1 {
				t.Errorf("after a tenth of the window: %d, want 1", n)
			}
		})
	}
}

// TestFileBeingMade: a file that another process is about to make is new, wherever in that it is when it is
// found and when it is read.
func TestFileBeingMade(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
	f, err := os.Create(m.path())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b.clock = sync.OnceValue(func() reading { // when b has found it
		if err := a.begin(f); err != nil {
			t.Error(err)
		}
		return m.clock
	})
	if r := b.exchange(b.request(10)); r.Lost || count(r) != 10 {
		t.Errorf("lost is %v, with %d slots, want 10", r.Lost, count(r))
	}
}

// TestFileSequence: a file whose sequence is near its end is a lost bucket, once; and what is written then
// counts, for processes that begin later, too.
func TestFileSequence(t *testing.T) {
	for _, seq := range []uint64{lastSeq - 1, lastSeq, lastSeq + 1, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64} {
		m := newMachine(t)
		a := m.process("a", "5/h log")
		a.ask(1)
		a.ask(0)
		m.write(func(b []byte) []byte {
			s, err := readSlots(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			s.h.seq = seq
			copy(b[place(seq):], packed(&s.h, s.state))
			return b
		})
		lost := 0
		for i := range 6 {
			p := m.process(fmt.Sprint(i), "5/h log")
			r := p.exchange(p.request(5))
			if r.Lost {
				lost++
			}
			if n := count(r); n > 0 && seq >= lastSeq {
				t.Errorf("after %d: %d got %d, want none", seq, i, n)
			}
			m.pass(time.Second)
		}
		if lost != 1 || a.exchange(a.request(5)).Slots != nil {
			t.Errorf("after %d: lost %d times, want once", seq, lost)
		}
		if h := peek(m.path()); h.seq > 20 || h.lost == 0 {
			t.Errorf("after %d: the sequence is %d", seq, h.seq)
		}
	}
}

// TestFileTorn: whatever part of a slot is written when a process is killed, the file has the step before, or
// this one.
func TestFileTorn(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "1000/s burst 20")
	a.ask(1)
	a.ask(1)
	before, err := os.ReadFile(m.path())
	if err != nil {
		t.Fatal(err)
	}
	a.ask(2)
	after, err := os.ReadFile(m.path())
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) slots {
		s, err := readSlots(bytes.NewReader(b))
		if err != nil || !s.ok {
			t.Fatalf("%+v, %v", s, err)
		}
		return s
	}
	old, new := read(before), read(after)
	if new.h.seq != old.h.seq+1 {
		t.Fatalf("sequence %d after %d", new.h.seq, old.h.seq)
	}
	at := int(place(new.h.seq))
	end := at + headerSize + len(new.state)
	for n := at; n <= end; n++ {
		torn := append(append([]byte{}, after[:n]...), before[n:]...)
		s := read(torn)
		if want := old; !bytes.Equal(s.state, want.state) && !bytes.Equal(s.state, new.state) {
			t.Fatalf("torn after %d bytes: neither the one nor the other", n-at)
		}
		// What is written in another order is the one before, too.
		back := append(append([]byte{}, before[:n]...), after[n:]...)
		if s := read(back); s.h.seq != old.h.seq && s.h.seq != new.h.seq {
			t.Fatalf("torn before %d bytes: sequence %d", n-at, s.h.seq)
		}
	}
}

// TestFileCutAfterAnothersStep: a process whose own step is the older one, and whole, while the newest, which
// another process has made, was cut off with the second half of the file, does not take its own for the newest.
func TestFileCutAfterAnothersStep(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
	for a.ask(1); a.bucket("api").h.seq&1 != 0; a.ask(1) {
	}
	if got := b.ask(10); got == 0 {
		t.Fatal("nothing is left")
	}
	if err := os.Truncate(m.path(), 100_000); err != nil {
		t.Fatal(err)
	}
	if got := a.ask(10); got != 0 {
		t.Errorf("got %d, want none: b has all", got)
	}
}

// TestFileCutBeforeTheNewest: of a file that was truncated between its slots, the older one is whole, here that
// of a new bucket. Who comes then does not know that there was a newer one, and takes the bucket for lost.
func TestFileCutBeforeTheNewest(t *testing.T) {
	m := newMachine(t)
	if n := m.process("a", "10/m log").ask(10); n != 10 {
		t.Fatalf("%d at first", n)
	}
	m.write(func(b []byte) []byte { return b[:5000] })
	if n := m.process("b", "10/m log").ask(10); n != 0 {
		t.Errorf("%d for one that comes after it, want none", n)
	}
}

// TestFileCopy: an old copy that somebody puts in place of what is newer is a lost bucket to who knows the
// newer.
func TestFileCopy(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "10/m log")
	a.ask(1)
	a.ask(1)
	old, err := os.ReadFile(m.path())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		a.ask(1)
	}
	m.write(func([]byte) []byte { return old })
	if r := a.exchange(a.request(10)); !r.Lost || count(r) != 0 {
		t.Errorf("lost is %v, %d slots", r.Lost, count(r))
	}
}

// TestFileRemoved: who runs takes along what the bucket was when its directory is removed, or another one is
// there.
func TestFileRemoved(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
	if a.ask(2) != 2 || b.ask(4) != 4 {
		t.Fatal("want 2 and 4")
	}
	for i := range 3 {
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // a process that knows nothing makes it anew
			m.process("c", "10/m log").ask(0)
		}
		if n := a.ask(1); n != i%2 { // who makes the file gives time to others that may know more
			t.Fatalf("a got %d at once, want %d", n, i%2)
		}
		m.pass(afterSleep)
		if n := a.ask(1); n != 1 {
			t.Fatalf("a got %d, want 1", n)
		}
	}
	if n := b.ask(10); n != 0 {
		t.Errorf("b got %d, want none", n)
	}
	if n := m.process("d", "10/m log").ask(10); n != 0 {
		t.Errorf("a newcomer got %d, want none", n)
	}
}

// TestFileRemovedToEndAHold: while nobody runs, a hold ends with its file, and what was used is forgotten with
// it; while somebody runs, that one takes both along.
func TestFileRemovedToEndAHold(t *testing.T) {
	for _, runs := range []bool{false, true} {
		m := newMachine(t)
		a := m.process("a", "10/m log")
		a.ask(10)
		r := a.request(0)
		r.Hold = time.Hour
		a.exchange(r)
		if err := os.Remove(m.path()); err != nil {
			t.Fatal(err)
		}
		if runs {
			a.ask(0)
			m.pass(afterSleep)
		}
		b := m.process("b", "10/m log")
		r = b.request(0)
		r.Look = true
		if held := b.exchange(r).Hold > 0; held != runs {
			t.Errorf("somebody runs %v: held %v", runs, held)
		}
		want := 10
		if runs {
			want = 0
		}
		if got := b.ask(10); got != want {
			t.Errorf("somebody runs %v: %d are to be had, want %d", runs, got, want)
		}
	}
}

// TestFileRemovedTwice: who takes along what was in an earlier file hands out nothing before those could come
// who know a later one.
func TestFileRemovedTwice(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
	a.ask(1)
	b.ask(1)
	remove := func() {
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	a.ask(0)
	m.pass(afterSleep)
	if n := a.ask(6); n != 6 {
		t.Fatalf("got %d, want 6", n)
	}
	remove()
	lost := peek(m.path()).lost
	if n := b.ask(10); n != 0 {
		t.Errorf("who knows less got %d", n)
	}
	if peek(m.path()).lost == lost {
		t.Error("who knows more was not told")
	}
	m.pass(afterSleep - 1)
	if n := a.ask(10); n != 0 {
		t.Errorf("who knows more got %d at once", n)
	}
	m.pass(1)
	if n := b.ask(10); n != 2 {
		t.Errorf("then: %d, want 2", n)
	}
}

// TestFileRemovedTellsOnce: who takes along what was in a file that is gone tells others once to come, and not
// at each step: else all would wake one another until something may go.
func TestFileRemovedTellsOnce(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "10/m log")
	for range 2 { // and anew, if that file is removed, too
		a.ask(1)
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
		a.ask(1)
		told := peek(m.path()).lost
		if a.ask(1); told == 0 || peek(m.path()).lost != told {
			t.Errorf("others were told by %d, and then by %d, want one and the same", told, peek(m.path()).lost)
		}
		m.pass(afterSleep)
	}
}

// TestFileReplacedTwice: likewise if somebody renames a file of something else to the bucket's.
func TestFileReplacedTwice(t *testing.T) {
	for name, something := range map[string][]byte{
		"other things": bytes.Repeat([]byte("something else\n"), 20_000), "zeros": make([]byte, shortestFile), "nothing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
			a.ask(1)
			b.ask(1)
			replace := func() {
				other := filepath.Join(t.TempDir(), "other")
				err := os.WriteFile(other, something, 0o600)
				if err = errors.Join(err, os.Rename(other, m.path())); err != nil {
					t.Fatal(err)
				}
			}
			replace()
			a.ask(0)
			m.pass(afterSleep)
			got := a.ask(6)
			replace()
			if n := b.ask(10); n != 0 {
				t.Errorf("who knows less got %d", n)
			}
			if peek(m.path()).lost == 0 {
				t.Error("who knows more was not told")
			}
			a.ask(0)
			m.pass(afterSleep)
			if n := b.ask(10); got+n > 8 {
				t.Errorf("%d and then %d, want 8 at most", got, n)
			}
		})
	}
}

// TestFileRemovedDamaged: what was damaged and removed is lost, and not new.
func TestFileRemovedDamaged(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "10/m log")
	a.ask(3)
	m.write(func([]byte) []byte { return nil })
	if err := os.Remove(m.path()); err != nil {
		t.Fatal(err)
	}
	if r := a.exchange(a.request(10)); !r.Lost || count(r) != 0 {
		t.Errorf("lost is %v, %d slots", r.Lost, count(r))
	}
}

// TestFileLookedAt: who finds a bucket lost, and only looks, or asks for what there is not, finds it lost again
// at the next step.
func TestFileLookedAt(t *testing.T) {
	for what, damage := range map[string]func(m *machine, old []byte){
		"copied": func(m *machine, old []byte) { m.write(func([]byte) []byte { return old }) },
		"removed": func(m *machine, _ []byte) {
			m.write(func([]byte) []byte { return nil })
			if err := os.Remove(m.path()); err != nil {
				m.t.Fatal(err)
			}
		},
	} {
		for _, change := range []func(r *store.Request){
			func(r *store.Request) { r.Look = true },
			func(r *store.Request) { r.Version = -1 },
		} {
			m := newMachine(t)
			a := m.process("a", "10/m log")
			a.ask(1)
			old, err := os.ReadFile(m.path())
			if err != nil {
				t.Fatal(err)
			}
			a.ask(1)
			a.ask(1)
			damage(m, old)
			r := a.request(1)
			change(r)
			if _, err := a.Exchange(t.Context(), r); (err == nil) != r.Look {
				t.Fatal(err)
			}
			if reply := a.exchange(a.request(10)); !reply.Lost || count(reply) != 0 {
				t.Errorf("%s, then looked at (%v): lost is %v, %d slots", what, r.Look, reply.Lost, count(reply))
			}
		}
	}
}

// TestFileVersions: a later version is an error while it is in use, and lost then; an earlier one is lost. Who
// was there before does not disturb who came later.
func TestFileVersions(t *testing.T) {
	later := map[string]func(b []byte){
		"header": func(b []byte) { b[9]++ },
		"state":  func(b []byte) { reseal(b, func(h *header, _ []byte) { h.version++ }) },
	}
	for name, change := range later {
		t.Run("later "+name, func(t *testing.T) {
			m := newMachine(t)
			m.clock.wall = time.Now().UnixNano() // of the file, too
			a := m.process("a", "10/m log")
			a.ask(1)
			m.write(func(b []byte) []byte { change(b[:stride]); change(b[stride:]); return b })
			before, _ := os.ReadFile(m.path())
			for _, p := range []*process{a, m.process("b", "10/m log")} {
				_, err := p.Exchange(t.Context(), p.request(1))
				if err == nil || !strings.Contains(err.Error(), m.path()+" was written by a later version") {
					t.Errorf("got %v", err)
				}
			}
			if after, _ := os.ReadFile(m.path()); !bytes.Equal(before, after) {
				t.Error("it was changed")
			}
			m.pass(time.Hour)
			b := m.process("c", "10/m log")
			if r := b.exchange(b.request(10)); !r.Lost || count(r) != 0 {
				t.Errorf("later: lost is %v, %d slots", r.Lost, count(r))
			}
			if r := b.exchange(b.request(10)); r.Lost {
				t.Error("lost once more")
			}
		})
	}
	t.Run("earlier", func(t *testing.T) {
		m := newMachine(t)
		m.process("a", "10/m log").ask(1)
		m.write(earlier)
		b := m.process("b", "10/m log")
		if r := b.exchange(b.request(10)); !r.Lost || count(r) != 0 {
			t.Errorf("lost is %v, %d slots", r.Lost, count(r))
		}
	})
}

// reseal changes a slot, and has it be whole again.
func reseal(slot []byte, change func(h *header, state []byte)) {
	h, ok, _ := readHeader(slot)
	if !ok {
		return
	}
	slot = slot[:headerSize+h.length]
	change(&h, slot[headerSize:])
	h.put(slot)
}

// TestFileInPlace: nothing but a file is taken for the file of a bucket, and no link is followed.
func TestFileInPlace(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "elsewhere"), path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a := m.process("a", "10/m log")
			if err := make(m.path()); err != nil {
				t.Fatal(err)
			}
			_, err := a.Exchange(t.Context(), a.request(1))
			if err == nil || !strings.HasPrefix(err.Error(), "filequota: api: ") || !strings.Contains(err.Error(), m.path()) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(filepath.Join(m.dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the link was followed")
			}
			if err := os.Remove(m.path()); err != nil {
				t.Fatal(err)
			}
			if n := a.ask(1); n != 1 {
				t.Errorf("without it: %d, want 1", n)
			}
		})
	}
}

// TestLockHeld: who cannot have the lock gives up when its context ends, and leaves nothing behind.
func TestLockHeld(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
	a.ask(1)
	b.ask(1)
	held := b.bucket("api")
	if err := held.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	goroutines := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("no more time"))
	defer cancel()
	for range 3 {
		_, err := a.Exchange(ctx, a.request(1))
		if err == nil || !strings.Contains(err.Error(), "no more time") {
			t.Errorf("got %v", err)
		}
		a.serial--
	}
	for runtime.NumGoroutine() > goroutines+1 { // one waits for the lock; that of the context may still end
		runtime.Gosched()
	}
	held.release()
	if n := a.ask(10); n != 8 {
		t.Errorf("then: %d, want 8", n)
	}
	for runtime.NumGoroutine() > goroutines { // or the test does not end
		runtime.Gosched()
	}
}

// TestOpen: errors name the path, and what is wrong with it.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sticky, foreign := filepath.Join(dir, "sticky"), filepath.Join(dir, "foreign")
	if err := errors.Join(os.Mkdir(sticky, 0o700), os.Chmod(sticky, 0o777|fs.ModeSticky), os.Mkdir(foreign, 0o700)); err != nil {
		t.Fatal(err)
	}
	news := filepath.Join(foreign, "news")
	if err := errors.Join(os.Chmod(foreign, 0o770), os.WriteFile(news, []byte("of today"), 0o600)); err != nil {
		t.Fatal(err)
	}
	defer func() { // what is refused is as it was
		text, err := os.ReadFile(news)
		st, err2 := os.Stat(news)
		made, err3 := os.ReadDir(sticky)
		if err := errors.Join(err, err2, err3); err != nil || string(text) != "of today" || st.Mode() != 0o600 || len(made) > 0 {
			t.Errorf("%v; %q, %v; %v", err, text, st, made)
		}
	}()
	for path, want := range map[string]string{
		sticky:                           "filequota: " + sticky + " is for files of everybody (mode dtrwxrwxrwx), each of whom is kept from those of others: want a directory of your own, such as",
		foreign:                          "filequota: " + news + " is the file of another program: want a directory for quotas alone",
		"":                               "filequota: no directory is given",
		"~":                              "filequota: ~: only a shell knows what ~ is; want a directory such as one in os.UserCacheDir or os.UserHomeDir, or ./~ for one of that name",
		"~/.cache/q":                     "filequota: ~/.cache/q: only a shell knows what ~ is; want",
		file:                             "filequota: mkdir " + file + ": not a directory",
		filepath.Join(file, "below"):     "filequota: mkdir " + file + ": not a directory",
		"/proc/self/fd/filequota":        "filequota: mkdir /proc/self/fd/filequota: ",
		filepath.Join(dir, "a\x00b", ""): "filequota: mkdir ",
	} {
		if _, err := Open(path, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	made := filepath.Join(dir, "a", "b")
	group, everybody := filepath.Join(dir, "group"), filepath.Join(dir, "everybody")
	if err := errors.Join(os.Mkdir(group, 0o770), os.Chmod(group, 0o770), os.Mkdir(everybody, 0o777), os.Chmod(everybody, 0o777)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]fs.FileMode{made: {0o700, 0o600}, group: {0o770, 0o660}, everybody: {0o777, 0o660}} {
		m := newMachine(t)
		m.dir = path
		a := m.process("a", "1/s even")
		for _, removed := range []bool{false, true} {
			if removed {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
			a.ask(1)
			if err := a.Save(t.Context(), &text{word: "a"}); err != nil {
				t.Error(err)
			}
			for name, want := range map[string]fs.FileMode{path: want[0] | fs.ModeDir, m.path(): want[1], a.newsPath(): want[1], a.learnedPath(): want[1]} {
				if st, err := os.Stat(name); err != nil || st.Mode() != want {
					t.Errorf("%s: removed before is %v: %v, %v, want %v", name, removed, st, err, want)
				}
			}
		}
	}
}

// TestManyBuckets: files are closed when there are many, and buckets remain what they were. No file is one of
// two buckets.
func TestManyBuckets(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "2/h log")
	names := []string{"", ".", "..", "a/b", "a\\b", "A", "a", "CON", "con.txt", "ä", "\xff", "a:b", strings.Repeat("x", 1000), strings.Repeat("x", 1001)}
	for i := range 300 {
		names = append(names, fmt.Sprint("bucket ", i))
	}
	ask := func(name string) int {
		r := a.request(1)
		r.Bucket = name
		return count(a.exchange(r))
	}
	for want := range 3 {
		for _, name := range names {
			if got := ask(name); got != max(1-want/2, 0) {
				t.Fatalf("%q: got %d in round %d", name, got, want)
			}
		}
	}
	if n := len(a.buckets); n != mostOpen {
		t.Errorf("%d are open, want %d", n, mostOpen)
	}
	files, err := os.ReadDir(m.dir)
	if err != nil || len(files) != len(names)+1 {
		t.Errorf("%d files for %d buckets, %v", len(files), len(names), err)
	}
	for _, f := range files {
		if name := f.Name(); len(name) > 80 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
			t.Errorf("a file is named %q", name)
		}
	}
}

// TestLargeLogs: what would need a cell for each token takes 1000, and grants no more.
func TestLargeLogs(t *testing.T) {
	m := newMachine(t)
	a := m.process("a", "100000/h log")
	for i := range 3000 {
		if n := a.ask(20); n != 20 {
			t.Fatalf("after %d steps: %d", i, n)
		}
		m.pass(time.Second)
	}
	b := a.bucket("api")
	if b.h.length > 16<<10 {
		t.Errorf("%d bytes, want 16 kB at most", b.h.length)
	}
	r := a.request(1)
	r.Asks[0].Cost[0] = 40_001
	if n := count(a.exchange(r)); n != 0 {
		t.Error("got more than there is")
	}
	r = a.request(1)
	r.Asks[0].Cost[0] = 40_000
	if n := count(a.exchange(r)); n != 1 {
		t.Error("got less than there is")
	}
}

// TestParallel has many goroutines of two Stores use one bucket; the sum is what the quota grants.
func TestParallel(t *testing.T) {
	m := newMachine(t)
	var wait sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	stores := []*process{m.process("a", "50/m log"), m.process("b", "50/m log")}
	for i := range 8 {
		wait.Go(func() {
			p := *stores[i%2]
			p.name = string(rune('a' + i))
			for range 20 {
				r, err := p.Exchange(t.Context(), p.request(1))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				sum += count(r)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if sum != 50 {
		t.Errorf("%d were handed out, want 50", sum)
	}
}

// TestNews: what one process is told reaches the others, once.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		a, b := opened(t, dir, start), opened(t, dir, start)
		p := &process{m: &machine{t: t}, quotas: quota.MustParse("10/m log").Explicit(), name: "a"}
		if _, err := a.Exchange(t.Context(), p.request(1)); err != nil {
			t.Fatal(err)
		}
		var heard []store.News
		stop, err := b.Listen("api", func(n store.News) { heard = append(heard, n) })
		if err != nil {
			t.Fatal(err)
		}
		tell := func(s *Store, want ...store.News) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if !reflect.DeepEqual(heard, want) {
				t.Errorf("heard %+v, want %+v", heard, want)
			}
			heard = nil
		}
		r := p.request(0)
		tell(a)
		r.Hold = 10 * time.Second
		if _, err := a.Exchange(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		tell(a, store.News{Hold: 9 * time.Second}) // b is not in use, and looks each 2 s
		if err := os.Truncate(filepath.Join(dir, fileName("api")), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Exchange(t.Context(), p.request(0)); err != nil {
			t.Fatal(err)
		}
		tell(a, store.News{Lost: true, Sharing: 1})
		for _, name := range []string{"c", "d"} { // b is told of both at once
			q := &process{m: &machine{t: t}, quotas: p.quotas, name: name}
			if _, err := a.Exchange(t.Context(), q.request(0)); err != nil {
				t.Fatal(err)
			}
		}
		tell(a, store.News{Sharing: 3})
		r = p.request(0)
		r.Hold = time.Minute
		if _, err := a.Exchange(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r = p.request(0)
		r.Release = true
		if _, err := a.Exchange(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		tell(a, store.News{Released: true}) // and not of the hold before it
		if err := os.Truncate(filepath.Join(dir, fileName("api")), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Exchange(t.Context(), p.request(0)); err != nil {
			t.Fatal(err)
		}
		tell(a, store.News{Lost: true, Sharing: 1}) // and not of another release
		stop()
		stop()
		r = p.request(0)
		r.Hold = 20 * time.Second
		if _, err := a.Exchange(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		tell(a)
	}) // which ends when no goroutine is left
}

// TestLookAndRelease: looking changes nothing in the file; a debt ends for all processes, and so does a hold in
// the file.
func TestLookAndRelease(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/s burst 5"), m.process("b", "10/s burst 5")
	r := a.request(1)
	r.More, r.Hold = []int64{1000}, time.Hour
	a.exchange(r)
	before, err := os.ReadFile(m.path())
	if err != nil {
		t.Fatal(err)
	}
	m.pass(time.Second)
	for _, release := range []bool{false, true} {
		r := b.request(1)
		r.Look, r.Release = true, release
		if reply := b.exchange(r); (reply.Hold == 0) != release {
			t.Errorf("looking, with a release %v: held for %v", release, reply.Hold)
		}
	}
	if after, err := os.ReadFile(m.path()); err != nil || !bytes.Equal(after, before) {
		t.Errorf("looking has changed the file: %v", err)
	}
	r = b.request(0)
	r.Release, r.Leave = true, true
	b.exchange(r)
	m.pass(time.Second)
	if got := a.ask(20); got != 4 {
		t.Errorf("a second after the release %d are to be had, want 4: a burst of 5, but for SlotLife", got)
	}
}

// TestReleaseOfAHold: a hold that a person ends has ended for a process that runs, too, when that has looked.
func TestReleaseOfAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		quotas := quota.MustParse("10/s log")
		l := &throttle.Limiter{Name: "api", Quotas: quotas, Shared: throttle.Shared{Store: opened(t, dir, start)}, MaxStandstill: time.Minute}
		defer l.Close()
		g, err := l.Acquire(t.Context(), throttle.Claim{})
		if err != nil {
			t.Fatal(err)
		}
		g.Answered(throttle.Answer{Refused: true, Hold: &quota.Hold{For: 10 * time.Minute}})
		time.Sleep(time.Second)
		if err := l.Wait(t.Context(), 1); !errors.Is(err, throttle.ErrStandstill) {
			t.Fatalf("%v, want a hold of ten minutes", err)
		}
		ask := &store.Request{Version: 1, Bucket: "api", Member: "a person", Serial: 1, Quotas: quotas.Explicit(), Horizon: time.Second, Release: true, Leave: true}
		if _, err := opened(t, dir, start).Exchange(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookSeldom)
		synctest.Wait()
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Error(err)
		}
	})
}

// TestFiftyYears: costs that take 50 years and more get slots no further ahead than that; then none, and
// nothing is lost: also for processes that begin meanwhile.
func TestFiftyYears(t *testing.T) {
	m := newMachine(t)
	const years = 50 * 365 * 24 * time.Hour
	got := 0
	for i := range 12 {
		p := m.process(fmt.Sprint(i), "1/s burst 1 debt")
		r := p.request(1)
		r.Asks[0] = store.Ask{Cost: []int64{math.MaxInt}, Count: 1, Within: -1}
		reply := p.exchange(r)
		for _, s := range reply.Slots {
			if got++; s.In < 0 || s.In > years {
				t.Errorf("a slot in %v", s.In)
			}
		}
		if reply.Lost || got == 2 && reply.Next < years {
			t.Errorf("%d: %+v", i, reply)
		}
		m.pass(time.Second)
	}
	if got != 2 {
		t.Errorf("%d slots, want one now and one in 50 years", got)
	}
}

// TestManySlots: what a file remembers of calls, in case that they come again, takes little room, however many
// slots they got.
func TestManySlots(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"a", "b", "c"} {
		p := m.process(name, "100000/s even")
		r := p.request(1)
		r.Asks[0].Count, r.Asks[0].Within = 40_000, -1
		if n := count(p.exchange(r)); n < 10_000 {
			t.Errorf("%s got %d slots", name, n)
		}
		if b := p.bucket("api"); b.h.length > 2<<10 {
			t.Errorf("%s: %d bytes, want 2 kB at most", name, b.h.length)
		}
	}
}

// TestFull: the error of a file that is full says how large the state is, and nothing of it has happened.
func TestFull(t *testing.T) {
	m := newMachine(t)
	p := m.process("a", "10/s even")
	r := p.request(1)
	for i := range 16 {
		r.Statements = append(r.Statements, quota.Statement{Name: strings.Repeat("a", 20_000) + string(rune('a'+i)), Remaining: 1, Reset: time.Hour, ResetKnown: true})
	}
	_, err := p.Exchange(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "the state of the bucket has 32") || !strings.Contains(err.Error(), "want 261952 at most") {
		t.Errorf("error %v", err)
	}
	if n := p.ask(1); n != 1 {
		t.Errorf("then it gets %d slots, want 1", n)
	}
}
