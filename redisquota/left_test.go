package redisquota_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

// TestStoreWorkOfWhatHasLeft: a log is full of cells of one token each, and nobody asks until all of them have left, or half of them. No call goes through all
// that have left, all that is asked for is granted, and of many that have left a part is told to be left, until calls have looked at the rest.
func TestStoreWorkOfWhatHasLeft(t *testing.T) {
	const n, most, looked = 100_000, 12_000, 400
	ctx := t.Context()
	s, err := server.Any(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := dial(t, s)
	for _, left := range []int{n, n / 2} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			flushAll(t, c)
			client := &counting{c: c}
			shared := &redisquota.Store{Client: client}
			serial := int64(0)
			send := func(asks ...store.Ask) *store.Reply {
				serial++
				r := &store.Request{
					Version: 1, Bucket: "api", Quotas: parse(t, "100000/d log"), Late: 20 * time.Millisecond, Horizon: 500 * time.Millisecond, Member: "a", Serial: serial, Answered: serial - 1, Asks: asks,
				}
				begin := time.Now()
				reply, err := shared.Exchange(ctx, r)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d rounds, %v, %d granted, %d left", client.rounds, time.Since(begin), granted(reply, time.Second), reply.Left[0])
				if client.rounds > most {
					t.Errorf("%d rounds for %d asks, want %d at most", client.rounds, len(asks), most)
				}
				return reply
			}
			opens := &store.Request{Version: 1, Bucket: "api", Quotas: parse(t, "100000/d log"), Member: "opens", Serial: 1, Horizon: 1, New: true, Leave: true}
			if _, err := shared.Exchange(ctx, opens); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			one := store.Ask{Cost: []int{1}, Count: 100, Within: time.Second}
			if r := send(store.Ask{Cost: []int{n}, Count: 1, Within: time.Second}); granted(r, time.Second) != 1 {
				t.Fatal("the log is not filled")
			}
			key := fill(t, c, n, left)
			if r := send(); r.Left[0] < looked || r.Left[0] > left {
				t.Errorf("%d are left of those %d that have left, want %d at least", r.Left[0], left, looked)
			}
			for range 3 {
				if r := send(one); granted(r, time.Second) != 100 {
					t.Errorf("%d of 100 are granted", granted(r, time.Second))
				}
			}
			if cells := c.ZCard(ctx, key).Val(); left == n && cells > 3 || left < n && cells > n-2*looked {
				t.Errorf("%d cells after %d of %d have left", cells, left, n)
			}
		})
	}
}

// fill has the only log of a server be one of n cells of one token each, of which so many have left a day ago.
func fill(t *testing.T, c *redis.Client, n, left int) (key string) {
	t.Helper()
	ctx := t.Context()
	for _, k := range c.Keys(ctx, "*").Val() {
		if strings.Contains(k, "log") {
			key = k
		}
	}
	now := c.Time(ctx).Val()
	c.Del(ctx, key)
	all := make([]redis.Z, 0, 1000)
	for i := range n {
		at := now.Add(-25 * time.Hour)
		if i >= left {
			at = now.Add(-time.Hour)
		}
		us := at.UnixMicro() + int64(i)*21_000/int64(n/1000)
		all = append(all, redis.Z{Score: float64(us), Member: fmt.Sprintf("%d:0:1", us)})
		if len(all) == cap(all) {
			if err := c.ZAdd(ctx, key, all...).Err(); err != nil {
				t.Fatal(err)
			}
			all = all[:0]
		}
	}
	if got := c.ZCard(ctx, key).Val(); got != int64(n) {
		t.Fatalf("%d cells, want %d", got, n)
	}
	return key
}
