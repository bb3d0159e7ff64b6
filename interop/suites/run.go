package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Mode is what stands between clients and transports.
type Mode string

// Modes.
const (
	Bare  Mode = ""
	Paced Mode = "paced" // pacer, with nothing configured but a MaxWait of 6 s: some servers of tests refuse for ever
	Once  Mode = "once"  // pacer that sends nothing twice
	Plain Mode = "plain" // what does nothing but call the transport: a control
)

// tries bounds how often a package is run again without what its process died in.
const tries = 8

// Test runs the tests in a mode. A package whose process dies is run again without the
// tests that it has seen, so that all have their turn.
func (p *Place) Test(ctx context.Context, s Suite, mode Mode) (Results, time.Duration, error) {
	begin := time.Now()
	var names []string
	for _, pkg := range p.pkgs {
		names = append(names, pkg.ImportPath)
	}
	all, err := p.test(ctx, s, mode, append(skip(s.skipped(mode)), names...)...)
	for _, pkg := range names {
		last := all
		for range tries {
			if err != nil || !last.broken(pkg) {
				break
			}
			last, err = p.test(ctx, s, mode, append(skip(s.skipped(mode), all.seen(pkg)), pkg)...)
			all.add(last)
		}
	}
	return all, time.Since(begin), err
}

// Again runs those tests again.
func (p *Place) Again(ctx context.Context, s Suite, mode Mode, tests []Test) (Results, error) {
	all := Results{map[Test]Status{}, map[Test]string{}}
	for _, pkg := range p.pkgs {
		var names []string
		for _, t := range tests {
			if t.Package == pkg.ImportPath && t.Name != "" && !slices.Contains(names, t.top()) {
				names = append(names, t.top())
			}
		}
		for _, name := range names { // each alone: one may hang
			more, err := p.test(ctx, s, mode, "-run", anyOf([]string{name}), pkg.ImportPath)
			if err != nil {
				return all, err
			}
			all.add(more)
		}
	}
	return all, nil
}

// skip returns the arguments with which go test leaves out tests.
func skip(names ...[]string) []string {
	all := slices.Concat(names...)
	if len(all) == 0 {
		return nil
	}
	return []string{"-skip", anyOf(all)}
}

// anyOf returns the regular expression of those tests.
func anyOf(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

func (p *Place) test(ctx context.Context, s Suite, mode Mode, args ...string) (Results, error) {
	cmd := p.command(ctx, append([]string{
		"test", "-json", "-count=1", "-vet=off", "-overlay", p.overlay, "-timeout", s.timeout().String(),
	}, args...)...)
	cmd.Env = append(cmd.Env, s.Env...)
	cmd.Env = append(cmd.Env, p.env...)
	cmd.Env = append(cmd.Env, "PACER_SUITES="+string(mode))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	all, _ := Parse(bytes.NewReader(out)) // a reader of bytes has no errors
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || len(all.Status) == 0 || ctx.Err() != nil) {
		return all, fmt.Errorf("go test %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return all, nil
}
