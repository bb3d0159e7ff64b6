package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// costly are quotas of each kind.
var costly = []string{
	"100/s even", "100/s burst 20", "100000/d burst 1000",
	"100/s window grid", "100000/d estimate", "100/s sliding", "100000/d sliding",
	"100/s log", "1000/m log", "10000/h log", "100000/d log", "5/s even, 100000/h sliding",
}

// costs measures what each quota costs the server: the memory of its keys (MEMORY USAGE), the most while one
// Limiter uses it at its full rate, and while ten do; and the time of a call (INFO commandstats) for one slot
// and for fifty, in multiples of that of a script which does nothing, which is in the last row.
func costs(ctx context.Context, w io.Writer, c *redis.Client) error {
	fmt.Fprintln(w, "| quota | bytes, 1 member | 10 members | of that, its log | time of a call for 1 slot | for 50 |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: |")
	nothing := &asker{ctx: ctx, c: c}
	least := func() float64 {
		return nothing.time(func() { nothing.err = redis.NewScript("return {'0'}").Run(ctx, c, []string{"a"}, 1).Err() })
	}
	shortest := math.Inf(1)
	for _, text := range costly {
		quotas, err := canonical(text)
		if err != nil {
			return err
		}
		f := &asker{ctx: ctx, c: c, quotas: quotas, members: 10}
		alone, logs1 := f.busy(1)
		rest, logs10 := f.busy(10)
		logs := max(logs1, logs10, f.own())
		f.flush()
		for range 100 {
			f.ask(1)
		}
		unit := least() // now: what else the machine does changes
		one, many := f.time(func() { f.ask(1) }), f.time(func() { f.ask(50) })
		unit = (unit + least()) / 2
		shortest = min(shortest, unit)
		if err := errors.Join(nothing.err, f.err); err != nil {
			return err
		}
		fmt.Fprintf(w, "| `%s` | %d | %d | %d | %.0f | %.0f |\n", text, alone+logs, rest+logs, logs, one/unit, many/unit)
	}
	fmt.Fprintf(w, "| a script that does nothing, %.1f µs | | | | 1 | 1 |\n", shortest)
	return nil
}

// canonical returns the quotas of a text as a Limiter sends them.
func canonical(text string) (quota.Quotas, error) {
	quotas, err := quota.Parse(text)
	quotas = quotas.Explicit()
	for i := range quotas {
		quotas[i].Name = ""
	}
	return quotas, err
}

// asker is ten members at most, that ask in turns.
type asker struct {
	ctx     context.Context //nolint:containedctx // of one measurement
	c       *redis.Client
	quotas  quota.Quotas
	members int
	serial  [10]int64
	calls   int
	err     error
}

// flush begins anew, with a bucket that hands out slots.
func (f *asker) flush() {
	f.err = errors.Join(f.err, f.c.FlushAll(f.ctx).Err())
	f.exchange(0, time.Microsecond) // nothing is handed out before that has passed
}

func (f *asker) ask(count int) { f.exchange(count, 1000*time.Hour) }

func (f *asker) exchange(count int, horizon time.Duration) {
	if f.err != nil {
		return
	}
	i := f.calls % f.members
	f.calls++
	f.serial[i]++
	cost := make([]int64, len(f.quotas))
	late := time.Second
	for k, q := range f.quotas {
		cost[k] = 1
		late = min(late, max(q.Per/100, 10*time.Millisecond)) // as throttle.Shared.SlotLife
	}
	_, f.err = goredis.New(f.c).Exchange(f.ctx, &store.Request{
		Version: 1, Bucket: "api", Quotas: f.quotas, SlotLife: late, Horizon: horizon, Member: fmt.Sprintf("%026d", i), Serial: f.serial[i],
		Asks: []store.Ask{{Cost: cost, Count: count, Within: -1}},
	})
}

// busy returns the most memory of all keys but the quotas' own, and that of these, while Limiters use the
// quotas at their full rate.
func (f *asker) busy(limiters int) (rest, own int64) {
	f.err = errors.Join(f.err, f.c.FlushAll(f.ctx).Err())
	ctx, cancel := context.WithTimeout(f.ctx, 4*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range limiters {
		l := &throttle.Limiter{Name: "api", Quotas: f.quotas, Shared: throttle.Shared{Store: goredis.New(f.c), Fresh: true}}
		defer l.Close()
		for range 20 {
			all.Go(func() {
				for l.Wait(ctx, 1) == nil {
				}
			})
		}
	}
	time.Sleep(time.Second) //nolint:forbidigo // a program that measures; all share the quotas by then
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // likewise
		r, o := f.memory()
		rest, own = max(rest, r), max(own, o)
	}
	all.Wait()
	return rest, own
}

// own returns the memory of the quotas' own keys, full, of what went evenly: as a bucket of the same rate has
// it.
func (f *asker) own() int64 {
	plain := f.quotas
	defer func() { f.quotas = plain }()
	var all int64
	for _, q := range plain {
		if q.Kind != quota.SlidingLog && q.Kind != quota.SlidingWindow {
			continue
		}
		f.quotas = quota.Quotas{q, {N: q.N, Per: q.Per, Kind: quota.TokenBucket, Burst: 1}}
		f.flush()
		for range q.N*6/5/50 + 1 {
			f.ask(50)
		}
		_, logs := f.memory()
		all += logs
	}
	return all
}

// memory returns that of all keys but the quotas' own, and that of these.
func (f *asker) memory() (rest, own int64) {
	keys, err := f.c.Keys(f.ctx, "*").Result()
	f.err = errors.Join(f.err, err)
	for _, key := range keys {
		n, err := f.c.MemoryUsage(f.ctx, key, 0).Result()
		f.err = errors.Join(f.err, err)
		if strings.Contains(key, "}:log") {
			own += n
		} else {
			rest += n
		}
	}
	return rest, own
}

// time is how long a call takes, in microseconds, by the server's own measure.
func (f *asker) time(call func()) float64 {
	f.err = errors.Join(f.err, f.c.ConfigResetStat(f.ctx).Err())
	for range 300 {
		call()
	}
	info, err := f.c.Info(f.ctx, "commandstats").Result()
	f.err = errors.Join(f.err, err)
	for line := range strings.Lines(info) {
		var n, us int64
		if k, _ := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,usec=%d,", &n, &us); k == 2 {
			return float64(us) / float64(n)
		}
	}
	return 0
}
