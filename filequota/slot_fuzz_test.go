//go:build unix

package filequota

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// FuzzSlots: whatever is in a file, reading it neither panics nor takes more memory than a slot; and what is
// taken for whole is what was written.
func FuzzSlots(f *testing.F) {
	h := header{version: version(), seq: 4, lineage: 7, now: 1, wall: 2}
	state, _ := new(store.Ledger).MarshalBinary()
	whole := packed(&h, state)
	f.Add(whole, uint16(0), byte(0))
	f.Add(whole, uint16(20), byte(4))
	f.Add(whole[:100], uint16(0), byte(0))
	f.Add([]byte{}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, bits byte) {
		if s, err := readSlots(bytes.NewReader(b)); err != nil || s.ok && len(s.state) > len(b) {
			t.Errorf("%+v, %v", s, err)
		} else if s.ok {
			again := packed(&s.h, s.state)
			if r, err := readSlots(bytes.NewReader(again)); err != nil || !bytes.Equal(r.state, s.state) && s.h.seq&1 == 0 {
				t.Errorf("%+v, %v", r, err)
			}
			_ = new(store.Ledger).UnmarshalBinary(s.state)
		}
		h := header{version: version(), seq: 2, lineage: 1}
		changed := packed(&h, b[:min(len(b), 4096)])
		if bits == 0 || int(at) >= len(changed) {
			return
		}
		changed[at] ^= bits
		if s, _ := readSlots(bytes.NewReader(changed)); s.ok {
			t.Errorf("a slot is whole with another byte at %d", at)
		}
	})
}

// FuzzStep: whatever somebody writes into a file, in slots that are whole, a step neither panics nor hands out
// more than is asked for; and the next one goes on.
func FuzzStep(f *testing.F) {
	state, _ := new(store.Ledger).MarshalBinary()
	f.Add(state, int64(time.Hour), int64(0), int64(0), int64(0), byte(1))
	f.Add(state[:5], int64(0), int64(-5), int64(1e18), int64(-1e18), byte(2))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, state []byte, now, shift, wall, until int64, boot byte) {
		m := machineOf(t, dir)
		h := header{
			version: version(), seq: 2, lineage: 1, boot: bootID{boot}, now: time.Duration(now), shift: time.Duration(shift), wall: wall,
			until: time.Duration(until), hold: time.Duration(until), asleep: time.Duration(shift), turned: wall,
		}
		b := append(packed(&h, state[:min(len(state), mostState)]), make([]byte, stride)...)
		b = append(b[:stride], make([]byte, headerSize)...)
		if err := os.WriteFile(m.path(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		p := m.process("a", "10/m log, 60/2s window grid")
		for range 2 {
			r := p.request(20)
			r.Asks[0].Cost = []int64{1, 1}
			if n := count(p.exchange(r)); n > 10 {
				t.Errorf("got %d", n)
			}
		}
	})
}
