// Package sharing tests Transports that share quotas through a Store, as processes do. What each of
// them holds of a shared bucket is tested in package throttle.
package sharing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// shared is a server that notes when requests come, from whatever process.
type shared struct {
	mu   sync.Mutex // protects went
	went []time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s *shared) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.went = append(s.went, time.Since(lab.Epoch))
	return lab.Answer(req, http.StatusOK, ""), nil
}

// most returns how many came within any span of d.
func (s *shared) most(d time.Duration) (most int) {
	slices.Sort(s.went)
	for i, from := 0, 0; i < len(s.went); i++ {
		for s.went[i]-s.went[from] >= d {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// sendFromAll has each Transport send n requests from 8 callers, and waits for all.
func sendFromAll(t *testing.T, n int, transports ...*pacer.Transport) {
	t.Helper()
	var wg sync.WaitGroup
	for _, tr := range transports {
		var next sync.Mutex // protects left
		left := n
		for range 8 {
			wg.Go(func() {
				for {
					next.Lock()
					left--
					done := left < 0
					next.Unlock()
					if done {
						return
					}
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://api.test/", ""))
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				}
			})
		}
	}
	wg.Wait()
}

// TestStoreShares has two processes share a quota: it holds for both together, and all of it
// is used.
func TestStoreShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, store := &shared{}, &store.Memory{}
		quotas := pacer.Table{"api.test/": {{N: 50, Per: 2 * time.Second, Kind: quota.SlidingLog}}}
		a := &pacer.Transport{Base: server, Shared: pacer.Shared{Store: store}, Quotas: quotas}
		b := &pacer.Transport{Base: server, Shared: pacer.Shared{Store: store}, Quotas: quotas}
		sendFromAll(t, 150, a, b)
		if got := server.most(2 * time.Second); got > 50 {
			t.Errorf("%d went within 2s, want 50 at most", got)
		}
		// What one got ahead and did not use, the other uses half a second later.
		if took := time.Since(lab.Epoch); took > 10700*time.Millisecond {
			t.Errorf("300 requests took %v, want little more than 10.6s", took)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		if _, err := a.RoundTrip(lab.Request(t, "GET", "http://api.test/", "")); !errors.Is(err, throttle.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	})
}

// After Close, no request draws on the Store, to whatever host: nobody would give back what the bucket of a new
// one had in hand.
func TestCloseIsForNewHostsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noting{}
		tr := &pacer.Transport{Base: lab.OK(), Shared: pacer.Shared{Store: store}, Quotas: lab.All(quota.Quota{N: 50})}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://api.test/", "")); !errors.Is(err, throttle.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
		if len(store.buckets) != 0 {
			t.Errorf("asked the store for %q", store.buckets)
		}
	})
}

// noting is a store that notes of each request what it is about.
type noting struct {
	store.Memory
	buckets   []string
	slotLives []time.Duration
}

func (s *noting) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.buckets, s.slotLives = append(s.buckets, r.Bucket), append(s.slotLives, r.SlotLife)
	return s.Memory.Exchange(ctx, r)
}

func TestStoreLate(t *testing.T) {
	for _, slotLife := range []time.Duration{0, 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &noting{}
			tr := &pacer.Transport{Base: &shared{}, Shared: pacer.Shared{Store: store, SlotLife: slotLife}, Quotas: pacer.Table{"api.test/": {{N: 50, Burst: 1}}}}
			sendFromAll(t, 1, tr)
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
			want := cmp.Or(slotLife, 10*time.Millisecond)
			if len(store.slotLives) == 0 || slices.ContainsFunc(store.slotLives, func(d time.Duration) bool { return d != want }) {
				t.Errorf("SlotLife %v: asked for %v, want %v", slotLife, store.slotLives, want)
			}
		})
	}
}

// TestStoreSetQuotas gives quotas to a host that had none: they are shared from then on.
func TestStoreSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, store := &shared{}, &store.Memory{}
		a, b := &pacer.Transport{Base: server, Shared: pacer.Shared{Store: store}}, &pacer.Transport{Base: server, Shared: pacer.Shared{Store: store}}
		sendFromAll(t, 10, a, b)
		server.went = nil
		for _, tr := range []*pacer.Transport{a, b} {
			if err := tr.SetQuotas(pacer.Table{"api.test/": {{N: 20, Per: time.Second, Kind: quota.SlidingLog}}}); err != nil {
				t.Fatal(err)
			}
		}
		sendFromAll(t, 50, a, b)
		if got := server.most(time.Second); got > 20 {
			t.Errorf("%d went within a second, want 20 at most", got)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreHoldsAll has a server tell one process to wait: the other waits as well.
func TestStoreHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &store.Memory{}
		quotas := pacer.Table{"api.test/": {{N: 100, Burst: 100}}}
		first := true
		a := &pacer.Transport{Shared: pacer.Shared{Store: store}, Quotas: quotas, Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if first {
				first = false
				return lab.Answer(req, http.StatusTooManyRequests, "", "Retry-After", "5"), nil
			}
			return lab.Answer(req, http.StatusOK, ""), nil
		})}
		server := &shared{}
		b := &pacer.Transport{Base: server, Shared: pacer.Shared{Store: store}, Quotas: quotas, Rand: lab.Zero}
		sendFromAll(t, 1, b)
		var wg sync.WaitGroup
		wg.Go(func() { sendFromAll(t, 1, a) })
		time.Sleep(time.Second)
		sendFromAll(t, 1, b)
		wg.Wait()
		if got := server.went[1]; got < 5*time.Second {
			t.Errorf("the other process went after %v, want 5s", got)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A program that is told to wait, closes its Transport and ends leaves the hold behind, for those that begin
// later.
func TestCloseTellsOfAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		common := &store.Memory{}
		quotas := pacer.Table{"api.test/": quota.MustParse("100/s")}
		run := func(base http.RoundTripper) error {
			tr := &pacer.Transport{Base: base, Shared: pacer.Shared{Store: common}, Quotas: quotas, Rand: lab.Zero}
			defer tr.Close()
			resp, err := (&http.Client{Transport: tr}).Get("https://api.test/")
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}
		if err := run(lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			return lab.Answer(req, http.StatusTooManyRequests, "", "Retry-After", "3600"), nil
		})); err != nil {
			t.Fatal(err)
		}
		var refused *throttle.Error
		if err := run(&shared{}); !errors.As(err, &refused) || refused.Cause != throttle.CauseHold {
			t.Errorf("the next run gets %v, want an error of the hold", err)
		}
	})
}

