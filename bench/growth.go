package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Growth is something whose cost depends on how much there is.
type Growth struct {
	Name  string
	Unit  string // of what Measure returns
	Sizes []int  // ascending
	// Linear says that the figure grows as the size does. All others are to stay the same.
	Linear bool
	// Measure returns a figure for a size.
	Measure func(n int) float64
}

// Most is by how much the figure may grow from the smallest size to the greatest. It tells what is flat from
// what is linear, and what is linear from what is quadratic, on a machine that is not quiet, with caches that
// are not endless: it is half of the way between them, in powers of the size.
func (g Growth) Most() float64 {
	sizes := float64(g.Sizes[len(g.Sizes)-1]) / float64(g.Sizes[0])
	if g.Linear {
		return sizes * math.Sqrt(sizes)
	}
	return math.Sqrt(sizes)
}

// Growths returns what is measured at several sizes.
func Growths() []Growth {
	many, most := []int{1000, 10_000, 100_000}, []int{1000, 10_000, 100_000, 300_000}
	children := []int{1000, 3000, 10_000} // a claim looks at 1000 of them at most
	tenants := []int{1000, 4000, 16_000}
	patterns, hosts := []int{100, 1000, 8000}, []int{1, 10, 100, 1000}
	return []Growth{
		{"join and leave, a claim of one of n children that wait", "µs", children, false, joinAndLeave},
		{"join and leave, n claims wait in one bucket", "µs", many, false, joinBehind},
		{"Validate n patterns of hosts, each", "µs", patterns, false, func(n int) float64 { return validate(n, "h%d.example/") }},
		{"Validate n patterns of paths at n hosts, each", "µs", patterns, false, func(n int) float64 { return validate(n, "h%d.example/v1/{id}") }},
		{"a new bucket beside n that are in use, on average", "µs", most, false, func(n int) float64 { return average(newBuckets(n, throttle.NoLimit, true)) }},
		{"a new bucket beside n that are in use, the longest", "µs", most, false, func(n int) float64 { return longest(newBuckets(n, throttle.NoLimit, true)) }},
		{"a new bucket where there is room for n, on average", "µs", many, false, func(n int) float64 { return average(newBuckets(2*n, n, false)) }},
		{"a new bucket where there is room for n, the longest", "µs", many, true, func(n int) float64 { return longest(newBuckets(2*n, n, false)) }},
		{"State of n buckets, each", "µs", many, false, func(n int) float64 { return whole(n, state) }},
		{"Save of n buckets, each", "µs", many, false, func(n int) float64 { return whole(n, save) }},
		{"SetQuotas with n buckets, each", "µs", many, false, func(n int) float64 { return whole(n, setQuotas) }},
		{"SetQuotas with n tenants that wait, each", "µs", tenants, false, setQuotasWaiting},
		{"the longest that State of n buckets holds a request up", "ms", many, true, func(n int) float64 { return heldUp(n, state) }},
		{"the longest that Save of n buckets holds a request up", "ms", many, true, func(n int) float64 { return heldUp(n, save) }},
		{"the longest that SetQuotas with n buckets holds a request up", "ms", many, true, func(n int) float64 { return heldUp(n, setQuotas) }},
		{"n claims wait: heap, each", "B", many, false, func(n int) float64 { return line(n, pacerWait()).heap }},
		{"n claims wait: heap and stack, each", "B", many, false, func(n int) float64 { return line(n, pacerWait()).all }},
		{"n claims are canceled, each", "µs", many, false, func(n int) float64 { return line(n, pacerWait()).cancel }},
		{"n waits of rate.Limiter: heap, each", "B", many, false, func(n int) float64 { return line(n, rateWait()).heap }},
		{"n waits of rate.Limiter: heap and stack, each", "B", many, false, func(n int) float64 { return line(n, rateWait()).all }},
		{"n waits of rate.Limiter are canceled, each", "µs", many, false, func(n int) float64 { return line(n, rateWait()).cancel }},
		{"a request to one of n hosts, in turns", "ns", hosts, false, oneOf},
		{"a request under one of n patterns with a wildcard", "ns", hosts, false, underPattern},
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// per returns how long f takes on average, in some unit.
func per(unit time.Duration, f func()) float64 {
	n := 0
	start := time.Now()
	for n < 3 || time.Since(start) < 30*time.Millisecond {
		f()
		n++
	}
	return float64(time.Since(start)) / float64(n) / float64(unit)
}

// once returns how long f takes, in some unit.
func once(unit time.Duration, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start)) / float64(unit)
}

