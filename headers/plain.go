package headers

import (
	"cmp"
	"slices"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// countLimits returns how many limits the lists of a group state: as many as all of the lists
// have members.
func countLimits(g []found) int {
	n := 0
	for i := range g {
		if r := g[i].Role; r == name.Limit || r == name.Remaining || r == name.Used {
			if k := value.Members(g[i].values); n == 0 || k < n {
				n = k
			}
			if n == 1 {
				break
			}
		}
	}
	return max(n, 1)
}

// appendPlain appends the n limits of a group of headers with a number each. Lists,
// on one line or on several, are read in parallel.
func appendPlain(limits []Limit, g []found, n int, c *value.Clock) []Limit {
	start := len(limits)
	for i := range n {
		var l Limit
		// Two hops may write the same, or a proxy folds lines.
		if plain(&l, g, i, c) && (i == 0 || !slices.Contains(limits[start:], l)) {
			limits = append(limits, l)
		}
	}
	return limits
}

// plain reads what the members at position i of the headers of a group state, and
// reports whether that is anything.
func plain(l *Limit, g []found, i int, c *value.Clock) bool {
	l.Name, l.Unit = g[0].Name, value.Requests
	r := rest{total: g[0].Total}
	for k := range g {
		f := &g[k]
		l.named(f.Meaning)
		if i < len(f.Series) && value.IsList(g[0].values) {
			l.Name, l.Window = f.Series[i].Name, f.Series[i].Window
		}
		if i > 0 || !l.number(f, c) {
			r.read(l, f, i, c)
		}
	}
	return r.conclude(l) && (!g[0].Weak || l.Remaining.Known && (l.Limit.Known || l.Reset.Known))
}

// rest is what a limit follows from that is no field of a Limit.
type rest struct {
	gone  Count
	total int64 // how much there is in all, if no header says; zero if not known
	share int64 // of a limit below one, in billionths; zero if there is none
}

// read reads the member of a header at position i, whatever it is.
func (r *rest) read(l *Limit, f *found, i int, c *value.Clock) {
	switch f.Role {
	case name.Limit:
		l.Limit, r.share = parseLimit(value.Member(f.values, i), &l.Window)
		r.total = 0
	case name.Remaining:
		l.Remaining = Count(value.ParseCount(value.Member(f.values, i)))
	case name.Used:
		r.gone = Count(value.ParseCount(value.Member(f.values, i)))
	case name.Reset:
		l.Reset = better(l.Reset, parseReset(value.Member(f.values, i), f.Meaning, c))
	case name.Window:
		l.Window = cmp.Or(value.ParseWindow(value.Member(f.values, 0), cmp.Or(f.Step, time.Second)), l.Window)
	case name.Label:
		l.label(f)
	case name.Kind:
		if w := value.WindowInWords(f.values[0]); w > 0 {
			l.Name, l.Window = cmp.Or(l.Name, value.CleanName(value.Trim(f.values[0]))), w
		}
	}
}

// parseLimit reads a limit. One below one is returned as a share. AspNetCoreRateLimit
// writes the window in its place.
func parseLimit(s string, window *time.Duration) (n Count, share int64) {
	n = Count(value.ParseCount(s))
	if !n.Known {
		if d, _, ok := value.ParseDuration(value.Trim(s), value.MaxWindow); ok {
			*window = d
		}
		return n, 0
	}
	if n.N == 0 {
		if f, ok := value.ParseNumber(value.Trim(s)); ok && f.Nanos > 0 {
			return Count{}, f.Nanos
		}
	}
	return n, 0
}

// conclude completes a limit, and reports whether anything is known. A limit below one is one
// in a longer window: half a request a second is one in two seconds.
func (r *rest) conclude(l *Limit) bool {
	if r.share > 0 && !l.Limit.Known && l.Window > 0 {
		l.Limit = Count{1, true}
		l.Window = time.Duration(min(float64(l.Window)*1e9/float64(r.share), float64(value.MaxWindow)))
	}
	if r.total > 0 && !l.Limit.Known {
		l.Limit = Count{r.total, true}
	}
	return complete(l, r.gone)
}
