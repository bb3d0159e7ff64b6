package redisquota_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

// everyKind is a bucket in which each ledger is.
const everyKind = "50/s burst 5, 100/s log, 80/s sliding 4, 70/s window grid, 90/s estimate"

// neighbour is somebody else who may write to the server.
type neighbour struct {
	t      *testing.T
	c      *redis.Client
	member *member
	latest *store.Request // of the member
}

// moveIn starts a bucket in which there is something of everything, and lets the neighbour at it.
func moveIn(t *testing.T, s *server.Server) *neighbour {
	t.Helper()
	c := dial(t, s)
	m := &member{t: t, store: goredis.New(c), quotas: parse(t, everyKind), name: "a"}
	m.ask(1, 0)
	r := m.request(1, 30)
	r.Statements = []quota.Statement{{Name: "core", Remaining: 3, Reset: time.Minute, ResetKnown: true}}
	reply := m.send(r)
	r = m.request(1, 3)
	for i, s := range reply.Slots {
		if i%2 > 0 {
			r.Back = append(r.Back, store.Part{Slot: s.ID, Cost: []int64{1, 1, 1, 1, 1}})
		}
	}
	m.send(r)
	return &neighbour{t, c, m, r}
}

// evil are numbers that no bucket has.
var evil = []string{"0", "1", "7", "9007199254740993", "99999999999999999999", strings.Repeat("9", 400), "1125899906842624", "x", "", "-5", "1e9", "nan"}

var digits = regexp.MustCompile(`\d+`)

// spoil replaces the number at a place of a text.
func spoil(text string, place byte, by string) string {
	all := digits.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return by
	}
	at := all[int(place)%len(all)]
	return text[:at[0]] + by + text[at[1]:]
}

// edit does what bytes say to one of the keys.
func (n *neighbour) edit(b []byte, raw string) {
	n.t.Helper()
	ctx := n.t.Context()
	keys, err := n.c.Keys(ctx, "*").Result()
	if err != nil || len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	key, value := keys[int(b[0])%len(keys)], raw
	by := evil[int(b[3])%len(evil)]
	if kind := n.c.Type(ctx, key).Val(); kind == "hash" {
		fields, _ := n.c.HKeys(ctx, key).Result()
		slices.Sort(fields)
		if len(fields) > 0 {
			field := fields[int(b[1])%len(fields)]
			if b[3] < 200 {
				value = spoil(n.c.HGet(ctx, key, field).Val(), b[2], by)
			}
			n.c.HSet(ctx, key, field, value)
		}
	} else if members, _ := n.c.ZRange(ctx, key, 0, -1).Result(); len(members) > 0 {
		i := int(b[1]) % len(members)
		switch score := n.c.ZScore(ctx, key, members[i]).Val(); b[3] % 4 {
		case 0:
			n.c.ZRem(ctx, key, members[i])
		case 1:
			n.c.ZAdd(ctx, key, redis.Z{Score: score + float64(b[2])*1e6, Member: raw})
		default:
			n.c.ZAdd(ctx, key, redis.Z{Score: score, Member: spoil(members[i], b[2], by)})
		}
	}
	if b[3] == 255 {
		n.c.Set(ctx, key, raw, 0) // of another type
	}
}

// check asks as before, the latest request once more at first. What comes is an error or a reply that holds its
// bounds, and it comes at once.
func (n *neighbour) check() {
	n.t.Helper()
	for i := range 3 {
		r := n.latest
		if i > 0 {
			r = n.member.request(1, 5)
			r.Hold = time.Millisecond
			r.Statements = []quota.Statement{{Name: "core", Remaining: 2, Reset: time.Minute, ResetKnown: true}}
		}
		ctx, cancel := context.WithTimeout(n.t.Context(), 2*time.Second)
		reply, err := n.member.store.Exchange(ctx, r)
		late := ctx.Err() != nil
		cancel()
		if late {
			kill := n.c.Do(context.WithoutCancel(n.t.Context()), "script", "kill").Err()
			n.t.Fatalf("the script does not end: %v, %v", err, kill)
		}
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "redisquota: api: ") {
				n.t.Errorf("the error is %q", text)
			}
			continue
		}
		if len(reply.Slots) > 512 || len(reply.Statements) > 16 || reply.Ahead < 0 || reply.Hold < 0 || reply.Members < 1 {
			n.t.Fatalf("%d slots, %d statements, ahead %v, held for %v, %d members", len(reply.Slots), len(reply.Statements), reply.Ahead, reply.Hold, reply.Members)
		}
	}
}

