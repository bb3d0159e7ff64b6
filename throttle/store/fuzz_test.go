package store

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// used returns a Ledger of each kind of quota, of which slots were handed out, and came back.
func used(tb testing.TB) *Ledger {
	tb.Helper()
	qs, err := quota.Parse("10/s burst 5, 10/m log, 9/s window grid, 20/s estimate, 30/2s sliding 4")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	r := request(qs.Explicit(), 1)
	r.Statements = []quota.Statement{{Name: "core", Remaining: 3, Reset: time.Minute, ResetKnown: true}}
	r.Asks = []Ask{{Cost: []int64{1, 1, 1, 1, 1}, Count: 4, Within: -1}}
	reply := exchange(tb, l, 0, r)
	r = request(r.Quotas, 2)
	for _, s := range reply.Slots {
		r.Back = append(r.Back, Part{s.ID, []int64{1, 0, 1, 0, 1}})
	}
	exchange(tb, l, time.Millisecond, r)
	return l
}

// quotasOf are those by which a Ledger counts.
func quotasOf(l *Ledger) (qs quota.Quotas) {
	for p := range l.places {
		qs = append(qs, l.places[p].quota)
	}
	return qs
}

// exchange is Exchange of a request that is not refused.
func exchange(tb testing.TB, l *Ledger, now time.Duration, r *Request) *Reply {
	tb.Helper()
	reply, _, err := l.Exchange(now, r)
	if err != nil {
		tb.Fatal(err)
	}
	return reply
}

func request(qs quota.Quotas, serial int64) *Request {
	return &Request{Version: 1, Quotas: qs, SlotLife: 10 * time.Millisecond, Horizon: horizon, Member: "m", Serial: serial}
}

// FuzzLedger reads what nobody has written: it may be an error, and is never a panic. A Ledger that
// was read can be used and written again.
func FuzzLedger(f *testing.F) {
	l := used(f)
	b, _ := l.MarshalBinary()
	f.Add(b)
	b, _ = new(Ledger).MarshalBinary()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var l Ledger
		if l.UnmarshalBinary(b) != nil {
			return
		}
		if _, err := again(t, &l).Epoch.MarshalBinary(); err != nil {
			return // no date
		}
		cost := make([]int64, len(l.places))
		for i := range cost {
			cost[i] = 1
		}
		r := request(quotasOf(&l), 3)
		r.Asks = []Ask{{Cost: cost, Count: 3, Within: time.Hour}}
		l.Exchange(time.Second, r) // an error, if SlotLife is too long for the quotas
	})
}

// again writes l and reads it.
func again(t *testing.T, l *Ledger) *Ledger {
	t.Helper()
	b, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	read := new(Ledger)
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	return read
}

// FuzzExchange has members tell a store whatever they like: the Ledger does not panic, its slots are
// not in the past, and what it writes can be read.
func FuzzExchange(f *testing.F) {
	huge := []int64{math.MaxInt64, math.MinInt64, -1, math.MaxInt64 / 2, 1 << 62, 1 << 50}
	for i := range int64(100) {
		var b []byte
		for j := range int64(200) {
			n := (i*7919 + j*104729) % 41
			if (i+j)%5 == 0 {
				n = huge[(i*31+j)%int64(len(huge))]
			}
			b = binary.AppendVarint(b, n)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		number := func() int64 {
			v, n := binary.Varint(b)
			if n <= 0 {
				b = nil
				return 0
			}
			b = b[n:]
			return v
		}
		below := func(n int64) int64 { return int64(uint64(number()) % uint64(n)) }
		l := used(t)
		now, qs := time.Second, quotasOf(l)
		ids := []int64{1}
		for len(b) > 0 {
			now += time.Duration(below(int64(time.Second)))
			r := request(qs, below(9))
			r.Member = string(rune('a' + below(3)))
			r.Leave, r.Hold = below(9) == 0, time.Duration(number())
			cost := func() []int64 {
				c := make([]int64, 5-below(9)/8)
				for i := range c {
					c[i] = number()
				}
				return c
			}
			r.More, r.Hand = cost(), cost()
			for range below(3) {
				r.Back = append(r.Back, Part{ids[below(int64(len(ids)))] + number()&1, cost()})
			}
			for range below(3) {
				r.Asks = append(r.Asks, Ask{Cost: cost(), Count: int(below(5)), Within: time.Duration(number())})
			}
			for range below(3) {
				r.Statements = append(r.Statements, quota.Statement{Remaining: number(), Reset: time.Duration(number()), ResetKnown: below(2) == 0})
			}
			reply := exchange(t, l, now, r)
			for _, s := range reply.Slots {
				if s.In < 0 {
					t.Fatalf("a slot in %v", s.In)
				}
				ids = append(ids, s.ID)
			}
			if reply.Ahead < 0 || reply.Hold < 0 || reply.Members < 1 {
				t.Fatalf("%+v", reply)
			}
			again(t, l)
		}
	})
}

