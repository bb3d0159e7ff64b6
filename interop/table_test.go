package interop

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func summaries() []Summary {
	silent := cell(Pacer, 10)
	silent.Server.Name, silent.Server.Says = "mute", nothing
	shared := cell(Pacer, 10)
	shared.Workload = Workload{Name: "three processes", Processes: 3}
	return []Summary{
		{Cell: cell(Pacer, 10), Ratio: 1.0404, RefusedPer100: 1.5, Longest: 1500 * time.Millisecond},
		{Cell: cell(HandSet, 10), Ratio: 1.035, RefusedPer100: 0.9, Longest: time.Second},
		{Cell: cell("naive", 10), Ratio: math.Inf(1), RefusedPer100: 832.4},
		{Cell: silent, Ratio: 1.101, RefusedPer100: 12, Longest: 250 * time.Millisecond, GaveUp: 7},
		{Cell: shared, Ratio: 1.10, RefusedPer100: 5},
	}
}

func TestTableText(t *testing.T) {
	want := `
server             pacer                 x/time/rate, hand-set  naive
pairs, 2/s window  1.040 · 1.5 · 1.5     1.035 · 0.9 · 1.0      fails · 832
mute, 2/s window   1.101 · 12 · 0.2 (7)  –                      –
median             1.101 · 12            1.035 · 0.9            fails · 832
worst              1.101 · 12            1.035 · 0.9            fails · 832
`
	var b strings.Builder
	if err := Table(summaries(), "one process").Text(&b); err != nil {
		t.Fatal(err)
	}
	if got := "\n" + b.String(); got != want {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
}

func TestTableMarkdown(t *testing.T) {
	want := `| server | pacer |
|---|---|
| pairs, 2/s window | 1.100 · 5.0 · 0.0 |
| median | 1.100 · 5.0 |
| worst | 1.100 · 5.0 |
`
	var b strings.Builder
	if err := Table(summaries(), "three processes").Markdown(&b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestMissed(t *testing.T) {
	want := []string{
		"one process, pairs, 2/s window: 1.5 refused per 100, hand-set 0.9",
		"one process, mute, 2/s window: ratio 1.101, aim 1.10; 12.0 refused per 100, aim 3",
	}
	if got := Missed(summaries()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
