package throttle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/link"
	"github.com/gopacer/pacer/throttle/store"
)

// unreliable is a Store that fails in every way, until it is mended.
type unreliable struct {
	store.Memory
	hung chan struct{} // closed when calls that do not return are to return

	mu     sync.Mutex
	r      *rand.Rand
	faults []int // one of them happens to each call; none if it was mended
	before map[string]said
}

// said is a request of a member, and the reply.
type said struct {
	request store.Request
	reply   *store.Reply
}

// remember returns what was said to a member before, and remembers what is said now.
func (s *unreliable) remember(r *store.Request, reply *store.Reply) (before said) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before == nil {
		s.before = map[string]said{}
	}
	of := r.Bucket + " " + r.Member
	before, s.before[of] = s.before[of], said{*r, reply}
	return before
}

var errUnreliable = errors.New("connection reset")

func (s *unreliable) draw() (trip time.Duration, fault int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) > 0 {
		fault = s.faults[s.r.IntN(len(s.faults))]
	}
	return time.Duration(s.r.IntN(3)) * 5 * time.Millisecond, fault
}

func (s *unreliable) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	close(s.hung)
}

// The first faults are of what is between a process and a store. The others are of the store itself, which then
// may have handed out more than it knows.
const faultsBetween, faults = 10, 13

// Exchange implements store.Store.
func (s *unreliable) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	trip, fault := s.draw()
	time.Sleep(trip)
	switch fault {
	case 1:
		return nil, errUnreliable
	case 2: // it is done, and nobody hears of it
		_, _ = s.Memory.Exchange(ctx, r)
		return nil, errUnreliable
	case 3:
		<-ctx.Done()
		return nil, ctx.Err()
	case 4: // it heeds no context
		<-s.hung
		return nil, errUnreliable
	case 5:
		panic("store")
	case 6:
		runtime.Goexit()
	case 7:
		return nil, nil //nolint:nilnil // so do stores that are wrong
	case 8: // the reply comes later than a call may take
		reply, err := s.Memory.Exchange(ctx, r)
		time.Sleep(link.OverdueAfter + 100*time.Millisecond)
		return reply, err
	case 9: // it fails, and answers
		reply, _ := s.Memory.Exchange(ctx, r)
		return reply, errUnreliable
	case 11:
		s.Lose()
	}
	reply, err := s.Memory.Exchange(ctx, r)
	before := s.remember(r, reply)
	switch {
	case err != nil || before.reply == nil:
	case fault == 10: // an older request comes late, and then this one once more
		if _, err := s.Memory.Exchange(ctx, &before.request); err != nil {
			return nil, err
		}
		return s.Memory.Exchange(ctx, r)
	case fault == 12: // it answers what was asked before
		return before.reply, nil
	case fault == 13: // its time has gone back
		reply.Ahead, reply.Next, reply.Hold, reply.Known = reply.Ahead-time.Second, reply.Next-time.Second, reply.Hold-time.Second, reply.Known-time.Second
		for i := range reply.Slots {
			reply.Slots[i].In -= time.Second
		}
	}
	return reply, err
}

// Listen implements store.Store.
func (s *unreliable) Listen(bucket string, hear func(store.News)) (stop func(), err error) {
	trip, fault := s.draw()
	time.Sleep(trip)
	switch fault {
	case 1:
		return nil, errUnreliable
	case 2: // who does not listen hears
		_, _ = s.Memory.Listen(bucket, hear)
		return nil, errUnreliable
	case 4:
		<-s.hung
		return nil, errUnreliable
	case 5:
		panic("store")
	case 6:
		runtime.Goexit()
	case 7:
		return nil, nil //nolint:nilnil // it has nothing to stop
	case 8:
		end, err := s.Memory.Listen(bucket, hear)
		return func() { end(); <-s.hung }, err
	}
	return s.Memory.Listen(bucket, hear)
}

// A program is two Groups, as of two processes, of buckets in three levels, some of them in Stores that fail,
// and what their callers do: claims of all kinds at once, grants that end in any way, updates, changes of
// quotas, holds, buckets that are forgotten, and Close during calls. All is drawn from a seed.
type program struct {
	t      *testing.T
	groups [2]*Group
	stores [3]*unreliable // of the buckets of each level; nil if these have none
	texts  [3][]string    // quotas of each level, from which updates choose
	chosen [3]atomic.Int32
	late   [3]atomic.Bool // the level has its Store from an update on
	moved  atomic.Int32   // by so much claims belong under other paths
	like   Limiter        // fields that all buckets have
	still  bool           // quotas are not changed, nothing charged is lost, nor may go beyond a quota
	claims int
	closed atomic.Bool

	mu   sync.Mutex
	sent []claimSent
}

