package main

import (
	"fmt"
	"time"
)

// table compares the time of each client with the least possible time.
func table(results []result) []string {
	const columns = "%-16s %-13s %8s %8s %6s %8s"
	lines := []string{fmt.Sprintf(columns, "server", "client", "time", "least", "ratio", "refused")}
	for i, r := range results {
		name := r.kind.name
		if i > 0 && name == results[i-1].kind.name {
			name = ""
		}
		took, least := r.took(), r.least()
		line := fmt.Sprintf(columns, name, r.client, seconds(took), seconds(least), ratio(took, least), fmt.Sprintf("%.1f", r.refusedPer100()))
		lines = append(lines, line)
		if r.stats.Admitted < r.wanted {
			lines = append(lines, fmt.Sprintf("%-16s not finished: only %d of %d were admitted", "", r.stats.Admitted, r.wanted))
		}
	}
	return lines
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// ratio writes how many times longer than the least possible time a client took.
func ratio(took, least time.Duration) string {
	if least <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", took.Seconds()/least.Seconds())
}
