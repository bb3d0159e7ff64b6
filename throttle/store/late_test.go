package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
)

// lates asks a bucket for random slots while Late rises and falls. Those before some instant are used as late as they may be, and the others
// in time.
func lates(t *testing.T, seed uint64, q quota.Quota) (sent []definition.Sent) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	now, late := time.Second, 10*time.Millisecond
	turn := now + time.Duration(r.IntN(9000))*time.Millisecond
	for serial := range int64(30) {
		now += time.Duration(r.IntN(600)) * time.Millisecond
		if r.IntN(6) == 0 {
			late = time.Duration(10+r.IntN(2)*r.IntN(300)) * time.Millisecond
		}
		req := request(quota.Quotas{q}, serial+1)
		req.Late = late
		for range 1 + r.IntN(3) {
			within := time.Duration(r.IntN(2)) * 2 * time.Second
			req.Asks = append(req.Asks, Ask{Cost: []int{1 + r.IntN(q.Burst)}, Count: 1, Within: within})
		}
		reply := exchange(t, l, now, req)
		for _, s := range reply.Slots {
			at := now + s.In
			if at < turn {
				at += reply.Late
			}
			for range s.Count {
				sent = append(sent, definition.Sent{At: at, N: req.Asks[s.Ask].Cost[0]})
			}
		}
	}
	slices.SortStableFunc(sent, func(a, b definition.Sent) int { return cmp.Compare(a.At, b.At) })
	return sent
}

// TestStoreLateRisesAndFalls: a bucket grants no more than its burst and its rate, however late slots may be used, and whenever
// that changes.
func TestStoreLateRisesAndFalls(t *testing.T) {
	for _, q := range []quota.Quota{{N: 100, Burst: 500}, {N: 10, Burst: 30}, {N: 1, Burst: 4}, {N: 20, Burst: 20}, {N: 10, Burst: 5}} {
		q = plain(q)
		for seed := range uint64(300) {
			if err := definition.Check(q, time.Unix(1e9, 0), 0, lates(t, seed, q)); err != nil {
				t.Fatalf("%v, seed %d: %v", q, seed, err)
			}
		}
	}
}

// TestStoreLateChangesNoRate: a bucket that is always empty hands out its slots at its rate, also when Late rises and falls.
func TestStoreLateChangesNoRate(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	got, cost := "", 10
	for i := range 12 {
		r := request(quota.Quotas{plain(quota.Quota{N: 1, Burst: 10})}, int64(i+1))
		r.Asks = []Ask{{Cost: []int{cost}, Count: 1, Within: -1}}
		if r.Late = 10 * time.Millisecond; i >= 3 && i < 5 {
			r.Late = 500 * time.Millisecond
		}
		now := time.Second + time.Duration(i)*time.Second
		reply := exchange(t, l, now, r)
		cost = 1
		got += fmt.Sprint(now+reply.Slots[0].In, " ")
	}
	if want := "1s 2.01s 3.01s 4.01s 5.01s 6.01s 7.01s 8.01s 9.01s 10.01s 11.01s 12.01s "; got != want {
		t.Errorf("slots at %s, want %s", got, want)
	}
}

// TestStoreLateFalls: a store that was slow for a second slows the bucket for little longer. A Late that nobody asks for any more counts for a horizon,
// and until the slots have gone that were handed out with it: then 100 even tokens a second are 100 again, less one for the usual Late.
func TestStoreLateFalls(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	var got [4]int // in each second
	for i := range 10 * len(got) {
		r := request(quota.Quotas{plain(quota.Quota{N: 100, Burst: 1})}, int64(i+1))
		r.Asks = []Ask{{Cost: []int{1}, Count: 100, Within: 100*time.Millisecond - 1}}
		if i < 10 {
			r.Late = 120 * time.Millisecond
		}
		for _, s := range exchange(t, l, time.Second+time.Duration(i)*100*time.Millisecond, r).Slots {
			got[i/10] += s.Count
		}
	}
	if want := [4]int{90, 82, 99, 99}; got != want {
		t.Errorf("handed out %v, want %v", got, want)
	}
}

// TestStoreLateAskedFor: the longest Late of a horizon counts, whoever asks, and for as long as somebody asked for it.
func TestStoreLateAskedFor(t *testing.T) {
	const ms, horizon = time.Millisecond, 500 * time.Millisecond
	for _, steps := range [][]struct {
		at, late int // in milliseconds, as want is
		horizon  time.Duration
		want     int
	}{
		{{0, 200, horizon, 200}, {1, 10, horizon, 200}, {499, 10, horizon, 200}, {500, 10, horizon, 10}},
		{{0, 200, horizon, 200}, {400, 200, horizon, 200}, {899, 10, horizon, 200}, {900, 10, horizon, 10}},
		{{0, 200, horizon, 200}, {100, 100, horizon, 200}, {500, 10, horizon, 100}, {999, 10, horizon, 100}, {1000, 10, horizon, 10}},
		{{0, 200, horizon, 200}, {100, 100, horizon, 200}, {1000, 10, horizon, 10}}, // nobody has asked for a horizon
		{{0, 200, horizon, 200}, {1, 10, 0, 200}, {499, 10, horizon, 200}},          // one of slots of now alone
	} {
		var a askedLate
		for _, s := range steps {
			got := a.ask(time.Duration(s.late)*ms, s.horizon, instant(time.Duration(s.at)*ms))
			if got != time.Duration(s.want)*ms {
				t.Errorf("%v: at %d ms, Late is %v", steps, s.at, got)
			}
		}
	}
}
