package redisquota_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// untouched fails a test that reaches it.
type untouched struct{ t *testing.T }

func (c untouched) Run(context.Context, []string, []string) ([]string, error) {
	c.t.Error("the server was asked")
	return nil, errors.ErrUnsupported
}

func (untouched) Subscribe(context.Context, string, func(string)) error { return errors.ErrUnsupported }

// What no Limiter of today sends is an error, and does not reach the server.
func TestStoreRequestRefused(t *testing.T) {
	for want, change := range map[string]func(r *store.Request){
		"Version is 0, want 1":                          func(r *store.Request) { r.Version = 0 },
		"Version is 2, want 1":                          func(r *store.Request) { r.Version = 2 },
		"SlotLife is -1ns, want from 0 to 50 years":     func(r *store.Request) { r.SlotLife = -1 },
		"Serial is -1, want 0 or more":                  func(r *store.Request) { r.Serial = -1 },
		"Answered is 3, want less than Serial, 3":       func(r *store.Request) { r.Serial, r.Answered = 3, 3 },
		"Horizon is 2562047h47m16.854775807s, want":     func(r *store.Request) { r.Horizon = math.MaxInt64 },
		"a quota is no limit, want one that can live":   func(r *store.Request) { r.Quotas = quota.Quotas{{}} },
		"a quota is 5 in flight, want one that":         func(r *store.Request) { r.Quotas = quota.Quotas{{N: 5, Kind: quota.InFlight}} },
		"a quota is 5/s warm-up 1s, want one that":      func(r *store.Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second, WarmUp: time.Second}} },
		"a quota is 5/s sliding, want what Explicit of": func(r *store.Request) { r.Quotas = quota.MustParse("5/s sliding") },
		"a quota is 5/s burst 5, want what Explicit of": func(r *store.Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second, Kind: quota.TokenBucket}} },
		"a quota is 5/s fast, want one that":            func(r *store.Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second, Kind: "fast"}} },
		"SlotLife is 20ms, want less than the Per of 9/20ms window grid": func(r *store.Request) {
			r.Quotas = quota.Quotas{{N: 9, Per: 20 * time.Millisecond, Kind: quota.ClockWindow}}
		},
		"Per is 1.0000005s, want whole microseconds": func(r *store.Request) {
			r.Quotas = quota.Quotas{{N: 9, Per: time.Second + 500, Kind: quota.EstimatedWindow}}
		},
	} {
		s := &redisquota.Store{Client: untouched{t}}
		m := &member{t: t, store: s, quotas: parse(t, "5/s even"), name: "a"}
		r := m.request(1, 1)
		change(r)
		reply, err := s.Exchange(t.Context(), r)
		if want := "redisquota: api: " + want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %+v, %v, want %s", reply, err, want)
		}
	}
}

// What is no cost of the quotas gets no slot, and gives nothing back.
func TestStoreNoCosts(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			for name, cost := range map[string][]int64{
				"negative": {1, -1}, "of fewer quotas": {1}, "of more quotas": {1, 1, 1},
			} {
				flushAll(t, c)
				a := &member{t: t, store: goredis.New(c), quotas: parse(t, "10/s burst 5, 10/m log"), name: "a"}
				a.open()
				a.ask(1, 0)
				r := a.request(1, 1)
				r.Asks = []store.Ask{{Cost: cost, Count: 1, Within: -1}, {Cost: []int64{1, 3}, Count: 1, Within: -1}}
				reply := a.send(r)
				if len(reply.Slots) != 1 || reply.Slots[0].Ask != 1 {
					t.Fatalf("%s: slots %+v", name, reply.Slots)
				}
				r = a.request(1, 0)
				r.Back = []store.Part{{Slot: reply.Slots[0].ID, Cost: cost}}
				a.send(r)
				if n, err := c.ZCard(t.Context(), "{pacer:api}:holes").Result(); n != 0 || err != nil {
					t.Errorf("%s: %d holes, %v, want 0", name, n, err)
				}
			}
		})
	}
}

// TestStoreTwoVersions: members that ask by quotas of other kinds, of which they do not know how many logs the
// others have, pay for all of them, and what the others do not ask by any more is gone from the server later.
func TestStoreTwoVersions(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			s := goredis.New(c)
			old := &member{t: t, store: s, quotas: parse(t, "30/s log, 30/2s log"), name: "old"}
			fresh := old.request(0, 0)
			fresh.Horizon, fresh.Fresh = 0, true
			old.send(fresh)
			if n := granted(old.ask(1, 40), 0); n != 30 {
				t.Fatalf("%d of the others, want 30", n)
			}
			later := &member{t: t, store: goredis.New(c), quotas: parse(t, "100/s burst 60"), name: "new"} // a process of its own
			later.ask(1, 0)
			time.Sleep(700 * time.Millisecond) // its bucket is new, and has something by now
			if reply := later.ask(1, 60); len(reply.Slots) == 0 || reply.Slots[0].In < time.Second {
				t.Errorf("slots %+v beside 30 of the others, want them after their two seconds", reply.Slots)
			}
			if n := granted(old.ask(1, 30), time.Second); n > 0 {
				t.Errorf("%d more of the others, want none", n)
			}
			reply := later.ask(1, 1)
			if len(reply.Others) != 1 || len(reply.Left) != 1 {
				t.Errorf("others %v, left %v, want one of each", reply.Others, reply.Left)
			}
			keys := c.Keys(t.Context(), "*log*").Val()
			if len(keys) != 2 {
				t.Errorf("logs %v, want two", keys)
			}
		})
	}
}

