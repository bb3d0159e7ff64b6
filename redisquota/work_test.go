package redisquota_test

import (
	"context"
	"flag"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/internal/heavy"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

var fleetSize = flag.Int("fleet", 20, "how many members TestStoreWorkIsBounded has")

// counting is a Client whose script counts how often its loops go round.
type counting struct {
	c      *redis.Client
	rounds int // of the latest call
}

var loops = regexp.MustCompile(`(?m)\b(do|repeat)$`)

var countingScript = redis.NewScript("ARGV.rounds = 0\nlocal function script()\n" + loops.ReplaceAllString(redisquota.Script(), "$0 ARGV.rounds = ARGV.rounds + 1") +
	"\nend\nlocal out = script()\nout[#out + 1] = tostring(ARGV.rounds)\nreturn out")

// anys are arguments as go-redis takes them.
func anys(args []string) []any {
	all := make([]any, len(args))
	for i, a := range args {
		all[i] = a
	}
	return all
}

func (c *counting) Run(ctx context.Context, keys, args []string) ([]string, error) {
	out, err := countingScript.Run(ctx, c.c, keys, anys(args)...).StringSlice()
	if err != nil {
		return nil, err
	}
	last := len(out) - 1
	c.rounds, err = strconv.Atoi(out[last])
	return out[:last], err
}

func (*counting) Subscribe(context.Context, string, func(string)) error { return nil }

// TestStoreWorkIsBounded: whatever Limiters ask for and tell, no call has the loops of the script go round more
// than so often, all together: a third of a microsecond each, with all else that a call does, so that nobody
// else waits for the server for more than four milliseconds. bench measures it.
func TestStoreWorkIsBounded(t *testing.T) {
	const most, least = 12_000, 4_000
	if n := len(loops.FindAllString(redisquota.Script(), -1)); n < 100 {
		t.Fatalf("the script has %d loops: the pattern does not find them", n)
	}
	ctx := t.Context()
	s, err := server.Real(ctx)
	real := err == nil
	if !real {
		s = mini(t) // much slower
	} else {
		t.Cleanup(s.Stop)
	}
	c := dial(t, s)
	eight := "1000/s log, 900/s log, 800/s log, 700/s log, 600/s even, 500/s even, 400/s even, 300/s even"
	for i, text := range append(slices.Clone(heavy.Quotas), eight) {
		if !real && i%4 > 0 {
			continue
		}
		t.Run(text, func(t *testing.T) {
			flushAll(t, c)
			client := &counting{c: c}
			shared := &redisquota.Store{Client: client}
			worst, calls, slots := 0, 0, 0
			f := heavy.Fleet{Quotas: parse(t, text), Members: *fleetSize, Exchange: func(r *store.Request) (*store.Reply, error) {
				reply, err := shared.Exchange(ctx, r)
				if worst = max(worst, client.rounds); err == nil && client.rounds > most {
					t.Errorf("%d rounds for %d asks, %d that come back and %d told, want %d at most", client.rounds, len(r.Asks), len(r.Back), len(r.Own), most)
				}
				if calls++; reply != nil {
					slots += granted(reply, 100*time.Hour)
				}
				return reply, err
			}}
			f.Pass = time.Sleep
			if !real {
				now := time.Now()
				f.Pass = func(d time.Duration) {
					now = now.Add(d)
					s.Mini.SetTime(now)
				}
			}
			if err := f.Play(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls for %d slots, %d rounds at most", calls, slots, worst)
			if worst < least || slots < 20 {
				t.Errorf("%d slots, and %d rounds at most: the test is not worth much", slots, worst)
			}
		})
	}
}
