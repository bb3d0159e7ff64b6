package quota

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/internal/spelling"
)

// This file guesses what was meant by a text that Parse cannot read: it replaces the phrases and mends the
// numbers, the spans and the slips, and if Parse can read that, it is the guess.

const didYouMean = "did you mean "

// meant returns what was probably meant, as the end of an error, by a text in which the word at a column cannot
// be read: by all of it, or if the rest is not known, by that quota of it, and by which one. It returns nothing
// if nobody knows.
func meant(text string, column int) string {
	const most, longest = 16, 64 // quotas to be guessed, and words of one, since a text may be long
	var first, part, note string
	for range most {
		words, from, to := quotaAt(text, column-1)
		if len(words) > longest {
			break
		}
		if first, _, _ := strings.Cut(text[from:to], " "); isSpan(first) { // "500ms every m" says nothing of how many
			break
		}
		if other := rewritten(text[from:to]); other != text[from:to] {
			words, _, _ = quotaAt(other, 0)
		}
		quotas, why, ok := meantBy(words)
		if !ok {
			break
		}
		first, part, note = cmp.Or(first, quotas), cmp.Or(part, text[from:to]), cmp.Or(note, why)
		text = text[:from] + quotas + text[to:]
		all, err := parse(text)
		if err == nil {
			first, part = all.String(), ""
		}
		var e *syntaxError
		if !errors.As(err, &e) || e.column <= from+len(quotas) {
			break
		}
		column = e.column
	}
	if first == "" {
		return ""
	}
	m := didYouMean + strconv.Quote(first)
	if part = strings.Join(strings.Fields(part), " "); part != "" {
		m += " for " + strconv.Quote(part)
	}
	if note != "" {
		m += " (" + note + ")"
	}
	return m
}

// meantBy returns the text of what was probably meant by the words of a quota, and what to say with it.
func meantBy(words []string) (text, note string, ok bool) {
	var g guess
	for len(words) > 0 {
		words = words[g.read(words):]
	}
	if g.last(0) == "burst" { // of which size is not said
		g.words, g.note = append(g.words, g.words[0]), "the text does not say how many may go at once"
	}
	quotas, err := parse(g.text())
	var e *syntaxError
	if g.done == "" && errors.As(err, &e) && strings.HasPrefix(e.want, didYouMean) { // "1000/d in UTC"
		text, note, _ = strings.Cut(strings.TrimPrefix(e.want, didYouMean), " (")
		text, err = strconv.Unquote(text)
		return text, strings.TrimSuffix(note, ")"), err == nil
	}
	return quotas.String(), g.note, err == nil && len(quotas) > 0
}

// meant returns what was probably meant, as the end of an error, by a quota whose calendar does not fit the
// rest of it. It returns nothing if nobody knows.
func (p *parser) meant(q Quota) string {
	better, note := q, ""
	switch {
	case q.Kind == FixedWindow && q.Months > 0, (q.Kind == FixedWindow || q.Kind == Plain) && q.Months == 0 && (q.Zone != "" || q.From > 0):
		better.Kind = ClockWindow
		p.onMonday(&better)
	case q.Months > 0 && (q.isBucket() || q.Kind == SlidingWindow || q.Kind == SlidingLog || q.Kind == EstimatedWindow):
		better.Per, better.Months = time.Duration(q.Months*365/12)*day, 0
		note = " (months differ in length)"
	}
	if better == q || better.check() != nil {
		return ""
	}
	return didYouMean + strconv.Quote(Quotas{better}.String()) + note
}

// quotaAt returns the words of the quota that is at an offset of a text, and where it begins and ends there. A
// comma before a clause does not end a quota.
func quotaAt(text string, at int) (words []string, from, to int) {
	comma := -1 // where the last word is one
	for i := 0; i < len(text); {
		if strings.IndexByte(blanks, text[i]) >= 0 {
			i++
			continue
		}
		before := words
		if comma >= 0 {
			before = nil
		}
		word, n := cutWord(text[i:], before)
		switch {
		case comma < 0, isClause(word), strings.EqualFold(word, "with"), likely(word, "reset", "resets", "resetting") != "":
		case comma >= at:
			return words, from, comma
		default:
			words = nil
		}
		if comma = -1; word == "," {
			comma = i
		} else {
			if len(words) == 0 {
				from = i
			}
			words = append(words, word)
		}
		i += n
	}
	switch {
	case comma < 0:
		return words, from, len(text)
	case comma < at:
		return nil, 0, 0
	}
	return words, from, comma
}

// isClause reports whether a clause begins with a word, or is meant by it.
func isClause(word string) bool {
	p, _ := known([]string{word})
	to, _, _ := strings.Cut(p.to, " ")
	return likely(word, clauses...) != "" || slices.Contains(clauses, to)
}

