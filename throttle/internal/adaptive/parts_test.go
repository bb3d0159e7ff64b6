package adaptive

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldsOf returns the names of the fields of a struct.
func fieldsOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		names = append(names, t.Field(i).Name)
	}
	return names
}

// TestPartsAreAsked: each function of parts.go has a line for each part of a window: of code, or of a comment
// that begins with the name of the part and says why there is nothing to do. No part has both. So have those of
// lasting.go for what is lasting.
func TestPartsAreAsked(t *testing.T) {
	for _, test := range []struct {
		file      string
		of        reflect.Type
		functions int // at least
	}{{"parts.go", reflect.TypeFor[parts](), 7}, {"lasting.go", reflect.TypeFor[lasting](), 2}} {
		text, err := os.ReadFile(test.file)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, test.file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		functions := 0
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			for _, complaint := range leftOut(string(text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]), fieldsOf(test.of)) {
				t.Errorf("%s: %s %s", test.file, f.Name.Name, complaint)
			}
		}
		if functions < test.functions {
			t.Errorf("%s has %d functions, want %d at least: what becomes of its parts is said there", test.file, functions, test.functions)
		}
	}
}

// excused are the parts to which a comment gives the reason why there is nothing to do.
var excused = regexp.MustCompile(`(?m)^\t// ([a-zA-Z]+(?:, [a-zA-Z]+)*): \w`)

// leftOut returns what is wrong with a function of parts p, or l: which parts it leaves out, or names for
// nothing.
func leftOut(function string, parts []string) (complaints []string) {
	var reasons []string
	for _, m := range excused.FindAllStringSubmatch(function, -1) {
		reasons = append(reasons, strings.Split(m[1], ", ")...)
	}
	code := regexp.MustCompile(`//.*`).ReplaceAllString(function, "")
	for _, part := range parts {
		used := regexp.MustCompile(`\b[pl]\.` + part + `\b`).MatchString(code)
		switch n := len(reasons) - len(slices.DeleteFunc(slices.Clone(reasons), func(r string) bool { return r == part })); {
		case !used && n == 0:
			complaints = append(complaints, "has nothing for "+part+": add a line that does what is to be done, or \"// "+part+": why nothing is to be done\"")
		case used && n > 0 || n > 1:
			complaints = append(complaints, part+" has several lines that say different things")
		}
	}
	for _, r := range reasons {
		if !slices.Contains(parts, r) {
			complaints = append(complaints, "gives a reason for "+r+", which is no part")
		}
	}
	return complaints
}

// TestLeftOut: a part that a function leaves out is found, and a reason that is none.
func TestLeftOut(t *testing.T) {
	for function, want := range map[string]int{
		"\t// a, b: are values.\n\tp.c = 1\n":                     0,
		"\t// a: is a value.\n\tp.c = 1\n":                        1, // b
		"\t// a, b, c: are values.\n\tp.c = 1\n":                  1, // c is used
		"\t// a, b: are values.\n\t// a: once more.\n\tp.c = 1\n": 1,
		"\t// a, b, d: are values.\n\tp.c = 1\n":                  1, // d is no part
		"\t// a, b: are values.\n\tx = 1 // not p.c\n":            1,
		"\tp.a, p.b = p.bc, p.c\n":                                0,
	} {
		if got := leftOut(function, []string{"a", "b", "c"}); len(got) != want {
			t.Errorf("%q: %v, want %d complaints", function, got, want)
		}
	}
}

// TestWindowHasNumbersAndParts: what a window has beside its parts is its name, and what every part may read.
// So a field that a rule needs is a part, or of a part.
func TestWindowHasNumbersAndParts(t *testing.T) {
	want := []string{
		"limitName", "text", "stated", "mostFound", "span", "granted", "instances",
		"heardAt", "remains", "parts",
	}
	if got := fieldsOf(reflect.TypeFor[window]()); !slices.Equal(got, want) {
		t.Errorf("a window has the fields %v, want %v: a field of a rule belongs into parts, see parts.go", got, want)
	}
}

// TestPartsShareNothing: a window that was copied shares nothing with the other that either changes. What is
// not a value is in the list, with what parts.unshare does about it.
func TestPartsShareNothing(t *testing.T) {
	want := map[string]string{
		"price":               "has a clone",
		"sought":              "has a clone",
		"overlap.users":       "is forgotten",
		"overlap.comparisons": "is forgotten",
		"overlap.lastHeardBy": "is a Server, which is no part of the window",
		"overlap.before":      "is a Server, which is no part of the window",
		"kept":                "is only read",
	}
	got := map[string]bool{}
	references("", reflect.TypeFor[window](), got)
	for path := range got {
		if want[path] == "" {
			t.Errorf("%s is no value, so that a copy of a window shares it: clone it in parts.unshare, and name it here", path)
		}
	}
	for path := range want {
		if !got[path] {
			t.Errorf("%s is named here, and is not there, or is a value", path)
		}
	}
}

// references finds the fields whose copies share something.
func references(path string, of reflect.Type, found map[string]bool) {
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			f := of.Field(i)
			inner := path
			if !f.Anonymous {
				inner = strings.TrimPrefix(path+"."+f.Name, ".")
			}
			references(inner, f.Type, found)
		}
	case reflect.Array:
		references(path, of.Elem(), found)
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		found[path] = true
	}
}
