package lease

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// script reads numbers of a fuzzer; zero after the last.
type script struct{ bytes []byte }

func (r *script) number() int64 {
	v, n := binary.Varint(r.bytes)
	if n <= 0 {
		r.bytes = nil
		return 0
	}
	r.bytes = r.bytes[n:]
	return v
}

// below returns a number from 0 to n-1.
func (r *script) below(n int64) int64 { return int64(uint64(r.number()) % uint64(n)) }

// reply returns whatever a store may say.
func (r *script) reply() *store.Reply {
	reply := &store.Reply{
		Next: time.Duration(r.number()), Bound: int(r.number()), Ahead: time.Duration(r.number()), SlotLife: time.Duration(r.number()),
		Members: int(r.number()), Hold: time.Duration(r.number()), Lost: r.below(4) == 3,
		Sharing: int(r.number()), Known: time.Duration(r.number()),
	}
	for range r.below(5) { // more or fewer than there are quotas
		reply.Left = append(reply.Left, r.number())
	}
	for range r.below(3) {
		reply.Others = append(reply.Others, make(quota.Quotas, r.below(3)))
	}
	for range r.below(6) {
		reply.Slots = append(reply.Slots, store.Slot{
			ID: r.number(), In: time.Duration(r.number()), Ask: int(r.below(4)) - 1, Count: int(r.number()), Bound: int(r.number()),
		})
	}
	for range r.below(3) {
		reply.Statements = append(reply.Statements, quota.Statement{Remaining: r.number(), Reset: time.Duration(r.number()), ResetKnown: true})
	}
	return reply
}

// fuzzed is a Lease whose store says whatever it likes.
type fuzzed struct {
	t     *testing.T
	r     *script
	l     *Lease
	now   monotime.Time
	line  *testLine
	call  *Call
	stood int // how many claims were in line at the call
	sent  monotime.Time
	asked int // slots, so far
	said  int // slots in replies
	uses  []Use
}

var fuzzedQuotas = []string{"10/s burst 5", "1000/s burst 100, 10/m log", "3/h window, 20/s estimate, 5/s even", "2 in flight"}

func (f *fuzzed) set(i int64) {
	qs, err := quota.Parse(fuzzedQuotas[i])
	if err != nil {
		f.t.Fatal(err)
	}
	f.l.Set(0, qs.Explicit(), []float64{0, 0.25}[f.r.below(2)])
}

// step does one thing.
func (f *fuzzed) step() {
	d := requests(int(1 + f.r.below(4)))
	urgent := f.r.below(3) == 0
	switch f.r.below(13) {
	case 0:
		f.now = f.now.Add(time.Duration(f.r.below(int64(2 * s))))
	case 1:
		f.now = f.now.Add(time.Duration(f.r.below(int64(24 * time.Hour))))
	case 2:
		f.line.claims = append(f.line.claims, Waiter{d, urgent, time.Duration(f.r.below(int64(s))) - 1})
	case 3:
		f.line.claims = nil
		f.l.Shrunk(true)
	case 4:
		f.set(f.r.below(int64(len(fuzzedQuotas))))
	case 5:
		f.l.Heard(0, store.News{Room: true})
		f.l.Said(f.now, f.r.reply().Statements)
	case 6:
		f.l.Return(f.now, f.uses)
		f.uses = nil
	case 7:
		less := limit.Part{At: f.now, Cost: quota.Costs{quota.Requests: f.r.below(5)}}
		f.l.Settle(f.now, f.uses, quota.Costs{quota.Requests: f.r.below(5)}, []limit.Part{less}, urgent)
	case 8:
		f.end(nil, errDown, false)
	case 9: // it is overdue, and ends later
		f.end(nil, errDown, true)
	default:
		f.end(f.r.reply(), nil, false)
	}
	f.l.Tick(f.now, f.now.Add(time.Duration(f.r.below(int64(s)))))
	f.run(d, urgent)
	if f.call == nil {
		if f.call = f.l.Next(f.now, 0, f.line); f.call != nil {
			f.sent, f.stood = f.now, len(f.line.claims)
			for _, a := range f.call.Request.Asks {
				f.asked += a.Count
			}
		}
	}
}

