package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	results := append(both(), seen("failing", []int{0}, []int{1, 2}))
	want := `
server           client            time    least  ratio  refused
fixed window     retrying        3.00 s   2.00 s  1.500     66.7
                 pacing          2.00 s   2.00 s  1.000      0.0
                 failing         0.00 s   0.00 s      -    200.0
                 not finished: only 1 of 6 were admitted`
	if diff := cmp.Diff(want, "\n"+strings.Join(table(results), "\n")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
