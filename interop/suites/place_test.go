package suites

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlaceHook is that the standard library at hand and a file of the module can be patched, and each
// package gets a file of its own name.
func TestPlaceHook(t *testing.T) {
	p := &Place{Dir: t.TempDir(), pkgs: []testedPackage{{Name: "one", Dir: "/one"}, {Name: "two", Dir: "/two"}}}
	if err := os.Mkdir(p.module(), 0o700); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(p.module(), "own.go")
	if err := os.WriteFile(own, []byte("package own // before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.hook(t.Context(), []Patch{{"own.go", "not there", ""}}); err == nil {
		t.Error("no error from a patch that does not fit")
	}
	if err := p.hook(t.Context(), []Patch{{"own.go", "before", "after"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.overlay)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	if got, want := len(overlay.Replace), len(patches)+1+2; got != want {
		t.Errorf("%d files are replaced, want %d", got, want)
	}
	for in, want := range map[string]string{
		"/one/zz_pacer_test.go": "package one_test\n",
		"/two/zz_pacer_test.go": "package two_test\n",
	} {
		text, err := os.ReadFile(overlay.Replace[in])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), "\nfunc init() { http.Between = between }\n") {
			t.Errorf("%s is\n%s\nwant it to begin with %q and to set the hook", in, text, want)
		}
	}
	if text, err := os.ReadFile(overlay.Replace[own]); err != nil || string(text) != "package own // after\n" {
		t.Errorf("%s is replaced by %q, error %v", own, text, err)
	}
	for in, file := range overlay.Replace {
		if filepath.Base(in) == "client.go" {
			if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "Between(c, t)") != 1 {
				t.Errorf("%s does not call the hook once, error %v", file, err)
			}
		}
	}
}

func TestAll(t *testing.T) {
	names, dirs := map[string]bool{}, map[string]bool{}
	for _, s := range All() {
		if names[s.Name] || dirs[s.dir()] {
			t.Errorf("two suites are named %s or run in %s", s.Name, s.dir())
		}
		names[s.Name], dirs[s.dir()] = true, true
		if (s.Module == "") != (s.Version == "") || len(s.Packages) == 0 {
			t.Errorf("%s: want a pinned version and packages", s.Name)
		}
	}
}

func TestShort(t *testing.T) {
	for _, s := range Short() {
		if !slices.Equal(s.Skip, s.Slow) {
			t.Errorf("%s: skips %q, want %q", s.Name, s.Skip, s.Slow)
		}
	}
	if n := len(Short()); n == 0 || n == len(All()) {
		t.Errorf("%d of %d suites are short", n, len(All()))
	}
}

func TestSkip(t *testing.T) {
	if got, want := skip([]string{"TestX"}, nil, []string{"TestY"}), []string{"-skip", "^(TestX|TestY)$"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := skip(nil, []string{}); got != nil {
		t.Errorf("got %q, want none", got)
	}
}
