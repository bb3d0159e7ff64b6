package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// sender is a process whose quotas are replaced, and which hears by which quotas others go.
type sender struct {
	l     *Lease
	now   monotime.Time
	went  []wentOnce
	known []counted
}

type wentOnce struct {
	at   monotime.Time
	unit string
	n    int
}

// counted is a quota that somebody went by, as far as the sender knows, between two instants.
type counted struct {
	quota    quota.Quota
	from, to monotime.Time
}

// knows notes that somebody goes by quotas now.
func (s *sender) knows(qs quota.Quotas) {
	for _, q := range qs {
		if q.Kind == quota.TokenBucket {
			continue
		}
		add := true
		for i := range s.known {
			if k := &s.known[i]; k.quota == q && s.now <= k.to.Add(newUsage(&q).Per) {
				k.to, add = s.now, false
			}
		}
		if add {
			s.known = append(s.known, counted{q, s.now, s.now})
		}
	}
}

// send has a cost of one unit go.
func (s *sender) send(r *rand.Rand) {
	unit, n := s.l.quotas[r.IntN(len(s.l.quotas))].Unit, 1+r.IntN(3)
	cost := make([]int64, len(s.l.quotas))
	for i, q := range s.l.quotas {
		if q.Unit == unit {
			cost[i] = int64(n)
		}
	}
	s.l.went(s.now, cost, 1)
	s.went = append(s.went, wentOnce{s.now, unit, n})
}

// lacks returns what a store that lost the bucket now would not be told of the i-th quota, although another one
// of its unit still counts it; empty if nothing.
func (s *sender) lacks(i int) string {
	q := s.l.quotas[i]
	told := s.l.wentBefore(s.now, s.now)
	for _, k := range s.known {
		span := newUsage(&k.quota).Per
		if q.Kind == quota.TokenBucket || k.quota.Unit != q.Unit || s.now >= k.to.Add(span) {
			continue
		}
		from, sent, known := max(k.from, s.now.Add(-span)), 0, 0
		for _, o := range s.went {
			if o.unit == q.Unit && o.at > from {
				sent += o.n
			}
		}
		for _, o := range told {
			if o.at > from {
				known += int(o.cost[i])
			}
		}
		if known < sent {
			return fmt.Sprintf("of %v it tells %d of the %d that %v counts, of the last %v", q, known, sent, k.quota, s.now.Sub(from))
		}
	}
	return ""
}

// TestWentIsTold: a store that lost the bucket is told of no less than went in the span of any quota that this
// process knew, since it knew the quota, however often its own are replaced.
func TestWentIsTold(t *testing.T) {
	texts := []string{
		"100/s log", "100/10s log", "200/m sliding", "300/m window grid", "300/30s estimate", "1000/h log", "20/s burst 5", "50 tokens/m log",
		"50 tokens/10s log, 9/5s log", "5/s even, 100/m log", "1000/d log",
	}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		drawn := func() quota.Quotas { return parse(t, texts[r.IntN(len(texts))]) }
		s := sender{l: newLease(t, drawn().String(), 0), now: at(2 * time.Hour)}
		for range 5 + r.IntN(60) {
			s.knows(s.l.quotas)
			s.now = s.now.Add(time.Duration(r.IntN(int(1+[]int64{1000, 10_000, 100_000, 1_000_000}[r.IntN(4)]))) * time.Millisecond)
			s.knows(s.l.quotas)
			switch r.IntN(8) {
			case 0:
				s.l.Set(s.now, drawn(), 0)
			case 1:
				others := drawn()
				s.l.hearOthers(s.now, []quota.Quotas{others})
				s.knows(others)
			default:
				s.send(r)
			}
		}
		for i := range s.l.quotas {
			if why := s.lacks(i); why != "" {
				t.Fatalf("seed %d: %s", seed, why)
			}
		}
	}
}
