package headers

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// appendText appends the limits of a group whose values have a form of their own.
func appendText(limits []Limit, g []found, c *value.Clock, h *hints) []Limit {
	for i := range g {
		f := &g[i]
		if f.Form == name.Windows {
			return appendWindows(limits, g)
		}
		n := len(limits)
		for _, v := range f.values[:min(len(f.values), value.MaxMembers)] {
			if len(v) > value.MaxField {
				continue
			}
			switch {
			case strings.HasPrefix(v, "{"):
				limits = appendUsage(limits, f, v, h)
				continue
			case v == "":
				continue
			}
			switch f.Form {
			case name.Ratio:
				limits = appendRatio(limits, f, v)
			case name.Keys:
				limits = appendKeys(limits, f, v, c)
			case name.Delays:
				limits = appendDelays(limits, f, v)
			}
		}
		if f.Form == name.Keys && len(limits) == n {
			limits = appendWords(limits, g[i:i+1], c)
		}
	}
	return limits
}

// appendRatio reads "32/40" and "api-usage=18/15000", used first.
func appendRatio(limits []Limit, f *found, text string) []Limit {
	for _, part := range value.Split(text, ",;") {
		what, r, ok := strings.Cut(part, "=")
		if !ok {
			what, r = f.Name, part
		}
		gone, all, ok := strings.Cut(r, "/")
		all, _, _ = strings.Cut(all, "(") // (appName=…)
		l := Limit{Name: value.CleanName(value.Trim(what)), Unit: value.UnitOfLimit(f.Unit), Window: f.Window, Limit: Count(value.ParseCount(all))}
		if u := Count(value.ParseCount(gone)); ok && u.Known && l.Limit.Known && l.Limit.N > 0 && complete(&l, u) {
			limits = append(limits, l)
		}
	}
	return limits
}

