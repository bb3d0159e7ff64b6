package hour

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What a text says that the program above it prints: in the line, or as lines of their own.
var (
	printsInline = regexp.MustCompile("^\\s*It prints `([^`]+)`")
	printsLines  = regexp.MustCompile(`^\s*It prints:\n\n((?:\t.*\n)+)`)
)

// took is how long something took, which depends on how busy the machine is.
var took = regexp.MustCompile(`\d+\.\d+ s`)

// late is by how much a program may take longer than its text says. Programs sleep for most of their time.
const late = 2 * time.Second

// times returns the times that a text has.
func times(t *testing.T, text string) (all []time.Duration) {
	t.Helper()
	for _, s := range took.FindAllString(text, -1) {
		d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// few is what the programs print of refusals. On a machine that is busy with other tests, a timer that fires
// late may cost one or two.
var few = regexp.MustCompile(`\b[012] refused`)

// blur returns what a program prints without what may differ from run to run.
func blur(text string) string {
	return few.ReplaceAllString(took.ReplaceAllString(text, "? s"), "few refused")
}

// Every program runs, and prints what the text below it says.
func TestPrograms(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "go" || !strings.HasPrefix(b.text, "package main\n") {
				continue
			}
			t.Run(p.path, func(t *testing.T) {
				t.Parallel()
				want := ""
				if m := printsInline.FindStringSubmatch(b.after); m != nil {
					want = m[1] + "\n"
				} else if m := printsLines.FindStringSubmatch(b.after); m != nil {
					want = strings.ReplaceAll(m[1][1:], "\n\t", "\n")
				} else {
					t.Fatalf("line %d: no word of what the program prints", b.line)
				}
				file := filepath.Join(t.TempDir(), "main.go")
				if err := os.WriteFile(file, []byte(b.text), 0o644); err != nil {
					t.Fatal(err)
				}
				got, err := run("", "run", file)
				if err != nil {
					t.Fatal(err)
				}
				if blur(got) != blur(want) {
					t.Fatalf("it prints %q, and the text says %q", got, want)
				}
				said := times(t, want)
				for i, d := range times(t, got) {
					if d < said[i] || d > said[i]+late {
						t.Errorf("it prints %v, and the text says %v", d, said[i])
					}
				}
			})
		}
	}
}
