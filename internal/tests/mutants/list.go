package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// text is the list. Its head says how an entry is written.
//
//go:embed mutants.txt
var text string

// mutant is one fault, and the test that must notice it.
type mutant struct {
	name     string
	line     int    // where its entry begins in the list
	file     string // relative to the module, with slashes
	old, new string
	pkg, run string // the package of the test, and the -run by which it is chosen
	survives string // why no test can notice it; pkg and run are empty then
}

// parse reads a list.
func parse(text string) (list []*mutant, err error) {
	var bad []error
	var m *mutant
	names := map[string]bool{}
	end := func() {
		if m != nil {
			if why := m.complete(); why != "" {
				bad = append(bad, fmt.Errorf("line %d: %s: %s", m.line, m.name, why))
			}
			m.old, m.new = strings.TrimSuffix(m.old, "\n"), strings.TrimSuffix(m.new, "\n")
		}
	}
	for i, line := range strings.Split(text, "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "mutant" {
			end()
			m = &mutant{name: rest, line: i + 1}
			list = append(list, m)
			if names[rest] {
				bad = append(bad, fmt.Errorf("line %d: %s is there twice", i+1, rest))
			}
			names[rest] = true
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if m == nil || !m.read(mark, rest) {
			bad = append(bad, fmt.Errorf("line %d: %q is no part of an entry", i+1, line))
		}
	}
	end()
	return list, errors.Join(bad...)
}

// read takes in one line of an entry.
func (m *mutant) read(mark, rest string) bool {
	switch mark {
	case "file":
		m.file = rest
	case "-":
		m.old += rest + "\n"
	case "+":
		m.new += rest + "\n"
	case "killed":
		m.pkg, m.run, _ = strings.Cut(rest, " ")
	case "survives":
		m.survives = rest
	default:
		return false
	}
	return true
}

// complete returns what an entry lacks, or "".
func (m *mutant) complete() string {
	_, err := regexp.Compile(m.run)
	switch {
	case m.name == "" || m.file == "" || m.old == "":
		return "a mutant has a name, a file and an old text"
	case m.old == m.new:
		return "the new text is the old one"
	case m.survives == "" && (m.pkg == "" || m.run == ""):
		return "nothing says which test kills it, nor why it survives"
	case strings.Contains(m.run, "/"):
		return "a subtest is chosen, want a whole test"
	case m.survives != "" && m.pkg != "":
		return "it is killed or it survives, not both"
	case err != nil:
		return err.Error()
	}
	return ""
}

// apply returns the file of a mutant with the new text for the old one. The old text must be there once.
func (m *mutant) apply(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, err
	}
	source := string(b)
	if n := strings.Count(source, m.old); n != 1 {
		return nil, fmt.Errorf("its old text is %d times in %s, want once: if the code has changed, write the new text here, with the same fault in it", n, m.file)
	}
	return []byte(strings.Replace(source, m.old, m.new, 1)), nil
}
