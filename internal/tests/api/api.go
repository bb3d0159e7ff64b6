package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/gopacer/pacer/internal/tests/load"
)

// targets are the systems for which the API is read: each word size, and each family of systems.
var targets = []load.Target{{OS: "linux", Arch: "386"}, {OS: "darwin", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}}

// api returns a sorted line for each exported name of the module in directory dir. A line that does not hold
// for all targets names those for which it does.
func api(l *load.Loader, dir string, targets []load.Target) (lines []string, err error) {
	where := map[[2]string][]string{} // by package and what it exports
	for _, target := range targets {
		m, err := l.Load(dir, target)
		if err != nil {
			return nil, err
		}
		for _, p := range m.Packages {
			if p.Types.Name() == "main" || hidden.MatchString(p.Types.Path()) {
				continue
			}
			for _, line := range exported(p) {
				key := [2]string{p.Types.Path(), line}
				where[key] = append(where[key], target.OS+"-"+target.Arch)
			}
		}
	}
	for key, on := range where {
		if len(on) == len(targets) {
			on = []string{""}
		}
		for _, name := range on {
			if name != "" {
				name = " (" + name + ")"
			}
			lines = append(lines, "pkg "+key[0]+name+", "+key[1])
		}
	}
	slices.Sort(lines)
	return lines, nil
}

var hidden = regexp.MustCompile(`(^|/)internal(/|$)`)

// exported returns what a package exports, in the words of GOROOT/api.
func exported(p *load.Package) []string {
	w := readPackage(p)
	slices.Sort(w.lines)
	return slices.Compact(w.lines) // fields that hide each other have one name
}

// readPackage reads what a package exports.
func readPackage(p *load.Package) *writer {
	w := writer{pkg: p.Types, deprecated: map[token.Pos]bool{}}
	for _, f := range p.Files {
		w.findDeprecated(f.Tree)
	}
	for _, name := range p.Types.Scope().Names() {
		if token.IsExported(name) {
			w.object(p.Types.Scope().Lookup(name))
		}
	}
	return &w
}

// writer writes down what a package exports.
type writer struct {
	pkg        *types.Package
	foreign    []string           // types of others, neither of this module nor of the standard library
	deprecated map[token.Pos]bool // where names stand that are
	lines      []string
}

// add writes a line, and a further one if the name is deprecated. What the line begins with tells the
// name from others; the rest is how it is declared.
func (w *writer) add(o types.Object, name, rest string) {
	if w.deprecated[o.Pos()] {
		w.lines = append(w.lines, name+" //deprecated")
	}
	w.lines = append(w.lines, name+rest)
}

func (w *writer) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		w.add(o, "const "+o.Name(), " "+w.typ(o.Type()))
		value := o.Val().String() // short
		if exact := o.Val().ExactString(); exact != value {
			value += "  // " + exact
		}
		w.lines = append(w.lines, "const "+o.Name()+" = "+value)
	case *types.Var:
		w.add(o, "var "+o.Name(), " "+w.typ(o.Type()))
	case *types.Func:
		w.add(o, "func "+o.Name(), w.signature(o.Signature()))
	case *types.TypeName:
		w.typeName(o)
	}
}

func (w *writer) typeName(o *types.TypeName) {
	name := "type " + o.Name()
	if a, ok := o.Type().(*types.Alias); ok {
		w.add(o, name, w.typeParams(a.TypeParams(), true)+" = "+w.typ(a.Rhs()))
		if t := types.Unalias(a); !public(t) {
			w.members(o, name, t.(*types.Named))
		}
		return
	}
	named := o.Type().(*types.Named)
	params := w.typeParams(named.TypeParams(), true)
	switch t := named.Underlying().(type) {
	case *types.Struct:
		w.add(o, name, params+" struct")
	case *types.Interface:
		w.add(o, name, params+" "+w.summary(t))
	default:
		w.add(o, name, params+" "+w.typ(t))
	}
	w.members(o, name+params, named)
}

