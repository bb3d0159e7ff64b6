// The program starts rate limiters that others wrote and has the same work done by
// pacer and by what a program would use otherwise. It prints a table for each workload:
// the time that it took over the least possible, what was refused, and the longest wait.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gopacer/pacer/interop"
	"github.com/gopacer/pacer/quota"
)

func main() {
	interop.Work()
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	servers, clients, workloads string
	windows, buckets            string
	requests, runs, parallel    int
	node, logs                  string
	markdown, require, list     bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("servers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.servers, "servers", "", "regular `expression`: only servers whose name and quota match")
	f.StringVar(&o.clients, "clients", "", "regular `expression`: only clients whose name matches")
	f.StringVar(&o.workloads, "workloads", "", "regular `expression`: only workloads whose name matches")
	f.StringVar(&o.windows, "windows", "50/2s, 100/10s", "`quotas` of servers that count in windows")
	f.StringVar(&o.buckets, "buckets", "20/s burst 10", "`quotas` of servers that are refilled evenly")
	f.IntVar(&o.requests, "n", 300, "requests of a workload")
	f.IntVar(&o.runs, "runs", 3, "how often each is measured; the medians are printed")
	f.IntVar(&o.parallel, "parallel", 8, "how many are measured side by side")
	f.StringVar(&o.node, "node", "node", "`directory` of the servers for Node")
	f.StringVar(&o.logs, "logs", "", "`directory` for what was answered in each run, and what pacer did")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	f.BoolVar(&o.require, "require", false, "fail if a server cannot run on this machine")
	f.BoolVar(&o.list, "list", false, "list servers, clients and workloads, and measure nothing")
	return o, f.Parse(args)
}

func run(args []string, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var quotas interop.Quotas
	if quotas.Windows, err = quota.Parse(o.windows); err != nil {
		return err
	}
	if quotas.Buckets, err = quota.Parse(o.buckets); err != nil {
		return err
	}
	quotas.Windows, quotas.Buckets = unnamed(quotas.Windows), unnamed(quotas.Buckets)
	farm := interop.Open(ctx, quotas, o.node)
	defer farm.Close()
	for _, err := range farm.Missing {
		fmt.Fprintln(stderr, "left out:", err)
	}
	if o.require && len(farm.Missing) > 0 {
		return errors.New("a server is missing, and -require is set")
	}
	cells, err := o.cells(farm.Servers)
	if err != nil {
		return err
	}
	if o.list {
		for _, c := range cells {
			fmt.Fprintln(stdout, c)
		}
		return nil
	}
	fmt.Fprintf(stderr, "%d runs, %d side by side\n", len(cells)*o.runs, o.parallel)
	results, err := interop.Run(ctx, cells, o.runs, max(o.parallel, 1), o.logs, func(r interop.Result) {
		fmt.Fprintf(stderr, "%-80s ratio %.3f, %.1f refused per 100, %d given up, timers late by %v, try %d\n",
			r.Cell, r.Ratio(), r.RefusedPer100(), r.GaveUp, r.Stall.Round(time.Millisecond), r.Tries)
	})
	return errors.Join(err, o.print(stdout, cells, interop.Summarize(results)))
}

// unnamed returns quotas with all defaults written out, and without the names that errors give them.
func unnamed(qs quota.Quotas) quota.Quotas {
	qs = slices.Clone(qs.Explicit())
	for i := range qs {
		qs[i].Name = ""
	}
	return qs
}

// cells returns those that are asked for.
func (o options) cells(servers []interop.Server) (cells []interop.Cell, err error) {
	var wanted [3]*regexp.Regexp
	for i, text := range []string{o.servers, o.clients, o.workloads} {
		if wanted[i], err = regexp.Compile(text); err != nil {
			return nil, err
		}
	}
	for _, w := range interop.Workloads(max(o.requests, 3)) {
		for _, s := range servers {
			for _, c := range interop.Clients() {
				cell := interop.Cell{Server: s, Client: c, Workload: w}
				if wanted[0].MatchString(s.Name+", "+s.Documented().String()) && wanted[1].MatchString(c.Name) &&
					wanted[2].MatchString(w.Name) && cell.Possible() {
					cells = append(cells, cell)
				}
			}
		}
	}
	if len(cells) == 0 {
		return nil, errors.New("no server, client and workload of those names")
	}
	return cells, nil
}

// print writes a table for each workload, the aims that are missed, and what was
// measured when.
func (o options) print(w io.Writer, cells []interop.Cell, all []interop.Summary) error {
	fmt.Fprintf(w, "%s: %s.\n", interop.Legend, o.size())
	for _, workload := range interop.Workloads(o.requests) {
		table := interop.Table(all, workload.Name)
		if len(table) <= 3 { // head, median and worst
			continue
		}
		write, head := table.Text, ""
		if o.markdown {
			write, head = table.Markdown, "### "
		}
		fmt.Fprintf(w, "\n%s%s\n\n", head, workload)
		if err := write(w); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, line := range interop.Missed(all) {
		fmt.Fprintln(w, "- missed:", line)
	}
	_, err := fmt.Fprintf(w, "\n%s, %s, %s/%s, %d cores. %s\n", time.Now().UTC().Format("2 January 2006"), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), strings.Join(interop.Versions(cells), ", "))
	return err
}

func (o options) size() string {
	if o.runs == 1 {
		return "one run"
	}
	return fmt.Sprintf("medians of %d runs", o.runs)
}
