package rooms

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// pure are the rooms that decide: they are given the instant, and return what is to be done. Of some, a
// few files act.
var pure = map[string][]string{
	"quota":                         {"zone.go"}, // looks for a time zone once
	"throttle/internal/adaptive":    nil,
	"throttle/internal/agenda":      nil,
	"throttle/internal/alike":       nil,
	"throttle/internal/due":         nil,
	"throttle/internal/expect":      nil,
	"throttle/internal/blame":       nil,
	"throttle/internal/charge":      nil,
	"throttle/internal/check":       nil,
	"throttle/internal/civil":       {"zone.go"}, // reads a time zone once
	"throttle/internal/concurrency": nil,
	"throttle/internal/counter":     nil,
	"throttle/internal/together":    nil,
	"throttle/internal/lease":       nil,
	"throttle/internal/limit":       nil,
	"throttle/internal/order":       nil,
	"throttle/internal/outbox":      nil,
	"throttle/internal/overload":    nil,
	"throttle/internal/pace":        nil,
	"throttle/internal/piece":       nil,
	"throttle/internal/readable":    nil,
	"throttle/internal/shelf":       nil,
	"throttle/internal/slot":        nil,
	"throttle/internal/slowstart":   nil,
	"throttle/internal/tree":        nil,
	"throttle/internal/varint":      nil,
	"throttle/internal/whose":       nil,
	"throttle/store":                {"memory.go"}, // a Ledger with a lock and a clock
	"internal/delay":                nil,
	"internal/fields":               nil,
	"internal/inside":               nil,
	"internal/pattern":              nil,
	"internal/route":                nil,
	"internal/spelling":             nil,
	"internal/stated":               nil,
	"internal/table":                nil,
	"internal/verdict":              nil,
	"internal/visible":              nil,
	"internal/waits":                {"account.go"}, // a lock
	"headers":                       {"reader.go"},  // makes its table once
	"headers/internal/body":         nil,
	"headers/internal/jsonscan":     nil,
	"headers/internal/name":         nil,
	"headers/internal/refusal":      nil,
	"headers/internal/structured":   nil,
	"headers/internal/value":        nil,
	"backoff":                       {"backoff.go", "retry.go", "budget.go"}, // jitter, waits, and what all have in common
	"warmup":                        {"limiter.go"},                          // waits
}

// impure are the names that act, or that are not the same in each call. A type stands for its methods.
var impure = map[string][]string{
	"context":      {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "WithCancel", "WithCancelCause", "AfterFunc"},
	"crypto/rand":  all,
	"fmt":          {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"log":          all,
	"log/slog":     all,
	"math/rand":    all,
	"math/rand/v2": all,
	"net":          {"Dial", "DialTimeout", "Dialer", "Listen", "ListenConfig", "Resolver", "LookupHost", "LookupIP"},
	"net/http":     {"Get", "Post", "Client", "DefaultClient", "Transport", "DefaultTransport"},
	"os":           all,
	"runtime":      all,
	"sync":         all,
	"sync/atomic":  all,
	"syscall":      all,
	"time":         {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Timer", "Ticker"},

	// Of ours, what acts in rooms that are pure else.
	"github.com/gopacer/pacer/throttle/internal/monotime": {"Start", "Now"}, // of a Clock
	"github.com/gopacer/pacer/throttle/store":             {"Memory"},
	"github.com/gopacer/pacer/warmup":                     {"Limiter"},
	"github.com/gopacer/pacer/backoff":                    {"Retry", "Do", "Budget"},
}

var all []string

// acts returns what a file does beside deciding, and where.
func (r *room) acts(f *file) (found []string) {
	add := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s/%s:%d: ", r.path, f.name, r.fset.Position(n.Pos()).Line)+fmt.Sprintf(format, args...))
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "starts a goroutine")
		case *ast.SendStmt, *ast.SelectStmt, *ast.ChanType:
			add(n, "uses a channel")
		case *ast.UnaryExpr:
			if n.Op.String() == "<-" {
				add(n, "uses a channel")
			}
		case *ast.Ident:
			o := r.uses[n]
			if o == nil || o.Pkg() == nil || o.Pkg().Path() == r.importPath {
				return true
			}
			names, listed := impure[o.Pkg().Path()]
			ours := strings.HasPrefix(o.Pkg().Path(), "github.com/gopacer/pacer")
			if listed && (ours || o.Parent() == o.Pkg().Scope()) && (names == nil || slices.Contains(names, o.Name())) {
				add(n, "uses %s.%s", o.Pkg().Name(), o.Name())
			}
		}
		return true
	})
	return found
}

// Each line of the fixture acts once.
func TestActsFindsWhatActs(t *testing.T) {
	text := `package fixture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
	"github.com/gopacer/pacer/warmup"
)

func f(ctx context.Context, c *monotime.Clock, d time.Duration, t time.Time) {
	_ = t.Sub(t).String() // harmless
	_ = c.Wall() // harmless
	_ = time.Now() // 1
	_ = time.Since(t) // 2
	time.AfterFunc(d, nil) // 3
	var m sync.Mutex // 4
	_ = &m
	go f(ctx, c, d, t) // 5
	<-ctx.Done() // 6
	var ch chan int // 7
	_ = ch
	_ = rand.Int() // 8
	_ = c.Now() // 9
	c.Start() // 10
	var s store.Memory // 11
	_ = &s
	var l warmup.Limiter // 12
	_ = &l
	fmt.Println() // 13
}
`
	m := module(t)
	checked, err := m.CheckText(text)
	if err != nil {
		t.Fatal(err)
	}
	fixture := newRoom(m, checked)
	found := fixture.acts(fixture.files[0])
	if want := strings.Count(text, " // ") - 2; len(found) != want {
		t.Errorf("found %d of %d:\n%s", len(found), want, strings.Join(found, "\n"))
	}
}

func TestPurity(t *testing.T) {
	left := len(pure)
	for _, r := range roomsOf(module(t)) {
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
				t.Errorf("a pure room acts: have it be given the instant, and return what is to be done (ARCHITECTURE.md, The rooms); its caller has the lock, the clock, the timer\n%s", strings.Join(found, "\n"))
			}
		}
	}
	if left != 0 {
		t.Errorf("%d of the pure rooms are not there", left)
	}
}
