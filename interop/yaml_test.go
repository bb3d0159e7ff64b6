package interop

import (
	"strings"
	"testing"

	goccy "github.com/goccy/go-yaml"
	yaml3 "go.yaml.in/yaml/v3"
	yaml2 "gopkg.in/yaml.v2"
	oldyaml3 "gopkg.in/yaml.v3"

	"github.com/gopacer/pacer"
)

// TestTableYAML reads and writes tables with the YAML libraries of Go.
func TestTableYAML(t *testing.T) {
	for name, lib := range map[string]struct {
		unmarshal func([]byte, any) error
		marshal   func(any) ([]byte, error)
	}{
		"go.yaml.in/yaml/v3": {yaml3.Unmarshal, yaml3.Marshal},
		"gopkg.in/yaml.v3":   {oldyaml3.Unmarshal, oldyaml3.Marshal},
		"gopkg.in/yaml.v2":   {yaml2.UnmarshalStrict, yaml2.Marshal},
		"github.com/goccy/go-yaml": {
			goccy.Unmarshal,
			goccy.Marshal,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var conf struct {
				Quotas pacer.Table `yaml:"quotas"`
			}
			const text = `
quotas:
  api.example.com/: 5/s burst 10, 100 in flight
  GET api.example.com/search/{kind}:
    - 30/m window
    - 1000/d window grid as "per day"
  /: 2/s
`
			if err := lib.unmarshal([]byte(text), &conf); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				"/": "2/s", "api.example.com/": "5/s burst 10, 100 in flight",
				"GET api.example.com/search/{kind}": `30/m window, 1000/d window grid as "per day"`,
			}
			same := func(table pacer.Table) {
				t.Helper()
				if len(table) != len(want) {
					t.Errorf("got %v, want %v", table, want)
				}
				for pattern, text := range want {
					if got := table[pattern].String(); got != text {
						t.Errorf("%q: got %q, want %q", pattern, got, text)
					}
				}
			}
			same(conf.Quotas)

			written, err := lib.marshal(conf.Quotas)
			if err != nil {
				t.Fatal(err)
			}
			var back pacer.Table
			if err := lib.unmarshal(written, &back); err != nil {
				t.Fatal(err)
			}
			same(back)

			for text, want := range map[string]string{
				"a/: 5/s\nb/: 6/s\na/: 7/s\n": "a/",
				"a/: 5/s brust 10\n":          `Quotas["a/"]: quota: column 5: "brust"`,
				"a/: 5\n":                     `Quotas["a/"]: 5, want a text`,
				"a/:\n":                       `Quotas["a/"]: null, want a text`,
				"a/: [5/s, 5/x]\n":            `Quotas["a/"][1]: quota: column 3: "x"`,
				"[a/, 5/s]\n":                 `Quotas: ["a/","5/s"], want an object of patterns such as {"api.example.com/": "5/s"}`,
				"5/s\n":                       `Quotas: "5/s", want an object of patterns`,
			} {
				err := lib.unmarshal([]byte(text), &back)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q: got %v, want %q in it", text, err, want)
				}
				same(back)
			}
		})
	}
}
