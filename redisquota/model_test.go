package redisquota_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"iter"
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
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

var histories = flag.Int("histories", 6, "how many random histories the script and the model are compared by, of each list of quotas")

// step is one exchange of a history, and what the model answered.
type step struct {
	at   time.Time
	r    store.Request
	want *store.Reply
	news store.News
	lost bool // all that was known before
}

// user is a member of a random history.
type user struct {
	name   string
	serial int64
	has    []store.Part
	sent   *store.Request
	at     time.Time // when that was sent last
	life   int64     // of the bucket, of which it has told all
}

// history has random members of a store.Ledger that loses what it does not know, as a server may.
func history(t *testing.T, r *rand.Rand, quotas quota.Quotas) (start time.Time, steps []step) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(r.IntN(1e6)) * time.Microsecond)
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(10 * time.Second) // its clock began before what members say that they sent
		model.Lose()
		users := make([]user, 1+r.IntN(4))
		versions := []quota.Quotas{quotas, halved(quotas)} // a new one is rolled out
		turned := slices.Clone(quotas)
		slices.Reverse(turned)
		versions = append(versions, append(turned, parse(t, "20/s burst 4")...), parse(t, "10/2s log, 8/s window grid"))
		for range 60 {
			time.Sleep(pause(r))
			u := &users[r.IntN(len(users))]
			if u.name == "" {
				*u = user{name: fmt.Sprintf("m%d", len(steps))}
			}
			req := u.request(r, versions[[]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3}[r.IntN(16)]])
			u.sure(&req)
			reply, news, err := model.Exchange(time.Since(start), &req)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step{time.Now(), req, reply, news, false})
			u.hear(r, &req, reply)
		}
	})
	return start, steps
}

func halved(quotas quota.Quotas) quota.Quotas {
	half := slices.Clone(quotas)
	for i := range half {
		half[i].N /= 2
		half[i].Burst = (half[i].Burst + 1) / 2
	}
	return half
}

// sure has a request not say of a clock that it may have been set, where it matters how long a call takes,
// which is not of the bubble.
func (u *user) sure(req *store.Request) {
	if excess := time.Since(u.at) - req.Since; excess > 2*time.Second && excess < 4*time.Second {
		req.Since = 0
	}
}

// hear takes in a reply; not always that the bucket was lost.
func (u *user) hear(r *rand.Rand, req *store.Request, reply *store.Reply) {
	if req.Look {
		u.serial = max(u.serial-1, 0) // nobody has heard of it
		return
	}
	u.sent, u.at = req, time.Now()
	if r.IntN(3) > 0 {
		u.life = reply.Life
	}
	for _, s := range reply.Slots {
		cost := slices.Clone(req.Asks[s.Ask].Cost)
		for i := range cost {
			cost[i] *= int64(s.Count)
		}
		u.has = append(u.has, store.Part{Slot: s.ID, Cost: cost})
	}
	if req.Leave {
		*u = user{}
	}
}

func pause(r *rand.Rand) time.Duration {
	d := time.Duration(r.IntN(100)) * time.Millisecond
	switch r.IntN(8) {
	case 0:
		if r.IntN(8) == 0 {
			// Other versions are about no more; and some members share the bucket no more.
			return []time.Duration{12 * time.Second, 12 * time.Second, 59 * time.Second, 62 * time.Second}[r.IntN(4)]
		}
		return 0
	case 1:
		return 5 * d
	case 2:
		return d + time.Duration(r.IntN(1000))*time.Microsecond
	case 3:
		return 20 * d
	}
	return d / 4
}

