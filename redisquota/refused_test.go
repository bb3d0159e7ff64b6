package redisquota_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/goredis"
)

// What a server refuses is an error, and leaves everything as it was.
func TestStoreRefused(t *testing.T) {
	for name, refuse := range map[string]struct {
		begin, end []any
		text       string
	}{
		"READONLY": {[]any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}, "READONLY"},
		"OOM":      {[]any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}, "OOM"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, realServer(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s burst 5, 100/s log"), name: "a"}
			a.open()
			a.ask(1, 20)
			dump := func() string {
				all := map[string]any{}
				keys, err := c.Keys(t.Context(), "*").Result()
				for _, key := range keys {
					if hash, e := c.HGetAll(t.Context(), key).Result(); e == nil {
						all[key] = hash
						continue
					}
					var e error
					all[key], e = c.ZRangeWithScores(t.Context(), key, 0, -1).Result()
					err = errors.Join(err, e)
				}
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(all)
			}
			before := dump()
			do(t, c, refuse.begin...)
			r := a.request(1, 10)
			reply, err := a.store.Exchange(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), refuse.text) {
				t.Errorf("got %+v, %v, want an error with %s", reply, err, refuse.text)
			}
			if after := dump(); after != before {
				t.Errorf("something was written: before\n%s\nafter\n%s", before, after)
			}
			do(t, c, refuse.end...)
			if reply := a.send(r); reply.Lost {
				t.Error("the bucket is lost")
			}
		})
	}
}

// TestStoreRefusedMidway: a permission that is missing may be one for what comes after the first write. Then
// nothing of the bucket is used any more: it is lost.
func TestStoreRefusedMidway(t *testing.T) {
	s := realServer(t)
	admin := dial(t, s)
	if v := version(t, admin); v < 6.2 {
		t.Skipf("Redis %.1f has no such users", v)
	}
	for _, missing := range []string{"hset", "zadd", "zrem", "del", "pexpire"} {
		t.Run(missing, func(t *testing.T) {
			flushAll(t, admin)
			args := []any{"acl", "setuser", "pacer", "reset", "on", ">secret"}
			for _, right := range strings.Fields(rights(t)) {
				args = append(args, right)
			}
			do(t, admin, args...)
			c := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "pacer", Password: "secret", MaxRetries: -1})
			defer c.Close()
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s burst 5, 100/200ms log"), name: "a"}
			a.open()
			tag := "{pacer:api}:state"
			for i := range 5 { // until there is something that expires
				a.ask(1, 3)
				time.Sleep(time.Duration(50+10*i) * time.Millisecond)
			}
			do(t, admin, "acl", "setuser", "pacer", "-"+missing)
			before, _ := admin.HGetAll(t.Context(), tag).Result()
			b := &member{t: t, store: a.store, quotas: parse(t, "50/s burst 5, 100/200ms log, 70/s log"), name: "b"} // whose log is new
			_, err := b.store.Exchange(t.Context(), b.request(1, 10))
			if err == nil {
				_, err = a.store.Exchange(t.Context(), a.request(1, 10))
			}
			after, _ := admin.HGetAll(t.Context(), tag).Result()
			do(t, admin, "acl", "setuser", "pacer", "+"+missing)
			same := fmt.Sprint(before) == fmt.Sprint(after)
			if err == nil {
				t.Fatal("nothing fails")
			}
			if reply := a.send(a.request(1, 1)); !same && !reply.Lost {
				t.Errorf("without +%s: %v; half of it is done, and the bucket is not lost", missing, err)
			}
			if !strings.Contains(err.Error(), "the user lacks a permission") {
				t.Errorf("without +%s: %v, want an error that says so", missing, err)
			}
		})
	}
}

func do(t *testing.T, c *redis.Client, args ...any) {
	t.Helper()
	if err := c.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(args, err)
	}
}

// rights are those that README.md says a user needs.
func rights(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "ACL SETUSER pacer on >secret ")
	all, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("README.md has no ACL")
	}
	return strings.Join(strings.Fields(all), " ")
}

// version is that of the server, as far as it says which Redis it is like.
func version(t *testing.T, c *redis.Client) (v float64) {
	t.Helper()
	info, err := c.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(info, "redis_version:")
	if _, err := fmt.Sscanf(after, "%3f", &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStoreRights(t *testing.T) {
	s := realServer(t)
	admin := dial(t, s)
	all := rights(t)
	switch v := version(t, admin); {
	case v < 6:
		t.Skipf("Redis %.1f has no users", v)
	case v < 6.2: // it has no rights to channels
		all = strings.NewReplacer("resetchannels ", "", "&pacer:* ", "").Replace(all)
	}
	try := func(rights string) error {
		flushAll(t, admin)
		args := []any{"acl", "setuser", "pacer", "reset", "on", ">secret"}
		for _, right := range strings.Fields(rights) {
			args = append(args, right)
		}
		do(t, admin, args...)
		c := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "pacer", Password: "secret", MaxRetries: -1})
		defer c.Close()
		store := goredis.New(c)
		heard, stop := listen(t, store, "api")
		defer stop()
		if rights == all {
			subscribers(t, admin, 1)
		}
		a := &member{t: t, store: store, quotas: parse(t, "50/s burst 5, 100/s log, 20/s estimate"), name: "a"}
		var err error
		exchange := func(change func(r *request)) *reply {
			r := a.request(1, 3)
			if change != nil {
				change(r)
			}
			reply, e := store.Exchange(t.Context(), r)
			err = errors.Join(err, e)
			return reply
		}
		exchange(nil) // of a bucket that is lost
		flushAll(t, admin)
		(&member{t: t, store: goredis.New(admin), quotas: a.quotas}).open()
		do(t, admin, "script", "flush")
		first := exchange(nil)
		exchange(func(r *request) {
			r.Statements = []statement{{Name: "x", Remaining: 1, Reset: time.Millisecond, ResetKnown: true}}
			if first != nil && len(first.Slots) > 0 {
				r.Back = []part{{Slot: first.Slots[0].ID, Cost: []int64{1, 1, 1}}}
			}
		})
		time.Sleep(2 * time.Millisecond)
		exchange(func(r *request) { r.Hold = time.Second })
		exchange(func(r *request) { r.Leave, r.Asks = true, nil })
		if err != nil {
			return err
		}
		if rights != all {
			return nil
		}
		select {
		case <-heard:
			return nil
		case <-time.After(2 * time.Second):
			return errors.New("no news")
		}
	}
	if err := try(all); err != nil {
		t.Fatalf("with the rights of the README: %v", err)
	}
	if testing.Short() {
		return
	}
	optional := map[string]bool{"+zrem": true /* two seconds after somebody has left */, "+hello": true, "+ping": true, "+unsubscribe": true, "+publish": true, "+subscribe": true, "-@all": true, "resetchannels": true, "&pacer:*": true}
	for _, right := range strings.Fields(all) {
		if optional[right] {
			continue
		}
		if err := try(strings.Replace(all+" ", right+" ", "", 1)); err == nil {
			t.Errorf("%s is not needed", right)
		}
	}
}