// members writes down the fields and methods of a type that is called name.
func (w *writer) members(o *types.TypeName, name string, t *types.Named) {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		w.fields(name+" struct, ", u)
	case *types.Interface:
		w.interfaceMembers(name+" interface, ", u)
		return
	}
	written := map[string]bool{}
	for _, receiver := range []types.Type{t, types.NewPointer(t)} { // what has a value has its pointer too
		for s := range types.NewMethodSet(receiver).Methods() {
			if m := s.Obj().(*types.Func); m.Exported() && !written[m.Name()] {
				written[m.Name()] = true
				star := ""
				if receiver != types.Type(t) {
					star = "*"
				}
				w.add(m, "method ("+star+o.Name()+w.typeParams(t.TypeParams(), false)+") "+m.Name(), w.signature(s.Type().(*types.Signature)))
			}
		}
	}
}

// fields writes down the exported fields of a struct, and those of what it embeds that are written down nowhere
// else.
func (w *writer) fields(prefix string, t *types.Struct) {
	for f := range t.Fields() {
		switch {
		case f.Exported() && f.Embedded():
			w.add(f, prefix+"embedded "+w.typ(f.Type()), "")
		case f.Exported():
			w.add(f, prefix+f.Name(), " "+w.typ(f.Type()))
		}
		inner := types.Unalias(f.Type())
		if p, ok := inner.(*types.Pointer); ok {
			inner = types.Unalias(p.Elem())
		}
		if s, ok := inner.Underlying().(*types.Struct); ok && f.Embedded() && !public(inner) {
			w.fields(prefix, s)
		}
	}
}

// public tells whether a type has a name that users can write, so that what it has is written down
// with that name.
func public(t types.Type) bool {
	named, ok := t.(*types.Named)
	return !ok || named.Obj().Pkg() == nil || named.Obj().Exported() && !hidden.MatchString(named.Obj().Pkg().Path())
}

func (w *writer) interfaceMembers(prefix string, t *types.Interface) {
	for m := range t.Methods() { // those of embedded interfaces too
		if m.Exported() {
			w.add(m, prefix+m.Name(), w.signature(m.Signature()))
		} else if line := prefix + "unexported methods"; !slices.Contains(w.lines, line) {
			w.lines = append(w.lines, line)
		}
	}
	for e := range t.EmbeddedTypes() {
		if i, ok := e.Underlying().(*types.Interface); !ok || !i.IsMethodSet() {
			w.lines = append(w.lines, prefix+w.typ(e))
		}
	}
}

// summary returns which methods an interface has, unless nobody else can implement it: then methods may be
// added.
func (w *writer) summary(t *types.Interface) string {
	var names []string
	for m := range t.Methods() {
		if !m.Exported() {
			return "interface, unexported methods"
		}
		names = append(names, m.Name())
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "interface {}"
	}
	return "interface { " + strings.Join(names, ", ") + " }"
}

// typ returns how a type is written. Aliases stand for what they mean.
func (w *writer) typ(t types.Type) string {
	switch t := t.(type) {
	case *types.Alias:
		return w.typ(types.Unalias(t))
	case *types.Basic:
		return basic(t)
	case *types.Pointer:
		return "*" + w.typ(t.Elem())
	case *types.Slice:
		return "[]" + w.typ(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.typ(t.Elem()))
	case *types.Map:
		return "map[" + w.typ(t.Key()) + "]" + w.typ(t.Elem())
	case *types.Chan:
		return [...]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + w.typ(t.Elem())
	case *types.Signature:
		return "func" + w.signature(t)
	case *types.TypeParam: // its name may change
		return fmt.Sprintf("$%d", t.Index())
	case *types.Named:
		name := w.named(t.Obj())
		if t.TypeArgs().Len() > 0 {
			name += "[" + join(t.TypeArgs().Types(), ", ", w.typ) + "]"
		}
		return name
	case *types.Struct:
		return braces("struct", join(t.Fields(), "; ", func(f *types.Var) string { return f.Name() + " " + w.typ(f.Type()) }))
	case *types.Interface:
		methods := join(t.ExplicitMethods(), "; ", func(m *types.Func) string { return m.Name() + w.signature(m.Signature()) })
		embedded := join(t.EmbeddedTypes(), "; ", w.typ)
		if methods != "" && embedded != "" {
			methods += "; "
		}
		return braces("interface", methods+embedded)
	case *types.Union:
		return join(t.Terms(), " | ", func(t *types.Term) string {
			if t.Tilde() {
				return "~" + w.typ(t.Type())
			}
			return w.typ(t.Type())
		})
	}
	panic(fmt.Sprintf("api: a %T", t))
}