// claimSent is what was sent, in the buckets of a path.
type claimSent struct {
	definition.Sent
	group *Group
	path  string
}

// drawProgram draws a program.
func drawProgram(t *testing.T, r *rand.Rand) *program {
	t.Helper()
	p := &program{t: t, still: r.IntN(3) == 0, claims: 20 + r.IntN(60)}
	p.claims += 80 * btoi(p.still)
	local := []string{"", "20/s burst 5", "40/s even", "10/500ms sliding", "3 in flight", "20/s burst 4, 200 tokens/s burst 60", "4 unanswered", "30/s burst 6 queue 40", "20/s estimate"}
	shared := []string{"20/s burst 5", "20/s window", "10/500ms log", "20/s burst 9, 200 tokens/s log", "40/s burst 8, 3 in flight", "20/s estimate", "20/s window grid"}
	above := []string{"20/s window", "10/500ms log", "20/s window, 200 tokens/s log", "20/s estimate", "20/s sliding"} // one token of a bucket would have to come within SlotLife
	several, kinds := r.IntN(3), faults
	if p.still {
		kinds = faultsBetween
	}
	for i := range p.texts {
		from := local
		if r.IntN(2) == 0 || i == 2 && several > 0 {
			p.stores[i] = &unreliable{r: rand.New(rand.NewPCG(r.Uint64(), 0)), hung: make(chan struct{})}
			from = shared
			if several > 0 || i > 0 || p.stores[0] != nil {
				from = above
			}
			for n := r.IntN(6); n > 0; n-- {
				p.stores[i].faults = append(p.stores[i].faults, 0, 1+r.IntN(kinds))
			}
			p.late[i].Store(!p.still && r.IntN(4) == 0)
		}
		for range 1 + r.IntN(3) {
			p.texts[i] = append(p.texts[i], from[r.IntN(len(from))])
		}
	}
	p.like = Limiter{
		MaxQueue: []int{0, 0, 0, 5}[r.IntN(4)], Aging: []time.Duration{0, 20 * time.Millisecond, -1}[r.IntN(3)], Reserve: []float64{0, 0, 0.3}[r.IntN(3)],
		MaxStandstill: []time.Duration{0, 0, 400 * time.Millisecond, -1}[r.IntN(4)],
		SlowStart:     r.IntN(3) == 0, Rand: noJitter, Tenant: r.IntN(4) == 0,
		Shared: Shared{Outage: []Outage{OutageShare, OutageClosed, OutageOpen}[r.IntN(3)]},
	}
	if p.still {
		p.like.Shared.Outage = OutageClosed
	}
	most := []int{0, 0, 3, -1}[r.IntN(4)]
	if p.still {
		most = 0
	}
	for i := range p.groups {
		p.groups[i] = &Group{MaxBuckets: most, New: p.limiter}
	}
	return p
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// limiter is Group.New.
func (p *program) limiter(path []string) *Limiter {
	i := len(path) - 1
	l := &Limiter{
		Name: strings.Join(path, "/"), MaxQueue: p.like.MaxQueue, Aging: p.like.Aging, Reserve: p.like.Reserve, SlowStart: p.like.SlowStart, Rand: p.like.Rand,
		MaxStandstill: p.like.MaxStandstill, Tenant: p.like.Tenant && i == 1,
	}
	var err error
	if l.Quotas, err = quota.Parse(p.texts[i][int(p.chosen[i].Load())%len(p.texts[i])]); err != nil {
		panic(err)
	}
	if s := p.stores[i]; s != nil && !p.late[i].Load() {
		l.Shared.Store, l.Shared.Outage = s, p.like.Shared.Outage
	}
	return l
}

// run plays the program.
func (p *program) run(r *rand.Rand) {
	t, start := p.t, time.Now()
	const mended, over = 3 * time.Second, time.Minute
	var wg sync.WaitGroup
	patient, stop := context.WithCancel(context.Background())
	for i := range p.claims {
		r := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
		at := time.Duration(r.IntN(60)) * 50 * time.Millisecond
		wg.Go(func() {
			time.Sleep(at)
			p.claim(patient, r, start)
		})
	}
	for range 10 + r.IntN(30) {
		r, at := rand.New(rand.NewPCG(r.Uint64(), 1)), time.Duration(r.IntN(60))*50*time.Millisecond
		wg.Go(func() {
			time.Sleep(at)
			p.meddle(r, start)
		})
	}
	time.Sleep(mended)
	for _, s := range p.stores {
		if s != nil {
			s.mend()
		}
	}
	time.Sleep(over)
	synctest.Wait()
	for _, g := range p.groups {
		checkGroup(t, g)
		for _, s := range g.State() {
			if s.Waiting > 0 && !p.closed.Load() {
				t.Errorf("a minute after all is mended, %d wait in %s: %v", s.Waiting, s.Bucket, s)
			}
		}
	}
	stop()
	for _, g := range p.groups {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	for _, g := range p.groups {
		checkGroup(t, g)
		for _, s := range g.State() {
			if s.Waiting > 0 || s.InFlight > 0 {
				t.Errorf("in the end, %v", s)
			}
		}
	}
	if p.still {
		p.checkSent(start)
	}
}

// claim makes a claim, and ends its grant.
func (p *program) claim(patient context.Context, r *rand.Rand, start time.Time) {
	c := Claim{
		N: r.IntN(4), Costs: []quota.Costs{nil, {"tokens": 10 * r.Int64N(4)}}[r.IntN(2)], Priority: byIndex[r.IntN(3)], Flow: []string{"", "", "x", "y"}[r.IntN(4)],
		Weight: r.IntN(3), Verb: "GET", Path: []string{"/a", "/b"}[r.IntN(2)],
	}
	keys := []string{"abc"[r.IntN(3):][:1], "xy"[r.IntN(2):][:1], "12"[r.IntN(2):][:1]}
	path := func() []string {
		at := append([]string(nil), keys...)
		at[len(at)-1] += strings.Repeat("'", int(p.moved.Load()))
		return at
	}
	keys = keys[:1+r.IntN(3)]
	ctx, cancel := context.WithCancel(patient)
	defer cancel()
	allowed := []error{ErrClosed, ErrQueueFull, ErrTooLarge}
	if p.like.MaxStandstill != 0 {
		allowed = append(allowed, ErrStandstill)
	}
	mostly := time.Duration(0)
	switch r.IntN(8) {
	case 0, 1:
		c.MaxWait, mostly = -1, 8*(2*link.OverdueAfter+20*time.Millisecond)
		allowed = append(allowed, ErrWouldWait)
	case 2:
		c.MaxWait = time.Duration(1+r.IntN(500)) * time.Millisecond
		mostly, allowed = c.MaxWait, append(allowed, ErrMaxWait)
	case 3:
		var late context.CancelFunc
		mostly = time.Duration(1+r.IntN(500)) * time.Millisecond
		ctx, late = context.WithTimeout(ctx, mostly)
		defer late()
		allowed = append(allowed, ErrDeadline, ErrCanceled)
	case 4:
		mostly = time.Duration(1+r.IntN(500)) * time.Millisecond
		time.AfterFunc(mostly, cancel)
		allowed = append(allowed, ErrCanceled)
	case 5:
		done := make(chan struct{})
		c.Cancel, mostly = done, time.Duration(1+r.IntN(500))*time.Millisecond
		time.AfterFunc(mostly, func() { close(done) })
		allowed = append(allowed, ErrCanceled)
	}
	g := p.groups[r.IntN(2)]
	for range 1 + r.IntN(2) {
		began := time.Now()
		var granted *Grant
		var err error
		switch r.IntN(6) {
		case 0:
			granted, err = g.Limiter(path()...).Acquire(ctx, c)
		default:
			search := within.Search(g, func() *Limiter { return g.Limiter(path()...) }, nil, nil)
			granted, err = search.Acquire(ctx, r.IntN(2) == 0, c, new(Grant))
		}
		if took := time.Since(began); mostly > 0 && took > mostly {
			p.t.Errorf("%+v took %v, want %v: %v", c, took, mostly, err)
		}
		if err != nil {
			ok := false
			for _, want := range allowed {
				ok = ok || errors.Is(err, want)
			}
			if !ok || errors.Is(err, ErrClosed) && !p.closed.Load() || errors.Is(err, ErrQueueFull) && p.like.MaxQueue == 0 && !strings.Contains(strings.Join(append(append(p.texts[0], p.texts[1]...), p.texts[2]...), ","), "queue") {
				p.t.Errorf("%v after %v: %+v: %v", time.Since(start), time.Since(began), c, err)
			}
			return
		}
		if !p.end(r, granted, &c, g, keys, start) {
			return
		}
		c.After = granted
	}
}

// note notes what was sent at an instant.
func (p *program) note(at, start time.Time, n int, g *Group, path []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, claimSent{definition.Sent{At: at.Sub(start), N: int64(n)}, g, strings.Join(path, "/")})
}

// end ends a grant in some way, and reports whether the claim is to be made again.
func (p *program) end(r *rand.Rand, g *Grant, c *Claim, group *Group, path []string, start time.Time) (again bool) {
	granted := time.Now()
	note := func() { p.note(granted, start, max(c.N, 1), group, path) }
	time.Sleep(time.Duration(r.IntN(4)) * 20 * time.Millisecond)
	switch r.IntN(8) {
	case 0:
		g.Cancel()
		return false
	case 1:
		note()
		g.Settle(quota.Costs{"tokens": int64(r.IntN(50))})
		g.Done()
	case 2:
		note()
		if o := g.Answered(Answer{Unsettled: true, Reading: true}); o.Open {
			time.Sleep(30 * time.Millisecond)
		}
		g.Settle(quota.Costs{"tokens": int64(r.IntN(50))})
		g.Done()
		g.Settle(quota.Costs{"tokens": int64(r.IntN(50))})
	case 3:
		note()
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 100 * time.Millisecond}})
		return true
	case 4:
		note()
		g.Answered(Answer{Statements: []quota.Statement{{Limit: 20, Remaining: int64(r.IntN(20)), Reset: time.Second, ResetKnown: true}}})
	case 5: // all at once
		var wg sync.WaitGroup
		note()
		wg.Go(func() { g.Settle(quota.Costs{"tokens": 5}) })
		wg.Go(func() { g.Done() })
		wg.Go(func() { g.Answered(Answer{Lost: true}) })
		if !p.still {
			wg.Go(func() { g.Cancel() })
		}
		wg.Wait()
	default:
		note()
		g.Done()
		g.Cancel()
	}
	return false
}

