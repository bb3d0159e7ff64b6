package hour

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// README.md, docs/quotas.md and package quota have the same table of sentences and texts.
func TestTablesOfTexts(t *testing.T) {
	// table returns the rows of the first match, each with a bar between the sentence and the text.
	table := func(place, text string, block, row *regexp.Regexp) (rows []string) {
		for _, m := range row.FindAllStringSubmatch(block.FindString(text), -1) {
			rows = append(rows, m[1]+" | "+strings.ReplaceAll(m[2], "`", ""))
		}
		if len(rows) < 9 {
			t.Errorf("%s has %d rows, want more", place, len(rows))
		}
		return rows
	}
	doc, err := run("", "doc", "./quota")
	if err != nil {
		t.Fatal(err)
	}
	want := table("package quota", doc, regexp.MustCompile(`(?m)^# From a provider's words to a quota\n\n(?: +.+\n)+`), regexp.MustCompile(`(?m)^ +(\S.*?) {2,}(.+)$`))
	seen := 0
	for _, p := range pages(t) {
		if !strings.Contains(p.text, "| The provider's documentation says |") {
			continue
		}
		seen++
		got := table(p.path, p.text, regexp.MustCompile(`(?m)^\| The provider's documentation says \|.*\n.*\n(?:\|.*\n)+`), regexp.MustCompile(`(?m)^\| (.+) \| (`+"`.+`"+`) \|$`))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tables (-package quota +%s):\n%s", p.path, diff)
		}
	}
	if seen != 2 {
		t.Errorf("%d pages have the table, want README.md and docs/quotas.md", seen)
	}
}
