package redisquota_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/server"
)

// slowServer is one to which requests come late.
type slowServer struct {
	redisquota.Client
	mini  *server.Server
	calls int
	waits []time.Duration // how long each waits; the others do not
	set   time.Duration   // how far the clock was set
}

func (s *slowServer) Run(ctx context.Context, keys, args []string) ([]string, error) {
	if s.calls++; len(s.waits) > 0 {
		time.Sleep(s.waits[0])
		s.waits = s.waits[1:]
	}
	s.mini.Mini.SetTime(time.Now().Add(s.set))
	return s.Client.Run(ctx, keys, args)
}

// TestStoreStalls: a bucket is lost when the clock was set, and not when requests wait for the server, which
// does them when they are sent again.
func TestStoreStalls(t *testing.T) {
	s := mini(t)
	for _, c := range []struct {
		waits []time.Duration
		set   time.Duration
		calls int
		lost  bool
	}{
		{nil, 0, 1, false},
		{[]time.Duration{1500 * time.Millisecond}, 0, 1, false},
		{[]time.Duration{4 * time.Second}, 0, 2, false},
		{[]time.Duration{4 * time.Second, time.Second, time.Hour}, 0, 2, false},
		{[]time.Duration{4 * time.Second, 3 * time.Second, time.Hour}, 0, 4, false},
		{nil, 2 * time.Second, 1, false},
		{nil, 2*time.Second + time.Microsecond, 2, true},
		{nil, time.Hour, 2, true},
		{[]time.Duration{4 * time.Second}, time.Hour, 2, true},
		{[]time.Duration{4 * time.Second, 4 * time.Second}, time.Hour, 2, true},
		{[]time.Duration{4 * time.Second}, 2500 * time.Millisecond, 2, true},
		{[]time.Duration{1500 * time.Millisecond}, 900 * time.Millisecond, 2, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: s.Addr})
			defer client.Close()
			flushAll(t, client)
			slow := &slowServer{Client: goredis.New(client).Client, mini: s}
			a := &member{t: t, store: &redisquota.Store{Client: slow}, quotas: parse(t, "1000/h log"), name: "a"}
			a.ask(1, 0)
			time.Sleep(time.Hour)
			a.ask(1, 3)
			time.Sleep(time.Second)
			slow.waits, slow.set, slow.calls = c.waits, c.set, 0
			r := a.request(1, 3)
			r.Since = time.Second
			if reply := a.send(r); reply.Lost != c.lost || slow.calls != c.calls || reply.Lost == (granted(reply, 0) == 3) {
				t.Errorf("requests that wait %v, a clock that is set by %v: lost %v after %d calls, slots %+v, want %v after %d calls",
					c.waits, c.set, reply.Lost, slow.calls, reply.Slots, c.lost, c.calls)
			}
			if reply := a.ask(1, 0); reply.Lost {
				t.Error("lost once more")
			}
		})
	}
}
