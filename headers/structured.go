package headers

import (
	"cmp"
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
	var buf [fewMembers]Limit
	policies := buf[:0]
	for i := range g {
		switch f := &g[i]; {
		case f.role == state:
			limits = appendStates(limits, f, c)
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
	for i := range policies {
		p := &policies[i]
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
		l.Window, l.Unit, l.Bucket = p.Window, p.Unit, cmp.Or(l.Bucket, p.Bucket)
		complete(l, Count{})
		return append(policies[:i], policies[i+1:]...)
	}
	return policies
}

// appendStates appends what RateLimit says. Some write draft 07 with semicolons.
func appendStates(limits []Limit, f *found, c *clock) []Limit {
	var buf [fewMembers]entry
	list, ok := scanList(buf[:0], f.values)
	if !ok {
		lines := bounded(f.values)
		if len(lines) == 0 {
			return limits
		}
		if i := strings.IndexAny(lines[0], "=;,\""); i >= 0 && lines[0][i] == '=' {
			if strings.IndexByte(lines[0], ',') < 0 && strings.IndexByte(lines[0], ';') >= 0 {
				return appendKeys(limits, f, lines[0], c)
			}
			return appendCombined(limits, f, lines)
		}
		if list, ok = parseList(lines); !ok {
			return limits
		}
	}
	for i := range list {
		m := &list[i]
		if m.name == "" || m.r.N < 0 || m.t.N < 0 {
			continue
		}
		l := Limit{Name: m.name, Bucket: m.pk, Unit: unitOr(f.unit), Advisory: f.advisory, Remaining: m.r}
		l.Reset.seconds(m.t)
		if complete(&l, Count{}) {
			limits = append(limits, l)
		}
	}
	return limits
}

// appendCombined appends the one limit of draft 07: "limit=100, remaining=50, reset=5".
func appendCombined(limits []Limit, f *found, lines []string) []Limit {
	l, in, ok := scanCombined(lines[0])
	if !ok || len(lines) > 1 {
		if l, in, ok = parseCombined(lines); !ok {
			return limits
		}
	}
	l.Name, l.Unit, l.Advisory = f.name, unitOr(f.unit), f.advisory
	l.Reset.seconds(in)
	if complete(&l, Count{}) {
		limits = append(limits, l)
	}
	return limits
}

// parseCombined reads a dictionary of structured fields.
func parseCombined(lines []string) (l Limit, in Count, ok bool) {
	dict, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return l, in, false
	}
	for key, to := range map[string]*Count{"limit": &l.Limit, "remaining": &l.Remaining, "reset": &in} {
		m, ok := dict.Get(key)
		if !ok {
			continue
		}
		it, ok := m.(httpsfv.Item)
		if !ok {
			return l, in, false
		}
		if *to, _, _ = bare(it.Value); !to.Known {
			return l, in, false
		}
	}
	return l, in, true
}

// appendPolicies appends what RateLimit-Policy says, or the list of RateLimit-Limit.
func appendPolicies(policies []Limit, f *found) []Limit {
	var buf [fewMembers]entry
	list, ok := scanList(buf[:0], f.values)
	if !ok {
		lines := bounded(f.values)
		if list, ok = parseList(lines); !ok {
			list, _ = parseList(withoutKind(lines))
		}
	}
	for i := range list {
		m := &list[i]
		p := Limit{Name: m.label, Bucket: m.pk, Unit: unitOr(cmp.Or(m.qu, f.unit)), Advisory: f.advisory, Limit: m.number}
		if m.qu == "bytes" { // as draft 08 spelled it
			p.Unit = unitOf["bytes"]
		}
		if m.named {
			p.Name, p.Limit = m.name, m.q
		}
		if m.w.Known {
			p.Window, _ = number{whole: m.w.N}.duration(time.Second, maxWindow)
		}
		if !p.Limit.Known || m.w.N < 0 || f.role == limit && p.Window == 0 && p.Name == "" {
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

func unitOr(unit string) string {
	if unit == "" {
		return requests
	}
	return unit
}
