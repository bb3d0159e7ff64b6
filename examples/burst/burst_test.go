package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the drawings into the files with which they are compared")

// TestBurst runs the program in virtual time. Whenever in a second it begins, it draws the files that are in
// the repository.
func TestBurst(t *testing.T) {
	for _, phase := range []time.Duration{0, 1, 333 * time.Millisecond, firstWave, firstWave + 1, secondWave, per - 1} {
		t.Run(phase.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "burst.svg")
			var out bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(phase)
				if err := burst(&out, file, nil); err != nil {
					t.Fatal(err)
				}
			})
			drawn, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, filepath.Join("testdata", "burst.txt"), out.Bytes())
			compare(t, filepath.Join("..", "..", "docs", "burst.svg"), drawn)
		})
	}
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), go test ./examples/burst -update writes it:\n%s", file, diff)
	}
}

// asked returns the ways after the client has asked.
func asked(t *testing.T) []*way {
	t.Helper()
	ws := ways()
	synctest.Test(t, func(t *testing.T) {
		if err := ask(ws); err != nil {
			t.Fatal(err)
		}
	})
	return ws
}

func TestWays(t *testing.T) {
	even := " 10:1 11:1 12:1 13:1 14:1 15:1 16:1 17:1 18:1 19:1 20:1 21:1 22:1 23:1 24:1 25:1 26:1 27:1 28:1 29:1 30:1"
	tests := []struct {
		name string
		went string // step:requests
		most int
	}{
		{"fixed window counter", "7:5 9:5 10:10 20:10 30:10", 2 * limit},
		{"sliding window", "7:5 9:5 19:10 29:10", limit}, // 700ms and 900ms are in one cell, whose tokens are back at 900ms + per
		{"sliding log", "7:5 9:5 17:5 19:5 27:5 29:5", limit},
		{"leaky bucket", "7:1 8:1 9:1" + even, limit},
		{"token bucket", "7:5 9:2" + even, 5 + limit - 1}, // the last of the limit is back when per is over
	}
	ws := asked(t)
	if len(ws) != len(tests) {
		t.Fatalf("%d ways, want %d", len(ws), len(tests))
	}
	for i, tt := range tests {
		var went []string
		for step, n := range ws[i].counts() {
			if n > 0 {
				went = append(went, fmt.Sprintf("%d:%d", step, n))
			}
		}
		if got := strings.Join(went, " "); ws[i].name != tt.name || got != tt.went {
			t.Errorf("%s: %s, want %s: %s", ws[i].name, got, tt.name, tt.went)
		}
		if _, most := ws[i].fullest(); most != tt.most {
			t.Errorf("%s: %d in %v at most, want %d", tt.name, most, per, tt.most)
		}
	}
}

func TestFullest(t *testing.T) {
	tests := []struct {
		went []int // in steps
		from int
		most int
	}{
		{nil, 0, 0},
		{[]int{3}, 3, 1},
		{[]int{0, 10}, 0, 1}, // the end is not in the span
		{[]int{0, 9}, 0, 2},
		{[]int{0, 5, 10, 14, 15}, 5, 3}, // the first one of two spans
		{[]int{0, 0, 20, 20, 20, 29}, 20, 4},
	}
	for _, tt := range tests {
		w := &way{}
		for _, i := range tt.went {
			w.went = append(w.went, time.Duration(i)*step)
		}
		if from, most := w.fullest(); from != time.Duration(tt.from)*step || most != tt.most {
			t.Errorf("of %v, %d from %v, want %d from step %d", tt.went, most, from, tt.most, tt.from)
		}
	}
}

func TestTextWidth(t *testing.T) {
	for line := range strings.Lines(intro() + text(asked(t))) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 79 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestSVG parses the SVG. It has a circle for each request that went, and loads nothing from outside.
func TestSVG(t *testing.T) {
	ws := asked(t)
	drawn, want, circles := svg(ws), 0, 0
	for _, w := range ws {
		want += len(w.went)
	}
	for d := xml.NewDecoder(strings.NewReader(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != want {
		t.Errorf("%d circles, want %d", circles, want)
	}
	for _, s := range []string{"href", "url(", "@import", "<script"} {
		if strings.Contains(drawn, s) {
			t.Errorf("it has %s", s)
		}
	}
}

func TestBurstErrors(t *testing.T) {
	failing := failingWriter{errors.New("no room")}
	for name, tt := range map[string]struct {
		out  io.Writer
		file string
		args []string
		want string
	}{
		"an argument":  {io.Discard, "", []string{"docs/burst.svg"}, `"docs/burst.svg" is not expected`},
		"a directory":  {io.Discard, t.TempDir(), nil, "is a directory"},
		"no such path": {io.Discard, filepath.Join(t.TempDir(), "none", "burst.svg"), nil, "none"},
		"no output":    {failing, "", nil, "no room"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if err := burst(tt.out, tt.file, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: the error is %v, want %s in it", name, err, tt.want)
			}
		})
	}
}

// failingWriter fails.
type failingWriter struct{ err error }

// Write implements io.Writer.
func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
