package hour

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// command finds commands in a line of their own, and in the text.
var command = regexp.MustCompile("(?m)^\\t((?:cd |go )[^#\n]*)|`((?:cd [^`]* && go |go |-run )[^`]*)`")

// Commands name programs, tests and documentation that are there. The gate runs the programs of
// examples; what they print is compared by their own tests, in virtual time.
func TestCommands(t *testing.T) {
	seen := 0
	for _, p := range pages(t) {
		for _, m := range command.FindAllStringSubmatch(p.prose(), -1) {
			line := strings.TrimSpace(m[1] + m[2])
			dir, words := p.module, strings.Fields(line)
			if words[0] == "cd" {
				dir, words = filepath.Join(dir, words[1]), words[3:]
			}
			if words[0] == "-run" {
				words = append([]string{"go", "test"}, words...)
			}
			if len(words) < 3 || words[0] != "go" {
				continue // as in `go doc`, the name
			}
			seen++
			t.Run(line, func(t *testing.T) { try(t, dir, words[1], words[2:]) })
		}
	}
	if seen < 10 {
		t.Errorf("%d commands found, want more", seen)
	}
}

func try(t *testing.T, dir, verb string, words []string) {
	t.Helper()
	switch verb {
	case "run":
		b, err := os.ReadFile(filepath.Join(root, dir, strings.TrimPrefix(words[0], "github.com/gopacer/pacer/"), "main.go"))
		if err != nil || !strings.Contains(string(b), "\npackage main\n") {
			t.Errorf("no program: %v", err)
		}
		for _, w := range words[1:] {
			if name, ok := strings.CutPrefix(w, "-"); ok && !strings.Contains(string(b), `"`+name+`"`) {
				t.Errorf("the program has no flag %s", w)
			}
		}
	case "test":
		var name string
		where := dir
		for i, w := range words {
			switch {
			case (w == "-run" || w == "-bench") && words[i+1] != "NONE":
				name = words[i+1]
			case strings.HasPrefix(w, "./") && w != "./...":
				where = filepath.Join(dir, w)
			}
		}
		for one := range strings.SplitSeq(strings.Trim(name, "'"), "|") {
			if !hasTest(t, where, one) {
				t.Errorf("no test %q in %q", one, where)
			}
		}
	case "doc":
		if words[0] == "github.com/gopacer/pacer/"+dir {
			words[0] = "." // else go looks for it in the module's dependencies, which only those have who have tried it
		}
		if _, err := run(dir, append([]string{"doc"}, words...)...); err != nil {
			t.Error(err)
		}
	case "get":
		b, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
		if err != nil || !strings.HasPrefix(string(b), "module "+words[0]+"\n") {
			t.Errorf("no such module: %v", err)
		}
	case "mod": // edit -replace MODULE=../pacer/DIRECTORY, in a module beside a clone of this one
		tried := 0
		for i, w := range words {
			if w != "-replace" {
				continue
			}
			tried++
			path, at, _ := strings.Cut(words[i+1], "=")
			b, err := os.ReadFile(filepath.Join(root, strings.TrimPrefix(at, "../pacer"), "go.mod"))
			if err != nil || !strings.HasPrefix(at, "../pacer") || !strings.HasPrefix(string(b), "module "+path+"\n") {
				t.Errorf("%s: no such module: %v", words[i+1], err)
			}
		}
		if tried == 0 {
			t.Error("replaces nothing")
		}
	default:
		t.Errorf("nobody knows how to try go %s", verb)
	}
}

// hasTest reports whether a test or benchmark below a directory has a name with this in it.
func hasTest(t *testing.T, dir, name string) (found bool) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test|Benchmark)\w*` + regexp.QuoteMeta(strings.TrimPrefix(name, "Test")))
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || found || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		found = declared.Match(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A newcomer who comes to the page of a nested module by a link learns there how to get the module, before the
// first release too.
func TestModulesSayHowToGetThem(t *testing.T) {
	for _, p := range pages(t) {
		if p.module == "" {
			continue
		}
		get := "go get github.com/gopacer/pacer/" + p.module
		replace := "-replace github.com/gopacer/pacer/" + p.module + "=../pacer/" + p.module
		if !strings.Contains(p.text, get+"`") || !strings.Contains(p.text, replace+" ") {
			t.Errorf("%s does not say %q, and %q until the first release", p.path, get, replace)
		}
	}
}

// Every example that a newcomer may run is named in README.md.
func TestExamplesAreNamed(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(root, "examples", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	readme := pages(t)[0].text
	if i := slices.IndexFunc(dirs, func(dir string) bool { return !strings.Contains(readme, "go run ./examples/"+filepath.Base(dir)) }); i >= 0 {
		t.Errorf("README.md does not name %s", dirs[i])
	}
}
