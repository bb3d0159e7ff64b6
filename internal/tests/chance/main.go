// Chance looks for tests that fail by chance: it runs each test of the packages many times, in programs in
// which goroutines take turns at random.
//
//	go run ./internal/tests/chance                                    # all packages of this module, 20 minutes on two cores
//	go run ./internal/tests/chance -times 1000 -within 30s ./throttle
//	cd redisquota && go run ../internal/tests/chance
//
// Which of two goroutines that may go at one instant goes first is chance, and hardly ever seen: it is nearly
// always the same one, until a machine is busy. So the tests are built with a runtime that draws who goes next,
// as the race detector has it do a little, and in which who is about to lock a mutex may let others go first.
// It takes no longer than usual. GOMAXPROCS is 1, 2, 4 and 8 in turns, and as many tests run at a time as there
// are processors, and one more.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// patches are what is replaced in files of GOROOT/src.
var patches = map[string][][2]string{
	"runtime/proc.go": {
		{"const randomizeScheduler = raceenabled", "const randomizeScheduler = true"},
		{"\t\tgp := pp.runq[h%uint32(len(pp.runq))].ptr()\n\t\tif atomic.CasRel(&pp.runqhead, h, h+1) { // cas-release, commits consume\n\t\t\treturn gp, false\n", `
		if gomaxprocs == 1 && t-h > 1 { // nobody else takes from it
			i := h + cheaprandn(t-h)
			a, b := &pp.runq[h%uint32(len(pp.runq))], &pp.runq[i%uint32(len(pp.runq))]
			*a, *b = *b, *a
		}
		gp := pp.runq[h%uint32(len(pp.runq))].ptr()
		if atomic.CasRel(&pp.runqhead, h, h+1) {
			return gp, false
`},
		{"//go:linkname internal_sync_runtime_canSpin", `//go:linkname internal_sync_runtime_letOthers internal/sync.runtime_letOthers
func internal_sync_runtime_letOthers() {
	if gp := getg(); cheaprandn(6) == 0 && gp.m.locks == 0 && gp.m.curg == gp && gp.m.preemptoff == "" && mainStarted {
		Gosched()
	}
}

//go:linkname internal_sync_runtime_canSpin`},
	},
	"internal/sync/mutex.go":   {{"func (m *Mutex) Lock() {\n", "func (m *Mutex) Lock() {\n\truntime_letOthers()\n"}},
	"internal/sync/runtime.go": {{"//go:linkname throw\n", "//go:linkname runtime_letOthers\nfunc runtime_letOthers()\n\n//go:linkname throw\n"}},
}

var (
	times  = flag.Int("times", 100, "how often each test runs")
	within = flag.Duration("within", 2*time.Second, "for how long it does at the most; once at least")
	only   = flag.String("run", "", "only tests whose names match")
)

func main() {
	flag.Parse()
	scratch, err := os.MkdirTemp("", "chance")
	if err == nil {
		err = run(scratch)
		_ = os.RemoveAll(scratch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chance:", err)
		os.Exit(1)
	}
}

// run builds the tests of the packages in a directory, and runs them.
func run(scratch string) error {
	overlay, err := patch(scratch)
	if err != nil {
		return err
	}
	out, err := goes("", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, flag.Args()...)...)
	if err != nil {
		return err
	}
	var all []test
	for i, line := range strings.Fields(strings.ReplaceAll(out, " ", "\x00")) {
		path, dir, _ := strings.Cut(line, "\x00")
		binary := filepath.Join(scratch, strconv.Itoa(i))
		if _, err := goes("", "test", "-overlay", overlay, "-c", "-o", binary, path); err != nil {
			return err
		}
		names, err := goes(dir, binary, "-test.list", "^(Test|Example)")
		if err != nil {
			return err
		}
		for name := range strings.FieldsSeq(names) {
			if matched, err := regexp.MatchString(*only, name); err != nil {
				return err
			} else if matched {
				all = append(all, test{path, dir, binary, name})
			}
		}
	}
	var failed int
	var mu sync.Mutex // protects failed, and what is printed
	var wait sync.WaitGroup
	next := make(chan test)
	for range runtime.NumCPU() + 1 {
		wait.Go(func() {
			for t := range next {
				runs, failures, text := t.often()
				if mu.Lock(); failures > 0 {
					failed++
					fmt.Fprintf(os.Stdout, "%s %s failed %d times of %d, such as\n%s\n", t.path, t.name, failures, runs, text)
				}
				mu.Unlock()
			}
		})
	}
	for _, t := range all {
		next <- t
	}
	close(next)
	if wait.Wait(); failed > 0 {
		return fmt.Errorf("%d of %d tests failed by chance", failed, len(all))
	}
	fmt.Fprintf(os.Stdout, "%d tests, none of which failed\n", len(all))
	return nil
}

// patch writes the patched files, and returns the name of what go -overlay reads.
func patch(scratch string) (overlay string, err error) {
	root, err := goes("", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, edits := range patches {
		from := filepath.Join(strings.TrimSpace(root), "src", name)
		b, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		text := string(b)
		for _, edit := range edits {
			if strings.Count(text, edit[0]) != 1 {
				return "", fmt.Errorf("%s has another text than that of %s which was patched: %q", from, runtime.Version(), edit[0])
			}
			text = strings.Replace(text, edit[0], edit[1], 1)
		}
		replace[from] = filepath.Join(scratch, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(replace[from], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// goes runs the go command, or in a directory a test, and returns what it prints.
func goes(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go", args...)
	if dir != "" {
		cmd = exec.CommandContext(context.Background(), args[0], args[1:]...)
	}
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

type test struct{ path, dir, binary, name string }

// often runs a test, and returns how often, how often it failed, and what it printed then first.
func (t test) often() (runs, failures int, text string) {
	var took time.Duration
	for n, processors := 1, 1; runs < *times && (took < *within || runs == 0); processors = processors % 8 * 2 {
		processors = max(processors, 1)
		began := time.Now()
		cmd := exec.CommandContext(context.Background(), t.binary, "-test.run", "^"+t.name+"$", "-test.count", strconv.Itoa(n), "-test.timeout", "30m")
		cmd.Dir, cmd.Env = t.dir, append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(processors))
		if out, err := cmd.CombinedOutput(); err != nil {
			failures += max(strings.Count("\n"+string(out), "\n--- FAIL"), 1)
			if text == "" {
				text = string(out[:min(len(out), 4000)])
			}
		}
		runs, took = runs+n, took+time.Since(began)
		each := max(took/time.Duration(runs), time.Millisecond)
		n = min(max(int((*within-took)/4/each), 1), *times-runs)
	}
	return runs, failures, text
}