// run has claims go that may.
func (f *fuzzed) run(d *limit.Demand, urgent bool) {
	for _, optimist := range []bool{false, true} {
		due := f.l.DueFrom(f.now, limit.Due{At: f.now}, requests(3), d, !urgent, optimist)
		if due.At < f.now || due.At > f.now.Add(math.MaxInt64/2) {
			f.t.Fatalf("at %d due at %d", f.now, due.At)
		}
	}
	if f.l.Open(f.now, d, urgent) {
		f.uses = f.l.Take(f.uses, f.now, f.now, d, urgent, len(f.line.claims))
	}
}

// end ends the call that is under way, unless that is only overdue.
func (f *fuzzed) end(reply *store.Reply, err error, overdue bool) {
	if f.call == nil {
		return
	}
	if reply != nil {
		f.said += len(reply.Slots)
	}
	e := f.l.Step(f.now, f.sent, f.call, reply, err, overdue)
	if e.Hold != 0 && (e.Hold < f.now || e.Hold > f.now.Add(monotime.Longest)) || e.Retry != 0 && (e.Retry < f.now || e.Retry > f.now.Add(Horizon)) {
		f.t.Fatalf("at %d %+v", f.now, e)
	}
	for _, u := range e.Unserved {
		if u.Due.At < f.now || u.Waiter >= f.stood {
			f.t.Fatalf("at %d unserved until %d: the claim %d of %d", f.now, u.Due.At, u.Waiter, f.stood)
		}
	}
	for _, a := range e.Concerned {
		if a.Waiter >= f.stood {
			f.t.Fatalf("answered: the claim %d of %d", a.Waiter, f.stood)
		}
	}
	f.l.AskNotBefore(e.Retry)
	if !overdue {
		f.call = nil
	}
}

// check looks whether the Lease agrees with itself.
func (f *fuzzed) check() {
	h := &f.l.slots
	sum := make([]int64, len(h.inHand))
	for i, o := range h.list {
		for j, n := range o.left {
			if n < 0 {
				f.t.Fatalf("a slot with %d left", o.left)
			}
			sum[j] += n
		}
		if o.from > o.until || o.until > f.now.Add(2*monotime.Longest) || i > 0 && o.from < h.list[i-1].from {
			f.t.Fatalf("at %d, a slot from %d until %d", f.now, o.from, o.until)
		}
	}
	equal(f.t, "hand", h.inHand, sum)
	if len(h.list) > f.asked {
		f.t.Fatalf("%d slots in hand of %d that were asked for", len(h.list), f.asked)
	}
	if back := len(f.l.unsent.back); back > f.said { // slots that have passed go back, also if they are more than were asked for
		f.t.Fatalf("%d slots back of %d in replies", back, f.said)
	}
	if st := f.l.State(f.now); st.Members < 0 || st.Ahead < 0 || st.Ahead > monotime.Longest || st.Hand < 0 {
		f.t.Fatalf("%+v", st)
	}
	if w := f.l.Wake(); w < 0 {
		f.t.Fatalf("wakes at %d", w)
	}
}

// FuzzReply has a store reply whatever it likes, whenever it likes, while claims come and go: a
// Lease does not panic, its instants do not overflow, and it holds no more slots than it has asked
// for.
func FuzzReply(f *testing.F) {
	for i := range uint64(100) { // calls that fail, are overdue and repeated: few claims come to all that
		random, b := rand.New(rand.NewPCG(1, i)), []byte(nil)
		for range 2000 {
			b = binary.AppendVarint(b, random.Int64N(500e6))
		}
		f.Add(b)
	}
	huge := []int64{math.MaxInt64, math.MinInt64, -1, int64(monotime.Longest), math.MaxInt64 / 2, 1 << 62}
	for i := range int64(200) {
		var b []byte
		for j := range int64(300) {
			n := (i*7919 + j*104729) % 41
			if (i+j)%5 == 0 {
				n = huge[(i*31+j)%int64(len(huge))]
			}
			b = binary.AppendVarint(b, n)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &script{b}
		g := &fuzzed{t: t, r: r, l: New(Config{Name: "api", SlotLife: time.Duration(r.below(int64(s))), Outage: Outage(r.below(3))}), now: t0, line: &testLine{}}
		g.set(r.below(int64(len(fuzzedQuotas))))
		for len(r.bytes) > 0 {
			g.step()
			g.check()
		}
		if g.end(nil, errDown, false); g.l.Farewell(g.now, 0) == nil && g.l.serial > 1 {
			t.Error("it does not leave")
		}
	})
}
