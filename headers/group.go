package headers

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// found is a header that a response has, and what its name says.
type found struct {
	*field
	values []string
}

// list reports whether the header is more than a single value without a comma.
func (f *found) list() bool { return len(f.values) > 1 || strings.IndexByte(f.values[0], ',') >= 0 }

// maxLimits bounds how many limits one response may state.
const maxLimits = 64

// appendLimits appends the limits that headers state: those of one group make one
// limit, or several where values are lists.
func appendLimits(limits []Limit, fields []found, c *clock, h *hints, b *bodyFacts) []Limit {
	sortFields(fields)
	start := len(limits)
	var buf [12]*field
	from := buf[:0]
	for len(fields) > 0 {
		n := 1
		for n < len(fields) && sameGroup(fields[n].field, fields[0].field) {
			n++
		}
		limits = appendGroup(limits, fields[:n], c, h)
		if len(limits)-start > maxLimits {
			limits = limits[:start+maxLimits]
		}
		for len(from) < len(limits)-start {
			from = append(from, fields[0].field)
		}
		fields = fields[n:]
	}
	if b != nil {
		for _, l := range b.limits[:min(len(b.limits), maxLimits-(len(limits)-start))] {
			limits = append(limits, l.Limit)
			from = append(from, &field{family: bodyFamily, group: l.Name, rank: lastRank, long: l.long})
		}
	}
	return limits[:start+settle(limits[start:], from, h)]
}

// appendGroup appends what the headers of one group state.
func appendGroup(limits []Limit, g []found, c *clock, h *hints) []Limit {
	for i := range g {
		switch f := &g[i]; {
		case f.role == pairs || f.form == windows:
			return appendText(limits, g, c, h)
		case f.role == state || f.role == policy || f.role == limit && strings.IndexByte(f.values[0], ';') >= 0:
			return appendStructured(limits, g, c)
		}
	}
	return appendPlain(limits, g, count(g), c)
}

