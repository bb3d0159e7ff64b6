package quota

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parser reads a text word by word. A comma is a word, and so is a string in double quotes.
type parser struct {
	text   string // the text after the current word
	offset int    // where that begins in the whole text, in bytes
	word   string // the current word; empty at the end of the text
	column int    // where the current word begins in the whole text, in bytes, from 1
}

const blanks = " \t\r\n"

// next makes the next word the current one.
func (p *parser) next() {
	rest := strings.TrimLeft(p.text, blanks)
	p.offset += len(p.text) - len(rest)
	n := len(rest)
	if i := strings.IndexAny(rest, blanks+","); i >= 0 {
		n = max(i, 1)
	}
	if strings.HasPrefix(rest, `"`) {
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			n = len(quoted)
		}
	}
	p.word, p.text, p.column = rest[:n], rest[n:], p.offset+1
	p.offset += n
}

// take reports whether the current word is w, and moves on if so.
func (p *parser) take(w string) bool {
	if p.word != w {
		return false
	}
	p.next()
	return true
}

// expect moves on if the current word is w, and returns an error if it is not.
func (p *parser) expect(w, want string) error {
	if !p.take(w) {
		return unexpected(p.column, p.word, want)
	}
	return nil
}

// operand reads the current word with read and moves on. If read cannot, it returns an error.
func operand[T any](p *parser, read func(string) (T, bool), want string) (T, error) {
	v, ok := read(p.word)
	if !ok {
		return v, unexpected(p.column, p.word, want)
	}
	p.next()
	return v, nil
}

// unexpected returns the error that word, which begins at column, stands where want was expected.
func unexpected(column int, word, want string) error {
	if !strings.HasPrefix(want, didYouMean) {
		want = "want " + want
	}
	if word == "" {
		return fmt.Errorf(prefix+"column %d: nothing, %s", column, want)
	}
	return fmt.Errorf(prefix+"column %d: %q, %s", column, word, want)
}

// rest is the text from the current word on.
func (p *parser) rest() string { return p.word + p.text }

// quota reads one quota and stops at the comma after it, or at the end.
func (p *parser) quota() (Quota, error) {
	var q Quota
	column := p.column
	if err := p.start(&q); err != nil {
		return q, err
	}
	seen := map[string]bool{"kind": q.Kind.Concurrent()}
	columns := map[string]int{} // of the clauses, by the fields that they set
	for p.word != "" && p.word != "," {
		columns[fieldOf[p.word]] = p.column
		if err := p.clause(&q, seen); err != nil {
			return q, err
		}
	}
	if err := q.check(); err != nil {
		var e *fieldError
		if errors.As(err, &e) {
			column = cmp.Or(columns[e.field], column)
		}
		return q, fmt.Errorf(prefix+"column %d: %w", column, err)
	}
	if q.Burst == 1 {
		q.Kind, q.Burst = TokenBucket, 0 // means the same, and String writes "even" for it
	}
	return q, nil
}

// start reads the beginning of a quota: "5/s", "5 tokens/s", "5 in flight", "no limit".
func (p *parser) start(q *Quota) error {
	if p.take("no") {
		return p.expect("limit", wantedWord(p.word, "limit", `"limit" after "no"`))
	}
	column, word := p.column, p.word
	before, per, slash := strings.Cut(word, "/")
	var ok bool
	if q.N, q.Unit, ok = parseAmount(before); !ok {
		digits, _ := cutNumber(word)
		if n, fine := number(digits); fine { // "5rps", "5req/s"
			if m := meant(Quota{N: n}, p.rest()[len(digits):]); m != "" {
				return unexpected(column, word, m)
			}
		}
		if !slash && (word == "" || word[0] < '0' || word[0] > '9') {
			return unexpected(column, word, "a quota such as 5/s, 100 tokens/1m30s, 1MiB/s or 10 in flight")
		}
		return unexpected(column, before, wantedNumber(before))
	}
	number := before
	p.next()
	if !slash && q.Unit == "" && p.word != "in" && p.word != Unanswered.String() {
		column, word = p.column, p.word
		before, per, slash = strings.Cut(word, "/")
		unit := plural(before)
		if !isUnit(unit) {
			return unexpected(column, word, cmp.Or(meant(*q, p.rest()), p.thousands(number), wantedUnit(number, before, word[len(before):])))
		}
		q.Unit = canonical(unit)
		p.next()
	}
	if !slash {
		return p.concurrent(q, column, word)
	}
	if q.Per, ok = period(per); !ok {
		return unexpected(column+len(before)+1, per, cmp.Or(meant(*q, "per "+per+" "+p.rest()), wantedSpan(per, "ms, s, m, h, d, or a duration such as 1m30s")))
	}
	if isBare(q.Per) {
		return unexpected(column+len(before)+1, per, "at least 1µs")
	}
	return nil
}

