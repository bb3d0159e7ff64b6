package headers

import (
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// appendStructured appends the limits of a group that has a field of the IETF drafts
// (draft-ietf-httpapi-ratelimit-headers): RateLimit, as a list of named items with
// parameters r and t since 08, or as a dictionary in 07; RateLimit-Policy, a list of
// named or, up to 07, numeric items; or the list that RateLimit-Limit was in 03. What
// is malformed is ignored, as the drafts demand, but for two things: a name may be a
// token, and r may be missing, since examples in the drafts themselves do so.
func appendStructured(limits []Limit, g []found, c *clock) []Limit {
	start := len(limits)
	var policies []Limit
	for i := range g {
		switch f := &g[i]; {
		case f.role == state:
			limits = appendStates(limits, f)
		case f.role == policy || f.role == limit && strings.IndexByte(f.values[0], ';') >= 0:
			policies = appendPolicies(policies, f)
		}
	}
	if len(limits) == start {
		limits = appendPlain(limits, g, 1, c)
	}
	for i := range limits[start:] {
		policies = join(&limits[start+i], policies)
	}
	return append(limits, policies...)
}

// join completes a limit by its policy: the one of its name, or, where one of them
// has no name, of its quota. It returns the policies that are left.
func join(l *Limit, policies []Limit) []Limit {
	for i, p := range policies {
		named := l.Name != "" && p.Name != ""
		switch {
		case named && l.Name != p.Name:
			continue
		case named:
		case l.Limit.Known && l.Limit != p.Limit, !l.Limit.Known && len(policies) > 1:
			continue
		}
		if l.Name == "" {
			l.Name = p.Name
		}
		if !l.Limit.Known {
			l.Limit = p.Limit
		}
		l.Window, l.Unit = p.Window, p.Unit
		complete(l, Count{})
		return append(policies[:i:i], policies[i+1:]...)
	}
	return policies
}

// appendStates appends what RateLimit says.
func appendStates(limits []Limit, f *found) []Limit {
	lines := bounded(f.values)
	if len(lines) == 0 {
		return limits
	}
	if i := strings.IndexAny(lines[0], "=;,\""); i >= 0 && lines[0][i] == '=' {
		return appendCombined(limits, f, lines)
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return limits
	}
	for _, m := range list {
		it, ok := m.(httpsfv.Item)
		if !ok {
			continue
		}
		name, ok := itemName(it)
		l := Limit{Name: name, Unit: unitOr(f.unit), Advisory: f.advisory}
		valid := ok && name != "" && integer(it.Params, "r", &l.Remaining)
		var in Count
		valid = valid && integer(it.Params, "t", &in)
		l.Reset = delayReset(in)
		if valid && complete(&l, Count{}) {
			limits = append(limits, l)
		}
	}
	return limits
}

// appendCombined appends the one limit of draft 07: "limit=100, remaining=50, reset=5".
func appendCombined(limits []Limit, f *found, lines []string) []Limit {
	dict, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return limits
	}
	l := Limit{Name: f.name, Unit: unitOr(f.unit), Advisory: f.advisory}
	var in Count
	for key, to := range map[string]*Count{"limit": &l.Limit, "remaining": &l.Remaining, "reset": &in} {
		m, ok := dict.Get(key)
		if !ok {
			continue
		}
		if it, ok := m.(httpsfv.Item); !ok || !nonNegative(it.Value, to) {
			return limits
		}
	}
	l.Reset = delayReset(in)
	if complete(&l, Count{}) {
		limits = append(limits, l)
	}
	return limits
}

// appendPolicies appends what RateLimit-Policy says, or the list of RateLimit-Limit.
func appendPolicies(policies []Limit, f *found) []Limit {
	lines := bounded(f.values)
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		if list, err = httpsfv.UnmarshalList(withoutKind(lines)); err != nil {
			return policies
		}
	}
	for _, m := range list {
		it, ok := m.(httpsfv.Item)
		if !ok {
			continue
		}
		p := Limit{Unit: unitOr(f.unit), Advisory: f.advisory}
		numeric := nonNegative(it.Value, &p.Limit)
		valid := numeric
		if numeric {
			p.Name = stringParam(it.Params, "name")
		} else if p.Name, ok = itemName(it); ok {
			valid = integer(it.Params, "q", &p.Limit) && p.Limit.Known
		}
		var w Count
		valid = valid && integer(it.Params, "w", &w)
		if w.Known {
			p.Window, _ = number{whole: w.N}.duration(time.Second, maxWindow)
		}
		if u := stringParam(it.Params, "qu"); u != "" {
			p.Unit = u
			if u == "bytes" { // as draft 08 spelled it
				p.Unit = unitOf["bytes"]
			}
		}
		if !valid || f.role == limit && p.Window == 0 && p.Name == "" {
			continue // in draft 03 the first number is the limit, and no policy
		}
		policies = append(policies, p)
	}
	return policies
}

// withoutKind removes what Hugging Face writes in front of a policy and is no
// structured field: `"fixed window";"api";q=500;w=300`.
func withoutKind(lines []string) []string {
	cut := make([]string, 0, len(lines))
	for _, line := range lines {
		if _, rest, ok := strings.Cut(line, `";"`); ok && strings.HasPrefix(line, `"`) {
			line = `"` + rest
		}
		cut = append(cut, line)
	}
	return cut
}

// bounded returns the leading members of a list, as many as are worth parsing, and
// no blank lines.
func bounded(values []string) []string {
	var lines []string
	size, count := 0, 0
	for _, v := range values {
		end, quoted := 0, false
		for i := 0; i < len(v) && size+i < maxField && count < maxMembers; i++ {
			switch {
			case v[i] == '\\' && quoted:
				i++
			case v[i] == '"':
				quoted = !quoted
			case v[i] == ',' && !quoted:
				end = i
				count++
			}
			if i >= len(v)-1 {
				end = len(v)
				count++
			}
		}
		size += len(v)
		if strings.Trim(v[:end], " \t") != "" {
			lines = append(lines, v[:end])
		}
	}
	return lines
}

func itemName(it httpsfv.Item) (string, bool) {
	switch v := it.Value.(type) {
	case string:
		return cleanName(v), true
	case httpsfv.Token:
		return cleanName(string(v)), true
	}
	return "", false
}

// integer reads a parameter that has to be a non-negative integer if it is there.
func integer(p *httpsfv.Params, key string, to *Count) bool {
	v, ok := p.Get(key)
	return !ok || nonNegative(v, to)
}

func nonNegative(v any, to *Count) bool {
	n, ok := v.(int64)
	if !ok || n < 0 {
		return false
	}
	*to = Count{min(n, maxCount), true}
	return true
}

func stringParam(p *httpsfv.Params, key string) string {
	v, _ := p.Get(key)
	switch v := v.(type) {
	case string:
		return cleanName(v)
	case httpsfv.Token:
		return cleanName(string(v))
	}
	return ""
}

func delayReset(in Count) Reset {
	if !in.Known {
		return Reset{}
	}
	d, step := number{whole: in.N}.duration(time.Second, longest)
	return Reset{Known: true, In: d, Resolution: step}
}

func unitOr(unit string) string {
	if unit == "" {
		return requests
	}
	return unit
}
