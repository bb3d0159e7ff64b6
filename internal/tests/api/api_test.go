package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/internal/tests/load"
	"github.com/gopacer/pacer/internal/tests/whole"
)

const root = "../../.." // of the repository

var loader = declared() // one for all tests: most of what they load, they have in common

// What is exported is a promise: a change of it is a change of the text, which a reader of the commit sees.
// What nested modules import takes seconds to read, and so does each further system: their texts are compared
// in a step of the gate, with PACER_WHOLE=1.
func TestText(t *testing.T) {
	for dir, file := range texts {
		t.Run(dir, func(t *testing.T) {
			if dir != "." && !whole.Wanted() {
				t.Skip("the gate compares the texts of nested modules")
			}
			if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
				t.Skip("not in this copy: a module has no other modules in it")
			}
			on := whole.Or(targets[:1], targets)
			got, err := api(loader, filepath.Join(root, dir), on)
			if err != nil {
				t.Fatal(err)
			}
			if diff := changes(heldOn(on, read(t, file)), got); diff != "" {
				t.Errorf("API changed:\n%sif that is a decision, run: go run ./internal/tests/api", diff)
			}
		})
	}
}

// Whoever changes the types of others, in a new version of a module, changes what has them: the main module has
// none.
func TestForeignTypes(t *testing.T) {
	m, err := loader.Load(root, targets[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Packages {
		if p.Types.Name() == "main" || hidden.MatchString(p.Types.Path()) {
			continue
		}
		if found := readPackage(p).foreign; len(found) > 0 {
			t.Errorf("%s has types of others: %q", p.Types.Path(), found)
		}
	}
}

// There is no text of a module that is no longer there.
func TestTexts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "api", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(texts) {
		t.Errorf("directory api has %d files, want %d: %v", len(files), len(texts), files)
	}
}

// Who uses a package learns its names: each further one is weighed against these.
func TestSize(t *testing.T) {
	most := []struct {
		pkg string
		size
	}{
		{"throttle", size{types: 21, methods: 32, funcs: 1}},       // of these, 2 and 2 are Reader and Writer, 1 and 1 what a StoreEvent says, 3 methods the word of a Priority; the function is for package pacer
		{"throttle/store", size{types: 10, methods: 11, funcs: 1}}, // the function is for stores that keep statements and have no Ledger
		{"quota", size{types: 7, methods: 10, funcs: 2}},
		{"headers", size{types: 10, methods: 7, funcs: 2}}, // one of the functions is for internal/habit
	}
	const mostOfTransport = 16 // fields

	sizes, fields := count(read(t, texts["."]))
	for _, path := range slices.Sorted(maps.Keys(sizes)) {
		s := sizes[path]
		t.Logf("%-39s %2d types, %2d methods, %2d functions", path, s.types, s.methods, s.funcs)
	}
	for _, m := range most {
		if s := sizes["github.com/gopacer/pacer/"+m.pkg]; s.types > m.types || s.methods > m.methods || s.funcs > m.funcs {
			t.Errorf("%s exports (types, methods, functions) %v, want %v at most: have a room below internal do it, or say in the commit why users need it, and raise the bound here", m.pkg, s, m.size)
		}
	}
	if n := fields["github.com/gopacer/pacer, type Transport"]; n == 0 || n > mostOfTransport {
		t.Errorf("pacer.Transport has %d fields, want %d at most", n, mostOfTransport)
	}
}

// size is how much a package exports. The methods of its interfaces count too.
type size struct{ types, methods, funcs int }

// count counts what a text has, by package, and the fields of structs, by "package, type name".
func count(text []string) (sizes map[string]*size, fields map[string]int) {
	line := regexp.MustCompile(`^pkg (\S+), (?:(type \w+(?:\[.*?\])?)( struct, \w| interface, \w)?|(method|func) )`)
	sizes, fields = map[string]*size{}, map[string]int{}
	for _, l := range text {
		m := line.FindStringSubmatch(l)
		if m == nil || strings.HasSuffix(l, " //deprecated") {
			continue
		}
		s := sizes[m[1]]
		if s == nil {
			s = &size{}
			sizes[m[1]] = s
		}
		switch {
		case strings.HasPrefix(m[3], " struct"):
			fields[m[1]+", "+m[2]]++
		case m[3] != "" || m[4] == "method":
			s.methods++
		case m[4] == "func":
			s.funcs++
		default:
			s.types++
		}
	}
	return sizes, fields
}

func TestCount(t *testing.T) {
	sizes, fields := count([]string{
		"pkg a/b, const C = 1",
		"pkg a/b, func F(struct, interface, method)",
		"pkg a/b, func F //deprecated",
		"pkg a/b, method (*S) M()",
		"pkg a/b, type I interface { A, B }",
		"pkg a/b, type I interface, A()",
		"pkg a/b, type I interface, B()",
		"pkg a/b, type P[$0 interface{}] struct",
		"pkg a/b, type P[$0 interface{}] struct, One $0",
		"pkg a/b, type S struct",
		"pkg a/b, type S struct, One int",
		"pkg a/b, type S struct, Two int",
		"pkg a/b, type T int",
		"pkg a/b, type T //deprecated",
		"pkg a/c, func F()",
	})
	if got, want := *sizes["a/b"], (size{types: 4, methods: 3, funcs: 1}); got != want {
		t.Errorf("a/b: %v, want %v", got, want)
	}
	if got, want := *sizes["a/c"], (size{funcs: 1}); got != want {
		t.Errorf("a/c: %v, want %v", got, want)
	}
	if want := map[string]int{"a/b, type S": 2, "a/b, type P[$0 interface{}]": 1}; !cmp.Equal(fields, want) {
		t.Errorf("fields: %v, want %v", fields, want)
	}
}

func read(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// heldOn returns what a text says of a target, if that is the only one; else all of it.
func heldOn(on []load.Target, text []string) (of []string) {
	if len(on) > 1 {
		return text
	}
	system := regexp.MustCompile(`^(pkg \S+) \((\S+)\), `)
	for _, l := range text {
		m := system.FindStringSubmatch(l)
		switch {
		case m == nil:
			of = append(of, l)
		case m[2] == on[0].OS+"-"+on[0].Arch:
			of = append(of, m[1]+", "+l[len(m[0]):])
		}
	}
	slices.Sort(of)
	return of
}

// changes returns a line for each that is in only one of two sorted texts.
func changes(old, got []string) string {
	var lines []string
	for _, l := range old {
		if _, there := slices.BinarySearch(got, l); !there {
			lines = append(lines, "- "+l+"\n")
		}
	}
	for _, l := range got {
		if _, there := slices.BinarySearch(old, l); !there {
			lines = append(lines, "+ "+l+"\n")
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[2:], b[2:]) }) // what took the place of what
	return strings.Join(lines, "")
}

func TestChanges(t *testing.T) {
	old := []string{"func A(int)", "func B()", "func D()"}
	got := []string{"func A(string)", "func B()", "func C()"}
	if got, want := changes(old, got), "- func A(int)\n+ func A(string)\n+ func C()\n- func D()\n"; got != want {
		t.Errorf("changes:\n%swant:\n%s", got, want)
	}
	if got := changes(old, old); got != "" {
		t.Errorf("changes of nothing:\n%s", got)
	}
}

func TestFixture(t *testing.T) {
	dir := t.TempDir()
	for name, text := range fixture {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := api(loader, dir, targets)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(fixtureAPI), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("API (-want +got):\n%s", diff)
	}
}
