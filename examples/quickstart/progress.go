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
		lines = append(lines, fmt.Sprintf("  %-14s %s %3d/%d %9s %4d refused",
			r.client, bar(r.stats.Admitted, r.wanted, 28), r.stats.Admitted, r.wanted, pace, r.stats.Refused))
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
	line := fmt.Sprintf("%4.1f s", elapsed.Seconds())
	for _, r := range results {
		line += fmt.Sprintf(" %*s", columns(r), fmt.Sprintf("%d (%d)", r.stats.Admitted, r.stats.Refused))
	}
	return line
}

// sparseHead is the head of the lines of sparse.
func sparseHead(results []result) []string {
	servers, clients := "", "      "
	for i, r := range results {
		if i == 0 || r.kind.name != results[i-1].kind.name {
			servers = fmt.Sprintf("%-*s%s", len(clients)+1, servers, r.kind.name)
		}
		clients += fmt.Sprintf(" %*s", columns(r), r.client)
	}
	return []string{servers, clients}
}

// columns is the width of a client's column in the lines of sparse.
func columns(r result) int { return max(len(r.client), len("200 (99)")) }
