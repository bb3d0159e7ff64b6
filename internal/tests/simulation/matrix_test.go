package simulation

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

var (
	cells      = flag.String("cells", "", "names of cells of the matrix, with commas; how each went is printed as JSON")
	cellSeed   = flag.Uint64("cellseed", 1, "seed of the cells")
	cellBound  = flag.String("cellbound", "", "which processes the bound is of: empty for those that keep to their parts, careful, even or swift for those that search, or read what remains, or untold and its like for those that have the numbers to learn")
	cellTraced = flag.Bool("celltrace", false, "trace the cells")
)

// TestCells runs cells of the matrix, for the command internal/tests/matrix.
func TestCells(t *testing.T) {
	if *cells == "" {
		t.Skip("no -cells")
	}
	if _, ok := members[*cellBound]; !ok && *cellBound != "" && guessers[*cellBound].weight == 0 {
		t.Fatalf("-cellbound %q: no such processes", *cellBound)
	}
	out := json.NewEncoder(os.Stdout)
	for name := range strings.SplitSeq(*cells, ",") {
		c, err := drawCell(*cellSeed, name)
		if err != nil {
			t.Fatal(err)
		}
		var trace func(string, ...any)
		if *cellTraced {
			t.Log(c)
			trace = t.Logf
		}
		if err := out.Encode(c.play(t, trace)); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	classes = []string{classExact, classCoarse, classHint, classSilent}
	columns = []string{"1-short", "1-long", "3-short", "3-long", "10-long", columnIdle, columnHalf, columnDouble}
)

// named draws the first cells of each class and column.
func named(t *testing.T, seed uint64, n int) (list []cell) {
	t.Helper()
	for _, class := range classes {
		for _, column := range columns {
			for i := range n {
				c, err := drawCell(seed, fmt.Sprintf("%s/%s/%d", class, column, i))
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, c)
			}
		}
	}
	return list
}

// The matrix has cells everywhere in its ranges and none outside of them, and a seed always has
// the same.
func TestCellDraw(t *testing.T) {
	whole.Alone(t)
	all := named(t, 7, 200)
	if again := named(t, 7, 200); !reflect.DeepEqual(all, again) {
		t.Error("the same seed has other cells")
	}
	if others := named(t, 8, 1); others[0].String() == all[0].String() {
		t.Errorf("another seed has the same cell: %v", others[0])
	}
	within := func(what string, least, most float64, of func(c *cell) float64) {
		t.Helper()
		lower, upper := most, least
		for i := range all {
			v := of(&all[i])
			lower, upper = min(lower, v), max(upper, v)
			if v < least || v > most {
				t.Errorf("%s: %s %v, want %v to %v: %v", all[i].name, what, v, least, most, all[i])
			}
		}
		if span := most / least; lower > least*min(2, span) || upper < most/min(2, span) {
			t.Errorf("%s from %v to %v, want %v to %v", what, lower, upper, least, most)
		}
	}
	within("rate", leastRate*0.8, mostRate*1.2, func(c *cell) float64 { return c.rate }) // windows have whole limits
	within("latency", leastLatency.Seconds(), mostLatency.Seconds(), func(c *cell) float64 {
		if c.factor != 0 {
			return leastLatency.Seconds() // bounded so that callers can ask for enough
		}
		return c.latency.Seconds()
	})
	within("callers", 1, mostCallers, func(c *cell) float64 { return float64(c.callers) })
	within("processes", 1, 10, func(c *cell) float64 { return float64(c.processes) })
	within("window", leastWindow, mostWindow, func(c *cell) float64 { return max(1, c.window.Seconds()) })
	within("burst", leastBurst, mostBurst, func(c *cell) float64 {
		if c.window > 0 {
			return leastBurst
		}
		return float64(c.free)
	})
	within("limit", 3, mostLimit, func(c *cell) float64 {
		if c.window == 0 {
			return 3
		}
		return float64(c.limit)
	})
	// Each 48 cells of a place have every algorithm, four times at least.
	counts := map[string]int{}
	for i, c := range all {
		if i%200 < 48 {
			counts[c.class+"/"+c.column+", "+c.counts]++
		}
	}
	if got, want := len(counts), len(classes)*len(columns)*len(countings); got != want {
		t.Errorf("%d algorithms of places, want %d", got, want)
	}
	for place, n := range counts {
		if n < 4 || n > 7 {
			t.Errorf("%s: %d of 48 cells", place, n)
		}
	}
	kinds := map[string]bool{}
	for _, c := range all {
		kinds[c.class+" "+c.counts], kinds[c.class+" "+c.speaks] = true, true
		if c.requests < 100 || c.idle > 0 && c.idle.Seconds() < 2*float64(c.free)/c.rate {
			t.Errorf("%s: %d requests, idle for %v: %v", c.name, c.requests, c.idle, c)
		}
		if asked := float64(c.callers) / c.latency.Seconds(); c.factor != 0 && asked < 1.5*max(1, c.factor)*c.rate {
			t.Errorf("%s: callers can ask for %.3g/s: %v", c.name, asked, c)
		}
	}
	if got, want := len(kinds), len(classes)*len(countings)+5+11+4+2; got != want {
		t.Errorf("%d pairs of a class and an algorithm or a dialect, want %d: %v", got, want, kinds)
	}
	for _, name := range []string{"", "exact", "exact/1-short", "exact/1-short/x", "exact/2-short/1", "loud/1-short/1"} {
		if _, err := drawCell(1, name); err == nil {
			t.Errorf("there is a cell %q", name)
		}
	}
}

