// Package callgrind counts the instructions of a path, by valgrind.
package callgrind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/gopacer/pacer/bench"
)

// What a process is to do instead of what its command line says: to go a path so many times.
const (
	pathVar  = "PACER_BENCH_PATH"
	timesVar = "PACER_BENCH_TIMES"
)

// Main is to be called first in main. In a process that Count has started, it goes the path and does not return.
func Main() {
	path := os.Getenv(pathVar)
	if path == "" {
		return
	}
	times, err := strconv.Atoi(os.Getenv(timesVar))
	if err == nil {
		err = run(path, times)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(name string, times int) error {
	debug.SetGCPercent(-1) // when a collection runs depends on time
	for _, p := range bench.Paths() {
		if p.Name != name {
			continue
		}
		once, err := p.Begin()
		for i := 0; i < times && err == nil; i++ {
			err = once()
		}
		return err
	}
	return fmt.Errorf("no path %q", name)
}

// ErrMissing says that there is no valgrind.
var ErrMissing = errors.New("valgrind is not installed")

// Count counts the instructions of one round on a path. It runs two processes, one
// with twice as many rounds as the other, and divides the difference: the work before the
// first round, and that of the runtime, is the same in both.
func Count(path string, times int) (float64, error) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return 0, ErrMissing
	}
	scratch, err := os.MkdirTemp("", "callgrind")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	var total [2]float64
	for i := range total {
		if total[i], err = collect(filepath.Join(scratch, "out"), path, (i+1)*times); err != nil {
			return 0, err
		}
	}
	return (total[1] - total[0]) / float64(times), nil
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// collect counts the instructions of a process that goes a path so many times.
func collect(out, path string, times int) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), "valgrind", "--tool=callgrind", "--callgrind-out-file="+out, self)
	cmd.Env = append(os.Environ(), pathVar+"="+path, timesVar+"="+strconv.Itoa(times),
		"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1") // signals make valgrind fail at times
	text, err := cmd.CombinedOutput()
	m := collected.FindSubmatch(text)
	if err != nil || m == nil {
		return 0, fmt.Errorf("valgrind: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
