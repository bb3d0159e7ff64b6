package contract

import (
	"os"
	"strings"
	"testing"
)

// want is what pacer answers.
var want = map[string]string{
	"POST, the connection breaks after the server did it":  "sent once",
	"the same, GET · POST with `Idempotency-Key`":          "sent again · sent again",
	"POST, answered 500 after the server did it":           "sent once",
	"unknown certificate · unknown scheme":                 "1× · 1×",
	"503 to the last, two layers of three attempts":        "3×",
	"PUT over HTTP/2 after a 429: what is stored":          "the whole",
	"PUT of a stream after a 429: what is stored":          "sent once",
	"a body that is written bit by bit is sent":            "as it is written",
	"the body is closed: if sent · if its context is over": "yes · yes",
	"the caller's request, after it was sent twice":        "unchanged",
	"503 to the last: the caller gets":                     "the last 503, whole",
	"503s of 64 kB, with one connection":                   "goes on",
	"a 503 whose body never ends":                          "goes on",
	"101 Switching Protocols: the body can be written to":  "yes",
	"a redirect": "left to the http.Client",
	"429 with `Retry-After: 1` · with a date":                                         "waited for · waited for",
	"429 with `Retry-After` of a year, a deadline in 1 s":                             "the 429, at once",
	"canceled while it waits":                                                         "context.Canceled, at once",
	"another request, while `Retry-After` runs":                                       "waits too",
	"idle connections: kept if another host fails · closed by `CloseIdleConnections`": "yes · yes",
}

// TestRun asks all peers everything. What others answer is not expected, but they must come to
// an answer.
func TestRun(t *testing.T) {
	questions, peers := All(), Peers()
	all, err := Run(t.Context(), questions, peers, 16)
	if err != nil {
		t.Fatal(err)
	}
	if len(questions) != len(want) || len(all) != len(questions)*len(peers) {
		t.Errorf("%d questions and %d answers, want %d and %d", len(questions), len(all), len(want), len(want)*len(peers))
	}
	for _, a := range all {
		switch {
		case a.Text == "":
			t.Errorf("%s: %s: no answer", a.Peer.Name, a.Question.Name)
		case a.Peer.Name != "pacer":
		case a.Text != want[a.Question.Name]:
			t.Errorf("%s: got %q, want %q", a.Question.Name, a.Text, want[a.Question.Name])
		case a.Wrong():
			t.Errorf("%s: %q breaks the rule: %s", a.Question.Name, a.Text, a.Question.Rule)
		}
	}
}

// TestReadme is that the page has the table of these questions, with the answers of pacer.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "<!-- contract -->")
	table, _, _ = strings.Cut(table, "<!-- /contract -->")
	if got := strings.Count(table, "\n| ") - 1; got != len(want) { // without the head
		t.Errorf("%d rows, want %d", got, len(want))
	}
	for _, q := range All() {
		if row := "| " + q.Name + " | " + want[q.Name] + " | "; !strings.Contains(table, row) {
			t.Errorf("no row %q", row)
		}
	}
}

func TestTable(t *testing.T) {
	a, b := Question{Name: "a", Rule: "yes", Right: []string{"yes"}}, Question{Name: "b"}
	x, y := Peer{Name: "x"}, Peer{Name: "y"}
	var text strings.Builder
	if err := Table([]Answer{{a, x, "yes"}, {a, y, "no"}, {b, x, "one"}, {b, y, "two"}}, Bold).Markdown(&text); err != nil {
		t.Fatal(err)
	}
	want := "| what happens | x | y | rule |\n|---|---|---|---|\n| a | yes | **no** | yes |\n| b | one | two |  |\n"
	if got := text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
