package contract

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/gopacer/pacer/interop"
)

// Table returns a row for each question, with a column for each peer and one for the rule. With
// mark, answers that break it are marked.
func Table(all []Answer, mark func(string) string) interop.Grid {
	head := []string{"what happens"}
	var grid interop.Grid
	for i, a := range all {
		if i == 0 || all[i-1].Question.Name != a.Question.Name {
			grid = append(grid, []string{a.Question.Name})
		}
		text := a.Text
		if a.Wrong() {
			text = mark(text)
		}
		row := len(grid) - 1
		grid[row] = append(grid[row], text)
		if row == 0 {
			head = append(head, a.Peer.Name)
		}
		if i == len(all)-1 || all[i+1].Question.Name != a.Question.Name {
			grid[row] = append(grid[row], a.Question.Rule)
		}
	}
	return append(interop.Grid{append(head, "rule")}, grid...)
}

// Bold marks in Markdown, and Star in text.
func Bold(text string) string { return "**" + text + "**" }

// Star marks in text.
func Star(text string) string { return "* " + text }

// Made says when the answers were given, by what and on what.
func Made(peers []Peer) string {
	return fmt.Sprintf("%s, %s, %s/%s. %s.", time.Now().UTC().Format("2 January 2006"), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		strings.Join(Versions(peers), ", "))
}