// cutWord returns the next word of a text, and its length there; words are those before it. What follows a
// number is a word of its own, but for a span and for bytes.
func cutWord(text string, words []string) (word string, n int) {
	const symbols = ",;/=:&+()"
	until := func(ends string) int {
		if i := strings.IndexAny(text, ends); i >= 0 {
			return max(i, 1)
		}
		return len(text)
	}
	quoted, err := strconv.QuotedPrefix(text)
	switch {
	case err == nil && text[0] == '"':
		n = len(quoted)
	case len(words) > 0 && strings.EqualFold(words[len(words)-1], "as"): // a name
		n = until(blanks + ",")
	case isNumber(text):
		first := !slices.ContainsFunc(words, isNumber)
		whole := text[:until(blanks+symbols)]
		if _, _, ok := parseAmount(whole); ok {
			n = len(whole)
		}
		if _, ok := duration(whole); ok && !first {
			n = len(whole)
		}
		if rest := strings.TrimLeft(whole, "0123456789._"); n == 0 && !strings.ContainsAny(rest, "0123456789") { // of "1e3" nothing is known
			n = len(whole) - len(rest)
		}
		n = cmp.Or(n, len(whole))
		for first && strings.HasPrefix(text[n:], ",") { // that of thousands
			if len(text)-len(strings.TrimLeft(text[n+1:], "0123456789")) != n+len(",000") {
				break
			}
			n += len(",000")
		}
		return strings.NewReplacer(",", "", "_", "").Replace(text[:n]), n
	default:
		n = until(blanks + symbols + `"`)
	}
	return text[:n], n
}

func isNumber(word string) bool { return word != "" && '0' <= word[0] && word[0] <= '9' }

// guess is what is known of what was meant.
type guess struct {
	done  string   // the quotas before, each with its comma
	owed  []string // those behind done; where they end in "/", they have no span yet: "500 requests and 30000 tokens per minute"
	words []string // of the quota
	n     *big.Rat // the first of them, if that is a number and not of bytes
	late  string   // how it is counted, if that is said before its span: "100 per rolling hour"
	note  string   // what to say with it
}

// phrase returns the phrase with which words begin, as it is meant after the words before it, and of how many
// words it is. What is none is a phrase of one word, which stands for itself.
func (g *guess) phrase(words []string) (phrase, int) {
	word, head := words[0], len(g.words) == 1 && g.n != nil
	p, n := known(words)
	switch {
	case g.last(0) == "/" && n > 0 && (p.to == "" || p.to == "log" || p.to == "window grid"):
		g.late = cmp.Or(p.to, g.late)
		return phrase{note: p.note}, n
	case g.last(0) == "window" && p.to == "window grid":
		return phrase{to: "grid", note: p.note}, n
	case g.last(0) == "/", g.last(0) == "as", n == 1 && word == "in" && slices.Contains(g.words, "/"):
	case n > 0:
		return p, n
	case head && likely(word, "concurrent", "concurrently", "parallel", "simultaneous") != "":
		return phrase{to: "in flight"}, 1
	case head && spelling.Near(word, Requests):
		return phrase{}, 1
	case head && spelling.Near(word, Bytes):
		return phrase{to: Bytes}, 1
	}
	return phrase{to: word}, 1
}

// read reads a phrase, or a word, and returns of how many words it is.
func (g *guess) read(words []string) int {
	word := words[0]
	p, n := g.phrase(words)
	if scale, then := scaleOf(word); scale != nil && len(g.words) == 1 && g.n != nil {
		g.n.Mul(g.n, scale)
		g.words[0] = g.n.RatString()
		p, n = then, 1
	}
	switch {
	case p.to != word: // it is known
	case isNumber(word) && g.whole(): // "5/s 10/m"
		g.next()
	case len(g.words) == 3 && g.n != nil && g.whole() && (word == llm || spelling.Near(word, llm)): // "5/s tokens"
		g.words = slices.Insert(g.words, 1, llm)
		return 1
	}
	g.note = cmp.Or(p.note, g.note)
	switch p.to {
	case "":
	case ",":
		g.next()
	case word:
		g.add(word)
	default:
		for _, w := range strings.Fields(p.to) {
			if w == "N" && len(g.words) > 0 {
				w = g.words[0]
			}
			g.add(w)
		}
	}
	return n
}

// llm is what tokens of a language model are called, of which a unit is written most often.
const llm = "tokens"

// whole reports whether the quota has its span, and does not end in a word that a number follows.
func (g *guess) whole() bool {
	if !slices.Contains(g.words, "/") {
		return false
	}
	switch last := g.last(0); last {
	case "/", "burst", "queue", "sliding", "warm-up", "cold", "from", "as":
		return false
	default:
		return g.last(1) != "/" || strings.Trim(last, "0123456789") != ""
	}
}

