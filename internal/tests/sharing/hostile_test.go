package sharing

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// rubbish is a store that does nothing while it is on, and replies what is wrong.
type rubbish struct {
	*store.Memory
	on    *atomic.Bool
	wrong func(r *store.Reply) (*store.Reply, error)
}

func (s *rubbish) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	time.Sleep(500 * time.Microsecond)
	if !s.on.Load() {
		return s.Memory.Exchange(ctx, r)
	}
	look := *r
	look.Look = true
	reply, err := s.Memory.Exchange(ctx, &look)
	if err != nil {
		return nil, err
	}
	return s.wrong(reply)
}

// TestNothingLastsOfRubbish: whatever a store replied for a while, some seconds after it is right again the
// rate is, too.
func TestNothingLastsOfRubbish(t *testing.T) {
	as := func(f func(r *store.Reply)) func(r *store.Reply) (*store.Reply, error) {
		return func(r *store.Reply) (*store.Reply, error) { f(r); return r, nil }
	}
	slots := func(f func(r *store.Reply, s *store.Slot)) func(r *store.Reply) (*store.Reply, error) {
		return as(func(r *store.Reply) {
			for i := range r.Slots {
				f(r, &r.Slots[i])
			}
		})
	}
	for _, d := range whole.Or([]time.Duration{50 * 365 * 24 * time.Hour}, []time.Duration{50 * 365 * 24 * time.Hour, -1}) {
		n := int(d)
		for name, wrong := range map[string]func(r *store.Reply) (*store.Reply, error){
			"In":          slots(func(_ *store.Reply, s *store.Slot) { s.In = d }),
			"ID":          slots(func(_ *store.Reply, s *store.Slot) { s.ID = int64(d) }),
			"Count":       slots(func(_ *store.Reply, s *store.Slot) { s.Count = n }),
			"Ask":         slots(func(_ *store.Reply, s *store.Slot) { s.Ask = n }),
			"SlotLife In": slots(func(r *store.Reply, s *store.Slot) { r.SlotLife, s.In = d, d }),
			"Lost In":     slots(func(r *store.Reply, s *store.Slot) { r.Lost, r.Known, s.In = true, d, d }),
			"Bound":       as(func(r *store.Reply) { r.Bound = n }),
			"Next":        as(func(r *store.Reply) { r.Next, r.Slots = d, nil }),
			"Ahead":       as(func(r *store.Reply) { r.Ahead = d }),
			"SlotLife":    as(func(r *store.Reply) { r.SlotLife = d }),
			"Members":     as(func(r *store.Reply) { r.Members, r.Sharing = n, n }),
			"Lost":        as(func(r *store.Reply) { r.Lost, r.Known = true, d }),
			"Left":        as(func(r *store.Reply) { r.Left = []int64{int64(n), int64(n), int64(n)} }),
			"Learned":     as(func(r *store.Reply) { r.Learned = fmt.Sprint(n) }),
			"Others":      as(func(r *store.Reply) { r.Others = []quota.Quotas{{{N: int64(n), Per: d, Burst: int64(n)}}, nil} }),
			"all": as(func(r *store.Reply) {
				s := store.Slot{ID: int64(d), In: d, Count: n, Bound: n}
				*r = store.Reply{Slots: []store.Slot{s, s, s}, Next: d, Bound: n, SlotLife: d, Members: n, Sharing: n, Left: []int64{int64(n)}}
			}),
			"none": func(*store.Reply) (*store.Reply, error) { return nil, nil },
			"both": func(r *store.Reply) (*store.Reply, error) { return r, errors.New("both") },
		} {
			for _, mode := range whole.Or([]throttle.Outage{throttle.OutageClosed}, []throttle.Outage{throttle.OutageClosed, throttle.OutageShare}) {
				if name != "all" && !whole.Part(2, name) {
					continue
				}
				t.Run(fmt.Sprintf("%s %d %s", name, d, mode), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { afterRubbish(t, mode, wrong) })
				})
			}
		}
	}
}

// afterRubbish has two processes use a store whose replies are wrong from 2 to 4 s.
func afterRubbish(t *testing.T, mode throttle.Outage, wrong func(r *store.Reply) (*store.Reply, error)) {
	t.Helper()
	const text = "60/2s log"
	var on atomic.Bool
	f := &fleet{start: time.Now(), end: 16 * time.Second}
	memory := new(store.Memory)
	ctx, cancel := context.WithTimeout(t.Context(), f.end)
	defer cancel()
	for by := range 2 {
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: &rubbish{memory, &on, wrong}, Outage: mode}, MaxStandstill: throttle.Forever}
		for range 3 {
			f.wait.Go(func() {
				for ctx.Err() == nil {
					if f.send(ctx, l, by, 1) != nil {
						time.Sleep(10 * time.Millisecond)
					}
				}
			})
		}
		defer func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	time.Sleep(2 * time.Second)
	on.Store(true)
	time.Sleep(2 * time.Second)
	on.Store(false)
	f.wait.Wait()
	last, gap := 4*time.Second, time.Duration(0)
	for _, s := range f.sends {
		if s.at > last {
			gap, last = max(gap, s.at-last), s.at
		}
	}
	gap = max(gap, f.end-last)
	// The store has lost what it answered meanwhile, so that the window counts as used up.
	if r := rate(text, f.sends, 8*time.Second, 16*time.Second); r < 0.95 || r > 1.02 || gap > 3*time.Second {
		t.Errorf("then %.3f of the rate, and nothing for %v", r, gap)
	}
}
