package hour

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSecurityPage: each line of docs/security.md names a test, each test that it names is there, and each fuzz
// target is named.
func TestSecurityPage(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for line := range strings.Lines(string(text)) {
		names := named.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, "| Test |\n") && !strings.HasSuffix(line, "| Runs |\n") && len(names) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range names {
			if !tests[m[1]] {
				t.Errorf("there is no %s", m[1])
			}
		}
	}
	for name := range tests {
		if strings.HasPrefix(name, "Fuzz") && !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s is not named", name)
		}
	}
}

// TestSecurityImports: which packages that users import use "unsafe", regular expressions, cgo, or start
// programs, is what docs/security.md says.
func TestSecurityImports(t *testing.T) {
	want := map[string][]string{ // by what is imported
		"unsafe": {"filequota", "internal/habit", "throttle/internal/monotime"},
		"regexp": {"pacerdebug", "quota"},
	}
	got := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if d.IsDir() && slices.Contains([]string{"bench", "cmd", "docs", "examples", "interop", "server", "soak", "tests"}, d.Name()) {
			return fs.SkipDir // no user imports that
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			what, in := strings.Trim(spec.Path.Value, `"`), filepath.ToSlash(filepath.Dir(name))
			if slices.Contains([]string{"unsafe", "regexp", "C", "os/exec"}, what) && !slices.Contains(got[what], in) {
				got[what] = append(got[what], in)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"unsafe", "regexp", "C", "os/exec"} {
		if slices.Sort(got[what]); !slices.Equal(got[what], want[what]) {
			t.Errorf("%q is imported by %q, and docs/security.md says %q", what, got[what], want[what])
		}
	}
}
