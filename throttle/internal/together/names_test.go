package together

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestNamesNote: when requests get a bucket of their own.
func TestNamesNote(t *testing.T) {
	n := newNames("core")
	for i, step := range []struct {
		path, name string
		usedUp     bool
		of         string
		own        bool
	}{
		{"/users", "core", false, "core", false},
		{"/users", "core", false, "core", false},      // the first name needs no bucket of its own
		{"/search", "search", false, "search", false}, // seen once
		{"/search", "search", false, "search", true},  // seen twice
		{"/users", "core", false, "core", true},
		{"/graph", "graph", false, "graph", true}, // there are several by now
	} {
		if of, own := n.Note("GET", step.path, step.name, step.usedUp); of != step.of || own != step.own {
			t.Errorf("step %d: %s, %v; want %s, %v", i, of, own, step.of, step.own)
		}
		if of := n.Of("GET", step.path); !step.own && of != "core" {
			t.Errorf("step %d: the next one counts as %s before there are several", i, of)
		}
	}
	if want := []string{"core", "search", "graph"}; !slices.Equal(n.separate, want) {
		t.Errorf("%q have buckets of their own, want %q", n.separate, want)
	}
	n = newNames("core")
	if _, own := n.Note("GET", "/search", "search", true); !own {
		t.Error("a second name that is used up does not get a bucket of its own")
	}
}

// TestNamesOf: a request is expected to draw on what the nearest known request drew on.
func TestNamesOf(t *testing.T) {
	n := newNames("core")
	n.Note("GET", "/repos/a", "core", false)
	n.Note("GET", "/search/code", "code", true)
	n.Note("GET", "/search/users", "search", false)
	n.Note("POST", "/graph", "graph", false)
	n.Note("GET", "/search/code", "code", false)
	for _, test := range []struct{ verb, path, want string }{
		{"GET", "/repos/a", "core"},
		{"GET", "/repos/b/c", "core"},
		{"GET", "/search/code", "code"},
		{"GET", "/search/code/x", "code"},
		{"GET", "/search", "code"},
		{"GET", "search/users/", "search"},
		{"POST", "/graph", "graph"},
		{"DELETE", "/x", "core"},
	} {
		if got := n.Of(test.verb, test.path); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.verb, test.path, got, test.want)
		}
	}
	if n.places != 7 { // GET, repos, search, users, code, POST, graph: no further than names differ
		t.Errorf("%d places, want 7", n.places)
	}
	n.Note("GET", "/search/code", "search", false) // the latest counts
	if got := n.Of("GET", "/search/code"); got != "search" {
		t.Errorf("%s, want search", got)
	}
}

// TestNamesAreBounded: a server that names every path anew does not fill the memory.
func TestNamesAreBounded(t *testing.T) {
	n := newNames("first")
	n.Note("GET", "/"+strings.Repeat("long", maxPart), "name1", true)
	n.Note("GET", strings.Repeat("/deep", 1000), "first", true)
	if n.places != 2 { // GET, deep
		t.Errorf("%d places, want 2", n.places)
	}
	for i := range 5000 {
		name := fmt.Sprint("name", i)
		of, own := n.Note("GET", fmt.Sprint("/a/", i, "/", i), name, true)
		if !own && of != "first" {
			t.Fatalf("of too many names, %s counts as %s", name, of)
		}
	}
	n.Note("GET", strings.Repeat("/deep", 1000), "name2", true)
	if len(n.separate) != maxNames || n.places > maxPlaces {
		t.Errorf("%d names, %d places; want %d, at most %d", len(n.separate), n.places, maxNames, maxPlaces)
	}
	if got := len(parts(nil, "GET", strings.Repeat("/deep", 1000))); got != maxDepth {
		t.Errorf("%d parts, want %d", got, maxDepth)
	}
}
