package pacer

import (
	"github.com/gopacer/pacer/internal/table"
	"github.com/gopacer/pacer/quota"
)

// Table is what providers grant, under the patterns of http.ServeMux: "api.github.com/", "GET
// api.github.com/search/", "POST discord.com/api/channels/{channel}/messages". "/" stands for every host that
// is not named; each such host has a bucket of its own, and nothing bounds all hosts together. The nil Table
// has no quotas.
//
// As with ServeMux, a pattern with a host goes before one without: "POST /chat" holds at every host that no
// other pattern names, with a bucket for each host. A pattern that ends in a slash is for what is below:
// "/search" does not draw on "/search/", to which a ServeMux would redirect it. A pattern is for all ports of a
// host, and each port has a bucket of its own. Upper case in the host of a request, a dot behind it, and the
// port that the scheme implies change nothing. A host that is not ASCII stands in the pattern as requests send
// it: "bücher.example" is "xn--bcher-kva.example".
//
// In JSON and YAML, a Table is an object. Its values are texts for [quota.Parse], or arrays of such texts. An
// empty text is an error, since a variable that is not set leaves one; "no limit" says that a pattern has no
// quotas:
//
//	{
//	  "api.github.com/": "5000/h window, 100 in flight",
//	  "GET api.github.com/search/": ["30/m window", "5 in flight"]
//	}
type Table map[string]quota.Quotas

// Validate reports all that a Transport cannot work with, joined by errors.Join in the order of the patterns,
// as throttle.ErrInvalid:
//
//   - quotas that are invalid, or have a duration below 1 ms, which is a number without a unit,
//   - of the quotas of a pattern and of its host, those whose Units are nearly the same ("token" and "tokens",
//     see [quota.Costs]),
//   - patterns that ServeMux refuses, and pairs of patterns between which ServeMux could not choose,
//   - patterns that no request is looked up under: because they name a scheme, a port, a query or a
//     fragment; because the host or method is in the wrong case or invalid; because the path is not clean, or
//     has a '*' where a wildcard is meant; or because every request that matches has a more specific pattern.
//
// A Transport with a Store wants more of its Quotas: see Shared and [Transport.Validate].
func (t Table) Validate() error {
	_, err := table.Check(t)
	return err
}

// Redundant returns a sentence for each limit that never binds, in the order of the patterns: because another
// limit under the same pattern or under the pattern of the host is stricter (see [quota.Quotas.Redundant]), or
// because the method of the pattern is nearly one of net/http: GETT. A table with such limits works, but
// probably not as its author thought.
func (t Table) Redundant() (why []string) { return table.Redundant(t) }

// UnmarshalJSON reads an object whose keys are patterns, none of them twice. It replaces the whole table by
// a new map, so that a Table in use elsewhere is not changed. The error names everything that cannot be
// read, each with its pattern and the column in its text; after an error, the table is unchanged.
func (t *Table) UnmarshalJSON(data []byte) error { return t.replace(table.JSON(data)) }

// UnmarshalYAML reads a mapping in the way in which UnmarshalJSON reads an object. The method is the
// interface of gopkg.in/yaml.v2, go.yaml.in/yaml/v3 and github.com/goccy/go-yaml. These libraries find keys
// that are there twice; yaml.v2 does so only in UnmarshalStrict.
func (t *Table) UnmarshalYAML(unmarshal func(any) error) error {
	return t.replace(table.YAML(unmarshal))
}

// replace makes t the table that was read, unless there is none.
func (t *Table) replace(read map[string]quota.Quotas, err error) error {
	if read != nil && err == nil {
		*t = read
	}
	return err
}
