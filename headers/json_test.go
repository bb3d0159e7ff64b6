package headers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// scanned returns what a scanner visits of a text, up to a depth.
func scanned(text string, depth int) (visits []string, whole bool) {
	s := scanner{
		text:  []byte(text),
		wants: func(path []byte) bool { return bytes.Count(path, []byte("/")) < depth },
		visit: func(path, value []byte) {
			if value == nil {
				visits = append(visits, string(path))
			} else {
				visits = append(visits, fmt.Sprintf("%s=%q", path, value))
			}
		},
	}
	whole = s.value(make([]byte, 0, maxPath))
	return visits, whole
}

func TestScanner(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{`{"a":1,"b":"x","c":true,"d":null}` + " ", `a="1" b="x" c="true" d="null"`},
		{` { "a" : [ 1 , {"b":2} , [3] ] } `, `a/* a/*="1" a/* a/*/b="2" a/* a/*/* a/*/*="3"`},
		{`{"a":{"b":{"c":{"d":{"e":1}}}},"z":2} `, `z="2"`}, // deeper than anybody asks
		{`{"a":"\"\\\/\u00e9","\u0062":""} `, `a="\"\\/é" b=""`},
		{`{"a":[],"b":{},"c":1} `, `c="1"`},
		{`{"a":1,"b":12`, `a="1"`},
		{`{"a":1,"b":"x`, `a="1"`},
		{`{"a":1,"b":"x\`, `a="1"`},
		{`{"a":1 "b":2}`, `a="1"`},
		{`{"a":1,}`, `a="1"`},
		{`{a:1}`, ``},
		{`{"a" 1}`, ``},
		{`[1 2]`, `* *="1"`},
		{`[1}`, `* *="1"`},
		{`{"a":]}`, ``},
		{`{"a":{]},"b":1}`, ``},
		{``, ``},
		{"\x00", ``},
	} {
		visits, _ := scanned(tt.text, 4)
		if got := strings.Join(visits, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// reference returns what a scanner should visit of a valid text, by way of encoding/json.
func reference(t *testing.T, text string, depth int) (visits []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var walk func(path string, wanted bool)
	walk = func(path string, wanted bool) {
		wanted = wanted && strings.Count(path, "/") < depth
		note := func(visit string) {
			if wanted {
				visits = append(visits, visit)
			}
		}
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case json.Delim:
			for d.More() {
				key, ok := "*", true
				if v == '{' {
					k, err := d.Token()
					if err != nil {
						t.Fatal(err)
					}
					key = k.(string)
					ok = !strings.ContainsAny(key, "/*")
				}
				ok = ok && wanted && len(path)+len(key) < maxPath
				member := path + "/" + key
				if path == "" {
					member = key
				}
				if v == '[' && ok && strings.Count(member, "/") < depth {
					visits = append(visits, member)
				}
				walk(member, ok)
			}
			if _, err := d.Token(); err != nil {
				t.Fatal(err)
			}
		case string:
			note(fmt.Sprintf("%s=%q", path, v))
		case nil:
			note(fmt.Sprintf("%s=%q", path, "null"))
		default:
			note(fmt.Sprintf("%s=%q", path, fmt.Sprint(v)))
		}
	}
	walk("", true)
	return visits
}

// FuzzScanner compares the scanner with encoding/json where a text is valid, and otherwise
// looks for what makes it panic.
func FuzzScanner(f *testing.F) {
	for _, b := range bodies {
		f.Add(b.body)
	}
	f.Add(`[[[[[[[[{"a":[{"b":"\ud83d\ude00\ud800"}]}]]]]]]]]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, whole := scanned(text+"\n", 4)
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) || len(text) > maxField {
			return
		}
		if !whole {
			t.Errorf("scanner gives up on %q", text)
		}
		if want := reference(t, text, 4); !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	})
}
