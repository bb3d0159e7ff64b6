package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

// program calls the program, and returns what it writes. Spans are replaced by a T, since the server's clock
// runs.
func program(t *testing.T, want int, args ...string) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	if got := run(t.Context(), args, &o, &e); got != want {
		t.Errorf("%q: exit %d, want %d: %s%s", args, got, want, o.String(), e.String())
	}
	return spans.ReplaceAllString(o.String(), "T"), e.String()
}

var spans = regexp.MustCompile(`\b\d+[\d.hms]*(ms|s)\b`)

// request is what a process asks.
func request(t *testing.T, s store.Store, bucket, quotas string, change func(r *store.Request)) *store.Reply {
	t.Helper()
	qs := quota.MustParse(quotas).Explicit()
	r := &store.Request{Version: 1, Bucket: bucket, Quotas: qs, SlotLife: 10 * time.Millisecond, Horizon: time.Millisecond, Member: "p" + quotas, Serial: 1}
	change(r)
	reply, err := s.Exchange(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestProgram shows, explains and releases what two processes share.
func TestProgram(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) (*server.Server, error){
		"miniredis": func(*testing.T) (*server.Server, error) { return server.Mini() },
		"real":      realServer,
	} {
		t.Run(name, func(t *testing.T) {
			srv, err := start(t)
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Stop()
			c := redis.NewClient(&redis.Options{Addr: srv.Addr})
			defer c.Close()
			addr := "-addr=redis://" + srv.Addr
			if out, _ := program(t, 0, addr, "ls"); out != "There is no bucket under the prefix \"pacer\".\n" {
				t.Errorf("ls of nothing: %s", out)
			}
			quotas := goredis.New(c)
			request(t, quotas, "a:b", "10/m burst 5", func(r *store.Request) { r.More = []int64{1000} })
			request(t, quotas, "api.test for 00ff", "10/s burst 5, 5/h log", func(r *store.Request) { r.Hold = time.Hour })
			request(t, quotas, "api.test for 00ff", "20/s burst 5", func(*store.Request) {})
			const list = `BUCKET             PROCESSES  HELD FOR  DEBT  NEXT IN  QUOTAS
a:b                1          -         T   T   10/m burst 5
api.test for 00ff  2          T    -     T   20/s burst 5 | 10/s burst 5, 5/h log
`
			if out, _ := program(t, 0, addr, "ls"); strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(list), " ") {
				t.Errorf("ls:\n%s\nwant\n%s", out, list)
			}
			const explained = `api.test for 00ff
  Its quotas are 20/s burst 5.
  TWO VERSIONS ARE ABOUT: in the last ten seconds, a process asked by 10/s burst 5, 5/h log. The quotas of both hold.
  2 processes use it.
  It is HELD for another T: a server said so to one of the processes, or one of them paused.
  The next request may go in T.
  The server has known the bucket for T.
  To end that: redisquota release 'api.test for 00ff'
`
			if out, _ := program(t, 0, addr, "show", "api.test for 00ff"); out != explained {
				t.Errorf("show:\n%s\nwant\n%s", out, explained)
			}
			heard := make(chan store.News, 10)
			stop, err := quotas.Listen("a:b", func(n store.News) { heard <- n })
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			<-heard // that it listens
			if out, _ := program(t, 0, addr, "release", "a:b"); !strings.HasPrefix(out, "a:b: ended a debt of T. The next request may go in T.\n") {
				t.Errorf("release: %s", out)
			}
			for n := range heard {
				if n.Released {
					break
				}
			}
			if reply := request(t, quotas, "a:b", "10/m burst 5", func(r *store.Request) { r.Look = true }); reply.Ahead > time.Second {
				t.Errorf("released, and still in debt for %v", reply.Ahead)
			}
			var after struct{ After asJSON }
			out, _ := program(t, 0, addr, "-json", "release", "api.test for 00ff")
			if err := json.Unmarshal([]byte(out), &after); err != nil || after.After.Held != 0 || after.After.Quotas.String() != "20/s burst 5" {
				t.Errorf("release -json: %s, %v", out, err)
			}
			if _, errs := program(t, noBucket, addr, "show", "nix"); errs != "redisquota: nix: no such bucket under the prefix \"pacer\"; ls lists them\n" {
				t.Error(errs)
			}
			program(t, noBucket, addr, "release", "nix")
			if keys, err := c.Keys(t.Context(), "*nix*").Result(); len(keys) > 0 || err != nil {
				t.Errorf("looking has made %q, %v", keys, err)
			}
			program(t, noBucket, addr, "-prefix=other", "show", "a:b")
		})
	}
}

// mini returns an embedded server for a test, and a client of it.
func mini(t *testing.T) (*server.Server, *redis.Client) {
	t.Helper()
	srv, err := server.Mini()
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: srv.Addr})
	t.Cleanup(func() {
		_ = c.Close()
		srv.Stop()
	})
	return srv, c
}

