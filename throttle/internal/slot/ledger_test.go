package slot

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

const (
	slotLife = 20 * time.Millisecond
	horizon  = 500 * time.Millisecond
)

// With it more histories are tried, as in go test ./throttle/internal/slot -args -times 20.
var times = flag.Uint64("times", 1, "how many times as many seeds are tried")

// slot is one that was handed out.
type handed struct {
	at monotime.Time
	n  int
}

// play has slots of random sizes be handed out at random instants, and some of them come back,
// and returns what was kept. If copied, the ledger is written to bytes and read again after
// each step.
func play(t *testing.T, r *rand.Rand, q quota.Quota, wall int64, copied bool) (slots []handed) {
	t.Helper()
	l := New(q, slotLife, horizon, wall)
	now := monotime.Time(1)
	for range 150 {
		now = now.Add(time.Duration(r.Int64N(int64(q.Per)/4+1)) >> r.IntN(8))
		n := 1 + r.Int64N(min(Most(&q), 1+r.Int64N(min(Most(&q), 40))))
		switch i := len(slots) - 1 - r.IntN(len(slots)+1); {
		case i >= 0 && r.IntN(4) == 0 && (slots[i].at < now || slots[i].at.Sub(now) > Near(horizon) && !l.Passed(now, slots[i].at)):
			l.Give(now, slots[i].at, int64(slots[i].n))
			slots = slices.Delete(slots, i, i+1)
		default:
			at := l.When(now, n)
			if at < now {
				t.Fatalf("%v: at %d a slot at %d", q, now, at)
			}
			if again := l.When(now, n); again != at {
				t.Fatalf("%v: a slot at %d, and then at %d: asking changed something", q, at, again)
			}
			l.Take(now, at, n)
			slots = append(slots, handed{at, int(n)})
		}
		if copied {
			l = reread(t, l, q, wall)
		}
	}
	return slots
}

func reread(t *testing.T, l Ledger, q quota.Quota, wall int64) Ledger {
	t.Helper()
	read, r := New(q, slotLife, horizon, wall), varint.NewReader(l.Append(nil))
	if read.Restore(r); r.Err() != nil || !r.Empty() {
		t.Fatalf("%v: %v, all was read: %v", q, r.Err(), r.Empty())
	}
	return read
}

func kinds(t *testing.T) quota.Quotas {
	t.Helper()
	qs, err := quota.Parse("50/s burst 3, 20/s burst 20, 7/3s burst 2, 3/s burst 5 debt, 20/s window, 20/s window grid, " +
		"20/s estimate, 20/s log, 20/s sliding, 30/2s sliding 4, 100/s burst 300, 200/s burst 30, 700/3s burst 10 debt, 10/m log, 10/m estimate, 300/s estimate, 300/5s window grid")
	if err != nil {
		t.Fatal(err)
	}
	return qs.Explicit()
}

