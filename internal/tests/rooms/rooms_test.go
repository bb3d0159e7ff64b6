package rooms

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gopacer/pacer/internal/tests/load"
)

// mostInCircle bounds how many files of one package may know each other: who changes one
// of them has to know them all.
const mostInCircle = 8

func TestCircles(t *testing.T) {
	for _, r := range roomsOf(module(t)) {
		circle := r.circle()
		t.Logf("%-27s %2d files, %4d lines of code; the largest circle has %d files; %2d pairs know each other",
			r.path, len(r.files), r.code(), len(circle), r.pairs())
		if len(circle) > mostInCircle {
			t.Errorf("%s: a circle of %d files, each of which uses the next, want %d at most: %s\n\thave one of them be given what it now asks another for, or move what several need into a file that asks none", r.path, len(circle), mostInCircle, strings.Join(circle, " "))
		}
	}
}

// The rooms where everything comes together would grow without a bound. Comments do not count, so that nobody
// saves lines on them.
func TestSizes(t *testing.T) {
	for _, r := range roomsOf(module(t)) {
		var files, code, tests int // at most
		switch r.path {
		case ".":
			files, code, tests = 12, 1750, 14
		case "throttle":
			files, code, tests = 24, 3230, math.MaxInt
		default:
			continue
		}
		for _, size := range []struct {
			n, most int
			what    string
		}{{len(r.files), files, "files"}, {r.code(), code, "lines of code without comments"}, {r.tests, tests, "files of tests"}} {
			if size.n > size.most {
				t.Errorf("%s: %d %s, want %d at most, which does not grow: put the idea into a room of its own (ARCHITECTURE.md), or take as much out",
					r.path, size.n, size.what, size.most)
			}
		}
		for _, f := range r.files {
			// It shows the way of a request, on one page or two.
			if r.path == "." && f.name == "roundtrip.go" && f.lines > 150 {
				t.Errorf("roundtrip.go has %d lines, want 150 at most: it shows the way of a request on a page or two; put what a step does into the file of that step", f.lines)
			}
		}
	}
}

// What modules of their own need alike, and nobody else does, is there twice, and the same.
func TestTwins(t *testing.T) {
	for _, name := range []string{"perfect.go", "perfect_test.go"} {
		var texts [2]string
		for i, module := range []string{"redisquota", "filequota"} {
			text, err := os.ReadFile("../../../" + module + "/internal/soak/" + name)
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			t.Errorf("internal/soak/%s of redisquota and of filequota differ: copy the one that is right", name)
		}
	}
}

// code returns how many lines of code the files of a room have.
func (r *room) code() (n int) {
	for _, f := range r.files {
		n += f.code
	}
	return n
}

// module returns this module. If it does not compile, the first test that asks for it says so, and the others
// are skipped.
func module(t *testing.T) *load.Module {
	t.Helper()
	m, err := loaded()
	if err != nil {
		broken.Do(func() { t.Fatal(err) })
		t.Skip("the module does not compile")
	}
	return m
}

var broken sync.Once

var loaded = sync.OnceValues(func() (*load.Module, error) {
	return load.NewLoader().Load("../../..", load.Target{})
})

// Every room that is not an example or a test has a rule in .golangci.yml, which begins with the room: what it
// may import.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("../../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roomsOf(module(t)) {
		if regexp.MustCompile(`^(examples|internal/tests)\b`).MatchString(r.path) {
			continue
		}
		rule := "files: [\"" + strings.Replace("${config-path}/"+r.path+"/", "/./", "/", 1)
		if !strings.Contains(string(text), rule+`**"`) && !strings.Contains(string(text), rule+`*.go"`) {
			t.Errorf(".golangci.yml has no rule for %s: add one to depguard, with all of ours that it imports, as in those beside it", r.path)
		}
	}
}

// ARCHITECTURE.md names every room that is not an example or a test, and every file that it names is there.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("../../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 125 {
		t.Errorf("ARCHITECTURE.md has %d lines, want 125 at most, so that people read all of it: join rows of its tables that are about the same", n)
	}
	rooms := map[string][]bool{} // by the last part of a path: whether rooms of that name are marked as pure
	_, tree, _ := strings.Cut(string(text), "```")
	tree, _, _ = strings.Cut(tree, "```")
	for _, m := range regexp.MustCompile(`(?m)[├└]─(.) ([^\s,]+(?:, [^\s,]+)*)`).FindAllStringSubmatch(tree, -1) {
		for _, name := range strings.Split(m[2], ", ") {
			name = name[strings.LastIndex(name, "/")+1:]
			rooms[name] = append(rooms[name], m[1] == "=")
		}
	}
	files := map[string]bool{}
	for _, r := range roomsOf(module(t)) {
		for _, f := range r.files {
			files[f.name] = true
		}
		if r.path == "." || regexp.MustCompile(`^(examples|internal/tests|pacertest|throttle/internal/definition)\b`).MatchString(r.path) {
			continue
		}
		name := r.path[strings.LastIndex(r.path, "/")+1:]
		_, isPure := pure[r.path]
		if i := slices.Index(rooms[name], isPure); i >= 0 {
			rooms[name] = slices.Delete(rooms[name], i, i+1)
		} else {
			t.Errorf("%s, pure: %v (purity_test.go), is not in the picture of the rooms in ARCHITECTURE.md", r.path, isPure)
		}
	}
	for name, left := range rooms {
		if len(left) > 0 {
			t.Errorf("the picture of the rooms in ARCHITECTURE.md has a %s, pure: %v (=; purity_test.go says which are), which is not there", name, left)
		}
	}
	for _, name := range regexp.MustCompile(`\w+\.go\b`).FindAllString(string(text), -1) {
		if !files[name] {
			t.Errorf("ARCHITECTURE.md names %s, which is no file of a room (those of tests do not count)", name)
		}
	}
}
