package main

import (
	"io"
	"testing"

	"github.com/gopacer/pacer/interop"
)

func TestCells(t *testing.T) {
	farm := interop.Open(t.Context(), interop.Standard(), "nowhere")
	defer farm.Close()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{
			[]string{"-servers", "^httprate.*2s", "-clients", "^pacer$"},
			[]string{
				"httprate, 50/2s estimate, pacer, one process",
				"httprate, 50/2s estimate, pacer, three processes",
				"httprate, 50/2s estimate, pacer, burst after idling",
			},
		},
		{
			[]string{"-servers", "tollbooth", "-clients", "oracle|naive", "-workloads", "process"}, // the oracle is one process
			[]string{
				"tollbooth, 20/s burst 10, oracle, one process",
				"tollbooth, 20/s burst 10, naive, 50 ms, one process",
				"tollbooth, 20/s burst 10, naive, 50 ms, three processes",
			},
		},
		{
			[]string{"-servers", "^ulule/limiter, 50", "-clients", "naive", "-workloads", "one", "-n", "80"}, // 100 need no time
			[]string{"ulule/limiter, 50/2s window, naive, 50 ms, one process"},
		},
		{[]string{"-clients", "nobody"}, nil},
		{[]string{"-clients", "("}, nil},
	} {
		o, err := parse(tt.args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := o.cells(farm.Servers)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%q: error %v", tt.args, err)
		}
		if len(cells) != len(tt.want) {
			t.Fatalf("%q: got %v, want %q", tt.args, cells, tt.want)
		}
		for i, c := range cells {
			if c.String() != tt.want[i] {
				t.Errorf("%q: got %q, want %q", tt.args, c, tt.want[i])
			}
		}
	}
}
