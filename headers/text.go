package headers

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// appendText appends the limits of a group whose values have a form of their own.
func appendText(limits []Limit, g []found, c *clock, h *hints) []Limit {
	for i := range g {
		f := &g[i]
		if f.form == windows {
			return appendWindows(limits, g)
		}
		for _, v := range f.values[:min(len(f.values), maxMembers)] {
			if len(v) > maxField {
				continue
			}
			switch f.form {
			case ratio:
				limits = appendRatio(limits, f, v)
			case keys:
				limits = appendKeys(limits, f, v, c)
			case delays:
				limits = appendDelays(limits, f, v)
			case usage:
				limits = appendUsage(limits, f, v, h)
			}
		}
	}
	return limits
}

// split yields the trimmed members of a list, a bounded number of them.
func split(s, separators string) []string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) })
	parts = parts[:min(len(parts), maxMembers)]
	for i := range parts {
		parts[i] = trim(parts[i])
	}
	return parts
}

// appendRatio reads "32/40" and "api-usage=18/15000", used first.
func appendRatio(limits []Limit, f *found, value string) []Limit {
	for _, part := range split(value, ",;") {
		name, r, ok := strings.Cut(part, "=")
		if !ok {
			name, r = f.name, part
		}
		gone, all, ok := strings.Cut(r, "/")
		all, _, _ = strings.Cut(all, "(") // (appName=…)
		l := Limit{Name: cleanName(trim(name)), Unit: unitOr(f.unit), Window: f.window, Limit: parseCount(all)}
		if u := parseCount(gone); ok && u.Known && l.Limit.Known && l.Limit.N > 0 && complete(&l, u) {
			limits = append(limits, l)
		}
	}
	return limits
}

// letters are the keys that are used beside those of roles.
var letters = map[string]role{"q": limit, "r": remaining, "t": reset, "w": window, "b": label}

// appendKeys reads "total=100; remaining=99; resets=41" and lists of such.
func appendKeys(limits []Limit, f *found, value string, c *clock) []Limit {
	for _, part := range split(value, ",") {
		l := Limit{Name: f.name, Unit: unitOr(f.unit), Window: f.window, Advisory: f.advisory}
		for _, pair := range split(part, "; ") {
			key, v, ok := strings.Cut(pair, "=")
			if !ok && parsePeriod(pair) > 0 {
				key, v = "b", pair // per_hour;q=100
			}
			switch cmp.Or(letters[key], roles[key]) {
			case limit:
				l.Limit = parseCount(v)
			case remaining:
				l.Remaining = parseCount(v)
			case reset:
				l.Reset = better(l.Reset, parseReset(v, f.field, c))
			case window:
				l.Window = parseWindow(v, time.Second)
			case label:
				l.Window = cmp.Or(parsePeriod(v), l.Window)
				l.Name = cleanName(strings.TrimPrefix(f.name+":"+trim(v), ":"))
			}
		}
		if l.Remaining.Known && complete(&l, Count{}) {
			limits = append(limits, l)
		}
	}
	return limits
}

// appendDelays reads "60:transaction:key, 2700:default;error:organization": what is
// used up, and for how long.
func appendDelays(limits []Limit, f *found, value string) []Limit {
	for _, part := range split(value, ",") {
		after, rest, ok := strings.Cut(part, ":")
		name, _, _ := strings.Cut(rest, ":")
		n, valid := parseNumber(after)
		if !ok || !valid {
			continue
		}
		d, step := n.duration(time.Second, longest)
		limits = append(limits, Limit{
			Name: cleanName(name), Unit: f.unit, Remaining: Count{0, true},
			Reset: Reset{Known: true, In: d, Resolution: step},
		})
	}
	return limits
}

// appendWindows reads lists of limit:seconds and of used:seconds.
func appendWindows(limits []Limit, g []found) []Limit {
	lists := map[role][]string{}
	for i := range g {
		lists[g[i].role] = split(g[i].values[0][:min(len(g[i].values[0]), maxField)], ",")
	}
	for _, part := range lists[limit] {
		n, w, _ := strings.Cut(part, ":")
		l := Limit{Name: cleanName(g[0].name + ":" + w), Unit: unitOr(g[0].unit), Limit: parseCount(n), Window: parseWindow(w, time.Second)}
		if l.Window == 0 || !l.Limit.Known {
			continue
		}
		var gone Count
		for _, part := range lists[used] {
			if n, v, _ := strings.Cut(part, ":"); v == w {
				gone = parseCount(n)
			}
		}
		if complete(&l, gone) {
			limits = append(limits, l)
		}
	}
	return limits
}

// percents is what Meta writes, of 100 each.
type percents struct {
	Type     string   `json:"type"`
	Calls    *float64 `json:"call_count"`
	CPU      *float64 `json:"total_cputime"`
	Time     *float64 `json:"total_time"`
	Regained float64  `json:"estimated_time_to_regain_access"` // minutes
}

// appendUsage reads X-App-Usage and X-Business-Use-Case-Usage, the latter by object.
func appendUsage(limits []Limit, f *found, value string, h *hints) []Limit {
	var one percents
	if json.Unmarshal([]byte(value), &one) == nil && (one.Calls != nil || one.CPU != nil || one.Time != nil) {
		return one.append(limits, f, "", h)
	}
	var many map[string][]percents
	if json.Unmarshal([]byte(value), &many) != nil {
		return limits
	}
	for _, id := range slices.Sorted(maps.Keys(many)) {
		for _, p := range many[id][:min(len(many[id]), maxMembers)] {
			limits = p.append(limits, f, id+"/"+p.Type+"/", h)
		}
	}
	return limits
}

func (p *percents) append(limits []Limit, f *found, prefix string, h *hints) []Limit {
	for _, m := range [...]struct {
		name    string
		percent *float64
	}{{"call_count", p.Calls}, {"total_cputime", p.CPU}, {"total_time", p.Time}} {
		if m.percent != nil {
			left := 100 - int64(min(max(*m.percent, 0), 100))
			limits = append(limits, Limit{
				Name: cleanName(prefix + m.name), Unit: f.unit, Limit: Count{100, true}, Remaining: Count{left, true},
			})
		}
	}
	if p.Regained > 0 {
		d := time.Duration(min(p.Regained, MaxRetryAfter.Minutes()) * float64(time.Minute))
		h.other = h.other.longer(delay{d, time.Minute, true})
	}
	return limits
}
