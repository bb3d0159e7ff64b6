package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestSharingIsNotRefused: the table shows what README.md and docs/sharing.md say: each run for itself is
// refused; sharing, none is.
func TestSharingIsNotRefused(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cli")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program, "-runs", "6").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	refused := func(row string) int {
		m := regexp.MustCompile(`(?m)^` + row + ` +120 +(\d+) `).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no row %q in\n%s", row, out)
		}
		n, _ := strconv.Atoi(string(m[1]))
		return n
	}
	if alone, shared := refused("each for itself"), refused("sharing"); alone == 0 || shared != 0 {
		t.Errorf("refused %d times each for itself, and %d sharing; want some, and none\n%s", alone, shared, out)
	}
}
