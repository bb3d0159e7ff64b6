package hour

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// learning has the rooms that learn, and the file of each that says in its package comment what the others are
// for.
var learning = map[string]string{"adaptive": "adaptive.go", "concurrency": "concurrency.go", "overload": "overload.go", "pace": "pace.go", "slowstart": "slowstart.go", "whose": "whose.go"}

// TestRulesOfLearning: docs/learning-rules.md has each file of the rooms that learn in one heading, so that who
// changes a file finds its rules, and who reads a rule finds its file. The package comment of the room names
// each of them as well.
func TestRulesOfLearning(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "learning-rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for _, heading := range regexp.MustCompile("(?m)^##+ .*$").FindAllString(string(text), -1) {
		for _, m := range regexp.MustCompile("`(\\w+/\\w+\\.go)`").FindAllStringSubmatch(heading, -1) {
			named[m[1]]++
		}
	}
	for room, first := range learning {
		paths, err := filepath.Glob(filepath.Join(root, "throttle", "internal", room, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatal(room, err)
		}
		comment := packageComment(t, filepath.Join(root, "throttle", "internal", room, first))
		for _, path := range paths {
			file := filepath.Base(path)
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			if n := named[room+"/"+file]; n != 1 {
				t.Errorf("%d headings of docs/learning-rules.md name `%s/%s`, want 1", n, room, file)
			}
			delete(named, room+"/"+file)
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(file) + `\b`).MatchString(comment) {
				t.Errorf("the package comment of %s does not name %s", room, file)
			}
		}
	}
	for file := range named {
		t.Errorf("a heading of docs/learning-rules.md names `%s`, which is not there", file)
	}
}

// packageComment returns the comment with which a file begins.
func packageComment(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment, _, found := strings.Cut(string(text), "\npackage ")
	if !found {
		t.Fatalf("%s has no package comment", path)
	}
	return comment
}

// TestTriedIsShort: who has an idea for a rule of learning looks first whether it was tried. So the page that
// says so can be read, and each of its headings names files that are there: lines about a rule that is gone go
// as well.
func TestTriedIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "tests", "matrix", "tried.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 9000 {
		t.Errorf("tried.md has %d words, want 9000 at most", n)
	}
	named := 0
	for _, heading := range regexp.MustCompile("(?m)^### .*$").FindAllString(string(text), -1) {
		for _, m := range regexp.MustCompile("`(\\w+/\\w+\\.go)`").FindAllStringSubmatch(heading, -1) {
			named++
			if _, err := os.Stat(filepath.Join(root, "throttle", "internal", m[1])); err != nil {
				t.Errorf("the heading %q of tried.md: %v", heading, err)
			}
		}
	}
	if named == 0 {
		t.Error("no heading of tried.md names a file")
	}
}

// TestLearningIsShort: docs/learning.md explains the model in two printed pages, with a picture of each class
// of servers. Each rule is elsewhere.
func TestLearningIsShort(t *testing.T) {
	for name, most := range map[string]int{"learning.md": 135, "learning-rules.md": 0} {
		file, err := os.Open(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines, pictures := 0, 0
		for s := bufio.NewScanner(file); s.Scan(); {
			lines++
			if n := utf8.RuneCountInString(s.Text()); n > 160 {
				t.Errorf("%s:%d has %d characters, want 160 at most", name, lines, n)
			}
			if strings.HasPrefix(s.Text(), "![") {
				pictures++
			}
		}
		if most > 0 && (lines > most || pictures != 4) {
			t.Errorf("%s has %d lines and %d pictures, want %d at most, and 4", name, lines, pictures, most)
		}
	}
}
