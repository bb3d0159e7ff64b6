package simulation

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// aim is what is to be reached.
type aim struct{ ratio, refused float64 }

// aim returns that of a simulation, as interop has it.
func (s simulation) aim() aim {
	switch {
	case s.processes > 1:
		return aim{1.10, 5}
	case s.voice == silent || s.voice == hint || s.voice == shut:
		return aim{1.10, 3}
	default:
		return aim{1.05, 2}
	}
}

// judged reports whether the aim is for such a simulation: nothing goes wrong, and all
// that is asked for is to be had.
func (s simulation) judged() bool { return s.trouble == none && s.workload != leaving }

// allowance is what the documented rules cost beside the aim: a round trip for the first
// request, which goes ahead, and more of them where the slow start has to end without
// headers; one after each reset, for the probe; and the step of a second in which most
// resets are stated, once, to find out how they are rounded, and where resets are
// instants that do not fall on whole seconds, each time.
func (s simulation) allowance(least time.Duration) time.Duration {
	trip, starts, resets := s.latency*3/2, 1, 1
	if s.voice == silent || s.voice == hint || s.voice == shut {
		starts = 6
	}
	if s.workload == bursts {
		starts *= heaps
	}
	if s.resets {
		resets = int(math.Ceil(float64(least) / float64(s.window)))
	}
	steps := 1
	if s.voice == coarse && s.counts == "clock" {
		steps = resets
	}
	return time.Duration(starts+resets)*trip + time.Duration(steps)*time.Second
}

// bound is the ratio that is to be reached.
func (r result) bound() float64 {
	return r.aim().ratio + float64(r.allowance(r.least))/float64(r.least)
}

// few is how many refusals are allowed beside the aim, for each process: the first where
// nothing is said, and one each to find out how resets are rounded and how quota comes back.
const few = 3

// missed returns by how much the aims are missed: 1 is by nothing.
func (r result) missed() float64 {
	refused := r.refused * float64(r.served) / 100
	return max(r.ratio()/r.bound(), 1+(refused-float64(few*r.processes)-r.aim().refused*float64(r.served)/100)/float64(r.served))
}

// report prints how well it went, by what the server does and says and by what
// was done.
func report(w io.Writer, results []result) {
	var judged []result
	for _, r := range results {
		if r.judged() {
			judged = append(judged, r)
		}
	}
	processes := func(r result) string {
		if r.processes > 1 {
			return "several"
		}
		return "one"
	}
	table(w, "processes", judged, processes)
	table(w, "voice, processes", judged, func(r result) string { return string(r.voice) + ", " + processes(r) })
	table(w, "how it counts, voice, processes", judged, func(r result) string {
		return strings.TrimSuffix(r.counts, "+") + ", " + string(r.voice) + ", " + processes(r)
	})
	table(w, "dialect, one process", judged, func(r result) string {
		if r.processes > 1 {
			return ""
		}
		return r.speaks
	})
	table(w, "workload, processes", judged, func(r result) string { return string(r.workload) + ", " + processes(r) })
	table(w, "layers", judged, func(r result) string { return fmt.Sprintf("%d layers, %s", len(r.layers), processes(r)) })
	table(w, "trouble, processes", results, func(r result) string {
		if r.trouble == none && r.workload == leaving {
			return "callers leave, " + processes(r)
		}
		return string(r.trouble) + ", " + processes(r)
	})
	slices.SortFunc(judged, func(a, b result) int { return -compare(a.missed(), b.missed()) })
	fmt.Fprintln(w, "\nfarthest from the aims:")
	for _, r := range judged[:min(len(judged), max(40, len(judged)/4))] {
		fmt.Fprintf(w, "%.3f %v\n", r.missed(), r)
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// table prints a line for each group: the median, the 95th percentile and the worst.
func table(w io.Writer, title string, results []result, group func(result) string) {
	groups := map[string][]result{}
	for _, r := range results {
		if g := group(r); g != "" {
			groups[g] = append(groups[g], r)
		}
	}
	names := make([]string, 0, len(groups))
	for g := range groups {
		names = append(names, g)
	}
	slices.Sort(names)
	fmt.Fprintf(w, "\n%-36s %5s  %-19s  %-19s  %-17s %-12s %s\n", title, "runs", "time / least", "refused per 100", "missed", "gave up", "worst seeds")
	for _, g := range names {
		rs := groups[g]
		ratios, refused := sorted(rs, result.ratio), sorted(rs, func(r result) float64 { return r.refused })
		slow, hard, gaveUp := 0, 0, 0
		for _, r := range rs {
			if r.ratio() > r.bound() {
				slow++
			}
			if r.refused*float64(r.served)/100 > float64(few*r.processes)+r.aim().refused*float64(r.served)/100 {
				hard++
			}
			gaveUp += r.gaveUp
		}
		worst := slices.Clone(rs)
		slices.SortFunc(worst, func(a, b result) int { return -compare(a.missed(), b.missed()) })
		seeds := ""
		for _, r := range worst[:min(len(worst), 3)] {
			seeds += fmt.Sprintf(" %d", r.seed)
		}
		fmt.Fprintf(w, "%-36s %5d  %5.3f %5.3f %6.2f  %5.1f %5.1f %6.0f  %3d slow %3d hard %6d      %s\n", g, len(rs),
			at(ratios, 0.5), at(ratios, 0.95), at(ratios, 1), at(refused, 0.5), at(refused, 0.95), at(refused, 1), slow, hard, gaveUp, seeds)
	}
}

func sorted(rs []result, f func(result) float64) []float64 {
	values := make([]float64, len(rs))
	for i, r := range rs {
		values[i] = f(r)
	}
	slices.Sort(values)
	return values
}

// at is a quantile of what is sorted.
func at(values []float64, q float64) float64 {
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