// meddle does something with a Group, or with a bucket.
func (p *program) meddle(r *rand.Rand, start time.Time) {
	g := p.groups[r.IntN(2)]
	path := []string{"abc"[r.IntN(3):][:1], "xy"[r.IntN(2):][:1], "12"[r.IntN(2):][:1]}[:1+r.IntN(3)]
	l := g.Limiter(path...)
	switch k := r.IntN(12); {
	case k == 0:
		l.Pause(time.Duration(r.IntN(300)) * time.Millisecond)
	case k == 1:
		l.Resume()
	case k == 2:
		l.Forecast(Claim{N: 2})
		_ = g.State()
	case k == 3:
		var saved bytes.Buffer
		if err := g.Save(&saved); err != nil {
			p.t.Error(err)
		}
		if err := g.Load(&saved); err != nil {
			p.t.Error(err)
		}
	case k == 4:
		if l.Allow(1) {
			p.note(time.Now(), start, 1, g, path)
		}
	case p.still: // what follows changes what is charged
		return
	case k == 5:
		if o, _ := l.Observe(Claim{}); o != nil {
			o.Done()
		}
	case k == 6 && r.IntN(3) == 0:
		p.closed.Store(true)
		if err := l.Close(); err != nil && p.stores == [3]*unreliable{} {
			p.t.Error(err)
		}
	case k < 9:
		i := r.IntN(3)
		err := within.Update(g, func() (moved bool) {
			p.chosen[i].Add(1)
			return false
		})
		if err != nil {
			p.t.Error(err)
		}
	case k == 9:
		if err := within.Update(g, func() (moved bool) { p.moved.Add(1); return true }); err != nil {
			p.t.Error(err)
		}
	case k == 10:
		i := r.IntN(3)
		if err := within.Update(g, func() (moved bool) { p.late[i].Store(false); return false }); err != nil {
			p.t.Error(err)
		}
	default:
		g.sweepTwice()
	}
	checkGroup(p.t, g)
}

