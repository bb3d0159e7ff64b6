package redisquota_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/throttle"
)

var damaging = flag.Uint64("damages", 3, "how many histories TestDamage tries")

// damaged is a server to which things happen, by the clock of a bubble.
type damaged struct {
	mu     sync.Mutex
	mini   *miniredis.Miniredis
	client *redis.Client
	r      *rand.Rand
	set    time.Duration // by so much its clock was set
	late   time.Duration // until when calls fail, get lost, or are done twice, since 1970
	script *redis.Script
}

var errDamaged = errors.New("connection reset")

// Run implements redisquota.Client.
func (d *damaged) Run(ctx context.Context, keys, args []string) ([]string, error) {
	time.Sleep(time.Millisecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	what := 0
	if time.Duration(time.Now().UnixNano()) < d.late {
		what = d.r.IntN(4)
	}
	if what == 1 {
		return nil, errDamaged
	}
	d.mini.SetTime(time.Now().Add(d.set))
	run := scripted{d.client, d.script}
	reply, err := run.Run(ctx, keys, args)
	switch what {
	case 2:
		return nil, errDamaged
	case 3:
		return run.Run(ctx, keys, args)
	}
	return reply, err
}

// Subscribe implements redisquota.Client.
func (d *damaged) Subscribe(context.Context, string, func(string)) error {
	return errors.ErrUnsupported
}

// any is one of the keys; empty if there is none.
func (d *damaged) any() string {
	if keys := d.mini.Keys(); len(keys) > 0 {
		return keys[d.r.IntN(len(keys))]
	}
	return ""
}

// damages are what may happen to a server. Of what is loose something may be over.
var damages = []struct {
	name  string
	loose bool
	do    func(d *damaged)
}{
	{"flushed", false, func(d *damaged) { d.mini.FlushAll() }},
	{"deleted", false, func(d *damaged) { d.mini.Del(d.any()) }},
	{"garbage", false, func(d *damaged) { _ = d.mini.Set(cmp.Or(d.any(), "x"), "garbage") }},
	{"fields", true, func(d *damaged) {
		key := d.any()
		if fields, err := d.mini.HKeys(key); err == nil && len(fields) > 0 {
			d.mini.HSet(key, fields[d.r.IntN(len(fields))], []string{"", "garbage", "-1", "1e308", "nan", "99999999999999999999", "1:2:3:4:5"}[d.r.IntN(7)])
		}
	}},
	{"no fields", true, func(d *damaged) {
		key := d.any()
		if fields, err := d.mini.HKeys(key); err == nil && len(fields) > 0 {
			d.mini.HDel(key, fields[d.r.IntN(len(fields))])
		}
	}},
	{"unreliable", false, func(d *damaged) {
		d.late = time.Duration(time.Now().UnixNano()) + time.Duration(d.r.IntN(1500))*time.Millisecond
	}},
	{"clock set", false, func(d *damaged) { d.set += time.Duration(d.r.IntN(7200)-3600) * time.Second }},
	{"clock set a little", true, func(d *damaged) { d.set += time.Duration(d.r.IntN(3000)-1500) * time.Millisecond }},
	{"scripts flushed", false, func(d *damaged) { d.client.ScriptFlush(context.Background()) }},
}

// TestDamage: whatever happens to a server, one thing after the other, while processes use it: no more goes
// than the quotas allow, and soon after the last of it all goes on.
func TestDamage(t *testing.T) {
	for seed := range *damaging {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := mini(t)
			c := redis.NewClient(&redis.Options{Addr: s.Addr, ReadTimeout: -2, WriteTimeout: -2, MaxRetries: -1, PoolSize: 100, ConnMaxIdleTime: -1, DisableIdentity: true})
			t.Cleanup(func() { c.Close() })
			if err := c.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				(&damaged{mini: s.Mini, client: c, r: r, script: redis.NewScript(redisquota.Script())}).run(t, r)
			})
		})
	}
}

func (d *damaged) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	const over, end = 10 * time.Second, 18 * time.Second
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // or one that is never granted would wait for ever
	defer cancel()
	q := quota.MustParse([]string{"20/s burst 10", "20/s log", "20/2s window", "30/3s sliding", "20/s burst 10, 30/2s log", "20/s estimate"}[r.IntN(6)])
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sent []time.Duration
	var done atomic.Int32
	var all []*throttle.Limiter
	loose, report := false, ""
	for i := range 2 + r.IntN(2) {
		l := &throttle.Limiter{Name: "api", Quotas: q, Shared: throttle.Shared{Store: &redisquota.Store{Client: d}, Outage: throttle.OutageClosed, Fresh: i == 0 && r.IntN(2) == 0}}
		all = append(all, l)
		for range 3 {
			r := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
			wg.Go(func() {
				for time.Since(start) < end {
					g, err := l.Acquire(ctx, throttle.Claim{})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if sent = append(sent, time.Since(start)); time.Since(start) > over+time.Second {
						done.Add(1)
					}
					mu.Unlock()
					g.Done()
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
				}
			})
		}
	}
	time.Sleep(3 * time.Second)
	for range 1 + r.IntN(6) {
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		d.mu.Lock()
		what := damages[r.IntN(len(damages))]
		loose = loose || what.loose
		report += fmt.Sprint(" ", what.name, " at ", time.Since(start))
		what.do(d)
		d.mu.Unlock()
	}
	wg.Wait()
	for _, l := range all {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	least := math.MaxInt // four fifths of what whole windows grant
	for _, q := range q.Explicit() {
		least = min(least, int(q.N*int64((end-over-time.Second)/q.Per)*4/5))
	}
	if int(done.Load()) < least {
		t.Errorf("%v,%s: %d went in the end, want %d", q, report, done.Load(), least)
	}
	slices.Sort(sent)
	for i, at := range sent {
		for _, q := range q.Explicit() {
			n, _ := slices.BinarySearchFunc(sent, at+q.Per, cmp.Compare[time.Duration])
			most := q.N
			switch q.Kind {
			case quota.TokenBucket:
				most += q.Burst
			case quota.EstimatedWindow:
				most *= 2
			}
			if !loose && int64(n-i) > most {
				t.Fatalf("%v,%s: %d in %v from %v", q, report, n-i, q.Per, at)
			}
		}
	}
}