func (u *user) request(r *rand.Rand, quotas quota.Quotas) store.Request {
	if u.sent != nil && r.IntN(10) == 0 {
		return *u.sent // once more
	}
	again := u.sent != nil && r.IntN(5) == 0 // as if the last one had failed
	if !again {
		u.serial++
	}
	req := store.Request{
		Version: 1, Bucket: "api", Quotas: quotas, SlotLife: time.Duration(20+r.IntN(12)/11*15) * time.Millisecond, Horizon: 500 * time.Millisecond,
		Member: u.name, Serial: u.serial, Hand: make([]int64, len(quotas)),
	}
	for r.IntN(2) == 0 && len(u.has) > 0 {
		i := r.IntN(len(u.has))
		p := store.Part{Slot: u.has[i].Slot, Cost: slices.Clone(u.has[i].Cost)}
		u.has = slices.Delete(u.has, i, i+1)
		if r.IntN(2) == 0 {
			for k := range p.Cost {
				p.Cost[k] = int64(r.IntN(int(p.Cost[k] + 1)))
			}
		}
		req.Back = append(req.Back, p)
	}
	for _, p := range u.has {
		for k := range min(len(p.Cost), len(req.Hand)) {
			req.Hand[k] += p.Cost[k] * int64(r.IntN(2))
		}
	}
	cost := func() []int64 {
		c := make([]int64, len(quotas))
		for i, q := range quotas {
			c[i] = int64(r.IntN(int(min(max(q.Burst, 1), 4) + 1)))
			if q.Kind != quota.TokenBucket || q.Debt {
				c[i] = int64(r.IntN(1 + min(int(q.N), 1+r.IntN(12))))
			}
		}
		return c
	}
	req.Fresh = r.IntN(3) == 0
	if u.sent != nil {
		if !again && r.IntN(60) == 0 { // the store has answered a request of which it does not know
			u.serial++
			req.Serial = u.serial
		}
		req.Answered, req.Sharing = req.Serial-1, r.IntN(5)
		if r.IntN(4) > 0 {
			req.Life = u.life
		}
	}
	if r.IntN(2) == 0 {
		req.Standstill = time.Duration(1+r.IntN(3)) * 50 * time.Millisecond
	}
	switch r.IntN(15) {
	case 12, 13:
		req.Release = r.IntN(2) == 0
		req.Look = r.IntN(2) == 0
	case 0:
		req.More = cost()
	case 1:
		req.Hold = time.Duration(r.IntN(300)) * time.Millisecond
	case 2:
		req.Leave = true
		return req
	case 5:
		req.Ahead = time.Duration(r.IntN(2000)) * time.Millisecond
		req.Since = time.Duration(1+r.IntN(20)+r.IntN(6)/5*900) * time.Millisecond // or a clock was set, or a bucket is not new
	case 6, 7:
		req.Ahead = time.Duration(r.IntN(1000)) * time.Millisecond
		req.Outage = r.IntN(2) == 0
		for range r.IntN(6) {
			req.Own = append(req.Own, store.Own{In: time.Duration(r.IntN(2000)-1500) * time.Millisecond, Cost: cost()})
		}
	case 3, 4:
		for range 1 + r.IntN(3) {
			req.Statements = append(req.Statements, quota.Statement{
				Name: string(rune('a' + r.IntN(3))), Limit: 10, Remaining: int64(r.IntN(10)),
				Reset: time.Duration(r.IntN(5000)) * time.Millisecond, ResetKnown: r.IntN(4) > 0, Resolution: []time.Duration{0, time.Millisecond, time.Second}[r.IntN(3)], Absolute: r.IntN(2) == 0,
			})
		}
	}
	req.GoesOn = r.IntN(2) == 0
	if again {
		if req.Asks = u.sent.Asks; r.IntN(3) == 0 {
			req.Asks = nil // the quotas were replaced
		}
		return req
	}
	for range r.IntN(4) {
		ask := store.Ask{Cost: cost(), Count: 1 + r.IntN(8), Within: -1}
		if r.IntN(3) == 0 {
			ask.Within = time.Duration(r.IntN(600)) * time.Millisecond
		}
		req.Asks = append(req.Asks, ask)
	}
	return req
}

// up rounds a duration up to whole microseconds: the model counts nanoseconds.
func up(d time.Duration) time.Duration {
	if d > 0 {
		d += 999
	}
	return d.Truncate(time.Microsecond)
}

// translate writes what the model says as the script does.
func translate(start time.Time, id int64) int64 {
	return start.Add(up(time.Duration(id - 1))).UnixMicro()
}

