package hour

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// values says where each value of a type stands that people see in many places: by its name, and by its text
// where a room below has it under a name of its own, or under none.
var values = map[string][]struct{ file, what string }{
	"throttle.Cause": {
		{"throttle/internal/limit/due.go", "its text, among the causes there"},
		{"internal/logline/logline.go", "advice for the log"},
		{"pacerdebug/minute.go", "kinds, for the page"},
		{"pacerotel/bucket.go", "causes, for the metrics"},
		{"docs/waiting.md", "the table of causes"},
		{"throttle/errors_test.go", "TestCausesAreIdentifiers"},
		{"internal/tests/pacing/causes_test.go", "isCause: does it need the name of a limit?"},
	},
	"throttle.Outage": {
		{"internal/fields/fields.go", "Outages: is the text fine?"},
		{"throttle/internal/check/check.go", "outages: what it stands for"},
		{"docs/sharing.md", "what it does"},
	},
	"throttle.Spend": {
		{"internal/fields/fields.go", "Spends: is the text fine?"},
		{"throttle/internal/check/check.go", "spends: what it stands for"},
	},
	"pacer.Reason": {
		{"pacerotel/bucket.go", "reasons, for the metrics"},
		{"docs/waiting.md", "the table of reasons"},
	},
	"throttle.StoreEventKind": {
		{"throttle/internal/lease/outage.go", "its text, among the kinds of events there"},
		{"internal/logline/logline.go", "StoreEvent, for the log"},
		{"pacerotel/bucket.go", "storeEvents, for the metrics"},
	},
}

// TestValuesAreEverywhere: what a new value of such a type lacks is counted as "other", or has no line, without
// an error.
func TestValuesAreEverywhere(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	constants := regexp.MustCompile(`(?m)^pkg \S+/(\w+), const (\w+) = (".*")$`)
	types := regexp.MustCompile(`(?m)^pkg \S+/(\w+), const (\w+) ([A-Z]\w+)$`)
	api := read("api/pacer.txt")
	texts := map[string]string{}
	for _, m := range constants.FindAllStringSubmatch(api, -1) {
		texts[m[1]+"."+m[2]] = m[3]
	}
	found := map[string]int{}
	for _, m := range types.FindAllStringSubmatch(api, -1) {
		kind := m[1] + "." + m[3]
		for _, place := range values[kind] {
			found[kind]++
			file := read(place.file)
			below := strings.HasPrefix(place.file, "throttle/internal/") || place.file == "internal/fields/fields.go" // they do not import the type
			byText := below && strings.Contains(file, texts[m[1]+"."+m[2]])
			if !byText && !regexp.MustCompile(`\b`+m[2]+`\b`).MatchString(file) {
				t.Errorf("%s lacks %s %s: %s", place.file, kind, m[2], place.what)
			}
		}
	}
	for kind, places := range values {
		if found[kind] < 2*len(places) {
			t.Errorf("api/pacer.txt has %d values of %s", found[kind]/len(places), kind)
		}
	}
}

// TestFactsOfAStoreAreEverywhere: a fact that is not passed on is zero at the other end, without an error.
func TestFactsOfAStoreAreEverywhere(t *testing.T) {
	for _, side := range []struct {
		of     reflect.Type
		places []string // each fact stands in a file of each
	}{
		{reflect.TypeFor[store.Request](), []string{"throttle/store/*.go", "redisquota/*.go"}},
		{reflect.TypeFor[store.Reply](), []string{"throttle/store/*.go", "redisquota/reply.go", "throttle/internal/lease/*.go throttle/storelink.go"}},
		{reflect.TypeFor[store.News](), []string{"throttle/store/*.go", "redisquota/news.go", "filequota/news.go", "throttle/internal/lease/*.go throttle/storelink.go"}},
	} {
		for _, place := range side.places {
			code := ""
			var files []string
			for pattern := range strings.FieldsSeq(place) {
				found, err := filepath.Glob(filepath.Join(root, pattern))
				if err != nil || len(found) == 0 {
					t.Fatal(pattern, err)
				}
				files = append(files, found...)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if base := filepath.Base(file); base != "store.go" && !strings.HasSuffix(base, "_test.go") { // that has the types
					code += string(text)
				}
			}
			for i := range side.of.NumField() {
				name := side.of.Field(i).Name
				if !regexp.MustCompile(`(?m)^[^/\n]*(\.` + name + `\b|\b` + name + `:)`).MatchString(code) {
					t.Errorf("%s lacks %v.%s", place, side.of, name)
				}
			}
		}
	}
}

// TestStateIsOnThePage: what State says of a bucket and of its limits, but for what a caller has set, is read
// for the page.
func TestStateIsOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "pacerdebug/view.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[throttle.State](), reflect.TypeFor[throttle.Level]()} {
		for i := range of.NumField() {
			if name := of.Field(i).Name; name != "Value" && !regexp.MustCompile(`\.`+name+`\b`).Match(page) {
				t.Errorf("pacerdebug/view.go does not show %v.%s", of, name)
			}
		}
	}
}
