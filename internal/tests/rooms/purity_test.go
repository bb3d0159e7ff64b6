package rooms

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// pure are the rooms that decide: they are given the instant, and return what is to be done. Of some, a
// few files act.
var pure = map[string][]string{
	"quota":                       nil,
	"throttle/internal/adaptive":  nil,
	"throttle/internal/lease":     nil,
	"throttle/internal/limit":     nil,
	"throttle/internal/slot":      nil,
	"throttle/internal/varint":    nil,
	"throttle/store":              {"memory.go"}, // a Ledger with a lock and a clock
	"internal/pattern":            nil,
	"internal/route":              nil,
	"internal/verdict":            nil,
	"headers":                     {"reader.go"}, // makes its table once
	"headers/internal/body":       nil,
	"headers/internal/cause":      nil,
	"headers/internal/jsonscan":   nil,
	"headers/internal/name":       nil,
	"headers/internal/structured": nil,
	"headers/internal/value":      nil,
	"backoff":                     {"retry.go", "budget.go"}, // waits, and counts what all have in common
	"warmup":                      {"limiter.go"},            // waits
}

// impure are the names of the standard library that act, or that are not the same in each call.
var impure = map[string][]string{
	"time":     {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Timer", "Ticker"},
	"os":       nil, // all of it
	"net":      {"Dial", "DialTimeout", "Dialer", "Listen", "ListenConfig", "Resolver", "LookupHost", "LookupIP"},
	"net/http": {"Get", "Post", "Client", "DefaultClient", "Transport", "DefaultTransport"},
	"sync":     nil, "sync/atomic": nil,
	"log": nil, "log/slog": nil,
	"context": {"WithTimeout", "WithDeadline", "WithCancel", "AfterFunc"},
}

// acts returns what a file does beside deciding, and where.
func (r *room) acts(f *file) (found []string) {
	add := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s/%s:%d: ", r.path, f.name, r.fset.Position(n.Pos()).Line)+fmt.Sprintf(format, args...))
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "starts a goroutine")
		case *ast.SendStmt, *ast.SelectStmt:
			add(n, "uses a channel")
		case *ast.UnaryExpr:
			if n.Op.String() == "<-" {
				add(n, "uses a channel")
			}
		case *ast.Ident:
			o := r.info.Uses[n]
			if o == nil || o.Pkg() == nil {
				return true
			}
			names, listed := impure[o.Pkg().Path()]
			_, isType := o.(*types.TypeName)
			atPackage := o.Parent() == o.Pkg().Scope() || isType
			if listed && atPackage && (names == nil || slices.Contains(names, o.Name())) {
				add(n, "uses %s.%s", o.Pkg().Name(), o.Name())
			}
		}
		return true
	})
	return found
}

func TestPurity(t *testing.T) {
	left := len(pure)
	for _, r := range module(t) {
		acting, ok := pure[r.path]
		if !ok {
			continue
		}
		left--
		for _, f := range r.files {
			found := r.acts(f)
			switch exempt := slices.Contains(acting, f.name); {
			case exempt && len(found) == 0:
				t.Errorf("%s/%s does nothing that a pure room may not do: it needs no exception", r.path, f.name)
			case !exempt && len(found) > 0:
				t.Errorf("a room that decides acts:\n%s", strings.Join(found, "\n"))
			}
		}
	}
	if left != 0 {
		t.Errorf("%d of the pure rooms are not there", left)
	}
}
