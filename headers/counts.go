package headers

import (
	"net/http"
	"strings"
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
	habit   *Habit
	known   *known
	lasts   time.Duration
	counted []*remains  // what remains of each limit, in the order of the limits
	each    []*repeated // is compared in each answer
	rest    []*repeated // is compared when all headers are looked at
}

// Lasts returns for how long the Counts may be used after the answer of which it was made: for 10 ms after all headers were looked at.
func (c *Counts) Lasts() time.Duration { return c.lasts }

// CountsLast is the most that Lasts returns.
const CountsLast = habitLasts

// repeated is a header that speaks of limits, and says the same again.
type repeated struct {
	key, text string
	ignored   bool // the text does not matter, since another header says what it says
}

// remains is a header that says how much remains of a limit, in a number between two texts.
type remains struct {
	key, head, tail string
	alone           bool // there is nothing before and behind it
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
	c := &Counts{habit: h, known: k, lasts: habitLasts - since, counted: make([]*remains, len(limits))}
	n, stated, used := 0, 0, false
	for i := range k.told {
		t := &k.told[i]
		values := header[t.key]
		if len(values) != 1 {
			return nil
		}
		f := &repeated{key: t.key, text: values[0]}
		switch t.Role {
		case name.Limit, name.Policy:
			stated++
			c.rest = append(c.rest, f)
		case name.Window:
			c.rest = append(c.rest, f)
		case name.Reset, name.Label:
			c.each = append(c.each, f)
		case name.Used:
			f.ignored, used = true, true
			c.rest = append(c.rest, f)
		case name.Remaining, name.State:
			of, what := count(f, t.Role, limits)
			if of < 0 || c.counted[of] != nil {
				return nil
			}
			c.counted[of] = what
			n++
		default:
			return nil
		}
	}
	if n != len(limits) || used && stated < n {
		return nil // a number follows from what is used
	}
	return c
}

// count finds the number in the text that remains of one of the limits, and of no other; of is -1 if there is none.
func count(f *repeated, role name.Role, limits []Limit) (of int, what *remains) {
	from := 0
	if role == name.State {
		at, ok := countIn(f.text)
		if !ok {
			return -1, nil
		}
		from = at
	}
	to := from
	for to < len(f.text) && value.IsDigit(f.text[to]) {
		to++
	}
	n := number(f.text[from:to])
	if n < 0 || role == name.Remaining && to < len(f.text) {
		return -1, nil
	}
	of = -1
	for i := range limits {
		if l := limits[i].Remaining; l.Known && l.N == int64(n) {
			if of >= 0 {
				return -1, nil
			}
			of = i
		}
	}
	return of, &remains{f.key, f.text[:from], f.text[to:], to-from == len(f.text)}
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

// number returns the number that a text is, -1 if it is none, or one of too many digits.
func number(s string) (n int) {
	if uint(len(s)-1) >= maxDigits {
		return -1
	}
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return -1
		}
		n = n*10 + int(d)
	}
	return n
}

// cut returns the number in a text, and no number if there is something else before or behind it.
func (f *remains) cut(v string) string {
	from, to := len(f.head), len(v)-len(f.tail)
	if to <= from || v[:from] != f.head || v[to:] != f.tail {
		return ""
	}
	return v[from:to]
}

// Read reads an answer. It sets how much remains of each limit, and returns how many limits there are: none if the answer has to
// be read by Append.
func (c *Counts) Read(r *Reader, header http.Header, left *[MaxCounts]int) (n int) {
	if len(header) != c.known.n {
		return 0
	}
	if c.habit.unread.Add(1) > habitUnread && !c.look(r, header) {
		return 0
	}
	for _, f := range c.each {
		values := header[f.key]
		if len(values) != 1 {
			return 0
		}
		if values[0] != f.text {
			return 0
		}
	}
	for i, f := range c.counted {
		values := header[f.key]
		if len(values) != 1 {
			return 0
		}
		v := values[0]
		if !f.alone {
			v = f.cut(v)
		}
		if left[i] = number(v); left[i] < 0 {
			return 0
		}
	}
	return len(c.counted)
}

// maxDigits is so few that no int overflows, on machines of 32 bits either.
const maxDigits = 9

// look looks at all headers but those that each answer is read for. It reports whether there is nothing new but what remains.
func (c *Counts) look(r *Reader, header http.Header) bool {
	for _, f := range c.rest {
		if values := header[f.key]; len(values) != 1 || values[0] != f.text && !f.ignored {
			return false
		}
	}
	if !c.known.whole() || !has(header, c.known.others) {
		own := r.compiled()
		for key := range header {
			if !c.known.tells(key) && lookUp(key, own) != nil {
				return false // and so the Habit looks at all headers, too
			}
		}
	}
	c.habit.unread.Store(0)
	return true
}
