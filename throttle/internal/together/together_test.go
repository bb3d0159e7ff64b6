package together

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestSaveNames: names that had buckets of their own have them from the beginning.
func TestSaveNames(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	key := func(string) string { return "" }
	var first, one, again Table
	if text := first.Save(1, &clock, key); text != nil {
		t.Errorf("%s is saved of nothing", text)
	}
	one.Named("GET", "/users", "core", false)
	first.Named("GET", "/users", "core", false)
	first.Named("GET", "/search", "search", true)
	if split, hear := again.Load(one.Save(1, &clock, key), 1, &clock); split || hear || again.First() != "core" {
		t.Errorf("one name: split %v, hear %v, first %q", split, hear, again.First())
	}
	again = Table{}
	if split, hear := again.Load(first.Save(1, &clock, key), 1, &clock); !split || hear || again.First() != "core" {
		t.Errorf("split %v, hear %v, first %q", split, hear, again.First())
	}
	if users, search := again.Of("GET", "/users"), again.Of("GET", "/search"); users != "core" || search != "search" {
		t.Errorf("users count as %q, and a search as %q", users, search)
	}
	var third Table // a run in between has met nothing
	third.Load(again.Save(1, &clock, key), 1, &clock)
	if search := third.Of("GET", "/search"); search != "search" {
		t.Errorf("in the third run, a search counts as %q", search)
	}
	third.Named("GET", "/search", "core", false)
	if search := third.Of("GET", "/search"); search != "core" {
		t.Errorf("a search counts as %q, although the server says core now", search)
	}
	if of, own := again.Named("GET", "/search", "search", false); of != "search" || !own {
		t.Errorf("search counts as %q, with a bucket of its own: %v", of, own)
	}
	if of, own := again.Named("GET", "/new", "graph", false); of != "graph" || !own {
		t.Errorf("a new name counts as %q, with a bucket of its own: %v", of, own)
	}
}

// TestLoadIsHarmless: what no Save has written changes nothing.
func TestLoadIsHarmless(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	names := make([]string, maxNames+2)
	many, err := json.Marshal(memory{Names: names})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{
		"", "null", "[]", "{}", `{"names":[]}`, `{"names":7}`, `{"names":["` + strings.Repeat("x", 300) + `"]}`, string(many), `{"counters":{}}`,
		`{"names":["` + strings.Repeat("x", maxMemory) + `"]}`,
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var table Table
			if split, hear := table.Load(json.RawMessage(text), 1, &clock); split || hear || table.names != nil || table.HasCounters() {
				t.Errorf("%.40s is taken over: %v, %v", text, split, hear)
			}
		})
	}
}