// named returns the name of a type, with that of its package, and notes which are foreign.
func (w *writer) named(o *types.TypeName) string {
	p := o.Pkg()
	if p == nil || p == w.pkg {
		return o.Name()
	}
	name := p.Name() + "." + o.Name()
	if host, _, _ := strings.Cut(p.Path(), "/"); strings.Contains(host, ".") && !strings.HasPrefix(p.Path(), "github.com/gopacer/pacer") {
		w.foreign = append(w.foreign, name)
	}
	return name
}

func basic(t *types.Basic) string {
	switch {
	case t.Kind() == types.UntypedRune:
		return "ideal-char"
	case t.Info()&types.IsUntyped != 0:
		return "ideal-" + strings.TrimPrefix(t.Name(), "untyped ")
	case t.Kind() == types.UnsafePointer:
		return "unsafe.Pointer"
	}
	return types.Typ[t.Kind()].Name() // uint8 for byte
}

// signature returns the types of parameters and results, without their names.
func (w *writer) signature(s *types.Signature) string {
	n := s.Params().Len()
	text := w.typeParams(s.TypeParams(), true) + "("
	for i := range n {
		t := s.Params().At(i).Type()
		if i > 0 {
			text += ", "
		}
		if slice, ok := t.(*types.Slice); ok && s.Variadic() && i == n-1 {
			text, t = text+"...", slice.Elem()
		}
		text += w.typ(t)
	}
	text += ")"
	results := join(s.Results().Variables(), ", ", func(v *types.Var) string { return w.typ(v.Type()) })
	switch s.Results().Len() {
	case 0:
		return text
	case 1:
		return text + " " + results
	}
	return text + " (" + results + ")"
}

func (w *writer) typeParams(list *types.TypeParamList, constraints bool) string {
	if list.Len() == 0 {
		return ""
	}
	return "[" + join(list.TypeParams(), ", ", func(p *types.TypeParam) string {
		if constraints {
			return w.typ(p) + " " + w.typ(p.Constraint())
		}
		return w.typ(p)
	}) + "]"
}

func join[T any](all func(yield func(T) bool), separator string, write func(T) string) string {
	var texts []string
	for one := range all {
		texts = append(texts, write(one))
	}
	return strings.Join(texts, separator)
}

func braces(word, inner string) string {
	if inner == "" {
		return word + "{}"
	}
	return word + "{ " + inner + " }"
}

// findDeprecated notes where the names stand whose comments have a paragraph that begins with "Deprecated: ".
func (w *writer) findDeprecated(tree *ast.File) {
	is := func(doc *ast.CommentGroup) bool {
		return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "// Deprecated: ") })
	}
	mark := func(names ...*ast.Ident) {
		for _, n := range names {
			w.deprecated[n.Pos()] = true
		}
	}
	inDecl := false // all that is declared with it
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			inDecl = is(n.Doc)
		case *ast.FuncDecl:
			if is(n.Doc) {
				mark(n.Name)
			}
			return false
		case *ast.TypeSpec:
			if inDecl || is(n.Doc) {
				mark(n.Name)
			}
		case *ast.ValueSpec:
			if inDecl || is(n.Doc) {
				mark(n.Names...)
			}
			return false
		case *ast.Field:
			if is(n.Doc) {
				mark(n.Names...)
				if len(n.Names) == 0 {
					mark(embeddedName(n.Type))
				}
			}
		}
		return true
	})
}

// embeddedName returns by which name an embedded type is a field.
func embeddedName(t ast.Expr) *ast.Ident {
	switch t := t.(type) {
	case *ast.StarExpr:
		return embeddedName(t.X)
	case *ast.SelectorExpr:
		return t.Sel
	case *ast.IndexExpr:
		return embeddedName(t.X)
	case *ast.IndexListExpr:
		return embeddedName(t.X)
	case *ast.Ident:
		return t
	}
	return ast.NewIdent("")
}