// TestLedgersAgainstDefinition: whatever is sent from the slots that were kept, on time or late,
// each kind holds by its definition.
func TestLedgersAgainstDefinition(t *testing.T) {
	for _, q := range kinds(t) {
		for seed := range 40 * *times {
			r := rand.New(rand.NewPCG(seed, 1))
			start := time.Unix(0, r.Int64N(1e18))
			slots := play(t, r, q, start.UnixNano(), false)
			for range 20 {
				turn := slots[r.IntN(len(slots))].at // the worst is what goes late up to some instant, and on time after it
				sent := make([]definition.Sent, len(slots))
				for i, s := range slots {
					sent[i] = definition.Sent{At: time.Duration(s.at), N: int64(s.n)}
					if s.at < turn {
						sent[i].At += slotLife
					}
				}
				slices.SortStableFunc(sent, func(a, b definition.Sent) int { return cmp.Compare(a.At, b.At) })
				if err := definition.Check(q, start, slotLife, sent); err != nil && !q.Debt {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
	}
}

// TestLedgersAsBytes: a ledger that was written and read again goes on as one that was not.
func TestLedgersAsBytes(t *testing.T) {
	for _, q := range kinds(t) {
		for seed := range 20 * *times {
			kept := play(t, rand.New(rand.NewPCG(seed, 2)), q, 1e18, false)
			read := play(t, rand.New(rand.NewPCG(seed, 2)), q, 1e18, true)
			if !slices.Equal(kept, read) {
				t.Fatalf("%v, seed %d:\n%v\n%v", q, seed, kept, read)
			}
		}
	}
}

// TestLedgersComeBack: what was taken and comes back is as if it had never been taken.
func TestLedgersComeBack(t *testing.T) {
	for _, q := range kinds(t) {
		l := New(q, slotLife, horizon, 1e18)
		now := monotime.Time(1).Add(time.Hour)
		first := l.When(now, 1)
		l.Take(now, first, 1)
		l.Give(now, first, 1)
		if at := l.When(now, 1); at != first {
			t.Errorf("%v: a slot at %d, and when it came back at %d", q, first, at)
		}
	}
}

// TestLedgersAssumeUsed: a ledger that was used evenly up to an instant has nothing then, or little,
// and as much a span later as a new one.
func TestLedgersAssumeUsed(t *testing.T) {
	for _, q := range append(kinds(t), quota.Quota{N: 1, Per: monotime.Longest, Kind: quota.SlidingLog}) {
		if q.Debt {
			continue // whatever is asked for goes when the bucket is full
		}
		l := New(q, slotLife, horizon, 1e18)
		now := monotime.Time(1).Add(time.Hour + 600*time.Millisecond)
		l.Assume(now, monotime.Longest)
		if at := l.When(now, Most(&q)); at <= now {
			t.Errorf("%v: all may go at once", q)
		}
		full := now.Add(2*q.Per + time.Duration(q.Burst)*q.Per/time.Duration(q.N))
		fresh := New(q, slotLife, horizon, 1e18)
		if at, want := l.When(full, Most(&q)), fresh.When(full, Most(&q)); at != want {
			t.Errorf("%v: all may go at %d, want at %d", q, at, want)
		}
	}
}

// TestLedgersAssumeUsedUpTo: what went after all that is assumed is charged beside that, also where slots may
// be used later since.
func TestLedgersAssumeUsedUpTo(t *testing.T) {
	for _, kind := range []quota.Kind{quota.SlidingLog, quota.FixedWindow} {
		few, more := quota.Quota{N: 10, Per: time.Second, Kind: kind}, quota.Quota{N: 20, Per: time.Second, Kind: kind}
		for went, want := range map[time.Duration]int{-1: 10, 0: 10, 1: 0} { // after the ten that are assumed, ten went
			l := New(few, slotLife, horizon, 1e18)
			assumed := monotime.Time(1).Add(time.Hour)
			l.Assume(assumed, monotime.Longest)
			now := assumed.Add(slotLife)
			l.Set(now, more, 2*slotLife, horizon)
			l.Own(now, assumed.Add(went), assumed, 10)
			if got := l.Left(now); got != int64(want) {
				t.Errorf("%v: %d are left if ten went %v after what is assumed, want %d", more, got, went, want)
			}
		}
	}
}

// TestLedgersOverdraw: what is charged without having been asked for is missing afterwards.
func TestLedgersOverdraw(t *testing.T) {
	for _, q := range kinds(t) {
		l := New(q, slotLife, horizon, 1e18)
		now := monotime.Time(1)
		l.Overdraw(now, 2*Most(&q)&(1<<20-1))
		if at := l.When(now, 1); at.Sub(now) < q.Per/time.Duration(2*q.N) {
			t.Errorf("%v: one more may go in %v", q, at.Sub(now))
		}
	}
}

// TestLedgersOverdrawnStaySmall: however often something goes for which no slot was handed out, in whatever
// order it is told, a ledger takes no more bytes; and what it hands out is still right, all that went counted.
func TestLedgersOverdrawnStaySmall(t *testing.T) {
	qs, err := quota.Parse("20/h log, 20/h window, 50/h sliding 16")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range qs.Explicit() {
		r := rand.New(rand.NewPCG(5, 1))
		l := New(q, slotLife, horizon, 0)
		now := monotime.Time(1).Add(2 * q.Per)
		var went []handed
		for range 40_000 {
			now = now.Add(time.Duration(r.IntN(400)) * time.Millisecond)
			at := now.Add(-time.Duration(r.Int64N(int64(q.Per))))
			if r.IntN(2) == 0 {
				at = now
				l.Overdraw(now, 1)
			} else {
				l.Own(now, at, 0, 1)
			}
			went = append(went, handed{at, 1})
		}
		if n := len(l.Append(nil)); n > 16_000 { // of 2000 entries
			t.Errorf("%v: %d bytes", q, n)
		}
		for range 100 {
			n := 1 + r.IntN(int(q.N))
			at := l.When(now, int64(n))
			l.Take(now, at, int64(n))
			went = append(went, handed{at, n})
			sum := 0
			for _, o := range went {
				if o.at > at.Add(-q.Per-slotLife) && o.at <= at {
					sum += o.n
				}
			}
			if int64(sum) > q.N {
				t.Fatalf("%v: %d went in a Per up to %v", q, sum, at)
			}
			now = at
		}
	}
}

// TestLedgersJoinNear: what goes without a slot is known to a thousandth of Per.
func TestLedgersJoinNear(t *testing.T) {
	qs, err := quota.Parse("3/h log")
	if err != nil {
		t.Fatal(err)
	}
	q := qs.Explicit()[0]
	span := q.Per + slotLife
	for _, test := range []struct {
		apart time.Duration
		first time.Duration // how long after the first of three a slot is there
	}{
		{3600 * time.Millisecond, span + 3600*time.Millisecond}, // with the second one
		{3600*time.Millisecond + 1, span},
	} {
		for _, back := range []bool{false, true} {
			l := New(q, slotLife, horizon, 0)
			first := monotime.Time(1).Add(time.Hour)
			all := []monotime.Time{first, first.Add(test.apart), first.Add(time.Minute)}
			if back {
				slices.Reverse(all)
			}
			for _, at := range all {
				l.Own(first.Add(time.Minute), at, 0, 1)
			}
			if at, want := l.When(first.Add(time.Minute), 1), first.Add(test.first); at != want {
				t.Errorf("%v apart, told backwards %v: a slot after %v, want after %v", test.apart, back, at.Sub(first), test.first)
			}
		}
	}
}

// TestLedgersOfALongerPer: what has left a shorter Per counts again when the Per is longer.
func TestLedgersOfALongerPer(t *testing.T) {
	qs, err := quota.Parse("10/s log, 10/3s log")
	if err != nil {
		t.Fatal(err)
	}
	l := New(qs[0], slotLife, horizon, 0)
	l.Take(1, 1, 4)
	now := monotime.Time(2 * time.Second)
	if left := l.Left(now); left != 10 {
		t.Errorf("%d left after the Per, want 10", left)
	}
	if l.Set(now, qs[1], slotLife, horizon); l.Left(now) != 6 {
		t.Errorf("%d left of the longer Per, want 6", l.Left(now))
	}
}

// TestCompatible: which quotas can have the ledger of another.
func TestCompatible(t *testing.T) {
	for text, want := range map[string]bool{
		"5/s burst 2, 9/m burst 7":         true,
		"5/s log, 9/m log":                 true,
		"5/s log, 5/s window":              false,
		"5/s log, 5 tokens/s log":          false,
		"5/s window grid, 9/s window grid": true,
		"5/s window grid, 5/m window grid": false,
		"5/s estimate, 5/m estimate":       false,
	} {
		qs, err := quota.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if qs = qs.Explicit(); Compatible(&qs[0], &qs[1]) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}

// FuzzRestore reads what nobody has written: it may be an error, and is never a panic.
func FuzzRestore(f *testing.F) {
	qs, err := quota.Parse("20/s burst 20, 20/s window grid, 20/s estimate, 20/s log, 30/2s sliding 4")
	if err != nil {
		f.Fatal(err)
	}
	qs = qs.Explicit()
	for i, q := range qs {
		l := New(q, slotLife, horizon, 1e18)
		l.Take(1, l.When(1, 3), 3)
		l.Take(1, l.When(1, 15), 15)
		l.Take(1, l.When(1, 18), 18)
		f.Add(i, l.Append(nil))
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		q := qs[uint(i)%uint(len(qs))]
		l, r := New(q, slotLife, horizon, 1e18), varint.NewReader(b)
		if l.Restore(r); r.Err() != nil {
			return
		}
		now := monotime.Time(1)
		for n := 1; n < 20; n += 5 {
			now = now.Add(300 * time.Millisecond)
			at := l.When(now, int64(n))
			l.Take(now, at, int64(n))
			l.Overdraw(now, int64(n))
			l.Give(now, at, int64(n))
		}
	})
}

// TestLedgersBeyond: no cost is too large for the arithmetic, nor for what is written.
func TestLedgersBeyond(t *testing.T) {
	for _, q := range kinds(t) {
		l := New(q, slotLife, horizon, 1e18)
		now := monotime.Time(1)
		for range 10 {
			l.Overdraw(now, math.MaxInt)
			if at := l.When(now, 1); at < now {
				t.Errorf("%v: at %d a slot at %d", q, now, at)
			}
			l = reread(t, l, q, 1e18)
			now = now.Add(time.Second)
		}
		l.Give(now, now, math.MaxInt)
		if at := l.When(now, 1); at < now {
			t.Errorf("%v: at %d, after all came back, a slot at %d", q, now, at)
		}
	}
}

// TestTrustAfterGive: what came back of what was assumed is not forgotten once more, and the ledger can be
// written and read.
func TestTrustAfterGive(t *testing.T) {
	for _, q := range kinds(t) {
		for name, end := range map[string]func(Ledger, monotime.Time){
			"trust":   func(l Ledger, now monotime.Time) { l.Trust(now, now) },
			"release": func(l Ledger, now monotime.Time) { l.Release(now, q.N) },
		} {
			l, wall := New(q, slotLife, horizon, 0), int64(0)
			assumed := monotime.Time(q.Per + q.Per/2)
			l.Assume(assumed, monotime.Longest)
			for _, ago := range []time.Duration{0, q.Per / 4, q.Per, 5 * q.Per / 4} {
				l.Give(assumed, assumed.Add(-ago), q.N)
			}
			end(l, assumed)
			l = reread(t, l, q, wall)
			if q.Kind == quota.TokenBucket {
				continue // whose room nobody tells
			}
			if got := l.Left(assumed); got != q.N {
				t.Errorf("%v: %s: %d left, want all", q, name, got)
			}
		}
	}
}
