package sharing

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// runs has a program run 24 times, with five requests each, 15 ms apart, at a server that serves 30 in 3 s and
// says what remains. It returns how long that takes.
func runs(t *testing.T, share, load bool) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 30, Window: 3 * time.Second}, pacertest.RateLimitDraft7)
		defer server.Close()
		var shared store.Memory
		var learned bytes.Buffer
		begin := time.Now()
		for range 24 {
			time.Sleep(15 * time.Millisecond)
			tr := &pacer.Transport{Base: lab.Direct(server), Rand: func() float64 { return 0.5 }}
			if share {
				tr.Quotas, tr.Shared.Store = pacer.Table{"/": quota.MustParse("1000/s")}, &shared
			}
			if load && learned.Len() > 0 {
				if err := tr.Load(&learned); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				resp, err := (&http.Client{Transport: tr}).Get("https://api.example.com/x")
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			learned.Reset()
			if err := tr.Save(&learned); err != nil {
				t.Fatal(err)
			}
			tr.Close()
		}
		took = time.Since(begin)
	})
	return took
}

// Runs of a program that share what servers say, and load what runs before have learned, wait for each reset
// once, as runs do that only share, or only load: what was said of the window before is not taken for what
// remains of this one.
func TestRunsThatShareAndLoad(t *testing.T) {
	for _, c := range []struct {
		share, load bool
		most        time.Duration
	}{{false, true, 9350 * time.Millisecond}, {true, false, 9500 * time.Millisecond}, {true, true, 9350 * time.Millisecond}} {
		t.Run(fmt.Sprintf("share %v, load %v", c.share, c.load), func(t *testing.T) {
			// 120 are four windows: the last begins after 9 s, and resets are known to a tenth of a second.
			if took := runs(t, c.share, c.load); took > c.most {
				t.Errorf("took %v, want %v at most", took, c.most)
			}
		})
	}
}