// snap has what differs by a microsecond or two not differ: an estimate falls below a bound at any instant,
// which the model knows to the nanosecond. So where another quota is waited for until the same microsecond,
// either is said.
func snap(got, want *store.Reply, quotas quota.Quotas) {
	bound := func(got *int, want int) {
		if *got >= 0 && quotas[*got].Kind == quota.EstimatedWindow {
			*got = want
		}
	}
	bound(&got.Bound, want.Bound)
	near := func(a, b int64) bool { return max(a-b, b-a) <= 2 }
	for i := range min(len(got.Slots), len(want.Slots)) {
		g, w := &got.Slots[i], &want.Slots[i]
		if near(g.ID, w.ID) && near(g.In.Microseconds(), w.In.Microseconds()) {
			g.ID, g.In = w.ID, w.In
			bound(&g.Bound, w.Bound)
		}
	}
	for _, d := range [][2]*time.Duration{{&got.Next, &want.Next}, {&got.Ahead, &want.Ahead}} {
		if near(d[0].Microseconds(), d[1].Microseconds()) {
			*d[0] = *d[1]
		}
	}
}

// answers has the script answer what the model did, as the model did. What it rounds, it rounds up to whole
// microseconds.
func answers(t *testing.T, s *server.Server, store *redisquota.Store, start time.Time, steps []step, estimates bool) {
	t.Helper()
	answersAt(t, func(st step) {
		s.Mini.SetTime(st.at)
		if st.lost {
			s.Mini.FlushAll()
		}
	}, store, start, steps, estimates)
}

// answersAt is answers with a server that is made ready for each step.
func answersAt(t *testing.T, ready func(step), store *redisquota.Store, start time.Time, steps []step, estimates bool) {
	t.Helper()
	for i, st := range steps {
		req := st.r
		req.Back = slices.Clone(req.Back)
		for k := range req.Back {
			req.Back[k].Slot = translate(start, req.Back[k].Slot)
		}
		if req.Life != 0 {
			req.Life = translate(start, req.Life)
		}
		ready(st)
		got, err := store.Exchange(t.Context(), &req)
		if err != nil {
			t.Fatal(err)
		}
		want := *st.want
		want.Slots = slices.Clone(want.Slots)
		for k := range want.Slots {
			want.Slots[k].ID = translate(start, want.Slots[k].ID)
			want.Slots[k].In = up(want.Slots[k].In)
		}
		want.Life, want.Next, want.Ahead = translate(start, want.Life), up(want.Next), up(want.Ahead)
		want.Statements = slices.Clone(want.Statements)
		for k := range want.Statements {
			if !want.Statements[k].ResetKnown {
				want.Statements[k].Reset = 0
			}
		}
		slices.SortFunc(want.Statements, func(a, b quota.Statement) int { return cmp.Compare(a.Name, b.Name) })
		if estimates {
			snap(got, &want, req.Quotas)
		}
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("step %d, %v after the start, %+v:\n got %+v\nwant %+v", i, st.at.Sub(start), req, *got, want)
		}
	}
}

// seeds are the first n, and some that are tried however few that is.
func seeds(n int, always ...uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := range uint64(n) {
			if !yield(seed) {
				return
			}
		}
		for _, seed := range always {
			if seed >= uint64(n) && !yield(seed) {
				return
			}
		}
	}
}

// TestStoreAgainstModel: the script answers as store.Ledger does. The quotas here are such that nothing but the
// clock is rounded, but for estimates.
func TestStoreAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for _, text := range kinds {
		for seed := range seeds(*histories, 9, 15, 72, 169, 192) { // each showed something
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				flushAll(t, c)
				r := rand.New(rand.NewPCG(seed, 1))
				start, steps := history(t, r, parse(t, text))
				answers(t, s, goredis.New(c), start, steps, strings.Contains(text, "estimate"))
			})
		}
	}
}

