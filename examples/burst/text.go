package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
)

// title is the headline of both drawings.
func title() string {
	return fmt.Sprintf("One greedy client, and five limiters of %v", quota.Quota{N: limit, Per: per})
}

// story says what the drawings show.
func story() []string {
	return []string{
		fmt.Sprintf("It asks for %d at %v, and from %v on without end; a dot is one that went.", some, firstWave, secondWave),
		fmt.Sprintf("Lines are where windows of the clock begin, brackets where most went within %v.", per),
	}
}

// intro is the text that is printed before the client comes.
func intro() string {
	return title() + "\n" + strings.Join(story(), "\n") + "\n(A colon is two dots.)\n"
}

// text draws the requests that went at each step as a pile of dots. A step has two columns: one for the line
// where a window of the clock begins, and one for the pile.
func text(ws []*way) string {
	var b strings.Builder
	for _, w := range ws {
		fmt.Fprintf(&b, "\n%s: %v\n%s\n", w.name, w.quota, w.when)
		counts := w.counts()
		for low := (slices.Max(counts) - 1) / 2 * 2; low >= 0; low -= 2 {
			b.WriteString(line(counts, low))
		}
		from, most := w.fullest()
		b.WriteString(bracket(from, fmt.Sprintf(" %d in %v ", most, per)))
	}
	return b.String() + axis()
}

// line draws one line of all piles, up to two dots of each. Low is how many dots of a pile are in the lines
// below.
func line(counts []int, low int) string {
	dots := []string{" ", ".", ":"}
	var b strings.Builder
	for i, n := range counts {
		edge := " "
		if time.Duration(i)*step%per == 0 {
			edge = "│"
		}
		b.WriteString(edge + dots[min(max(n-low, 0), 2)])
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// bracket draws a bracket with a label, from an instant on and as long as per.
func bracket(from time.Duration, label string) string {
	dashes := columns(per) - 2 - len(label)
	left := strings.Repeat("─", dashes/2)
	right := strings.Repeat("─", dashes-dashes/2)
	return strings.Repeat(" ", columns(from)+1) + "└" + left + label + right + "┘\n"
}

// axis writes the seconds below the piles.
func axis() string {
	var b strings.Builder
	for t := time.Duration(0); t < end; t += per {
		fmt.Fprintf(&b, "%-*v", columns(per), t)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// columns returns how many columns a duration has.
func columns(d time.Duration) int { return int(2 * d / step) }
