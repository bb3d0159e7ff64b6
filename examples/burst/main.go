// The program shows the boundary burst: a counter that begins anew with each second lets twice its limit through around the end of one.
// The same greedy client meets five limiters of 10 requests a second, and what it got from each is drawn, in the terminal and with
// -svg FILE as an SVG too. It runs offline and takes about three seconds.
//
// What is drawn is what happened, on limiters that ran. The test of the package runs the same in virtual time, where nothing is late,
// and compares it with docs/burst.svg; with -update, it writes that file.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gopacer/pacer/throttle"
)

const (
	limit = 10 // requests in per
	per   = time.Second
)

// ways are how the limit may be kept, and when one wants each.
func ways() []*way {
	return []*way{
		{
			name:  "fixed window counter",
			quota: throttle.Quota{N: limit, Per: per, Kind: throttle.ClockWindow},
			when:  "When the provider counts by the clock: all that it grants, as soon as it does.",
		},
		{
			name:  "sliding window",
			quota: throttle.Quota{N: limit, Per: per, Kind: throttle.SlidingWindow, Cells: 4},
			when:  "When a log would take too much memory: tokens are back up to one cell late.",
		},
		{
			name:  "sliding log",
			quota: throttle.Quota{N: limit, Per: per, Kind: throttle.SlidingLog},
			when:  "When nobody says how the provider counts: no window of Per sees more than N.",
		},
		{
			name:  "leaky bucket",
			quota: throttle.Quota{N: limit, Per: per}, // a token bucket with a Burst of 1
			when:  "When the provider should see a steady pace and no bursts: a job that has time.",
		},
		{
			name:  "token bucket",
			quota: throttle.Quota{N: limit, Per: per, Burst: 5},
			when:  "When somebody waits: a burst of the size that you choose comes on top of N.",
		},
	}
}

func main() {
	file := flag.String("svg", "", "draw into this `file` too")
	flag.Parse()
	if err := burst(os.Stdout, *file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "burst:", err)
		os.Exit(1)
	}
}

// burst is the program: it draws on out and, if a file is named, into that.
func burst(out io.Writer, file string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is not expected, flags only (see -help)", args[0])
	}
	ws := ways()
	if _, err := io.WriteString(out, intro()); err != nil {
		return err
	}
	if err := ask(ws); err != nil {
		return err
	}
	if _, err := io.WriteString(out, text(ws)); err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(svg(ws)), 0o644)
}
