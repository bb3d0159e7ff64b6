package throttle

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/lease"
)

// A StoreEvent prints what happened, whatever its maker left out.
func TestStoreEventString(t *testing.T) {
	for _, test := range []struct {
		of   lease.EventKind
		e    StoreEvent
		want string
	}{
		{lease.Down, StoreEvent{Bucket: "a", Kind: StoreDown, Err: errDown}, "throttle: a: store not reached: no route to host"},
		{lease.Back, StoreEvent{Bucket: "a", Kind: StoreBack, Down: 1234567 * time.Microsecond}, "throttle: a: store reached again after 1.23s"},
		{lease.Slow, StoreEvent{Bucket: "a", Kind: StoreSlow, Err: errors.New("took 2s")}, "throttle: a: store is too slow: took 2s"},
		{lease.Lost, StoreEvent{Bucket: "a", Kind: StoreLost}, "throttle: a: store does not know the bucket: it is new, or was lost"},
		{lease.Others, StoreEvent{Bucket: "a", Kind: StoreOthers, Others: quota.MustParse("9/s, 5 tokens/m")}, `throttle: a: store has the bucket with other quotas, too: "9/s, 5 tokens/m"`},
		{"x", StoreEvent{Bucket: "a", Kind: "x"}, "throttle: a: store: x"},
	} {
		if got := fmt.Sprint(test.e); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if string(test.of) != string(test.e.Kind) {
			t.Errorf("%q is %q of package lease", test.e.Kind, test.of)
		}
	}
}
