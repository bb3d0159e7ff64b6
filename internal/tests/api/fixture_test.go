package main

// fixture is a module that exports something of each kind.
var fixture = map[string]string{
	"go.mod": "module example.com/fixture\n\ngo 1.25\n",

	"fixture.go": `package fixture

import (
	"context"
	"math"
	"math/rand"
	"time"

	"example.com/fixture/internal/hidden"
)

const (
	NoLimit       = math.MaxInt
	Third         = 1.0 / 3
	Rune          = 'x'
	Name          = "a\nb"
	Day           = 24 * time.Hour
	A        Kind = iota
	B
	unexported
)

type Kind uint8

func (k Kind) String() string { return "" }

// Deprecated: names in one declaration share its comment.
var (
	Old1 = 1
	Old2 error
)

var Table = map[string][]struct {
	N    int
	More [2]*byte
}{}

// Func has parameters with names.
func Func(ctx context.Context, n, m int, rest ...any) (ok bool, err error) { return }

// Old is.
//
// Deprecated: Use Func.
func Old(r *rand.Rand, c <-chan func(rune) error, d chan<- int, e chan int) {}

func Map[K comparable, V ~int | ~string | Kind](m map[K]V, f func(K) V) map[K]V { return m }

func unexportedFunc() {}

type Struct struct {
	Kind  // embedded
	Time  time.Time
	Names struct{}
	// Gone no longer has a meaning.
	//
	// Deprecated: Use Time.
	Gone       int
	A, B       Alias
	unexported int
	common
	*hidden.Struct
	_ int
}

func (Struct) Value()    {}
func (*Struct) Pointer() {}

// Deprecated: Use Value.
func (s Struct) Stale(n int) (m int) { return n }
func (Struct) unexported2()          {}

type common struct {
	Promoted int
	own      bool
}

func (*common) OfCommon() {}

type Pair[K comparable, V any] struct {
	Key   K
	Value *V
}

func (p *Pair[A, B]) Swap(q Pair[A, B]) *Pair[A, B] { return p }

// Deprecated: all of it.
type Closed interface {
	Method(name string) error
	// Deprecated: there is Method.
	Stale()
	closed()
	closedToo()
}

type Opened interface {
	context.Context
	Method(interface {
		Timeout() bool
		error
	})
}

type Number interface {
	comparable
	~int | ~float64
}

type (
	Empty     interface{}
	Check     func(ctx context.Context, err error) bool
	Alias     = context.Context
	Hidden    = hidden.Struct
	List[T any] = []T
	Ints      = List[int]
	unseen    int
)

var _ Kind = 0
`,
	"fixture_test.go":           "package fixture\n\nfunc Test() {}\n",
	"size_386.go":               "package fixture\n\nconst Bits = 32\n\nfunc Only386() {}\n",
	"size_windows.go":           "package fixture\n\nfunc OnlyWindows() {}\n",
	"internal/hidden/hidden.go": "package hidden\n\ntype Struct struct{ Inner int }\n\nfunc (Struct) Method() {}\n\nfunc Func() {}\n",
	"sub/sub.go":                "package sub\n\nimport \"example.com/fixture\"\n\n// Deprecated: Use fixture.Kind.\ntype Kind = fixture.Kind\n\nvar K Kind\n",
	"cmd/cmd.go":                "package main\n\nfunc Main() {}\n\nfunc main() {}\n",
	"testdata/data.go":          "package data\n\nfunc Func() {}\n",
	"nested/go.mod":             "module example.com/fixture/nested\n",
	"nested/nested.go":          "package nested\n\nfunc Func() {}\n",
}

