package pacing

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

var stride = flag.Uint64("stride", whole.Or[uint64](8, 1), "of how many worlds of TestEveryNanosecondIsTold one is played")

// TestEveryNanosecondIsTold has requests of two tenants, in all modes, with all priorities and ways to end,
// wait at servers that say, refuse and break whatever comes, while quotas are replaced, and hooks ask the
// Transport, replace its quotas and cancel requests. In some worlds there is a Transport below, a slow Store,
// or a quota of what flows; in the last ones nobody knows what requests of many kinds cost before they have
// ended. Of each request, what the hooks of a Transport were told adds up to the time that it took, exactly:
// the waits in line by cause, the attempts, and the delays between them. The hooks come once each, in their
// order. The Call says the same of the waits. Whatever waits, or is not sent, has a cause.
func TestEveryNanosecondIsTold(t *testing.T) {
	for seed := uint64(0); seed < 200; seed += *stride {
		synctest.Test(t, func(t *testing.T) { newChronicle(t, seed).play() })
	}
}

// chronicle is what hooks were told of many requests.
type chronicle struct {
	t      *testing.T
	seed   uint64
	all    []*pacer.Transport // the one above first
	shared bool               // there is a Store
	flows  bool               // there are quotas of what flows
	kinds  bool               // what requests cost is said by their answers, or after these

	mu      sync.Mutex // protects the fields below
	random  *rand.Rand
	told    map[string]*story             // by the place of the Transport and the header Number of the request
	cancels map[string]context.CancelFunc // by Number
}

// story is what hooks of a Transport were told of a request.
type story struct {
	waited, kept, others time.Duration // in line; backed off; for answers
	hooks                string        // a letter for each
	notSent              []error
	text                 []string
}

// inOrder is the order of hooks: q is for Queued, w for Went, n for NotSent, l for Learned, a for Answered,
// r for Retrying, and g for GaveUp. After w, Acquire may be over.
var inOrder = regexp.MustCompile(`^q*(n|wq*n|(wq*)?wl?a(q*rwl?a)*(q*g)?|w)$`)

func newChronicle(t *testing.T, seed uint64) *chronicle {
	t.Helper()
	c := &chronicle{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), told: map[string]*story{}, cancels: map[string]context.CancelFunc{}}
	c.kinds = seed >= 150
	c.shared, c.flows = c.pick(4) == 0 && !c.kinds, c.pick(4) == 0
	base := http.RoundTripper(lab.RoundTripper(c.answer))
	for i := c.pick(4) / 3; i >= 0; i-- {
		tr := c.transport(base, i)
		if err := tr.Validate(); err != nil {
			t.Fatal(err)
		}
		base, c.all = tr, append([]*pacer.Transport{tr}, c.all...)
	}
	return c
}

func (c *chronicle) transport(base http.RoundTripper, i int) *pacer.Transport {
	tr := &pacer.Transport{
		Quotas: c.table(), MaxWait: time.Duration(c.pick(3)) * 5 * time.Second, Base: base, Trace: c.trace(i),
		Fallback: lab.Fallback(lab.OK()),
	}
	if c.shared {
		tr.Shared = pacer.Shared{Store: &slowStore{c: c}, SlotLife: 500 * time.Millisecond, Fresh: true, Outage: []throttle.Outage{throttle.OutageShare, throttle.OutageClosed, throttle.OutageOpen}[c.pick(3)]}
	}
	tenant := func(req *http.Request) string { return req.Header.Get("Tenant") }
	c.one(func() { tr.Key = tenant }, func() { tr.Line.Flow = tenant }, func() {})
	c.one(
		func() { tr.Cost = func(*http.Request) quota.Costs { return quota.Costs{"tokens": 3} } },
		func() { tr.Spent = func(*http.Response) quota.Costs { return quota.Costs{"tokens": int64(c.pick(6))} } },
	)
	if c.kinds {
		tr.Cost, tr.Spent = nil, func(*http.Response) (spent quota.Costs) {
			if n := c.pick(30); n%5 > 0 {
				spent = quota.Costs{"tokens": int64(n), "images": int64(n % 3)}
			}
			return spent
		}
	}
	c.one(
		func() { tr.Retry.MaxElapsed = 3 * time.Second },
		func() { tr.Retry.AttemptTimeout = 200 * time.Millisecond },
		func() { tr.Retry.BufferBody = 100 },
		func() { tr.Retry.IdempotencyKey = pacer.RandomIdempotencyKey },
		func() {
			tr.Retry.PrepareRetry = func(*http.Request) error { return []error{errors.New("no"), nil}[c.pick(2)] }
		},
		func() {},
	)
	c.one(
		func() { tr.Line.MaxQueue = 5 },
		func() { tr.Line.Reserve = 0.3 },
		func() { tr.MaxStandstill = time.Second },
		func() { tr.Learn.Bodies = pacer.ErrorBodies },
		func() { tr.Learn.MaxBuckets = -1 },
		func() {},
	)
	return tr
}

