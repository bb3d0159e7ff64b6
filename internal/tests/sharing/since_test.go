package sharing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// slowNews is a store that takes a while to say that it has no news now.
type slowNews struct {
	*store.Memory
	last     time.Time
	requests int
	since    func(got, want time.Duration)
}

func (*slowNews) Listen(string, func(store.News)) (func(), error) {
	time.Sleep(100 * time.Millisecond)
	return nil, errors.New("not now")
}

func (s *slowNews) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	if s.requests++; s.requests > 1 {
		s.since(r.Since, time.Since(s.last))
	}
	s.last = time.Now()
	return s.Memory.Exchange(ctx, r)
}

// TestSinceIsOfWhenItIsSent: whatever happens between a decision to call the store and the call, the store is
// not told that less time has passed. It would take that for a clock that was set.
func TestSinceIsOfWhenItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowNews{Memory: new(store.Memory), since: func(got, want time.Duration) {
			if got != want {
				t.Errorf("%v have passed since the last request, and %v are told", want, got)
			}
		}}
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse("10/s even"), Shared: throttle.Shared{Store: s}}
		for range 10 {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if s.requests < 3 {
			t.Errorf("%d requests: the test is not worth much", s.requests)
		}
	})
}
