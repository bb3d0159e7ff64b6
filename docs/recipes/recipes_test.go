// Package recipes has programs to copy from, each in a directory of its own. README.md lists them.
package recipes

import (
	"os"
	"strings"
	"testing"
)

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
