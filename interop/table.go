package interop

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Legend says what the three figures in a table are.
const Legend = "makespan / least possible · refused per 100 admitted · longest wait of a request in s" +
	" (and how often the client gave a request up, which was then sent again)"

// Grid is a table of text: the first row is its head.
type Grid [][]string

// Table returns the summaries of one workload: a row for each server, a column for each
// client, and under them the clients' medians and worst figures.
func Table(all []Summary, workload string) Grid {
	of := slices.DeleteFunc(slices.Clone(all), func(s Summary) bool { return s.Cell.Workload.Name != workload })
	var servers, clients []string
	for _, s := range of {
		servers, clients = once(servers, row(s)), once(clients, s.Cell.Client.Name)
	}
	grid := Grid{append([]string{"server"}, clients...)}
	for _, server := range servers {
		line := []string{server}
		for _, client := range clients {
			line = append(line, figures(of, server, client))
		}
		grid = append(grid, line)
	}
	middle, worst := []string{"median"}, []string{"worst"}
	for _, client := range clients {
		mine := slices.DeleteFunc(slices.Clone(of), func(s Summary) bool { return s.Cell.Client.Name != client })
		ratio, refused := func(s Summary) float64 { return s.Ratio }, func(s Summary) float64 { return s.RefusedPer100 }
		middle = append(middle, two(median(mine, ratio), median(mine, refused)))
		worst = append(worst, two(most(mine, ratio), most(mine, refused)))
	}
	return append(grid, middle, worst)
}

func row(s Summary) string { return s.Cell.Server.Name + ", " + s.Cell.Server.Documented().String() }

// once appends s unless it is there.
func once(to []string, s string) []string {
	if slices.Contains(to, s) {
		return to
	}
	return append(to, s)
}

func figures(of []Summary, server, client string) string {
	i := slices.IndexFunc(of, func(s Summary) bool { return row(s) == server && s.Cell.Client.Name == client })
	if i < 0 {
		return "–"
	}
	s := of[i]
	if math.IsInf(s.Ratio, 1) {
		return two(s.Ratio, s.RefusedPer100)
	}
	text := two(s.Ratio, s.RefusedPer100) + fmt.Sprintf(" · %.1f", s.Longest.Seconds())
	if s.GaveUp > 0 {
		text += fmt.Sprintf(" (%.0f)", s.GaveUp)
	}
	return text
}

func two(ratio, refused float64) string {
	if math.IsInf(ratio, 1) {
		return fmt.Sprintf("fails · %.0f", refused)
	}
	if refused < 10 {
		return fmt.Sprintf("%.3f · %.1f", ratio, refused)
	}
	return fmt.Sprintf("%.3f · %.0f", ratio, refused)
}

func most(of []Summary, says func(Summary) float64) float64 {
	worst := 0.0
	for _, s := range of {
		worst = max(worst, says(s))
	}
	return worst
}

// Text writes the table in columns.
func (g Grid) Text(w io.Writer) error {
	widths := make([]int, len(g[0]))
	for _, line := range g {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range g {
		var b strings.Builder
		for i, cell := range line {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// Markdown writes the table in Markdown.
func (g Grid) Markdown(w io.Writer) error {
	for i, line := range g {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintln(w, "|"+strings.Repeat("---|", len(line))); err != nil {
				return err
			}
		}
	}
	return nil
}
