package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// pair is of half of the cells, and of three of four.
type pair struct{ half, three float64 }

// goal is what is wanted of a class and a column. Where the limit changes, it is a time in seconds, and of
// three of four alone.
type goal struct {
	just, refused pair
	adapted       float64
}

// worst is what no cell may be above.
const worst = 3

// watched is for how many seconds a cell is watched after its limit has changed.
const watched = 200

// goals are by class and column. There are none for the column idle.
var goals = func() map[string]goal {
	all := map[string]goal{}
	for class, row := range map[string][]goal{
		"exact": {
			{just: pair{1.01, 1.02}, refused: pair{1, 2}},
			{just: pair{1.01, 1.02}, refused: pair{0.1, 0.1}},
			{just: pair{1.05, 1.20}, refused: pair{6, 12}},
			{just: pair{1.01, 1.03}, refused: pair{1, 2}},
			{just: pair{1.02, 1.10}, refused: pair{3, 6}},
			{},
			{adapted: 10},
			{adapted: 10},
		},
		"coarse": {
			{just: pair{1.01, 1.08}, refused: pair{1, 2}},
			{just: pair{1.01, 1.02}, refused: pair{0.1, 0.1}},
			{just: pair{1.05, 1.40}, refused: pair{7, 12}},
			{just: pair{1.02, 1.05}, refused: pair{2, 4}},
			{just: pair{1.05, 1.20}, refused: pair{4, 8}},
			{},
			{adapted: 10},
			{adapted: 20},
		},
		"hint": {
			{just: pair{1.01, 1.25}, refused: pair{5, 8}},
			{just: pair{1.03, 1.10}, refused: pair{0.5, 1}},
			{just: pair{1.05, 1.40}, refused: pair{10, 18}},
			{just: pair{1.10, 1.25}, refused: pair{1, 2}},
			{just: pair{1.20, 1.40}, refused: pair{4, 6}},
			{},
			{adapted: 60},
			{adapted: 60},
		},
		"silent": {
			{just: pair{1.01, 1.10}, refused: pair{6, 10}},
			{just: pair{1.02, 1.04}, refused: pair{0.3, 0.6}},
			{just: pair{1.15, 1.60}, refused: pair{16, 24}},
			{just: pair{1.05, 1.15}, refused: pair{1.5, 2.5}},
			{just: pair{1.15, 1.30}, refused: pair{6, 10}},
			{},
			{adapted: 30},
			{adapted: 90},
		},
	} {
		for i, g := range row {
			all[class+"/"+columns[i]] = g
		}
	}
	return all
}()

// place is the class and column of a cell.
func (o *outcome) place() string { return o.Name[:strings.LastIndex(o.Name, "/")] }

// changes reports whether the limit of the cell changes.
func (o *outcome) changes() bool { return goals[o.place()].adapted > 0 }

// in returns the cells of a class and a column that were played.
func (m *matrix) in(place string) (all []outcome) {
	for _, o := range m.Outcomes {
		if o.Took+float64(o.Served) > 0 && o.place() == place {
			all = append(all, o)
		}
	}
	return all
}

// boundsOf are how cells go for the processes of the bound.
func boundsOf(all []outcome) (those []outcome) {
	for _, o := range all {
		if o.Bound != nil {
			those = append(those, *o.Bound)
		}
	}
	return those
}

// quantiles are of half and of three of four: so many are no worse.
func quantiles(all []outcome, of func(o outcome) float64) pair {
	values := make([]float64, len(all))
	for i, o := range all {
		values[i] = of(o)
	}
	slices.Sort(values)
	at := func(share float64) float64 { return values[max(0, int(math.Ceil(share*float64(len(values))))-1)] }
	return pair{at(0.5), at(0.75)}
}

// bound is the title of the bound.
func (m *matrix) bound() string {
	if m.Bound == "" || m.Bound == bounds[0] {
		return "bound"
	}
	return "bound: " + m.Bound
}

