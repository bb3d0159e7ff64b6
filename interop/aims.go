package interop

import (
	"fmt"
	"strings"
)

// Aim is what pacer, told nothing, is to reach.
type Aim struct{ Ratio, RefusedPer100 float64 }

// noise is by how much medians of the same cell differ from one run of the program to the
// next, on a machine that others use as well.
var noise = Aim{0.01, 0.5}

// aim returns that of a cell: a little less where the server says nothing, and where
// processes do not know of each other.
func aim(c Cell) Aim {
	switch {
	case c.Workload.Processes > 1:
		return Aim{1.10, 5}
	case c.Server.Spaced() || c.Server.Truth.RefusalsCount:
		return Aim{1.30, 3}
	case c.Server.Silent():
		return Aim{1.10, 3}
	default:
		return Aim{1.05, 2}
	}
}

// Missed returns a line for each cell in which pacer, told nothing, does not reach its
// aim, or is worse than the limiter that was set by hand, by more than noise.
func Missed(all []Summary) (lines []string) {
	for _, s := range all {
		if s.Cell.Client.Name != Pacer {
			continue
		}
		var why []string
		say := func(missed bool, format string, args ...any) {
			if missed {
				why = append(why, fmt.Sprintf(format, args...))
			}
		}
		a := aim(s.Cell)
		say(s.Ratio > a.Ratio, "ratio %.3f, aim %.2f", s.Ratio, a.Ratio)
		say(s.RefusedPer100 > a.RefusedPer100, "%.1f refused per 100, aim %.0f", s.RefusedPer100, a.RefusedPer100)
		for _, h := range all {
			if h.Cell.Client.Name == HandSet && row(h) == row(s) && h.Cell.Workload.Name == s.Cell.Workload.Name {
				say(s.Ratio > h.Ratio+noise.Ratio, "ratio %.3f, hand-set %.3f", s.Ratio, h.Ratio)
				say(s.RefusedPer100 > h.RefusedPer100+noise.RefusedPer100, "%.1f refused per 100, hand-set %.1f", s.RefusedPer100, h.RefusedPer100)
			}
		}
		if len(why) > 0 {
			lines = append(lines, fmt.Sprintf("%s, %s: %s", s.Cell.Workload.Name, row(s), strings.Join(why, "; ")))
		}
	}
	return lines
}
