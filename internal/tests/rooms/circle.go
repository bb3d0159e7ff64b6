package rooms

import (
	"go/ast"
	"slices"
)

// knows returns, for each file of a room, which others it uses a name of: a type, a
// function, a method, a field, a constant or a variable.
func (r *room) knows() [][]bool {
	at := func(n int) int { // the file in which a position is
		return slices.IndexFunc(r.files, func(f *file) bool { return int(f.tree.FileStart) <= n && n < int(f.tree.FileEnd) })
	}
	knows := make([][]bool, len(r.files))
	for i, f := range r.files {
		knows[i] = make([]bool, len(r.files))
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if used := r.uses[id]; used != nil && used.Pkg() != nil {
					if j := at(int(used.Pos())); j >= 0 && j != i {
						knows[i][j] = true
					}
				}
			}
			return true
		})
	}
	return knows
}

// circle returns the names of the files that form the largest circle: each of them knows
// each other, perhaps through others. There is none of less than two.
func (r *room) circle() (names []string) {
	reach := r.knows()
	for k := range reach { // Warshall's algorithm
		for i := range reach {
			for j := range reach {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	var largest []string
	for i := range reach {
		var circle []string
		for j := range reach {
			if reach[i][j] && reach[j][i] {
				circle = append(circle, r.files[j].name)
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	if len(largest) < 2 {
		return nil
	}
	return largest
}

// pairs counts the pairs of files that know each other directly.
func (r *room) pairs() (n int) {
	knows := r.knows()
	for i := range knows {
		for j := range i {
			if knows[i][j] && knows[j][i] {
				n++
			}
		}
	}
	return n
}
