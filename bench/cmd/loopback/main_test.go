package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if answers := os.Getenv(serverVar); answers != "" {
		_ = serve(answers == trio)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Both clients are measured at both servers.
func TestCompare(t *testing.T) {
	var w strings.Builder
	if _, err := compare(&w, 2, 1, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(w.String(), "\n"); got != 6 || strings.Contains(w.String(), "NaN") {
		t.Errorf("want a head of two lines, and two clients at two servers:\n%s", w.String())
	}
}
