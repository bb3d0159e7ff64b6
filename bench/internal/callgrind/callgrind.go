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
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/bench"
)

// What a process is to do instead of what its command line says: to go a path so many times.
const (
	pathVar  = "PACER_BENCH_PATH"
	timesVar = "PACER_BENCH_TIMES"
)

// Main is to be called first in main. In a process that Count has started, it goes the path and does not
// return.
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

// A bucket sees what stated resets do before any answer is counted, and concludes whether a limit comes back
// bit by bit. Resets are true to a second, so that those of answers which are as far apart, and a little more,
// differ if they ever do.
const (
	pauses = 2
	pause  = 1100 * time.Millisecond
)

// lasts is for how long after an answer that was looked at as a whole others are not, see habit.Habit.
const lasts = 10 * time.Millisecond

// run goes a path, and has callgrind count the instructions of some of the rounds.
//
// How many of the answers of a server are looked at as a whole depends on time: it is one every 10 ms (see
// habit.Habit), and under valgrind no more than some hundreds come in 10 ms, and the fewer the busier the
// machine is. So the first round in 5 ms is that one, and is not counted.
func run(name string, times int) error {
	debug.SetGCPercent(-1) // when a collection runs depends on time
	runtime.LockOSThread() // callgrind counts by threads
	i := slices.IndexFunc(bench.Paths(), func(p bench.Path) bool { return p.Name == name })
	if i < 0 {
		return fmt.Errorf("no path %q", name)
	}
	once, err := bench.Paths()[i].Begin()
	for n := 0; n < pauses && err == nil; n++ {
		time.Sleep(pause) //nolint:forbidigo // nothing ends the wait of a process that counts
		err = once()
	}
	var since time.Time
	for n := 0; n < times && err == nil; n++ {
		if time.Since(since) > lasts/2 {
			time.Sleep(lasts) //nolint:forbidigo // nothing ends the wait of a process that counts
			if err = once(); err != nil {
				break
			}
			since = time.Now()
		}
		toggle()
		err = once()
		toggle()
	}
	return err
}

// ErrMissing says that there is no valgrind.
var ErrMissing = errors.New("valgrind is not installed")

// Count counts the instructions of one round on a path, in a process of its own.
func Count(path string, times int) (float64, error) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return 0, ErrMissing
	}
	if !canToggle {
		return 0, errors.New("callgrind: instructions are counted on amd64 alone")
	}
	scratch, err := os.MkdirTemp("", "callgrind")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	total, err := collect(filepath.Join(scratch, "out"), path, times)
	return total / float64(times), err
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// collect counts the instructions of a process that goes a path so many times.
func collect(out, path string, times int) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), "valgrind", "--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file="+out, self)
	cmd.Env = append(os.Environ(), pathVar+"="+path, timesVar+"="+strconv.Itoa(times),
		"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1") // signals make valgrind fail at times
	text, err := cmd.CombinedOutput()
	m := collected.FindSubmatch(text)
	if err != nil || m == nil {
		return 0, fmt.Errorf("valgrind: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
