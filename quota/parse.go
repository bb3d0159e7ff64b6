package quota

import (
	"errors"
	"fmt"
	"math"
	"slices"
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

	name bool // the clause before is a name
	week bool // the span of the quota is the word for a week, which begins on a Monday
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
			if behind := rest[n:]; strings.HasPrefix(behind, "/") { // a unit
				n += len(behind)
				if i := strings.IndexAny(behind, blanks+","); i >= 0 {
					n = len(quoted) + i
				}
			}
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

// A syntaxError says that a word, which begins at a column, stands where something else was expected.
type syntaxError struct {
	column     int
	word, want string
}

func (e *syntaxError) Error() string {
	word := "nothing"
	if e.word != "" {
		word = strconv.Quote(e.word)
	}
	return fmt.Sprintf(prefix+"column %d: %s, %s", e.column, word, e.want)
}

// unexpected returns the error that word, which begins at column, stands where want was expected.
func unexpected(column int, word, want string) error {
	return &syntaxError{column, word, "want " + want}
}

// parse is Parse without a guess at what was meant by a text that cannot be read.
func parse(s string) (Quotas, error) {
	p := parser{text: s}
	p.next()
	if p.word == "" {
		return nil, nil
	}
	var qs Quotas
	for {
		column := p.column
		q, err := p.quota()
		if err != nil {
			return nil, err
		}
		if err := q.checkSpelling(qs); err != nil {
			return nil, fmt.Errorf(prefix+"column %d: %w", column, err)
		}
		qs = append(qs, q)
		if p.word == "" {
			return qs, nil
		}
		p.next() // the comma
	}
}

// quota reads one quota and stops at the comma after it, or at the end.
func (p *parser) quota() (Quota, error) {
	var q Quota
	column := p.column
	if err := p.start(&q); err != nil {
		return q, err
	}
	seen := map[string]bool{"kind": q.Kind.Concurrent()}
	clauses := map[string]syntaxError{} // where each begins, by the field that it sets
	for p.word != "" && p.word != "," {
		clauses[fieldOf[p.word]] = syntaxError{column: p.column, word: p.word}
		if err := p.clause(&q, seen); err != nil {
			return q, err
		}
	}
	p.onMonday(&q)
	if err := q.check(); err != nil {
		var e *fieldError
		at := syntaxError{column: column, word: Quotas{q}.String()}
		if errors.As(err, &e) && clauses[e.field].column > 0 {
			at = clauses[e.field]
		}
		if at.want = p.meant(q); at.want != "" {
			return q, &at
		}
		return q, fmt.Errorf(prefix+"column %d: %w", at.column, err)
	}
	return q, nil
}

// spanAfter returns the span that a proposal needs in place of an amount or a unit: none before a slash, nor
// before other words of the quota, but that of a rate in bytes.
func (p *parser) spanAfter(word string, slash bool) string {
	_, suffix := cutNumber(word)
	rest := strings.TrimLeft(p.text, blanks)
	switch {
	case slash:
		return ""
	case suffix != withoutRate(suffix) && inBytes("", suffix, "") != "":
		return "/s"
	case rest == "" || rest[0] == ',':
		return "/m"
	}
	return ""
}

// onMonday has the week of a clock begin on a Monday, unless from says otherwise.
func (p *parser) onMonday(q *Quota) {
	if p.week && q.Kind == ClockWindow && q.From == 0 {
		q.From = 1
	}
}

// start reads the beginning of a quota: "5/s", "5 tokens/s", "5 in flight", "no limit", "no limit of tokens".
func (p *parser) start(q *Quota) error {
	if p.take("no") {
		err := p.expect("limit", `"limit" after "no"`)
		if err == nil && p.take("of") {
			q.Unit, err = operand(p, unit, "a unit")
		}
		return err
	}
	column, word := p.column, p.word
	before, per, slash := strings.Cut(word, "/")
	var ok bool
	if q.N, q.Unit, ok = parseAmount(before); !ok {
		if !slash && !isNumber(strings.TrimLeft(word, "+-")) {
			return unexpected(column, word, "a quota such as 5/s, 100 tokens/1m30s, 1MiB/s or 10 in flight")
		}
		return unexpected(column, before, wantedNumber(before, p.spanAfter(before, slash)))
	}
	number := before
	p.next()
	if !slash && q.Unit == "" && p.word != "in" && p.word != string(Unanswered) {
		column, word = p.column, p.word
		before, per, slash = strings.Cut(word, "/")
		if q.Unit, ok = unit(before); !ok {
			return unexpected(column, word, wantedUnit(number, before, p.spanAfter(before, slash)))
		}
		p.next()
	}
	if !slash {
		return p.concurrent(q)
	}
	p.week = inLetters(per) == "w"
	if q.Months, ok = months(per); ok {
		if !slices.Contains(monthsOfWindows, q.Months) {
			return unexpected(column+len(before)+1, per, "month, 2months, quarter, 4months, 6months or year, so that windows begin in the same months each year")
		}
		return nil
	}
	if q.Per, ok = period(per); !ok {
		return unexpected(column+len(before)+1, per, wantedSpan(per, "ms, s, m, h, d, w, month, quarter, year, or a duration such as 1m30s"))
	}
	if isBare(q.Per) {
		return unexpected(column+len(before)+1, per, "at least 1µs")
	}
	return nil
}

// unit reads a unit, which stands in double quotes if its word means something else: "queries" are requests. Ok
// is false if it is none.
func unit(s string) (unit string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		unquoted, err := strconv.Unquote(s)
		return canonical(unquoted), err == nil && isUnit(unquoted)
	}
	s = plural(s)
	return canonical(s), isPlainUnit(s)
}