func (c *chronicle) pick(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// one does one of several things.
func (c *chronicle) one(things ...func()) { things[c.pick(len(things))]() }

func (c *chronicle) table() pacer.Table {
	some := func() quota.Quotas {
		texts := []string{
			"5/s burst 2", "20/s even", "3/2s window", "6/s", "500 tokens/s", "2/s burst 1, 40 tokens/s burst 120", "10/2s sliding",
			"1 in flight", "4 in flight, 30/s", "5/s estimate", "10/2s log", "4/s warm-up 3s", "4kB/s debt", "10/s queue 3",
		}
		if c.shared {
			texts = slices.Delete(texts, 7, len(texts)) // not all can be shared
		}
		if c.kinds {
			texts = []string{"60 tokens/s", "10 tokens/s burst 60", "600 tokens/m burst 50, 9/s", "90 tokens/s, 30 images/s", "50 images/s, 4 in flight", "5/s burst 2"}
		}
		text := texts[c.pick(len(texts))]
		if c.flows && c.pick(3) == 0 {
			text += ", 2kB/s streamed"
		}
		return quota.MustParse(text)
	}
	table := pacer.Table{"/": some()}
	for _, pattern := range []string{"a.example/{x}/", "GET a.example/1/", "b.example/"} {
		if c.pick(2) == 0 {
			table[pattern] = some()
		}
	}
	return table
}

// slowStore is a store that takes its time, and fails now and then.
type slowStore struct {
	store.Memory
	c *chronicle
}

func (s *slowStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	d := time.Duration(s.c.pick(3e7))
	s.c.one(func() { d += 2 * time.Second }, func() {}, func() {}, func() {}, func() {}, func() {})
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.c.pick(12) == 0 {
		return nil, lab.ErrBroken
	}
	return s.Memory.Exchange(ctx, r)
}

func (c *chronicle) answer(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	select {
	case <-time.After(time.Duration(c.pick(3e8))):
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
	left, reset := fmt.Sprint(c.pick(5)), fmt.Sprint(c.pick(3))
	says := func(more ...string) (*http.Response, error) {
		return lab.Answer(req, 200, "text", append(more, "X-RateLimit-Limit", "20", "X-RateLimit-Remaining", left, "X-RateLimit-Reset-After", reset)...), nil
	}
	switch c.pick(30) {
	case 0:
		return lab.Answer(req, 429, "", "Retry-After", "1"), nil
	case 1:
		return lab.Answer(req, 429, "text"), nil
	case 2: // its body takes its time
		resp := lab.Answer(req, 503, "", "Content-Type", "application/json")
		resp.Body, resp.ContentLength = &slowBody{c: c}, -1
		return resp, nil
	case 3:
		return nil, lab.ErrBroken
	case 4:
		return says()
	case 5: // the server names the bucket
		return says("X-RateLimit-Bucket", fmt.Sprint(c.pick(3)))
	case 6:
		return lab.Answer(req, 200, "", "RateLimit-Policy", `"x";q=10;w=2, "y";q=100;w=60`, "RateLimit", `"x";r=`+left+`;t=2, "y";r=4`+left+`;t=30`), nil
	case 7:
		return lab.Answer(req, 503, "text", "Retry-After", "2"), nil
	case 8:
		return nil, lab.ErrDial
	case 9:
		return lab.Answer(req, 429, "text", "Retry-After", "600"), nil
	}
	return lab.Answer(req, 200, strings.Repeat("x", c.pick(1000))), nil
}

// slowBody is a body of some bytes, of which each takes its time.
type slowBody struct {
	c    *chronicle
	read int
}

func (b *slowBody) Read(p []byte) (int, error) {
	time.Sleep(time.Duration(b.c.pick(1e8)))
	if b.read++; b.read == 4 {
		return 0, io.EOF
	}
	return copy(p, " "), nil
}

func (*slowBody) Close() error { return nil }

func (c *chronicle) trace(i int) *pacer.Trace {
	return &pacer.Trace{
		Queued: func(e pacer.Queued) {
			if !isCause(e.Cause, e.Quota) {
				c.t.Errorf("seed %d: Queued for %q, and a limit of %q", c.seed, e.Cause, e.Quota)
			}
			c.note(i, &e.Event, "q", 0, nil, 0, 0)
		},
		Went:     func(e pacer.Went) { c.note(i, &e.Event, "w", e.Wait, e.Waits, 0, 0) },
		NotSent:  func(e pacer.NotSent) { c.note(i, &e.Event, "n", e.Wait, e.Waits, 0, 0, e.Err) },
		Answered: func(e pacer.Answered) { c.note(i, &e.Event, "a", 0, nil, 0, e.Latency) },
		Learned:  func(e pacer.Learned) { c.note(i, &e.Event, "l", 0, nil, 0, 0) },
		Retrying: func(e pacer.Retrying) { c.note(i, &e.Event, "r", 0, nil, e.Delay, 0) },
		GaveUp:   func(e pacer.GaveUp) { c.note(i, &e.Event, "g", e.Wait, e.Waits, e.Delay, 0) },
	}
}

// note notes what a hook of a Transport is told. Then it may do to the Transport whatever a program could.
func (c *chronicle) note(i int, e *pacer.Event, hook string, wait time.Duration, causes []throttle.Wait, kept, latency time.Duration, notSent ...error) {
	number := e.Request.Header.Get("Number")
	c.mu.Lock()
	s, cancel := c.told[fmt.Sprint(i, " ", number)], c.cancels[number]
	if s == nil {
		s = &story{}
		c.told[fmt.Sprint(i, " ", number)] = s
	}
	if e.Mode != pacer.ModeObserve {
		s.waited += wait
		c.check(wait, causes)
	}
	s.kept += kept
	s.others += latency
	s.hooks += hook
	s.notSent = append(s.notSent, notSent...)
	s.text = append(s.text, fmt.Sprintf("%s in %s: %v for %v, %v, %v; %v", hook, e.Bucket, wait, causes, kept, latency, notSent))
	if !strings.Contains(e.Bucket, ".example") || !strings.Contains(e.Label, ".example") || e.Mode == "" {
		c.t.Errorf("seed %d: %s of %+v", c.seed, hook, e)
	}
	c.mu.Unlock()
	tr := c.all[i]
	switch c.pick(40) {
	case 0:
		tr.State()
	case 1:
		tr.Stats()
	case 2:
		if _, err := tr.Forecast(e.Request); err != nil {
			c.t.Error(err)
		}
	case 3:
		if err := tr.SetQuotas(c.table()); err != nil {
			c.t.Error(err)
		}
	case 4:
		var saved bytes.Buffer
		if err := errors.Join(tr.Save(&saved), tr.Load(&saved)); err != nil {
			c.t.Error(err)
		}
	case 5:
		cancel()
	}
}

// check checks that each cause is there once, the longest first, with the bucket and the limit; and that they
// add up.
func (c *chronicle) check(wait time.Duration, causes []throttle.Wait) {
	seen, sum := map[throttle.Wait]bool{}, time.Duration(0)
	for i, w := range causes {
		sum += w.For
		ok := w.For > 0 && (i == 0 || causes[i-1].For >= w.For) && strings.Contains(w.Bucket, ".example") && strings.Contains(w.Label, ".example")
		w.For = 0
		if !ok || !isCause(w.Cause, w.Quota) || seen[w] {
			c.t.Errorf("seed %d: %+v", c.seed, causes)
		}
		seen[w] = true
	}
	if sum != wait {
		c.t.Errorf("seed %d: waited %v, for %+v", c.seed, wait, causes)
	}
}

// isCause reports whether there is such a cause, with the name of a limit where it needs one.
func isCause(cause throttle.Cause, limit string) bool {
	switch cause {
	case throttle.CausePace, throttle.CauseSpread, throttle.CauseInFlight, throttle.CauseWindowUsedUp, throttle.CauseWarmUp:
		return limit != ""
	case throttle.CauseHold, throttle.CauseSlowStart, throttle.CauseStoreAsked, throttle.CauseStoreNotReached:
		return true
	}
	return false
}

// request makes a request, and a context that ends in some way.
func (c *chronicle) request(number string, r *rand.Rand, call *pacer.Call) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(pacer.WithCall(c.t.Context(), call))
	switch bound := time.Duration(r.Int64N(4e9)); r.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, bound)
	case 1:
		time.AfterFunc(bound, cancel)
	}
	method, text := "GET", ""
	if r.IntN(3) == 0 {
		method, text = "POST", strings.Repeat("y", r.IntN(200))
	}
	host := []string{"a", "a", "a", "b"}[r.IntN(4)]
	path := fmt.Sprintf("%d/%d", r.IntN(3), r.IntN(2))
	if c.kinds && r.IntN(2) == 0 {
		path += "/new-" + string(rune('a'+r.IntN(20)))
	}
	req := lab.Request(c.t, method, fmt.Sprintf("http://%s.example/%s", host, path), text).WithContext(ctx)
	if r.IntN(4) == 0 {
		req.GetBody = nil
	}
	req.Header.Set("Number", number)
	req.Header.Set("Tenant", fmt.Sprint(r.IntN(2)))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancels[number] = cancel
	return req, cancel
}