// appendKeys reads "total=100; remaining=99; resets=41" and lists of such. It is not the grammar of
// appendWords, to which a name belongs to the numbers behind it: here each comma ends a limit, whose name may
// come last, or be missing.
func appendKeys(limits []Limit, f *found, text string, c *value.Clock) []Limit {
	for _, part := range value.Split(text, ",") {
		l := Limit{Name: f.Name, Unit: value.UnitOfLimit(f.Unit), Window: f.Window, Advisory: f.Advisory}
		for _, pair := range value.Split(part, "; ") {
			key, v, ok := strings.Cut(pair, "=")
			if !ok && value.WindowInWords(pair) > 0 {
				key, v = "b", pair // per_hour;q=100
			}
			switch name.RoleOfKey(key) {
			case name.Limit:
				l.Limit = Count(value.ParseCount(v))
			case name.Remaining:
				l.Remaining = Count(value.ParseCount(v))
			case name.Reset:
				l.Reset = better(l.Reset, parseReset(v, f.Meaning, c))
			case name.Window:
				l.Window = value.ParseWindow(v, time.Second)
			case name.Label:
				l.Window = cmp.Or(value.WindowInWords(v), l.Window)
				l.Name = value.CleanName(strings.TrimPrefix(f.Name+":"+value.Trim(v), ":"))
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
func appendDelays(limits []Limit, f *found, text string) []Limit {
	for _, part := range value.Split(text, ",") {
		after, rest, ok := strings.Cut(part, ":")
		what, _, _ := strings.Cut(rest, ":")
		n, valid := value.ParseNumber(after)
		if !ok || !valid {
			continue
		}
		d, resolution := n.Duration(time.Second, value.Longest)
		limits = append(limits, Limit{
			Name: value.CleanName(what), Unit: f.Unit, Remaining: Count{0, true},
			Reset: Reset{Known: true, In: d, Resolution: resolution},
		})
	}
	return limits
}

// appendWindows reads lists of limit:seconds and of used:seconds. After these may stand for how many seconds
// the limit bars those who exceed it.
func appendWindows(limits []Limit, g []found) []Limit {
	lists := map[name.Role][]string{}
	for i := range g {
		list := strings.Join(g[i].values[:min(len(g[i].values), value.MaxMembers)], ",")
		lists[g[i].Role] = value.Split(list[:min(len(list), value.MaxField)], ",")
	}
	for _, part := range lists[name.Limit] {
		n, w, _ := strings.Cut(part, ":")
		w, _, _ = strings.Cut(w, ":")
		l := Limit{Name: value.CleanName(g[0].Name + ":" + w), Unit: value.UnitOfLimit(g[0].Unit), Limit: Count(value.ParseCount(n)), Window: value.ParseWindow(w, time.Second)}
		if l.Window == 0 || !l.Limit.Known {
			continue
		}
		var gone Count
		for _, part := range lists[name.Used] {
			n, v, _ := strings.Cut(part, ":")
			v, bar, _ := strings.Cut(v, ":")
			if v != w {
				continue
			}
			gone = Count(value.ParseCount(n))
			if d, ok := value.ParseNumber(bar); ok && d.Whole > 0 { // barred, until the bar ends
				l.Remaining = Count{0, true}
				l.Reset = Reset(value.DelayOf(d.Duration(time.Second, value.Longest)))
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
func appendUsage(limits []Limit, f *found, text string, h *hints) []Limit {
	var one percents
	if json.Unmarshal([]byte(text), &one) == nil && (one.Calls != nil || one.CPU != nil || one.Time != nil) {
		return one.append(limits, "", h)
	}
	var many map[string][]percents
	if json.Unmarshal([]byte(text), &many) != nil {
		return appendShares(limits, f, text)
	}
	for _, id := range slices.Sorted(maps.Keys(many)) {
		for _, p := range many[id][:min(len(many[id]), value.MaxMembers)] {
			limits = p.append(limits, id+"/"+p.Type+"/", h)
		}
	}
	return limits
}

// appendShares reads an object with shares that are used, whose keys end in _pct, or in util_pct where the name
// of the header does not say that it is about limits: {"acc_id_util_pct":9.67,"reset_time_duration":100}, where
// the duration is that in which nothing of it is used any more, in seconds
// (https://developers.facebook.com/docs/marketing-api/overview/rate-limiting).
func appendShares(limits []Limit, f *found, text string) []Limit {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return limits
	}
	var reset Reset
	if seconds, ok := value.ParseNumber(string(all["reset_time_duration"])); ok {
		reset = Reset(value.DelayOf(seconds.Duration(time.Second, value.Longest)))
	}
	n := 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		share, ok := value.ParseNumber(string(all[key]))
		isShare := strings.HasSuffix(key, "util_pct") || !f.Weak && (strings.HasSuffix(key, "_pct") || strings.HasSuffix(key, "_percent"))
		if !isShare || !ok || n == value.MaxMembers {
			continue
		}
		n++
		l := Limit{Name: value.CleanName(key), Unit: "percent", Limit: Count{100, true}, Remaining: Count{percentLeft(share.Float()), true}, Reset: reset}
		complete(&l, Count{})
		limits = append(limits, l)
	}
	return limits
}

// percentLeft returns what is left of 100 percent, rounded down.
func percentLeft(used float64) int64 { return int64(100 - min(max(used, 0), 100)) }

func (p *percents) append(limits []Limit, prefix string, h *hints) []Limit {
	var regained value.Delay
	if p.Regained > 0 {
		d := time.Duration(min(p.Regained, MaxRetryAfter.Minutes()) * float64(time.Minute))
		regained = value.DelayOf(d, time.Minute)
		h.other = h.other.Longer(regained)
	}
	for _, m := range [...]struct {
		name    string
		percent *float64
	}{{"call_count", p.Calls}, {"total_cputime", p.CPU}, {"total_time", p.Time}} {
		if m.percent == nil {
			continue
		}
		l := Limit{Name: value.CleanName(prefix + m.name), Unit: "percent", Limit: Count{100, true}, Remaining: Count{percentLeft(*m.percent), true}}
		if l.Remaining.N == 0 && regained.Known { // of one that is not used up, it is not said when it is restored
			l.Reset = Reset(regained)
		}
		limits = append(limits, l)
	}
	return limits
}
