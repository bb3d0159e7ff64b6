package alike

import (
	"fmt"
	"strings"
	"testing"
)

func TestLooksLikeID(t *testing.T) {
	for _, id := range []string{
		"1", "12345", "20261121", "550e8400-e29b-41d4-a716-446655440000", "deadbeef1", "a@b.test", "x:y", "a,b", "caf%C3%A9", "bot1234:AAAA",
		"AbCdEfGhIjKlMnOpQrS7", "v1.2.3.4.5.6", "1a2b", strings.Repeat("x", 65),
	} {
		if !LooksLikeID(id) {
			t.Errorf("%q is no id", id)
		}
	}
	for _, word := range []string{"", "users", "v1", "2fa", "oauth2", "api-v2", "deadbeef", "statuses", "user_timeline.json", "me"} {
		if LooksLikeID(word) {
			t.Errorf("%q is an id", word)
		}
	}
}

func TestStars(t *testing.T) {
	for _, c := range []struct {
		path string
		last bool
		want string
	}{
		{"", false, "/"},
		{"", true, "/"},
		{"/", true, "/"},
		{"/a", true, "/a"},
		{"a", false, "/a"},
		{"/a/b", false, "/a/b"},
		{"/a/b", true, "/a/*"},
		{"/a/", true, "/a/*"},
		{"/17", false, "/*"},
		{"/a/17/b", false, "/a/*/b"},
		{"/a/17/b", true, "/a/*/*"},
	} {
		if got := Stars(c.path, c.last); got != c.want {
			t.Errorf("%q, %v: %q, want %q", c.path, c.last, got, c.want)
		}
	}
}

func FuzzFits(f *testing.F) {
	f.Add("/a/17/b", "/a/18/c")
	f.Add("a//", "/a/b/")
	f.Add("*", "1")
	f.Add("a///", "a/A")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, last := range []bool{false, true} {
			if got, want := Fits(Stars(a, last), b, last), Stars(a, last) == Stars(b, last); got != want {
				t.Errorf("%q, %q, %v: %v, want %v", a, b, last, got, want)
			}
			if n := testing.AllocsPerRun(1, func() { Fits(b, a, last) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		}
	})
}

func ExampleStars() {
	fmt.Println(Stars("/items/17/parts/bolt", false))
	fmt.Println(Stars("/items/17/parts/bolt", true))
	// Output:
	// /items/*/parts/bolt
	// /items/*/parts/*
}
