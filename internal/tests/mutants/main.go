// Mutants puts one fault after the other into the module, and fails if a test that is there to notice it does
// not. It is a test of the tests:
//
//	go run ./internal/tests/mutants
//
// The list is mutants.txt, beside this file. The sources stay as they are: each fault is an overlay of one
// build. -find helps who writes an entry: it prints which tests of the package notice the fault.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("run", "", "only mutants whose name or file matches this `regexp`")
	jobs := flag.Int("j", runtime.NumCPU(), "how many run at once")
	find := flag.Bool("find", false, "print which tests of the package notice each mutant, instead of asking the one that is named")
	flag.Parse()
	begin := time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx, os.Stdout, *only, max(*jobs, 1), *find)
	fmt.Fprintf(os.Stdout, "%v in all\n", time.Since(begin).Round(time.Second))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || failed > 0 {
		os.Exit(1) //nolint:gocritic // the signal need not be released any more
	}
}

// result is what became of a mutant.
type result struct {
	verdict string // killed, or what is wrong
	output  string // of the test, if something is wrong
	took    time.Duration
}

const (
	killed     = "killed"
	equivalent = "equivalent"
	found      = "found" // with -find, whichever tests notice it
)

// run tries the mutants that are chosen, and returns how many do not end as the list says.
func run(ctx context.Context, out io.Writer, only string, jobs int, find bool) (failed int, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return 0, err
	}
	list, err := parse(text)
	if err != nil {
		return 0, err
	}
	chosen, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(m *mutant) bool { return !chosen.MatchString(m.name) && !chosen.MatchString(m.file) })
	if len(list) == 0 {
		return 0, fmt.Errorf("-run %q matches the name or file of no mutant", only)
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	if !find {
		if err := sound(ctx, root, list, jobs); err != nil {
			return 0, err
		}
	}

	var mu sync.Mutex // protects what is printed and counted
	var wg sync.WaitGroup
	count := map[string]int{}
	room := make(chan struct{}, jobs)
	for i, m := range list {
		if room <- struct{}{}; ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-room }()
			r := m.try(ctx, root, filepath.Join(scratch, fmt.Sprint(i)), find)
			mu.Lock()
			defer mu.Unlock()
			count[r.verdict]++
			fmt.Fprintf(out, "%-10s %s (%s, %.1fs)\n%s", r.verdict, m.name, m.file, r.took.Seconds(), r.output)
		})
	}
	wg.Wait()
	fmt.Fprintf(out, "%d mutants: %d killed, %d equivalent", len(list), count[killed], count[equivalent])
	for verdict, n := range count {
		if verdict == killed || verdict == equivalent {
			continue
		}
		fmt.Fprintf(out, ", %d %s", n, verdict)
		if verdict != found {
			failed += n
		}
	}
	fmt.Fprintln(out)
	return failed, nil
}

// sound runs the named tests on the sources as they are: a test that fails, or that is not there, would kill
// anything.
func sound(ctx context.Context, root string, list []*mutant, jobs int) error {
	runs := map[string][]string{} // by package
	for _, m := range list {
		if m.survives == "" && !slices.Contains(runs[m.pkg], m.run) {
			runs[m.pkg] = append(runs[m.pkg], m.run)
		}
	}
	var mu sync.Mutex // protects bad
	var bad []error
	var wg sync.WaitGroup
	room := make(chan struct{}, jobs)
	for pkg, names := range runs {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			err := soundIn(ctx, root, pkg, names)
			mu.Lock()
			defer mu.Unlock()
			bad = append(bad, err)
		})
	}
	wg.Wait()
	return errors.Join(bad...)
}

// soundIn is sound for the tests of one package.
func soundIn(ctx context.Context, root, pkg string, names []string) error {
	b, err := gotest(ctx, root, pkg, "-v", "-run", strings.Join(names, "|")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s fails without any mutant:\n%s", pkg, b)
	}
	for _, name := range names {
		found := slices.ContainsFunc(ran.FindAllSubmatch(b, -1), func(test [][]byte) bool { return regexp.MustCompile(name).Match(test[1]) })
		if !found {
			err = errors.Join(err, fmt.Errorf("%s has no test %s", pkg, name))
		}
	}
	return err
}

var ran = regexp.MustCompile(`(?m)^=== RUN +([^/\s]+)$`)

// try builds the mutant and asks its test; dir is a directory of its own.
func (m *mutant) try(ctx context.Context, root, dir string, find bool) (r result) {
	begin := time.Now()
	defer func() { r.took = time.Since(begin) }()
	source, err := m.apply(root)
	if err != nil {
		return result{verdict: "GONE", output: err.Error() + "\n"}
	}
	if m.survives != "" && !find {
		return result{verdict: equivalent, output: "\t" + m.survives + "\n"}
	}
	overlay, err := m.overlay(root, dir, source)
	if err != nil {
		return result{verdict: "ERROR", output: err.Error() + "\n"}
	}
	if find {
		b, _ := gotest(ctx, root, "./"+path.Dir(m.file), "-overlay", overlay).CombinedOutput()
		return result{verdict: found, output: strings.Join(fails.FindAllString(string(b), -1), "\n") + "\n"}
	}
	test := func(env ...string) ([]byte, error) {
		c := gotest(ctx, root, m.pkg, "-overlay", overlay, "-failfast", "-run", m.run)
		c.Env = append(c.Environ(), env...)
		return c.CombinedOutput()
	}
	b, err := test()
	if err == nil { // what go test leaves out may notice it
		b, err = test("PACER_WHOLE=1")
	}
	switch output := string(b); {
	case ctx.Err() != nil:
		return result{verdict: "STOPPED"}
	case err == nil:
		return result{verdict: "SURVIVED", output: output}
	case broken.MatchString(output):
		return result{verdict: "BROKEN", output: output}
	}
	return result{verdict: killed}
}

var (
	fails  = regexp.MustCompile(`(?m)^--- FAIL: .*|^panic: .*|^fatal error: .*|^\t+Test\S+ \(.*\)$|^FAIL.*\[.* failed\]|^ok .*`) // in a tab: which were running when the time was up
	broken = regexp.MustCompile(`(?m)^FAIL\s.*\[(build|setup) failed\]|no tests to run`)
)

// overlay writes the mutated source, and the text by which go reads it instead of the one that is there.
func (m *mutant) overlay(root, dir string, source []byte) (file string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	instead := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(instead, source, 0o600); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, filepath.FromSlash(m.file)): instead}})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, b, 0o600)
}

// gotest is go test of a package with these arguments, in its module. A mutant that hangs is ended, and noticed
// by that.
func gotest(ctx context.Context, root, pkg string, args ...string) *exec.Cmd {
	dir, pkg := nested(root, pkg)
	c := exec.CommandContext(ctx, "go", append(append([]string{"test", "-count=1", "-vet=off", "-timeout=1m"}, args...), pkg)...)
	c.Dir = dir
	return c
}

// nested returns the directory of the module that has a package, below root or there, and what the package is
// called in it.
func nested(root, pkg string) (dir, name string) {
	all := path.Clean(pkg)
	for at := all; at != "."; at = path.Dir(at) {
		dir := filepath.Join(root, filepath.FromSlash(at))
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, "." + all[len(at):]
		}
	}
	return root, pkg
}

// moduleRoot returns the directory of the module, wherever in it the command was called.
func moduleRoot(ctx context.Context) (string, error) {
	b, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
