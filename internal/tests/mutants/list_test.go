package main

import (
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each mutant can still be made of the sources, so that the list cannot rot. The command itself says whether
// the tests notice them.
func TestMutantsApply(t *testing.T) {
	list, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) > 260 {
		t.Errorf("%d mutants: want 260 at most, or nobody waits for them: take one out that is most like another", len(list))
	}
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		source, err := m.apply(root)
		if err != nil {
			t.Errorf("mutants.txt:%d: %s: %v", m.line, m.name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, source, 0); err != nil {
			t.Errorf("mutants.txt:%d: %s: %v", m.line, m.name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const whole = "mutant a\nfile x.go\n- old\n+ new\nkilled ./x TestX\n"
	if _, err := parse("# says what is said\n\n" + whole); err != nil {
		t.Errorf("a whole entry: %v", err)
	}
	for _, test := range []struct{ text, want string }{
		{"- old\n", "no part of an entry"},
		{whole + whole, "twice"},
		{"mutant a\n- old\nkilled ./x TestX\n", "a file"},
		{"mutant a\nfile x.go\n- old\n", "nothing says"},
		{"mutant a\nfile x.go\n- old\nkilled ./x\n", "nothing says"},
		{"mutant a\nfile x.go\n- old\n+ old\nkilled ./x TestX\n", "the old one"},
		{whole + "survives it is the same\n", "not both"},
		{"mutant a\nfile x.go\n- old\nkilled ./x Test(\n", "missing"},
		{whole + "kills ./x TestX\n", "no part of an entry"},
	} {
		if _, err := parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("parse(%q): %v, want an error with %q", test.text, err, test.want)
		}
	}
}

// What a mutant replaces must be there once: in two places it would be two faults, or the wrong one.
func TestApplyOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("a b b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		old, want string
		ok        bool
	}{
		{"a", "c b b\n", true},
		{"b", "", false},
		{"d", "", false},
	} {
		m := &mutant{file: "x.go", old: test.old, new: "c"}
		if b, err := m.apply(dir); string(b) != test.want || (err == nil) != test.ok {
			t.Errorf("%q: got %q, %v, want %q, %v", test.old, b, err, test.want, test.ok)
		}
	}
}

// A package of a nested module is tested there.
func TestNested(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for pkg, want := range map[string][2]string{
		".":                           {"", "."},
		"./throttle":                  {"", "./throttle"},
		"./filequota":                 {"filequota", "."},
		"./redisquota/internal/keys/": {"redisquota", "./internal/keys"},
	} {
		if dir, name := nested(root, pkg); dir != filepath.Join(root, want[0]) || name != want[1] {
			t.Errorf("%s: %s in %s", pkg, name, dir)
		}
	}
}

// A -run in which a name is misspelled would else end as well as one whose mutants are all noticed.
func TestRunOfNoMutant(t *testing.T) {
	if _, err := run(t.Context(), io.Discard, "no such mutant", 1, false); err == nil || !strings.Contains(err.Error(), "no mutant") {
		t.Errorf("run: %v, want an error that no mutant matches", err)
	}
}
