package main

import (
	"fmt"
	"strings"
	"time"
)

// progress draws how far every client has come. The number of lines is always the same.
func progress(results []result, elapsed time.Duration, now time.Time) []string {
	var lines []string
	for i, r := range results {
		if i == 0 || r.kind.name != results[i-1].kind.name {
			lines = append(lines, r.kind.name+", "+r.kind.quota)
		}
		pace := fmt.Sprintf("%d/s", r.rate(now))
		if r.stats.Admitted == r.wanted {
			pace = fmt.Sprintf("in %.2f s", r.took().Seconds())
		}
		lines = append(lines, fmt.Sprintf("  %-13s %s %3d/%d %9s %3d refused",
			r.client, bar(r.stats.Admitted, r.wanted, 15), r.stats.Admitted, r.wanted, pace, r.stats.Refused))
	}
	return append(lines, fmt.Sprintf("%.1f s", elapsed.Seconds()))
}

// bar draws n of all as a bar that is so many columns wide.
func bar(n, all, columns int) string {
	filled := min(columns, columns*n/max(all, 1))
	return strings.Repeat("█", filled) + strings.Repeat("░", columns-filled)
}

// sparse is progress in one line, for a file or a pipe: for each client how many requests were admitted
// and, in brackets, refused.
func sparse(results []result, elapsed time.Duration) string {
	line := fmt.Sprintf("%4.1f", elapsed.Seconds())
	for _, r := range results {
		line += fmt.Sprintf(cell, fmt.Sprintf("%d (%d)", r.stats.Admitted, r.stats.Refused))
	}
	return line
}

const cell = " %9s" // of a client, in the lines of sparse: "200 (195)"

// sparseHead is a legend and the head for the lines of sparse.
func sparseHead(results []result) []string {
	servers, clients := "", "   s"
	for i, r := range results {
		if i == 0 || r.kind.name != results[i-1].kind.name {
			servers = fmt.Sprintf("%-*s%s", len(clients)+2, servers, r.kind.name)
		}
		clients += fmt.Sprintf(cell, r.short)
	}
	return []string{
		"After how many seconds how many requests of each client were",
		"admitted and, in brackets, refused by its server so far:",
		"",
		servers,
		clients,
	}
}