// send sends a request, and compares what was told of it with how long that took.
func (c *chronicle) send(number string, r *rand.Rand) {
	time.Sleep(time.Duration(r.Int64N(4e9)))
	modes := []pacer.Mode{"", "", "", "", pacer.ModeWait, pacer.ModeReject, pacer.ModeDegrade, pacer.ModeObserve}
	call := &pacer.Call{Mode: modes[r.IntN(len(modes))], Priority: []throttle.Priority{throttle.Background, throttle.Normal, throttle.Urgent}[r.IntN(3)]}
	req, cancel := c.request(number, r, call)
	defer cancel()
	var err error
	start := time.Now()
	if r.IntN(4) == 0 {
		var giveBack func()
		if req, giveBack, err = c.all[0].Acquire(req.Context(), req); err == nil {
			defer giveBack()
			if r.IntN(5) == 0 {
				giveBack()
			}
		}
	}
	var resp *http.Response
	if err == nil {
		resp, err = c.all[0].RoundTrip(req)
	}
	took := time.Since(start)
	if err == nil {
		time.Sleep(time.Duration(max(r.Int64N(15e8)-10e8, 0)))
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if c.kinds && r.IntN(3) == 0 {
			call.Settle(quota.Costs{"tokens": int64(r.IntN(30))})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.told["0 "+number]
	hooks := s.hooks
	if call.Mode == pacer.ModeObserve {
		hooks = strings.ReplaceAll(hooks, "nw", "w") // it would not have been sent
	}
	if s.waited+s.kept+s.others != took || !inOrder.MatchString(hooks) {
		c.t.Errorf("seed %d: it took %v, told were %v by %s: %v\n%s", c.seed, took, s.waited+s.kept+s.others, s.hooks, err, strings.Join(s.text, "\n"))
	}
	if len(c.all) == 1 && (call.Waited() != s.waited || call.BackedOff() != s.kept) {
		c.t.Errorf("seed %d: the Call waited %v and backed off %v, told were %v and %v", c.seed, call.Waited(), call.BackedOff(), s.waited, s.kept)
	}
	c.check(call.Waited(), call.Waits())
	if len(s.notSent) > 0 && call.Mode != pacer.ModeDegrade && call.Mode != pacer.ModeObserve {
		c.checkError(err, s.notSent)
	}
}

// checkError checks that the error of a request that was not sent is what the hook was told, and says what it
// would have waited for.
func (c *chronicle) checkError(err error, told []error) {
	var why *throttle.Error
	if len(told) != 1 || !errors.Is(err, told[0]) || !errors.As(err, &why) {
		c.t.Errorf("seed %d: %v, told were %v", c.seed, err, told)
		return
	}
	if !strings.Contains(why.Bucket, ".example") || !isCause(why.Cause, why.Quota) && !strings.Contains(err.Error(), "already ended") {
		c.t.Errorf("seed %d: no cause, no limit, or no bucket: %v", c.seed, err)
	}
}

func (c *chronicle) play() {
	var wg sync.WaitGroup
	for i := range 100 {
		r := rand.New(rand.NewPCG(c.seed, uint64(i)+2))
		wg.Go(func() { c.send(fmt.Sprint(i), r) })
	}
	for range 8 {
		time.Sleep(time.Duration(c.pick(8e8)))
		for _, tr := range c.all {
			if err := tr.SetQuotas(c.table()); err != nil {
				c.t.Error(err)
			}
		}
	}
	wg.Wait()
	time.Sleep(time.Minute)
	for _, tr := range c.all {
		if s := tr.Stats(); s.Waiting != 0 || s.InFlight != 0 {
			c.t.Errorf("seed %d: at the end %+v", c.seed, s)
		}
		_ = tr.Close() // the store may be out of reach
	}
}

// While buckets are being changed, those who are in their new line already do not know for how long they will
// wait there, and Queued says so: here to the first of two.
func TestQueuedWhileQuotasAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		tr := &pacer.Transport{Base: lab.OK(), Quotas: pacer.Table{"a.example/": quota.MustParse("1/10s even")}}
		client := &http.Client{Transport: tr}
		lab.Get(t, client, "http://a.example/")
		tr.Trace = &pacer.Trace{Queued: func(e pacer.Queued) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%v %s %q of %s", e.Wait, e.Cause, e.Quota, e.Bucket))
		}}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { lab.Get(t, client, "http://a.example/") })
			synctest.Wait()
		}
		time.Sleep(3 * time.Second)
		if err := tr.SetQuotas(pacer.Table{"GET a.example/": quota.MustParse("9 in flight")}); err != nil {
			t.Error(err)
		}
		wg.Wait()
		want := []string{`10s pace "1/10s even" of a.example`, `20s pace "1/10s even" of a.example`, `0s hold "" of GET a.example/`}
		if slices.Equal(got, append(want, want[2])) {
			got = want // the second request came to its new bucket before that was released, too
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