const fixtureAPI = `
pkg example.com/fixture (darwin-arm64), const NoLimit = 9223372036854775807
pkg example.com/fixture (linux-386), const Bits = 32
pkg example.com/fixture (linux-386), const Bits ideal-int
pkg example.com/fixture (linux-386), const NoLimit = 2147483647
pkg example.com/fixture (linux-386), func Only386()
pkg example.com/fixture (windows-amd64), const NoLimit = 9223372036854775807
pkg example.com/fixture (windows-amd64), func OnlyWindows()
pkg example.com/fixture, const A = 5
pkg example.com/fixture, const A Kind
pkg example.com/fixture, const B = 6
pkg example.com/fixture, const B Kind
pkg example.com/fixture, const Day = 86400000000000
pkg example.com/fixture, const Day time.Duration
pkg example.com/fixture, const Name = "a\nb"
pkg example.com/fixture, const Name ideal-string
pkg example.com/fixture, const NoLimit ideal-int
pkg example.com/fixture, const Rune = 120
pkg example.com/fixture, const Rune ideal-char
pkg example.com/fixture, const Third = 0.333333  // 1/3
pkg example.com/fixture, const Third ideal-float
pkg example.com/fixture, func Func(context.Context, int, int, ...interface{}) (bool, error)
pkg example.com/fixture, func Map[$0 comparable, $1 interface{ ~int | ~string | Kind }](map[$0]$1, func($0) $1) map[$0]$1
pkg example.com/fixture, func Old //deprecated
pkg example.com/fixture, func Old(*rand.Rand, <-chan func(int32) error, chan<- int, chan int)
pkg example.com/fixture, method (*Pair[$0, $1]) Swap(Pair[$0, $1]) *Pair[$0, $1]
pkg example.com/fixture, method (*Struct) OfCommon()
pkg example.com/fixture, method (*Struct) Pointer()
pkg example.com/fixture, method (Hidden) Method()
pkg example.com/fixture, method (Kind) String() string
pkg example.com/fixture, method (Struct) Method()
pkg example.com/fixture, method (Struct) Stale //deprecated
pkg example.com/fixture, method (Struct) Stale(int) int
pkg example.com/fixture, method (Struct) String() string
pkg example.com/fixture, method (Struct) Value()
pkg example.com/fixture, type Alias = context.Context
pkg example.com/fixture, type Check func(context.Context, error) bool
pkg example.com/fixture, type Closed //deprecated
pkg example.com/fixture, type Closed interface, Method(string) error
pkg example.com/fixture, type Closed interface, Stale //deprecated
pkg example.com/fixture, type Closed interface, Stale()
pkg example.com/fixture, type Closed interface, unexported methods
pkg example.com/fixture, type Empty interface {}
pkg example.com/fixture, type Hidden = hidden.Struct
pkg example.com/fixture, type Hidden struct, Inner int
pkg example.com/fixture, type Ints = []int
pkg example.com/fixture, type Kind uint8
pkg example.com/fixture, type List[$0 interface{}] = []$0
pkg example.com/fixture, type Number interface {}
pkg example.com/fixture, type Number interface, comparable
pkg example.com/fixture, type Number interface, ~int | ~float64
pkg example.com/fixture, type Opened interface { Deadline, Done, Err, Method, Value }
pkg example.com/fixture, type Opened interface, Deadline() (time.Time, bool)
pkg example.com/fixture, type Opened interface, Done() <-chan struct{}
pkg example.com/fixture, type Opened interface, Err() error
pkg example.com/fixture, type Opened interface, Method(interface{ Timeout() bool; error })
pkg example.com/fixture, type Opened interface, Value(interface{}) interface{}
pkg example.com/fixture, type Pair[$0 comparable, $1 interface{}] struct
pkg example.com/fixture, type Pair[$0 comparable, $1 interface{}] struct, Key $0
pkg example.com/fixture, type Pair[$0 comparable, $1 interface{}] struct, Value *$1
pkg example.com/fixture, type Struct struct
pkg example.com/fixture, type Struct struct, A context.Context
pkg example.com/fixture, type Struct struct, B context.Context
pkg example.com/fixture, type Struct struct, Gone //deprecated
pkg example.com/fixture, type Struct struct, Gone int
pkg example.com/fixture, type Struct struct, Inner int
pkg example.com/fixture, type Struct struct, Names struct{}
pkg example.com/fixture, type Struct struct, Promoted int
pkg example.com/fixture, type Struct struct, Time time.Time
pkg example.com/fixture, type Struct struct, embedded *hidden.Struct
pkg example.com/fixture, type Struct struct, embedded Kind
pkg example.com/fixture, var Old1 //deprecated
pkg example.com/fixture, var Old1 int
pkg example.com/fixture, var Old2 //deprecated
pkg example.com/fixture, var Old2 error
pkg example.com/fixture, var Table map[string][]struct{ N int; More [2]*uint8 }
pkg example.com/fixture/sub, type Kind //deprecated
pkg example.com/fixture/sub, type Kind = fixture.Kind
pkg example.com/fixture/sub, var K fixture.Kind
`