// TestLeftAfterAPause: what is left is what the quotas grant, and not the part of one that is new, for whom
// others that idle leave most of it.
func TestLeftAfterAPause(t *testing.T) {
	srv, c := mini(t)
	now, granted := time.Now(), 0
	for serial := range 5 {
		srv.Mini.SetTime(now.Add(time.Duration(serial) * time.Second))
		reply := request(t, goredis.New(c), "api", "100/h log", func(r *store.Request) {
			r.Fresh, r.Serial, r.GoesOn, r.Asks = serial == 0, int64(serial+1), true, []store.Ask{{Cost: []int64{1}, Count: 1, Within: time.Second}}
		})
		for _, s := range reply.Slots {
			granted += s.Count
		}
	}
	srv.Mini.SetTime(now.Add(time.Minute))
	out, _ := program(t, 0, "-addr=redis://"+srv.Addr, "show", "api")
	if want := fmt.Sprintf("Of 100/h log, %d are left.", 100-granted); granted == 0 || !strings.Contains(out, want) {
		t.Errorf("show: %s, want %s", out, want)
	}
}

// slow is a server that is 20 ms away, by its own clock.
type slow struct {
	srv *server.Server
	now time.Time
}

func (s *slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.now = s.now.Add(20 * time.Millisecond)
		s.srv.Mini.SetTime(s.now)
		return next(ctx, cmd)
	}
}

// TestUsedUpIsNoDebt: a bucket that is used up is in no debt, however long the server takes to be looked at
// twice.
func TestUsedUpIsNoDebt(t *testing.T) {
	srv, c := mini(t)
	c.AddHook(&slow{srv: srv, now: time.Now()})
	for serial := range 32 {
		request(t, goredis.New(c), "api", "50/s burst 10", func(r *store.Request) {
			r.Fresh, r.Serial, r.Horizon, r.Asks = serial == 0, int64(serial+1), time.Second, []store.Ask{{Cost: []int64{1}, Count: 30, Within: time.Second}}
		})
	}
	switch b, err := open(c, "pacer").look(t.Context(), "api"); {
	case err != nil:
		t.Error(err)
	case b.next == 0 || b.debt != 0:
		t.Errorf("next in %v, in debt for %v, want no debt", b.next, b.debt)
	}
}

// TestNeverAPassword: whatever is wrong, what was given is not printed.
func TestNeverAPassword(t *testing.T) {
	for args, want := range map[string]struct {
		exit int
		says string
	}{
		"-addr redis://:s3cret%zz@h:1 ls":                {misused, "-addr is not the address of a server: want host:port"},
		"-addr s3cret@h:x ls":                            {misused, "-addr is not the address of a server: want host:port"},
		"-addr redis://u:s3cret@127.0.0.1:1 ls":          {failed, "list the buckets of 127.0.0.1:1: dial tcp 127.0.0.1:1"},
		"-addr redis://u:s3cret@127.0.0.1:1 show api":    {failed, "redisquota: api: "},
		"-addr redis://u:s3cret@127.0.0.1:1 -cluster ls": {failed, "list the buckets: "},
		"-addr redis://u:s3cret@127.0.0.1:1 list":        {misused, "usage: redisquota [flags] ls | show BUCKET | release BUCKET"},
		"-addr redis://u:s3cret@127.0.0.1:1 show":        {misused, `redisquota: "show": want ls, show BUCKET or release BUCKET, and flags before that`},
		"-addr redis://u:s3cret@127.0.0.1:1 -nix":        {misused, "usage: "},
		"":      {misused, "redisquota: want ls, show BUCKET or release BUCKET, and flags before that"},
		"-help": {0, "usage: "},
	} {
		t.Setenv("REDIS_URL", "redis://u:s3cret@127.0.0.1:1")
		out, errs := program(t, want.exit, strings.Fields(args)...)
		if !strings.Contains(errs, want.says) {
			t.Errorf("%s: got %q, want %q in it", args, errs, want.says)
		}
		if strings.Contains(out+errs, "s3cret") {
			t.Errorf("%s: %s%s", args, out, errs)
		}
	}
}

// What a name has that a terminal would obey is escaped.
// Counters of one name are told apart, as text and as JSON.
func TestShowTellsCountersApart(t *testing.T) {
	st := quota.Statement{Name: "core", Limit: 9, Remaining: 4, Reset: time.Minute, ResetKnown: true}
	other, bare, units := st, st, st
	other.Counter, bare.Name, bare.Counter, units.Unit = "search\x1b", "", "mine", "tokens"
	b := bucket{name: "api", now: &store.Reply{Statements: []quota.Statement{st, other, bare, units}}}
	const want = `  A server said of core: 4 of 9 remain, until a reset in T.
  A server said of core, counted in "search\x1b": 4 of 9 remain, until a reset in T.
  A server said of its limit, counted in mine: 4 of 9 remain, until a reset in T.
  A server said of core: 4 of 9 tokens remain, until a reset in T.
`
	if got := strings.ReplaceAll(b.explain(), short(time.Minute), "T"); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text, err := json.Marshal(b.json().Said)
	if want := `[{"name":"core","limit":9,"remaining":4,"reset":60},{"name":"core","counter":"search\u001b","limit":9,"remaining":4,"reset":60},` +
		`{"counter":"mine","limit":9,"remaining":4,"reset":60},{"name":"core","unit":"tokens","limit":9,"remaining":4,"reset":60}]`; err != nil || string(text) != want {
		t.Errorf("got\n%s, %v, want\n%s", text, err, want)
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{"api.test for 00ff": "api.test for 00ff", "a\x1b[2J": `"a\x1b[2J"`, "": `""`} {
		if got := printable(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

func realServer(t *testing.T) (*server.Server, error) {
	t.Helper()
	return server.Any(t.Context())
}
