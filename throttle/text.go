package throttle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseQuotas reads quotas as a person writes them, with commas between:
//
//	5/s burst 10, 100000/h
//	50/2s window
//	300/m sliding 20 as "calls of a tenant"
//	10/s warm-up 10s cold 3
//
// A quota is N/PER, where PER is ms, s, m, h, d, a number of days such as 7d, or a
// duration such as 1m30s, and after it, in any order and each at most once:
//
//	burst B           the Burst of a token bucket
//	window            a FixedWindow
//	window grid       a ClockWindow
//	sliding [CELLS]   a SlidingWindow
//	log               a SlidingLog
//	estimate          an EstimatedWindow
//	warm-up D         the WarmUp of a token bucket, a duration
//	cold F            its ColdFactor
//	as NAME           the Name: one word, or in double quotes as a Go string
//
// "no limit" is a quota of its own, and the empty text is none at all. All that is
// accepted passes Validate. The error says in which column (in bytes, from 1)
// which word stands and what was expected.
func ParseQuotas(s string) (Quotas, error) {
	p := parser{text: s}
	p.next()
	if p.word == "" {
		return nil, nil
	}
	var qs Quotas
	for {
		q, err := p.quota()
		if err != nil {
			return nil, err
		}
		qs = append(qs, q)
		if p.word == "" {
			return qs, nil
		}
		p.next() // the comma
	}
}

// UnmarshalText implements encoding.TextUnmarshaler with ParseQuotas: quotas can
// be strings in JSON and YAML, and flags by flag.TextVar. After an error they are
// as they were.
func (qs *Quotas) UnmarshalText(text []byte) error {
	parsed, err := ParseQuotas(string(text))
	if err == nil {
		*qs = parsed
	}
	return err
}

// MarshalText implements encoding.TextMarshaler with String. Invalid quotas are an
// error.
func (qs Quotas) MarshalText() ([]byte, error) {
	if err := qs.Validate(); err != nil {
		return nil, err
	}
	return []byte(qs.String()), nil
}

// as writes a name as ParseQuotas reads it.
func as(name string) string {
	if name == "" {
		return ""
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || c == ',' || c == '"' || c == '\\' {
			return " as " + strconv.Quote(name)
		}
	}
	return " as " + name
}

// parser reads a text word by word: a comma is one, and so is what is in quotes.
type parser struct {
	text   string // what is left of it
	offset int    // of that
	word   string // the current one; empty at the end
	column int    // in which it begins, from 1
}

// next moves on to the next word.
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

const blanks = " \t\r\n"

// take reports whether the current word is w, and moves on if so.
func (p *parser) take(w string) bool {
	if p.word != w {
		return false
	}
	p.next()
	return true
}

// unexpected says what was expected instead of word, which begins in column.
func unexpected(column int, word, want string) error {
	if word == "" {
		return fmt.Errorf("throttle: quotas: column %d: nothing, want %s", column, want)
	}
	return fmt.Errorf("throttle: quotas: column %d: %q, want %s", column, word, want)
}

// quota reads one quota and leaves off at the comma after it or at the end.
func (p *parser) quota() (Quota, error) {
	var q Quota
	column := p.column
	if err := p.rate(&q); err != nil {
		return q, err
	}
	seen := map[string]bool{}
	for p.word != "" && p.word != "," {
		if err := p.clause(&q, seen); err != nil {
			return q, err
		}
	}
	if err := q.check(); err != nil {
		return q, fmt.Errorf("throttle: quotas: column %d: %w", column, err)
	}
	if q.Burst == 1 {
		q.Burst = 0 // the same, and what String leaves out
	}
	return q, nil
}

// rate reads what every quota begins with.
func (p *parser) rate(q *Quota) (err error) {
	const example = "a quota such as 5/s or 100/1m30s"
	column, word := p.column, p.word
	if p.take("no") {
		if p.word != "limit" {
			return unexpected(p.column, p.word, `"limit" after "no"`)
		}
		p.next()
		return nil
	}
	n, per, ok := strings.Cut(word, "/")
	if !ok {
		return unexpected(column, word, example)
	}
	p.next()
	if q.N, ok = number(n); !ok {
		return unexpected(column, n, "a whole number from 1 before the slash")
	}
	if q.Per, ok = units[per], true; q.Per == 0 {
		q.Per, ok = duration(per)
	}
	if !ok {
		return unexpected(column+len(n)+1, per, "ms, s, m, h, d, or a duration such as 1m30s")
	}
	return nil
}

// units are the spans that are written without a number.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// clause reads one of what may follow the rate.
func (p *parser) clause(q *Quota, seen map[string]bool) error {
	column, word := p.column, p.word
	p.next()
	var ok bool
	sort := word
	switch word {
	case "burst":
		q.Burst, ok = number(p.word)
		if !ok {
			return unexpected(p.column, p.word, "a whole number from 1")
		}
		p.next()
	case "window":
		sort, q.Kind = "kind", FixedWindow
		if p.take("grid") {
			q.Kind = ClockWindow
		}
	case "sliding":
		sort, q.Kind = "kind", SlidingWindow
		if q.Cells, ok = number(p.word); ok {
			p.next()
		}
	case "log":
		sort, q.Kind = "kind", SlidingLog
	case "estimate":
		sort, q.Kind = "kind", EstimatedWindow
	case "warm-up":
		q.WarmUp, ok = duration(p.word)
		if !ok {
			return unexpected(p.column, p.word, "a duration such as 10s")
		}
		p.next()
	case "cold":
		q.ColdFactor, ok = factor(p.word)
		if !ok {
			return unexpected(p.column, p.word, "a number from 1")
		}
		p.next()
	case "as":
		q.Name, ok = name(p.word)
		if !ok {
			return unexpected(p.column, p.word, "a word, or some in double quotes")
		}
		p.next()
	default:
		return unexpected(column, word, "a comma, burst, window, sliding, log, estimate, warm-up, cold or as")
	}
	if seen[sort] {
		return unexpected(column, word, "only one "+sort)
	}
	seen[sort] = true
	return nil
}

// number reads a positive whole number: digits, and nothing else.
func number(s string) (int, bool) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0
}

// duration reads a positive duration as time.ParseDuration does, or a number of
// days.
func duration(s string) (time.Duration, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, ok := number(days)
		const day = 24 * time.Hour
		return time.Duration(n) * day, ok && int64(n) <= int64(math.MaxInt64/day)
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}

// factor reads a number of at least 1.
func factor(s string) (float64, bool) {
	if strings.Trim(s, "0123456789.e+") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 1
}

// name reads a word, or what is in double quotes.
func name(s string) (string, bool) {
	if strings.HasPrefix(s, `"`) {
		unquoted, err := strconv.Unquote(s)
		return unquoted, err == nil && unquoted != ""
	}
	return s, s != "" && s != ","
}
