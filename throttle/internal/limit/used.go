package limit

import (
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Used is what went of a quota and is not back yet, as data: it may be written as JSON, and charged in a later
// run of the program to a quota of the same unit.
type Used struct {
	Unit string        `json:"unit,omitempty"`
	Kind quota.Kind    `json:"kind,omitempty"`
	N    int64         `json:"n,omitzero"` // of the quota, which tells it from others of its kind and span; zero in older texts
	Span time.Duration `json:"span"`       // in which all that is granted comes back

	At time.Time `json:"at"` // when something went last

	// Went has how long before At something went, in nanoseconds, and how much, in turns, the oldest first.
	Went []int64 `json:"went"`

	// Unreserved is the same of what is left of the quota to claims that are not urgent, of which urgent ones
	// take nothing. Nil if nothing is reserved: then it is Went.
	Unreserved []int64 `json:"unreserved,omitzero"`
}

// MaxUsed bounds the quotas of a bucket of which something is remembered.
const MaxUsed = 32

const (
	shortest = time.Minute // what comes back within that is not worth a file
	maxWent  = 256         // instants of a quota: two for each cell, or each token, of a Plain one, debts included
	maxWord  = 64          // bytes of a unit or a kind
)

// charge is what went at an instant, or counts as if it had.
type charge struct {
	at monotime.Time
	n  int64
}

// remembering is a limit that says what a new one has to be charged to be as strict as it is: in windows of the
// clock exactly as strict, else no less.
type remembering interface {
	charges(now monotime.Time) []charge
}

// charges implements remembering.
func (g *Grid) charges(now monotime.Time) (cs []charge) {
	g.at(now)
	if g.Previous > 0 {
		cs = append(cs, charge{min(g.before(g.Start), g.Last), g.Previous})
	}
	if g.Current > 0 {
		cs = append(cs, charge{g.Last, g.Current})
	}
	return cs
}

// charges implements remembering. The first one opens the window.
func (f *fixed) charges(monotime.Time) []charge {
	used := f.used
	if f.closed {
		used = max(used, f.n)
	}
	if used == 1 {
		return []charge{{f.start, 1}}
	}
	return []charge{{f.start, 1}, {f.last, used - 1}}
}

// charges implements remembering. The first token of a cell begins it. Where its others went is not known: they
// are said to have gone with the last one, since they leave with that.
func (s *sliding) charges(now monotime.Time) (cs []charge) {
	s.log.Purge(now)
	live := s.log.Live()
	each := (2*len(live) + maxWent - 1) / maxWent // of more than fit, some leave with the last of them
	for i := 0; i < len(live); i += each {
		last := min(i+each, len(live)) - 1
		first, n := live[last].First, live[last].Number-s.log.Before(i)
		if n > 1 && first < live[last].Last {
			cs = append(cs, charge{first, 1})
			n--
		}
		cs = append(cs, charge{live[last].Last, n})
	}
	return cs
}

// charges implements remembering.
func (b *bucket) charges(now monotime.Time) []charge {
	return []charge{{now, int64(min(b.room(now)+1-dust, float64(quota.MaxN)))}} // rounded up
}

// spanOf returns in which time all that a quota grants comes back.
func spanOf(q *quota.Quota) time.Duration {
	if q.Kind == quota.TokenBucket {
		return max(q.Per, monotime.Scale(q.Per, min(q.Burst, quota.MaxN), q.N))
	}
	return q.Per
}

// Used returns what went of the quotas whose span is over a minute, and is not back.
func (s Stack) Used(now monotime.Time, clock *monotime.Clock) (all []Used) {
	for i := range s {
		e := &s[i]
		if !e.remembers() || e.idle(now) || len(all) == MaxUsed {
			continue
		}
		u := Used{Unit: e.quota.Unit, Kind: e.quota.Kind, N: e.quota.N, Span: spanOf(e.quota)}
		cs := []charge{{now, 1}} // the least, if all is back but a part of what is not reserved
		if !e.all.Idle(now) {
			cs = e.all.(remembering).charges(now)
		}
		last := cs[len(cs)-1].at
		u.At, u.Went = clock.Date(last).UTC(), before(last, cs)
		if e.unreserved != nil {
			u.Unreserved = []int64{}
			if !e.unreserved.Idle(now) {
				u.Unreserved = before(last, e.unreserved.(remembering).charges(now))
			}
		}
		all = append(all, u)
	}
	return all
}

// before returns the Went of charges.
func before(last monotime.Time, cs []charge) (went []int64) {
	for _, c := range cs {
		went = append(went, int64(last.Sub(c.at)), c.n)
	}
	return went
}

// Charge charges what went in an earlier run to the quotas that have been charged nothing yet: each Used to one
// of the same unit, kind, span and N, since the file has none that was idle, which another one might be taken
// for; else to one of the same unit, kind and span; else to one of the same unit and kind; else to one of the
// same unit. Charge reports whether there was any.
func (s Stack) Charge(now monotime.Time, all []Used, clock *monotime.Clock) (any bool) {
	alike := [...]func(u *Used, q *quota.Quota) bool{
		func(u *Used, q *quota.Quota) bool {
			return u.Kind == q.Kind && u.Span == spanOf(q) && u.N == q.N
		},
		func(u *Used, q *quota.Quota) bool { return u.Kind == q.Kind && u.Span == spanOf(q) },
		func(u *Used, q *quota.Quota) bool { return u.Kind == q.Kind },
		func(*Used, *quota.Quota) bool { return true },
	}
	taken := make([]bool, len(s))
	rest := slices.Clone(all)
	for _, alike := range alike {
		rest = slices.DeleteFunc(rest, func(u Used) bool {
			for i := range s {
				if e := &s[i]; !taken[i] && e.remembers() && e.quota.Unit == u.Unit && alike(&u, e.quota) {
					taken[i] = true
					if e.idle(now) {
						e.charge(now, &u, clock)
						any = true
					}
					return true
				}
			}
			return false
		})
	}
	return any
}

// remembers reports whether what goes of the quota is worth to be remembered by a later run.
func (e *entry) remembers() bool {
	_, ok := e.all.(remembering)
	return ok && spanOf(e.quota) > shortest
}

// charge charges what went, the latest if it is more than anybody counts. Windows end, whatever went in them; a
// bucket may owe what comes back in two of its spans, which is for how long Pruned keeps it.
func (e *entry) charge(now monotime.Time, u *Used, clock *monotime.Clock) {
	last, left := clock.At(u.At), min(int64(math.MaxInt), quota.MaxN)
	if e.quota.Kind == quota.TokenBucket {
		n, burst := e.quota.N, Most(e.quota)
		left = min(burst-1+2*max(n, burst), left)
	}
	take := func(l Limit, went []int64, left int64) {
		ns := make([]int64, len(went)/2)
		for i := len(ns) - 1; i >= 0; i-- {
			ns[i] = min(went[2*i+1], left)
			left -= ns[i]
		}
		for i, n := range ns {
			if at := min(last.Add(-time.Duration(went[2*i])), now); n > 0 {
				l.Take(at, at, n)
			}
		}
	}
	take(e.all, u.Went, left)
	switch {
	case e.unreserved == nil:
	case u.Unreserved == nil:
		take(e.unreserved, u.Went, left)
	default:
		take(e.unreserved, u.Unreserved, left)
	}
}

// Pruned returns those of all that may still count, if they are in order: no longer than their spans, twice,
// since the last of them went. What says an instant to come is taken to be of now.
func Pruned(all []Used, now time.Time) []Used {
	var left []Used
	for _, u := range all[:min(len(all), MaxUsed)] {
		if u.At.After(now) {
			u.At = now
		}
		if len(u.Unit) <= maxWord && len(u.Kind) <= maxWord && u.Span > shortest && u.Span <= monotime.Longest && now.Sub(u.At)/2 <= u.Span && inOrder(u.Went) && (len(u.Unreserved) == 0 || inOrder(u.Unreserved)) {
			left = append(left, u)
		}
	}
	return left
}

// inOrder reports whether went is what Used has: at most maxWent instants, the oldest first, and something at
// each.
func inOrder(went []int64) bool {
	if len(went) == 0 || len(went) > 2*maxWent || len(went)%2 != 0 {
		return false
	}
	before := int64(monotime.Longest)
	for pair := range slices.Chunk(went, 2) {
		if pair[0] < 0 || pair[0] > before || pair[1] <= 0 || pair[1] > quota.MaxN {
			return false
		}
		before = pair[0]
	}
	return true
}
