package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The table shows what README.md and docs/sharing.md say of it: each for itself, about a third of the calls is
// wasted and all are banned; sharing, none is.
func TestSharingWastesNoCalls(t *testing.T) {
	program := filepath.Join(t.TempDir(), "shared")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// row returns the two totals of a row, without what is in brackets.
	row := func(what string) (alone, shared int) {
		m := regexp.MustCompile(`(?m)^` + what + ` +(\d+)(?: \(\S+\))? +(\d+)(?: \(\S+\))?$`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no row %q in\n%s", what, out)
		}
		alone, _ = strconv.Atoi(string(m[1]))
		shared, _ = strconv.Atoi(string(m[2]))
		return alone, shared
	}
	requests, sharedRequests := row("requests")
	refused, sharedRefused := row("refused with 429")
	bans, sharedBans := row("bans")
	if refused < requests/5 || refused > requests/2 || bans == 0 {
		t.Errorf("each for itself, %d of %d calls were refused, and there were %d bans; want about a third, and one at least", refused, requests, bans)
	}
	// What leaves just in time may arrive late on a busy machine, and processes are late to begin there: of the
	// five seconds, one must do.
	if sharedRequests < perSecond || sharedRefused > sharedRequests/20 || sharedBans != 0 {
		t.Errorf("sharing, %d of %d calls were refused, and there were %d bans; want none", sharedRefused, sharedRequests, sharedBans)
	}
	if t.Failed() {
		t.Logf("it prints\n%s", out)
	}
}
