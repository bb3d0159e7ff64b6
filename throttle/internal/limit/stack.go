package limit

import (
	"iter"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Stack is the limits of a bucket's quotas, which are enforced together: a claim goes when all
// of them grant it at the same instant. If a share is reserved for urgent claims, there is a
// second limit for each quota: what is left of it to the other claims, which draw on both.
type Stack []entry

// entry is one quota.
type entry struct {
	quota      *quota.Quota // with all defaults written out
	all        Limit        // nil if the quota is no limit
	unreserved Limit        // what is left to claims that are not urgent; nil if nothing is reserved
	most       int64        // what any claim may cost of it at once
	settled    bool         // some cost in the unit was found to be more than was claimed
}

// Heard is what a server was heard to state. States reports whether its own count of a limit is to be
// believed: the latest statement is of n tokens of the unit in per, and nothing contradicts it.
type Heard interface {
	States(now monotime.Time, unit string, n int64, per time.Duration) bool
}

// Set replaces the quotas, of which a share is reserved. A quota that stays as it is keeps its limits. Each
// other quota takes over the limits of an old one of the same kind and unit, if any is left, or of a kind that
// remembers the same: first of all that at its own place. The wall clock was at wall, in nanoseconds since
// 1970, at instant 0. Spread says how a limit of so many tokens is spread that comes back after so long.
func (s *Stack) Set(now monotime.Time, qs quota.Quotas, reserve float64, wall int64, spread func(int64, time.Duration) Spread) {
	made, old := make(Stack, len(qs)), slices.Clone(*s)
	var left quota.Quotas
	if reserve > 0 {
		left = Unreserved(qs, reserve)
	}
	alike := [...]func(q, o *quota.Quota) bool{
		func(q, o *quota.Quota) bool { return *q == *o },
		func(q, o *quota.Quota) bool { return q.Unit == o.Unit && q.Kind == o.Kind },
		func(q, o *quota.Quota) bool { return q.Unit == o.Unit },
	}
	takeOver := func(i, from int, alike func(q, o *quota.Quota) bool) {
		e := &made[i]
		if e.all != nil || from >= len(old) || old[from].all == nil {
			return
		}
		o := &old[from]
		if !alike(&qs[i], o.quota) || !o.all.Set(now, qs[i]) {
			return
		}
		e.all, o.all, e.settled = o.all, nil, o.settled
		if left != nil && o.unreserved.Set(now, left[i]) {
			e.unreserved = o.unreserved
		}
	}
	for _, alike := range alike {
		for i := range made {
			takeOver(i, i, alike)
		}
		for i := range made {
			for from := range old {
				takeOver(i, from, alike)
			}
		}
	}
	for i := range made {
		made[i].quota = &qs[i]
		if made[i].all == nil {
			made[i].all = New(qs[i], wall)
		}
		if made[i].most = Most(&qs[i]); left != nil {
			made[i].most = min(made[i].most, Most(&left[i]))
			if made[i].unreserved == nil {
				made[i].unreserved = New(left[i], wall)
			}
		}
	}
	made.setSpread(spread)
	*s = made
}

// setSpread sets how the rest of each plain quota is spread.
func (s Stack) setSpread(spread func(int64, time.Duration) Spread) {
	for i := range s {
		for _, l := range [...]Limit{s[i].all, s[i].unreserved} {
			if p, ok := l.(spreading); ok && s[i].quota.Kind == quota.Plain {
				p.setSpread(spread)
			}
		}
	}
}

// spreading is a limit whose rest may be spread.
type spreading interface {
	setSpread(spread func(int64, time.Duration) Spread)

	// isSpread reports whether what When returned is later because the rest is spread.
	isSpread(t monotime.Time, ahead, n int64, at monotime.Time) bool
}

// cost is what d costs of the quota, zero if that is no limit.
func (e *entry) cost(d *Demand) int64 {
	if e.all == nil {
		return 0
	}
	return d.In(e.quota)
}

// guesses reports whether what one claim costs is expected, since it does not say so.
func (e *entry) guesses(d *Demand) bool {
	return d.Silent > 0 && e.all != nil && e.quota.Unit != "" && !e.quota.Kind.Concurrent() && !d.says(e.quota.Unit)
}

// asks is what one claim waits for: its cost; or what it is expected to cost, and as much more as what is under
// way may, but no more than ever is there, since the rest can be a debt; or one token if it does not say what
// it costs, and it was seen that claims may cost more than they say.
func (e *entry) asks(d *Demand) int64 {
	n := e.cost(d)
	if e.guesses(d) && n > 0 {
		n = min(n+min(d.Like.Spare(e.quota.Unit), max(e.most-n, 0)/2), e.most)
	}
	if n == 0 && e.settled && !d.says(e.quota.Unit) {
		return 1
	}
	return n
}

// asksBehind is what d waits for, after what those ahead cost. If d does not draw on the quota, it goes with
// the last of them: when as much is there as they cost; or in a debt or a warm-up, in which that one may go
// before it is paid, when one token is.
func (e *entry) asksBehind(ahead, d *Demand) (before, n int64) {
	before, n = ahead.In(e.quota), e.asks(d)
	switch {
	case n > 0 || e.all == nil || before == 0:
		return before, n
	case e.quota.Debt || e.quota.WarmUp > 0:
		return 0, 1
	}
	return before - 1, 1
}

// Expect sets in costs what d is expected to cost in units of quotas of which it does not say it.
func (s Stack) Expect(d *Demand, costs quota.Costs) {
	for i := range s {
		if e := &s[i]; e.guesses(d) {
			costs[e.quota.Unit] = d.Like.Cost(e.quota.Unit)
		}
	}
}

// InUnits reports whether some quota is in another unit than requests.
func (s Stack) InUnits() bool { return s.Silent(&Demand{}) > 0 }

// Most returns the most that a quota in a unit grants at once or in its Per: of those with a limit the largest,
// or most if that is larger.
func (s Stack) Most(unit string, most int64) int64 {
	for i := range s {
		if e := &s[i]; e.all != nil && e.quota.Unit == unit {
			most = max(most, e.most, e.quota.N)
		}
	}
	return most
}

// Silent returns 1 if some quota is in a unit of which one claim does not say what it costs, else 0.
func (s Stack) Silent(d *Demand) int {
	one := Demand{Costs: d.Costs, Silent: 1}
	for i := range s {
		if s[i].guesses(&one) {
			return 1
		}
	}
	return 0
}

// take charges n.
func (e *entry) take(due, now monotime.Time, n int64, urgent bool) {
	e.all.Take(due, now, n)
	if !urgent && e.unreserved != nil {
		e.unreserved.Take(due, now, n)
	}
}

// idle reports whether all is back that was charged.
func (e *entry) idle(now monotime.Time) bool {
	return e.all.Idle(now) && (e.unreserved == nil || e.unreserved.Idle(now))
}

// give takes n back.
func (e *entry) give(now, went monotime.Time, n int64, urgent bool) {
	e.all.Give(now, went, n)
	if !urgent && e.unreserved != nil {
		e.unreserved.Give(now, went, n)
	}
}

// Limits are all limits of the stack.
func (s Stack) Limits() iter.Seq[Limit] {
	return func(yield func(Limit) bool) {
		for i := range s {
			for _, l := range [...]Limit{s[i].all, s[i].unreserved} {
				if l != nil && !yield(l) {
					return
				}
			}
		}
	}
}

// Idle reports whether all is back that was charged.
func (s Stack) Idle(now monotime.Time) bool {
	for l := range s.Limits() {
		if !l.Idle(now) {
			return false
		}
	}
	return true
}

// Cool makes limits that warm up cold.
func (s Stack) Cool(now monotime.Time) {
	for l := range s.Limits() {
		l.Cool(now)
	}
}

// Busy tells limits that warm up that a claim waited for something else.
func (s Stack) Busy(from, until monotime.Time) {
	for i := range s {
		for _, l := range [...]Limit{s[i].all, s[i].unreserved} {
			if l != nil {
				l.Busy(from, until)
			}
		}
	}
}

// Follow has windows of the wall clock follow a clock that may be set.
func (s Stack) Follow(c *monotime.Clock) {
	for l := range s.Limits() {
		if f, ok := l.(interface{ Follow(c *monotime.Clock) }); ok {
			f.Follow(c)
		}
	}
}

// Awaits returns until when others of the kind of d are to show first what they cost, and the quota which needs
// that; zero if enough is known of that. An instant that has passed is no wait.
func (s Stack) Awaits(d *Demand) (until monotime.Time, q *quota.Quota) {
	if d.Silent == 0 {
		return 0, nil
	}
	for i := range s {
		if e := &s[i]; e.guesses(d) {
			if at := d.Like.Until(e.quota.Unit); at > until {
				until, q = at, e.quota
			}
		}
	}
	return until, q
}

// Open reports whether d may go now. Heard may be nil.
func (s Stack) Open(now monotime.Time, d *Demand, urgent bool, heard Heard) bool {
	if until, _ := s.Awaits(d); until > now {
		return false
	}
	for i := range s {
		e := &s[i]
		n := e.asks(d)
		if n == 0 || opens(e.all, now, 0, n) && (urgent || e.unreserved == nil || opens(e.unreserved, now, 0, n)) {
			continue
		}
		if n > Most(e.quota) || !e.yields(now, heard) {
			return false
		}
	}
	return true
}

// yields reports whether the quota delays nothing, since the server's own count is believed in its place.
func (e *entry) yields(now monotime.Time, heard Heard) bool {
	return e.quota.Kind == quota.Plain && heard != nil && heard.States(now, e.quota.Unit, e.quota.N, e.quota.Per)
}

// OpenForAll reports whether all claims that d sums up, none of them urgent, may go now, one
// after the other.
func (s Stack) OpenForAll(now monotime.Time, d *Demand) bool {
	for i := range s {
		e := &s[i]
		n := e.cost(d)
		if n == 0 {
			continue
		}
		if !opens(e.all, now, n-1, 1) || e.unreserved != nil && !opens(e.unreserved, now, n-1, 1) {
			return false
		}
	}
	return true
}

func opens(l Limit, now monotime.Time, ahead, n int64) bool {
	at, ok := l.When(now, ahead, n)
	return ok && at <= now
}

// View is how one looks at when a claim may go.
type View struct {
	Now        monotime.Time
	From       monotime.Time // from then on the first of those ahead may go; what delays the claim, and not all of these, is in its Due alone
	Unreserved bool          // it is to go with what is left to claims that are not urgent
	Optimist   bool          // as for a projection, a wait whose end nobody knows does not count; else, to set a timer, it counts as the longest span
}

// Due puts due off, if that is earlier, until the quotas grant d, as v looks at it. Due takes no copy: a Due is
// large, and a goroutine that waits should need little of a stack. If d does not draw on a quota, it goes with
// the last of those ahead that do. Nobody knows when a wait for what is in flight ends. Heard may be nil.
func (s Stack) Due(v *View, due *Due, ahead, d *Demand, heard Heard) {
	if d.Silent == 0 && !v.Unreserved && s.dueOfBucket(v.From, due, ahead, d) {
		return
	}
	if until, q := s.Awaits(d); until > due.At {
		due.first(until, q, v.Optimist)
	}
	for i := range s {
		e := &s[i]
		before, n := e.asksBehind(ahead, d)
		if n == 0 {
			continue
		}
		l := e.all
		if v.Unreserved {
			if l = e.unreserved; l == nil {
				continue
			}
		}
		if w, ok := l.(*warm); ok && v.From > v.Now {
			l = w.waiting(v.Now, v.From)
		}
		at, ok := l.When(v.From, before, n)
		switch {
		case !ok:
			due.later(at, e.quota)
			due.Cost, due.Never = n, true
			return
		case at <= due.At, e.yields(v.Now, heard):
		case e.quota.Kind.Concurrent() && v.Optimist:
			if due.Cause == "" {
				due.Cause, due.Quota = CauseOf(e.quota), e.quota.Name
			}
		default:
			due.later(at, e.quota)
			if s, ok := l.(spreading); ok && s.isSpread(v.From, ahead.In(e.quota), n, at) {
				due.Cause = Spaced
			}
		}
	}
}

// dueOfBucket is Due where all there is is one token bucket of requests, in a third of the instructions. It
// reports whether that is so.
func (s Stack) dueOfBucket(from monotime.Time, due *Due, ahead, d *Demand) bool {
	if len(s) != 1 || s[0].quota.Unit != "" || d.N <= 0 {
		return false
	}
	b, is := s[0].all.(*bucket)
	if !is {
		return false
	}
	at, ok := b.When(from, int64(ahead.N), int64(d.N))
	if !ok || at > due.At {
		due.later(at, s[0].quota)
	}
	if !ok {
		due.Cost, due.Never = int64(d.N), true
	}
	return true
}

// IsOneBucket reports whether TakeNow is all that there is to do for claims in requests: there is one token
// bucket at most.
func (s Stack) IsOneBucket() bool {
	if len(s) == 0 {
		return true
	}
	_, ok := s[0].all.(*bucket)
	return ok && len(s) == 1 && s[0].unreserved == nil && s[0].quota.Unit == ""
}

// TakeNow charges n requests if they may go now, and reports whether it did. It requires that IsOneBucket is
// true.
func (s Stack) TakeNow(now monotime.Time, n int64) bool {
	return len(s) == 0 || s[0].all.(*bucket).takeNow(now, n)
}

// Take charges d, which was due at an instant and goes now.
func (s Stack) Take(due, now monotime.Time, d *Demand, urgent bool) {
	for i := range s {
		if n := s[i].cost(d); n > 0 {
			s[i].take(due, now, n, urgent)
		}
	}
}

// Settle charges more now, and gives back less. What is in flight does not depend on the cost.
func (s Stack) Settle(now monotime.Time, more quota.Costs, less []Part, urgent bool) {
	for i := range s {
		e := &s[i]
		if e.all == nil || e.quota.Kind.Concurrent() {
			continue
		}
		unit := UnitName(e.quota)
		for _, p := range less {
			if n := p.Cost[unit]; n > 0 {
				e.give(now, p.At, n, urgent)
			}
		}
		if n := more[unit]; n > 0 {
			e.settled = true
			e.take(now, now, n, urgent)
		}
	}
}

// UnitName is the unit of a quota as Costs name it.
func UnitName(q *quota.Quota) string {
	if q.Unit == "" {
		return quota.Requests
	}
	return q.Unit
}

// Slot is what a grant holds of a limit on what is under way.
type Slot struct {
	Kind quota.Kind
	of   Limit
	n    int64
}

// Free gives the slot back.
func (s *Slot) Free() { s.of.Give(0, 0, s.n) }

// Slots appends what d holds once it is taken.
func (s Stack) Slots(slots []Slot, d *Demand, urgent bool) []Slot {
	for i := range s {
		e := &s[i]
		n := e.cost(d)
		if n == 0 || !e.quota.Kind.Concurrent() {
			continue
		}
		slots = append(slots, Slot{e.quota.Kind, e.all, n})
		if !urgent && e.unreserved != nil {
			slots = append(slots, Slot{e.quota.Kind, e.unreserved, n})
		}
	}
	return slots
}
