package headers

import (
	"cmp"
	"slices"
	"strings"
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
	if n == 1 && !slices.ContainsFunc(g, func(f found) bool { return f.Series != nil }) {
		keepCareful(g, c)
	}
	for i := range n {
		var l Limit
		// Two hops may write the same, or a proxy folds lines.
		if plain(&l, g, i, c) && (i == 0 || !slices.Contains(limits[start:], l)) {
			limits = append(limits, l)
		}
	}
	return limits
}

// keepCareful keeps one member of each header that says several times what there is of one limit: that by which
// the least may go. Of two hops that count, the one that has less left refuses first. The reset of what is kept
// stands beside it, if there are as many resets.
func keepCareful(g []found, c *value.Clock) {
	var at, members int // of the counts beside which the resets stand
	for _, role := range [...]name.Role{name.Used, name.Remaining} {
		for i := range g {
			if f := &g[i]; f.Role == role && value.IsList(f.values) {
				at, members = careful(f, c), value.Members(f.values)
			}
		}
	}
	for i := range g {
		f := &g[i]
		if !value.IsList(f.values) || f.hasParameters() { // with those, the first limit is in force: draft 03
			continue
		}
		switch f.Role {
		case name.Reset, name.Remaining, name.Used, name.Limit, name.Window:
			k := careful(f, c)
			if f.Role == name.Reset && value.Members(f.values) == members {
				k = at
			}
			f.values = []string{value.Member(f.values, k)}
		}
	}
}

// careful returns the position of the member of a list by which the least may go; zero if none says anything.
func careful(f *found, c *value.Clock) (at int) {
	var most int64
	known := false
	for i := range value.Members(f.values) {
		if w, ok := weight(f, value.Member(f.values, i), c); ok && (!known || w > most) {
			at, most, known = i, w, true
		}
	}
	return at
}

// weight returns a number that is the greater, the less may go by a member of a header. It is false if the
// member says nothing.
func weight(f *found, v string, c *value.Clock) (int64, bool) {
	n, ok := counted(v)
	switch f.Role {
	case name.Limit:
		return -n.Whole, ok && n.Whole > 0
	case name.Remaining:
		if isOverdrawn(v) {
			return 1, true
		}
		return -n.Whole, ok && !n.Below()
	case name.Used:
		return n.Whole, ok
	case name.Reset:
		r := parseReset(v, f.Meaning, c)
		return int64(r.In), r.Known
	default: // Window
		w := value.ParseWindow(v, stepOf(f, value.ParseCount(v).N))
		return int64(w), w > 0
	}
}

// plain reads what the members at position i of the headers of a group state, and
// reports whether that is anything.
func plain(l *Limit, g []found, i int, c *value.Clock) bool {
	l.Name, l.Unit = g[0].Name, ""
	var r rest
	for k := range g {
		f := &g[k]
		l.named(f.Meaning)
		r.note(f.Meaning)
		if i < len(f.Series) && value.IsList(g[0].values) {
			l.Name, l.Window = f.Series[i].Name, f.Series[i].Window
		}
		if i > 0 || !l.number(f, c) {
			r.read(l, f, i, c)
		}
	}
	return r.conclude(l) && l.believed(g[0].Meaning, r.used)
}

// believed reports whether a limit is one. A name that has no marker may be about anything, so that more must
// be known of it. used says that what is gone is stated.
func (l *Limit) believed(m *name.Meaning, used bool) bool {
	return !m.Weak || l.Remaining.Known && (l.Limit.Known || l.Reset.Known || used) && !l.isOfSpace()
}

// isOfSpace reports whether what is granted is so many MiB: nobody grants as many requests.
func (l *Limit) isOfSpace() bool {
	return l.Limit.N > 0 && l.Limit.N%(1<<20) == 0 && l.Unit == ""
}

// rest is what a limit follows from that is no field of a Limit.
type rest struct {
	gone, left value.Number
	used       bool          // gone is known
	overdrawn  bool          // what is left is less than nothing
	limited    bool          // a header says how much there is, though it may not be understood
	boundless  bool          // a header says that there is no limit
	total      int64         // how much there is in all, if no header says; zero if not known
	share      int64         // of a limit below one, in billionths; zero if there is none
	whole      int64         // a number beside which nothing stands but what remains of it
	interval   int64         // the number in a header about the window
	step       time.Duration // what it counts, if another header says so
	roles      name.RoleSet
	pairs      name.RoleSet // of words such as current and maximum
	percent    bool         // gone is a share in percent
	grouped    int64        // a limit with three decimals, which may be thousands: 5.000; zero if there is none
}

// note notes what the name of a header says.
func (r *rest) note(m *name.Meaning) {
	r.total = cmp.Or(r.total, m.Total)
	r.limited = r.limited || m.Role == name.Limit
	r.roles |= 1 << m.Role
	r.percent = r.percent || m.Role == name.Used && m.Unit == "percent"
	if m.Pair {
		r.pairs |= 1 << m.Role
	}
}

