package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/pacertest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// at returns events with a status, each so many milliseconds after noon.
func at(status int, ms ...int) []pacertest.Event {
	var events []pacertest.Event
	for _, m := range ms {
		events = append(events, pacertest.Event{Time: noon.Add(time.Duration(m) * time.Millisecond), Status: status})
	}
	return events
}

// seen returns what a server that admits 2 requests a second saw of a client.
func seen(client string, admitted, refused []int) result {
	r := result{
		kind: kind{
			name: "fixed window", quota: "2 in 1 s", headers: "none",
			algorithm: &pacertest.FixedWindow{Limit: 2, Window: time.Second},
		},
		client: client, short: client, wanted: 6,
	}
	r.stats = pacertest.Stats{
		Admitted: len(admitted), Refused: len(refused),
		Events: append(at(http.StatusOK, admitted...), at(http.StatusTooManyRequests, refused...)...),
	}
	if len(admitted) > 0 {
		r.stats.First = noon.Add(time.Duration(admitted[0]) * time.Millisecond)
		r.stats.Last = noon.Add(time.Duration(admitted[len(admitted)-1]) * time.Millisecond)
	}
	return r
}

func both() []result {
	return []result{
		seen("retrying", []int{0, 1, 1500, 1501, 3000, 3001}, []int{2, 3, 500, 4000}),
		seen("pacing", []int{0, 1, 1000, 1001, 2000, 2001}, nil),
	}
}

func TestTimelines(t *testing.T) {
	want := []string{
		"fixed window, 2 in 1 s, none",
		"               █ 2 admitted in 0.09 s, × some refused",
		"retrying       █               █                █",
		"  4 refused    ×    ×                                      ×",
		"pacing         █          █          █",
		"  0 refused",
		"               0 s        1 s        2 s        3 s        4 s",
	}
	got := timelines(both())
	// The slot of 90 ms covers 4 s in 45 slots.
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("timelines (-want +got):\n%s", diff)
	}
}

// Nothing is wrapped in a narrow terminal.
func TestColumns(t *testing.T) {
	noon, fast := time.Now(), seen("retryablehttp", []int{0, 1, 1500, 1501, 3000, 3001}, []int{2, 3, 500, 4000})
	fast.stats.Admitted, fast.stats.Refused, fast.wanted, fast.short = 200, 195, 200, "retrying"
	var all []result
	for _, k := range kinds(noon) {
		fast.kind = k
		all = append(all, fast, fast)
	}
	for name, lines := range map[string][]string{
		"intro":    intro(kinds(noon), requests, callers),
		"progress": progress(all, 10*time.Second, noon),
		"sparse":   append(sparseHead(all), sparse(all, 10*time.Second)),
		"timeline": slices.Concat(timelines(all[:2]), timelines(all[2:4]), timelines(all[4:])),
		"table":    table(all),
		"outro":    outro(),
	} {
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > 64 {
				t.Errorf("%s has %d columns: %s", name, n, line)
			}
		}
	}
}

func TestTimelinesOfNothing(t *testing.T) {
	got := timelines([]result{seen("retrying", nil, nil)})
	if got, want := got[2], "retrying"; got != want {
		t.Errorf("a server that nobody called is drawn as %q, want %q", got, want)
	}
}

func TestSlotFor(t *testing.T) {
	tests := []struct{ d, want time.Duration }{
		{0, 10 * time.Millisecond},
		{639 * time.Millisecond, 10 * time.Millisecond},
		{640 * time.Millisecond, 20 * time.Millisecond}, // slot 64 would be the 65th
		{9 * time.Second, 150 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := slotFor(tt.d, 64); got != tt.want {
			t.Errorf("slotFor(%v) = %v, want %v", tt.d, got, tt.want)
		}
	}
}

func TestBars(t *testing.T) {
	tests := []struct {
		counts []int
		full   int
		want   string
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 8, " ▁▂▃▄▅▆▇█"},
		{[]int{0, 1, 25, 50}, 50, " ▁▄█"}, // 1 of 50 can be seen
		{[]int{1, 9}, 1, "██"},            // more than full is full
	}
	for _, tt := range tests {
		if got := bars(tt.counts, tt.full); got != tt.want {
			t.Errorf("bars(%v, %d) = %q, want %q", tt.counts, tt.full, got, tt.want)
		}
	}
}

func TestAxis(t *testing.T) {
	tests := []struct {
		slot time.Duration
		want string
	}{
		{200 * time.Millisecond, "0 s  1 s  2 s  3 s  4 s  5 s  6 s  7 s  8 s  9 s"},
		{250 * time.Millisecond, "0 s     2 s     4 s     6 s     8 s     10 s"},
		{time.Second, "0 s  5 s  10 s 15 s 20 s 25 s 30 s 35 s 40 s"},
		{time.Minute, "0 s     500 s   1000 s   1500 s  2000 s  2500 s"},
	}
	for _, tt := range tests {
		if got := axis(tt.slot); got != tt.want {
			t.Errorf("axis(%v) = %q, want %q", tt.slot, got, tt.want)
		}
	}
}
