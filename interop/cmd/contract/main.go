// The program has pacer, and what a program would otherwise retry with, do what goes wrong
// when requests are sent again, to real servers, and prints what was seen.
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
	"slices"
	"strings"
	"syscall"

	"github.com/gopacer/pacer/interop/contract"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	only, file      string
	parallel        int
	markdown, write bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("contract", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.only, "only", "", "regular `expression`: only rows that match")
	f.IntVar(&o.parallel, "parallel", 8, "how many peers are asked at the same time")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	f.BoolVar(&o.write, "write", false, "put the table between the marks of -file")
	f.StringVar(&o.file, "file", "README.md", "the `file` for -write")
	return o, f.Parse(args)
}

func run(args []string, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	questions, err := o.questions()
	if err != nil {
		return err
	}
	peers := contract.Peers()
	all, err := contract.Run(ctx, questions, peers, o.parallel)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err = o.print(&b, all, peers); err != nil {
		return err
	}
	if !o.write {
		_, err = io.WriteString(stdout, b.String())
		return err
	}
	old, err := os.ReadFile(o.file)
	if err != nil {
		return err
	}
	text, err := between(string(old), b.String())
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	return os.WriteFile(o.file, []byte(text), 0o644)
}

// questions returns those that are asked for. A table that is written is whole.
func (o options) questions() ([]contract.Question, error) {
	wanted, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(contract.All(), func(q contract.Question) bool { return !wanted.MatchString(q.Name) })
	switch {
	case len(all) == 0:
		return nil, errors.New("no row of that name")
	case o.write && o.only != "":
		return nil, errors.New("-write is for the whole table, not for -only")
	}
	return all, nil
}

// print writes the table, and what was asked when.
func (o options) print(w io.Writer, all []contract.Answer, peers []contract.Peer) error {
	table := contract.Table(all, contract.Star)
	write := table.Text
	if o.markdown || o.write {
		table = contract.Table(all, contract.Bold)
		write = table.Markdown
	}
	if err := write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n%s\n", contract.Settings, contract.Made(peers))
	return err
}

// The marks between which the table stands.
const (
	begin = "<!-- contract -->\n"
	end   = "<!-- /contract -->\n"
)

// between returns text with what is between the marks replaced.
func between(text, table string) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New("no marks " + strings.TrimSpace(begin) + " and " + strings.TrimSpace(end))
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}
