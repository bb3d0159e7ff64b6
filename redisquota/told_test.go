package redisquota_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// TestToldPartsOfEveryUnit: however much was told of one unit, a quota of another one that comes after a loss
// is charged with what was told of that, as store.Ledger does.
func TestToldPartsOfEveryUnit(t *testing.T) {
	for _, seconds := range []int{1, 63, 64, 65} {
		s := mini(t)
		shared := goredis.New(dial(t, s))
		start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		model := &store.Ledger{Epoch: start.Add(-time.Hour)}
		model.Lose()
		send := func(at time.Duration, who, text string, own ...store.Own) {
			r := &store.Request{
				Version: 1, Bucket: "api", Quotas: parse(t, text), SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: who, Serial: 1, Own: own,
			}
			s.Mini.SetTime(start.Add(at))
			got, err := shared.Exchange(t.Context(), r)
			want, _, wrong := model.Exchange(time.Hour+at, r)
			if err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
			if !reflect.DeepEqual(got.Left, want.Left) {
				t.Errorf("%d seconds of another unit: %s after %v: %d are left, want %d", seconds, who, at, got.Left, want.Left)
			}
		}
		var own []store.Own
		for i := range seconds {
			own = append(own, store.Own{In: -time.Duration(i) * time.Second, Cost: []int64{7}})
		}
		send(2*time.Second, "a", "1000/2m log", own...)
		send(2*time.Second, "b", "500 tokens/20s log", store.Own{In: -100 * time.Millisecond, Cost: []int64{400}})
		send(3*time.Second, "late", "450 tokens/20s window grid, 1000/100s log")
		send(19*time.Second, "later", "450 tokens/20s window grid, 1000/100s log")
	}
}

// toldHistory has members tell a store.Ledger that was lost more parts than are remembered, of several units by
// lists that come one after another.
func toldHistory(t *testing.T, r *rand.Rand) (start time.Time, steps []step) {
	t.Helper()
	lists := []quota.Quotas{
		parse(t, "1000/2m log, 600 tokens/100s log, 700 bytes/90s log"), parse(t, "900 tokens/80s window, 800/100s log"), parse(t, "500 bytes/50s log, 400/40s log"),
		parse(t, "450 tokens/20s window grid, 400/20s window grid, 300 bytes/30s window grid"), parse(t, "2000/s burst 500 debt, 1000 tokens/20s window"),
		parse(t, "300/100s sliding 100, 200 tokens/100s sliding 100"),
	}
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(2*time.Minute + time.Duration(r.IntN(1e6))*time.Microsecond)
		model.Lose()
		shown := 1 + r.IntN(len(lists))
		for i := range 60 {
			time.Sleep(time.Duration(r.IntN(1+[]int{0, 20_000, 900_000}[r.IntN(3)])) * time.Microsecond)
			if r.IntN(12) == 0 {
				shown = min(shown+1, len(lists))
			}
			qs := lists[r.IntN(shown)]
			req := store.Request{
				Version: 1, Bucket: "api", Quotas: qs, SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: fmt.Sprintf("m%d", i), Serial: 1,
			}
			for range r.IntN(20) {
				o := store.Own{In: time.Duration(r.IntN(120_000)-119_000) * time.Millisecond, Cost: make([]int64, len(qs))}
				if r.IntN(3) == 0 {
					o.In = time.Duration(r.IntN(1_500_000)-500_000) * time.Microsecond
				}
				for k := range o.Cost {
					o.Cost[k] = int64(r.IntN(3) * r.IntN(6))
				}
				req.Own = append(req.Own, o)
			}
			if r.IntN(3) == 0 {
				req.Asks = []store.Ask{{Cost: slices.Repeat([]int64{1}, len(qs)), Count: 1 + r.IntN(3), Within: -1}}
			}
			reply, news, err := model.Exchange(time.Since(start), &req)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step{time.Now(), req, reply, news, false})
		}
	})
	return start, steps
}

// TestStoreToldAgainstModel: so do those parts that members told, which later quotas are charged with. The
// server is a real one, since tables of miniredis are walked through in the order in which they were filled;
// its clock is a key.
func TestStoreToldAgainstModel(t *testing.T) {
	c := dial(t, realServer(t))
	script := redisquota.Script()
	for _, o := range [][2]string{
		{"most_steps = 5000 ", "most_steps = 2 ^ 30 "}, {"most_left = 400,", "most_left = 2 ^ 30,"}, {"redis.call('TIME')", "redis.call('LRANGE', 'clock', 0, 1)"},
	} {
		if strings.Count(script, o[0]) != 1 {
			t.Fatalf("the script does not have %q once", o[0])
		}
		script = strings.Replace(script, o[0], o[1], 1)
	}
	by := &redisquota.Store{Client: scripted{c, redis.NewScript(script)}}
	for seed := range uint64(*histories) {
		flushAll(t, c)
		start, steps := toldHistory(t, rand.New(rand.NewPCG(seed, 6)))
		answersAt(t, func(st step) {
			us := st.at.UnixMicro()
			if err := c.Del(t.Context(), "clock").Err(); err != nil {
				t.Fatal(err)
			}
			if err := c.RPush(t.Context(), "clock", us/1e6, us%1e6).Err(); err != nil {
				t.Fatal(err)
			}
		}, by, start, steps, false)
	}
}
