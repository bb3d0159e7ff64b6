package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// screen writes to a terminal, where it draws over old lines, or to a file or a pipe, where it does not.
type screen struct {
	out      *os.File
	terminal bool
}

func newScreen(out *os.File) *screen { return &screen{out: out, terminal: isTerminal(out)} }

// isTerminal reports whether f obeys the escape sequences of ECMA-48. The old console of Windows does
// not; Windows Terminal does, and sets WT_SESSION.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	return runtime.GOOS != "windows" || os.Getenv("WT_SESSION") != ""
}

// watch shows how far the lanes have come, until done is closed.
func (s *screen) watch(lanes []*lane, start time.Time, done <-chan struct{}) {
	every := 2 * time.Second
	if s.terminal {
		every = 100 * time.Millisecond
	} else {
		s.print(sparseHead(collect(lanes)))
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	drawn := 0
	for running := true; running; {
		select {
		case <-tick.C:
		case <-done:
			running = false
		}
		now, results := time.Now(), collect(lanes)
		if !s.terminal {
			fmt.Fprintln(s.out, sparse(results, now.Sub(start)))
			continue
		}
		if drawn > 0 {
			fmt.Fprintf(s.out, "\x1b[%dA", drawn) // up to the first line
		}
		lines := progress(results, now.Sub(start), now)
		for _, line := range lines {
			fmt.Fprintf(s.out, "\r%s\x1b[K\n", line) // and clear the rest of the old line
		}
		drawn = len(lines)
	}
}

// print writes lines. Crosses are red if the terminal has colors.
func (s *screen) print(lines []string) {
	for _, line := range lines {
		if s.terminal && os.Getenv("NO_COLOR") == "" {
			line = strings.ReplaceAll(line, "×", "\x1b[31m×\x1b[0m")
		}
		fmt.Fprintln(s.out, line)
	}
}

// intro says what the program does with so many servers, requests to each, and callers of each client.
func (s *screen) intro(servers, requests, callers int) {
	fmt.Fprintf(s.out, `%d servers on loopback refuse what is over their quota. Each gets %d requests
from %d callers at a time, through one of two clients: retryablehttp retries
(RetryMax %d, RetryWaitMin %v, RetryWaitMax %v; it obeys a Retry-After);
pacer paces, and is told nothing: &http.Client{Transport: &pacer.Transport{}}

`, servers, requests, callers, retries, shortestWait, longestWait)
}

// outro explains the table.
func (s *screen) outro() {
	fmt.Fprint(s.out, `
The servers counted all this. "Least possible" is the time of a client that
knows its server's algorithm and state, and never sends in vain.

Read next: README.md, then examples/perhost, which sets quotas by hand.
`)
}
