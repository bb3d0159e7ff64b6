package pacer

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/quota"
)

// lines are the errors that are joined in err.
func lines(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTableValidate(t *testing.T) {
	q := func(text string) quota.Quotas {
		qs, err := quota.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return qs
	}
	const p = "pacer: Quotas"
	for _, test := range []struct {
		table     Table
		want      []string // of Validate
		redundant []string
	}{
		{table: nil},
		{table: Table{}},
		{table: Table{"/": q("5/s"), "a.example/": nil, "GET a.example/x/{y}": q("1/s"), "GET /x": q("9/s")}},
		{
			table: Table{"b.example/": {{N: -1}, {N: 5}, {N: 5, Burst: -1}}, "a.example/": {{N: 1, Cells: 3}}, "c.example/": q("5/s")},
			want: []string{
				p + `["a.example/"]: quota: "1/s 3": Cells is 3, want 0 for what is no SlidingWindow`,
				p + `["b.example/"]: quota: "-1/s": N is -1, want at least 0 (0 is no limit)`,
				p + `["b.example/"]: quota: "5/s": Burst is -1, want at least 0`,
			},
		},
		{
			table: Table{"a.example/": q("9/s, 30 tokens/m"), "POST a.example/chat": q("5/s, 10 token/s"), "b.example/": {{N: 5, Unit: "image"}, {N: 9, Unit: "images"}}},
			want: []string{
				p + `["POST a.example/chat"]: quota: "10 token/s": Unit is "token", want "tokens" as in "30 tokens/m"; if both are meant, "no limit of token" before it says so`,
				p + `["b.example/"]: quota: "9 images/s": Unit is "images", want "image" as in "5 image/s"; if both are meant, "no limit of images" before it says so`,
			},
		},
		{
			table: Table{"a.example/": {{N: 9, Per: 60}, {N: 9, WarmUp: 60}, {N: -1, Per: 60}, {N: 9, Per: 3600}, {N: 9, WarmUp: 10 * time.Microsecond}, {N: 9, Per: time.Millisecond}}},
			want: []string{
				p + `["a.example/"]: quota: "9/60ns": Per is 60ns, want 1ms or more: a number alone is in nanoseconds, 60 * time.Second in seconds`,
				p + `["a.example/"]: quota: "9/s warm-up 60ns": WarmUp is 60ns, want 1ms or more: a number alone is in nanoseconds, 60 * time.Second in seconds`,
				p + `["a.example/"]: quota: "-1/60ns": Per is 60ns, want 1ms or more: a number alone is in nanoseconds, 60 * time.Second in seconds`,
				p + `["a.example/"]: quota: "9/3.6µs": Per is 3.6µs, want 1ms or more: a number alone is in nanoseconds, 3600 * time.Second in seconds`,
				p + `["a.example/"]: quota: "9/s warm-up 10µs": WarmUp is 10µs, want 1ms or more`,
			},
		},
		{
			table: Table{"A.example/": {{N: -1}}, "": nil, "a.example": nil, "GET  a.example/{x": nil, "a.example/{x}/b": nil, "a.example/a/{y}": nil},
			want: []string{
				p + `[""]: want a pattern: "api.example.com/" is a host, and "/" each that is not named`,
				p + `["A.example/"]: quota: "-1/s": N is -1, want at least 0 (0 is no limit)`,
				p + `["A.example/"]: want the host in lower case: "a.example/"`,
				p + `["GET  a.example/{x"]: want a pattern of http.ServeMux: parsing "GET  a.example/{x": at offset 15: bad wildcard segment (must end with '}')`,
				p + `["a.example"]: want a path after the host: "a.example/" is all of it`,
				p + `["a.example/{x}/b"]: want a pattern of http.ServeMux: pattern "a.example/{x}/b" conflicts with pattern "a.example/a/{y}": ` +
					`a.example/{x}/b and a.example/a/{y} both match some paths, like "/a/b". But neither is more specific than the other. ` +
					`a.example/{x}/b matches "/x/b", but a.example/a/{y} doesn't. a.example/a/{y} matches "/a/y", but a.example/{x}/b doesn't.`,
			},
		},
		{
			table: Table{"h/a/": q("5/s"), "h/a/{x}/": q("1/s"), "h/a/{x}": q("1/s"), "h/a/{$}": q("1/s")},
			want:  []string{p + `["h/a/"]: want a pattern that some request matches: for each there is a more specific one`},
		},
		{
			table: Table{
				"h/": q("5/s burst 10 as calls"), "GET h/x": q("100000/h window, 20000/h window"), "/x": q("100000/h window"), "g/x": q("9/s"),
				"/": q("7/s"), "POST h/y": q("5/s, 9/s burst 10"),
			},
			redundant: []string{
				`Quotas["GET h/x"] beside those of "h/": 100000/h window never binds: 5/s burst 10 as calls above admits at most 18010 in 1h0m0s`,
				`Quotas["GET h/x"] beside those of "h/": 20000/h window never binds: 5/s burst 10 as calls above admits at most 18010 in 1h0m0s`,
				`Quotas["POST h/y"]: 9/s burst 10 never binds: 5/s admits at most 5 at once, and no more than 5/s from then on`,
				`Quotas["g/x"] beside those of "/": 9/s never binds: 7/s above admits at most 7 in each window of 1s`,
			},
		},
		{ // methods are free tokens: SEARCH and REPORT are registered, and PURGE is not
			table: Table{"GETT h/": nil, "POTS h/x": q("5/s, 9/s"), "SEARCH h/": nil, "REPORT h/": nil, "PURGE h/": nil, "G h/": nil, "GET h/": nil},
			redundant: []string{
				`Quotas["GETT h/"]: never binds, unless requests have the method GETT: did you mean "GET h/"?`,
				`Quotas["POTS h/x"]: never binds, unless requests have the method POTS: did you mean "POST h/x"?`,
				`Quotas["POTS h/x"]: 9/s never binds: 5/s admits at most 5 in each window of 1s`,
			},
		},
		{
			table:     Table{"h/": q("10/s, 5/s"), "https://h/": nil},
			want:      []string{p + `["https://h/"]: want a pattern without a scheme, since it is for all of them: "h/"`},
			redundant: []string{`Quotas["h/"]: 10/s never binds: 5/s admits at most 5 in each window of 1s`},
		},
	} {
		if diff := cmp.Diff(strings.Join(test.want, "\n"), lines(test.table.Validate())); diff != "" {
			t.Errorf("Validate of %v (-want +got):\n%s", test.table, diff)
		}
		if diff := cmp.Diff(test.redundant, test.table.Redundant()); diff != "" {
			t.Errorf("Redundant of %v (-want +got):\n%s", test.table, diff)
		}
	}
}

// TestTableRedundantIsTolerated, by a Transport.
func TestTableRedundantIsTolerated(t *testing.T) {
	tr := &Transport{Quotas: Table{"a.example/": {{N: 5}, {N: 10}}}}
	if err := tr.Validate(); err != nil {
		t.Error(err)
	}
}

func TestTableJSON(t *testing.T) {
	const text = `{"/":"5/s","GET api.example/search/":"30/m window, 5 in flight","api.example/":"no limit","b.example/":"1MiB/s burst 8MiB debt"}`
	table := Table{"old/": nil}
	before := table
	if err := json.Unmarshal([]byte(text), &table); err != nil {
		t.Fatal(err)
	}
	want := Table{
		"/":                       {{N: 5, Per: time.Second}},
		"GET api.example/search/": {{N: 30, Per: time.Minute, Kind: quota.FixedWindow}, {N: 5, Kind: quota.InFlight}},
		"api.example/":            nil,
		"b.example/":              {{N: 1 << 20, Unit: quota.Bytes, Per: time.Second, Burst: 8 << 20, Debt: true}},
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Table{"old/": nil}, before); diff != "" {
		t.Errorf("a table in use was changed (-want +got):\n%s", diff)
	}
	if back, err := json.Marshal(table); err != nil || string(back) != text {
		t.Errorf("got %s, %v, want %s", back, err, text)
	}
	if back, err := json.Marshal(Table{"/": {{N: -1}}}); err == nil {
		t.Errorf("invalid quotas were written as %s", back)
	}

	var conf struct{ Quotas Table }
	if err := json.Unmarshal([]byte(`{"Quotas": {"a/": ["5/s", "1/m, 9/h", "no limit"], "b/": []}}`), &conf); err != nil {
		t.Fatal(err)
	}
	if got := conf.Quotas["a/"].String(); got != "5/s, 1/m, 9/h" || conf.Quotas["b/"] != nil || len(conf.Quotas) != 2 {
		t.Errorf("got %v", conf.Quotas)
	}
	if err := json.Unmarshal([]byte(`{"Quotas": null}`), &conf); err != nil || len(conf.Quotas) != 2 {
		t.Errorf("null: got %v, %v, want nothing to change", conf.Quotas, err)
	}
}

func TestTableJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"a/": "5/s brust 3"}`:                   `pacer: Quotas["a/"]: quota: column 5: "brust", did you mean "5/s burst 3"`,
		`{"a/": "5/s", "b/": "6/s", "a/": "7/s"}`: `pacer: Quotas["a/"]: there twice`,
		`{"a/": "5/s", "\u0061/": "7/s"}`:         `pacer: Quotas["a/"]: there twice`,
		`{"a/": "5", "a/": "7/s"}`:                `pacer: Quotas["a/"]: there twice`,
		`{"b/": "5/x", "a/": ["5/s", "5/s burst"]}`: "pacer: Quotas[\"b/\"]: quota: column 3: \"x\", want ms, s, m, h, d, w, month, quarter, year, or a duration such as 1m30s\n" +
			`pacer: Quotas["a/"][1]: quota: column 10: nothing, did you mean "5/s burst 5"`,
		`{"a/": ""}`:           `pacer: Quotas["a/"]: "", want a text such as "5/s burst 10", or "no limit"`,
		`{"a/": ["5/s", " "]}`: `pacer: Quotas["a/"][1]: " ", want a text such as "5/s burst 10", or "no limit"`,
		`{"a/": 5}`:            `pacer: Quotas["a/"]: 5, want a text such as "5/s burst 10", or an array of such texts`,
		`{"a/": null}`:         `pacer: Quotas["a/"]: null, want a text`,
		`{"a/": {"N": 5}}`:     `pacer: Quotas["a/"]: {"N":5}, want a text`,
		`{"a/": ["5/s", [5]]}`: `pacer: Quotas["a/"][1]: [5], want a text`,
		` ["5/s"] `:            `pacer: Quotas: ["5/s"], want an object of patterns such as {"api.example.com/": "5/s"}`,
		`"5/s"`:                `pacer: Quotas: "5/s", want an object of patterns`,
		"[\n\t\"5/s\",\n\t\"50000 an hour, and no more than that\"\n]": `pacer: Quotas: [ "5/s", "50000 an hour, and no more tha…, want an object of patterns`,
		``:                  `pacer: Quotas: EOF`,
		`{"a/": "5/s"`:      `pacer: Quotas: EOF`,
		`{"a/": "5/s",}`:    `pacer: Quotas: `,
		`{"a/" "5/s"}`:      `pacer: Quotas: `,
		`{a: "5/s"}`:        `pacer: Quotas: `,
		`{"a/": "5/s"} {} `: `pacer: Quotas: {}, want nothing after the object`,
	} {
		table := Table{"old/": nil}
		err := table.UnmarshalJSON([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
		if diff := cmp.Diff(Table{"old/": nil}, table); diff != "" {
			t.Errorf("%s changed the table (-want +got):\n%s", text, diff)
		}
		if json.Valid([]byte(text)) {
			if err := json.Unmarshal([]byte(text), &table); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v of package json, want %q in it", text, err, want)
			}
		}
	}
}

