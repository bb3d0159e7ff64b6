package throttle

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
)

// treeClaim is a claim of a drawn course: to one of two buckets below another.
type treeClaim struct {
	bucket   int
	priority Priority
	cost     int
	came     time.Duration
	cancel   time.Duration // zero if it is not canceled
	went     time.Duration // by definition; negative if it was canceled before
}

// treeBucket is a bucket by definition: its level in units of the time in which one token comes back.
type treeBucket struct {
	token, full, level, at time.Duration
}

func (b *treeBucket) advance(t time.Duration) {
	b.level, b.at = min(b.level+t-b.at, b.full), t
}

// opens is when so many tokens are there.
func (b *treeBucket) opens(cost int) time.Duration {
	return b.at + max(time.Duration(cost)*b.token-b.level, 0)
}

func (b *treeBucket) take(cost int) { b.level -= time.Duration(cost) * b.token }

const treeAging = 3 * time.Second

func (c *treeClaim) rank() time.Duration {
	return c.came - time.Duration(c.priority.index())*treeAging
}

// goByDefinition says when each of the claims goes, which come in their order. The first of each bucket, by
// rank, stands in the line of the one above once its own lets it go. Of these the first by rank goes when the
// one above lets it, and no other goes before it.
func goByDefinition(claims []*treeClaim, root *treeBucket, buckets []*treeBucket) {
	var now time.Duration
	waiting := map[*treeClaim]bool{}
	next, never := 0, time.Hour
	for next < len(claims) || len(waiting) > 0 {
		for _, b := range append(buckets, root) {
			b.advance(now)
		}
		for ; next < len(claims) && claims[next].came <= now; next++ {
			waiting[claims[next]] = true
		}
		for c := range waiting {
			if c.cancel > 0 && c.cancel <= now {
				c.went = -1
				delete(waiting, c)
			}
		}
		heads := make([]*treeClaim, len(buckets))
		until := never
		for c := range waiting {
			if h := heads[c.bucket]; h == nil || c.rank() < h.rank() {
				heads[c.bucket] = c
			}
			if c.cancel > 0 {
				until = min(until, c.cancel)
			}
		}
		if next < len(claims) {
			until = min(until, claims[next].came)
		}
		var first *treeClaim
		for i, h := range heads {
			switch {
			case h == nil:
			case buckets[i].opens(h.cost) > now:
				until = min(until, buckets[i].opens(h.cost))
			case first == nil || h.rank() < first.rank():
				first = h
			}
		}
		switch {
		case first == nil:
		case root.opens(first.cost) <= now:
			root.take(first.cost)
			buckets[first.bucket].take(first.cost)
			first.went = now
			delete(waiting, first)
			continue
		default:
			until = min(until, root.opens(first.cost))
		}
		now = until
	}
}

// TestTreeModel: of claims that cost one token or many, of three priorities, to two buckets below another, of
// which some are canceled at any time, each goes to the nanosecond when it does by definition. So none starves,
// none goes before one that it must not pass, and no token is lost.
func TestTreeModel(t *testing.T) {
	for seed := range uint64(whole.Or(20, 400)) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			bucketOf := func(ms, burst int) (quota.Quotas, *treeBucket) {
				token := time.Duration(ms) * time.Millisecond
				return quota.Quotas{{N: 1, Per: token, Burst: int64(burst)}}, &treeBucket{token: token, full: time.Duration(burst) * token, level: time.Duration(burst) * token}
			}
			rootQuotas, root := bucketOf(5+random.IntN(20), 10+random.IntN(30))
			parent := &Limiter{Quotas: rootQuotas, Aging: treeAging, MaxStandstill: Forever}
			var limiters []*Limiter
			var buckets []*treeBucket
			for range 2 {
				quotas, bucket := bucketOf(10+random.IntN(40), 10+random.IntN(30))
				limiters = append(limiters, &Limiter{Quotas: quotas, Parent: parent, Aging: treeAging, MaxStandstill: Forever})
				buckets = append(buckets, bucket)
			}
			var claims []*treeClaim
			came := time.Duration(0)
			for range 60 {
				came += time.Duration(1+random.IntN(60_000))*time.Microsecond + 1 // no two events at one instant
				c := &treeClaim{bucket: random.IntN(2), priority: byIndex[random.IntN(priorities)], cost: 1, came: came}
				if random.IntN(4) == 0 {
					c.cost = 5 + random.IntN(6)
				}
				if random.IntN(5) == 0 {
					c.cancel = came + time.Duration(random.IntN(2_000_000))*time.Microsecond + 500
				}
				claims = append(claims, c)
			}
			goByDefinition(claims, root, buckets)
			start := time.Now()
			var all sync.WaitGroup
			for i, c := range claims {
				all.Go(func() {
					time.Sleep(c.came)
					cancel := make(chan struct{})
					if c.cancel > 0 {
						time.AfterFunc(c.cancel-c.came, func() { close(cancel) })
					}
					g, err := limiters[c.bucket].Acquire(t.Context(), Claim{N: c.cost, Priority: c.priority, Cancel: cancel})
					went := time.Since(start)
					if err != nil {
						went = -1
					} else {
						g.Answered(Answer{})
					}
					if went != c.went {
						t.Errorf("seed %d, claim %d %+v: went after %v: %v", seed, i, *c, went, err)
					}
				})
			}
			all.Wait()
		})
		if t.Failed() {
			return
		}
	}
}
