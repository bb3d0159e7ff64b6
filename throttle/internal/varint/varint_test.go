package varint

import (
	"errors"
	"math"
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestReader(t *testing.T) {
	b := Append(nil, math.MinInt64, int64(-1))
	b = AppendString(b, "a\x00b", "")
	b = AppendBool(b, true, false)
	b = Append(b, monotime.Time(7))
	r := NewReader(b)
	n, m, s, none, yes, no, at := r.Int(math.MinInt64, 0), r.Int(-1, 0), r.String(), r.String(), r.Bool(), r.Bool(), r.Time()
	if n != math.MinInt64 || m != -1 || s != "a\x00b" || none != "" || !yes || no || at != 7 || r.Err() != nil || !r.Empty() {
		t.Errorf("read %d, %d, %q, %q, %v, %v, %d; error %v, all: %v", n, m, s, none, yes, no, at, r.Err(), r.Empty())
	}
}

// TestReaderMalformed: what cannot be read is an error, and zero or the nearest number from then on.
func TestReaderMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		bytes []byte
		read  func(r *Reader) int64
		want  int64
	}{
		"no number":           {nil, func(r *Reader) int64 { return r.Int(-5, 5) }, 0},
		"half a number":       {[]byte{0x80}, func(r *Reader) int64 { return r.Int(-5, 5) }, 0},
		"a number too large":  {Append(nil, 6), func(r *Reader) int64 { return r.Int(1, 5) }, 1},
		"a number too small":  {Append(nil, -6), func(r *Reader) int64 { return r.Int(-5, -2) }, -2},
		"more than there is":  {Append(nil, 3), func(r *Reader) int64 { return int64(r.Len()) }, 0},
		"an instant far away": {Append(nil, int64(math.MaxInt64)), func(r *Reader) int64 { return int64(r.Time()) }, 0},
		"a text that is cut":  {append(Append(nil, 3), 'a', 'b'), func(r *Reader) int64 { return int64(len(r.String())) }, 0},
		"neither true nor false": {[]byte{2}, func(r *Reader) int64 {
			if r.Bool() {
				return 1
			}
			return 0
		}, 0},
	} {
		r := NewReader(c.bytes)
		if got := c.read(r); got != c.want || !errors.Is(r.Err(), ErrMalformed) || r.Int(0, 9) != 0 || r.Bool() {
			t.Errorf("%s: read %d, want %d; error %v", name, got, c.want, r.Err())
		}
	}
}
