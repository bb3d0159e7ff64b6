package hour

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	// The go command takes the result of a test from its cache unless something changed that the test
	// imports or has read.
	_ "github.com/gopacer/pacer"
	_ "github.com/gopacer/pacer/pacerdebug"
	_ "github.com/gopacer/pacer/pacertest"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// packages are those that snippets may use, by their names; each in the directory of the module that has it.
var packages = map[string][]struct{ module, path string }{
	"context":       {{"", "context"}},
	"errors":        {{"", "errors"}},
	"fmt":           {{"", "fmt"}},
	"http":          {{"", "net/http"}},
	"io":            {{"", "io"}},
	"json":          {{"", "encoding/json"}},
	"log":           {{"", "log"}},
	"os":            {{"", "os"}},
	"slog":          {{"", "log/slog"}},
	"strconv":       {{"", "strconv"}},
	"strings":       {{"", "strings"}},
	"sync":          {{"", "sync"}},
	"synctest":      {{"", "testing/synctest"}},
	"testing":       {{"", "testing"}},
	"time":          {{"", "time"}},
	"pacer":         {{"", "github.com/gopacer/pacer"}},
	"backoff":       {{"", "github.com/gopacer/pacer/backoff"}, {"", "github.com/cenkalti/backoff/v4"}},
	"headers":       {{"", "github.com/gopacer/pacer/headers"}},
	"pacerdebug":    {{"", "github.com/gopacer/pacer/pacerdebug"}},
	"pacertest":     {{"", "github.com/gopacer/pacer/pacertest"}},
	"quota":         {{"", "github.com/gopacer/pacer/quota"}},
	"store":         {{"", "github.com/gopacer/pacer/throttle/store"}},
	"throttle":      {{"", "github.com/gopacer/pacer/throttle"}},
	"warmup":        {{"", "github.com/gopacer/pacer/warmup"}},
	"cenkalti":      {{"", "github.com/cenkalti/backoff/v4"}},
	"rate":          {{"", "golang.org/x/time/rate"}},
	"retryablehttp": {{"", "github.com/hashicorp/go-retryablehttp"}},
	"filequota":     {{"filequota", "github.com/gopacer/pacer/filequota"}},
	"goredis":       {{"redisquota", "github.com/gopacer/pacer/redisquota/goredis"}},
	"redis":         {{"redisquota", "github.com/redis/go-redis/v9"}},
	"redisquota":    {{"redisquota", "github.com/gopacer/pacer/redisquota"}},
	"rueidis":       {{"redisquota/bench", "github.com/redis/rueidis"}},
	"valkey":        {{"redisquota/bench", "github.com/valkey-io/valkey-go"}},
	"pacerotel":     {{"pacerotel/examples", "github.com/gopacer/pacer/pacerotel"}},
	"otelhttp":      {{"pacerotel/examples", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"}},
	"failsafehttp":  {{"interop", "github.com/failsafe-go/failsafe-go/failsafehttp"}},
	"ratelimiter":   {{"interop", "github.com/failsafe-go/failsafe-go/ratelimiter"}},
}

// Every piece of Go compiles: as a file, or in a function after the declarations in testdata, with the imports
// that it takes. A variable that a snippet does not use any more is no mistake. What snippets import of nested
// modules takes long to compile: those are tried in a step of the gate, with PACER_WHOLE=1.
func TestSnippets(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "go" {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", p.path, b.line), func(t *testing.T) { compiles(t, p.module, b.text) })
		}
	}
}

// compiles tries both meanings of a name that two packages have. Home is the module of the page.
func compiles(t *testing.T, home, text string) {
	t.Helper()
	var used []string
	for name := range packages {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(text) {
			used = append(used, name)
		}
	}
	var errs []error
	for meaning := range 2 {
		imported := map[string]string{}
		module := home
		for _, name := range used {
			of := packages[name][min(meaning, len(packages[name])-1)]
			imported[name] = of.path
			module = max(module, of.module)
		}
		err := check(t, module, imported, text)
		if err == nil {
			return
		}
		errs = append(errs, err)
	}
	t.Error(errs[0])
}

// check type-checks a snippet with the packages that it uses, in the directory of a module that has them all.
func check(t *testing.T, module string, imported map[string]string, text string) error {
	t.Helper()
	if module != "" && !whole.Wanted() {
		t.Skip("the gate compiles what nested modules import")
	}
	m := modules[module]
	if m == nil {
		m = &compiled{fset: token.NewFileSet(), files: map[string]string{}}
		m.Importer = importer.ForCompiler(m.fset, "gc", m.open)
		modules[module] = m
	}
	file, err := parser.ParseFile(m.fset, "snippet", source(imported, text), 0)
	if err != nil {
		return err
	}
	files := []*ast.File{file}
	if file.Name.Name == "given" {
		for _, name := range []string{"given", module} { // a module may have a file of its own
			prelude, err := parser.ParseFile(m.fset, filepath.Join("testdata", name+".go.txt"), nil, 0)
			if err == nil {
				files = append(files, prelude)
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	needed := map[string]bool{}
	for _, f := range files {
		for _, s := range f.Imports {
			needed[strings.Trim(s.Path.Value, `"`)] = true
		}
	}
	m.list(t, module, slices.Sorted(maps.Keys(needed)))
	var found []error
	conf := types.Config{
		Importer: m,
		Error: func(err error) {
			if e := (types.Error{}); !errors.As(err, &e) || !e.Soft {
				found = append(found, err)
			}
		},
	}
	conf.Check("given", m.fset, files, nil) // Error is told of all errors
	return errors.Join(found...)
}

// source makes a file of a snippet, unless it is one.
func source(imported map[string]string, text string) string {
	if strings.HasPrefix(text, "package ") {
		return text
	}
	var b strings.Builder
	b.WriteString("package given\n")
	for _, name := range slices.Sorted(maps.Keys(imported)) {
		fmt.Fprintf(&b, "import %s %q\n", name, imported[name])
	}
	if strings.HasPrefix(text, "func ") || strings.HasPrefix(text, "type ") {
		return b.String() + text
	}
	return b.String() + "func _() error {\n" + text + "\nreturn nil\n}\n"
}

// compiled is what the compiler says about packages that snippets import, in the directory of a module. Each is
// read once.
type compiled struct {
	types.Importer
	fset  *token.FileSet
	files map[string]string // that describe packages, by path
}

var modules = map[string]*compiled{}

// open is the look-up of the Importer.
func (m *compiled) open(path string) (io.ReadCloser, error) {
	if m.files[path] == "" {
		return nil, fmt.Errorf("%s was not compiled", path)
	}
	return os.Open(m.files[path])
}

// list has packages and all that they import compiled, or finds them compiled. Without the modules of a nested
// module, which need a network once, the test is skipped.
func (m *compiled) list(t *testing.T, module string, paths []string) {
	t.Helper()
	if !slices.ContainsFunc(paths, func(path string) bool { return m.files[path] == "" }) {
		return
	}
	for _, meanings := range packages { // what other snippets need of the module, too: one call takes as long as another
		for _, of := range meanings {
			if of.module == module {
				paths = append(paths, of.path)
			}
		}
	}
	work := "off"
	if module != "" { // a snippet may use both modules, and neither has the sums of the other
		at, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		work = filepath.Join(t.TempDir(), "go.work")
		if err := os.WriteFile(work, fmt.Appendf(nil, "go 1.25.0\nuse (\n%q\n%q\n)\n", at, filepath.Join(at, module)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := runIn(work, module, append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, paths...)...)
	switch {
	case err == nil:
	case module != "" && strings.Contains(err.Error(), "GOPROXY=off"):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		m.files[path] = file
	}
}

// run runs the go command in the directory of a module, and returns what it prints. Nothing is downloaded.
func run(module string, args ...string) (string, error) { return runIn("off", module, args...) }

// runIn is run in a workspace.
func runIn(work, module string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(root, module)
	cmd.Env = append(os.Environ(), "GOWORK="+work, "GOPROXY=off", "GOFLAGS=-buildvcs=false")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
