package throttle

import (
	"context"
	"maps"
	"sync"
	"time"
)

// MemoryStore is a Store within one process: for Limiters of one program that share
// quotas and cannot be one, and for tests of programs that share them through another Store. The
// zero MemoryStore knows no bucket. It is safe for concurrent use.
type MemoryStore struct {
	mu      sync.Mutex // protects all below
	start   time.Time
	lost    bool // what is not known may have been lost
	buckets map[string]*storeBucket
	swept   int // how many buckets there were after they were looked through last
}

// Exchange implements Store.
func (s *MemoryStore) Exchange(ctx context.Context, r *Request) (*Reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	now := s.now()
	b, lost := s.bucket(r, now)
	held := b.held
	reply := b.exchange(r, now)
	reply.Lost = reply.Lost || lost
	var hears []func(News)
	news := News{Room: b.room}
	if b.held > held {
		news.Hold = b.held.sub(now)
	}
	if news != (News{}) {
		for hear := range b.hears {
			hears = append(hears, *hear)
		}
	}
	s.mu.Unlock()
	for _, hear := range hears {
		hear(news)
	}
	return reply, nil
}

// Listen implements Store.
func (s *MemoryStore) Listen(bucket string, hear func(News)) (stop func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open(bucket, s.now())
	if b.hears == nil {
		b.hears = map[*func(News)]struct{}{}
	}
	b.hears[&hear] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(b.hears, &hear)
	}, nil
}

// Lose forgets everything, like a store that lost its data, and from then on takes a
// bucket that it does not know for one which was lost: for tests. Who listens goes on to.
func (s *MemoryStore) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
	for _, b := range s.buckets {
		*b = storeBucket{hears: b.hears}
	}
}

// now reads the clock. It requires that mu is held.
func (s *MemoryStore) now() instant {
	if s.start.IsZero() {
		s.start = time.Now()
	}
	return instant(time.Since(s.start)) + 1
}

// open returns the bucket of that name.
func (s *MemoryStore) open(name string, now instant) *storeBucket {
	if s.buckets == nil {
		s.buckets = map[string]*storeBucket{}
	}
	b := s.buckets[name]
	if b == nil {
		if len(s.buckets) > 2*s.swept+16 {
			maps.DeleteFunc(s.buckets, func(_ string, b *storeBucket) bool { return b.idle(now) })
			s.swept = len(s.buckets)
		}
		b = &storeBucket{}
		s.buckets[name] = b
	}
	return b
}

// bucket returns that of a request, with its quotas, and whether it may have been lost.
func (s *MemoryStore) bucket(r *Request, now instant) (b *storeBucket, lost bool) {
	b = s.open(r.Bucket, now)
	lost = b.members == nil && s.lost
	fresh := b.members == nil && !s.lost
	if b.members == nil {
		b.members = map[string]*storeMember{}
	}
	if lost {
		b.last = now.add(r.Horizon)
	}
	wall := s.start.UnixNano() - 1
	late := b.late
	for _, q := range r.Quotas {
		if q.onClock() {
			late = min(late, q.per()/2)
		}
	}
	late = max(late, r.Late)
	ledgers, since := make([]ledger, len(r.Quotas)), make([]instant, len(r.Quotas))
	for i, q := range r.Quotas {
		if i < len(b.quotas) && alikeLedger(&b.quotas[i], &q) {
			ledgers[i], since[i] = b.ledgers[i], b.since[i]
			if b.quotas[i] != q || b.late != late {
				ledgers[i].set(q, late, r.Horizon)
			}
			continue
		}
		ledgers[i] = newLedger(q, late, r.Horizon, wall)
		if !fresh {
			since[i] = max(now.add(r.Horizon), b.last)
			ledgers[i].drain(since[i])
		}
	}
	b.quotas, b.ledgers, b.since, b.late = r.Quotas, ledgers, since, late
	return b, lost
}