// TestTableYAML is given what YAML libraries make of a mapping. That they do so is tested
// where they are.
func TestTableYAML(t *testing.T) {
	library := func(values map[string]any, err error) func(any) error {
		return func(into any) error {
			if m, ok := into.(*map[string]any); ok {
				*m = values
			}
			return err
		}
	}
	table := Table{"old/": nil}
	err := table.UnmarshalYAML(library(map[string]any{"a/": "5/s", "b/": []any{"1/m", "9/h"}}, nil))
	if err != nil || len(table) != 2 || table["a/"].String() != "5/s" || table["b/"].String() != "1/m, 9/h" {
		t.Errorf("got %v, %v", table, err)
	}
	old := errors.New(`line 3: key "a/" already defined`)
	for want, f := range map[string]func(any) error{
		`pacer: Quotas: line 3: key "a/" already defined`: library(map[string]any{"a/": "5/s"}, old),
		"pacer: Quotas[\"a/\"]: quota: column 3: \"x\", want ms, s, m, h, d, w, month, quarter, year, or a duration such as 1m30s\n" +
			"pacer: Quotas[\"b/\"]: 5, want a text such as \"5/s burst 10\", or an array of such texts": library(map[string]any{"b/": 5, "a/": "5/x", "c/": "1/s"}, nil),
		"pacer: Quotas[\"a/\"]: map[1:2], want a text such as \"5/s burst 10\", or an array of such texts": library(map[string]any{"a/": map[any]any{1: 2}}, nil),
	} {
		if err := table.UnmarshalYAML(f); lines(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if len(table) != 2 {
			t.Errorf("an error changed the table to %v", table)
		}
	}
	seq := errors.New("line 1: cannot unmarshal !!seq into map[string]interface {}")
	list := func(into any) error {
		if other, ok := into.(*any); ok {
			*other = []any{"5/s", strings.Repeat("x", 100)}
			return nil
		}
		return seq
	}
	if err, want := table.UnmarshalYAML(list), `pacer: Quotas: ["5/s","`+strings.Repeat("x", 32)+`…, want an object of patterns such as {"api.example.com/": "5/s"}: `+seq.Error(); !errors.Is(err, seq) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := table.UnmarshalYAML(library(nil, old)); !errors.Is(err, old) {
		t.Errorf("got %v, want the error of the library in it", err)
	}
}

// FuzzTableJSON reads tables: nothing panics, and what is read is written and read as it
// was. What check accepts, a Transport takes.
func FuzzTableJSON(f *testing.F) {
	f.Add(`{"/": "5/s", "GET a/b": ["1/m", "3 in flight"]}`)
	f.Add(`{"[::1]/": "no limit", "h/{x...}": "5 tokens/s burst 9 as \"a b\""}`)
	f.Add(`{"h/%2F/..%2f/{$}": "1MiB/s debt", "M-SEARCH /": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		var table, back Table
		if table.UnmarshalJSON([]byte(text)) != nil || table == nil {
			return
		}
		written, err := json.Marshal(table)
		if err == nil {
			err = json.Unmarshal(written, &back)
		}
		if diff := cmp.Diff(table, back); err != nil || diff != "" {
			t.Errorf("%v was written as %s, %v (-want +got):\n%s", table, written, err, diff)
		}
		if table.Validate() != nil {
			return
		}
		cost := func(*http.Request) quota.Costs { return nil }
		if err := (&Transport{Quotas: table, Base: http.DefaultTransport, Cost: cost}).Validate(); err != nil {
			t.Error(err)
		}
	})
}
