package limit

import (
	"slices"
	"sort"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Log remembers what went, in entries of tokens that leave together. Tokens are numbered in
// the order in which they went, so that the question of when some are back is a look at one
// entry: that of the token which went N before.
type Log struct {
	Per  time.Duration // after the last of an entry, the entry leaves
	Cell time.Duration // what goes so soon after the first of an entry joins it

	entries []Entry // from head on, in order; what is before head has left
	head    int
	left    int64 // number of the last token before head
}

// Entry is some tokens that leave together, Per after Last.
type Entry struct {
	First, Last monotime.Time
	Number      int64 // of its last token
}

// Live returns the entries that have not left, in order. They must not be changed.
func (l *Log) Live() []Entry { return l.entries[l.head:] }

// Number returns that of the token that went last.
func (l *Log) Number() int64 { return l.Before(len(l.entries) - l.head) }

// Before returns the number of the last token before the i-th of the live entries.
func (l *Log) Before(i int) int64 {
	if i == 0 {
		return l.left
	}
	return l.entries[l.head+i-1].Number
}

// Purge forgets the entries that have left at t.
func (l *Log) Purge(t monotime.Time) {
	for l.head < len(l.entries) && t >= l.entries[l.head].Last.Add(l.Per) {
		l.forget()
	}
}

// forget drops the oldest entry.
func (l *Log) forget() {
	l.left = l.entries[l.head].Number
	l.head++
}

// merge has the oldest entry leave with the one after it.
func (l *Log) merge() {
	l.entries[l.head+1].First = l.entries[l.head].First
	l.head++
}

// Add has n go at an instant, after all others.
func (l *Log) Add(at monotime.Time, n int64) {
	if i := len(l.entries) - 1; i >= l.head && at.Sub(l.entries[i].First) <= l.Cell {
		l.entries[i].Last = at
		l.entries[i].Number += tokens(n)
		return
	}
	l.Append(at, tokens(n))
}

// Append is Add with an entry of its own.
func (l *Log) Append(at monotime.Time, n int64) {
	if len(l.entries) == cap(l.entries) && l.head > len(l.entries)/3 {
		l.compact()
	}
	l.entries = append(l.entries, Entry{at, at, l.Number() + n})
}

// compact moves the entries to the front and numbers tokens anew.
func (l *Log) compact() {
	live := l.entries[l.head:]
	for i := range live {
		live[i].Number -= l.left
	}
	l.entries, l.head, l.left = l.entries[:copy(l.entries, live)], 0, 0
}

// Insert has n go at an instant, before or after others.
func (l *Log) Insert(at monotime.Time, n int64) {
	live := l.Live()
	i := sort.Search(len(live), func(i int) bool { return live[i].Last >= at })
	if i == len(live) {
		l.Add(at, n)
		return
	}
	switch {
	case live[i].First <= at:
	case i > 0 && at.Sub(live[i-1].First) <= l.Cell:
		i--
		live[i].Last = at
	default:
		l.entries = slices.Insert(l.entries, l.head+i, Entry{at, at, l.Before(i)})
	}
	for j := l.head + i; j < len(l.entries); j++ {
		l.entries[j].Number += tokens(n)
	}
}

// Join is Insert of what need not be known to the instant: it joins what is so near, before or after it. So
// however much goes, there are no more than two such entries in so long.
func (l *Log) Join(at monotime.Time, n int64, near time.Duration) {
	cell := l.Cell
	l.Cell = max(cell, near)
	live := l.Live()
	i := sort.Search(len(live), func(i int) bool { return live[i].Last >= at })
	if i < len(live) && live[i].First > at && live[i].Last.Sub(at) <= l.Cell && (i == 0 || at.Sub(live[i-1].First) > l.Cell) {
		live[i].First = at
	}
	l.Insert(at, n)
	l.Cell = cell
}

// Give has n of what went at an instant be as if they had never gone, if they have not left.
func (l *Log) Give(went monotime.Time, n int64) {
	live := l.Live()
	i := sort.Search(len(live), func(i int) bool { return live[i].Last >= went })
	if i == len(live) || live[i].First > went {
		return // it has left
	}
	before := l.Before(i)
	n64 := min(tokens(n), live[i].Number-before)
	for j := i; j < len(live); j++ {
		live[j].Number -= n64
	}
	if live[i].Number == before {
		l.entries = slices.Delete(l.entries, l.head+i, l.head+i+1)
	}
}

// Empty reports whether all has left at t.
func (l *Log) Empty(t monotime.Time) bool {
	return l.head == len(l.entries) || t >= l.entries[len(l.entries)-1].Last.Add(l.Per)
}

// Restore takes over the live entries of another Log, whose last token before them had a
// number, and reports whether they are in order.
func (l *Log) Restore(left int64, entries []Entry) bool {
	number := left
	for i, e := range entries {
		if e.Number <= number || e.First > e.Last || i > 0 && e.First < entries[i-1].Last {
			return false
		}
		number = e.Number
	}
	l.entries, l.head, l.left = entries, 0, left
	return true
}