// TestStoreTenants shares the bucket of a tenant under a name that does not tell the tenant.
func TestStoreTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noting{}
		tr := &pacer.Transport{
			Base: &shared{}, Shared: pacer.Shared{Store: store}, Quotas: pacer.Table{"api.test/": {{N: 50, Burst: 1}}},
			Key: func(*http.Request) string { return "secret" },
		}
		sendFromAll(t, 1, tr)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		digest := sha256.Sum256([]byte("secret"))
		want := fmt.Sprintf("api.test for %x", digest[:16])
		if len(store.buckets) == 0 || slices.ContainsFunc(store.buckets, func(b string) bool { return b != want }) {
			t.Errorf("the store is told %q, want %q", store.buckets, want)
		}
	})
}

// What cannot live in a Store is told by Validate and SetQuotas, and nothing changes.
func TestSharedQuotasAreChecked(t *testing.T) {
	for text, table := range map[string]pacer.Table{
		`Quotas["a.example/"]: throttle: quota "5/s warm-up 1s": WarmUp is 1s, want 0 for what lives in a Store`: {"a.example/": quota.MustParse("5/s warm-up 1s")},
		`Quotas["GET a.example/x"]: throttle: quota "5/s even" of a.example/`:                                    {"a.example/": quota.MustParse("5/s even"), "GET a.example/x": quota.MustParse("2/s even")},
	} {
		shared := pacer.Shared{Store: new(store.Memory)}
		if err := (&pacer.Transport{Quotas: table, Shared: shared}).Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Validate: got %v, want %s in it", err, text)
		}
		if err := (&pacer.Transport{Quotas: table}).Validate(); err != nil {
			t.Errorf("without a Store: %v", err)
		}
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{Base: lab.OK(), Shared: pacer.Shared{Store: new(store.Memory)}}
			defer tr.Close()
			for range 2 {
				if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/x", "")); err != nil {
					t.Error(err)
				}
				if err := tr.SetQuotas(table); err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("SetQuotas: got %v, want %s in it", err, text)
				}
				tr.State()
			}
		})
	}
}

// unreachable is a Store at an address where nobody answers.
type unreachable struct{ store.Memory }

var errUnreachable = errors.New("dial tcp 10.1.2.3:6379: connect: connection refused")

// Exchange implements store.Store.
func (*unreachable) Exchange(context.Context, *store.Request) (*store.Reply, error) {
	return nil, errUnreachable
}

// A Store that cannot be reached is told at once, whatever the Mode, and each error names address and cause.
func TestAStoreThatCannotBeReachedIsNotSilence(t *testing.T) {
	for name, test := range map[string]struct {
		mode    pacer.Mode
		timeout time.Duration // Client.Timeout: net/http keeps no more than the text of its error
		want    error         // nil if the request is sent
		at      time.Duration
	}{
		"wait":                  {pacer.ModeWait, 0, throttle.ErrStandstill, 2 * time.Minute},
		"wait within a timeout": {pacer.ModeWait, 30 * time.Second, throttle.ErrCanceled, 30 * time.Second},
		"reject":                {pacer.ModeReject, 0, throttle.ErrWouldWait, 0},
		"degrade":               {pacer.ModeDegrade, 0, throttle.ErrWouldWait, 0},
		"observe":               {pacer.ModeObserve, 0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var events []throttle.StoreEvent
				var told error
				tr := &pacer.Transport{
					Base: new(shared), Quotas: lab.All(quota.Quota{N: 5}), Mode: test.mode,
					Shared: pacer.Shared{Store: new(unreachable)}, Trace: &pacer.Trace{StoreEvent: func(e throttle.StoreEvent) {
						if events = append(events, e); time.Since(start) != 0 {
							t.Errorf("told after %v", time.Since(start))
						}
					}},
					Fallback: func(req *http.Request, err *throttle.Error) (*http.Response, error) {
						told = err
						return lab.Answer(req, http.StatusOK, ""), nil
					},
				}
				client := &http.Client{Transport: tr, Timeout: test.timeout}
				resp, err := client.Get("http://a.example/")
				if took := time.Since(start); took != test.at {
					t.Errorf("took %v, want %v", took, test.at)
				}
				if err == nil {
					resp.Body.Close()
					err = told
				}
				if test.timeout == 0 && !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), errUnreachable.Error()) {
					t.Errorf("got %v, want %v that says %q", err, test.want, errUnreachable)
				}
				synctest.Wait()
				if test.mode == pacer.ModeObserve { // it asks no Store
					return
				}
				if len(events) != 1 || events[0].Kind != throttle.StoreDown || events[0].Bucket != "a.example" || !errors.Is(events[0].Err, errUnreachable) {
					t.Errorf("events %+v, want one of %v", events, errUnreachable)
				}
				if err := tr.Close(); err != nil && !errors.Is(err, errUnreachable) {
					t.Error(err)
				}
			})
		})
	}
}
