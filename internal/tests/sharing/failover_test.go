package sharing

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// replicated is a store whose replica takes over, and lacks the last moments.
type replicated struct {
	mu     sync.Mutex // protects the fields below
	ledger *store.Ledger
	copied []byte // what the replica has
	hear   []func(store.News)
	start  time.Time
	down   bool
}

func (s *replicated) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	time.Sleep(250 * time.Microsecond)
	s.mu.Lock()
	if s.down {
		s.mu.Unlock()
		return nil, errAway
	}
	reply, news, err := s.ledger.Exchange(time.Since(s.start), r)
	hear := s.hear
	s.mu.Unlock()
	if news != (store.News{}) {
		for _, f := range hear {
			f(news)
		}
	}
	time.Sleep(250 * time.Microsecond)
	return reply, err
}

func (s *replicated) Listen(_ string, hear func(store.News)) (stop func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear = append(s.hear, hear)
	return func() {}, nil
}

// failover has a replica take over that has heard of nothing for a while.
func (s *replicated) failover(t *testing.T, lag, outage time.Duration) {
	t.Helper()
	do := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	do(func() { s.copied, _ = s.ledger.MarshalBinary() })
	time.Sleep(lag)
	do(func() { s.down = true })
	time.Sleep(outage)
	do(func() {
		s.ledger = new(store.Ledger)
		if err := s.ledger.UnmarshalBinary(s.copied); err != nil {
			t.Error(err)
		}
		s.down = false
	})
}

// TestAFailoverThatLostAnswersIsALoss: a replica takes over that lacks half a second. As soon as a process asks
// that was answered in these, the bucket is lost: nothing goes beyond the quota, and nothing stands still for
// longer than after any loss. (Large costs are not among them: one slot that another process got before that is
// so much.)
func TestAFailoverThatLostAnswersIsALoss(t *testing.T) {
	for _, c := range survivors {
		if slices.Max(c.costs) > 1 {
			continue
		}
		for _, mode := range []throttle.Outage{throttle.OutageShare, throttle.OutageClosed} {
			t.Run(string(mode)+" "+c.text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &replicated{ledger: &store.Ledger{Epoch: time.Now()}, start: time.Now()}
					f := &fleet{end: 24 * time.Second}
					var stores []store.Store
					for range c.members {
						stores = append(stores, s)
					}
					f.run(t, c.text, mode, c.costs, stores...)
					time.Sleep(10 * time.Second)
					s.failover(t, 500*time.Millisecond, 100*time.Millisecond)
					f.wait.Wait()
					f.check(t, c.text, 10600*time.Millisecond, 750*time.Millisecond, c.rate)
				})
			})
		}
	}
}
