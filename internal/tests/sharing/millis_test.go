package sharing

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// unaware is the store of a process that never finds out that resets are milliseconds, as one of an older
// pacer: it says 4980 s where others say 4.98 s.
type unaware struct{ store.Store }

// Exchange implements store.Store.
func (s unaware) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	o := *r
	o.Learned, o.Statements = "", slices.Clone(r.Statements)
	for i := range o.Statements {
		if st := &o.Statements[i]; st.Resolution == time.Millisecond {
			st.Reset, st.Resolution = 1000*st.Reset, time.Second
		}
	}
	reply, err := s.Store.Exchange(ctx, &o)
	if err != nil {
		return nil, fmt.Errorf("unaware: %w", err)
	}
	return reply, nil
}

// A server grants 20 in 5 s, and states resets in milliseconds that look like seconds: "4980". One process
// finds that out. No other one that shares its Store stands still for an hour then, whether it comes later, was
// there before, or begins from a file; although one goes on to say what it has read as seconds.
func TestMillisOfOneAreThoseOfAll(t *testing.T) {
	for _, says := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			dialect := pacertest.XRateLimitDelta
			dialect.Reset = pacertest.ResetDeltaMillis
			dialect.RetryAfter = ""
			server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 20, Window: 5 * time.Second}, dialect)
			server.Latency = 10 * time.Millisecond
			defer server.Close()
			var shared store.Memory
			begin := time.Now()
			process := func(s store.Store) *pacer.Transport {
				tr := &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}
				if s != nil {
					tr.Quotas, tr.Shared.Store = pacer.Table{"/": quota.MustParse("1000/s")}, s
				}
				return tr
			}
			get := func(tr *pacer.Transport, n int) {
				t.Helper()
				for range n {
					lab.Get(t, &http.Client{Transport: tr}, "https://api.example.com/x")
				}
			}
			most := func(want time.Duration, what string) {
				t.Helper()
				synctest.Wait()
				if took := time.Since(begin); took > want {
					t.Fatalf("%s after %v, want %v at most", what, took, want)
				}
			}
			first, before := process(&shared), process(&shared)
			defer first.Close()
			defer before.Close()
			get(before, 1)
			get(first, 58)
			most(10500*time.Millisecond, "found out") // in the third window: one of 20 is left
			if says {
				old := process(unaware{&shared})
				defer old.Close()
				get(old, 1)
			} else {
				get(first, 1)
			}
			get(before, 21)
			most(20500*time.Millisecond, "one that was there before has used a window")
			later := process(&shared)
			defer later.Close()
			get(later, 20)
			most(25500*time.Millisecond, "one that comes later")
			get(first, 19)
			var file bytes.Buffer
			if err := first.Save(&file); err != nil {
				t.Fatal(err)
			}
			restarted := process(nil)
			if err := restarted.Load(&file); err != nil {
				t.Fatal(err)
			}
			get(restarted, 21)
			most(35500*time.Millisecond, "one that has loaded a file")
			if n := server.Stats().Refused; n > 3 { // nothing remains for those that come then, which they do not know
				t.Errorf("%d were refused", n)
			}
		})
	}
}