const boundSaid = "Bound: by processes that know all but what the others do; careful, even, swift: that are not told either how many there are, and search, or read what remains; untold: nor what its numbers are (but after idling, and where the limit changes)."

// report prints what was reached beside what is wanted, and the cells that are farthest from it. Old may be
// nil.
func report(w io.Writer, m, old *matrix, worstCells int) {
	fmt.Fprintf(w, "Build %s, seed %d.", cmp.Or(m.Build, "unknown"), m.Seed)
	if old != nil {
		fmt.Fprintf(w, " Before: build %s, seed %d.", cmp.Or(old.Build, "unknown"), old.Seed)
	}
	fmt.Fprint(w, "\n\n| | 1 process, short | 1, long | 3, short | 3, long | 10, long | 1, after idling | ×½ | ×2 |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, class := range classes {
		line(w, class+": goal", class, func(place string, column int) string { return goals[place].String() })
		if old != nil {
			line(w, "before", class, func(place string, _ int) string { return summary(old.in(place), goals[place]) })
			line(w, "after", class, func(place string, _ int) string { return summary(m.in(place), goals[place]) })
		} else {
			line(w, "reached", class, func(place string, _ int) string { return summary(m.in(place), goals[place]) })
		}
		line(w, m.bound(), class, func(place string, _ int) string { return summary(boundsOf(m.in(place)), goals[place]) })
	}
	fmt.Fprintf(w, "\nTime beside the least, of half / of three of four of the cells; refused per 100 likewise; and seconds until a change of the limit was adapted to (how many of the cells used the limit before it changed). **Missed**. %s\n", boundSaid)
	for _, class := range classes {
		m.farthest(w, class, old, worstCells)
	}
	if old != nil {
		moved(w, m, old, worstCells)
	}
}

// line prints a line of the table.
func line(w io.Writer, title, class string, cell func(place string, column int) string) {
	fmt.Fprintf(w, "| %s", title)
	for i, column := range columns {
		fmt.Fprintf(w, " | %s", cell(class+"/"+column, i))
	}
	fmt.Fprintln(w, " |")
}

func (g goal) String() string {
	switch {
	case g.adapted > 0:
		return fmt.Sprintf("%g s", g.adapted)
	case g.just.half == 0:
		return "–"
	case g.refused.half == g.refused.three:
		return fmt.Sprintf("%.2f/%.2f; %g", g.just.half, g.just.three, g.refused.half)
	}
	return fmt.Sprintf("%.2f/%.2f; %g/%g", g.just.half, g.just.three, g.refused.half, g.refused.three)
}

// summary is what a place of the table says.
func summary(all []outcome, g goal) string {
	if len(all) == 0 {
		return ""
	}
	if g.adapted > 0 {
		q := quantiles(all, func(o outcome) float64 { return o.Adapted })
		settled := 0
		for _, o := range all {
			if o.Settled {
				settled++
			}
		}
		return fmt.Sprintf("%s/%s s (%d of %d)", seconds(q.half), bold(seconds(q.three), q.three, g.adapted), settled, len(all))
	}
	just, refused := quantiles(all, func(o outcome) float64 { return o.Just }), quantiles(all, func(o outcome) float64 { return o.Refused })
	if none := math.Inf(1); g.just.half == 0 {
		g = goal{just: pair{none, none}, refused: pair{none, none}}
	}
	j := func(v, wanted float64) string { return bold(fmt.Sprintf("%.2f", v), math.Round(v*100)/100, wanted) }
	r := func(v, wanted float64) string { return bold(fmt.Sprintf("%.1f", v), math.Round(v*10)/10, wanted) }
	return j(just.half, g.just.half) + "/" + j(just.three, g.just.three) + "; " + r(refused.half, g.refused.half) + "/" + r(refused.three, g.refused.three)
}

// bold marks what is missed.
func bold(text string, v, wanted float64) string {
	if v > wanted {
		return "**" + text + "**"
	}
	return text
}

