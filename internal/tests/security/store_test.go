package security

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// neighbour is a Store in which somebody else writes.
type neighbour struct {
	reply store.Reply
	hear  func(store.News)
	asked atomic.Int64
}

func (n *neighbour) Exchange(context.Context, *store.Request) (*store.Reply, error) {
	n.asked.Add(1)
	reply := n.reply
	return &reply, nil
}

func (n *neighbour) Listen(_ string, hear func(store.News)) (func(), error) {
	n.hear = hear
	return func() {}, nil
}

// TestSharedHostileReplies: whatever a store replies, a claim ends by its deadline, the store is asked 100
// times a second at most, and no hold lasts for longer than a day.
func TestSharedHostileReplies(t *testing.T) {
	for _, huge := range []int64{-1, 0, 1, int64(time.Hour), 50 * 365 * 24 * int64(time.Hour), math.MaxInt64, math.MinInt64} {
		d, n := time.Duration(huge), int(huge)
		for name, reply := range map[string]store.Reply{
			"hold":       {Hold: d},
			"next":       {Next: d, Bound: n},
			"ahead":      {Ahead: d},
			"late":       {SlotLife: d},
			"members":    {Members: n},
			"a slot":     {Slots: []store.Slot{{ID: huge, In: d, Count: 1}}, Members: 1},
			"many slots": {Slots: []store.Slot{{ID: 1, Ask: 0, Count: n}, {ID: 1, Ask: 7, Count: n, Bound: n}, {ID: huge, Ask: n, Count: 1}}, Members: 1},
			"statements": {Statements: []quota.Statement{{Name: "x", Limit: int64(n), Remaining: 0, Reset: d, ResetKnown: true, Window: d, Resolution: d}}, Members: 1},
			"lost":       {Lost: true, Hold: d, Next: d, Members: n},
		} {
			t.Run(fmt.Sprintf("%s %d", name, huge), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &neighbour{reply: reply}
					l := &throttle.Limiter{Name: "api", Quotas: quota.Quotas{{N: 5, Per: time.Second}}, Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
					begin := time.Now()
					for range 2 {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						start := time.Now()
						err := l.Wait(ctx, 1)
						if took := time.Since(start); took > 10*time.Second {
							t.Errorf("took %v: %v", took, err)
						}
						cancel()
					}
					if took := time.Since(begin); s.asked.Load() > 100*int64(took.Seconds())+10 {
						t.Errorf("asked %d times in %v", s.asked.Load(), took)
					}
					if held := l.State().Held; held > 24*time.Hour {
						t.Errorf("held for %v", held)
					}
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestSharedHostileNews: news that anybody may publish hold a bucket for a day at most, and the store is asked
// again then.
func TestSharedHostileNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &neighbour{reply: store.Reply{Members: 1, Slots: []store.Slot{{ID: 1, Count: 1}}}}
		l := &throttle.Limiter{Name: "api", Quotas: quota.Quotas{{N: 5, Per: time.Second}}, Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 3 {
			s.hear(store.News{Hold: math.MaxInt64})
		}
		if held := l.State().Held; held != 24*time.Hour {
			t.Errorf("held for %v, want a day", held)
		}
		start := time.Now()
		s.reply.Slots[0].ID = 2
		if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) > 24*time.Hour+time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
