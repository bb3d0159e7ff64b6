// Package blame keeps account of what the waiters of a line wait for, and for how long.
//
// In comes what a line waits for, whenever that changes: a [Cause], or its turn in the line above. Out comes,
// for a waiter that joined at one instant and left at another, how long each Cause lasted in between ([Part]).
// Each instant counts for one Cause, so the parts add up to the wait, exactly. A line waits for what the first
// in line waits for, as far as was known at the time; the package does not know how that is found.
//
// A change costs as much whatever the number of waiters and of earlier changes, and so do a waiter's beginning
// and end: an account has a sum for each Cause, and a waiter what the sums were when it joined. There are few
// causes: in a tree, those of the buckets on the way to the root.
package blame

import (
	"cmp"
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// Cause is what a line waits for.
type Cause struct {
	Bucket string // that delays it
	Label  string // of the bucket
	Cause  limit.Cause
	Quota  string // of the bucket, or limit of the server; empty if none in particular
}

// Part is how long a Cause lasted.
type Part struct {
	Cause
	For time.Duration
}

// most bounds how many causes an account tells apart. A server that names a new limit in each answer would
// bring ever more: further ones count without the name of a quota or limit.
const most = 64

// account is of the waiters of one row of a line.
type account struct {
	users int    // waiters, in this line and in those below, for which account is kept
	parts []Part // how long the line waited for what, until at
	at    monotime.Time
	cause int             // what it waits for now, an index of parts; inAbove if for its turn in the line above
	above *account        // of the same row of the line above; nil if there is none
	seen  []time.Duration // how much of each part of above is in parts, or is of before the line waited there
}

// inAbove is the cause of a line whose first waiter stands in the line above.
const inAbove = -1

// until brings the sums of a up to now.
func (a *account) until(now monotime.Time) {
	if a.cause != inAbove {
		a.parts[a.cause].For += now.Sub(a.at)
	} else {
		a.above.until(now)
		for i := range a.above.parts {
			p := &a.above.parts[i]
			if i == len(a.seen) {
				a.seen = append(a.seen, 0)
			}
			if d := p.For - a.seen[i]; d > 0 {
				a.parts[a.index(p.Cause)].For += d
				a.seen[i] = p.For
			}
		}
	}
	a.at = now
}

// index returns the index of a cause in the sums. It is added if it is new.
func (a *account) index(c Cause) int {
	is := func(p Part) bool { return p.Cause == c }
	i := slices.IndexFunc(a.parts, is)
	if i < 0 && len(a.parts) >= most {
		c.Quota = ""
		i = slices.IndexFunc(a.parts, is)
	}
	if i < 0 {
		i, a.parts = len(a.parts), append(a.parts, Part{Cause: c})
	}
	return i
}

// sums returns how long each cause lasted so far.
func (a *account) sums(now monotime.Time, to []time.Duration) []time.Duration {
	a.until(now)
	for i := range a.parts {
		to = append(to, a.parts[i].For)
	}
	return to
}

// Book is the accounts of a line, one for each row. They are kept only while some waiter asks, here or in a
// line below.
type Book struct {
	Bucket string // of which the line is
	Label  string // of the bucket
	Above  *Book  // of the line above; nil if there is none

	rows [order.Rows]*account // nil if no waiter asks
}

// open begins the account of a row, and those above, unless they are kept already. Until the first Look, the
// line is held. For each open there must be a close.
func (b *Book) open(now monotime.Time, row int) *account {
	var above *account
	if b.Above != nil {
		above = b.Above.open(now, row)
	}
	if b.rows[row] == nil {
		b.rows[row] = &account{parts: []Part{{Cause: b.held()}}, at: now, above: above}
	}
	b.rows[row].users++
	return b.rows[row]
}

func (b *Book) close(row int) {
	if b.rows[row].users--; b.rows[row].users == 0 {
		b.rows[row] = nil
	}
	if b.Above != nil {
		b.Above.close(row)
	}
}

// held is the cause of those who wait for nothing that is known: buckets are being changed.
func (b *Book) held() Cause { return Cause{Bucket: b.Bucket, Label: b.Label, Cause: limit.Hold} }

// Open reports whether account is kept.
func (b *Book) Open() bool { return b.rows != [order.Rows]*account{} }

// Stay is the time from when a waiter joins a line until it leaves it. The zero Stay is of a waiter that does
// not ask.
type Stay struct {
	book   *Book
	row    int
	before []time.Duration // the sums when it began
	aside  *Cause          // what the waiter stands aside for; nil if it stands in the line
	over   bool
	left   monotime.Time // when it was over, or the waiter stepped aside
	parts  []Part        // what the waiter has waited for
}

// Begin begins the stay of a waiter in a row of the line of b. It reports whether a Look is to follow, since
// nobody of that row has asked before.
func (s *Stay) Begin(now monotime.Time, b *Book, row int) (first bool) {
	first = b.rows[row] == nil
	*s = Stay{book: b, row: row, before: b.open(now, row).sums(now, nil)}
	return first
}

// Aside says that the waiter steps aside, and what it waits for there, until Back.
func (s *Stay) Aside(now monotime.Time, c Cause) {
	if s.book != nil {
		s.End(now)
		s.over, s.aside = false, &c
	}
}

// Back says that the waiter, which stood aside, is back in the line.
func (s *Stay) Back(now monotime.Time) {
	if s.book != nil {
		s.End(now)
		s.over, s.aside, s.before = false, nil, s.book.open(now, s.row).sums(now, nil)
	}
}

// End ends the stay, unless it is over.
func (s *Stay) End(now monotime.Time) {
	switch {
	case s.book == nil || s.over:
		return
	case s.aside != nil:
		s.parts = Add(s.parts, Part{*s.aside, now.Sub(s.left)})
		s.over, s.left = true, now
		return
	}
	a := s.book.rows[s.row]
	a.until(now)
	for i, p := range a.parts {
		if i < len(s.before) {
			p.For -= s.before[i]
		}
		s.parts = Add(s.parts, p)
	}
	s.book.close(s.row)
	s.over, s.left = true, now
}

// Moved adds the stay to parts, and then the time from its end until the waiter, which was sent to another
// line, was there.
func (s *Stay) Moved(parts []Part, until monotime.Time) []Part {
	if s.book == nil {
		return parts
	}
	return Add(s.AddTo(parts), Part{s.book.held(), until.Sub(s.left)})
}

// AddTo adds the stay, which is over, to parts.
func (s *Stay) AddTo(parts []Part) []Part {
	for _, p := range s.parts {
		parts = Add(parts, p)
	}
	return parts
}

// Add adds p to parts, which has each cause once, the longest first; of two that lasted as long, that which was
// added first.
func Add(parts []Part, p Part) []Part {
	if p.For <= 0 {
		return parts
	}
	if i := slices.IndexFunc(parts, func(o Part) bool { return o.Cause == p.Cause }); i >= 0 {
		parts[i].For += p.For
	} else {
		parts = append(parts, p)
	}
	slices.SortStableFunc(parts, func(p, o Part) int { return cmp.Compare(o.For, p.For) })
	return parts
}

// Look is a look at the first waiters of the rows of a line, from the best rank on: what the first one of them
// that cannot go waits for, others wait for behind it. Each row counts once. The zero Look keeps no account.
type Look struct {
	book *Book
	now  monotime.Time
	left [order.Rows]bool // rows that are not accounted for yet
}

// Look begins a look.
func (b *Book) Look(now monotime.Time) (l Look) {
	for i, a := range b.rows {
		if a != nil {
			l.book, l.now, l.left[i] = b, now, true
		}
	}
	return l
}

// Above says that the first waiter of a row waits in the line above.
func (l *Look) Above(row int) {
	if l.left[row] {
		l.set(row, Cause{}, true)
	}
}

// Wait says that a waiter waits for a cause, and so do those of the rows up to last behind it.
func (l *Look) Wait(last int, c Cause) {
	for row := range last + 1 {
		if l.left[row] {
			l.set(row, c, false)
		}
	}
}

func (l *Look) set(row int, c Cause, inAboveLine bool) {
	a := l.book.rows[row]
	l.left[row] = false
	switch {
	case !inAboveLine:
		if a.cause != inAbove && a.parts[a.cause].Cause == c {
			return
		}
		a.until(l.now)
		a.cause = a.index(c)
	case a.cause != inAbove:
		a.until(l.now)
		a.cause = inAbove
		a.seen = a.above.sums(l.now, a.seen[:0])
	}
}
