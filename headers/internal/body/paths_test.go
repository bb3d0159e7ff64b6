package body

import (
	"os"
	"strings"
	"testing"
)

// What is read from bodies is seen in one of package headers, at least by its key; of the words for a hint,
// which are read in any error, any is enough.
func TestEachPathHasABody(t *testing.T) {
	text, err := os.ReadFile("../../body_test.go")
	if err != nil {
		t.Fatal(err)
	}
	// A string in quotes, bare or within a Go string.
	has := func(word string) bool {
		return strings.Contains(string(text), `"`+word+`"`) || strings.Contains(string(text), `\"`+word+`\"`)
	}
	hints := map[string]bool{}
	for key := range strings.FieldsSeq(delays + " " + millis) {
		hints[key] = true
	}
	for path := range paths {
		keys := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
		for len(keys) > 0 && keys[len(keys)-1] == "*" {
			keys = keys[:len(keys)-1]
		}
		if key := keys[len(keys)-1]; !hints[key] && !has(key) {
			t.Errorf("no body of TestParseBody has %q", path)
		}
	}
	for path, words := range refusals {
		for word := range words {
			if !strings.Contains(string(text), word) {
				t.Errorf("no body of TestParseBody has %q at %q", word, path)
			}
		}
	}
}
