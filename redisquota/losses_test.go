package redisquota_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
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

// lossesHistory has members of a store.Ledger, which go by several lists of quotas and change to others, tell
// what went and what they have when it loses all now and then.
func lossesHistory(t *testing.T, r *rand.Rand) (start time.Time, steps []step) {
	t.Helper()
	texts := []string{
		"50/10s log", "20/20s log, 100/m log", "20 tokens/m log", "30 tokens/10s log, 10/10s window", "50/10s window grid", "20/10s estimate",
		"100/10s sliding 10", "20/s burst 4", "50/s even, 40/2s log", "100 tokens/s burst 20, 5/s burst 3", "5 jobs/5s log, 40/20s log", "10/10s log, 10/10s log",
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(r.IntN(1e6)) * time.Microsecond)
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(90 * time.Second) // its clock began before what members say that they sent
		var lists []quota.Quotas
		for range 1 + r.IntN(4) {
			lists = append(lists, parse(t, texts[r.IntN(len(texts))]))
		}
		lists = append(lists, halved(lists[0]))
		users, list := make([]user, 1+r.IntN(5)), make([]quota.Quotas, 5)
		for i := range 80 {
			time.Sleep(pause(r))
			loses := i == 0 || r.IntN(25) == 0
			if loses {
				model.Lose()
			}
			k := r.IntN(len(users))
			u := &users[k]
			if u.name == "" || r.IntN(12) == 0 {
				list[k] = lists[r.IntN(len(lists))]
			}
			if u.name == "" {
				*u = user{name: fmt.Sprintf("m%d of one program", i)}
			}
			req := u.request(r, list[k])
			req.Fresh = req.Fresh && r.IntN(8) == 0
			u.sure(&req)
			u.tell(r, &req)
			reply, news, err := model.Exchange(time.Since(start), &req)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step{time.Now(), req, reply, news, loses})
			u.hear(r, &req, reply)
		}
	})
	return start, steps
}

// tell has a request tell, sometimes, what went and what will in the unknown, of some seconds or more than a
// minute.
func (u *user) tell(r *rand.Rand, req *store.Request) {
	if r.IntN(4) > 0 {
		return
	}
	req.Own = nil
	span := []int{1000, 5000, 20000, 80000}[r.IntN(4)]
	for range r.IntN(40) {
		cost := make([]int64, len(req.Quotas))
		for i := range cost {
			cost[i] = int64(r.IntN(3))
		}
		req.Own = append(req.Own, store.Own{In: time.Duration(r.IntN(span+1000)-span) * time.Millisecond, Cost: cost})
	}
}

// TestStoreLossesAgainstModel: the script answers as store.Ledger does when both lose all again and again,
// whatever is told and by which lists. The script does all of each call.
func TestStoreLossesAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	const bound = "most_steps = 5000 "
	if strings.Count(redisquota.Script(), bound) != 1 {
		t.Fatalf("the script does not have %q once", bound)
	}
	unbound := &redisquota.Store{Client: scripted{c, redis.NewScript(strings.Replace(redisquota.Script(), bound, "most_steps = 2 ^ 30 ", 1))}}
	for seed := range seeds(*histories, 7, 114) { // two that showed something
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			start, steps := lossesHistory(t, rand.New(rand.NewPCG(seed, 77)))
			answers(t, s, unbound, start, steps, true)
		})
	}
}

// TestStoreReleaseOfWhatIsToCome: what a member tells that is still to come is no part of what a person may
// end, also where the script knew nothing so late before.
func TestStoreReleaseOfWhatIsToCome(t *testing.T) {
	s := mini(t)
	by := goredis.New(dial(t, s))
	start := time.Now()
	exchange := func(after time.Duration, r store.Request) *store.Reply {
		t.Helper()
		s.Mini.SetTime(start.Add(after))
		r.Version, r.Bucket, r.Member, r.Quotas = store.Version, "api", "m", parse(t, "20/m log")
		r.SlotLife, r.Horizon, r.Hand = 20*time.Millisecond, 500*time.Millisecond, []int64{0}
		reply, err := by.Exchange(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	var went []store.Own // of which 4 are too many
	for i := range 24 {
		went = append(went, store.Own{In: time.Duration(i-24) * 100 * time.Millisecond, Cost: []int64{1}})
	}
	exchange(0, store.Request{Serial: 1, Own: went})
	reply := exchange(time.Second, store.Request{
		Serial: 2, Answered: 1, Release: true, Own: []store.Own{{In: 300 * time.Millisecond, Cost: []int64{2}}},
		Asks: []store.Ask{{Cost: []int64{1}, Count: 1, Within: 0}},
	})
	// 22 are left, so that one may go when three have left the minute: the third went 2.2 s before the first
	// request.
	if want := -2200*time.Millisecond + time.Minute + 20*time.Millisecond - time.Second; reply.Next != want {
		t.Errorf("the next slot is in %v, want %v", reply.Next, want)
	}
}

// TestEachUnitKeepsWhatWasTold: members tell more of one unit than is kept in parts, and then of another unit.
// All of both is kept for quotas that come later.
func TestEachUnitKeepsWhatWasTold(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	by := goredis.New(c)
	for serial := range int64(5) {
		r := &store.Request{Version: store.Version, Bucket: "api", Member: "a", Serial: 1 + serial, Quotas: parse(t, "5000/h log, 5000 tokens/h log"), Horizon: 500 * time.Millisecond}
		for k := range 30 {
			r.Own = append(r.Own, store.Own{In: time.Duration(8-k) * 97 * time.Millisecond * time.Duration(1+11*serial), Cost: []int64{10, 0}})
		}
		if serial == 4 {
			r.Own = append(r.Own, store.Own{In: -time.Millisecond, Cost: []int64{0, 30}})
		}
		if _, err := by.Exchange(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	told, parts := map[string]int{}, strings.Fields(c.HGet(t.Context(), c.Keys(t.Context(), "*:state").Val()[0], "told").Val())
	for _, part := range parts {
		words := strings.Split(part, ":")
		n, _ := strconv.Atoi(words[2])
		told[words[1]] += n
	}
	if told[""] != 1500 || told["tokens"] != 30 || len(parts) != 64 {
		t.Errorf("%d parts are kept, in which %v were told; want 64, with 1500 requests and 30 tokens", len(parts), told)
	}
}
