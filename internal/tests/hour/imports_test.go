package hour

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/gopacer/pacer/warmup" // and with the others, all that the test looks at
)

// Packages that are used alone say what they import, and import just that.
func TestImports(t *testing.T) {
	const module = "github.com/gopacer/pacer/"
	said := regexp.MustCompile(`It imports the standard library (with|without) net/http(?:, ([^:]*?))?\.(?: |$)`)
	for _, name := range []string{"backoff", "headers", "throttle", "warmup"} {
		doc, err := run("", "doc", "./"+name)
		if err != nil {
			t.Fatal(err)
		}
		m := said.FindStringSubmatch(strings.Join(strings.Fields(doc), " "))
		if m == nil {
			t.Errorf("%s does not say what it imports", name)
			continue
		}
		says := regexp.MustCompile(`\([^)]*\)|,|\b(and|packages|of this module)\b`).ReplaceAllString(m[2], " ")
		want := append(strings.Fields(says), m[1]+" net/http")

		out, err := run("", "list", "-deps", "-f", "{{if or (not .Standard) (eq .ImportPath \"net/http\")}}{{.ImportPath}}{{end}}", "./"+name)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{"without net/http"}
		for _, path := range strings.Fields(out) {
			switch path = strings.TrimPrefix(path, module); {
			case path == "net/http":
				got[0] = "with net/http"
			case path != name && !strings.Contains("/"+path, "/internal/"):
				got = append(got, path)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s imports %q, and says %q", name, got, want)
		}
	}
}
