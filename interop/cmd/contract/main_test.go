package main

import (
	"io"
	"testing"
)

func TestQuestions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"-only", "^a redirect$"}, 1},
		{[]string{"-only", "^POST"}, 2},
		{[]string{"-only", "nothing of that"}, 0},
		{[]string{"-only", "("}, 0},
		{[]string{"-only", "POST", "-write"}, 0},
	} {
		o, err := parse(tt.args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.questions()
		if len(got) != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("%q: got %d questions, %v, want %d", tt.args, len(got), err, tt.want)
		}
	}
}

func TestBetween(t *testing.T) {
	got, err := between("a\n<!-- contract -->\nold\n<!-- /contract -->\nb\n", "new\n")
	if want := "a\n<!-- contract -->\n\nnew\n\n<!-- /contract -->\nb\n"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, text := range []string{"", "<!-- contract -->\n", "<!-- /contract -->\n"} {
		if _, err := between(text, "new\n"); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