// thousands says how a number is written of which a comma was to set apart the thousands. The comma is the current word.
func (p *parser) thousands(number string) string {
	digits, _ := cutNumber(p.text)
	if p.word != "," || len(digits) != 3 || len(number) > 3 {
		return ""
	}
	return didYouMean + strconv.Quote(number+digits)
}

// concurrent reads "in flight" or "unanswered", which such a quota has in place of a span.
// Before is the word before that, at a column.
func (p *parser) concurrent(q *Quota, column int, before string) error {
	if p.take("in") {
		q.Kind = InFlight
		return p.expect("flight", wantedWord(p.word, "flight", `"flight" after "in"`))
	}
	if p.word != Unanswered.String() {
		if m := meant(*q, p.rest()); m != "" {
			return unexpected(p.column, p.word, m)
		}
		if m := meant(Quota{N: q.N}, before+" "+p.rest()); m != "" { // "5 a second"
			return unexpected(column, before, m)
		}
	}
	q.Kind = Unanswered
	return p.expect(Unanswered.String(), wantedWord(p.word, Unanswered.String(), afterNumber))
}

// burstOrEven is the clause of which even is the shortest form.
const burstOrEven = "of even and burst"

// clause reads one of the clauses that may follow the beginning of a quota. Seen has the clauses
// that were read before, and "kind" for any Kind.
func (p *parser) clause(q *Quota, seen map[string]bool) error {
	column, word := p.column, p.word
	p.next()
	clause := word
	var err error
	switch word {
	case "burst":
		clause = burstOrEven
		q.Burst, err = p.amount(q.Unit)
	case "even":
		clause = burstOrEven
		q.Burst = 1
	case "queue":
		q.Queue, err = p.amount(q.Unit)
	case "debt":
		q.Debt = true
	case "window", "sliding", "log", "estimate":
		clause = "kind"
		err = p.kind(q, word)
	case "warm-up":
		q.WarmUp, err = operand(p, duration, wantedSpan(p.word, "a duration such as 10s"))
	case "cold":
		q.ColdFactor, err = operand(p, factor, "a number from 1")
	case "as":
		q.Name, err = operand(p, name, "a word, or some in double quotes")
	default:
		return unexpected(column, word, wantedClause(word))
	}
	if err == nil && seen[clause] {
		err = unexpected(column, word, "only one "+clause)
	}
	seen[clause] = true
	return err
}

// amount reads an amount of the unit of a quota.
func (p *parser) amount(unit string) (int, error) {
	read := func(s string) (int, bool) {
		n, of, ok := parseAmount(s)
		return n, ok && (of == "" || of == unit)
	}
	want := "a whole number from 1, or bytes if the quota is of bytes"
	if _, suffix := cutNumber(p.word); suffix == "" || unit == Bytes {
		want = wantedAmount(p.word, want)
	}
	return operand(p, read, want)
}

// kind reads the rest of a Kind whose text begins with word.
func (p *parser) kind(q *Quota, word string) (err error) {
	switch word {
	case "window":
		q.Kind = FixedWindow
		if p.take("grid") {
			q.Kind = ClockWindow
		}
	case "sliding":
		q.Kind = SlidingWindow
		if digits, _ := cutNumber(p.word); digits != "" {
			q.Cells, err = operand(p, number, wantedAmount(p.word, "a number of cells from 1"))
		}
	case "log":
		q.Kind = SlidingLog
	case "estimate":
		q.Kind = EstimatedWindow
	}
	return err
}

// period reads PER. A unit alone means one: "h" and "hour" are one hour.
func period(s string) (time.Duration, bool) {
	switch s = inLetters(s); s {
	case "ms", "s", "m", "h", "d":
		s = "1" + s
	}
	return duration(s)
}

// duration reads a positive duration as time.ParseDuration does, or one in days, or in words: "7d", "30seconds".
func duration(s string) (time.Duration, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	s = inLetters(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, ok := number(days)
		return time.Duration(n) * 24 * time.Hour, ok && n <= maxDays
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}

// maxDays is the longest time.Duration in whole days.
const maxDays = int(math.MaxInt64 / (24 * time.Hour))

// factor reads a number of at least 1.
func factor(s string) (float64, bool) {
	if strings.Trim(s, "0123456789.e+") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 1
}

// name reads a word, or a string in double quotes.
func name(s string) (string, bool) {
	if strings.HasPrefix(s, `"`) {
		unquoted, err := strconv.Unquote(s)
		return unquoted, err == nil && unquoted != ""
	}
	return s, s != "" && s != ","
}
