// Package rooms measures the structure of the module: which files of a package know each
// other, and what packages that only decide must not touch. Its tests hold the walls that
// ARCHITECTURE.md draws.
package rooms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// room is a package of the module, type-checked, without its tests.
type room struct {
	path       string // relative to the module; "." is the module's root
	importPath string
	files      []*file
	tests      int // how many files of tests there are
	fset       *token.FileSet
	info       *types.Info
}

// file is one file of a room.
type file struct {
	name  string
	lines int
	tree  *ast.File
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	TestGoFiles             []string
	XTestGoFiles            []string
	Module                  *struct{ Path, Dir string }
	DepOnly                 bool
}

// load type-checks the packages of the module in directory dir. It asks the go command for
// what they import, in compiled form, so that it needs no library.
func load(dir string) (rooms []*room, err error) {
	rooms, _, err = loadWith(dir, "")
	return rooms, err
}

// loadWith is load, and also type-checks the text of a file, unless it is empty, which may import what the
// module does.
func loadWith(dir, text string) (rooms []*room, fixture *room, err error) {
	packages, err := list(dir)
	if err != nil {
		return nil, nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range packages {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		r, err := check(fset, imports, p)
		if err != nil {
			return nil, nil, err
		}
		rooms = append(rooms, r)
	}
	if text != "" {
		fixture, err = checkText(fset, imports, text)
	}
	return rooms, fixture, err
}

// checkText makes a room of the text of one file.
func checkText(fset *token.FileSet, imports types.Importer, text string) (*room, error) {
	tree, err := parser.ParseFile(fset, "fixture.go", text, 0)
	if err != nil {
		return nil, err
	}
	r := &room{
		path: "fixture", importPath: "fixture", fset: fset, files: []*file{{name: "fixture.go", tree: tree}},
		info: &types.Info{Uses: map[*ast.Ident]types.Object{}},
	}
	conf := types.Config{Importer: imports}
	_, err = conf.Check(r.importPath, fset, []*ast.File{tree}, r.info)
	return r, err
}

func list(dir string) (packages []*listed, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,Module,DepOnly", "./...") //nolint:noctx // it ends
	cmd.Dir = dir
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

func check(fset *token.FileSet, imports types.Importer, p *listed) (*room, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
	// The go command takes the result of a test from its cache unless something changed that the test itself
	// has looked at; a new file is in the directory.
	if _, err := os.ReadDir(p.Dir); err != nil {
		return nil, err
	}
	r := &room{
		path: path, importPath: p.ImportPath, tests: len(p.TestGoFiles) + len(p.XTestGoFiles), fset: fset,
		info: &types.Info{Uses: map[*ast.Ident]types.Object{}},
	}
	if path == "" {
		r.path = "."
	}
	trees := make([]*ast.File, len(p.GoFiles))
	for i, name := range p.GoFiles {
		tree, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		trees[i] = tree
		r.files = append(r.files, &file{name: name, lines: fset.File(tree.FileStart).LineCount(), tree: tree})
	}
	conf := types.Config{Importer: imports}
	if _, err := conf.Check(p.ImportPath, fset, trees, r.info); err != nil {
		return nil, err
	}
	return r, nil
}
