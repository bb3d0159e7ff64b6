package sharing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// evil is the way of one process to a store: what is asked may get lost, or come late, twice, or once more
// after other requests; replies may get lost or come late, and calls may panic or not return in time. What the
// store itself says is right.
type evil struct {
	*store.Memory
	random *rand.Rand // used by one call at a time
	past   []*store.Request
}

// Exchange implements store.Store.
func (s *evil) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	fate, after := s.random.IntN(14), time.Duration(s.random.IntN(500_000))*time.Microsecond
	same := *r
	s.past = append(s.past, &same)
	again := s.past[s.random.IntN(len(s.past))]
	do := func(r *store.Request) (*store.Reply, error) { return s.Memory.Exchange(context.Background(), r) }
	switch fate {
	case 0:
		time.Sleep(after)
		return nil, errors.New("lost")
	case 1:
		time.Sleep(after)
		_, _ = do(r)
		return nil, errors.New("the reply is lost")
	case 2:
		_, _ = do(r)
		time.Sleep(after / 10)
	case 3:
		_, _ = do(again)
	case 4:
		_, _ = do(r)
		panic("evil")
	case 5:
		time.Sleep(3 * after) // longer than a call may take
	case 6:
		reply, err := do(r)
		time.Sleep(after / 3)
		return reply, err
	case 7:
		<-ctx.Done()
		_, _ = do(r)
		return nil, ctx.Err()
	case 8:
		time.AfterFunc(2*after+1, func() { _, _ = do(&same) })
		return nil, errors.New("it comes later")
	}
	return do(r)
}

// TestNothingIsOverOnAnEvilWay: however requests and replies get lost, late, doubled or out of order, and
// whichever other quotas come and go, in one process of three or in more, with OutageClosed the quota that all
// have holds, also where the store is lost again and again.
func TestNothingIsOverOnAnEvilWay(t *testing.T) {
	for seed := range whole.Or(uint64(40), 300) {
		for i, text := range []string{"30/s log", "40/2s window grid", "50/2s sliding", "20/s burst 5"} {
			if seed%4 == uint64(i) || whole.Wanted() {
				t.Run(fmt.Sprint(seed, " ", text), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { onAnEvilWay(t, seed, text) }) })
			}
		}
	}
}

func onAnEvilWay(t *testing.T, seed uint64, text string) {
	t.Helper()
	beside := []string{"", ", 200/5s sliding", ", 15 tokens/s burst 5", ", 100/10s log", ", 60/3s window grid", ", 50/5s estimate"}
	r, memory, f := rand.New(rand.NewPCG(seed, 77)), new(store.Memory), &fleet{start: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	var all []*throttle.Limiter
	for i := range 3 {
		s := &evil{Memory: memory, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s, Outage: throttle.OutageClosed, Fresh: r.IntN(2) == 0}, MaxStandstill: throttle.Forever}
		all = append(all, l)
		for range 1 + r.IntN(4) {
			f.wait.Go(func() {
				for f.send(ctx, l, i, 1) == nil {
				}
			})
		}
	}
	for time.Since(f.start) < 14*time.Second {
		time.Sleep(time.Duration(1+r.IntN(1500)) * time.Millisecond)
		if seed%3 == 0 {
			memory.Lose()
		}
		if err := all[r.IntN(1+int(seed%3))].SetQuotas(quota.MustParse(text + beside[r.IntN(len(beside))])); err != nil {
			t.Fatal(err)
		}
	}
	f.wait.Wait()
	for _, l := range all {
		_ = l.Close() // the way to the store is evil
	}
	time.Sleep(5 * time.Second) // in which calls under way end
	if n := over(text, f.sends); n > 0 || len(f.sends) < 10 {
		t.Errorf("%d over, of %d", n, len(f.sends))
	}
}
