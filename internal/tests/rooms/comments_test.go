package rooms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many columns the lines of comments have at most, with tabs of four: two files stand side by side then.
const widest = 112

// narrow are the rooms of which that holds: those that learn, which explain the most.
var narrow = []string{"adaptive", "concurrency", "overload", "pace", "slowstart", "whose"}

func TestComments(t *testing.T) {
	for _, room := range narrow {
		paths, err := filepath.Glob("../../../throttle/internal/" + room + "/*.go")
		if err != nil || len(paths) == 0 {
			t.Fatal(room, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if n := columns(line); n > widest && isProse(line) {
					t.Errorf("%s/%s:%d: a comment of %d columns, want %d at most", room, filepath.Base(path), i+1, n, widest)
				}
			}
		}
	}
}

// isProse reports whether a line is nothing but a comment, and neither a table, nor code, nor a word to a tool.
func isProse(line string) bool {
	text, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
	return ok && strings.Contains(text, " ")
}

// columns returns how many columns a line has.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}
