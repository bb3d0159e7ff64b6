package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The cells are named class/column/number.
var (
	classes = []string{"exact", "coarse", "hint", "silent"}
	columns = []string{"1-short", "1-long", "3-short", "3-long", "10-long", "idle", "half", "double"}
)

// bounds are those with which cells are compared: processes that are told how many they are, and keep to their
// parts; those that are told all but that, and search or read what remains; and those that are told no numbers
// either: of hints and silence, while there is one of them, with other weights, with one of the numbers, and
// without the algorithm. All but the first while the limit stays.
var bounds = []string{"parts", "careful", "even", "swift", "untold", "untold-careful", "untold-swift", "untold-window", "untold-burst", "untold-any", "untold-any-careful", "untold-any-swift"}

// namesOf returns the names of n cells of each class and column, as far as they are asked for.
func namesOf(n int, only *regexp.Regexp) (names []string) {
	for _, class := range classes {
		for _, column := range columns {
			for i := range n {
				if name := fmt.Sprintf("%s/%s/%d", class, column, i); only.MatchString(name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// outcome is how a cell went, as internal/tests/simulation prints it.
type outcome struct {
	Name    string
	Cell    string
	Took    float64
	Least   float64
	Forced  float64
	Just    float64
	Refused float64
	Served  int
	Failed  int
	Adapted float64
	Settled bool
	Ended   string
	Problem string
	Bound   *outcome `json:",omitempty"`
}

// matrix is how all went.
type matrix struct {
	Build    string
	Seed     uint64
	Bound    string
	Outcomes []outcome
}

func readMatrix(file string) (*matrix, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &matrix{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

func (m *matrix) write(file string) error {
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o600)
}

// keep drops the cells that are not in another matrix, or are other ones there, so that both are about the
// same.
func (m *matrix) keep(other *matrix) {
	m.Outcomes = slices.DeleteFunc(m.Outcomes, func(o outcome) bool {
		there := other.named(o.Name)
		return there == nil || there.Cell != o.Cell
	})
}

// problems returns what went wrong with the matrix itself.
func (m *matrix) problems() error {
	var all []error
	for _, o := range m.Outcomes {
		if o.Problem != "" {
			all = append(all, fmt.Errorf("%s: %s: %s", o.Name, o.Problem, o.Cell))
		}
	}
	return errors.Join(all...)
}

// player plays cells.
type player struct {
	binary  string // the test of internal/tests/simulation
	version string // of which build
	seed    uint64
	bound   string // one of bounds
}

// build makes the test, of the module in which the command was called.
func build(ctx context.Context, binary string) (*player, error) {
	c := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "github.com/gopacer/pacer/internal/tests/simulation")
	if b, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c: %w\n%s", err, b)
	}
	// Which commit it is helps who reads the table; where there is none, it is left out.
	b, _ := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	return &player{binary: binary, version: strings.TrimSpace(string(b))}, nil
}

// command is the test that plays a cell. One thread, which nothing interrupts, makes the order in which
// goroutines run the same each time.
func (p *player) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	args = append([]string{"-test.run=^TestCells$", "-test.timeout=15m", "-cellseed=" + strconv.FormatUint(p.seed, 10), "-cells=" + name}, args...)
	if p.bound != bounds[0] {
		args = append(args, "-cellbound="+p.bound)
	}
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	return c
}

// trace plays a cell and prints all that happens.
func (p *player) trace(ctx context.Context, name string, out io.Writer) error {
	c := p.command(ctx, name, "-celltrace", "-test.v")
	c.Stdout, c.Stderr = out, out
	return c.Run()
}

// playAll plays the cells, so many at once. A test that ends otherwise than with an outcome is an outcome.
func (p *player) playAll(ctx context.Context, names []string, jobs int) ([]outcome, error) {
	outcomes := make([]outcome, len(names))
	room := make(chan struct{}, jobs)
	var wg sync.WaitGroup
	for i, name := range names {
		if room <- struct{}{}; ctx.Err() != nil {
			break
		}
		if i%100 == 0 {
			fmt.Fprintf(os.Stderr, "\r%d of %d cells", i, len(names))
		}
		wg.Go(func() {
			defer func() { <-room }()
			outcomes[i] = p.play(ctx, name)
		})
	}
	wg.Wait()
	fmt.Fprintf(os.Stderr, "\r%40s\r", "")
	return outcomes, ctx.Err()
}

// play plays one.
func (p *player) play(ctx context.Context, name string) outcome {
	b, err := p.command(ctx, name).CombinedOutput()
	if line, _, ok := bytes.Cut(b, []byte("\n")); ok && err == nil {
		var o outcome
		if err = json.Unmarshal(line, &o); err == nil {
			return o
		}
	}
	return outcome{Name: name, Problem: fmt.Sprintf("%v\n%s", err, b)}
}