// seconds is a time after the change of a limit.
func seconds(v float64) string {
	if v >= watched {
		return fmt.Sprintf(">%d", watched)
	}
	return fmt.Sprintf("%.0f", v)
}

// missed is how far from the goal of three of four a cell is: 1 is just met.
func (o *outcome) missed() float64 {
	g := goals[o.place()]
	switch {
	case o.Problem != "":
		return math.Inf(1)
	case g.adapted > 0:
		return (10 + o.Adapted) / (10 + g.adapted) // a few seconds more than few are not far
	case g.just.half == 0: // after idling, what is known is still to be known
		class, _, _ := strings.Cut(o.Name, "/")
		g = goals[class+"/1-long"]
	}
	return max(o.Just/g.just.three, (10+o.Refused)/(10+g.refused.three))
}

// String says how a cell went.
func (o *outcome) String() string {
	switch {
	case o.Problem != "":
		return strings.TrimSpace(o.Problem)
	case o.changes():
		text := fmt.Sprintf("%s s, %.1f refused", seconds(o.Adapted), o.Refused)
		if !o.Settled {
			text += ", not settled before"
		}
		return text
	}
	text := fmt.Sprintf("%.2f, %.1f refused", o.Just, o.Refused)
	if o.Ended != "" {
		text = o.Ended + fmt.Sprintf(", %.1f refused", o.Refused)
	}
	if o.Failed > 0 {
		text += fmt.Sprintf(", %d failed", o.Failed)
	}
	return text
}

// farthest prints the cells of a class that are farthest from the goals.
func (m *matrix) farthest(w io.Writer, class string, old *matrix, n int) {
	var all []outcome
	above, slowest := 0, outcome{Name: "none"}
	for _, o := range m.Outcomes {
		if !strings.HasPrefix(o.Name, class+"/") {
			continue
		}
		all = append(all, o)
		if o.Just > worst {
			above++
		}
		if o.Just > slowest.Just {
			slowest = o
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b outcome) int { return cmp.Compare(b.missed(), a.missed()) })
	fmt.Fprintf(w, "\nFarthest from the goals, %s (of %d cells, %d take more than %d times the least; the slowest is `%s`, %.1f times):\n\n", class, len(all), above, worst, slowest.Name, slowest.Just)
	for _, o := range all[:min(n, len(all))] {
		beside := ""
		if b := old.named(o.Name); b != nil {
			beside = " (before: " + b.String() + ")"
		}
		if o.Bound != nil {
			beside += " (bound: " + o.Bound.String() + ")"
		}
		fmt.Fprintf(w, "- `%s` %s%s: %s\n", o.Name, o.String(), beside, o.Cell)
	}
}

// named returns the cell of a name, if it was played.
func (m *matrix) named(name string) *outcome {
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(m.Outcomes, func(o outcome) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Outcomes[i]
}

// moved prints which cells became worse the most, and which better.
func moved(w io.Writer, m, old *matrix, n int) {
	type move struct{ before, after outcome }
	var moves []move
	for _, o := range m.Outcomes {
		if b := old.named(o.Name); b != nil {
			moves = append(moves, move{*b, o})
		}
	}
	by := func(m move) float64 { return m.after.missed() / m.before.missed() }
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(by(b), by(a)) })
	show := func(title string, moves []move, still func(by float64) bool) {
		fmt.Fprintf(w, "\n%s:\n\n", title)
		for _, m := range moves[:min(2*n, len(moves))] {
			if !still(by(m)) {
				break
			}
			fmt.Fprintf(w, "- `%s` from %s to %s: %s\n", m.after.Name, m.before.String(), m.after.String(), m.after.Cell)
		}
	}
	show("Worse than before, the most", moves, func(by float64) bool { return by > 1.01 })
	slices.Reverse(moves)
	show("Better than before, the most", moves, func(by float64) bool { return by < 0.99 })
}
