package limit

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestBucketAgainstDefinition asks buckets of 4, 10 and 50 tokens per second at random instants, and
// charges and gives back: when is the first instant at which a count of tokens by the definition
// suffices. An interval is a whole number of steps, so that both count exactly.
func TestBucketAgainstDefinition(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		q := quota.Quota{N: int64([]int{4, 10, 50}[r.IntN(3)]), Per: time.Second, Burst: int64(1 + r.IntN(20)), Debt: r.IntN(2) == 0}
		l := New(explicit(q), 0)
		interval := q.Per / time.Duration(q.N)
		now := monotime.Time(1)
		full := now // when the bucket is full
		for range 100 {
			now = now.Add(time.Duration(r.IntN(int(3*q.Burst))) * interval / 2)
			ahead, n := r.IntN(3), 1+r.IntN(int(q.Burst+2))
			at, ok := l.When(now, int64(ahead), int64(n))
			if ok != (int64(n) <= q.Burst || q.Debt) {
				t.Fatalf("%v: of %d, when says %v", q, n, ok)
			}
			if !ok {
				continue
			}
			// So many tokens may be missing from a full bucket then, as time.
			spare := time.Duration(q.Burst-min(int64(n), q.Burst)-int64(ahead)) * interval
			if want := max(now, max(full, now).Add(-spare)); at != want {
				t.Fatalf("seed %d, %v: at %d, %d behind %d may go at %d, want %d", seed, q, now, n, ahead, at, want)
			}
			if r.IntN(3) == 0 {
				continue
			}
			now, _ = l.When(now, 0, int64(n))
			if now = max(now, full.Add(-time.Duration(q.Burst-min(int64(n), q.Burst))*interval)); r.IntN(4) == 0 {
				l.Take(now, now, int64(n))
				l.Give(now, now, int64(n)) // at once: as if it had never gone
				continue
			}
			l.Take(now, now, int64(n))
			full = max(full, now).Add(time.Duration(n) * interval)
		}
		for _, at := range []monotime.Time{now, max(now, full.Add(-interval)), max(now, full)} {
			if l.Idle(at) != (at >= full) {
				t.Fatalf("seed %d, %v: at %d idle %v, full at %d", seed, q, at, l.Idle(at), full)
			}
		}
	}
}

// TestBucketBeyond32Bits charges 6 GB to 1GB/s debt at once, and gives them back.
func TestBucketBeyond32Bits(t *testing.T) {
	const now = monotime.Time(1)
	l := New(explicit(quota.Quota{N: 1e9, Per: time.Second, Debt: true}), 0)
	l.Take(now, now, 6e9)
	if at, ok := l.When(now, 0, 1e9); !ok || at != now.Add(6*time.Second) {
		t.Errorf("after 6 GB, 1 GB may go at %d, %v, want 6 s later", at, ok)
	}
	l.Give(now, now, 6e9)
	if at, ok := l.When(now, 0, 1e9); !ok || at != now {
		t.Errorf("when 6 GB are back, 1 GB may go at %d, %v, want now", at, ok)
	}
}

// TestBucketOfTheLargestCosts charges two costs that are far above what an int of 32 bits holds, and gives one
// back: the other is still owed.
func TestBucketOfTheLargestCosts(t *testing.T) {
	const now = monotime.Time(1)
	l := New(explicit(quota.Quota{N: 1e9, Per: time.Second, Debt: true}), 0)
	for range 2 {
		l.Take(now, now, math.MaxInt64)
	}
	l.Give(now, now, math.MaxInt64)
	if at, ok := l.When(now, 0, 1e9); !ok || at != now.Add(time.Duration(mostCharged)) {
		t.Errorf("1 GB may go at %d, %v, want %v later", at, ok, time.Duration(mostCharged))
	}
	l.Give(now, now, math.MaxInt64)
	if !l.Idle(now) {
		t.Error("something is owed when all is back")
	}
	if mostCharged/math.MaxInt > 1024 {
		t.Errorf("%d calls of the ledger for one cost", mostCharged/math.MaxInt)
	}
}

