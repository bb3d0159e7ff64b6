package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// screen shows progress: on a terminal a line for all and one for each host, over and over; elsewhere the line
// for all.
type screen struct {
	out   io.Writer
	every time.Duration // how often it is shown
	rows  int           // how many hosts have room; zero if out is no terminal
	drawn int           // lines that are on the terminal
}

func newScreen(f *os.File) *screen {
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" {
		return &screen{out: f, every: 200 * time.Millisecond, rows: 20}
	}
	return &screen{out: f, every: time.Second}
}

// show shows the first hosts, and how many there are beyond them.
func (s *screen) show(all string, hosts []string) {
	if s.rows == 0 {
		fmt.Fprintln(s.out, all)
		return
	}
	more := len(hosts) - s.rows
	if more > 0 {
		hosts = hosts[:s.rows]
	}
	lines := slices.Concat(hosts, []string{all})
	if more > 0 {
		lines[len(lines)-1] += fmt.Sprintf("; %d more hosts", more)
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%.79s\n", line) // a longer one would take two
	}
	s.clear()
	io.WriteString(s.out, b.String()) //nolint:errcheck // nobody sees it then
	s.drawn = len(lines)
}

// clear takes away what is shown on a terminal.
func (s *screen) clear() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn) // up, and away with all below
		s.drawn = 0
	}
}
