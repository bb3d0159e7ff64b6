// Package rooms measures the structure of the module: which files of a package know each
// other, and what packages that only decide must not touch. Its tests hold the walls that
// ARCHITECTURE.md draws.
package rooms

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/gopacer/pacer/internal/tests/load"
)

// room is a package of the module, type-checked, without its tests.
type room struct {
	path       string // relative to the module; "." is the module's root
	importPath string
	files      []*file
	tests      int // how many files of tests there are
	fset       *token.FileSet
	uses       map[*ast.Ident]types.Object
}

// file is one file of a room.
type file struct {
	name  string
	lines int // in all
	code  int // of them without comments and blank lines
	tree  *ast.File
}

// roomsOf returns the packages of a module.
func roomsOf(m *load.Module) (rooms []*room) {
	for _, p := range m.Packages {
		r := newRoom(m, p)
		if r.path = strings.TrimPrefix(strings.TrimPrefix(r.importPath, m.Path), "/"); r.path == "" {
			r.path = "."
		}
		rooms = append(rooms, r)
	}
	return rooms
}

func newRoom(m *load.Module, p *load.Package) *room {
	r := &room{path: p.Types.Path(), importPath: p.Types.Path(), tests: p.Tests, fset: m.Fset, uses: p.Uses}
	for _, f := range p.Files {
		r.files = append(r.files, &file{name: f.Name, lines: m.Fset.File(f.Tree.FileStart).LineCount(), code: linesOfCode(m.Fset, f.Tree), tree: f.Tree})
	}
	return r
}

// linesOfCode returns on how many lines something of a file begins or ends that is no comment.
func linesOfCode(fset *token.FileSet, tree *ast.File) int {
	lines := map[int]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.CommentGroup, *ast.Comment:
			return false
		case *ast.File: // it ends with its comments
			return true
		}
		lines[fset.Position(n.Pos()).Line], lines[fset.Position(n.End()-1).Line] = true, true
		return true
	})
	return len(lines)
}