// checkSent tells where what was sent breaks a quota of requests by definition: what a Group has sent, or both
// have if the quota lives in a Store.
func (p *program) checkSent(start time.Time) {
	slices.SortStableFunc(p.sent, func(a, b claimSent) int { return cmp.Compare(a.At, b.At) })
	for i, s := range p.stores {
		var qs quota.Quotas
		sent := map[claimSent][]definition.Sent{}
		for _, c := range p.sent {
			if keys := strings.Split(c.path, "/"); len(keys) > i {
				of := claimSent{path: strings.Join(keys[:i+1], "/"), group: c.group}
				qs = p.limiter(keys[:i+1]).Quotas
				if s != nil {
					of.group = nil
				}
				sent[of] = append(sent[of], c.Sent)
			}
		}
		for _, q := range qs.Explicit() {
			for of, in := range sent {
				if late := (&Limiter{}).effectiveSlotLife(qs.Explicit()); q.Unit == "" && !q.Kind.Concurrent() {
					if err := definition.Check(q, start, late, in); err != nil {
						p.t.Errorf("%s: %v", of.path, err)
					}
				}
			}
		}
	}
}

// TestRandomPrograms: nobody waits for ever, nor longer than allowed, nothing is left in the end, and what is
// always true of a tree is true all the time.
func TestRandomPrograms(t *testing.T) {
	for seed := range seeds(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 9))
				drawProgram(t, r).run(r)
			})
		})
	}
}
