package pacer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/quota"
)

// Table is what providers grant, under the patterns of http.ServeMux: "api.github.com/",
// "GET api.github.com/search/", "POST discord.com/api/channels/{channel}/messages". "/" is
// for every host that is not named, each for itself. The nil Table has no quotas.
//
// In JSON and YAML it is an object of texts, which are those of [quota.Parse],
// or of arrays of them:
//
//	{
//	  "api.github.com/": "5000/h window, 100 in flight",
//	  "GET api.github.com/search/": ["30/m window", "5 in flight"]
//	}
type Table map[string]quota.Quotas

// ErrPointless marks what Table.Validate says of a limit that never binds. Such a table
// works, but not as somebody may have thought.
var ErrPointless = errors.New("pointless limit")

// Validate reports all that is wrong with the table, as errors.Join does, in the order
// of the patterns:
//
//   - quotas that are invalid,
//   - patterns that ServeMux refuses, or two between which it could not choose,
//   - patterns under which no request is ever looked up, because they name a scheme, a
//     port, a query or a fragment, a host or method in the wrong case or that is none,
//     or a path that is not clean, or because for each request there is a more specific one,
//   - limits which never bind, because another one under the same pattern or under that
//     of the host is stricter (see [quota.Quotas.Pointless]). These wrap ErrPointless,
//     and a Transport tolerates them.
func (t Table) Validate() error {
	_, err := t.validate(true)
	return err
}

// validate returns the quotas as requests look them up, and reports all with which a Transport
// cannot work. If pointless is set, it also reports limits which never bind.
func (t Table) validate(pointless bool) (*pattern.Set[quota.Quotas], error) {
	quotas, mistakes := pattern.New(t)
	var all []error
	for _, p := range slices.Sorted(maps.Keys(t)) {
		bad := func(err error) { all = append(all, fmt.Errorf("pacer: Quotas[%q]: %w", p, err)) }
		for _, q := range t[p] {
			if err := q.Validate(); err != nil {
				bad(err)
			}
		}
		mistake := mistakes[p]
		if mistake != nil {
			bad(mistake)
		}
		if pointless {
			t.reportPointless(p, bad)
		}
		if mistake == nil && !quotas.Reachable(p) {
			bad(errors.New("want a pattern that some request matches: for each there is a more specific one"))
		}
	}
	return quotas, errors.Join(all...)
}

// reportPointless tells which limits under pattern p never bind.
func (t Table) reportPointless(p string, tell func(error)) {
	host, above := t.hostQuotas(p)
	for _, limit := range t[p].Pointless(above...) {
		never, by := quota.Quotas{limit.Quota}, quota.Quotas{limit.By}.String()
		if limit.Above {
			by += fmt.Sprintf(" of %q", host)
		}
		tell(fmt.Errorf("%w: %v never binds: %s %s", ErrPointless, never, by, limit.Why))
	}
}

// hostQuotas returns the pattern, and the quotas, of the host on which whatever matches pattern p
// draws as well. There are none for a pattern of many hosts.
func (t Table) hostQuotas(p string) (string, quota.Quotas) {
	_, host, path := pattern.Split(p)
	if _, ok := pattern.HostOnly(p); ok || host == "" || path == "" {
		return "", nil
	}
	if qs, ok := t[host+"/"]; ok {
		return host + "/", qs
	}
	return "/", t["/"]
}

// UnmarshalJSON reads an object of patterns, each once. What was in the table before
// is gone, in a map of its own: a Table in use is not changed. All that cannot be read
// is reported, with the pattern and the column in its text; then the table is as it
// was.
func (t *Table) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	switch first, err := d.Token(); {
	case err != nil:
		return fmt.Errorf("pacer: Quotas: %w", err)
	case first == nil:
		return nil // as of everything in encoding/json
	case first != json.Delim('{'):
		return errors.New("pacer: Quotas: want an object of patterns")
	}
	read := Table{}
	var errs []error
	for d.More() {
		key, err := d.Token()
		var value any
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return fmt.Errorf("pacer: Quotas: %w", err)
		}
		p := key.(string)
		if _, ok := read[p]; ok {
			errs = append(errs, fmt.Errorf("pacer: Quotas[%q]: there twice", p))
			continue
		}
		errs = append(errs, read.parse(p, value))
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("pacer: Quotas: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("pacer: Quotas: want nothing after the object")
	}
	return t.replace(read, errs)
}

// UnmarshalYAML reads a mapping, as UnmarshalJSON an object, for the YAML libraries: this is
// an interface of gopkg.in/yaml.v2, go.yaml.in/yaml/v3 and github.com/goccy/go-yaml. They
// find keys that are there twice; yaml.v2 does so only by UnmarshalStrict.
func (t *Table) UnmarshalYAML(unmarshal func(any) error) error {
	var values map[string]any
	if err := unmarshal(&values); err != nil {
		return fmt.Errorf("pacer: Quotas: %w", err)
	}
	read := Table{}
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, read.parse(p, values[p]))
	}
	return t.replace(read, errs)
}

// replace takes what was read, unless that failed.
func (t *Table) replace(read Table, errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*t = read
	return nil
}

// parse parses the quotas of pattern p: a text, or an array of texts.
func (t Table) parse(p string, value any) error {
	t[p] = nil
	texts, array := value.([]any)
	if !array {
		texts = []any{value}
	}
	for i, text := range texts {
		at := fmt.Sprintf("pacer: Quotas[%q]", p)
		if array {
			at += fmt.Sprintf("[%d]", i)
		}
		s, ok := text.(string)
		if !ok {
			return fmt.Errorf(`%s: %v, want a text such as "5/s burst 10", or an array of such texts`, at, strings.TrimSpace(fmt.Sprint(text)))
		}
		qs, err := quota.Parse(s)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		t[p] = append(t[p], qs...)
	}
	return nil
}