// read reads the member of a header at position i, whatever it is.
func (r *rest) read(l *Limit, f *found, i int, c *value.Clock) {
	switch f.Role {
	case name.Limit:
		v := value.Member(f.values, i)
		l.Limit, r.share = parseLimit(v, &l.Window)
		r.boundless = isBoundless(v)
		if n, ok := value.ParseCounted(v); ok && n.Digits == 3 {
			r.grouped = n.Whole
		}
	case name.Remaining:
		v := value.Member(f.values, i)
		n, ok := counted(v)
		r.remains(l, n, ok)
		r.overdrawn = !ok && isOverdrawn(v)
	case name.Used:
		r.gone, r.used = counted(value.Member(f.values, i))
	case name.State:
		n := value.ParseCount(value.Member(f.values, i))
		r.whole = n.N
	case name.Reset:
		l.Reset = better(l.Reset, parseReset(value.Member(f.values, i), f.Meaning, c))
	case name.Window:
		v := value.Member(f.values, 0)
		r.interval = value.ParseCount(v).N
		l.Window = cmp.Or(value.ParseWindow(v, stepOf(f, r.interval)), l.Window)
	case name.TimeUnit:
		r.step = value.WindowInWords(f.values[0])
	case name.Label:
		l.label(f)
	case name.Kind:
		if w := value.WindowOfName(f.values[0]); w > 0 {
			l.Name, l.Window = cmp.Or(l.Name, value.CleanName(value.Trim(f.values[0]))), w
		}
	}
}

// counted reads a number of requests, with or without a word for them.
func counted(v string) (value.Number, bool) {
	n, ok := value.ParseCounted(v)
	if !ok && v != "" && isLetter(v[len(v)-1]) {
		var window time.Duration
		if n, window, ok = value.ParseRate(v); window > 0 {
			return value.Number{}, false
		}
	}
	return n, ok
}

// isOverdrawn reports whether what is left is less than nothing. Minus one is what some write where nothing is
// counted.
func isOverdrawn(v string) bool {
	v, ok := strings.CutPrefix(value.Trim(v), "-")
	if !ok {
		return false
	}
	n, ok := value.ParseNumber(v)
	return ok && n.Whole > 1
}

// isBoundless reports whether a header that says how much there is says that there is no limit.
func isBoundless(v string) bool {
	v = value.Trim(v)
	return v == "-1" || strings.EqualFold(v, "unlimited")
}

// stepOf returns what a number in a header about a window counts, if no name and no other header says so.
// Nobody means 60 000 seconds, nor 2 592 000 milliseconds where that many seconds are 30 days.
func stepOf(f *found, n int64) time.Duration {
	if f.Step == 0 && f.Form == name.Auto && n > 0 && n%1000 == 0 && (n%86_400 != 0 || n%60_000 == 0) {
		return time.Millisecond
	}
	return cmp.Or(f.Step, time.Second)
}

// remains sets what is left. Of a fraction below one nobody knows whether it suffices for a request.
func (r *rest) remains(l *Limit, n value.Number, ok bool) {
	r.left = n
	if ok && !n.Below() {
		l.Remaining = Count{min(n.Whole, value.MaxCount), true}
	}
}

// parseLimit reads a limit. One below one is returned as a share. AspNetCoreRateLimit
// writes the window in its place.
func parseLimit(s string, window *time.Duration) (n Count, share int64) {
	n = Count(value.ParseCount(s))
	if number, w, ok := value.ParseRate(s); !n.Known && ok {
		*window = cmp.Or(w, *window)
		return Count{min(number.Whole, value.MaxCount), number.Whole > 0}, 0
	}
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
	if r.overdrawn && l.Limit.N > 0 {
		l.Remaining = Count{0, true}
	}
	r.doubt(l)
	if r.total > 0 && !r.limited {
		l.Limit = Count{r.total, true}
	}
	if r.whole > 0 && !l.Limit.Known && l.Remaining.Known && l.Remaining.N <= r.whole {
		l.Limit = Count{r.whole, true}
	}
	if r.pairs.Has(name.Limit) && r.pairs.Has(name.Used) && !r.roles.Has(name.Remaining) && !r.roles.Has(name.Reset) {
		l.Unit = value.Concurrent
	}
	if r.step > 0 {
		l.Window = min(time.Duration(min(max(r.interval, 1), int64(value.MaxWindow/r.step)))*r.step, value.MaxWindow)
	}
	if r.roles.Has(name.Rate) {
		l.Window = 0 // it is the time in which so many are added, and not the whole limit
	}
	if r.used {
		r.addUsed(l)
	}
	return complete(l, Count{})
}

// doubt leaves out numbers that may mean something else.
func (r *rest) doubt(l *Limit) {
	if r.grouped > 0 && (r.left.Digits == 3 || l.Remaining.N > r.grouped) {
		// Nobody counts in thousandths. The point may group digits, as in German.
		l.Limit, r.limited = Count{}, true
		if r.left.Digits == 3 {
			l.Remaining = Count{}
		}
	}
	if r.percent && r.limited { // a share of something else
		r.used, l.Unit = false, ""
	}
	if r.boundless && l.Remaining.N == 0 { // nothing is counted, so that nothing is left of it
		l.Remaining = Count{}
	}
}

// addUsed concludes from what is gone what is left, or how much there is in all. Fractions are added before
// they are rounded. What is gone beside what is left says so only where no header does (ESI's is of one
// request), and where something is left, since else those that were refused may be counted, too (Twelve Data).
func (r *rest) addUsed(l *Limit) {
	const one = int64(time.Second) // in billionths
	up := min(r.gone.Whole, value.MaxCount) + (r.gone.Nanos+one-1)/one
	switch {
	case l.Limit.Known && !l.Remaining.Known && !r.roles.Has(name.Remaining):
		l.Remaining = Count{max(l.Limit.N-up, 0), true}
	case l.Remaining.N > 0 && !l.Limit.Known && !r.limited:
		sum := l.Remaining.N + min(r.gone.Whole, value.MaxCount) + (r.gone.Nanos+r.left.Nanos+one/2)/one
		l.Limit = Count{min(sum, value.MaxCount), true}
	}
}
