package redisquota_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/throttle/store"
)

// unjoined is the script of a release before what went without slots was joined: each step has a cell of its
// own, unless it is within SlotLife of the one before.
func unjoined(t *testing.T) string {
	t.Helper()
	s := redisquota.Script()
	for _, c := range [][2]string{
		{"  q:put(at, n, math.floor(q.per / log.coarse))\n", "  q:put(at, n)\n"},
		{"  q.order = math.max(now, q.order)\n  q:purge(q.order)\n  q:join(q.order, n)\n", "  log.take(q, now, math.max(now, q.order), n)\n"},
	} {
		if strings.Count(s, c[0]) != 1 {
			t.Fatalf("the script does not have %q once", c[0])
		}
		s = strings.Replace(s, c[0], c[1], 1)
	}
	return s
}

// scripted is a Client that runs another script.
type scripted struct {
	c      *redis.Client
	script *redis.Script
}

func (c scripted) Run(ctx context.Context, keys, args []string) ([]string, error) {
	all := make([]any, len(args))
	for i, a := range args {
		all[i] = a
	}
	return c.script.Run(ctx, c.c, keys, all...).StringSlice()
}

func (scripted) Subscribe(context.Context, string, func(string)) error { return nil }

// TestStoreJoinedByOneVersion: two releases share a log, of which one joins what went without slots, and the
// other does not. Whatever is told to whom, each slot is right by the definition of the log, nothing is lost,
// and what is left is there.
func TestStoreJoinedByOneVersion(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for _, text := range []string{"60/10s log", "60/20s window", "90/10s sliding 20"} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(text, " ", seed), func(t *testing.T) {
				flushAll(t, c)
				q := parse(t, text)
				stores := []*redisquota.Store{
					{Client: scripted{c, redis.NewScript(redisquota.Script())}}, {Client: scripted{c, redis.NewScript(unjoined(t))}},
				}
				r := rand.New(rand.NewPCG(seed, 5))
				now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
				var went []sending
				members := []*member{{t: t, store: stores[0], quotas: q, name: "joins"}, {t: t, store: stores[1], quotas: q, name: "does not"}}
				for i := range 120 {
					now = now.Add(time.Duration(r.Int64N(int64(q[0].Per)/40/1000)) * time.Microsecond)
					if i == 1 {
						now = now.Add(q[0].Per + time.Second) // it is new no more, and its member is remembered
					}
					s.Mini.SetTime(now)
					m := members[r.IntN(2)]
					req := m.request(1, 0)
					req.SlotLife = time.Millisecond
					switch r.IntN(4) {
					case 0:
						req.More = []int64{int64(1 + r.IntN(3))}
						went = append(went, sending{now.UnixMicro(), req.More[0]})
					case 1:
						for range 1 + r.IntN(4) {
							o := store.Own{In: -time.Duration(r.Int64N(int64(q[0].Per)/20/1000)) * time.Microsecond, Cost: []int64{int64(1 + r.IntN(3))}}
							if i > 1 {
								req.Own, went = append(req.Own, o), append(went, sending{now.Add(o.In).UnixMicro(), o.Cost[0]})
							}
						}
					default:
						if i > 0 {
							req.Asks = []store.Ask{{Cost: []int64{1}, Count: 1 + r.IntN(12), Within: -1}}
						}
					}
					for _, o := range readsLog(t, m.store, req, i, &q[0], now, went).Slots {
						went = append(went, sending{o.ID, int64(o.Count)})
						if n := inLog(went, o.ID, &q[0]); n > q[0].N {
							t.Fatalf("step %d: %d in the Per before a slot, want %d at most", i, n, q[0].N)
						}
					}
				}
			})
		}
	}
}

// inLog is how much went in the Per before an instant.
func inLog(went []sending, at int64, q *quota.Quota) (n int64) {
	for _, s := range went {
		if s.us <= at && s.us > at-q.Per.Microseconds() {
			n += s.n
		}
	}
	return n
}

// readsLog sends a request by its member. What is left is what has not gone, but for what a cell still counts:
// up to its width, a thousandth of Per, and SlotLife.
func readsLog(t *testing.T, s *redisquota.Store, r *store.Request, step int, q *quota.Quota, now time.Time, went []sending) *store.Reply {
	t.Helper()
	reply, err := s.Exchange(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if step > 1 && reply.Lost {
		t.Fatalf("step %d: lost", step)
	}
	ahead := int64(0)
	for _, o := range went {
		if o.us > now.UnixMicro() {
			ahead += o.n
		}
	}
	for _, o := range reply.Slots {
		ahead += int64(o.Count)
	}
	if left, most := reply.Left[0], max(q.N-inLog(went, now.UnixMicro(), q)-ahead, 0); step > 1 && left > most {
		t.Fatalf("step %d: %d left, want %d at most", step, left, most)
	}
	return reply
}
