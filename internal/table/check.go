package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/internal/spelling"
	"github.com/gopacer/pacer/quota"
)

// Check returns the quotas in the form in which requests look them up, and an error that names
// everything that a Transport cannot work with, in the order of the patterns.
func Check(t map[string]quota.Quotas) (*pattern.Set[quota.Quotas], error) {
	quotas, mistakes := pattern.New(t)
	var all []error
	for _, p := range slices.Sorted(maps.Keys(t)) {
		bad := func(err error) { all = append(all, fmt.Errorf("pacer: Quotas[%q]: %w", p, err)) }
		_, above := OfHost(t, p)
		fit := fitting(above)
		for _, q := range t[p] {
			bare := fields.BareNumbers(&q, time.Millisecond) // first: Validate asks for less, and who does what it says would be told another thing next
			for _, why := range bare {
				bad(fmt.Errorf("quota: %q: %s", q.String(), why))
			}
			together := slices.Concat(fit, quota.Quotas{q})
			if err := together.Validate(); err == nil {
				fit = together
			} else if len(bare) == 0 {
				bad(err)
			}
			if _, ok := pattern.HostOnly(p); q.Overall && !ok {
				bad(fmt.Errorf("quota: %q: Overall is true, want it under the pattern of a host alone, such as %q: other patterns are split by Key", q.String(), "api.example.com/"))
			}
		}
		mistake := mistakes[p]
		if mistake != nil {
			bad(mistake)
		}
		if mistake == nil && !quotas.Reachable(p) {
			bad(errors.New("want a pattern that some request matches: for each there is a more specific one"))
		}
	}
	return quotas, fields.Invalid(errors.Join(all...))
}

// fitting returns those quotas that are valid, each beside those before it.
func fitting(qs quota.Quotas) (fit quota.Quotas) {
	for _, q := range qs {
		if together := slices.Concat(fit, quota.Quotas{q}); together.Validate() == nil {
			fit = together
		}
	}
	return fit
}

// CheckCosts reports which quotas are in a unit of which nothing says what requests cost, if there is neither a
// Cost nor a Spent: they would limit nothing.
func CheckCosts(t map[string]quota.Quotas) error {
	var all []error
	for _, p := range slices.Sorted(maps.Keys(t)) {
		for _, q := range t[p] {
			if q.N > 0 && q.Unit != "" && q.Unit != quota.Requests && q.Unit != quota.Bytes {
				all = append(all, fmt.Errorf("pacer: Quotas[%q]: quota: %q: want Cost or Spent, which say what a request costs in %s; if only Calls say it, a Cost that returns nil", p, q.String(), q.Unit))
			}
		}
	}
	return fields.Invalid(errors.Join(all...))
}

// Redundant returns a sentence for each limit, and for each pattern by its method, that never binds, in the
// order of the patterns.
func Redundant(t map[string]quota.Quotas) (why []string) {
	for _, p := range slices.Sorted(maps.Keys(t)) {
		method, _, _ := pattern.Split(p)
		if meant := meantBy(method); meant != "" {
			why = append(why, fmt.Sprintf("Quotas[%q]: never binds, unless requests have the method %s: did you mean %q?", p, method, meant+strings.TrimPrefix(p, method)))
		}
		host, above := OfHost(t, p)
		alone := t[p].Redundant()
		for i, sentence := range t[p].Redundant(above...) {
			switch {
			case sentence == "":
			case alone != nil && alone[i] == sentence:
				why = append(why, fmt.Sprintf("Quotas[%q]: %s", p, sentence))
			default:
				why = append(why, fmt.Sprintf("Quotas[%q] beside those of %q: %s", p, host, sentence))
			}
		}
	}
	return why
}

// meantBy returns the method of net/http that was probably meant by one that is nearly the same. It returns
// nothing of others, since any word may be a method (RFC 9110, 9.1).
func meantBy(method string) string {
	i := slices.IndexFunc(pattern.Methods, func(known string) bool { return spelling.OneSlip(method, known) })
	if i < 0 || slices.Contains(pattern.Methods, method) {
		return ""
	}
	return pattern.Methods[i]
}

// OfHost returns the pattern of a host, and its quotas, on which all requests that match p draw as
// well. It returns nothing if p is itself the pattern of a host, or is for several hosts.
func OfHost(t map[string]quota.Quotas, p string) (string, quota.Quotas) {
	_, host, path := pattern.Split(p)
	if _, ok := pattern.HostOnly(p); ok || host == "" || path == "" {
		return "", nil
	}
	if qs, ok := t[host+"/"]; ok {
		return host + "/", qs
	}
	return "/", t["/"]
}

// Overall returns those quotas of a host that all of its tenants share.
func Overall(qs quota.Quotas) quota.Quotas {
	return some(qs, func(q *quota.Quota) bool { return q.Overall })
}

// OfTenant returns those quotas of a host that each of its tenants has alone.
func OfTenant(qs quota.Quotas) quota.Quotas {
	return some(qs, func(q *quota.Quota) bool { return !q.Overall })
}

// OfBodies returns the quotas on which bodies draw as they flow.
func OfBodies(qs quota.Quotas) quota.Quotas {
	return some(qs, func(q *quota.Quota) bool { return q.Streamed })
}

// OfRequests returns the quotas on which requests draw before they are sent.
func OfRequests(qs quota.Quotas) quota.Quotas {
	return some(qs, func(q *quota.Quota) bool { return !q.Streamed })
}

func some(qs quota.Quotas, are func(*quota.Quota) bool) (of quota.Quotas) {
	for i := range qs {
		if are(&qs[i]) {
			of = append(of, qs[i])
		}
	}
	return of
}

// Level is the quotas of one bucket on the way of a request.
type Level struct {
	Name   string
	Quotas quota.Quotas
	Own    bool // they are of the pattern, and not of its host
}

// Levels returns the quotas on which requests draw that match p, from the top; keyed says that they have
// tenants.
func Levels(t map[string]quota.Quotas, p string, keyed bool) (levels []Level) {
	add := func(name string, qs quota.Quotas, own bool) {
		if overall := Overall(qs); keyed && len(overall) > 0 {
			levels = append(levels, Level{name + " overall", overall, own})
			qs = OfTenant(qs)
		}
		if len(qs) > 0 || own {
			levels = append(levels, Level{name, qs, own})
		}
	}
	host, above := OfHost(t, p)
	add(host, above, false)
	add(p, t[p], true)
	return levels
}
