//go:build unix

package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

// workerEnv has the address of the server, in the processes that soak starts; outageEnv their Outage.
const (
	workerEnv = "PACER_SOAK_SERVER"
	outageEnv = "PACER_SOAK_OUTAGE"
)

var outages = map[string]throttle.Outage{"closed": throttle.OutageClosed, "share": throttle.OutageShare, "open": throttle.OutageOpen}

// perQuota is how many claims of a process wait for each quota.
const perQuota = 3

// work sends as fast as all quotas let it, until it is killed or its standard input ends. It prints a line for
// each sending: which quota, when, and how much.
func work(addr string) {
	redis.SetLogger(silent{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	store := goredis.New(redis.NewClient(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond}))
	var wait sync.WaitGroup
	for i, load := range chosen() {
		l := &throttle.Limiter{Name: cmp.Or(load.name, load.text), Quotas: quota.MustParse(load.text), Shared: throttle.Shared{Store: store, Outage: outages[os.Getenv(outageEnv)]}, MaxStandstill: throttle.Forever}
		for k := range perQuota {
			cost := 1
			if len(load.costs) > 0 {
				cost = load.costs[k%len(load.costs)]
			}
			wait.Go(func() {
				var err error
				for err = l.Wait(ctx, cost); err == nil; err = l.Wait(ctx, cost) {
					fmt.Fprintln(os.Stdout, i, time.Now().UnixMicro(), cost)
				}
				if ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, err) // it is a fault of the soak, or of the package
				}
			})
		}
		defer func() { _ = l.Close() }()
	}
	wait.Wait()
}

// silent has go-redis say nothing of connections that end, which is what faults are for.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// chosen are the quotas that -kinds asks for.
func chosen() (loads []load) {
	if *drawn > 0 {
		return draw()
	}
	for _, l := range sharedQuotas {
		if *kinds == "" || strings.Contains(","+*kinds+",", ","+l.text+",") {
			loads = append(loads, l)
		}
	}
	return loads
}

// draw returns lists of one to three quotas of all kinds, and costs.
func draw() (loads []load) {
	r := rand.New(rand.NewPCG(*seed, 0))
	for i := range *drawn {
		var texts []string
		least := 1 << 30
		for range 1 + r.IntN(3) {
			per := []string{"500ms", "s", "2s", "3s", "5s"}[r.IntN(5)]
			n := []int{3, 10, 20, 60, 100, 300, 1000}[r.IntN(7)]
			text := fmt.Sprintf("%d/%s", n, per)
			burst := n
			switch r.IntN(9) {
			case 0:
				text, burst = text+" even", 1
			case 1, 2:
				burst = 1 + r.IntN(n)
				text += fmt.Sprintf(" burst %d", burst)
			case 3:
				text += " log"
			case 4:
				text += " sliding"
			case 5:
				text += " window"
			case 6:
				text += " window grid"
			case 7:
				text += " estimate"
			}
			least = min(least, burst)
			texts = append(texts, text)
		}
		l := load{text: strings.Join(texts, ", ")}
		if quotas, err := quota.Parse(l.text); err != nil || quotas.Validate() != nil {
			continue
		}
		if least > 1 && r.IntN(2) == 0 {
			l.uneven = true
			for range perQuota {
				l.costs = append(l.costs, 1+r.IntN(least))
			}
		}
		l.name = fmt.Sprintf("drawn-%d", i)
		loads = append(loads, l)
	}
	return loads
}

// sending is one that a process has noted.
type sending struct {
	at   int64 // in microseconds
	cost int
	by   int
}

// worker is a process.
type worker struct {
	proxy *proxy
	cmd   *exec.Cmd
	stop  func()
}

// start starts a process that reaches the server through a proxy of its own.
func (c *cell) start(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := newProxy(ctx, c.server.Addr)
	if err != nil {
		return err
	}
	by := len(c.workers)
	cmd := exec.CommandContext(ctx, exe, os.Args[1:]...)
	cmd.Env = append(os.Environ(), workerEnv+"="+p.addr, outageEnv+"="+c.mode)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.workers = append(c.workers, &worker{p, cmd, func() { _ = in.Close() }})
	c.wait.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f := strings.Fields(lines.Text())
			if len(f) != 3 {
				continue // it was killed
			}
			i, _ := strconv.Atoi(f[0])
			at, _ := strconv.ParseInt(f[1], 10, 64)
			cost, _ := strconv.Atoi(f[2])
			c.mu.Lock()
			c.sends[i] = append(c.sends[i], sending{at, cost, by})
			c.mu.Unlock()
		}
		_ = cmd.Wait()
	})
	return nil
}