// listening listens to the bucket "api", and returns what has been heard of it up to now, as one.
func listening(t *testing.T, s *server.Server, c *redis.Client) (heard func() store.News) {
	t.Helper()
	all, listener := make(chan store.News, 64), goredis.New(dial(t, s))
	marked := store.News{Sharing: -1}
	for bucket, hear := range map[string]func(store.News){
		"api": func(n store.News) { all <- n },
		"mark": func(n store.News) {
			if n.Sharing > 0 { // else it is of the subscription
				all <- marked
			}
		},
	} {
		stop, err := listener.Listen(bucket, hear)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	subscribers(t, c, 1)
	heard = func() (sum store.News) {
		if err := c.Publish(t.Context(), "pacer:news", "sharing=1 mark").Err(); err != nil { // messages come in their order
			t.Fatal(err)
		}
		for n := range all {
			if n == marked {
				break
			}
			sum.Hold, sum.Ahead, sum.Sharing = max(sum.Hold, n.Hold), max(sum.Ahead, n.Ahead), max(sum.Sharing, n.Sharing)
			sum.Room, sum.Lost, sum.Released = sum.Room || n.Room, sum.Lost || n.Lost, sum.Released || n.Released
		}
		return sum
	}
	heard() // that the subscription is there
	return heard
}

// newsOf has the script do what the model did, and compares what both told those who listen. It returns how
// often that was of slots ahead.
func newsOf(t *testing.T, s *server.Server, by *redisquota.Store, heard func() store.News, start time.Time, steps []step) (far int) {
	t.Helper()
	for i, st := range steps {
		req, want := st.r, st.news
		req.Back = slices.Clone(req.Back)
		for k := range req.Back {
			req.Back[k].Slot = translate(start, req.Back[k].Slot)
		}
		if req.Life != 0 {
			req.Life = translate(start, req.Life)
		}
		s.Mini.SetTime(st.at)
		if _, err := by.Exchange(t.Context(), &req); err != nil {
			t.Fatal(err)
		}
		if want.Ahead > 0 {
			far++
		}
		got := heard()
		want.Hold, want.Ahead = up(want.Hold), up(want.Ahead)
		if d := got.Ahead - want.Ahead; max(d, -d) <= 2*time.Microsecond {
			got.Ahead = want.Ahead // see snap
		}
		if got != want {
			t.Fatalf("step %d, %v after the start, %+v:\nheard %+v\nwant  %+v", i, st.at.Sub(start), req, got, want)
		}
	}
	return far
}

// TestStoreNewsAgainstModel: the script publishes what store.Ledger tells.
func TestStoreNewsAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	heard := listening(t, s, c)
	far := 0
	for _, text := range []string{"20/s even", "50/s burst 10", "100/10s log", "20/m log", "50/10s window grid", "20/10s estimate", "5/s burst 3, 100/m log", "60/m burst 4"} {
		for seed := range seeds((*histories+2)/3, 24) { // which showed something
			flushAll(t, c)
			start, steps := history(t, rand.New(rand.NewPCG(seed, 5)), parse(t, text))
			far += newsOf(t, s, goredis.New(c), heard, start, steps)
		}
	}
	if far < 10 {
		t.Errorf("news of slots ahead came %d times: the test is not worth much", far)
	}
}

// farHistory has many members of a store.Ledger have a slot each, with debts, so that the far ones are
// remembered as one; meanwhile the rate, the burst, or what may be a debt change.
func farHistory(t *testing.T, r *rand.Rand) (start time.Time, steps []step) {
	t.Helper()
	q := quota.Quota{N: 200, Per: time.Second, Kind: quota.TokenBucket, Burst: int64(20 + r.IntN(60)), Debt: true, Unit: "tokens"}
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(10 * time.Second)
		model.Lose()
		for i := range 160 {
			time.Sleep((pause(r) / 8).Truncate(time.Microsecond))
			if i%40 > 35 {
				q.Burst = max(20, q.Burst*(1+int64(r.IntN(12)))/4)
				q.N = int64([]int{50, 100, 200, 250, 400, 500, 1000}[r.IntN(7)]) // a token in whole microseconds
				q.Debt = r.IntN(4) > 0
			}
			n := 1 + r.IntN(int(1+q.Burst>>r.IntN(6)))
			if q.Debt {
				n *= 1 + r.IntN(3)
			}
			req := store.Request{
				Version: 1, Bucket: "api", Quotas: quota.Quotas{q}, SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: fmt.Sprintf("of one program %03d", i), Serial: 1, Hand: []int64{0}, Asks: []store.Ask{{Cost: []int64{int64(n)}, Count: 1, Within: -1}},
			}
			if reply, news, err := model.Exchange(time.Since(start), &req); err != nil {
				t.Fatal(err)
			} else {
				steps = append(steps, step{time.Now(), req, reply, news, false})
			}
		}
	})
	return start, steps
}