// concurrent reads "in flight" or "unanswered", which such a quota has in place of a span.
func (p *parser) concurrent(q *Quota) error {
	if p.take("in") {
		q.Kind = InFlight
		return p.expect("flight", `"flight" after "in"`)
	}
	q.Kind = Unanswered
	return p.expect(string(Unanswered), wantedAfterUnit(q.Unit, p.word, p.text))
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
	case "streamed":
		q.Streamed = true
	case "overall":
		q.Overall = true
	case "window", "sliding", "log", "estimate":
		clause = "kind"
		err = p.kind(q, word)
	case "warm-up":
		q.WarmUp, err = operand(p, duration, wantedSpan(p.word, "a duration such as 10s"))
	case "cold":
		q.ColdFactor, err = operand(p, factor, "a number from 1")
	case "from":
		q.From, err = p.from(q)
	case "in":
		if p.word == "flight" {
			return unexpected(column, word, `"in flight" without a span ("10 in flight"), or behind a comma ("5/s, 10 in flight")`)
		}
		q.Zone, err = p.zone(q)
	case "as":
		q.Name, err = operand(p, name, "a word, or some in double quotes")
	default:
		if strings.Contains(word, "/") && wantedZone(word, time.LoadLocation) == "" {
			return unexpected(column, word, `"in" before a time zone`)
		}
		return unexpected(column, word, wantedAfter(p.name))
	}
	p.name = word == "as"
	if err == nil && seen[clause] {
		err = unexpected(column, word, "only one "+clause)
	}
	seen[clause] = true
	return err
}

// amount reads an amount of the unit of a quota.
func (p *parser) amount(unit string) (int64, error) {
	read := func(s string) (int64, bool) {
		n, of, ok := parseAmount(s)
		return n, ok && (of == "" || of == unit)
	}
	want := "a whole number from 1, or bytes if the quota is of bytes"
	if _, suffix := cutNumber(p.word); suffix == "" || unit == Bytes {
		want = wantedAmount(p.word, "", want)
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
		if digits, suffix := cutNumber(p.word); digits != "" {
			want := "a number of cells from 1"
			if suffix != "" {
				want = wantedAmount(p.word, "", want)
			}
			q.Cells, err = operand(p, count, want)
		}
	case "log":
		q.Kind = SlidingLog
	case "estimate":
		q.Kind = EstimatedWindow
	}
	return err
}

// months reads a span of months: "month", "3months", "quarter", "year".
func months(s string) (int, bool) {
	digits, word := cutNumber(s)
	n, ok := 1, true
	if digits != "" {
		n, ok = count(digits)
	}
	for _, span := range calendar {
		if ok && slices.Contains(span.words, word) && n <= maxDays {
			return n * span.months, true
		}
	}
	return 0, false
}

// from reads the day on which the windows of a quota begin.
func (p *parser) from(q *Quota) (int, error) {
	if q.Months > 0 {
		return operand(p, func(s string) (int, bool) {
			n, ok := count(s)
			return n, ok && n <= 31
		}, "a day of the month from 1 to 31")
	}
	want := "a day of the week such as monday, or of a month: 2000/month from 15"
	if q.Per != week {
		want = "no from: months and weeks begin on a day, as in 2000/month from 15 and 1000/w window grid from sunday"
	}
	return operand(p, func(s string) (int, bool) {
		i := slices.Index(weekdays, strings.ToLower(s))
		return i + 1, i >= 0
	}, want)
}

// zone reads the name of a time zone.
func (p *parser) zone(q *Quota) (string, error) {
	want := wantedZone(p.word, time.LoadLocation)
	if want != "" && q.Months == 0 && q.per()%day != 0 {
		want = "no time zone: months and days of a clock have one, as in 1000/month in UTC and 1000/d window grid in UTC"
	}
	return operand(p, func(s string) (string, bool) { return s, want == "" }, want)
}

// period reads PER. A unit alone means one: "h" and "hour" are one hour.
func period(s string) (time.Duration, bool) {
	switch s = inLetters(s); s {
	case "ms", "s", "m", "h", "d", "w":
		s = "1" + s
	}
	return duration(s)
}

// inLetters returns a span whose unit is a word with the letter for the word: "30s" for "30sec".
func inLetters(s string) string {
	number, word := cutNumber(s)
	for _, span := range spans {
		if slices.Contains(span.words, word) {
			return number + span.letter
		}
	}
	return s
}

// duration reads a positive duration as time.ParseDuration does, or one in weeks, in days, or in words: "7d",
// "30seconds".
func duration(s string) (time.Duration, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	s = inLetters(s)
	if weeks, ok := strings.CutSuffix(s, "w"); ok {
		n, ok := count(weeks)
		return time.Duration(n) * week, ok && n <= maxDays/7
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, ok := count(days)
		return time.Duration(n) * 24 * time.Hour, ok && n <= maxDays
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}

// isSpan reports whether s is a span with its number.
func isSpan(s string) bool {
	_, ok := duration(s)
	return ok
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