// TestRefused: a request which a store cannot do is an error that says why, and changes nothing.
func TestRefused(t *testing.T) {
	even := quota.Quota{N: 5, Per: time.Second, Kind: quota.TokenBucket, Burst: 1}
	for want, change := range map[string]func(r *Request){
		"Version is 0, want 1":                            func(r *Request) { r.Version = 0 },
		"Version is -1, want 1":                           func(r *Request) { r.Version = -1 },
		"Version is 2, want 1":                            func(r *Request) { r.Version = 2 },
		"SlotLife is -1ns, want from 0 to 50 years":       func(r *Request) { r.SlotLife = -1 },
		"SlotLife is 2562047h47m16.854775807s, want from": func(r *Request) { r.SlotLife = math.MaxInt64 },
		"Horizon is -1ns, want from 0 to 50 years":        func(r *Request) { r.Horizon = -1 },
		"Serial is -1, want 0 or more":                    func(r *Request) { r.Serial = -1 },
		"Answered is 3, want less than Serial, 3":         func(r *Request) { r.Serial, r.Answered = 3, 3 },
		"a quota is no limit, want one that can live":     func(r *Request) { r.Quotas = quota.Quotas{even, {}} },
		"a quota is -1/s even, want one that can live":    func(r *Request) { r.Quotas = quota.Quotas{{N: -1, Per: time.Second, Burst: 1}} },
		"a quota is 5/s even, want one that can live":     func(r *Request) { r.Quotas = quota.Quotas{{N: 5, Kind: quota.TokenBucket, Burst: 1}} },
		"a quota is 5/s, want one that can live":          func(r *Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second}} },
		"a quota is 5 in flight, want one that can":       func(r *Request) { r.Quotas = quota.Quotas{{N: 5, Kind: quota.InFlight}} },
		"a quota is 5/s fast, want one that can":          func(r *Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second, Kind: "fast"}} },
		"a quota is 5/s warm-up 1s, want one that can":    func(r *Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second, WarmUp: time.Second}} },
		"a quota is 5/s burst 5, want what Explicit of":   func(r *Request) { r.Quotas = quota.Quotas{{N: 5, Per: time.Second, Kind: quota.TokenBucket}} },
		"a quota is 5/s sliding, want what Explicit of":   func(r *Request) { r.Quotas = quota.MustParse("5/s sliding") },
		"SlotLife is 1s, want less than the Per of 9/s window grid": func(r *Request) {
			r.SlotLife, r.Quotas = time.Second, quota.Quotas{{N: 9, Per: time.Second, Kind: quota.ClockWindow}}
		},
		"SlotLife is 1s, want less than the Per of 9/s estimate": func(r *Request) {
			r.SlotLife, r.Quotas = time.Second, quota.Quotas{even, {N: 9, Per: time.Second, Kind: quota.EstimatedWindow}}
		},
	} {
		var m Memory
		l := used(t)
		before, _ := l.MarshalBinary()
		r := request(quotasOf(l), 3)
		r.Bucket, r.Hold = "b", time.Second
		change(r)
		reply, news, err := l.Exchange(time.Second, r)
		if want := `store: bucket "b": ` + want; err == nil || !strings.HasPrefix(err.Error(), want) || reply != nil || news != (News{}) {
			t.Errorf("got %+v, %+v, %v, want %s", reply, news, err, want)
		}
		if after, _ := l.MarshalBinary(); !bytes.Equal(after, before) {
			t.Errorf("%s: the ledger has changed", want)
		}
		if reply, fromMemory := m.Exchange(t.Context(), r); reply != nil || fromMemory == nil || err == nil || fromMemory.Error() != err.Error() {
			t.Errorf("Memory: got %+v, %v, want the error of the Ledger: %v", reply, fromMemory, err)
		}
		if len(m.buckets) > 0 {
			t.Errorf("%s: Memory has a bucket", want)
		}
	}
}

// TestLedgerWithoutEpoch: a Ledger whose Epoch was never set can be written and read, and goes on as
// it was.
func TestLedgerWithoutEpoch(t *testing.T) {
	qs, err := quota.Parse("10/s burst 5, 9/s window grid")
	if err != nil {
		t.Fatal(err)
	}
	var l Ledger
	r := request(qs.Explicit(), 1)
	r.Asks = []Ask{{Cost: []int64{1, 1}, Count: 3, Within: -1}}
	exchange(t, &l, 0, r)
	read := again(t, &l)
	r = request(r.Quotas, 2)
	r.Asks = []Ask{{Cost: []int64{1, 1}, Count: 9, Within: -1}}
	want := exchange(t, &l, time.Millisecond, r)
	if got := exchange(t, read, time.Millisecond, r); !reflect.DeepEqual(got, want) {
		t.Errorf("slots %+v, want %+v", got.Slots, want.Slots)
	}
	again(t, new(Ledger))
}

// TestLedgerNoCosts: what is no cost gets no slot, and gives nothing back.
func TestLedgerNoCosts(t *testing.T) {
	for name, cost := range map[string][]int64{
		"negative": {1, -1}, "of fewer quotas": {1}, "of more quotas": {1, 1, 1},
	} {
		qs, err := quota.Parse("10/s burst 5, 10/m log")
		if err != nil {
			t.Fatal(err)
		}
		var l Ledger
		r := request(qs.Explicit(), 1)
		r.Asks = []Ask{{Cost: cost, Count: 1, Within: -1}, {Cost: []int64{1, 10}, Count: 1, Within: -1}}
		reply := exchange(t, &l, 0, r)
		if len(reply.Slots) != 1 || reply.Slots[0].Ask != 1 {
			t.Errorf("%s: slots %+v", name, reply.Slots)
		}
		r = request(r.Quotas, 2)
		r.Back = []Part{{reply.Slots[0].ID, cost}, {reply.Slots[0].ID + int64(time.Second), cost}}
		exchange(t, &l, time.Millisecond, r)
		b, _ := l.MarshalBinary()
		if err := new(Ledger).UnmarshalBinary(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if at := l.places[1].ledger.When(instant(time.Millisecond), 1); at != instant(time.Minute+10*time.Millisecond) {
			t.Errorf("%s: after it came back a slot at %d", name, at)
		}
	}
}
