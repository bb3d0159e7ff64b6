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
	if s.terminal {
		// Lines that are longer than the terminal is wide end at its edge. If they were wrapped, the way up to
		// the first line would be longer than drawn says.
		fmt.Fprint(s.out, "\x1b[?7l")
		defer fmt.Fprint(s.out, "\x1b[?7h")
	}
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

// intro says what the program does: to which servers how many requests go, from so many at a time by each
// client.
func (s *screen) intro(kinds []kind, requests, callers int) {
	s.print(intro(kinds, requests, callers))
}

func intro(kinds []kind, requests, callers int) []string {
	lines := []string{fmt.Sprintf("%s servers on loopback refuse what is over their quota:", []string{"No", "One", "Two", "Three"}[len(kinds)])}
	for _, k := range kinds {
		lines = append(lines, fmt.Sprintf("  %-17s %s; %s", k.name, k.quota, k.headers))
	}
	return append(lines,
		fmt.Sprintf("Two clients send %d requests to each, %d at a time:", requests, callers),
		"  retryablehttp     retries, and obeys a Retry-After",
		fmt.Sprintf("                    (%d retries, %v to %v)", retries, shortestWait, longestWait),
		"  pacer             paces, and is told nothing:",
		"                    &http.Client{Transport: &pacer.Transport{}}",
		"")
}

// outro explains the table.
func (s *screen) outro() { s.print(outro()) }

func outro() []string {
	return []string{
		"",
		`The servers counted all this. "Least" is the time of a client`,
		"that knows its server's algorithm and state, and never sends",
		"in vain. \"Refused\" is per 100 requests that were admitted.",
		"",
		"Read next: README.md, then examples/perhost, which sets quotas",
		"by hand.",
	}
}