// TestBucketGive gives back, at once and later, what went of 10/s burst 10, and asks when some more may go.
func TestBucketGive(t *testing.T) {
	at := func(ms int) monotime.Time { return monotime.Time(1).Add(time.Duration(ms) * time.Millisecond) }
	for name, test := range map[string]struct {
		do      func(b Limit)
		now, n  int
		want    int // when n may go
		comment string
	}{
		"what has spilled over": {func(b Limit) {
			b.Take(at(0), at(0), 5)
			b.Take(at(1000), at(1000), 4)
			b.Give(at(1000), at(0), 5)
		}, 1000, 7, 1100, "the bucket was full again before the 4"},
		"a part of a token": {func(b Limit) {
			b.Take(at(0), at(0), 2)
			b.Take(at(150), at(150), 9)
			b.Give(at(150), at(0), 2)
		}, 150, 1, 150, "half a token was missing before the 9: half of one is left, and half comes back"},
		"between When and Take": {func(b Limit) {
			b.Take(at(0), at(0), 3)
			b.Take(at(0), at(0), 2)
			b.When(at(100), 0, 1)
			b.Give(at(100), at(0), 3)
			b.Take(at(100), at(100), 1)
			b.Give(at(100), at(0), 2)
		}, 100, 10, 200, "only the last one went"},
		"two that would have filled it": {func(b Limit) {
			b.Take(at(0), at(0), 2)
			b.Take(at(0), at(0), 2)
			b.Take(at(100), at(100), 1)
			b.Give(at(100), at(0), 2)
			b.Give(at(100), at(0), 2)
		}, 100, 10, 200, "only the last one went"},
		"another rate": {func(b Limit) {
			b.Take(at(0), at(0), 10)
			b.Set(at(0), quota.Quota{N: 20, Per: time.Second, Kind: quota.TokenBucket, Burst: 10})
		}, 0, 1, 50, "20 come back in a second"},
	} {
		b := New(quota.Quota{N: 10, Per: time.Second, Kind: quota.TokenBucket, Burst: 10}, 0)
		test.do(b)
		if got, ok := b.When(at(test.now), 0, int64(test.n)); !ok || got != at(test.want) {
			t.Errorf("%s: %d may go at %v, want %d ms: %s", name, test.n, got.Sub(at(0)), test.want, test.comment)
		}
	}
}

// TestBucketMirrorsTheLedger: what the bucket says of its ledger is what that says, to the last bit, after any
// history, of any instant, also of one before the latest change. It is what the ledger says, too, of a bucket
// that knows Take alone, which enters at once what goes.
func TestBucketMirrorsTheLedger(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 18))
		draw := func() quota.Quota {
			return explicit(quota.Quota{N: int64(1 + r.IntN(50)), Per: time.Duration(1 + r.Int64N(1e10)), Burst: int64(1 + r.IntN(20)), Debt: true, Kind: quota.TokenBucket})
		}
		q, now := draw(), monotime.Time(1)
		b, prompt := newBucket(q), newBucket(q)
		for step := range 300 {
			now = now.Add(time.Duration(r.Int64N(2e9)) - 1e7)
			var do func(*bucket) bool
			switch r.IntN(9) {
			case 0:
				q := draw()
				do = func(b *bucket) bool { return b.Set(now, q) }
			case 1:
				went, n := now.Add(-time.Duration(r.Int64N(5e9))), 1+r.IntN(5)
				do = func(b *bucket) bool { b.Give(now, went, int64(n)); return true }
			case 2:
				due, n := now.Add(-time.Duration(r.IntN(2e6))), 1+r.IntN(30) // a timer that is late, a cost above the burst
				do = func(b *bucket) bool { b.Take(due, now, int64(n)); return true }
			case 3, 4, 5:
				n := 1 + r.IntN(3)
				do = func(b *bucket) bool {
					if b != prompt {
						return b.takeNow(now, int64(n))
					}
					if int64(n) > b.burst || b.tokensAt(now) < float64(n) {
						return false
					}
					b.Take(now, now, int64(n))
					return true
				}
			default:
				do = func(b *bucket) bool { b.Take(now, now, 1); return true }
			}
			if did, want := do(b), do(prompt); did != want {
				t.Fatalf("seed %d, step %d: %v, want %v as of a bucket that knows Take alone", seed, step, did, want)
			}
			if r.IntN(4) == 0 {
				b.enter()
			}
			for range 3 {
				at := now.Add(time.Duration(r.Int64N(4e9) - 1e9))
				got, want := b.tokensAt(at), prompt.ledger.TokensAt(at.Std())
				if b.late == 0 && want != b.ledger.TokensAt(at.Std()) {
					t.Fatalf("seed %d, step %d: %v tokens at %d in the ledger, want %v", seed, step, b.ledger.TokensAt(at.Std()), at, want)
				}
				if got != want {
					t.Fatalf("seed %d, step %d: %v tokens at %d, want %v as in the ledger", seed, step, got, at, want)
				}
			}
		}
	}
}