// Callers who know the server's algorithm take the least time: what the ideal plans can be done.
func TestCellIdeal(t *testing.T) {
	met := map[string]bool{}
	for _, c := range named(t, 3, 12) {
		kind := fmt.Sprint(c.counts, " of ", c.processes)
		if c.factor != 0 || c.idle != 0 || met[kind] {
			continue
		}
		met[kind] = true
		synctest.Test(t, func(t *testing.T) {
			var o outcome
			w := newWorld(c.simulation, func() {})
			court := &court{cell: &c, world: w, algorithm: c.algorithm()}
			w.handler = court
			visits := w.ideal(0, c.requests, 0, nil)
			var wg sync.WaitGroup
			for _, v := range visits {
				wg.Go(func() {
					try := &try{id: v.id, process: v.process}
					time.Sleep(time.Until(w.start.Add(v.at - c.way(v.id, 1, "there"))))
					req, err := http.NewRequestWithContext(context.WithValue(t.Context(), tryKey{}, try), http.MethodGet, "http://a.example/", nil)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := (network{w}).RoundTrip(req); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			least := lasted(visits, 0)
			o.score(time.Since(w.start), least, lasted(w.ideal(0, c.requests, 0, closed(court.answers, c.processes)), 0))
			o.count(court.answers)
			if o.Refused != 0 || o.Served != c.requests || o.Just < 0.995 || o.Just > 1.005 {
				t.Errorf("%s: just %.4f, %d of %d served, %v refused: %v", c.name, o.Just, o.Served, c.requests, o.Refused, c)
			}
		})
	}
	if want := len(countings) * 3; len(met) != want {
		t.Errorf("%d pairs of an algorithm and a number of processes, want %d", len(met), want)
	}
}

// A few cells of each class: nobody is faster than the ideal.
func TestCellPlay(t *testing.T) {
	for _, c := range named(t, 1, 1) {
		if long := c.factor != 0 || crowds[c.column].long; long && c.class != classExact {
			continue
		}
		o := c.play(t, nil)
		if o.Problem != "" || o.Served == 0 {
			t.Errorf("%+v", o)
		}
	}
}

func TestCellClosed(t *testing.T) {
	const s = time.Second
	told := func(process int, sent, next, beyond time.Duration) answer {
		return answer{process: process, sent: sent, at: sent, back: sent + 1, next: next, beyond: beyond}
	}
	for _, tt := range []struct {
		name      string
		processes int
		answers   []answer
		want      []span
	}{
		{"obeyed", 1, []answer{told(0, 0, 1*s, 3*s), told(0, 4*s, 4*s, 0)}, []span{{1*s - 1, 4 * s}}},
		{"not obeyed", 1, []answer{told(0, 0, 1*s, 3*s), told(0, 2*s, 2*s, 0), told(0, 9*s, 9*s, 0)}, []span{{1*s - 1, 2 * s}}},
		{"under way before it was told", 1, []answer{
			{sent: 0, at: 1 * s, back: 3 * s, next: 2 * s, beyond: 4 * s}, {sent: 2 * s, at: 4 * s, back: 5 * s, next: 5 * s}, told(0, 9*s, 9*s, 0),
		}, []span{{4 * s, 6 * s}}},
		{"two tell", 1, []answer{told(0, 0, 1*s, 2*s), told(0, 0, 2*s, 2*s), told(0, 9*s, 9*s, 0)}, []span{{1*s - 1, 4 * s}}},
		{"one of two", 2, []answer{told(0, 0, 1*s, 3*s), told(0, 8*s, 8*s, 0), told(1, 9*s, 9*s, 0)}, nil},
		{"both", 2, []answer{told(0, 0, 1*s, 3*s), told(0, 8*s, 8*s, 0), told(1, 0, 2*s, 3*s), told(1, 9*s, 9*s, 0)}, []span{{2*s - 1, 4 * s}}},
		{"the other is done", 2, []answer{told(0, 0, 1*s, 3*s), told(0, 8*s, 8*s, 0), told(1, 2*s, 2*s, 0)}, []span{{2 * s, 4 * s}}},
	} {
		if got := closed(tt.answers, tt.processes); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCellBeyond(t *testing.T) {
	const ms = time.Millisecond
	clock := time.Unix(1_800_000_000, int64(400*ms))
	full := pacertest.Verdict{RetryAfter: 700 * ms, Reset: 700 * ms}
	for _, tt := range []struct {
		class, speaks string
		resets        bool
		v             pacertest.Verdict
		want          time.Duration
	}{
		{classExact, "decimal, hint in seconds", true, full, 0},
		{classCoarse, "X delta", true, full, 300 * ms},
		{classCoarse, "X delta", true, pacertest.Verdict{OK: true, Remaining: 1, Reset: 700 * ms}, 0},
		{classCoarse, "X delta", true, pacertest.Verdict{OK: true, Reset: 700 * ms}, 300 * ms},
		{classCoarse, "X delta", false, pacertest.Verdict{OK: true, Reset: 700 * ms}, 0},
		{classCoarse, "X delta", false, pacertest.Verdict{RetryAfter: 25 * ms, Reset: 700 * ms}, 975 * ms},
		{classCoarse, "X delta, floored", true, full, 0},
		{classCoarse, "epoch", true, full, 900 * ms},
		{classCoarse, "epoch", false, full, 0},
		{classCoarse, "epoch, hint", true, full, 300 * ms},
		{classHint, "hint", false, full, 300 * ms},
		{classHint, "hint date", false, full, 900 * ms},
		{classHint, "hint floored", false, full, 0},
		{classHint, "hint ms", false, full, 0},
		{classSilent, "silent", true, full, 0},
	} {
		c := cell{class: tt.class}
		c.resets = tt.resets
		i := slices.IndexFunc(dialects[tt.class], func(s speaking) bool { return s.name == tt.speaks })
		c.layers = []layer{dialects[tt.class][i].layer}
		if got := c.beyond(tt.v, clock); got != tt.want {
			t.Errorf("%s, %s, resets %v: %v, want %v", tt.class, tt.speaks, tt.resets, got, tt.want)
		}
	}
}

// When a client has adapted: by answers each tenth of a second, of a limit of 10 a second that
// was 20.
func TestCellAdapted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window time.Duration
		answer func(i int) (there, ok bool) // of the tenth of a second, after the change
		want   float64
	}{
		{"at once", 0, func(int) (bool, bool) { return true, true }, 0},
		{"nothing for 50 s", 0, func(i int) (bool, bool) { return i > 500, true }, 49.1},
		{"half for 50 s", 0, func(i int) (bool, bool) { return i > 500 || i%2 == 0, true }, 48},
		{"refused for 20 s", 0, func(i int) (bool, bool) { return true, i > 200 }, 19},
		{"one of ten refused", 0, func(i int) (bool, bool) { return true, i%10 != 0 }, 0},
		{"one of five refused", 0, func(i int) (bool, bool) { return true, i%5 != 0 }, 200},
		{"four of five", 0, func(i int) (bool, bool) { return i%5 != 0, true }, 200},
		{"windows of 10 s", 10 * time.Second, func(i int) (bool, bool) { return i%100 < 10, true }, 200},
		{"nothing at all", 0, func(int) (bool, bool) { return false, true }, 200},
	} {
		c := cell{rate: 20, factor: 0.5}
		c.window, c.limit = tt.window, 20*int(tt.window.Seconds())
		var answers []answer
		for at := time.Second / 20; at < before; at += time.Second / 20 {
			answers = append(answers, answer{at: at, ok: true})
		}
		for i := 1; i < 2000; i++ {
			if there, ok := tt.answer(i); there {
				answers = append(answers, answer{at: before + time.Duration(i)*time.Second/10, ok: ok})
			}
		}
		var o outcome
		if c.scoreChange(answers, &o); o.Adapted < tt.want-0.11 || o.Adapted > tt.want+0.11 || !o.Settled {
			t.Errorf("%s: adapted after %v, settled %v, want %v and true", tt.name, o.Adapted, o.Settled, tt.want)
		}
	}
}
