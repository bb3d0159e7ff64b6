// The program measures how exactly waiters are paced that come back at once: how many are granted of those that
// the rate allows, how many in any second at most, how late, and how many processors work for it. It prints a
// table in Markdown, and exits with 1 if more go through throttle than may. That fewer go may be the machine's
// doing, whose timers are late by more than 2 ms when it is busy: compare rows.
//
// With -busy, as many goroutines of the program compute meanwhile: what late timers cost, and how large a Burst
// makes good for it (-burst).
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gopacer/pacer/bench"
)

func main() {
	d := flag.Duration("for", 3*time.Second, "how long each is measured")
	burst := flag.Int("burst", 1, "how many may go at once")
	busy := flag.Int("busy", 0, "how many goroutines compute meanwhile")
	flag.Parse()
	within := true
	fmt.Fprintln(os.Stdout, "| | asked | waiters | achieved ÷ asked | most in a second | of | late, p99 | processors |\n|---|---|---|---|---|---|---|---|")
	err := bench.Precision(*d, *burst, *busy, []int{100, 1000, 10_000, 50_000}, []int{1, 64}, func(p bench.Pacing) {
		fmt.Fprintf(os.Stdout, "| %s | %d | %d | %.4f | %d | %d | %v | %.3f |\n",
			p.Name, p.Rate, p.Waiters, p.Share, p.Most, p.Allowed(), p.Late.Round(10*time.Microsecond), p.Busy)
		within = within && (p.Most <= p.Allowed() || !strings.HasPrefix(p.Name, "throttle"))
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "precision:", err)
	}
	if err != nil || !within {
		os.Exit(1)
	}
}
