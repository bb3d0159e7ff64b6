package quota

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file guesses what was meant by words that are not those of Parse.

// didYouMean begins what an error says if it is plain what was meant.
const didYouMean = "did you mean "

// spans are the words for spans, beside the units of time.ParseDuration.
var spans = [...]struct {
	letter string
	words  []string
}{
	{"s", []string{"sec", "secs", "second", "seconds"}},
	{"m", []string{"min", "mins", "minute", "minutes"}},
	{"h", []string{"hr", "hrs", "hour", "hours"}},
	{"d", []string{"day", "days"}},
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

// rates are what people write for requests in a span, and for what is in flight.
var (
	rates = map[string]time.Duration{
		"rps": time.Second, "qps": time.Second, "rpm": time.Minute, "qpm": time.Minute, "rph": time.Hour, "rpd": 24 * time.Hour,
	}
	requests = []string{Requests, "request", "r", "req", "reqs"}
	flights  = []string{"concurrent", "concurrently", "parallel", "simultaneous", "simultaneously", "in-flight", "in_flight", "inflight"}
)

// isNoUnit reports whether a word means something else than a unit, in the text of a quota or to those who write it: a
// quota in that unit would never bind.
func isNoUnit(word string) bool {
	switch word {
	case Requests, Bytes:
		return false
	case "in", Unanswered.String():
		return true
	}
	if near(word, Requests) || near(word, Bytes) {
		return true
	}
	word = strings.ToLower(word)
	_, rate := rates[word]
	return rate || word == "per" || slices.Contains(flights, word) || slices.Contains(requests[2:], word)
}

// meant returns what was probably meant, as the end of an error, by a quota of which q is known, and the rest is words
// that Parse cannot read: "per minute", "req/s", "rps", "concurrent". It returns nothing if nobody knows.
func meant(q Quota, rest string) string {
	rest, _, _ = strings.Cut(rest, ",")
	words := strings.Fields(strings.ReplaceAll(strings.ToLower(rest), "/", " per "))
	if len(words) > 0 && q.Unit == "" && slices.Contains(requests, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	per, rate := rates[words[0]]
	switch {
	case rate && q.Unit == "":
		q.Per = per
	case slices.Contains(flights, words[0]):
		q.Kind = InFlight
	case len(words) > 1 && slices.Contains([]string{"per", "a", "an", "each", "every"}, words[0]):
		span := words[1]
		if digits, unit := cutNumber(span); digits != "" && unit == "" && len(words) > 2 {
			span += words[2] // "per 10 seconds"
		}
		var ok bool
		if q.Per, ok = period(likelySpan(span)); !ok {
			return ""
		}
	default:
		return ""
	}
	if q.check() != nil {
		return ""
	}
	return didYouMean + strconv.Quote(q.String())
}

// likelySpan returns a span in which the unit is known, if it is nearly a known one: "1week" is "7d", "minut" is "minute".
func likelySpan(s string) string {
	number, word := cutNumber(strings.ToLower(s))
	switch word {
	case "w", "wk", "week", "weeks":
		if number == "" || number == "1" {
			return "7d"
		}
		return s
	}
	for _, span := range spans {
		if m := likely(word, span.words...); m != "" {
			return number + m
		}
	}
	return number + word
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
		if _, x, y := difference(word, k); oneSlip(x, y) && min(len(word), len(k)) >= 3 {
			return k
		}
	}
	return ""
}

// clauses are the words with which clauses begin.
var clauses = []string{"even", "burst", "debt", "queue", "window", "sliding", "log", "estimate", "warm-up", "cold", "as"}

// fieldOf has the field that each clause sets.
var fieldOf = map[string]string{
	"even": "Burst", "burst": "Burst", "debt": "Debt", "queue": "Queue", "window": "Kind", "sliding": "Kind", "log": "Kind", "estimate": "Kind",
	"warm-up": "WarmUp", "cold": "ColdFactor", "as": "Name",
}

// wantedClause says what was expected in place of a word where a clause begins.
func wantedClause(word string) string {
	same := map[string]string{"evenly": "even", "rolling": "log", "warm": "warm-up", "warmup": "warm-up", "name": "as", "named": "as"}
	if m := same[strings.ToLower(word)]; m != "" {
		return didYouMean + strconv.Quote(m)
	}
	if m := likely(word, clauses...); m != "" {
		return didYouMean + strconv.Quote(m)
	}
	if m := likely(word, "grid"); m != "" {
		return didYouMean + `"window grid"`
	}
	last := len(clauses) - 1
	return "a comma, " + strings.Join(clauses[:last], ", ") + " or " + clauses[last]
}

// wantedWord says that a word was expected in place of another one.
func wantedWord(word, known, want string) string {
	if likely(word, known) != "" {
		return didYouMean + strconv.Quote(known)
	}
	return want
}
