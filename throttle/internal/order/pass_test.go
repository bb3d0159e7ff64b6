package order

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Letters are those in line, at ranks 10, 20, …: lower ones were not refused, of upper ones the later in the
// alphabet was refused the later. One of a rank went ahead of them and was served. Wanted is the line after
// that.
func TestPass(t *testing.T) {
	for _, test := range []struct {
		line  string
		rank  monotime.Time
		times int
		want  string
	}{
		{"abcdefghijklmnop", 25, 1, "cdefghijabklmnop"},     // half of them pass
		{"abcdefghijklmnop", 25, 0, "abcdefghijklmnop"},     // it did not go ahead
		{"abcdefghijklmnop", 155, 1, "ijklmnopabcdefgh"},    // where few stand behind it, those just before it pass as well
		{"abcdefghijklmnopXY", 25, 1, "cdefYghijabXklmnop"}, // the one that was refused last goes first, after three of five: the others in their order
		{"XYabcdefghijklmnop", 45, 1, "cdefYghijXabklmnop"}, //
		{"ab-cdefghijklmnop", 25, 1, "-cdefghijabklmnop"},   // a guest of another bucket stays
		{"abcdefghijklmnoXY", 25, 1, "abcdefghijklmnoXY"},   // too few could pass
		{strings.Repeat("x", 20) + strings.Repeat("y", 80), 205, 1, strings.Repeat("y", mostPass) + strings.Repeat("x", 20) + strings.Repeat("y", 80-mostPass)},
	} {
		type waiter struct {
			name   rune
			number int
			rank   monotime.Time
			passed int
		}
		var line []*waiter
		for i, c := range test.line {
			line = append(line, &waiter{c, i, monotime.Time(10 * (i + 1)), 0})
		}
		of := func(w *waiter) Standing {
			refused := uint64(0)
			if w.name >= 'A' && w.name <= 'Z' {
				refused = uint64(w.name)
			}
			return At(w.rank, w.passed, refused, w.name == '-')
		}
		sorted := func() (names string) {
			all := slices.Clone(line)
			slices.SortFunc(all, func(a, b *waiter) int {
				if a.rank != b.rank {
					return int(a.rank - b.rank)
				}
				return a.number - b.number
			})
			for _, w := range all {
				names += string(w.name)
			}
			return names
		}
		for w, rank := range Pass(slices.Values(line), test.rank, test.times, of) {
			w.rank, w.passed = rank, w.passed+1
		}
		if got := sorted(); got != test.want {
			t.Errorf("%s, %d: %s, want %s", test.line, test.rank, got, test.want)
		}
	}
}

// Who has let others pass as often as it is to stays where it is, and a loop that ends early moves no more.
func TestPassOnce(t *testing.T) {
	of := func(rank monotime.Time) Standing { return At(rank, int(rank)%2, 0, false) }
	moved := ""
	for w, rank := range Pass(slices.Values([]monotime.Time{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}), 4, 1, of) {
		moved += fmt.Sprint(w, "→", rank, " ")
	}
	if want := "2→13 4→13 "; moved != want {
		t.Errorf("moved %s, want %s", moved, want)
	}
	for w := range Pass(slices.Values([]monotime.Time{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32}), 4, 1, of) {
		if w != 2 {
			t.Errorf("%d follows", w)
		}
		break
	}
}

// The first is there whether it matches or not.
func TestFirstAnd(t *testing.T) {
	var q Queue[*guest]
	odd := func(g *guest) bool { return g.rank%2 == 1 }
	for rank := range 7 {
		var got []int
		for _, g := range q.FirstAnd(odd) {
			got = append(got, g.rank)
		}
		if want := [][]int{nil, {0}, {0, 1}, {0, 1}, {0, 1, 3}, {0, 1, 3}, {0, 1, 3, 5}}[rank]; !slices.Equal(got, want) {
			t.Errorf("of %d: %v, want %v", rank, got, want)
		}
		q.Insert(&guest{rank: rank, row: rank % Rows}, 1)
	}
}
