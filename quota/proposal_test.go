package quota

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// Nothing that an error of Parse proposes is refused in its turn: with it in the place of the word, the text is
// read, or what is wrong is a later word. An error says nothing in a form that this test does not know.
func TestParseProposesNothingRefused(t *testing.T) {
	texts := []string{
		"5months", "5months in flight", "5 months", "5s", "10tokens", "10tokens fast", "10KBps", "10 KBps", "10 MBPS", "10 mbPS/s", "10KBps streamed", "10 KBps, 5/s",
		"10 KB", "10KB, 5/s", "10 KBps in flight", "5k", "5k fast", "5/99999999999", "5/99999999999999999999", "5/106752d", "99999999999999999999/s", "5/s sliding 99999999999999999999",
		"9999999999999TB/m", `2 "input tokens"`, `2 "at once"/s`, "2 input tokens/m", "2 req uests/m", "2 in put/s", "2 mo log in UTC", "5/s in Nowhere", "5/d in Nowhere", "5/s from noon", "5/w from noon",
		"5/5months even", "2 token/s, 3 tokens/s", "500ms every m", "5s in flight", "2days per user", "1ns fast",
	}
	r := rand.New(rand.NewPCG(2, 6))
	pick := func(of string) string { all := strings.Split(of, "|"); return all[r.IntN(len(all))] }
	quota := func() string {
		return pick("5|0|-1|1.5|10k|10KB|10kB|5months|10tokens|5s|99999999999999999999|1,000|10KBps|10 KBps|10 MBPS|5 mo|2 input tokens|5 in|no limit|no|x|5 calls|5 \"a b\"|5 \"calls\"|10Mi|5 mb|1MB|7B|3 token") +
			pick("|/s|/5|/0s|/-1s|/month|/5months|/200000d|/99999999999999999999|/fortnight|/decade|/w| in flight| unanswered| per minute|/1ns|/d| /h") +
			pick("||| burst| burst 5| burst 5KB| even| in Nowhere| in UTC| from noon| from 3| window grid| sliding 1.5| log| as my name| as| streamed| warm-up 5| warm-up 200000d| fast| queue 0| queue 5KB| cold x| debt| overall") +
			pick("|||| even| log| window grid| streamed| in flight| as x")
	}
	for range whole.Or(500, 20_000) {
		text := quota()
		if r.IntN(4) == 0 {
			text += ", " + quota()
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		if _, err := Parse(text); err != nil {
			obeyed(t, text, err)
		}
	}
}

// obeyed does what an error says.
func obeyed(t *testing.T, text string, err error) {
	t.Helper()
	message, at, word := err.Error(), 0, ""
	if e := (*syntaxError)(nil); errors.As(err, &e) {
		message, at, word = e.want, e.column-1, e.word
	} else if i := strings.Index(message, ", want "); i >= 0 {
		message = message[i+2:]
	}
	for _, f := range forms {
		m := f.text.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		said := slices.DeleteFunc(m[1:], func(s string) bool { return s == "" })
		for _, e := range f.follow(text, at, word, said) {
			better := text[:e.from] + e.by + text[e.to:]
			_, err := Parse(better)
			var next *syntaxError
			var field *fieldError
			switch {
			case err == nil:
			case errors.As(err, &next) && (isLater(better, e.from+len(e.by), next, f.bound) || strings.HasPrefix(next.want, didYouMean)):
			case errors.As(err, &field) && (!slices.Contains([]string{"N", "Per", "Unit"}, field.field) || strings.Contains(field.text, " is 0, want a positive number")):
			default:
				t.Errorf("%q: %v\n%q: %v", text, message, better, err)
			}
		}
		return
	}
	t.Errorf("%q: %s: a form that this test does not know", text, message)
}

// isLater reports whether an error is about a word that stands behind an offset of a text; or nothing does, and
// that may be so.
func isLater(text string, end int, e *syntaxError, mayEnd bool) bool {
	at := e.column - 1
	return at >= end && (mayEnd || strings.Trim(text[end:at], blanks) != "" || e.word != "" && e.word != ",")
}

// edit is what somebody writes in place of a part of a text.
type edit struct {
	from, to int
	by       string
}

// forms are all forms in which an error says what was expected or meant, and how somebody follows it, who has a
// text with a word at an offset that cannot be read.
var forms = []struct {
	text   *regexp.Regexp
	follow func(text string, at int, word string, said []string) []edit
	bound  bool // what is said is the largest of what is valid, or the least
}{
	{form(`did you mean (".*?[^\\]")(?: for ".*")?(?: \([^()]*\))?`), quoted, false},
	{form(`want (\S+)(?: or (\S+))?, in bytes`), inPlace, false},
	{form(`want the number in digits, or of bytes (\S+)(?: or (\S+))?`), inPlace, false},
	{form(`want bytes in one word with the number: (\S+)(?: or (\S+))?`), withNumber, false},
	{form(`want a slash before a span: (\S+)`), inPlace, false},
	{form(`want a blank after the number(?:, and a span)?: (\S+ \S+)`), inPlace, false},
	{form(`want a unit of one word, such as (\S+)`), asUnit, false},
	{form(`want a unit too, such as (\S+)`), inPlace, false},
	{form(`want at (?:most|least) (\d+d|\d+|1µs)`), inPlace, true},
	{form(`want at most (\d+) bytes`), func(text string, at int, word string, said []string) []edit {
		return inPlace(text, at, word, []string{said[0] + "B"})
	}, true},
	{form(`want a whole number from (1), or bytes such as (500kB) or (1MiB)(?:, or "no limit")?`), func(text string, at int, word string, said []string) []edit {
		return inPlace(text, at, word, said[:1])
	}, true},
	{form(`want a quota such as (5/s), (100 tokens/1m30s), (1MiB/s) or (10 in flight)`), instead, false},
	{form(`want a span such as (/m), a unit and a span such as (tokens/m) \(of bytes, one word: (1MiB/s)\), "(in flight)" or "(unanswered)"`), func(text string, at int, word string, said []string) []edit {
		number := len(strings.TrimRight(text[:at], blanks))
		word = strings.TrimPrefix(word, ",") // that stays
		return []edit{{number, at + len(word), said[0]}, {number, at + len(word), " " + said[3]}, {number, at + len(word), " " + said[4]}}
	}, false},
	{form(`want (ms), (s), (m), (h), (d), (w), (month), (quarter), (year), or a duration such as (1m30s)`), inPlace, false},
	{form(`want (month), (2months), (quarter), (4months), (6months) or (year), so that windows begin in the same months each year`), inPlace, false},
	{form(`want "in flight" without a span \("(10 in flight)"\), or behind a comma \("(5/s, 10 in flight)"\)`), instead, false},
	{form(`want a time zone of the IANA database such as (\S+)`), inPlace, false},
	{form(`want no time zone: months and days of a clock have one, as in (1000/month in UTC) and (1000/d window grid in UTC)`), instead, false},
	{form(`want a day of the week such as (monday), or of a month: 2000/month from 15`), inPlace, false},
	{form(`want no from: months and weeks begin on a day, as in (2000/month from 15) and (1000/w window grid from sunday)`), instead, false},
	{form(`want 0 without Months or a ClockWindow of a week \((1000/month), (1000/w window grid)\)`), instead, false},
	{form(`want none without Months or a ClockWindow of whole days \((1000/month), (1000/d window grid)\)`), instead, false},
	{form(`want (?:false for a quota of \w+: only bytes are streamed, as in|TokenBucket beside Streamed, since bytes flow evenly:) (1MB/s streamed)`), instead, false},
	{form(`want "\S+" as in ".*"; if both are meant, "(no limit of \S+)" before it says so`), func(_ string, _ int, _ string, said []string) []edit {
		return []edit{{0, 0, said[0] + ", "}}
	}, false},
	{form(`want ` + regexp.QuoteMeta(wantedClause) + `(?:; a name of several words stands in double quotes: as "my name")?`), nothing, false},
	{form(`want (?:"limit" after "no"|"flight" after "in"|only one (?:of even and burst|[\w-]+)|more than zero|a whole number of bytes|a number from 1|a number of cells from 1|a day of the month from 1 to 31|a duration such as 10s|a unit)`), nothing, false},
	{form(`want (?:a whole number from 1, or bytes if the quota is of bytes|a word, or some in double quotes)`), nothing, false},
	{form(`want (?:0|false|a positive number|Plain or ClockWindow) (?:for|beside|without) .*`), nothing, false},
}

// form is what matches all of an error.
func form(text string) *regexp.Regexp { return regexp.MustCompile("^" + text + "$") }

func quoted(text string, _ int, _ string, said []string) []edit {
	better, err := strconv.Unquote(said[0])
	if err != nil {
		panic(err)
	}
	return []edit{{0, len(text), better}}
}

// inPlace has each of what was said in the place of the word.
func inPlace(_ string, at int, word string, said []string) (all []edit) {
	for _, s := range said {
		all = append(all, edit{at, at + len(word), s})
	}
	return all
}

// withNumber has what was said in the place of a unit, and of the word before it.
func withNumber(text string, at int, word string, said []string) []edit {
	unit, _, _ := strings.Cut(word, "/")
	from := strings.LastIndexAny(strings.TrimRight(text[:at], blanks), blanks+",") + 1
	return inPlace(text, from, text[from:at+len(unit)], said)
}

// asUnit has what was said in the place of the words of a unit.
func asUnit(text string, at int, word string, said []string) []edit {
	if words, err := strconv.QuotedPrefix(word); err == nil {
		return inPlace(text, at, words, said)
	}
	return withNumber(text, at, word, said)
}

func instead(text string, _ int, _ string, said []string) (all []edit) {
	return inPlace(text, 0, text, said)
}

func nothing(string, int, string, []string) []edit { return nil }
