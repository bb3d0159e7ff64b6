package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/heavy"
	"github.com/gopacer/pacer/throttle/store"
)

// longest measures for how long a call holds the server, where it has a core for itself: of fleets that have
// all of which a call may have much (see package heavy), the time of its processor (INFO cpu), from which other
// programs take nothing. Each fleet does the same several times, and of each of its calls the least counts,
// since others share the caches.
func longest(ctx context.Context, w io.Writer, c *redis.Client) error {
	const plays = 3
	fmt.Fprintln(w, "| quota | calls | the longest | 99 of 100 within | half within |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: |")
	if _, err := processor(ctx, c); err != nil {
		return err
	}
	for _, text := range heavy.Quotas {
		quotas, err := canonical(text)
		if err != nil {
			return err
		}
		var least []time.Duration // of each call
		for range plays {
			if err := c.FlushAll(ctx).Err(); err != nil {
				return err
			}
			n, shared := 0, goredis.New(c)
			f := heavy.Fleet{Quotas: quotas, Members: 50, Pass: func(d time.Duration) { _ = sleep(ctx, d) }, Exchange: func(r *store.Request) (*store.Reply, error) {
				before, err := processor(ctx, c)
				if err != nil {
					return nil, err
				}
				reply, err := shared.Exchange(ctx, r)
				if err != nil {
					return nil, err
				}
				after, err := processor(ctx, c)
				took := after - before // with an INFO
				if n == len(least) {
					least = append(least, took)
				}
				least[n] = min(least[n], took)
				n++
				return reply, err
			}}
			if err := f.Play(); err != nil {
				return err
			}
		}
		slices.Sort(least)
		n := len(least)
		fmt.Fprintf(w, "| `%s` | %d | %s | %s | %s |\n", text, n, ms(least[n-1]), ms(least[n*99/100]), ms(least[n/2]))
	}
	return nil
}

// processor is the time of its processor that the server has taken so far.
func processor(ctx context.Context, c *redis.Client) (all time.Duration, err error) {
	info, err := c.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	n := 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user_main_thread" && name != "used_cpu_sys_main_thread" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		all += time.Duration(seconds * 1e9)
		n++
	}
	if n < 2 {
		return 0, errors.New("the server does not say what its main thread takes: want Redis 6.2 or later")
	}
	return all, nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