// next begins with the next quota. One that has no span yet gets that of a later one.
func (g *guess) next() {
	switch {
	case slices.Contains(g.words, "/"):
		*g = guess{done: g.text() + ", ", note: g.note}
	case g.n != nil && !slices.Contains(g.words, "flight") && !slices.Contains(g.words, "unanswered"):
		*g = guess{done: g.done, owed: append(g.owed, strings.Join(g.words, " ")+"/"), note: g.note}
	default:
		*g = guess{done: g.done, owed: append(g.owed, strings.Join(g.words, " ")), note: g.note}
	}
}

// last returns the last word, or with an i the one that is so many words before it; nothing if there is none.
func (g *guess) last(i int) string {
	if i = len(g.words) - 1 - i; i < 0 {
		return ""
	}
	return g.words[i]
}

// add adds a word, as it is spelled after those before it.
func (g *guess) add(word string) {
	has := func(word string) bool { return slices.Contains(g.words, word) }
	last := len(g.words) - 1
	if n, ok := decimal(word); ok {
		if len(g.words) == 0 {
			g.n = n
		}
		word = n.RatString()
	}
	switch {
	case g.last(0) == "as", g.last(2) == "in" && g.last(0) == "/": // a name, a zone
	case g.last(0) == "/" && likely(word, "flight") != "":
		g.words[last], word = "in", "flight"
	case g.last(0) == "/":
		word = g.span("", word)
	case g.last(1) == "/" && strings.Trim(g.last(0), "0123456789") == "":
		g.words[last] = g.span(g.last(0), word)
		return
	case g.last(0) == "no":
		word = cmp.Or(likely(word, "limit"), word)
	case g.last(0) == "window":
		word = cmp.Or(likely(word, "grid"), likely(word, clauses...), word)
	case has("/"), has("flight"), has("unanswered"):
		word = cmp.Or(likely(word, clauses...), word)
	default:
		word = cmp.Or(likely(word, "unanswered"), word)
	}
	g.words = append(g.words, word)
}

// span returns a span as Parse reads it, if its unit is nearly a known one: "minute" for "minut".
func (g *guess) span(number, word string) string {
	word = strings.ToLower(word)
	p, _ := known([]string{word})
	if s, ok := strings.CutPrefix(p.to, "/ "); ok && (number == "" || !isNumber(s)) { // "weekly"
		return number + s
	}
	for _, span := range calendar {
		if len(word) >= 3 && strings.HasPrefix(span.words[0], word) { // "mon" is no slip of "min"
			return number + span.words[0]
		}
	}
	for _, span := range spans {
		if m := likely(word, span.words...); m != "" {
			return number + m
		}
	}
	for _, span := range calendar {
		if m := likely(word, span.words...); m != "" {
			return number + m
		}
	}
	return number + word
}

// text returns the text of the quotas.
func (g *guess) text() string {
	g.spread()
	if g.late != "" {
		g.words, g.late = append(g.words, g.late), ""
	}
	if len(g.words) > 2 && (g.words[1] == "overall" || g.words[1] == "streamed") {
		word := g.words[1]
		g.words = append(slices.Delete(g.words, 1, 2), word)
	}
	text := g.done
	for _, owed := range g.owed {
		if strings.HasSuffix(owed, "/") {
			if i := slices.Index(g.words, "/") + 1; 0 < i && i < len(g.words) {
				owed += g.words[i]
			}
		}
		text += owed + ", "
	}
	for i, word := range g.words {
		if i > 0 && word != "/" && g.words[i-1] != "/" {
			text += " "
		}
		text += word
	}
	return text
}

// spread has a fraction of a token as whole tokens in a longer span: 3/2s for 1.5/s.
func (g *guess) spread() {
	const largest = 100 // of the spans, as for 0.01/s; what was meant by more is not known
	if i := slices.Index(g.words, "/") + 1; g.n != nil && 0 < i && i < len(g.words) {
		per, ok := period(g.words[i])
		if parts := g.n.Denom(); ok && per <= math.MaxInt64/largest && !g.n.IsInt() && parts.Cmp(big.NewInt(largest)) <= 0 {
			g.words[0], g.words[i] = g.n.Num().String(), span(per*time.Duration(parts.Int64()))
		}
	}
}

// likely returns that of the known words which is nearly the word; nothing if none is.
func likely(word string, known ...string) string {
	word = strings.ToLower(word)
	for _, k := range known {
		if word == k {
			return k
		}
	}
	for _, k := range known {
		if spelling.OneSlip(word, k) && min(len(word), len(k)) >= 3 {
			return k
		}
	}
	return ""
}
