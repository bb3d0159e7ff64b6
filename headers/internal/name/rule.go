package name

import (
	"strings"

	"github.com/gopacer/pacer/headers/internal/value"
)

// parseName takes a name apart into words: an optional x and beta, a vendor, the
// marker (ratelimit, rate-limit, or a word that ends in limit), a role, how the
// value is written, and what is left distinguishes the limit from others.
//
//	anthropic-ratelimit-input-tokens-remaining   remaining, "input-tokens"
//	x-ratelimit-limit-requests-day               limit, "requests-day", a day
//	x-daily-ratelimit-token-limit                limit, "daily-token", a day
//	x-ratelimit-userreset                        reset, "user"
//	x-quota-remaining                            remaining, if x-quota-limit is stated, too
func parseName(key string) *Meaning { //nolint:gocyclo // it reads one shape of a name after the other
	if value.CleanName(key) == "" {
		return nil
	}
	words := nameWords(key)
	m := &Meaning{}
	var rest []string
	marked, soft := false, 0
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "x" && i == 0:
		case w == "beta" && len(rest) == 0 && !marked:
			m.Advisory = true
		case w == "retry" || w == "retryafter":
			return retryName(m, words[i:])
		case !marked && w == "rate" && i+1 < len(words) && words[i+1] == "limit":
			i++
			marked, rest, m.Family = true, vendor(m, rest), strings.Join(words[:i+1], "-")
		case !marked && strings.HasSuffix(w, "ratelimit"):
			marked, rest, m.Family = true, vendor(m, rest), strings.Join(words[:i+1], "-")
			rest = appendWord(rest, strings.TrimSuffix(w, "ratelimit"))
		case !marked && w == "ratelimitbysize": // Kong's, in front of language models
			marked, rest, m.Family, m.Unit = true, nil, strings.Join(words[:i+1], "-"), "tokens"
		case !marked && w != "limit" && strings.HasSuffix(w, "limit") && i+1 < len(words):
			marked, rest, m.Family = true, vendor(m, rest), strings.Join(words[:i], "-")
			rest = appendWord(rest, strings.TrimSuffix(w, "limit"))
		case m.Role == Ignored && roles[w] != Ignored:
			m.setRole(w)
			if w == "limit" || w == "quota" {
				soft = i + 1
			}
		case soft > 0 && !marked && m.Family == "" && roles[w] != Ignored:
			m.Family = strings.Join(words[:soft], "-") // the first of two roles was the marker
			m.setRole(w)
		case (m.Role == Reset || m.Role == Window) && forms[w] != Auto:
			m.Form = forms[w]
		case (m.Role == Reset || m.Role == Window) && steps[w] > 0:
			m.Form, m.Step = Auto, steps[w]
		case w == "per" && i+1 < len(words):
		case m.Role == Ignored && marked:
			stem, r := fused(w)
			m.Role, rest = r, appendWord(rest, stem)
		default:
			rest = appendWord(rest, w)
		}
	}
	if m = distinguish(m, rest, marked); m != nil {
		m.rank = rankOf(m.Family)
		if m.Weak {
			m.rank = lastRank
		}
	}
	return m
}

// nameWords returns the words of a name, which hyphens separate. An underscore is no
// hyphen: a proxy that takes the one for the other must not make a limit of it.
func nameWords(key string) []string {
	key = strings.ToLower(key)
	for _, role := range [...]string{"limit", "remaining", "reset"} { // x-ratelimitreset
		if stem, ok := strings.CutSuffix(key, role); ok && strings.HasSuffix(stem, "ratelimit") {
			key = stem + "-" + role
		}
	}
	return strings.Split(key, "-")
}

// setRole sets the role that a word names.
func (m *Meaning) setRole(w string) {
	m.Role, m.order = roles[w], labelOrder(w)
	if w == "next" || w == "resettime" {
		m.Form = Instant
	}
}

// vendor returns which of the words before the marker distinguish the limit: periods,
// units, and numbers with what they number. The rest names the vendor.
func vendor(m *Meaning, words []string) []string {
	var rest []string
	for i, w := range words {
		_, period := value.WindowOf(w)
		switch {
		case isDigits(w) && i > 0:
			rest = append(rest, words[i-1], w)
		case period, value.UnitOf(w) != "" && w != "ai":
			rest = append(rest, w)
		}
		if w == "ai" {
			m.Unit = value.UnitOf(w)
		}
	}
	return rest
}

// fused splits words such as userlimit, userremaining and userreset.
func fused(w string) (stem string, r Role) {
	for _, suffix := range [...]string{"limit", "remaining", "reset", "used"} {
		if stem, ok := strings.CutSuffix(w, suffix); ok {
			return stem, roles[suffix]
		}
	}
	return w, Ignored
}

// retryName completes the meaning of a name that has the word retry.
func retryName(m *Meaning, words []string) *Meaning {
	m.Role, m.rank = Retry, lastRank
	if m.Advisory || words[0] == "retry" && (len(words) == 1 || words[1] != "after" && words[1] != "in") {
		return nil
	}
	m.Step = steps[words[len(words)-1]]
	return m
}

// appendWord appends a word that is not empty.
func appendWord(words []string, w string) []string {
	if w == "" {
		return words
	}
	return append(words, w)
}

// isDigits reports whether a word is made of digits.
func isDigits(word string) bool {
	for i := range len(word) {
		if !value.IsDigit(word[i]) {
			return false
		}
	}
	return true
}
