package filequota

import (
	"testing"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/throttle/store"
)

// A Store that Open has not made says so, and neither panics, nor waits, nor writes where the program was
// started.
func TestZeroStore(t *testing.T) {
	const want = "filequota: a zero Store, want one that Open has returned"
	s, transport := new(Store), &pacer.Transport{}
	_, asked := s.Exchange(t.Context(), &store.Request{Version: 1, Bucket: "api"})
	for name, err := range map[string]error{"Exchange": asked, "Load": s.Load(t.Context(), transport), "Save": s.Save(t.Context(), transport)} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
