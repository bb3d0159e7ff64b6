package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

const (
	margin = 15 // columns to the left of a timeline, for names
	slots  = 48 // columns of a timeline, each for a slot of time
)

// timelines draws what the servers of one kind saw of their clients, on one axis of time and to one scale.
func timelines(results []result) []string {
	var longest time.Duration
	for _, r := range results {
		for _, e := range r.stats.Events {
			longest = max(longest, e.Time.Sub(r.stats.First))
		}
	}
	slot := slotFor(longest, slots)
	full := 1
	for _, r := range results {
		admitted, _ := count(r.stats.Events, r.stats.First, slot, slots)
		for _, n := range admitted {
			full = max(full, n)
		}
	}
	k := results[0].kind
	lines := []string{
		k.name + ", " + k.quota + ", " + k.headers,
		row("", fmt.Sprintf("█ %d admitted in %.2f s, × some refused", full, slot.Seconds())),
	}
	for _, r := range results {
		admitted, refused := count(r.stats.Events, r.stats.First, slot, slots)
		lines = append(
			lines,
			row(r.client, bars(admitted, full)),
			row(fmt.Sprintf("  %d refused", r.stats.Refused), crosses(refused)),
		)
	}
	return append(lines, row("", axis(slot)))
}

// row is a line with a name before what is drawn.
func row(name, drawn string) string {
	return strings.TrimRight(fmt.Sprintf("%-*s%s", margin, name, drawn), " ")
}

// slotFor returns the shortest slot, a multiple of 10 ms, of which so many slots cover all instants from 0 to
// d.
func slotFor(d time.Duration, slots int) time.Duration {
	const step = 10 * time.Millisecond
	return d.Truncate(time.Duration(slots)*step)/time.Duration(slots) + step
}

// count returns how many requests were admitted and refused in each of so many slots of time.
func count(events []pacertest.Event, start time.Time, slot time.Duration, slots int) (admitted, refused []int) {
	admitted, refused = make([]int, slots), make([]int, slots)
	for _, e := range events {
		i := max(0, int(e.Time.Sub(start)/slot))
		switch {
		case i >= slots:
		case e.Status == http.StatusOK:
			admitted[i]++
		default:
			refused[i]++
		}
	}
	return admitted, refused
}

// bars draws counts as bars; a count of full is the highest bar. Every count above zero can be seen.
func bars(counts []int, full int) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	top := len(levels) - 1
	drawn := make([]rune, len(counts))
	for i, n := range counts {
		drawn[i] = levels[min(top, (n*top+full-1)/full)]
	}
	return string(drawn)
}

// crosses draws a cross wherever the count is not zero.
func crosses(counts []int) string {
	drawn := make([]rune, len(counts))
	for i, n := range counts {
		drawn[i] = ' '
		if n > 0 {
			drawn[i] = '×'
		}
	}
	return string(drawn)
}

// axis writes seconds below slots: every one, every second one, every fifth, and so on, as there is room.
func axis(slot time.Duration) string {
	const room = 5 // columns for "10 s" and a blank
	step := 1      // s
	for i := 0; step < int((room*slot+time.Second-1)/time.Second); i++ {
		step = step * []int{4, 5, 4}[i%3] / 2 // 1, 2, 5, 10, 20, …
	}
	var b strings.Builder
	for s := 0; ; s += step {
		at, label := int(time.Duration(s)*time.Second/slot), fmt.Sprintf("%d s", s)
		if at+len(label) > slots {
			return b.String()
		}
		fmt.Fprintf(&b, "%*s%s", at-b.Len(), "", label)
	}
}
