// The program counts the instructions of one request, and of one decision, on each path
// on which nothing has to wait. It prints them as a table in Markdown. The number of
// instructions does not depend on what else the machine does, so that two checkouts can be
// compared:
//
//	go run ./cmd/instructions >before.md           # in the older checkout
//	go run ./cmd/instructions -against before.md   # in the newer checkout
//
// It needs valgrind. With -against it exits with 1 if a path takes more instructions than
// before by more than -most percent.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"

	"github.com/gopacer/pacer/bench"
	"github.com/gopacer/pacer/bench/internal/callgrind"
)

func main() {
	callgrind.Main()
	times := flag.Int("times", 20_000, "how often each path is gone")
	against := flag.String("against", "", "a file with a table that the program has printed before")
	most := flag.Float64("most", 3, "by how many percent a path may have become dearer")
	flag.Parse()
	if err := count(os.Stdout, *times, *against, *most); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

// count counts the instructions of all paths, and prints them beside those of before.
func count(w io.Writer, times int, against string, most float64) error {
	before := map[string]float64{}
	if against != "" {
		text, err := os.ReadFile(against)
		if err != nil {
			return err
		}
		before = parse(string(text))
	}
	fmt.Fprint(w, "| path | instructions | before | change |\n|---|---|---|---|\n")
	var dearer []error
	for _, p := range bench.Paths() {
		if !p.Ours && p.Over != "" {
			continue // it does not change with pacer
		}
		n, err := callgrind.Count(p.Name, times)
		if err != nil {
			return err
		}
		was, ok := before[p.Name]
		if !ok {
			fmt.Fprintf(w, "| %s | %.0f | | |\n", p.Name, n)
			continue
		}
		change := 100 * (n/was - 1)
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %+.1f %% |\n", p.Name, n, was, change)
		if change > most {
			dearer = append(dearer, fmt.Errorf("%s: %.1f %% dearer, want %.1f at most", p.Name, change, most))
		}
	}
	return errors.Join(dearer...)
}

var row = regexp.MustCompile(`(?m)^\| (.+?) \| (\d+) \|`)

// parse reads a table that the program has printed.
func parse(table string) map[string]float64 {
	counts := map[string]float64{}
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		counts[m[1]], _ = strconv.ParseFloat(m[2], 64) // digits
	}
	return counts
}