// FuzzNeighbour has somebody else write to the keys of a bucket: the script ends, and what it replies is an
// error or within its bounds. TestSharedHostileReplies has what a Limiter makes of any reply.
func FuzzNeighbour(f *testing.F) {
	for key := range byte(9) {
		for place := range byte(4) {
			f.Add([]byte{key, place, place, 4 * place, key, place + 3, place * 7, key}, "1 2 3")
		}
	}
	f.Add([]byte{0, 0, 0, 255}, "text")
	s, err := server.Real(f.Context(), "--lua-time-limit", "100") // in ms: then a script that does not end can be killed
	if errors.Is(err, server.ErrNone) {
		s, err = server.Mini()
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Stop)
	f.Fuzz(func(t *testing.T, edits []byte, raw string) {
		n := moveIn(t, s)
		defer flushAll(t, n.c)
		for b := range slices.Chunk(edits[:min(len(edits), 16)], 4) {
			if len(b) == 4 {
				n.edit(b, raw)
			}
		}
		n.check()
	})
}

// TestNeighbour: what a neighbour may do to a bucket that does not come by chance.
func TestNeighbour(t *testing.T) {
	for name, spoilt := range map[string]func(ctx context.Context, c *redis.Client){
		"more used than is in the log": func(ctx context.Context, c *redis.Client) {
			for _, q := range []string{"q2", "q3"} {
				text := c.HGet(ctx, "{pacer:api}:state", q).Val()
				f := strings.Fields(text)
				f[2] = "999999999"
				c.HSet(ctx, "{pacer:api}:state", q, strings.Join(f, " "))
			}
		},
		"cells gone": func(ctx context.Context, c *redis.Client) {
			c.ZRemRangeByRank(ctx, "{pacer:api}:log2", 1, -1)
		},
		"more far slots than there are": func(ctx context.Context, c *redis.Client) {
			f := strings.Fields(c.HGet(ctx, "{pacer:api}:state", "q1").Val())
			f[4] = "999999999999"
			c.HSet(ctx, "{pacer:api}:state", "q1", strings.Join(f, " "))
		},
		"a million statements": func(ctx context.Context, c *redis.Client) {
			p := c.Pipeline()
			for i := range 20_000 {
				p.HSet(ctx, "{pacer:api}:said", i, "9000000000000000 1 1 1 {}")
			}
			p.Exec(ctx)
		},
		"more quotas than there were": func(ctx context.Context, c *redis.Client) {
			f := strings.Fields(c.HGet(ctx, "{pacer:api}:state", "bucket").Val())
			f[4] = "999999999999"
			c.HSet(ctx, "{pacer:api}:state", "bucket", strings.Join(f, " "))
		},
		"a number that is none": func(ctx context.Context, c *redis.Client) {
			for _, q := range []string{"q1", "q2", "q3", "q4", "q5"} {
				f := strings.Fields(c.HGet(ctx, "{pacer:api}:state", q).Val())
				f[1] = strings.Repeat("9", 400)
				c.HSet(ctx, "{pacer:api}:state", q, strings.Join(f, " "))
			}
		},
		"another type": func(ctx context.Context, c *redis.Client) { c.Set(ctx, "{pacer:api}:holes", "x", 0) },
		"a hold of centuries": func(ctx context.Context, c *redis.Client) {
			f := strings.Fields(c.HGet(ctx, "{pacer:api}:state", "bucket").Val())
			f[2] = "9000000000000000"
			c.HSet(ctx, "{pacer:api}:state", "bucket", strings.Join(f, " "))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := moveIn(t, realServer(t))
			spoilt(t.Context(), n.c)
			n.check()
		})
	}
}

// TestNeighbourWritesNaN: somebody has written far slots that are no numbers. The script ends, and the bucket
// is lost.
func TestNeighbourWritesNaN(t *testing.T) {
	n := moveIn(t, realServer(t))
	state := func() string { return n.c.HGet(t.Context(), "{pacer:api}:state", "q1").Val() }
	n.check()
	n.c.HSet(t.Context(), "{pacer:api}:state", "q1", strings.Join(strings.Fields(state())[:15], " ")+" 32"+strings.Repeat(" nan 1 0", 32))
	for range 3 {
		n.check()
	}
	if strings.Contains(state(), "nan") {
		t.Errorf("what was written is still there: %s", state())
	}
}
