//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gopacer/pacer/pacertest"
)

// TestStopped: while a process is stopped that has the lock of what was learned, a run does its work.
func TestStopped(t *testing.T) {
	server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 100, Burst: 20}, pacertest.RetryAfterOnly)
	url := server.Start()
	defer server.Close()
	dir := t.TempDir()
	for _, stopped := range []bool{false, true} {
		f, err := os.OpenFile(filepath.Join(dir, "news"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if stopped {
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		}
		if tally, err := tool(t.Context(), url, dir, 3); err != nil || tally.Answered != 3 {
			t.Errorf("stopped is %v: %d answered, %v; want 3", stopped, tally.Answered, err)
		}
	}
}