// TestStoreLaterRelease: a state of a later release is an error for as long as that release may use the bucket,
// and nobody touches it; then it is lost, as one of an earlier release is at once. Else two releases would lose
// the bucket to each other again and again, and nothing would go.
func TestStoreLaterRelease(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s burst 50"), name: "a"}
			const key, field = "{pacer:api}:state", "bucket"
			was := func() []string { return strings.Fields(c.HGet(t.Context(), key, field).Val()) }
			for step, test := range []struct {
				version int
				ago     time.Duration // that was written
				later   bool
				lost    bool
			}{
				{version: 0}, // as it is
				{version: 99, later: true},
				{version: 99, ago: 9 * time.Second, later: true},
				{version: 99, ago: -9 * time.Second, later: true}, // its clock was ahead
				{version: 99, ago: 11 * time.Second, lost: true},
				{version: 1, lost: true},
			} {
				if step == 0 {
					a.open()
				}
				if test.version != 0 {
					f := was()
					at, _ := strconv.ParseInt(f[1], 10, 64)
					f[0], f[1] = strconv.Itoa(test.version), strconv.FormatInt(at-test.ago.Microseconds(), 10)
					c.HSet(t.Context(), key, field, strings.Join(f, " "))
				}
				before := was()
				reply, err := a.store.Exchange(t.Context(), a.request(1, 1))
				if test.later {
					const want = "redisquota: api: a later version of this package uses the bucket: renew this program"
					if err == nil || err.Error() != want || !slices.Equal(was(), before) {
						t.Errorf("%+v: %+v, %v, want the error %q, and nothing written", test, reply, err, want)
					}
				} else if err != nil || reply.Lost != test.lost {
					t.Errorf("%+v: %+v, %v", test, reply, err)
				}
			}
		})
	}
}

// A member that gets wider quotas does not end the narrower ones of those that still ask by them.
func TestStoreOldQuotasOfOthers(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			a := &member{t: t, store: goredis.New(dial(t, start(t))), quotas: parse(t, "5/m log"), name: "a"}
			b := &member{t: t, store: a.store, quotas: a.quotas, name: "b"}
			b.ask(1, 1)
			a.ask(1, 1)
			b.quotas = parse(t, "7/m log")
			if r := b.ask(1, 1); len(r.Others) != 1 || r.Others[0].String() != "5/m log" {
				t.Errorf("beside %v, want the narrower ones", r.Others)
			}
			a.quotas = b.quotas
			a.ask(1, 1)
			if r := b.ask(1, 1); len(r.Others) != 1 {
				t.Errorf("beside %v, want the narrower ones, of which nobody knows whether there are more", r.Others)
			}
		})
	}
}

// What is missing in a bucket comes back at the rate of now: a lower one makes no tokens of it.
func TestStoreLowerRate(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "100/h burst 100"), name: "a"}
			a.open()
			missing := func(r *store.Request) time.Duration {
				r.Asks = []store.Ask{{Cost: []int64{50}, Count: 1, Within: 0}}
				return a.send(r).Next
			}
			at := missing(a.request(1, 1))
			b := &member{t: t, store: a.store, quotas: parse(t, "50/h burst 100"), name: "b"}
			if slower := missing(b.request(1, 1)); slower < 2*at-time.Minute || slower > 2*at {
				t.Errorf("50 at half of the rate in %v, where they were there in %v", slower, at)
			}
		})
	}
}

// refusing keeps the arguments of the latest call, which fails.
type refusing struct {
	untouched
	args []string
}

func (c *refusing) Run(_ context.Context, _, args []string) ([]string, error) {
	c.args = args
	return nil, errors.ErrUnsupported
}

// TestKindTags: what a script has written is read by that of later releases, so that a Kind keeps its tag.
func TestKindTags(t *testing.T) {
	for text, tag := range map[string]string{
		"5/s even": "1:", "5/s window": "2:", "5/s window grid": "3::1000000", "5/s sliding": "4:", "5 tokens/s log": "5:tokens", "5 tokens/s estimate": "6:tokens:1000000",
	} {
		c := new(refusing)
		m := &member{t: t, quotas: parse(t, text), name: "a"}
		if _, err := (&redisquota.Store{Client: c}).Exchange(t.Context(), m.request(1, 1)); !errors.Is(err, errors.ErrUnsupported) || !slices.Contains(c.args, tag) {
			t.Errorf("%s: %v, and %q is not among %q", text, err, tag, c.args)
		}
	}
}
