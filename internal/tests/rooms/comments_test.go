package rooms

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many columns the lines of comments have at most, with tabs of four: two files stand side by
// side then.
const widest = 112

// That holds for nested modules, too.
func TestComments(t *testing.T) {
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, i := range wide(string(text)) {
			t.Errorf("%s:%d: a comment of more than %d columns: begin a new line before that", strings.TrimPrefix(filepath.ToSlash(path), root+"/"), i, widest)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWideFindsWideComments(t *testing.T) {
	words := strings.Repeat("word ", 22) // of 110 columns
	const slashes = "// "
	for text, want := range map[string]int{
		slashes + words[1:]:                             0,
		slashes + words:                                 1,
		"\t\t" + slashes + words[9:]:                    0,
		"\t\t" + slashes + words[8:]:                    1,
		"f() " + slashes + words:                        0, // beside code
		slashes + strings.ReplaceAll(words, " ", "/"):   0, // an address
		"// Output:\n" + slashes + words:                0,
		"// Output:\n// 1\n}\n\n" + slashes + words:     1,
		"// Unordered output: 1 2\n" + slashes + words:  0,
		slashes + words + "\n" + slashes + words + "\n": 2,
	} {
		if got := len(wide(text)); got != want {
			t.Errorf("%d wide comments, want %d, in:\n%s", got, want, text)
		}
	}
}

var output = regexp.MustCompile(`(?i)^// *(unordered )?output:`)

// wide returns which lines of a file, counted from 1, are nothing but a comment, and too wide: neither what an
// example prints, nor one word that is long.
func wide(text string) (found []int) {
	printed := false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, "\t")
		printed = strings.HasPrefix(trimmed, "//") && (printed || output.MatchString(trimmed))
		words, ok := strings.CutPrefix(trimmed, "// ")
		if ok && !printed && strings.Contains(words, " ") && columns(line) > widest {
			found = append(found, i+1)
		}
	}
	return found
}

// columns returns how many columns a line has.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}
