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
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/gopacer/pacer/bench"
)

func main() {
	path := flag.String("path", "", "run this path and count nothing; for the program itself")
	times := flag.Int("times", 20_000, "how often each path is gone")
	against := flag.String("against", "", "a file with a table that the program has printed before")
	most := flag.Float64("most", 3, "by how many percent a path may have become dearer")
	flag.Parse()
	if *path != "" {
		run(*path, *times)
		return
	}
	if err := count(os.Stdout, *times, *against, *most); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

// run goes a path so many times.
func run(name string, times int) {
	debug.SetGCPercent(-1) // when a collection runs depends on time
	for _, p := range bench.Paths() {
		if p.Name == name {
			for range times {
				if err := p.Go(); err != nil {
					fmt.Fprintln(os.Stderr, "instructions:", err)
					os.Exit(1)
				}
			}
			return
		}
	}
	fmt.Fprintf(os.Stderr, "instructions: no path %q\n", name)
	os.Exit(2)
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
	scratch, err := os.MkdirTemp("", "instructions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Fprint(w, "| path | instructions | before | change |\n|---|---|---|---|\n")
	var dearer []error
	for _, p := range bench.Paths() {
		n, err := instructions(filepath.Join(scratch, "out"), p.Name, times)
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

// instructions counts the instructions of one round on a path. It runs two processes, one
// with twice as many rounds as the other, and divides the difference: the work before the
// first round, and that of the runtime, is the same in both.
func instructions(out, path string, times int) (float64, error) {
	var total [2]float64
	for i := range total {
		n, err := callgrind(out, path, (i+1)*times)
		if err != nil {
			return 0, err
		}
		total[i] = n
	}
	return (total[1] - total[0]) / float64(times), nil
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// callgrind counts the instructions of a process that goes a path so many times.
func callgrind(out, path string, times int) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), "valgrind", "--tool=callgrind", "--callgrind-out-file="+out,
		self, "-path", path, "-times", strconv.Itoa(times))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1") // signals make valgrind fail at times
	text, err := cmd.CombinedOutput()
	m := collected.FindSubmatch(text)
	if err != nil || m == nil {
		return 0, fmt.Errorf("valgrind: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
