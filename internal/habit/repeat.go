package habit

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/inside"
)

// Repeat reads answers that say what one before said, but for what remains of each limit: then all there is to
// read is how much that is. Which reset a limit has, and which bucket, it compares in each answer, as text. All
// other headers of limits, and whether there are others, it looks at as often as the [Habit] does of which it
// is made: each 15th or 16th answer. It is of use while it is
// [Repeat.Current]: then the Habit is to read an answer, and to make another Repeat.
//
// A Repeat is safe for concurrent use, and must not be copied.
type Repeat struct {
	habit  *Habit
	known  *known
	looked time.Duration // Habit.looked when it was made
	each   *repeated     // is read in each answer
	rest   *repeated     // is compared when all headers are looked at
}

// Current reports whether all headers were looked at less than 10 ms before an instant, by the clock of
// [Habit.Append], and no later than that: else the Habit is to read an answer of that instant.
func (r *Repeat) Current(now time.Duration) bool { return recent(r.looked, now) }

// repeated is a header that speaks of limits, and says the same again, but for the number in it.
type repeated struct {
	key     string
	text    string // all that it says, or what there is before the number
	tail    string // what there is behind the number
	content content
	of      uint      // of which limit so much remains
	at      address   // of the text of the answer
	next    *repeated // nil if it is the last one
}

// content is what there is to read in a repeated header.
type content uint8

const (
	sameText     content = iota // nothing: the text is to be the same
	anyText                     // nothing, whatever the text is, since another header says what it says
	number                      // a number, with nothing before and behind it
	numberWithin                // a number between two texts
)

// longestText is how many bytes of a header a Repeat keeps, to compare it with others: to state a limit takes
// no more.
const longestText = 512

// fitToKeep reports whether a header that speaks of limits has one value, which is not too long, and says what
// remains only if that is what it is for: where it is not, a number elsewhere may be the same by chance, and
// say nothing.
func fitToKeep(t *inside.Told, values []string) bool {
	return len(values) == 1 && len(values[0]) <= longestText && (t.Says == inside.SaysField || !saysCount(values[0]))
}

// Repeat returns what reads answers that repeat one of an instant, as Append was given it, which has read the
// answer so; nil if nothing does, before there is a habit, or if answers come so slowly that none would be read
// in time. Old, which may be nil, is what it has returned before.
func (h *Habit) Repeat(old *Repeat, header http.Header, limits []headers.Limit, hint headers.Retry, now time.Duration) *Repeat {
	k, looked := h.known.Load(), time.Duration(h.looked.Load())
	if k == nil || len(header) != k.n || !isCounted(limits, hint) || !recent(looked, now) || !h.comesFast(now) {
		return nil
	}
	c := &Repeat{habit: h, known: k, looked: looked}
	stated, used, counted := 0, false, [len(inside.Left{})]bool{}
	for i := range k.told {
		t := &k.told[i]
		values := header[t.Key]
		if !fitToKeep(t, values) {
			return nil
		}
		f, list := &repeated{key: t.Key, text: values[0], at: addressOf(values[0])}, &c.rest
		switch t.Says {
		case inside.SaysMost:
			stated++
		case inside.SaysSpan:
		case inside.SaysWhich:
			list = &c.each
		case inside.SaysUsed:
			if !k.tellsLeft(t) {
				return nil // what remains follows from it, whichever other header has the same number
			}
			f.content, used = anyText, true
		case inside.SaysNumber, inside.SaysField:
			if list = &c.each; !f.count(t.Says, limits) || counted[f.of] {
				return nil
			}
			counted[f.of] = true
		default:
			return nil
		}
		f.keep(old)
		f.next, *list = *list, f
	}
	if slices.Contains(counted[:len(limits)], false) || used && stated < len(limits) {
		return nil // a number follows from what is used
	}
	return c
}

// keep makes the texts of f ones that may be kept: see address.
func (f *repeated) keep(old *Repeat) {
	if f.content == number || f.content == anyText {
		f.text, f.tail = "", ""
		return
	}
	o := old.of(f.key)
	switch {
	case o != nil && o.at == f.at:
	case o != nil && o.text == f.text && o.tail == f.tail:
		f.text, f.tail = o.text, o.tail
	default:
		f.text, f.tail = strings.Clone(f.text), strings.Clone(f.tail)
	}
}

// of returns what r has of a header, nil if that is nothing.
func (r *Repeat) of(key string) *repeated {
	if r == nil {
		return nil
	}
	for _, f := range [...]*repeated{r.each, r.rest} {
		for ; f != nil; f = f.next {
			if f.key == key {
				return f
			}
		}
	}
	return nil
}

// isCounted reports whether an answer says nothing but what a Repeat may read.
func isCounted(limits []headers.Limit, hint headers.Retry) bool {
	return len(limits) > 0 && len(limits) <= len(inside.Left{}) && !hint.Known && hint.Advice == "" && hint.Refusal == ""
}

