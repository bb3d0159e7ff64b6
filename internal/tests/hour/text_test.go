package hour

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gopacer/pacer/quota"
)

// Texts of quotas, in the tables that show them, can be read and are written in the same way.
func TestTexts(t *testing.T) {
	span, seen := regexp.MustCompile("`([^`]+)`"), 0
	for _, p := range pages(t) {
		column := -1 // of the table that a line is in
		for line := range strings.Lines(p.prose()) {
			cells := strings.Split(strings.TrimSpace(line), "|")
			switch {
			case len(cells) < 3:
				column = -1
				continue
			case column < 0:
				column = 0
				for i, head := range cells {
					if head = strings.TrimSpace(head); head == "Write" || head == "Text" {
						column = i
					}
				}
				continue
			case column == 0:
				continue
			}
			for _, m := range span.FindAllStringSubmatch(cells[column], -1) {
				qs, err := quota.Parse(m[1])
				if err != nil {
					t.Errorf("%s: %v", p.path, err)
				} else if got := qs.String(); got != m[1] {
					t.Errorf("%s: %q is written as %q", p.path, m[1], got)
				}
				seen++
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d texts found, want more", seen)
	}
}

// README.md and docs/quotas.md have the same table of sentences and texts.
func TestTablesOfTexts(t *testing.T) {
	table := regexp.MustCompile(`(?m)^\| The provider's documentation says \|(?:.*\n)+?\n`)
	var tables []string
	for _, p := range pages(t) {
		tables = append(tables, table.FindAllString(p.text, -1)...)
	}
	if len(tables) != 2 || tables[0] != tables[1] {
		t.Errorf("%d tables, want two that are alike: %q", len(tables), tables)
	}
}
