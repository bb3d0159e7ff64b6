// Package load type-checks the packages of a module for the tests that measure them, with
// the standard library alone.
package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	_ "github.com/gopacer/pacer/internal/tests/whole" // collects garbage less often
)

// Target is a system that packages are compiled for. The zero value is this one.
type Target struct{ OS, Arch string }

// Module has what a module is made of on one system: its packages, without their tests.
type Module struct {
	Path     string
	Fset     *token.FileSet
	Packages []*Package

	sizes types.Sizes
	all   map[string]*types.Package // those of others too
}

// Package is a package that is type-checked.
type Package struct {
	Types *types.Package
	Uses  map[*ast.Ident]types.Object
	Files []*File
	Tests int // how many files of tests there are
}

// File is a file of a package.
type File struct {
	Name string // without its directory
	Tree *ast.File
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	TestGoFiles     []string
	XTestGoFiles    []string
	ImportMap       map[string]string
	Module          *struct{ Path, GoMod string }
	DepOnly         bool
}

// Loader loads modules, and what they have in common once.
type Loader struct {
	// Declared says that nobody asks what is in functions: then nothing is there of Uses.
	Declared bool

	fset   *token.FileSet
	trees  map[string]*ast.File     // by path
	shared map[place]*types.Package // those that were imported by another package
}

// place is a package as it is on one system.
type place struct {
	Target
	dir string
}

// NewLoader returns a Loader.
func NewLoader() *Loader {
	return &Loader{fset: token.NewFileSet(), trees: map[string]*ast.File{}, shared: map[place]*types.Package{}}
}

// Load returns the module in directory dir as it is on a target. It reads the source of all that the
// module imports, so that it compiles nothing, and no target takes longer than another.
func (l *Loader) Load(dir string, t Target) (*Module, error) {
	if t == (Target{}) {
		t = Target{build.Default.GOOS, build.Default.GOARCH}
	}
	packages, err := list(dir, t)
	if err != nil {
		return nil, err
	}
	m := &Module{
		Fset: l.fset, sizes: types.SizesFor("gc", t.Arch),
		all: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	for _, p := range packages { // each after those that it imports
		at := place{t, p.Dir}
		switch {
		case p.ImportPath == "unsafe":
		case p.DepOnly && l.shared[at] != nil:
			m.all[p.ImportPath] = l.shared[at]
		default:
			checked, err := l.check(m, p)
			if err != nil {
				return nil, err
			}
			m.all[p.ImportPath] = checked.Types
			if p.DepOnly {
				l.shared[at] = checked.Types
			} else if len(p.GoFiles) > 0 {
				m.Path = p.Module.Path
				m.Packages = append(m.Packages, checked)
			}
		}
	}
	return m, nil
}

func list(dir string, t Target) (packages []*listed, err error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,ImportMap,Module,DepOnly", "./...") //nolint:noctx // it ends
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, &p)
	}
}

// check type-checks a package; of those of others, without what is in their functions.
func (l *Loader) check(m *Module, p *listed) (*Package, error) {
	if !p.DepOnly {
		// The go command takes the result of a test from its cache unless something changed that the test
		// itself has looked at; a new file is in the directory, and a new version of what is imported in
		// go.mod.
		if _, err := os.ReadDir(p.Dir); err != nil {
			return nil, err
		}
		if _, err := os.Stat(p.Module.GoMod); err != nil {
			return nil, err
		}
	}
	checked := &Package{Uses: map[*ast.Ident]types.Object{}, Tests: len(p.TestGoFiles) + len(p.XTestGoFiles)}
	trees := make([]*ast.File, len(p.GoFiles))
	for i, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		if l.trees[path] == nil {
			tree, err := parser.ParseFile(l.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			l.trees[path] = tree
		}
		trees[i] = l.trees[path]
		checked.Files = append(checked.Files, &File{Name: name, Tree: trees[i]})
	}
	conf := types.Config{
		IgnoreFuncBodies: p.DepOnly || l.Declared, FakeImportC: true, Sizes: m.sizes,
		Importer: imports(func(path string) *types.Package {
			if there, ok := p.ImportMap[path]; ok { // what the standard library has in its vendor directory
				path = there
			}
			return m.all[path]
		}),
	}
	var err error
	info := &types.Info{Uses: checked.Uses}
	if conf.IgnoreFuncBodies {
		info = nil
	}
	checked.Types, err = conf.Check(p.ImportPath, l.fset, trees, info)
	return checked, err
}

// CheckText type-checks a package of one file, which is called fixture.go. It may import what the module does.
func (m *Module) CheckText(text string) (*Package, error) {
	tree, err := parser.ParseFile(m.Fset, "fixture.go", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	checked := &Package{Uses: map[*ast.Ident]types.Object{}, Files: []*File{{Name: "fixture.go", Tree: tree}}}
	conf := types.Config{Sizes: m.sizes, Importer: imports(func(path string) *types.Package { return m.all[path] })}
	checked.Types, err = conf.Check("fixture", m.Fset, []*ast.File{tree}, &types.Info{Uses: checked.Uses})
	return checked, err
}

// imports is a types.Importer.
type imports func(path string) *types.Package

// Import implements types.Importer.
func (f imports) Import(path string) (*types.Package, error) {
	if p := f(path); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not imported by the module", path)
}