// tellsLeft reports whether a header says what remains of the limit of which another one says what is used.
func (k *known) tellsLeft(used *inside.Told) bool {
	return slices.ContainsFunc(k.told, func(t inside.Told) bool { return t.Says == inside.SaysNumber && ofHeaders.SameLimit(&t, used) })
}

// count finds the number in the text that remains of one of the limits, and of no other. It reports whether
// there is one.
func (f *repeated) count(says inside.Says, limits []headers.Limit) bool {
	from := 0
	if says == inside.SaysField {
		at, ok := countIn(f.text)
		if !ok {
			return false
		}
		from = at
	}
	to := from
	for to < len(f.text) && isDigit(f.text[to]) {
		to++
	}
	n := parse(f.text[from:to])
	if n < 0 || says == inside.SaysNumber && to < len(f.text) {
		return false
	}
	if f.content = numberWithin; to-from == len(f.text) {
		f.content = number
	}
	f.text, f.tail = f.text[:from], f.text[to:]
	found := 0
	for i := range limits {
		if l := limits[i].Remaining; l.Known && l.N == int64(n) {
			f.of = uint(i)
			found++
		}
	}
	return found == 1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// saysCount reports whether a field says what remains as those of the IETF drafts do.
func saysCount(field string) bool {
	return strings.Contains(field, marks[0]) || strings.Contains(field, marks[1])
}

// marks stand before the number that remains in a field of the IETF drafts.
var marks = [...]string{"remaining=", ";r="}

// countIn returns where in a field of the IETF drafts the number stands that remains, if it is the only one.
func countIn(field string) (at int, ok bool) {
	for _, mark := range marks {
		if i := strings.Index(field, mark); i >= 0 {
			if ok || strings.Count(field, mark) > 1 {
				return 0, false
			}
			at, ok = i+len(mark), true
		}
	}
	return at, ok
}

// parse returns the number that a text is, -1 if it is none, or one of too many digits.
func parse(s string) (n int) {
	if uint(len(s)-1) >= maxDigits {
		return -1
	}
	i := 0
	if len(s) >= 4 {
		if n, i = fourDigits(s), 4; n < 0 {
			return -1
		}
	}
	for ; i < len(s); i++ {
		d := uint(s[i]) ^ '0' // a digit, or more than 9
		if d > 9 {
			return -1
		}
		n = n*10 + int(d)
	}
	return n
}

// fourDigits returns the number that the first four bytes of a text are, -1 if they are none: all at once, in
// less than half of the instructions that they take one by one.
func fourDigits(s string) int {
	d := (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) ^ 0x30303030 // in each byte a digit, or more than 9
	if (d|(d+0x76767676))&0x80808080 != 0 {
		return -1 // of some byte that is 10 or more, or by the addition, the highest bit is set
	}
	d = d*10 + d>>8 // two digits in the first byte, and in the third
	return int(d&0xff)*100 + int(d>>16&0xff)
}

// cut returns the number in a text, and no number if there is something else before or behind it.
func (f *repeated) cut(v string) string {
	from, to := len(f.text), len(v)-len(f.tail)
	if to <= from || v[:from] != f.text || v[to:] != f.tail {
		return ""
	}
	return v[from:to]
}

// Read reads an answer, and sets how much remains of each limit. It is false if the answer has to be read by
// [Habit.Append], see TakeBack.
func (r *Repeat) Read(reader *headers.Reader, header http.Header, left *inside.Left) bool {
	if turn := r.habit.unread.Add(1) > habitUnread; len(header) != r.known.n || turn && !r.look(reader, header) {
		return false
	}
	for f := r.each; f != nil; f = f.next {
		values := header[f.key]
		if len(values) != 1 {
			return false
		}
		v := values[0]
		switch f.content {
		case sameText:
			if v != f.text {
				return false
			}
			continue
		case numberWithin:
			v = f.cut(v)
		}
		n := parse(v)
		if n < 0 {
			return false
		}
		left[f.of%uint(len(left))] = n
	}
	return true
}

// TakeBack is to be called if [Habit.Append] is to read an answer that was given to Read, whatever Read has
// returned. So the answer counts once (see [Habit]).
func (r *Repeat) TakeBack() { r.habit.takeBack() }

// maxDigits is so few that no int overflows, on machines of 32 bits either.
const maxDigits = 9

// look looks at all headers but those that each answer is read for. It reports whether there is nothing new but
// what remains.
func (r *Repeat) look(reader *headers.Reader, header http.Header) bool {
	for f := r.rest; f != nil; f = f.next {
		if values := header[f.key]; len(values) != 1 || f.content == sameText && values[0] != f.text {
			return false
		}
	}
	if !r.known.whole() || !has(header, r.known.others) {
		for key := range header {
			if !r.known.tells(key) {
				if _, ok := ofHeaders.LookUp(reader, key); ok {
					return false // and so the Habit looks at all headers, too
				}
			}
		}
	}
	r.habit.noteTurn()
	return true
}
