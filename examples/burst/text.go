package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle"
)

func title() string {
	return fmt.Sprintf("One greedy client, and five limiters of %v", throttle.Quota{N: limit, Per: per})
}

func story() []string {
	return []string{
		fmt.Sprintf("It asks for %d at %v, and from %v on without end; a dot is one that went.", some, firstWave, secondWave),
		fmt.Sprintf("Lines are where windows of the clock begin, brackets where most went within %v.", per),
	}
}

// intro is what is printed before the client comes.
func intro() string {
	return title() + "\n" + strings.Join(story(), "\n") + "\n(A colon is two dots.)\n"
}

// text draws piles of what went at each step. A step is two columns: one for where a window of the clock begins, one for the pile.
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

// line draws up to two dots of each pile, on top of so many that are below.
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

// bracket draws one of the length per, from an instant on.
func bracket(from time.Duration, label string) string {
	dashes := columns(per) - 2 - len(label)
	left := strings.Repeat("─", dashes/2)
	right := strings.Repeat("─", dashes-dashes/2)
	return strings.Repeat(" ", columns(from)+1) + "└" + left + label + right + "┘\n"
}

func axis() string {
	var b strings.Builder
	for t := time.Duration(0); t < end; t += per {
		fmt.Fprintf(&b, "%-*v", columns(per), t)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

func columns(d time.Duration) int { return int(2 * d / step) }
