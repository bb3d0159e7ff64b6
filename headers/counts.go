package headers

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// Counts reads answers that say what one before said, but for what remains of each limit: then all there is to read is how much
// that is. Which reset a limit has, and which bucket, it compares in each answer, as text. All other headers of limits, and
// whether there are others, it looks at as often as the [Habit] does of which it is made: every 16th answer. It is of no use
// after [Counts.Lasts]: then the Habit is to read an answer, and to make other Counts.
//
// A Counts is safe for concurrent use, and must not be copied.
type Counts struct {
	habit  *Habit
	n      int // how many headers there are in all
	lasts  time.Duration
	unread atomic.Int32 // answers since all headers were looked at
	each   []repeated   // is compared in each answer
	rest   []repeated   // is compared when all headers are looked at
}

// Lasts returns for how long the Counts may be used after the answer of which it was made: for 10 ms after all headers were looked at.
func (c *Counts) Lasts() time.Duration { return c.lasts }

// CountsLast is the most that Lasts returns.
const CountsLast = habitLasts

// repeated is a header that speaks of limits.
type repeated struct {
	key     string
	text    string // the whole of it; of a count, what stands before the number
	tail    string // what stands behind the number
	of      int    // which limit the number is of; -1 if it has the same text
	ignored bool   // the text does not matter, since another header says what it says
}

// MaxCounts bounds how many limits a Counts reads.
const MaxCounts = 4

// Counts returns what reads answers that repeat one that was received at an instant, by the clock of Append, which has read it so; nil if nothing does,
// or before there is a habit.
func (h *Habit) Counts(header http.Header, limits []Limit, hint Retry, now time.Duration) *Counts {
	k, since := h.known.Load(), now-time.Duration(h.looked.Load())
	if k == nil || len(header) != k.n || len(limits) == 0 || len(limits) > MaxCounts || hint != (Retry{}) || since < 0 || since >= habitLasts {
		return nil
	}
	c := &Counts{habit: h, n: k.n, lasts: habitLasts - since}
	c.unread.Store(h.unread.Load())
	var counted [MaxCounts]bool
	n := 0
	for i := range k.told {
		f, each, ok := repeatedOf(&k.told[i], header[k.told[i].key], limits)
		switch {
		case !ok, f.of >= 0 && counted[f.of]:
			return nil
		case f.of >= 0:
			counted[f.of] = true
			n++
		}
		if each {
			c.each = append(c.each, f)
		} else {
			c.rest = append(c.rest, f)
		}
	}
	if n != len(limits) {
		return nil
	}
	return c
}

// repeatedOf returns what a header with some values says when it says the same again, and whether it is to be compared each
// time; not ok if it has to be read.
func repeatedOf(t *told, values []string, limits []Limit) (f repeated, each, ok bool) {
	if len(values) != 1 {
		return f, false, false
	}
	f = repeated{key: t.key, text: values[0], of: -1}
	switch t.Role {
	case name.Limit, name.Policy, name.Window:
		return f, false, true
	case name.Reset, name.Label:
		return f, true, true
	case name.Used:
		f.ignored = true
		for i := range limits {
			if !limits[i].Limit.Known {
				return f, false, false // it follows from what is used
			}
		}
		return f, false, true
	case name.Remaining, name.State:
		ok = f.count(t.Role, limits)
		return f, true, ok
	}
	return f, false, false
}

// count finds the number in the text that remains of one of the limits, and of no other.
func (f *repeated) count(role name.Role, limits []Limit) bool {
	from := 0
	if role == name.State {
		at, ok := countIn(f.text)
		if !ok {
			return false
		}
		from = at
	}
	n, digits := leadingDigits(f.text[from:])
	if digits == 0 || role == name.Remaining && digits < len(f.text) {
		return false
	}
	f.text, f.tail = f.text[:from], f.text[from+digits:]
	for i := range limits {
		if l := limits[i].Remaining; l.Known && l.N == int64(n) {
			if f.of >= 0 {
				return false
			}
			f.of = i
		}
	}
	return f.of >= 0
}

// countIn returns where in a field of the IETF drafts the number stands that remains, if it is the only one.
func countIn(field string) (at int, ok bool) {
	for _, mark := range [...]string{"remaining=", ";r="} {
		if i := strings.Index(field, mark); i >= 0 {
			if ok || strings.Count(field, mark) > 1 {
				return 0, false
			}
			at, ok = i+len(mark), true
		}
	}
	return at, ok
}

// leadingDigits returns the number that a text begins with, and how many digits it has; none if these are too many.
func leadingDigits(s string) (n, digits int) {
	for digits < len(s) && value.IsDigit(s[digits]) {
		n = n*10 + int(s[digits]-'0')
		if digits++; digits > maxDigits {
			return 0, 0
		}
	}
	return n, digits
}

// Read reads an answer. It sets how much remains of each limit, and returns how many limits there are: none if the answer has to
// be read by Append.
func (c *Counts) Read(r *Reader, header http.Header, left *[MaxCounts]int) (n int) {
	if len(header) != c.n || c.unread.Add(1) > habitUnread && !c.look(r, header) {
		return 0
	}
	each := c.each
	for i := range each {
		f := &each[i]
		values := header[f.key]
		if len(values) != 1 {
			return 0
		}
		v := values[0]
		if f.of < 0 {
			if v != f.text {
				return 0
			}
			continue
		}
		if f.text != "" || f.tail != "" {
			from, to := len(f.text), len(v)-len(f.tail)
			if to <= from || v[:from] != f.text || v[to:] != f.tail {
				return 0
			}
			v = v[from:to]
		}
		number, digits := leadingDigits(v)
		if digits == 0 || digits != len(v) {
			return 0
		}
		left[f.of] = number
		n++
	}
	return n
}

// maxDigits is so few that no int overflows, on machines of 32 bits either.
const maxDigits = 9

// look looks at all headers. It reports whether there is nothing new but what remains.
func (c *Counts) look(r *Reader, header http.Header) bool {
	for i := range c.rest {
		f := &c.rest[i]
		if values := header[f.key]; len(values) != 1 || values[0] != f.text && !f.ignored {
			return false
		}
	}
	own := r.compiled()
	for key := range header {
		if !knows(c.each, key) && !knows(c.rest, key) && lookUp(key, own) != nil {
			c.habit.unread.Store(habitUnread) // so that it looks at all headers, too
			return false
		}
	}
	c.unread.Store(0)
	return true
}

// knows reports whether a header is one of several.
func knows(of []repeated, key string) bool {
	for i := range of {
		if of[i].key == key {
			return true
		}
	}
	return false
}
