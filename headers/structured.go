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
		case f.Role == name.Policy || f.Role == name.Limit && f.hasParameters():
			policies = appendPolicies(policies, f)
		}
	}
	if len(limits) == start {
		n := countLimits(g)
		if n > 1 {
			if whole := wholeList(g, n); whole != nil {
				policies = whole
			}
			if n != len(policies) {
				n = 1
			}
		}
		limits = appendPlain(limits, g, n, c)
		if n > 1 && len(limits) == start+n {
			return pair(limits, policies)
		}
	}
	for i := range limits[start:] {
		policies = join(&limits[start+i], policies)
	}
	return append(limits, policies...)
}

// wholeList returns the members of a list of limits with their windows, in which the first one has none, if
// there are as many of what remains: nil if not. CryptoCompare writes 100, 20;window=1 beside 80, 19;window=1.
func wholeList(g []found, n int) []Limit {
	var list []Limit
	remaining := false
	for i := range g {
		switch f := &g[i]; {
		case f.Role == name.Remaining:
			remaining = value.Members(f.values) == n
		case f.Role == name.Limit && f.hasParameters():
			first := Limit{Unit: value.UnitOfLimit(f.Unit), Limit: Count(value.ParseCount(value.Member(f.values, 0)))}
			if list = appendPolicies([]Limit{first}, f); len(list) != n {
				return nil
			}
		}
	}
	if !remaining {
		return nil
	}
	return list
}

// pair completes limits that are stated in lists by a list of policies of the same length, and calls those that
// have no name by their windows, so that they stay several.
func pair(limits, policies []Limit) []Limit {
	rest := limits[len(limits)-len(policies):]
	for i := range rest {
		l, p := &rest[i], &policies[i]
		if l.Limit.Known && l.Limit != p.Limit {
			return limits // the lists are in different orders
		}
	}
	for i := range rest {
		l, p := &rest[i], &policies[i]
		l.Limit, l.Window, l.Unit, l.Counter = p.Limit, p.Window, p.Unit, cmp.Or(l.Counter, p.Counter)
		if l.Name == "" {
			l.Name = cmp.Or(p.Name, value.WindowName(p.Window))
		}
		complete(l, Count{})
	}
	return limits
}

// join completes a limit by its policy, and returns the policies that are left.
func join(l *Limit, policies []Limit) []Limit {
	i := l.policy(policies)
	if i < 0 {
		return policies
	}
	p := &policies[i]
	if l.Name == "" {
		l.Name = p.Name
	}
	if !l.Limit.Known {
		l.Limit = p.Limit
	}
	l.Window, l.Unit, l.Counter = p.Window, p.Unit, cmp.Or(l.Counter, p.Counter)
	complete(l, Count{})
	return append(policies[:i], policies[i+1:]...)
}

// policy returns which of the policies a limit is under, or -1: the one of its name, or, where one of them has
// no name, of its quota. If several have that, it is the only one whose window the reset does not exceed.
func (l *Limit) policy(policies []Limit) int {
	last, fits, lastFit := -1, 0, -1
	for i := range policies {
		p := &policies[i]
		switch named := l.Name != "" && p.Name != ""; {
		case named && l.Name != p.Name:
			continue
		case named:
			return i
		case l.Limit.Known && l.Limit != p.Limit, !l.Limit.Known && len(policies) > 1:
			continue
		}
		if !l.Reset.Known || p.Window == 0 || l.Reset.In <= p.Window {
			fits, lastFit = fits+1, i
		}
		if last >= 0 {
			last = len(policies) // several
			continue
		}
		last = i
	}
	switch {
	case last < len(policies):
		return last
	case fits == 1:
		return lastFit
	}
	return -1
}

// appendStates appends what RateLimit says. Some write draft 07 with semicolons.
func appendStates(limits []Limit, f *found, c *value.Clock) []Limit {
	var buf [structured.FewMembers]structured.Member
	list, ok := structured.ScanList(buf[:0], f.values)
	if !ok {
		var one [1]string
		lines := structured.Lines(one[:0], f.values)
		if len(lines) == 0 {
			return limits
		}
		if i := strings.IndexAny(lines[0], "=;,\""); i >= 0 && lines[0][i] == '=' {
			if strings.IndexByte(lines[0], ',') < 0 && strings.IndexByte(lines[0], ';') >= 0 {
				return appendKeys(limits, f, lines[0], c)
			}
			return appendCombined(limits, f, lines, c)
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
		l := Limit{Name: m.Name, Counter: m.PK, Unit: unitOf(f.Unit, m.Name), Advisory: f.Advisory, Remaining: Count(m.R)}
		l.Reset = draftReset(m.T, c)
		if complete(&l, Count{}) {
			limits = append(limits, l)
		}
	}
	return limits
}

// appendCombined appends the one limit of draft 07: "limit=100, remaining=50, reset=5".
func appendCombined(limits []Limit, f *found, lines []string, c *value.Clock) []Limit {
	d, ok := structured.ParseCombined(lines)
	if !ok {
		return limits
	}
	l := Limit{
		Name: f.Name, Unit: value.UnitOfLimit(f.Unit), Advisory: f.Advisory,
		Limit: Count(d.Limit), Remaining: Count(d.Remaining), Reset: draftReset(d.Reset, c), Window: windowOf(d.Window),
	}
	if complete(&l, Count{}) {
		limits = append(limits, l)
	}
	return limits
}

// windowOf returns a window that is stated in seconds, zero if none is.
func windowOf(seconds value.Count) time.Duration {
	if !seconds.Known {
		return 0
	}
	d, _ := value.Number{Whole: seconds.N}.Duration(time.Second, value.MaxWindow)
	return d
}

// appendPolicies appends what RateLimit-Policy says, or the list of RateLimit-Limit.
func appendPolicies(policies []Limit, f *found) []Limit {
	var buf [structured.FewMembers]structured.Member
	list, ok := structured.ScanList(buf[:0], f.values)
	if !ok {
		var one [1]string
		lines := structured.Lines(one[:0], f.values)
		if list, ok = structured.ParseList(lines); !ok {
			list, _ = structured.ParseList(withoutKind(lines))
		}
	}
	for i := range list {
		m := &list[i]
		p := Limit{Name: m.Label, Counter: m.PK, Unit: value.UnitOfLimit(cmp.Or(m.Qu, unitOf(f.Unit, m.Name))), Advisory: f.Advisory, Limit: Count(m.Number)}
		if m.Qu == "bytes" { // as draft 08 spelled it
			p.Unit = value.Bytes
		}
		if m.Named {
			p.Name, p.Limit = m.Name, Count(m.Q)
		}
		if m.W.Known {
			p.Window = windowOf(m.W)
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