// TestStoreFarSlotsAgainstModel: so do far slots that are remembered as one, whatever becomes of their quota.
func TestStoreFarSlotsAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for seed := range uint64(*histories) {
		flushAll(t, c)
		start, steps := farHistory(t, rand.New(rand.NewPCG(seed, 2)))
		answers(t, s, goredis.New(c), start, steps, false)
	}
}

// changedHistory has a member or two of a store.Ledger get other quotas every few steps, which are those of
// before again later.
func changedHistory(t *testing.T, r *rand.Rand) (start time.Time, steps []step) {
	t.Helper()
	versions := []quota.Quotas{
		// A token comes back in whole microseconds. Where Per is longer N is no larger, so that what is missing
		// is rounded once.
		parse(t, "1/s burst 4"), parse(t, "200/s burst 4"), parse(t, "1/10s burst 4"), parse(t, "20/s even"), parse(t, "40/s burst 40 debt"), parse(t, "1/2s burst 8"),
	}
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(10 * time.Second)
		model.Lose()
		users := []user{{name: "a"}, {name: "b"}}[:1+r.IntN(2)]
		qs := versions[0]
		for range 80 {
			time.Sleep(pause(r))
			if r.IntN(4) == 0 {
				qs = versions[r.IntN(len(versions))]
			}
			u := &users[r.IntN(len(users))]
			req := u.request(r, qs)
			req.Since, req.Look, req.Leave = 0, false, false // clocks, looks and farewells are tried by others
			reply, news, err := model.Exchange(time.Since(start), &req)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step{time.Now(), req, reply, news, false})
			u.sent, u.at = &req, time.Now()
			for _, s := range reply.Slots {
				u.has = append(u.has, store.Part{Slot: s.ID, Cost: []int64{req.Asks[s.Ask].Cost[0] * int64(s.Count)}})
			}
		}
	})
	return start, steps
}

// TestStoreChangedQuotasAgainstModel: so does a bucket whose quotas change to and fro.
func TestStoreChangedQuotasAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for seed := range seeds(5**histories, 289) { // of which a person released what was assumed, between two changes
		flushAll(t, c)
		start, steps := changedHistory(t, rand.New(rand.NewPCG(seed, 3)))
		answers(t, s, goredis.New(c), start, steps, false)
	}
}

// tireless is a Client whose script has no bound of steps: it does all of a call, as store.Ledger does, where
// the script of users ends the reply.
type tireless struct{ c *redis.Client }

const bounded, unbounded = "local most_steps = 5000 ", "local most_steps = 2 ^ 53 "

var tirelessScript = redis.NewScript(strings.Replace(redisquota.Script(), bounded, unbounded, 1))

func (c *tireless) Run(ctx context.Context, keys, args []string) ([]string, error) {
	return tirelessScript.Run(ctx, c.c, keys, anys(args)...).StringSlice()
}

func (*tireless) Subscribe(context.Context, string, func(string)) error { return nil }

// doesAll returns a Store whose script does all of a call.
func doesAll(t *testing.T, c *redis.Client) *redisquota.Store {
	t.Helper()
	if !strings.Contains(redisquota.Script(), bounded) {
		t.Fatalf("the script does not say %q", bounded)
	}
	return &redisquota.Store{Client: &tireless{c}}
}

