package hour

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
