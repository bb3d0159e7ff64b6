package store

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Memory is a Store within one process: for Limiters of one program that share quotas and
// cannot be one Limiter, and for tests of programs that use another Store. The zero
// Memory knows no bucket. It is safe for concurrent use, and must not be copied after its first use.
//
// Its time is that of the process: setting the wall clock moves nothing, not even windows of the clock.
//
// It forgets buckets that are idle (see [Ledger.Idle]) and that nobody listens to.
type Memory struct {
	mu      sync.Mutex // protects all below
	clock   monotime.Clock
	lost    bool // a bucket that is not known may have been lost
	buckets map[string]*bucket
	swept   int // how many buckets were left when the idle ones were forgotten last
}

// bucket is a Ledger and its listeners.
type bucket struct {
	Ledger
	listeners map[*func(News)]struct{}
}

// Exchange implements [Store]. It does not wait. It returns an error if ctx has ended, and those of
// [Ledger.Exchange].
func (m *Memory) Exchange(ctx context.Context, r *Request) (*Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := check(r); err != nil {
		return nil, err
	}
	reply, news, tell, err := m.exchange(r)
	for _, hear := range tell {
		hear(news)
	}
	return reply, err
}

// exchange does what a request that was checked says, and returns the listeners that are to be told the news.
func (m *Memory) exchange(r *Request) (reply *Reply, news News, tell []func(News), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	b := m.bucket(r.Bucket, now)
	if r.Look {
		reply, err = b.look(now, r)
		return reply, news, nil, err
	}
	reply, news = b.serve(now, r)
	if news != (News{}) {
		for hear := range b.listeners {
			tell = append(tell, *hear)
		}
	}
	return reply, news, tell, nil
}

// Listen implements [Store]. The news are told before the Exchange returns that has them. The error
// is always nil.
func (m *Memory) Listen(bucket string, hear func(News)) (stop func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.bucket(bucket, m.now())
	if b.listeners == nil {
		b.listeners = map[*func(News)]struct{}{}
	}
	b.listeners[&hear] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(b.listeners, &hear)
	}, nil
}

// Lose forgets everything, like a store that lost its data, and from then on takes a bucket
// that it does not know for one which was lost: for tests. Listeners stay.
func (m *Memory) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = true
	for _, b := range m.buckets {
		b.Lose()
	}
}

// now reads the clock. It requires that mu is held.
func (m *Memory) now() time.Duration {
	if !m.clock.Started() {
		m.clock.StartCertain()
	}
	return time.Duration(m.clock.Now()) - 1
}

// bucket returns the bucket of that name.
func (m *Memory) bucket(name string, now time.Duration) *bucket {
	if m.buckets == nil {
		m.buckets = map[string]*bucket{}
	}
	b := m.buckets[name]
	if b == nil {
		if len(m.buckets) > 2*m.swept+16 {
			maps.DeleteFunc(m.buckets, func(_ string, b *bucket) bool { return len(b.listeners) == 0 && b.Idle(now) })
			m.swept = len(m.buckets)
		}
		b = &bucket{Ledger: Ledger{Epoch: m.clock.Std(1), lost: m.lost}}
		m.buckets[name] = b
	}
	return b
}
