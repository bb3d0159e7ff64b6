package pacing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// TestEveryNanosecondIsTold has requests of two tenants, with all priorities and ways to end, wait at servers that say, refuse and
// break whatever comes, while quotas are replaced. Of each request, what the hooks were told adds up to the time that it took,
// exactly: the waits in line by cause, the attempts, and the delays between them; and the Call says the same of the waits.
func TestEveryNanosecondIsTold(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { newChronicle(t, seed).play() })
	}
}

// chronicle is what hooks were told of many requests.
type chronicle struct {
	t    *testing.T
	seed uint64
	tr   *pacer.Transport

	mu     sync.Mutex // protects the fields below
	random *rand.Rand
	told   map[string]*story // by the header Number of the request
}

// story is what hooks were told of a request.
type story struct {
	waited, others time.Duration // in line; for answers, and kept back
	ends           int           // how often it was told that the request is not sent, or not again
	text           []string
}

func newChronicle(t *testing.T, seed uint64) *chronicle {
	t.Helper()
	c := &chronicle{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), told: map[string]*story{}}
	c.tr = &pacer.Transport{
		Quotas: c.table(), MaxWait: time.Duration(c.pick(3)) * 5 * time.Second, Base: lab.RoundTripper(c.answer),
		Cost: func(*http.Request) quota.Costs { return quota.Costs{"tokens": 3} }, Trace: c.trace(),
	}
	tenant := func(req *http.Request) string { return req.Header.Get("Tenant") }
	switch c.pick(3) {
	case 0:
		c.tr.Key = tenant
	case 1:
		c.tr.Line.Flow = tenant
	}
	return c
}

func (c *chronicle) pick(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

func (c *chronicle) table() pacer.Table {
	some := func() quota.Quotas {
		texts := []string{
			"5/s burst 2", "20/s even", "3/2s window", "1 in flight", "4 in flight, 30/s", "6/s", "500 tokens/s",
			"2/s burst 1, 40 tokens/s burst 120", "10/2s sliding", "5/s estimate", "10/2s log",
		}
		return quota.MustParse(texts[c.pick(len(texts))])
	}
	table := pacer.Table{"/": some()}
	for _, pattern := range []string{"a.example/{x}/", "GET a.example/1/"} {
		if c.pick(2) == 0 {
			table[pattern] = some()
		}
	}
	return table
}

func (c *chronicle) answer(req *http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(c.pick(3e8)))
	left, reset := fmt.Sprint(c.pick(5)), fmt.Sprint(c.pick(3))
	switch c.pick(30) {
	case 0:
		return lab.Answer(req, 429, "", "Retry-After", "1"), nil
	case 1:
		return lab.Answer(req, 429, ""), nil
	case 2:
		return lab.Answer(req, 503, ""), nil
	case 3:
		return nil, lab.ErrBroken
	case 4:
		return lab.Answer(req, 200, "", "X-RateLimit-Limit", "20", "X-RateLimit-Remaining", left, "X-RateLimit-Reset-After", reset), nil
	case 5: // the server names the bucket
		return lab.Answer(req, 200, "", "X-RateLimit-Limit", "20", "X-RateLimit-Remaining", left, "X-RateLimit-Reset-After", reset, "X-RateLimit-Bucket", "b"), nil
	case 6:
		return lab.Answer(req, 200, "", "RateLimit-Policy", `"x";q=10;w=2, "y";q=100;w=60`, "RateLimit", `"x";r=`+left+`;t=2, "y";r=4`+left+`;t=30`), nil
	}
	return lab.Answer(req, 200, ""), nil
}

func (c *chronicle) trace() *pacer.Trace {
	return &pacer.Trace{
		Queued:   func(e pacer.Queued) { c.note(&e.Event, 0, nil, 0, 0, "queued") },
		Went:     func(e pacer.Went) { c.note(&e.Event, e.Wait, e.Waits, 0, 0, "went") },
		NotSent:  func(e pacer.NotSent) { c.note(&e.Event, e.Wait, e.Waits, 0, 1, "not sent") },
		Answered: func(e pacer.Answered) { c.note(&e.Event, 0, nil, e.Latency, 0, "answered") },
		Retrying: func(e pacer.Retrying) { c.note(&e.Event, 0, nil, e.Delay, 0, "sent again") },
		GaveUp:   func(e pacer.GaveUp) { c.note(&e.Event, e.Wait, e.Waits, e.Delay, 1, "not sent again") },
	}
}