// joinThenLeave has a claim join the line of l and leave it: it is canceled when it is told that it waits.
func joinThenLeave(l *throttle.Limiter) {
	cancel := make(chan struct{})
	find, told := func() *throttle.Limiter { return l }, func(throttle.Forecast) { close(cancel) }
	search := throttle.Inside(inside.Key{}).Search(new(throttle.Group), find, told, nil)
	_, err := search.Acquire(context.Background(), false, throttle.Claim{Cancel: cancel}, new(throttle.Grant))
	<-cancel // it has joined
	if !errors.Is(err, throttle.ErrCanceled) {
		panic(err)
	}
}

// usedUp returns a bucket in which nothing can go for an hour.
func usedUp() *throttle.Limiter {
	l := &throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.FixedWindow}}, MaxStandstill: throttle.Forever}
	must(l.Wait(context.Background(), 1))
	return l
}

// fill has n goroutines wait, the i-th in the bucket that in returns for i, all of them below root or root
// itself. It returns when all of them do, and a function that ends them.
func fill(n int, in func(i int) *throttle.Limiter, root *throttle.Limiter) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		l := in(i)
		all.Go(func() {
			if err := l.Wait(ctx, 1); !errors.Is(err, throttle.ErrCanceled) {
				panic(err)
			}
		})
	}
	for root.State().Waiting < n {
		pause(time.Millisecond)
	}
	return func() { cancel(); all.Wait() }
}

func joinAndLeave(n int) float64 {
	root := usedUp()
	children := make([]*throttle.Limiter, n)
	for i := range children {
		children[i] = &throttle.Limiter{Parent: root, MaxStandstill: throttle.Forever}
	}
	end := fill(n, func(i int) *throttle.Limiter { return children[i] }, root)
	defer end()
	last := &throttle.Limiter{Parent: root, MaxStandstill: throttle.Forever}
	return per(time.Microsecond, func() { joinThenLeave(last) })
}

func joinBehind(n int) float64 {
	l := usedUp()
	end := fill(n, func(int) *throttle.Limiter { return l }, l)
	defer end()
	return per(time.Microsecond, func() { joinThenLeave(l) })
}

func validate(n int, format string) float64 {
	table := pacer.Table{}
	for i := range n {
		table[fmt.Sprintf(format, i)] = quota.Quotas{{N: 5}}
	}
	return per(time.Microsecond, func() { must((&pacer.Transport{Quotas: table}).Validate()) }) / float64(n)
}

// newBuckets makes n new buckets, which stay in use or are used up for an hour, and returns how long each took:
// the least of three times, so that what else the machine does is left out.
func newBuckets(n, room int, inUse bool) []time.Duration {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the longest is not to be that in which a collection begins
	took := make([]time.Duration, n)
	for round := range 3 {
		runtime.GC()
		g := throttle.Group{MaxBuckets: room, New: func([]string) *throttle.Limiter {
			return &throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour}}}
		}}
		for i := range took {
			start := time.Now()
			grant, err := g.Limiter(strconv.Itoa(i)).Acquire(context.Background(), throttle.Claim{})
			must(err)
			if !inUse {
				grant.Answered(throttle.Answer{})
			}
			if d := time.Since(start); round == 0 || d < took[i] {
				took[i] = d
			}
		}
	}
	return took
}

func average(all []time.Duration) float64 {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return float64(sum) / float64(len(all)) / float64(time.Microsecond)
}

func longest(all []time.Duration) float64 {
	return float64(slices.Max(all)) / float64(time.Microsecond)
}

// world is n buckets that have learned something of their servers.
type world struct{ t *pacer.Transport }

func newWorld(n int) *world {
	w := &world{&pacer.Transport{Base: NewBase(Delta), Quotas: pacer.Table{"/": {{N: 1000}}}}}
	for i := range n {
		c := newGet()
		c.req.URL.Host = fmt.Sprintf("h%d.example", i)
		must(c.call(w.t))
	}
	runtime.GC()
	return w
}

func state(w *world) { w.t.State() }
func save(w *world)  { must(w.t.Save(io.Discard)) }

func setQuotas(w *world) {
	must(w.t.SetQuotas(pacer.Table{"/": {{N: 500}}}))
}

func whole(n int, f func(*world)) float64 {
	w := newWorld(n)
	return once(time.Microsecond, func() { f(w) }) / float64(n)
}

