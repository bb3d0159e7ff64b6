//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer/filequota"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// In the processes that soak starts, workerEnv has the directory, outageEnv their Outage, and argsEnv the flags
// that they have to know.
const (
	workerEnv = "PACER_SOAK_DIR"
	outageEnv = "PACER_SOAK_OUTAGE"
	argsEnv   = "PACER_SOAK_ARGS"
)

var outages = map[string]throttle.Outage{"closed": throttle.OutageClosed, "share": throttle.OutageShare, "open": throttle.OutageOpen}

// load is what one quota is used for.
type load struct {
	text   string
	costs  []int // of the claims of each process, in turns; 1 if empty
	uneven bool  // too few or too large for what goes in some seconds to mean anything
}

// sharedQuotas are those of the fleet, each a bucket of its own.
var sharedQuotas = []load{
	{text: "100/s even"},
	{text: "100/s burst 20"},
	{text: "100/s burst 300", costs: []int{200, 200, 50, 1}, uneven: true},
	{text: "60/m burst 4", uneven: true},
	{text: "60/2s log"},
	{text: "100/5s log", costs: []int{1, 1, 10}, uneven: true},
	{text: "60/2s sliding"},
	{text: "60/2s window grid"},
	{text: "60/2s estimate"},
}

// chosen are the quotas that are asked for.
func chosen() []load {
	if *quotaOf != "" {
		return []load{{text: *quotaOf}}
	}
	names := split(*kinds)
	return slices.DeleteFunc(slices.Clone(sharedQuotas), func(l load) bool { return len(names) > 0 && !slices.Contains(names, l.text) })
}

// work sends as fast as all quotas let it, until it is killed or its standard input ends. It prints a line for
// each sending: which quota, when, and how much.
func work(dir string) {
	if args := strings.Split(os.Getenv(argsEnv), "\n"); len(args) == 4 {
		*kinds, *quotaOf = args[0], args[1]
		*claims, _ = strconv.Atoi(args[2])
		*idle = args[3] == "true"
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	shared, err := filequota.Open(dir, nil)
	for err != nil && ctx.Err() == nil { // the directory cannot be used now
		pause(ctx, 50*time.Millisecond)
		shared, err = filequota.Open(dir, nil)
	}
	if err != nil {
		return
	}
	var wait sync.WaitGroup
	for i, load := range chosen() {
		l := &throttle.Limiter{Name: load.text, Quotas: quota.MustParse(load.text), Shared: throttle.Shared{Store: shared, Outage: outages[os.Getenv(outageEnv)]}, MaxStandstill: throttle.Forever}
		if os.Getenv("PACER_SOAK_EVENTS") != "" {
			l.Shared.Event = func(e throttle.StoreEvent) { fmt.Fprintf(os.Stderr, "%+v\n", e) }
		}
		for k := range *claims {
			cost := 1
			if len(load.costs) > 0 {
				cost = load.costs[k%len(load.costs)]
			}
			wait.Go(func() {
				var err error
				for err = l.Wait(ctx, cost); err == nil; err = l.Wait(ctx, cost) {
					fmt.Fprintln(os.Stdout, i, time.Now().UnixMicro(), cost)
					if *idle {
						<-ctx.Done()
					}
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

// sending is one that a process has noted.
type sending struct {
	at   int64 // in microseconds
	cost int
}

// worker is a process.
type worker struct {
	cmd  *exec.Cmd
	stop func()
}

// start starts a process.
func (c *cell) start(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), workerEnv+"="+c.dir, outageEnv+"="+c.mode, argsEnv+"="+strings.Join([]string{*kinds, *quotaOf, strconv.Itoa(*claims), strconv.FormatBool(*idle)}, "\n"))
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
	c.workers = append(c.workers, &worker{cmd, func() { _ = in.Close() }})
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
			c.sends[i] = append(c.sends[i], sending{at, cost})
			c.mu.Unlock()
		}
		_ = cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	})
	return nil
}

// kill kills a process, at whatever it is, and starts another.
func (c *cell) kill(ctx context.Context, i int) error {
	w := c.workers[i]
	_ = w.cmd.Process.Kill()
	w.stop()
	if err := c.start(ctx); err != nil {
		return err
	}
	last := len(c.workers) - 1
	c.workers[i] = c.workers[last]
	c.workers = c.workers[:last]
	return nil
}
