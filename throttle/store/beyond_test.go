package store

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestLedgerFiftyYears: whatever costs and claims there are, no slot is further ahead than 50 years. What is
// beyond gets none and hears when it may ask again; nothing is lost, and what is written can be read.
func TestLedgerFiftyYears(t *testing.T) {
	const years = monotime.Longest
	for _, text := range []string{
		"1/s burst 1 debt", "1/s burst 1 debt, 1000/s window grid", "1/438000h log", "1/438000h sliding", "1/438000h window grid", "1/438000h estimate",
	} {
		for _, since := range []time.Duration{0, years / 50, years} { // the machine's clock
			t.Run(fmt.Sprint(text, " after ", since), func(t *testing.T) {
				qs, err := quota.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				l := &Ledger{Epoch: time.Unix(0, 0)}
				var last, next time.Duration
				for i := range int64(40) {
					now := since + time.Duration(i)*time.Second
					r := request(qs.Explicit(), 1)
					r.Member = string(rune('a' + i))
					cost := make([]int64, len(qs))
					for k := range qs.Explicit() {
						cost[k] = 1
					}
					if qs[0].Debt {
						cost[0] = math.MaxInt >> (i % 3)
					}
					r.Asks = []Ask{{Cost: cost, Count: 3, Within: -1}}
					if i > 20 {
						r.Asks[0].Cost[0] = 1
					}
					if i%4 == 3 {
						r.More = cost
					}
					reply := exchange(t, l, now, r)
					for _, s := range reply.Slots {
						if s.In < 0 || s.In > years {
							t.Errorf("a slot in %v", s.In)
						}
						last = max(last, now+s.In)
					}
					if reply.Next < 0 || reply.Ahead < 0 || reply.Lost {
						t.Errorf("%+v", reply)
					}
					l, next = again(t, l), reply.Next
				}
				if next <= years/2 || last < since+years/4 && qs[0].Kind != quota.EstimatedWindow {
					t.Errorf("the last slot at %v, and the next one in %v", last, next)
				}
			})
		}
	}
}

// TestLedgerBucketsOfAges: a bucket may have a Per that is longer than any span. What is written can be read,
// and nothing is forgotten after a day.
func TestLedgerBucketsOfAges(t *testing.T) {
	for _, per := range []time.Duration{2 * monotime.Longest, 4 * monotime.Longest, math.MaxInt64 - 1, math.MaxInt64} {
		l := &Ledger{Epoch: time.Unix(0, 0)}
		got := 0
		for i := range int64(6) {
			r := request(quota.Quotas{{Kind: quota.TokenBucket, N: 1000, Per: per, Burst: 5}}, i+1)
			r.Answered = i
			r.Asks = []Ask{{Cost: []int64{1}, Count: 1, Within: time.Hour}}
			reply := exchange(t, l, time.Duration(i)*time.Second, r)
			got += len(reply.Slots)
			if b, err := l.MarshalBinary(); reply.Lost || err != nil || l.UnmarshalBinary(b) != nil {
				t.Fatalf("of %v, call %d: lost %t, error %v, want a bucket that is known and can be read", per, i, reply.Lost, err)
			}
		}
		if got != 5 || l.Idle(48*time.Hour) {
			t.Errorf("of %v: %d slots, idle %t; want 5, and none that is idle after two days", per, got, l.Idle(48*time.Hour))
		}
	}
}