// setQuotasWaiting changes the quotas of a host, and of n tenants below it of which a claim waits each.
func setQuotasWaiting(n int) float64 {
	perHour := 1
	g := throttle.Group{New: func(path []string) *throttle.Limiter {
		return &throttle.Limiter{MaxStandstill: throttle.Forever, Quotas: quota.Quotas{{N: int64(perHour), Per: time.Hour, Kind: quota.FixedWindow}}}
	}}
	host := g.Limiter("host")
	grant, err := host.Acquire(context.Background(), throttle.Claim{N: 1})
	must(err)
	grant.Answered(throttle.Answer{})
	host.Pause(time.Hour)
	end := fill(n, func(i int) *throttle.Limiter { return g.Limiter("host", strconv.Itoa(i)) }, host)
	defer end()
	return once(time.Microsecond, func() { must(g.Update(func() { perHour = 2 })) }) / float64(n)
}

// heldUp sends requests to hosts in turns while f is done, and returns how long the longest took, in
// milliseconds.
func heldUp(n int, f func(*world)) float64 {
	w := newWorld(n)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // as in newBuckets
	var ended atomic.Bool
	begun, worst := make(chan struct{}), make(chan time.Duration)
	c := newGet()
	for i := range 100 {
		c.req.URL.Host = fmt.Sprintf("h%d.example", i)
		must(c.call(w.t))
	}
	go func() {
		var longest time.Duration
		for i := 0; !ended.Load(); i++ {
			if i == 10 {
				close(begun)
			}
			c.req.URL.Host = "h" + strconv.Itoa(i%100) + ".example"
			before := time.Now()
			must(c.call(w.t))
			longest = max(longest, time.Since(before))
			pause(20 * time.Microsecond)
		}
		worst <- longest
	}()
	<-begun
	f(w)
	ended.Store(true)
	return float64(<-worst) / float64(time.Millisecond)
}

func pacerWait() func(context.Context) error {
	l := usedUp()
	return func(ctx context.Context) error { return l.Wait(ctx, 1) }
}

func rateWait() func(context.Context) error {
	l := rate.NewLimiter(rate.Every(time.Hour), 1)
	l.Allow()
	return l.Wait
}

// A crowd is what many that wait cost, each.
type crowd struct {
	heap, all float64 // bytes beside its goroutine: of the heap; of stacks too
	cancel    float64 // µs until all are gone
}

// line has n goroutines wait, and n more that do nothing else, and returns by how much the first cost more.
func line(n int, wait func(context.Context) error) (c crowd) {
	nothing := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	waiters(n, nothing) // what the runtime keeps of a goroutine that has ended is there from now on, and counts for none
	bare := waiters(n, nothing)
	c = waiters(n, wait)
	c.heap -= bare.heap
	c.all -= bare.all
	return c
}

// waiters returns what n goroutines cost that wait.
func waiters(n int, wait func(context.Context) error) (c crowd) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	heap, stacks := memory()
	for range n {
		all.Go(func() {
			if wait(ctx) == nil {
				panic("bench: a wait ended before it was canceled")
			}
		})
	}
	pause(100*time.Millisecond + time.Duration(n)*15*time.Microsecond) // until all wait
	heapFull, stacksFull := memory()
	c.heap = (heapFull - heap) / float64(n)
	c.all = c.heap + (stacksFull-stacks)/float64(n)
	c.cancel = once(time.Microsecond, func() { cancel(); all.Wait() }) / float64(n)
	return c
}

// memory returns how many bytes are in use.
func memory() (heap, stacks float64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), float64(m.StackInuse)
}

func requests(rt http.RoundTripper, n int, path string) float64 {
	cs := make([]*caller, n)
	for i := range cs {
		cs[i] = newGet()
		cs[i].req.URL.Host, cs[i].req.URL.Path = fmt.Sprintf("h%d.example", i), path
		for range 64 {
			must(cs[i].call(rt))
		}
	}
	i := 0
	return per(time.Nanosecond, func() {
		must(cs[i].call(rt))
		if i++; i == n {
			i = 0
		}
	})
}

func oneOf(n int) float64 { return requests(&pacer.Transport{Base: NewBase(Plain)}, n, "/v1/things") }

func underPattern(n int) float64 {
	table := pacer.Table{}
	for i := range n {
		table[fmt.Sprintf("h%d.example/v1/{kind}", i)] = quota.Quotas{{N: hugeRate, Burst: hugeBurst}}
	}
	return requests(&pacer.Transport{Base: NewBase(Plain), Quotas: table}, n, "/v1/things")
}
