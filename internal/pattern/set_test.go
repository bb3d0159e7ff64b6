package pattern

import (
	"fmt"
	"strings"
	"testing"
)

// What is valid is in the set, and the others are told of, each with its own mistake.
func TestNew(t *testing.T) {
	s, mistakes := New(map[string]int{
		"/": 1, "[::1]/": 2, "GET a.example/{x}": 3, // valid
		"a.example/{x}/b": 4, "a.example/a/{y}": 5, // the first in order is taken
		"": 6, "A.example/": 7, "a.example": 8, "GET a.example/{x": 9,
	})
	for pattern, want := range map[string]string{
		"a.example/{x}/b":  `conflicts with pattern "a.example/a/{y}"`,
		"":                 `want a pattern: "api.example.com/" is a host, and "/" each that is not named`,
		"A.example/":       "want the host in lower case",
		"a.example":        "want a path after the host",
		"GET a.example/{x": "bad wildcard segment",
	} {
		if err := mistakes[pattern]; err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "registered at") {
			t.Errorf("%q: got %v, want %q in one line", pattern, err, want)
		}
		if got := s.Value(pattern); got != 0 {
			t.Errorf("%q: is in the set with %d", pattern, got)
		}
	}
	if len(mistakes) != 5 {
		t.Errorf("mistakes: %v", mistakes)
	}
	for pattern, want := range map[string]int{"/": 1, "[::1]/": 2, "GET a.example/{x}": 3, "a.example/a/{y}": 5, "POST a.example/{x}": 0} {
		if got := s.Value(pattern); got != want {
			t.Errorf("%q: got %d, want %d", pattern, got, want)
		}
	}
	if s.HostsOnly() || s.OfHost("::1") != 2 || s.OfHost("b.example") != 1 {
		t.Errorf("hosts only: %v, %d, %d", s.HostsOnly(), s.OfHost("::1"), s.OfHost("b.example"))
	}
}

func TestSamePatterns(t *testing.T) {
	s := named(t, "/", "a.example/x")
	for name, test := range map[string]struct {
		other *Set[string]
		want  bool
	}{
		"itself":  {s, true},
		"equal":   {named(t, "a.example/x", "/"), true},
		"fewer":   {named(t, "/"), false},
		"more":    {named(t, "/", "a.example/x", "a.example/y"), false},
		"another": {named(t, "/", "a.example/y"), false},
		"none":    {named(t), false},
	} {
		if got := s.SamePatterns(test.other); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestFill(t *testing.T) {
	for _, test := range []struct{ pattern, values, want string }{
		{"GET a.example/x", "", "GET a.example/x"},
		{"a.example/{id}/y/{$}", "7", "a.example/7/y/{$}"},
		{"a.example/{a}/{b}", "1\x002", "a.example/1/2"},
		{"a.example/{a}/{rest...}", "1\x002/3", "a.example/1/2/3"},
		{"a.example/{a}/{rest...}", "\x00", "a.example//"},
		{"a.example/{a}/{b}", "%7Bb}\x002", "a.example/%7Bb}/2"}, // as Match escapes "{b}"
	} {
		if got := Fill(test.pattern, test.values); got != test.want {
			t.Errorf("%q with %q is %q, want %q", test.pattern, test.values, got, test.want)
		}
	}
}

// What n patterns cost is linear. A host alone needs no ServeMux, and each other host has one of its own.
func TestNewGrowsLinearly(t *testing.T) {
	for _, test := range []struct {
		format string
		most   float64 // allocations for each
	}{{"h%d.example/", 12}, {"h%d.example/v1/{id}", 150}} {
		each := func(n int) float64 {
			values := map[string]int{}
			for i := range n {
				values[fmt.Sprintf(test.format, i)] = i
			}
			return testing.AllocsPerRun(1, func() {
				s, mistakes := New(values)
				if len(mistakes) > 0 {
					t.Fatal(mistakes)
				}
				for p := range values {
					if !s.Reachable(p) {
						t.Errorf("%q is not reachable", p)
					}
				}
			}) / float64(n)
		}
		few, many := each(50), each(2000)
		if few > test.most || many > 1.1*few {
			t.Errorf("%s: %.1f allocations for each of 50, and %.1f of 2000; want %v at most, and no more", test.format, few, many, test.most)
		}
	}
}

// To find a pattern costs no allocation, unless it has several wildcards.
func TestMatchAllocatesNothing(t *testing.T) {
	ps := named(t, "h/", "GET h/v1/{id}", "h/files/{file...}")
	for _, url := range []string{"http://h/v1/7", "http://h/files/a/b", "http://h/other", "http://i/v1/7"} {
		req := request(t, "GET", url, "")
		if n := testing.AllocsPerRun(100, func() { ps.Match(req) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", url, n)
		}
	}
}