// count returns how many limits lists state: as many as all of the lists have members.
func count(g []found) int {
	n := 0
	for i := range g {
		if r := g[i].role; r == limit || r == remaining || r == used {
			if k := members(&g[i]); n == 0 || k < n {
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
func appendPlain(limits []Limit, g []found, n int, c *clock) []Limit {
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
func plain(l *Limit, g []found, i int, c *clock) bool {
	l.Name, l.Unit = g[0].name, requests
	total := g[0].total
	var (
		gone  Count
		share int64 // billionths, of a limit below one
	)
	for k := range g {
		f := &g[k]
		if f.unit != "" {
			l.Unit = f.unit
		}
		if l.Name == "" {
			l.Name = f.name
		}
		if f.window > 0 {
			l.Window = f.window
		}
		if i < len(f.series) && g[0].list() {
			l.Name, l.Window = f.series[i].name, f.series[i].window
		}
		l.Advisory = l.Advisory || f.advisory
		if i == 0 && l.number(f, c) {
			continue
		}
		switch f.role {
		case limit:
			l.Limit, share = parseLimit(item(f, i), &l.Window)
			total = 0
		case remaining:
			l.Remaining = parseCount(item(f, i))
		case used:
			gone = parseCount(item(f, i))
		case reset:
			l.Reset = better(l.Reset, parseReset(item(f, i), f.field, c))
		case window:
			l.Window = cmp.Or(parseWindow(item(f, 0), cmp.Or(f.step, time.Second)), l.Window)
		case label:
			l.label(f)
		case kind:
			if w := parsePeriod(f.values[0]); w > 0 {
				l.Name, l.Window = cmp.Or(l.Name, cleanName(trim(f.values[0]))), w
			}
		}
	}
	if share > 0 && !l.Limit.Known && l.Window > 0 {
		l.Limit = Count{1, true}
		l.Window = time.Duration(min(float64(l.Window)*1e9/float64(share), float64(maxWindow)))
	}
	if total > 0 && !l.Limit.Known {
		l.Limit = Count{total, true}
	}
	return complete(l, gone) && (!g[0].weak || l.Remaining.Known && (l.Limit.Known || l.Reset.Known))
}

// label reads the name of a limit.
func (l *Limit) label(f *found) {
	name := cleanName(trim(f.values[0]))
	l.Name = cmp.Or(l.Name, name)
	if f.tellsBucket() {
		l.Bucket = cmp.Or(l.Bucket, name)
	}
}

// number reads a header that is nothing but a number, as nearly all are, and reports
// whether it is.
func (l *Limit) number(f *found, c *clock) bool {
	n, ok := parseNumber(f.values[0])
	if !ok {
		return false
	}
	switch {
	case f.role == limit && n.whole > 0:
		l.Limit = Count{min(n.whole, maxCount), true}
	case f.role == remaining:
		l.Remaining = Count{min(n.whole, maxCount), true}
	case f.role == reset && !l.Reset.Known:
		l.Reset.number(n, f.field, c)
	default:
		return false
	}
	return true
}

// complete derives what follows from the rest, and reports whether anything is known.
func complete(l *Limit, gone Count) bool {
	switch {
	case !gone.Known:
	case l.Limit.Known && !l.Remaining.Known:
		l.Remaining = Count{max(l.Limit.N-gone.N, 0), true}
	case l.Remaining.Known && !l.Limit.Known:
		l.Limit = Count{min(l.Remaining.N+gone.N, maxCount), true}
	}
	if l.Limit.Known && l.Limit.N > 0 {
		l.Remaining.N = min(l.Remaining.N, l.Limit.N)
	}
	if l.Reset.Known && l.Reset.In <= 0 {
		// Zero is not "now" where there is something left, nor where nothing is counted.
		if !l.Remaining.Known || l.Remaining.N > 0 || l.Limit.Known && l.Limit.N == 0 {
			l.Reset = Reset{}
		}
		l.Reset.In = 0
	}
	return l.Limit.Known || l.Remaining.Known || l.Reset.Known
}

// parseCount reads a number of requests or of whatever is counted, without the
// parameters that may follow it ("20;w=21600").
func parseCount(s string) Count {
	n, ok := parseNumber(trim(s))
	if !ok {
		if s, _, ok = strings.Cut(s, ";"); ok {
			n, ok = parseNumber(trim(s))
		}
	}
	return Count{N: min(n.whole, maxCount), Known: ok}
}

// parseLimit reads a limit. One below one is returned as a share. AspNetCoreRateLimit
// writes the window in its place.
func parseLimit(s string, window *time.Duration) (n Count, share int64) {
	n = parseCount(s)
	if !n.Known {
		if d, _, ok := parseDuration(trim(s), maxWindow); ok {
			*window = d
		}
		return n, 0
	}
	if n.N == 0 {
		if f, ok := parseNumber(trim(s)); ok && f.nanos > 0 {
			return Count{}, f.nanos
		}
	}
	return n, 0
}

// members returns the number of members in the lines of a list.
func members(f *found) int {
	if !f.list() {
		return 1
	}
	n := 0
	for n < maxMembers {
		if _, ok := member(f.values, n); !ok {
			break
		}
		n++
	}
	return n
}

// item returns a member of a list that may be a single value.
func item(f *found, i int) string {
	if i == 0 && !f.list() {
		return f.values[0]
	}
	v, _ := member(f.values, i)
	return v
}

// member returns the member at a position of the lines of a list. A comma separates
// numbers; in what begins with a letter it belongs to a date. "1,000" is a list.
func member(values []string, i int) (string, bool) {
	for _, v := range values[:min(len(values), maxMembers)] {
		for more := true; more; i-- {
			head, rest := v, ""
			more = false
			if t := trim(v); t != "" && isDigit(t[0]) && len(v) <= maxField {
				head, rest, more = strings.Cut(v, ",")
			}
			if i == 0 {
				return head, true
			}
			v = rest
		}
	}
	return "", false
}
