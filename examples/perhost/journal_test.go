package main

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJournal(t *testing.T) {
	j := &journal{out: io.Discard}
	j.add("POST b/messages", 0, "")
	j.add("GET a/", 10*time.Millisecond, "")
	j.add("GET a/", 260*time.Millisecond, "")
	want := `
At which second the requests of each route went:
GET a/                               0.01 0.26
POST b/messages                      0.00
`
	if diff := cmp.Diff(want, j.String()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestLine(t *testing.T) {
	got := line("GET a/", 260*time.Millisecond, `waited 0.25 s: pace of "search"`)
	want := ` 0.26 s  GET a/                              waited 0.25 s: pace of "search"`
	if got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	if got, want := line("GET a/", 0, ""), " 0.00 s  GET a/"; got != want {
		t.Errorf("line of what did not wait = %q, want %q", got, want)
	}
}

func TestQuotasAreValid(t *testing.T) {
	for pattern, qs := range quotas {
		if err := qs.Validate(); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
