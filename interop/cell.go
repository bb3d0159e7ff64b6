package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer/quota"
)

// A client that is not done after patience times the least makespan, and grace, fails.
const (
	patience = 4
	grace    = 5 * time.Second
)

// Cell is one server, one client, and what has to be done.
type Cell struct {
	Server   Server
	Client   Client
	Workload Workload
}

// String names the cell.
func (c Cell) String() string {
	return fmt.Sprintf("%s, %s, %s, %s", c.Server.Name, c.Server.Documented(), c.Client.Name, c.Workload.Name)
}

// Possible reports whether there is something to measure. What may all go at once needs
// no time, and the oracle knows of no other process than its own.
func (c Cell) Possible() bool {
	return c.Workload.Requests > atOnce(c.Server.Documented()) && (c.Client.Name != Oracle || c.Workload.Processes == 1)
}

// Run measures the cell. If logs is not empty, what was answered is written to a file
// in that directory.
func (c Cell) Run(ctx context.Context, logs string) (Result, error) {
	truth := c.Server.Truth
	truth.Phase = sinceTick(time.Now(), truth.Quota.Per)
	if truth.Instances > 1 {
		truth.Probed = time.Now()
	}
	count := &counter{limiter: c.Server.Fresh()}
	url, closeServer, err := serve(ctx, count)
	if err != nil {
		return Result{}, err
	}
	defer closeServer()
	// The limiter grows old by chance, so that its windows, and the seconds of the
	// clock, begin anywhere in the run.
	age := time.Second
	if truth.Quota.Kind == quota.EstimatedWindow {
		age = max(age, truth.Quota.Per)
	}
	if err := pause(ctx, rand.N(age)); err != nil {
		return Result{}, err
	}
	w := c.Workload
	bound := patience*truth.least(nil, time.Now(), w.Before+w.Requests) + w.Idle + grace
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	j := job{Client: c.Client.Name, URL: url, Truth: truth, Before: w.Before, Idle: w.Idle, Callers: w.Callers, Log: logs != ""}
	start, end := time.Now(), watch()
	reports, said, err := doAll(ctx, j, w)
	stall := end()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return Result{}, fmt.Errorf("%v: %w", c, err)
	}
	events := count.seen()
	if logs != "" {
		err := c.log(logs, events, said)
		if err != nil {
			return Result{}, err
		}
	}
	r := newResult(c, truth, start, events, reports)
	r.Stall = stall
	return r, nil
}

// sinceTick is how long the last multiple of per on the clock is past.
func sinceTick(t time.Time, per time.Duration) time.Duration { return t.Sub(t.Truncate(per)) }

// serve serves h on loopback.
func serve(ctx context.Context, h http.Handler) (url string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l) //nolint:errcheck // it is closed
	}()
	return "http://" + l.Addr().String() + "/", func() { server.Close(); <-done }, nil
}

// doAll has the job done by as many processes as the workload says, each a part of it,
// and returns their reports and what they wrote to standard error.
func doAll(ctx context.Context, j job, w Workload) ([]report, string, error) {
	var ready, done sync.WaitGroup
	reports, errs := make([]report, w.Processes), make([]error, w.Processes)
	said := make([]bytes.Buffer, w.Processes)
	ready.Add(w.Processes)
	for i, j := range parts(j, w) {
		done.Go(func() { reports[i], errs[i] = do(ctx, j, &ready, &said[i]) })
	}
	done.Wait()
	var all strings.Builder
	for i := range said {
		all.Write(said[i].Bytes())
	}
	return reports, all.String(), errors.Join(errs...)
}

// parts returns the part of each process in the work.
func parts(j job, w Workload) (all []job) {
	for i := range w.Processes {
		j.First += j.Requests
		j.Requests = (w.Requests + i) / w.Processes
		all = append(all, j)
	}
	return all
}

// do has the job done by a process, which begins when all are ready.
func do(ctx context.Context, j job, ready *sync.WaitGroup, said io.Writer) (r report, err error) {
	waiting := true
	defer func() {
		if waiting {
			ready.Done()
		}
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env, cmd.Stderr = append(os.Environ(), asked+"=1"), said
	in, err := cmd.StdinPipe()
	if err != nil {
		return r, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer func() {
		in.Close()
		if failed := cmd.Wait(); err == nil {
			err = failed
		}
	}()
	to, from := json.NewEncoder(in), json.NewDecoder(out)
	var word string
	if err := to.Encode(j); err != nil {
		return r, err
	}
	if err := from.Decode(&word); err != nil {
		return r, err
	}
	waiting = false
	ready.Done()
	ready.Wait()
	if err := to.Encode("go"); err != nil {
		return r, err
	}
	return r, from.Decode(&r)
}

func (c Cell) log(dir string, events []event, said string) error {
	name := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(c.String())
	f, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return err
	}
	if err := writeLog(f, events, said); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", filepath.Base(f.Name()), err)
	}
	return f.Close()
}