// logHistory has a member of a store.Ledger tell again and again what went without slots, so that it is joined
// with what was near, and ask when some of it has left.
func logHistory(t *testing.T, r *rand.Rand, quotas quota.Quotas) (start time.Time, steps []step) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(20 * time.Second)
		model.Lose()
		for i := range 120 {
			time.Sleep(time.Duration(r.IntN(8000)) * time.Microsecond)
			if r.IntN(12) == 0 {
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			}
			req := store.Request{
				Version: 1, Bucket: "api", Quotas: quotas, SlotLife: time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: "m", Serial: int64(i) + 1, Answered: int64(i), Hand: []int64{0}, Fresh: true,
			}
			switch r.IntN(4) {
			case 0:
				req.Asks = []store.Ask{{Cost: []int64{int64(1 + r.IntN(4))}, Count: 1 + r.IntN(3), Within: -1}}
			case 1:
				for range 1 + r.IntN(4) {
					in := time.Duration(r.IntN(40_000)-20_000)*time.Microsecond - time.Duration(r.IntN(4))*time.Second
					req.Own = append(req.Own, store.Own{In: in, Cost: []int64{1}})
				}
			default:
				req.More = []int64{1}
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

// TestStoreLogsAgainstModel: so does what is charged without a slot, which is known to a thousandth of Per.
// Where much of that is beyond the quota, the script of users has no steps left for some slots.
func TestStoreLogsAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for _, text := range []string{"50/10s log", "50/10s window", "50/10s sliding 50"} {
		for seed := range seeds(*histories, 13) { // which is one
			flushAll(t, c)
			start, steps := logHistory(t, rand.New(rand.NewPCG(seed, 3)), parse(t, text))
			answers(t, s, doesAll(t, c), start, steps, false)
		}
	}
}

// returnsHistory has members of a store.Ledger return more slots that are to come than are remembered.
func returnsHistory(t *testing.T, r *rand.Rand, quotas quota.Quotas) (start time.Time, steps []step, most int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(10 * time.Second)
		model.Lose()
		users, returned := make([]user, 3), map[int64]bool{}
		for i := range 180 {
			time.Sleep(time.Duration(r.IntN(4)) * time.Millisecond)
			if i == 1 {
				time.Sleep(time.Second) // it is new no more
			}
			u := &users[i%len(users)]
			u.serial++
			req := store.Request{
				Version: 1, Bucket: "api", Quotas: quotas, SlotLife: 10 * time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: fmt.Sprintf("m%d", i%len(users)), Serial: u.serial, Answered: u.serial - 1, Hand: []int64{0}, Fresh: true,
			}
			for i%60 >= 30 && len(u.has) > 20 && len(req.Back) < 40 {
				k := r.IntN(len(u.has))
				req.Back = append(req.Back, u.has[k])
				returned[u.has[k].Slot] = true
				u.has = slices.Delete(u.has, k, k+1)
			}
			if i%60 < 30 || r.IntN(4) == 0 {
				req.Asks = []store.Ask{{Cost: []int64{1}, Count: 1 + r.IntN(60), Within: time.Second}}
			}
			reply, news, err := model.Exchange(time.Since(start), &req)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step{time.Now(), req, reply, news, false})
			for _, s := range reply.Slots {
				delete(returned, s.ID)
				u.has = append(u.has, store.Part{Slot: s.ID, Cost: []int64{int64(s.Count)}})
			}
			for id := range returned {
				if id <= int64(time.Since(start)) {
					delete(returned, id)
				}
			}
			most = max(most, len(returned))
		}
	})
	return start, steps, most
}

// TestStoreManyReturnedAgainstModel: both remember parts of 256 slots that came back, and the same. The script
// of users has no steps left for some of what is asked for then.
func TestStoreManyReturnedAgainstModel(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	most := 0
	for seed := range uint64(*histories+5) / 6 { // each takes long
		flushAll(t, c)
		start, steps, n := returnsHistory(t, rand.New(rand.NewPCG(seed, 4)), parse(t, "1000/s even"))
		answers(t, s, doesAll(t, c), start, steps, false)
		most = max(most, n)
	}
	if most <= 256 {
		t.Errorf("%d slots came back at the most: the test is not worth much", most)
	}
}
