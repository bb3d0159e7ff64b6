package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress(t *testing.T) {
	results := []result{
		seen("retrying", []int{0, 1, 1500}, []int{2, 3, 500}),
		seen("pacing", []int{0, 1, 1000, 1001, 2000, 2001}, nil),
	}
	// Of the second before 2.1 s, the first client has one request.
	want := `
fixed window, 2 in 1 s
  retrying      ███████░░░░░░░░   3/6       1/s   3 refused
  pacing        ███████████████   6/6 in 2.00 s   0 refused
2.1 s`
	got := progress(results, 2100*time.Millisecond, noon.Add(2100*time.Millisecond))
	if diff := cmp.Diff(want, "\n"+strings.Join(got, "\n")); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestSparse(t *testing.T) {
	results := both()
	want := `
After how many seconds how many requests of each client were
admitted and, in brackets, refused by its server so far:

      fixed window
   s  retrying    pacing
 4.0     6 (4)     6 (0)`
	got := append(sparseHead(results), sparse(results, 4*time.Second))
	if diff := cmp.Diff(want, "\n"+strings.Join(got, "\n")); diff != "" {
		t.Errorf("sparse (-want +got):\n%s", diff)
	}
}

func TestBar(t *testing.T) {
	tests := []struct {
		n, all int
		want   string
	}{
		{0, 200, "░░░░"},
		{199, 200, "███░"}, // full only when all is done
		{200, 200, "████"},
		{201, 200, "████"},
		{0, 0, "░░░░"},
	}
	for _, tt := range tests {
		if got := bar(tt.n, tt.all, 4); got != tt.want {
			t.Errorf("bar(%d, %d) = %s, want %s", tt.n, tt.all, got, tt.want)
		}
	}
}
