package pacer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gopacer/pacer/throttle"
)

// Table is what providers grant, under the patterns of http.ServeMux: "api.github.com/",
// "GET api.github.com/search/", "POST discord.com/api/channels/{channel}/messages". "/" is
// for every host that is not named, each for itself. The nil Table has no quotas.
//
// In JSON and YAML it is an object of texts, which are those of [throttle.ParseQuotas],
// or of arrays of them:
//
//	{
//	  "api.github.com/": "5000/h window, 100 in flight",
//	  "GET api.github.com/search/": ["30/m window", "5 in flight"]
//	}
type Table map[string]throttle.Quotas

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
//     of the host is stricter (see [throttle.Quotas.Pointless]). These wrap ErrPointless,
//     and a Transport tolerates them.
func (t Table) Validate() error { return t.validate(true) }

// check reports all with which a Transport cannot work.
func (t Table) check() error { return t.validate(false) }

func (t Table) validate(pointless bool) error {
	found := map[string][]error{}
	bad := func(pattern string, err error) {
		found[pattern] = append(found[pattern], fmt.Errorf("pacer: Quotas[%q]: %w", pattern, err))
	}
	mux, good := http.NewServeMux(), map[string]bool{}
	for _, pattern := range t.patterns() {
		for _, q := range t[pattern] {
			if err := q.Validate(); err != nil {
				bad(pattern, err)
			}
		}
		if err := matchable(pattern); err != nil {
			bad(pattern, err)
		} else if err := register(mux, pattern, http.NotFoundHandler()); err != nil {
			bad(pattern, fmt.Errorf("want a pattern of http.ServeMux: %w", err))
		} else {
			good[pattern] = true
		}
		if pointless {
			t.pointless(pattern, bad)
		}
	}
	ps, err := newPatterns(good)
	if err != nil {
		return err
	}
	var all []error
	for _, pattern := range t.patterns() {
		if good[pattern] && !reachable(ps, pattern) {
			bad(pattern, errors.New("want a pattern that some request matches: for each there is a more specific one"))
		}
		all = append(all, found[pattern]...)
	}
	return errors.Join(all...)
}

// patterns returns the keys in order.
func (t Table) patterns() []string { return slices.Sorted(maps.Keys(t)) }

// pointless tells of what never binds under pattern.
func (t Table) pointless(pattern string, tell func(string, error)) {
	host, above := t.above(pattern)
	for _, p := range t[pattern].Pointless(above...) {
		never, by := throttle.Quotas{p.Quota}, throttle.Quotas{p.By}.String()
		if p.Above {
			by += fmt.Sprintf(" of %q", host)
		}
		tell(pattern, fmt.Errorf("%w: %v never binds: %s %s", ErrPointless, never, by, p.Why))
	}
}

// above returns the pattern, and the quotas, of the host on which whatever matches the
// pattern draws as well. There are none for a pattern of many hosts.
func (t Table) above(pattern string) (string, throttle.Quotas) {
	_, host, path := split(pattern)
	if _, ok := hostOf(pattern); ok || host == "" || path == "" {
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
		pattern := key.(string)
		if _, ok := read[pattern]; ok {
			errs = append(errs, fmt.Errorf("pacer: Quotas[%q]: there twice", pattern))
			continue
		}
		errs = append(errs, read.read(pattern, value))
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
	for _, pattern := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, read.read(pattern, values[pattern]))
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

// read parses the quotas of a pattern: a text, or an array of texts.
func (t Table) read(pattern string, value any) error {
	t[pattern] = nil
	texts, array := value.([]any)
	if !array {
		texts = []any{value}
	}
	for i, text := range texts {
		at := fmt.Sprintf("pacer: Quotas[%q]", pattern)
		if array {
			at += fmt.Sprintf("[%d]", i)
		}
		s, ok := text.(string)
		if !ok {
			return fmt.Errorf(`%s: %v, want a text such as "5/s burst 10", or an array of such texts`, at, strings.TrimSpace(fmt.Sprint(text)))
		}
		qs, err := throttle.ParseQuotas(s)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		t[pattern] = append(t[pattern], qs...)
	}
	return nil
}
