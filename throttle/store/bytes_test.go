package store

import (
	"testing"

	"github.com/gopacer/pacer/throttle/internal/varint"
)

// TestKindNumbers: what a Ledger has written is read by later releases, so that a Kind keeps its number.
func TestKindNumbers(t *testing.T) {
	for text, number := range map[string]int64{"5/s even": 1, "5/s window": 2, "5/s window grid": 3, "5/s sliding 4": 4, "5/s log": 5, "5/s estimate": 6} {
		q := plain(quotas(t, text)[0])
		b := appendQuota(nil, &q)
		if got := varint.NewReader(b).Int(0, 99); got != number {
			t.Errorf("%s is written as %d, want %d", text, got, number)
		}
		r := varint.NewReader(b)
		if got := readQuota(r); got != q || r.Err() != nil {
			t.Errorf("%s is read as %+v, %v", text, got, r.Err())
		}
	}
}
