package hour

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gopacer/pacer"
)

// The table of docs/hooks.md has every hook, a Transport calls it somewhere, and Traces calls each of several.
func TestHooks(t *testing.T) {
	hooks := reflect.TypeFor[pacer.Trace]()
	rows := ""
	for _, p := range pages(t) {
		if p.path == "docs/hooks.md" {
			_, rows, _ = strings.Cut(p.text, "| Hook | When |")
			rows, _, _ = strings.Cut(rows, "\n\n")
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	code := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			code += string(text)
		}
	}
	for i := range hooks.NumField() {
		name := hooks.Field(i).Name
		if !regexp.MustCompile(`(?m)^[^/\n]*\bt\.(trace\(\)|Trace)\.` + name + `\b`).MatchString(code) {
			t.Errorf("no Transport calls %s: call it where it happens, as t.trace().%[1]s", name)
		}
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`[^|]*\\|").MatchString(rows) {
			t.Errorf("the table of docs/hooks.md has no %s", name)
		}
		calls := 0
		one := new(pacer.Trace)
		reflect.ValueOf(one).Elem().Field(i).Set(reflect.MakeFunc(hooks.Field(i).Type, func([]reflect.Value) []reflect.Value {
			calls++
			return nil
		}))
		both := reflect.ValueOf(pacer.Traces(one, one)).Elem().Field(i)
		if both.IsNil() {
			t.Errorf("Traces leaves out %s", name)
			continue
		}
		if both.Call([]reflect.Value{reflect.Zero(hooks.Field(i).Type.In(0))}); calls != 2 {
			t.Errorf("Traces calls %s %d times, want one for each of 2", name, calls)
		}
	}
}
