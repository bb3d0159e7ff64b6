package hour

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a text says that the program above it prints: in the line, or as lines of their own.
var (
	printsInline = regexp.MustCompile("^\\s*It prints `([^`]+)`")
	printsLines  = regexp.MustCompile(`^\s*It prints:\n\n((?:\t.*\n)+)`)
)

// measured is what depends on how busy the machine is: how long something took, and what was refused meanwhile.
var measured = regexp.MustCompile(`\d+ refused|\d+\.\d+ s`)

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
				if measured.ReplaceAllString(got, "?") != measured.ReplaceAllString(want, "?") {
					t.Errorf("it prints %q, and the text says %q", got, want)
				}
			})
		}
	}
}
