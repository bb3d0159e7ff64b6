package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/keys"
	"github.com/gopacer/pacer/throttle/store"
)

// shared is what processes share on a server.
type shared struct {
	redis  redis.UniversalClient
	store  *redisquota.Store
	prefix string
}

func open(c redis.UniversalClient, prefix string) *shared {
	s := goredis.New(c)
	s.Prefix = prefix
	return &shared{redis: c, store: s, prefix: prefix}
}

// bucket is what there is to know of one.
type bucket struct {
	name   string
	quotas quota.Quotas   // by which members asked last
	others []quota.Quotas // by which others did lately
	now    *store.Reply
	next   time.Duration // in how long one token of each quota may go
	debt   time.Duration // how much sooner that would be without debt, behind the hold
}

// horizon is that of a Limiter.
const horizon = 500 * time.Millisecond

// ask asks for one token of each quota of a bucket, or changes nothing.
func (s *shared) ask(ctx context.Context, name string, qs quota.Quotas, change func(*store.Request)) (*store.Reply, error) {
	one := make([]int64, len(qs))
	for i := range one {
		one[i] = 1
	}
	r := &store.Request{
		Version: store.Version, Bucket: name, Quotas: qs, Horizon: horizon, Member: "a person " + rand.Text(), Serial: 1,
		Asks: []store.Ask{{Cost: one, Count: 1, Within: 0}},
	}
	change(r)
	return s.store.Exchange(ctx, r)
}

// next returns in how long a reply has one go.
func next(r *store.Reply) time.Duration {
	if len(r.Slots) > 0 {
		return r.Slots[0].In
	}
	return r.Next
}

// look looks at a bucket, and changes nothing.
func (s *shared) look(ctx context.Context, name string) (*bucket, error) {
	look := func(r *store.Request) { r.Look = true }
	first, err := s.ask(ctx, name, nil, look)
	if err != nil {
		return nil, err
	}
	if first.Lost || len(first.Others) == 0 {
		return nil, fmt.Errorf("%s: %w", name, errNoBucket)
	}
	b := &bucket{name: name, quotas: first.Others[0]}
	if b.now, err = s.ask(ctx, name, b.quotas, look); err != nil {
		return nil, err
	}
	// Who asks for nothing is told all that is left. Who asks after a pause is told what is left for one that
	// is new.
	idle, err := s.ask(ctx, name, b.quotas, func(r *store.Request) { r.Look, r.Asks = true, nil })
	if err != nil {
		return nil, err
	}
	b.now.Left = idle.Left
	released, err := s.ask(ctx, name, b.quotas, func(r *store.Request) { r.Look, r.Release = true, true })
	if err != nil {
		return nil, err
	}
	b.others = b.now.Others
	b.now.Members-- // who looks
	b.next = next(b.now)
	later := released.Known - b.now.Known // by the server's clock: what comes back between two looks is no debt
	b.debt = max(b.next-max(b.now.Hold, next(released)+later), 0).Truncate(time.Millisecond)
	return b, nil
}

// at says which server it is, but for a cluster.
func (s *shared) at() string {
	if c, ok := s.redis.(*redis.Client); ok {
		return " of " + c.Options().Addr
	}
	return ""
}

// buckets returns the names of all, in their order.
func (s *shared) buckets(ctx context.Context) (names []string, err error) {
	var mu sync.Mutex // protects names
	scan := func(ctx context.Context, c *redis.Client) error {
		all := c.Scan(ctx, 0, keys.Pattern(s.prefix), 1000).Iterator()
		for all.Next(ctx) {
			if name, ok := keys.Bucket(s.prefix, all.Val()); ok {
				mu.Lock()
				names = append(names, name)
				mu.Unlock()
			}
		}
		return all.Err()
	}
	switch c := s.redis.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, scan)
	case *redis.Client:
		err = scan(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("list the buckets%s: %w", s.at(), err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// end ends the hold and the debt of a bucket.
func (s *shared) end(ctx context.Context, b *bucket) error {
	_, err := s.ask(ctx, b.name, b.quotas, func(r *store.Request) { r.Release, r.Leave, r.Asks = true, true, nil })
	return err
}