// note notes what a hook is told.
func (c *chronicle) note(e *pacer.Event, wait time.Duration, causes []throttle.Wait, others time.Duration, ends int, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.told[e.Request.Header.Get("Number")]
	s.waited += wait
	s.others += others
	s.ends += ends
	s.text = append(s.text, fmt.Sprintf("%s after %v %v, %v", what, wait, causes, others))
	c.check(wait, causes)
}

// check checks that each cause is there once, the longest first, with the bucket and the limit; and that they add up.
func (c *chronicle) check(wait time.Duration, causes []throttle.Wait) {
	seen, sum := map[throttle.Wait]bool{}, time.Duration(0)
	for i, w := range causes {
		sum += w.For
		ok := w.For > 0 && (i == 0 || causes[i-1].For >= w.For) && strings.Contains(w.Bucket, "a.example") && strings.Contains(w.Label, "a.example")
		switch w.Cause {
		case throttle.CausePace, throttle.CauseSpread, throttle.CauseInFlight, throttle.CauseWindow:
			ok = ok && w.Quota != ""
		case throttle.CauseHold, throttle.CauseSlowStart:
		default:
			ok = false
		}
		w.For = 0
		if !ok || seen[w] {
			c.t.Errorf("seed %d: %+v", c.seed, causes)
		}
		seen[w] = true
	}
	if sum != wait {
		c.t.Errorf("seed %d: waited %v, for %+v", c.seed, wait, causes)
	}
}

// send sends a request, and compares what was told of it with how long that took.
func (c *chronicle) send(number string, r *rand.Rand) {
	time.Sleep(time.Duration(r.Int64N(4e9)))
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	switch bound := time.Duration(r.Int64N(4e9)); r.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
	case 1:
		time.AfterFunc(bound, cancel)
	}
	call := &pacer.Call{Priority: []throttle.Priority{throttle.Background, throttle.Normal, throttle.Urgent}[r.IntN(3)]}
	req := lab.Request(c.t, "GET", fmt.Sprintf("http://a.example/%d/%d", r.IntN(3), r.IntN(2)), "").WithContext(pacer.WithCall(ctx, call))
	req.Header.Set("Number", number)
	req.Header.Set("Tenant", fmt.Sprint(r.IntN(2)))
	s := &story{}
	c.mu.Lock()
	c.told[number] = s
	c.mu.Unlock()

	var err error
	start := time.Now()
	if r.IntN(4) == 0 {
		var done func()
		if req, done, err = c.tr.Acquire(ctx, req); err == nil {
			defer done()
		}
	}
	if err == nil {
		var resp *http.Response
		if resp, err = c.tr.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
	took := time.Since(start)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.waited+s.others != took || s.ends > 1 {
		c.t.Errorf("seed %d: it took %v, told were %v: %v\n%s", c.seed, took, s.waited+s.others, err, strings.Join(s.text, "\n"))
	}
	if call.Waited() != s.waited {
		c.t.Errorf("seed %d: the Call waited %v, told were %v", c.seed, call.Waited(), s.waited)
	}
	c.check(call.Waited(), call.Waits())
}

func (c *chronicle) play() {
	var wg sync.WaitGroup
	for i := range 120 {
		r := rand.New(rand.NewPCG(c.seed, uint64(i)+2))
		wg.Go(func() { c.send(fmt.Sprint(i), r) })
	}
	for range 8 {
		time.Sleep(time.Duration(c.pick(8e8)))
		if err := c.tr.SetQuotas(c.table()); err != nil {
			c.t.Error(err)
		}
	}
	wg.Wait()
}

// While buckets are being changed, those who are in their new line already do not know for how long they will wait there, and
// Queued says so: here to the first of two.
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
