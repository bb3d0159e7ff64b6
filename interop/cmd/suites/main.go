// The program runs the tests of SDKs that others wrote, without pacer and with pacer below
// their HTTP clients, and prints for each suite how many passed. It fails if a
// test ends otherwise with pacer and package suites does not know why.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gopacer/pacer/interop/suites"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	only, dir                string
	parallel                 int
	short, markdown, verbose bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("suites", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.only, "only", "", "regular `expression`: only suites whose name matches")
	f.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "pacer-suites"), "`directory` in which the suites are laid out")
	f.IntVar(&o.parallel, "parallel", 1, "how many suites run side by side")
	f.BoolVar(&o.short, "short", false, "only the quick suites, without their slow tests")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	f.BoolVar(&o.verbose, "v", false, "print what tests say that end otherwise, or fail without pacer")
	return o, f.Parse(args)
}

func run(args []string, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	chosen, err := o.suites()
	if err != nil {
		return err
	}
	checkout, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gopacer/pacer").Output()
	if err != nil {
		return fmt.Errorf("no module here that replaces pacer by a checkout: %w", err)
	}
	reports, err := o.reports(ctx, chosen, string(bytes.TrimSpace(checkout)), stderr)
	return errors.Join(err, o.print(stdout, reports))
}

// suites returns those that are asked for.
func (o options) suites() ([]suites.Suite, error) {
	wanted, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	all := suites.All()
	if o.short {
		all = suites.Short()
	}
	all = slices.DeleteFunc(all, func(s suites.Suite) bool { return !wanted.MatchString(s.Name) })
	if len(all) == 0 {
		return nil, errors.New("no suite of that name")
	}
	return all, nil
}

// reports runs suites, and returns what came of those that could be run.
func (o options) reports(ctx context.Context, chosen []suites.Suite, checkout string, stderr io.Writer) ([]suites.Report, error) {
	all, errs := make([]suites.Report, len(chosen)), make([]error, len(chosen))
	running := make(chan struct{}, max(o.parallel, 1))
	var wg sync.WaitGroup
	for i, s := range chosen {
		running <- struct{}{}
		wg.Go(func() {
			defer func() { <-running }()
			begin := time.Now()
			if all[i], errs[i] = s.Run(ctx, o.dir, checkout); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", s.Name, errs[i])
				fmt.Fprintln(stderr, errs[i])
			}
			fmt.Fprintf(stderr, "%s: %v\n", s.Name, time.Since(begin).Round(time.Second))
		})
	}
	wg.Wait()
	all = slices.DeleteFunc(all, func(r suites.Report) bool { return len(r.Took) < len(suites.Modes()) })
	return all, errors.Join(errs...)
}

// print writes the table, and each difference with its cause. It returns an error if one
// has none.
func (o options) print(w io.Writer, all []suites.Report) error {
	table := suites.Table(all)
	write := table.Text
	if o.markdown {
		write = table.Markdown
	}
	if err := write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	unexplained := 0
	for _, r := range all {
		unexplained += len(r.Unexplained())
		o.list(w, r)
	}
	fmt.Fprintf(w, "\n%s, %s, %s/%s, %d cores.\n", time.Now().UTC().Format("2 January 2006"), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if unexplained > 0 {
		return fmt.Errorf("%d tests end otherwise with pacer, and nobody knows why", unexplained)
	}
	return nil
}

// list writes the differences of a suite.
func (o options) list(w io.Writer, r suites.Report) {
	for _, line := range r.Lines() {
		fmt.Fprintln(w, "-", line)
	}
	if !o.verbose {
		return
	}
	for _, d := range r.Differences {
		fmt.Fprintf(w, "\n%s, %s, %v: %s bare, %s through pacer\n%s\n", r.Suite.Name, d.Mode, d.Test, d.Bare, d.Through, d.Output)
	}
	for t, text := range r.Results[suites.Bare].Output {
		fmt.Fprintf(w, "\n%s, %v fails without pacer\n%s\n", r.Suite.Name, t, text)
	}
	for _, c := range r.Unneeded {
		fmt.Fprintf(w, "\n%s, %s: nothing of %s differs, which was: %s\n", r.Suite.Name, c.Mode, c.Tests, c.Why)
	}
}
