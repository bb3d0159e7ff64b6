package redisquota_test

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle"
)

// How long TestSoak runs: go test -run Soak -soak 5m .
var soak = flag.Duration("soak", 8*time.Second, "how long TestSoak runs")

// soaked are the quotas of the soak, each shared by all processes.
var soaked = []string{
	"40/s even", "40/s burst 20", "60/2s log", "60/2s window", "60/2s sliding", "60/2s window grid", "60/2s estimate", "50/s burst 5, 80/2s log",
}

// workerEnv is set in the processes which TestSoak starts: the address of the server.
const workerEnv = "PACER_SOAK_SERVER"

func TestMain(m *testing.M) {
	if addr := os.Getenv(workerEnv); addr != "" {
		work(addr)
		return
	}
	os.Exit(m.Run())
}

// work sends as fast as all quotas let it, until it is killed or its standard input ends. It prints a
// line for each sending: which quotas, and when.
func work(addr string) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	c := redis.NewClient(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond})
	store := goredis.New(c)
	var wait sync.WaitGroup
	for i, text := range soaked {
		quotas, err := quota.Parse(text)
		if err != nil {
			panic(err)
		}
		l := &throttle.Limiter{Name: text, Quotas: quotas, Shared: throttle.Shared{Store: store, Outage: throttle.OutageClosed}}
		for range 3 {
			wait.Go(func() {
				for l.Wait(ctx, 1) == nil {
					_, _ = os.Stdout.WriteString(strconv.Itoa(i) + " " + strconv.FormatInt(time.Now().UnixMicro(), 10) + "\n")
				}
			})
		}
		defer func() { _ = l.Close() }()
	}
	wait.Wait()
}

// fleet is the processes of a soak, and what they sent.
type fleet struct {
	t    *testing.T
	addr string

	mu    sync.Mutex // protects sends
	sends [][]sending
	wait  sync.WaitGroup
}

// start starts a process; stop ends it, and kill does so at once.
func (f *fleet) start() (stop, kill func()) {
	f.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.CommandContext(f.t.Context(), exe)
	cmd.Env = append(os.Environ(), workerEnv+"="+f.addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.wait.Go(func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var i int
			var us int64
			if _, err := fmt.Sscan(lines.Text(), &i, &us); err != nil {
				continue // it was killed
			}
			f.mu.Lock()
			f.sends[i] = append(f.sends[i], sending{us, 1})
			f.mu.Unlock()
		}
		_ = cmd.Wait()
	})
	return func() { in.Close() }, func() { _ = cmd.Process.Kill() }
}

// TestSoak has a fleet of processes use the same quotas, while some are killed, and the server is
// flushed and restarted.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes -soak")
	}
	s, err := server.Any(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	f := &fleet{t: t, addr: s.Addr, sends: make([][]sending, len(soaked))}
	c := dial(t, s)
	var stops, kills []func()
	begin := func() {
		stop, kill := f.start()
		stops, kills = append(stops, stop), append(kills, kill)
	}
	for range 4 {
		begin()
	}
	r := rand.New(rand.NewPCG(1, 1))
	var losses []int64
	events := []func(){
		func() {
			i := r.IntN(len(kills))
			kills[i]()
			stops, kills = append(stops[:i], stops[i+1:]...), append(kills[:i], kills[i+1:]...)
			begin()
		},
		func() { c.ScriptFlush(t.Context()) },
		func() { losses = append(losses, time.Now().UnixMicro()); c.FlushAll(t.Context()) },
		func() {
			s.Stop()
			losses = append(losses, time.Now().UnixMicro())
			time.Sleep(300 * time.Millisecond)
			if err := s.Start(t.Context()); err != nil {
				t.Error(err)
			}
		},
	}
	end := time.Now().Add(*soak)
	const calm = 3 * time.Second // at the end: longer than a window
	for i := 0; time.Until(end) > calm+*soak/8; i++ {
		time.Sleep(*soak / 8)
		events[i%len(events)]()
	}
	last := time.Now().UnixMicro()
	time.Sleep(time.Until(end))
	for late := end.Add(time.Minute); !f.haveSent(last) && time.Now().Before(late); { // on a busy machine
		time.Sleep(100 * time.Millisecond)
	}
	for _, stop := range stops {
		stop()
	}
	f.wait.Wait()
	for i, text := range soaked {
		f.check(text, f.sends[i], losses, last)
	}
}

// haveSent reports whether of all quotas something was sent after an instant.
func (f *fleet) haveSent(last int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(f.sends, func(sends []sending) bool {
		return !slices.ContainsFunc(sends, func(s sending) bool { return s.us > last })
	})
}

// tardy is how long it may take, on a busy machine, from when a sending is granted until it is
// noted.
const tardy = 200 * time.Millisecond

// check counts what was sent in any span. Nothing is known of windows across the loss of all data, but
// that what was sent before is taken to have been sent evenly.
func (f *fleet) check(text string, sends []sending, losses []int64, last int64) {
	f.t.Helper()
	slices.SortFunc(sends, func(a, b sending) int { return cmp.Compare(a.us, b.us) })
	after := 0
	for _, s := range sends {
		if s.us > last {
			after++
		}
	}
	f.t.Logf("%s: %d sent, %d of them after the last disaster", text, len(sends), after)
	if after == 0 {
		f.t.Errorf("%s: nothing was sent after the last disaster", text)
	}
	for _, q := range parse(f.t, text) {
		for i := range sends {
			n, lost := 0, false
			for j := i; j < len(sends); j++ {
				n++
				span := time.Duration(sends[j].us-sends[i].us) * time.Microsecond
				for _, at := range losses {
					lost = lost || at > sends[i].us-tardy.Microseconds() && at < sends[j].us
				}
				most := float64(q.N)
				switch {
				case q.Kind == quota.TokenBucket:
					most = float64(max(q.Burst, 2)) + float64(q.N)*(span+tardy).Seconds()/q.Per.Seconds()
				case span > q.Per-tardy:
					most = float64(len(sends))
				case q.Kind == quota.ClockWindow:
					most *= 2 // the end of a window, and the beginning of the next
				case q.Kind == quota.EstimatedWindow:
					most *= 1.5 // as far as an estimate is off, for what is not even
				}
				if lost && q.Kind != quota.TokenBucket && span <= q.Per-tardy {
					most += float64(q.N) / 2 // of the window in which all was lost, whichever that is
				}
				if float64(n) > most {
					f.t.Errorf("%s: %d sent in %v, want at most %.0f; lost %v", q, n, span, most, lost)
					return
				}
				if span > 2*q.Per && q.Kind != quota.TokenBucket {
					break
				}
			}
		}
	}
}
