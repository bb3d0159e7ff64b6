package backoff

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every policy of the package is fuzzed, and stands in the table of the package documentation, which another
// test computes; every jitter stands in the table.
func TestPoliciesAreTested(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	policies := 0
	for file, text := range texts {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(\w+ ([A-Z]\w+)\) Delay\(`).FindAllStringSubmatch(text, -1) {
			if m[1] == "Func" { // what users write
				continue
			}
			policies++
			if !strings.Contains(texts["fuzz_test.go"], "{"+m[1]+"{") {
				t.Errorf("FuzzDelay (fuzz_test.go) has no line for %s", m[1])
			}
			if !strings.Contains(texts["backoff_test.go"], `{"`+m[1]+`{}"`) {
				t.Errorf("the table of delays has no row for %s: add it to the test in backoff_test.go, which prints the table for backoff.go", m[1])
			}
		}
	}
	jitters := regexp.MustCompile(`(?m)^\t([A-Z]\w+)\s+Jitter = "\w+"`).FindAllStringSubmatch(texts["backoff.go"], -1)
	for _, m := range jitters { // FullJitter is that of Exponential{}
		if m[1] != "FullJitter" && !strings.Contains(texts["backoff_test.go"], `{"  Jitter: `+m[1]+`", `) {
			t.Errorf("the table of delays has no row for %s: add it to the test in backoff_test.go", m[1])
		}
	}
	if len(jitters) < 3 {
		t.Errorf("the package has %d jitters, want 3 at least", len(jitters))
	}
	if policies < 4 {
		t.Errorf("the package has %d policies, want 4 at least", policies)
	}
}
