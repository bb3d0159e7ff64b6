// Package table reads tables of quotas, by pattern, from JSON and YAML, and checks them.
//
// In comes an object of patterns, each with a text for quota.Parse or an array of such texts. Out come the
// quotas by pattern, or an error that names everything that is wrong, each with its pattern and the column in
// its text. The package does not know what a Transport does with them.
package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gopacer/pacer/quota"
)

// JSON reads an object whose keys are patterns, none of them twice. Of "null", which changes nothing in
// encoding/json, it returns nil.
func JSON(data []byte) (map[string]quota.Quotas, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	switch first, err := d.Token(); {
	case err != nil:
		return nil, fmt.Errorf("pacer: Quotas: %w", err)
	case first == nil:
		return nil, nil
	case first != json.Delim('{'):
		return nil, fmt.Errorf(noObject, beginning(data))
	}
	read := map[string]quota.Quotas{}
	var errs []error
	for d.More() {
		key, err := d.Token()
		var value any
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("pacer: Quotas: %w", err)
		}
		p := key.(string)
		if _, ok := read[p]; ok {
			errs = append(errs, fmt.Errorf("pacer: Quotas[%q]: there twice", p))
			continue
		}
		read[p], err = parse(p, value)
		errs = append(errs, err)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("pacer: Quotas: %w", err)
	}
	if rest := beginning(data[d.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("pacer: Quotas: %s, want nothing after the object", rest)
	}
	return read, errors.Join(errs...)
}

// noObject says that something else stands in place of a table.
const noObject = `pacer: Quotas: %s, want an object of patterns such as {"api.example.com/": "5/s"}`

// YAML reads a mapping as JSON reads an object. unmarshal is what the libraries for YAML give to a
// yaml.Unmarshaler.
func YAML(unmarshal func(any) error) (map[string]quota.Quotas, error) {
	var values map[string]any
	if err := unmarshal(&values); err != nil {
		var other any // a list, which libraries call a !!seq that cannot be unmarshaled
		if unmarshal(&other) == nil && other != nil && reflect.TypeOf(other).Kind() != reflect.Map {
			return nil, fmt.Errorf(noObject+": %w", beginning([]byte(written(other))), err)
		}
		return nil, fmt.Errorf("pacer: Quotas: %w", err)
	}
	read := map[string]quota.Quotas{}
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(values)) {
		qs, err := parse(p, values[p])
		read[p], errs = qs, append(errs, err)
	}
	return read, errors.Join(errs...)
}

// parse returns the quotas of pattern p. value is a text, or an array of texts, none of them empty.
func parse(p string, value any) (all quota.Quotas, err error) {
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
			return nil, fmt.Errorf(`%s: %s, want a text such as "5/s burst 10", or an array of such texts`, at, written(text))
		}
		if strings.TrimSpace(s) == "" { // as of a variable that is not set
			return nil, fmt.Errorf(`%s: %q, want a text such as "5/s burst 10", or "no limit"`, at, s)
		}
		var qs quota.Quotas
		if err := qs.UnmarshalText([]byte(s)); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		all = append(all, qs...)
	}
	return all, nil
}

// written returns a value as the file has it, or nearly: as JSON, or as Go writes what a library for YAML makes
// of keys that are no texts.
func written(value any) string {
	if b, err := json.Marshal(value); err == nil {
		return string(b)
	}
	return strings.TrimSpace(fmt.Sprint(value))
}

// beginning returns the first 40 characters of a text, in one line.
func beginning(text []byte) string {
	s := strings.Join(strings.Fields(string(text)), " ")
	if first := fmt.Sprintf("%.40s", s); first != s {
		return first + "…"
	}
	return s
}
