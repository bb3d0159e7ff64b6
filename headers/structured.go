package headers

import (
	"cmp"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/structured"
	"github.com/gopacer/pacer/headers/internal/value"
)

// appendStructured appends the limits of a group that has a field of the IETF drafts
// (draft-ietf-httpapi-ratelimit-headers): RateLimit, as a list of named items with
// parameters r and t since 08, or as a dictionary in 07; RateLimit-Policy, a list of
// named or, up to 07, numeric items; or the list that RateLimit-Limit was in 03. What
// is malformed is ignored, as the drafts demand, but for two things: a name may be a
// token, and r may be missing, since examples in the drafts themselves do so.
func appendStructured(limits []Limit, g []found, c *value.Clock) []Limit {
	start := len(limits)
	var buf [structured.FewMembers]Limit
	policies := buf[:0]
	for i := range g {
		switch f := &g[i]; {
		case f.Role == name.State:
			limits = appendStates(limits, f, c)
		case f.Role == name.Policy || f.Role == name.Limit && strings.IndexByte(f.values[0], ';') >= 0:
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
func appendStates(limits []Limit, f *found, c *value.Clock) []Limit {
	var buf [structured.FewMembers]structured.Member
	list, ok := structured.ScanList(buf[:0], f.values)
	if !ok {
		lines := structured.Lines(f.values)
		if len(lines) == 0 {
			return limits
		}
		if i := strings.IndexAny(lines[0], "=;,\""); i >= 0 && lines[0][i] == '=' {
			if strings.IndexByte(lines[0], ',') < 0 && strings.IndexByte(lines[0], ';') >= 0 {
				return appendKeys(limits, f, lines[0], c)
			}
			return appendCombined(limits, f, lines)
		}
		if list, ok = structured.ParseList(lines); !ok {
			return limits
		}
	}
	for i := range list {
		m := &list[i]
		if m.Name == "" || m.R.N < 0 || m.T.N < 0 {
			continue
		}
		l := Limit{Name: m.Name, Bucket: m.PK, Unit: value.UnitOr(f.Unit), Advisory: f.Advisory, Remaining: Count(m.R)}
		l.Reset = draftReset(m.T)
		if complete(&l, Count{}) {
			limits = append(limits, l)
		}
	}
	return limits
}

// appendCombined appends the one limit of draft 07: "limit=100, remaining=50, reset=5".
func appendCombined(limits []Limit, f *found, lines []string) []Limit {
	c, ok := structured.ParseCombined(lines)
	if !ok {
		return limits
	}
	l := Limit{
		Name: f.Name, Unit: value.UnitOr(f.Unit), Advisory: f.Advisory,
		Limit: Count(c.Limit), Remaining: Count(c.Remaining), Reset: draftReset(c.Reset),
	}
	if complete(&l, Count{}) {
		limits = append(limits, l)
	}
	return limits
}

// appendPolicies appends what RateLimit-Policy says, or the list of RateLimit-Limit.
func appendPolicies(policies []Limit, f *found) []Limit {
	var buf [structured.FewMembers]structured.Member
	list, ok := structured.ScanList(buf[:0], f.values)
	if !ok {
		lines := structured.Lines(f.values)
		if list, ok = structured.ParseList(lines); !ok {
			list, _ = structured.ParseList(withoutKind(lines))
		}
	}
	for i := range list {
		m := &list[i]
		p := Limit{Name: m.Label, Bucket: m.PK, Unit: value.UnitOr(cmp.Or(m.Qu, f.Unit)), Advisory: f.Advisory, Limit: Count(m.Number)}
		if m.Qu == "bytes" { // as draft 08 spelled it
			p.Unit = value.Bytes
		}
		if m.Named {
			p.Name, p.Limit = m.Name, Count(m.Q)
		}
		if m.W.Known {
			p.Window, _ = value.Number{Whole: m.W.N}.Duration(time.Second, value.MaxWindow)
		}
		if !p.Limit.Known || m.W.N < 0 || f.Role == name.Limit && p.Window == 0 && p.Name == "" {
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
