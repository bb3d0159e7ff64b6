package together

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/counter"
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
	var deep, met Table // a place is met, too, where this run does not divide the one above
	deep.Named("GET", "/a/x", "core", false)
	deep.Named("GET", "/a/b/c", "search", true)
	deep.Named("GET", "/a/b/d", "core", true)
	met.Load(deep.Save(1, &clock, key), 1, &clock)
	before := met.Of("GET", "/a/b/c")
	met.Named("GET", "/a/b/c", "core", false)
	if after := met.Of("GET", "/a/b/c"); before != "search" || after != "core" || met.Of("GET", "/a/x") != "core" {
		t.Errorf("/a/b/c counts as %q, and as %q when the server says core", before, after)
	}
	if of, own := again.Named("GET", "/search", "search", false); of != "search" || !own {
		t.Errorf("search counts as %q, with a bucket of its own: %v", of, own)
	}
	if of, own := again.Named("GET", "/new", "graph", false); of != "graph" || !own {
		t.Errorf("a new name counts as %q, with a bucket of its own: %v", of, own)
	}
}

// TestCounters: several counters are looked for until the server gives names, or until answers have not
// contradicted each other for long. They are saved, and taken over where nothing is known.
func TestCounters(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	heard := uint64(0)
	hear := func(t *Table, path string, limit, remaining int) {
		heard += 2
		now := monotime.Time(heard)
		t.Hear("GET", path, &counter.Answer{Granted: heard - 1, Heard: heard, Sent: now, Now: now, N: 1, Statements: []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining)}}})
	}
	var table, again Table
	if table.Suspect(""); !table.HasCounters() || table.Split() {
		t.Fatal("several counters are not looked for, or found")
	}
	hear(&table, "/a", 10, 9)
	hear(&table, "/b", 100, 99)
	table.Suspect("") // it is already
	hear(&table, "/a", 10, 8)
	a, b := table.Of("GET", "/a"), table.Of("GET", "/b")
	if !table.Split() || a == b || !table.Has(a) || !table.Has(b) {
		t.Errorf("split %v: %q and %q", table.Split(), a, b)
	}
	text := table.Save(1, &clock, func(name string) string { return "key of " + name })
	for range 2 { // the second one finds what is known
		if split, hears := again.Load(text, 1, &clock); split != hears || again.Of("GET", "/a") == again.Of("GET", "/b") {
			t.Errorf("split %v, hears %v, %q", split, hears, again.Of("GET", "/a"))
		}
		text = json.RawMessage(`{"names":["core"]}`)
	}
	if got := again.Key(again.Of("GET", "/b")); got != "key of "+b {
		t.Errorf("what was learned of /b is saved under %q", got)
	}
	if of, own := table.Named("GET", "/a", "core", false); of != "core" || own || table.HasCounters() || table.Calm() {
		t.Errorf("%q, %v beside counters: %v", of, own, table.HasCounters())
	}
	if table.Suspect(""); table.HasCounters() {
		t.Error("counters are looked for although the server gives names")
	}
	if split, hears := table.Load(again.Save(1, &clock, again.Key), 1, &clock); split || hears || table.First() != "core" {
		t.Errorf("split %v, hears %v: what is known is overwritten", split, hears)
	}
	var calm Table
	calm.Suspect("")
	for calm.HasCounters() && heard < 1<<16 {
		hear(&calm, "/a", 10, 9)
		if is := calm.Calm(); is == calm.HasCounters() {
			t.Fatalf("calm: %v, and counters are looked for: %v", is, calm.HasCounters())
		}
	}
	if calm.HasCounters() {
		t.Error("counters are looked for for ever")
	}
}

// TestLoadOfPlaces: places of a file that are no numbers, or of no name, are left out.
func TestLoadOfPlaces(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	m := memory{Names: []string{"core", "search"}, Places: map[string]int{"no number": 1, "1": -1, "2": 2, "3": 1}}
	for i := range 2 * maxPlaces {
		m.Places[fmt.Sprint("z", i)] = i % 3
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var table Table
	table.Load(text, 1, &clock)
	if n := len(table.names.before); n > maxPlaces || n < maxPlaces/2 {
		t.Errorf("%d places", n)
	}
	for digest, name := range table.names.before {
		if digest == 0 || digest == 1 || digest == 2 || name == "" {
			t.Errorf("place %d is of %q", digest, name)
		}
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
		`{"names":["x"]` + strings.Repeat(" ", maxMemory) + `}`,
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var table Table
			if split, hear := table.Load(json.RawMessage(text), 1, &clock); split || hear || table.names != nil || table.HasCounters() {
				t.Errorf("%.40s is taken over: %v, %v", text, split, hear)
			}
		})
	}
}
