package filequota

import (
	"bytes"
	"testing"

	"github.com/gopacer/pacer/throttle/store"
)

// FuzzSlots: whatever is in a file, reading it neither panics nor takes more memory than a slot; and what is taken for whole is what
// was written.
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
