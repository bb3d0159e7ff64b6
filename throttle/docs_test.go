package throttle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/waiting.md has a row for each Cause and for each error that says which bound was missed.
func TestTablesOfWaiting(t *testing.T) {
	page, err := os.ReadFile("../docs/waiting.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(Cause\\w+|Err\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, m[1])
	}
	var names []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST && g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					if strings.HasPrefix(n.Name, "Cause") || strings.HasPrefix(n.Name, "Err") {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	slices.Sort(rows)
	slices.Sort(names)
	if !slices.Equal(rows, names) {
		t.Errorf("the tables have rows for\n%q, want\n%q", rows, names)
	}
}

// tests says what the tests of this package are about, and in which files: first those of one bucket, then
// those of several, and of a Store; then models and whole programs; then what tests need.
var tests = []struct{ what, files string }{
	{"a bucket and its quotas", "throttle kind kind_example stack unit fields inflight cost cost_example"},
	{"Allow, and what goes at a glance, without the lock", "allow atonce"},
	{"a grant, until its end; a cost that is told later, or never", "grant settle settle_beyond expect aside"},
	{"who goes first in a line", "priority flow reserve place"},
	{"who goes now, timers, clocks", "run clock"},
	{"a waiter: what it is told, what it waits for, how it leaves", "waiter told said forecast agree errors"},
	{"bounds of a wait", "maxwait queue standstill"},
	{"what is learned of a server, in one bucket and in several", "server slowstart overload spend sharers heard simulation contention"},
	{"what a bucket shows", "state outage"},
	{"a Group: its buckets, Update, forgetting, Save and Load, what a server counts apart", "group update forget save memory restart split"},
	{"bodies that flow", "stream stream_example stream_store"},
	{"a Store", "store lease lease_atonce lease_back lease_estimate lease_fleet lease_forget lease_load lease_outage lease_room lease_share lease_standstill"},
	{"random histories beside a definition; programs that do everything", "model priority_model tree_model lease_model kind_simulation program"},
	{"examples and benchmarks", "example bench group_bench stream_bench unit_bench"},
	{"what must always hold: checkTree, checkSettled, checkGroup", "invariants"},
	{"what several tests need; those of a Store", "helper lease_helper"},
	{"what documents and the rooms below say alike", "docs constant"},
}

// TestFilesOfTests: each file of tests is in the list above, once.
func TestFilesOfTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range tests {
		for name := range strings.FieldsSeq(row.files) {
			listed = append(listed, name+"_test.go")
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, files) {
		t.Errorf("the list in docs_test.go has\n\t%v, but there are\n\t%v: say what a new file is about, or put its tests where others like them are", listed, files)
	}
}
