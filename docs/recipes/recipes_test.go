// Package recipes has programs to copy from, each in a directory of its own. README.md lists them.
package recipes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	// The go command takes the result of a test from its cache unless something changed that the test
	// imports or has read.
	_ "github.com/gopacer/pacer"
	_ "github.com/gopacer/pacer/pacertest"
)

// Every program runs as it stands, and the last line that it prints is the one that its comment says.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	said := regexp.MustCompile(`(?m)prints$\n//\n//\t(.+)\npackage main$`)
	for _, file := range files {
		name := filepath.Dir(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := said.FindSubmatch(source)
			if want == nil {
				t.Fatal("no word of what the program prints")
			}
			out, err := exec.Command("go", "run", "./"+name).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if got := lines[len(lines)-1]; got != string(want[1]) {
				t.Errorf("it prints %q, and the comment says %q", got, want[1])
			}
		})
	}
}

func TestReadmeListsAll(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		if name := dir.Name(); dir.IsDir() && !strings.Contains(string(page), "\n| ["+name+"]("+name+"/main.go) | ") {
			t.Errorf("README.md has no row for %s", name)
		}
	}
	if dirs, rows := len(all)-4, strings.Count(string(page), "/main.go) | "); dirs != rows { // go.mod, go.sum, README.md, this file
		t.Errorf("README.md has %d rows for %d recipes", rows, dirs)
	}
}
