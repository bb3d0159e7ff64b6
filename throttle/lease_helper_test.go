package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/store"
)

var errDown = errors.New("no route to host")

var errRough = errors.New("connection reset")

// sendings is what a random fleet did.
type sendings struct {
	quotas   quota.Quotas
	slotLife time.Duration
	sends    []sent // in their order
	start    time.Time
}

// check tells where a sendings breaks a quota by definition.
func (h *sendings) check(t *testing.T) {
	t.Helper()
	for i, q := range h.quotas {
		sent := make([]definition.Sent, len(h.sends))
		for j, s := range h.sends {
			sent[j] = definition.Sent{At: s.at, N: s.cost[i]}
		}
		if err := definition.Check(explicit(q), h.start, h.slotLife, sent); err != nil {
			t.Error(err)
		}
	}
}

// probe asks a store for slots of the bucket "api", each time as another process.
type probe struct {
	t      *testing.T
	store  store.Store
	quotas quota.Quotas
	asked  int
}

// first returns in how long there is a slot that costs n of the first quota, -1 if there is none
// within a time, and the SlotLife of the bucket. A negative time is no bound.
func (p *probe) first(n int, within time.Duration) (in, slotLife time.Duration) {
	p.t.Helper()
	p.asked++
	cost := make([]int64, len(p.quotas))
	cost[0] = int64(n)
	reply := p.exchange(&store.Request{Serial: 1, Asks: []store.Ask{{Cost: cost, Count: 1, Within: within}}})
	if len(reply.Slots) == 0 {
		return -1, reply.SlotLife
	}
	return reply.Slots[0].In, reply.SlotLife
}

func (p *probe) exchange(r *store.Request) *store.Reply {
	p.t.Helper()
	r.Version, r.Bucket, r.Quotas, r.Horizon, r.Member = 1, "api", p.quotas, horizon, fmt.Sprint("probe ", p.asked)
	reply, err := p.store.Exchange(context.Background(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply
}

// fleet is several processes on one store, and what they did.
type fleet struct {
	t      *testing.T
	shared *slowStore
	start  time.Time

	mu    sync.Mutex
	sends []sent
	each  []int // of each process
	wait  sync.WaitGroup
}

// sent is one request that was sent.
type sent struct {
	at   time.Duration
	cost []int64 // of each quota
	by   int
}

// worker sends one request after the other, with a pause between, until ctx ends.
func (f *fleet) worker(ctx context.Context, by int, l *Limiter, pause func() time.Duration) {
	f.wait.Go(func() {
		for {
			if d := pause(); d > 0 {
				select {
				case <-time.After(d):
				case <-ctx.Done():
					return
				}
			}
			if l.Wait(ctx, 1) != nil {
				return
			}
			f.mu.Lock()
			f.each[by]++
			f.sends = append(f.sends, sent{time.Since(f.start), []int64{1}, by})
			f.mu.Unlock()
		}
	})
}

// jain is Jain's index of fairness: 1 if all are equal, 1/n if one has all.
func jain(each []int) float64 {
	var sum, squares float64
	for _, n := range each {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return sum * sum / (float64(len(each)) * squares)
}

// away has the store be out of reach from an instant until another one, counted from now.
func (s *slowStore) away(from, until time.Duration) {
	start := time.Now()
	s.fail = func(int) error {
		if d := time.Since(start); d >= from && d < until {
			return errDown
		}
		return nil
	}
}

// until returns a context that ends at at, and does not say so before.
func until(t *testing.T, at time.Time) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Until(at), cancel)
	return ctx
}

// once has one request sent, at an instant.
func (f *fleet) once(ctx context.Context, by int, l *Limiter, at time.Duration) {
	f.wait.Go(func() {
		time.Sleep(at)
		if l.Wait(ctx, 1) != nil {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.each[by]++
		f.sends = append(f.sends, sent{time.Since(f.start), []int64{1}, by})
	})
}

// distantStore is a store a trip away.
func distantStore() *slowStore {
	return &slowStore{Store: new(store.Memory), there: trip / 2, back: trip / 2}
}

// slowStore is a Store at a distance.
type slowStore struct {
	store.Store
	there, back time.Duration
	fail        func(n int) error // of the n-th call, before it is done
	silent      bool              // it has no news
	calls       atomic.Int64
}

func (s *slowStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	n := int(s.calls.Add(1))
	time.Sleep(s.there)
	if s.fail != nil {
		if err := s.fail(n); err != nil {
			return nil, err
		}
	}
	reply, err := s.Store.Exchange(ctx, r)
	time.Sleep(s.back)
	return reply, err
}

func (s *slowStore) Listen(bucket string, hear func(store.News)) (stop func(), err error) {
	if s.silent {
		return nil, errors.ErrUnsupported
	}
	return s.Store.Listen(bucket, hear)
}

// nearStore is one half a millisecond away.
func nearStore() *slowStore {
	return &slowStore{Store: new(store.Memory), there: 250 * time.Microsecond, back: 250 * time.Microsecond}
}

// member is a process of a test.
func member(t *testing.T, s store.Store, text string) *Limiter {
	t.Helper()
	l := &Limiter{Name: "api", Quotas: quotas(t, text), Shared: Shared{Store: s}}
	t.Cleanup(func() { l.Close() })
	return l
}

// timeline notes who went, and when.
type timeline struct {
	start time.Time
	mu    sync.Mutex
	went  []string
}

// ask has somebody ask for n.
func (tl *timeline) ask(ctx context.Context, name string, l *Limiter, n int) {
	go func() {
		err := l.Wait(ctx, n)
		what := fmt.Sprintf("%s %v", name, time.Since(tl.start))
		if err != nil {
			what += ": " + err.Error()
		}
		tl.mu.Lock()
		defer tl.mu.Unlock()
		tl.went = append(tl.went, what)
	}()
	synctest.Wait()
}

func (tl *timeline) check(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(tl.went, want) {
		t.Errorf("got %q", tl.went)
		t.Errorf("want %q", want)
	}
}

// quotaStore notes the quotas that a Store is told of.
type quotaStore struct {
	store.Memory
	told quota.Quotas
}

func (s *quotaStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.told = r.Quotas
	return s.Memory.Exchange(ctx, r)
}

// plain returns a quota as a store is told of it.
func plain(q quota.Quota) quota.Quota {
	q = quota.Quotas{q}.Explicit()[0]
	q.Name, q.Queue = "", 0
	return q
}
