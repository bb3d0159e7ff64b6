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
		how  How
		want string
	}{
		{"", IDs, "/"},
		{"", Last, "/"},
		{"/", Last, "/"},
		{"/a", Last, "/a"},
		{"a", IDs, "/a"},
		{"/a/b", IDs, "/a/b"},
		{"/a/b", Last, "/a/*"},
		{"/a/", Last, "/a/*"},
		{"/17", IDs, "/*"},
		{"/a/17/b", IDs, "/a/*/b"},
		{"/a/17/b", Last, "/a/*/*"},
		{"", Before, "/"},
		{"/a", Before, "/a"},
		{"/a/b", Before, "/*/b"},
		{"/a/b/c", Before, "/*/*/c"},
		{"/a/b/17", Before, "/*/*/*"},
		{"/a/", Before, "/*/"},
		{"", After, "/"},
		{"/a", After, "/a"},
		{"/a/b/c", After, "/a/*/*"},
		{"/17/b", After, "/*/*"},
		{"/a/", After, "/a/*"},
		{"/models/gemini-2.5-flash:countTokens", IDs, "/models/gemini-2.5-flash/countTokens"},
		{"/places:searchText", IDs, "/places/searchText"},
		{"/operations/17:cancel", IDs, "/operations/*/cancel"},
		{"/operations/a:17:cancel", IDs, "/operations/*/cancel"},
		{"/operations/a:cancel", Last, "/operations/a/*"},
		{"/operations/a:cancel", Before, "/*/*/cancel"},
		{"/a:b/c", IDs, "/*/c"}, // no method: it is not at the end
		{"/a:", IDs, "/*"},
		{"/:a", IDs, "/*"},
		{"/a:B", IDs, "/*"},
		{"/a:b1", IDs, "/*"},
		{"/a:b.c", IDs, "/*"},
		{"/a:b@c", IDs, "/*"},
	} {
		if got := Stars(c.path, c.how); got != c.want {
			t.Errorf("%q, %v: %q, want %q", c.path, c.how, got, c.want)
		}
	}
}

func FuzzFits(f *testing.F) {
	f.Add("/a/17/b", "/a/18/c")
	f.Add("a//", "/a/b/")
	f.Add("*", "1")
	f.Add("a///", "a/A")
	f.Add("a:b:c", "1:c/")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, how := range []How{IDs, Last, Before, After} {
			if got, want := Fits(Stars(a, how), b, how), Stars(a, how) == Stars(b, how); got != want {
				t.Errorf("%q, %q, %v: %v, want %v", a, b, how, got, want)
			}
			if n := testing.AllocsPerRun(1, func() { Fits(b, a, how) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		}
	})
}

func ExampleStars() {
	fmt.Println(Stars("/items/17/parts/bolt", IDs))
	fmt.Println(Stars("/items/17/parts/bolt", Last))
	fmt.Println(Stars("/items/17/parts/bolt", Before))
	fmt.Println(Stars("/items/17/parts/bolt", After))
	// Output:
	// /items/*/parts/bolt
	// /items/*/parts/*
	// /*/*/*/bolt
	// /items/*/*/*
}
