package headers

import (
	"cmp"
	"strings"
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
func parseName(key string) *field {
	if cleanName(key) == "" {
		return nil
	}
	words := nameWords(key)
	f := &field{}
	var rest []string
	marked, soft := false, 0
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "x" && i == 0:
		case w == "beta" && len(rest) == 0 && !marked:
			f.advisory = true
		case w == "retry" || w == "retryafter":
			return retryName(f, words[i:])
		case !marked && w == "rate" && i+1 < len(words) && words[i+1] == "limit":
			i++
			marked, rest, f.family = true, vendor(f, rest), strings.Join(words[:i+1], "-")
		case !marked && strings.HasSuffix(w, "ratelimit"):
			marked, rest, f.family = true, vendor(f, rest), strings.Join(words[:i+1], "-")
			rest = appendWord(rest, strings.TrimSuffix(w, "ratelimit"))
		case !marked && w == "ratelimitbysize": // Kong's, in front of language models
			marked, rest, f.family, f.unit = true, nil, strings.Join(words[:i+1], "-"), "tokens"
		case !marked && w != "limit" && strings.HasSuffix(w, "limit") && i+1 < len(words):
			marked, rest, f.family = true, vendor(f, rest), strings.Join(words[:i], "-")
			rest = appendWord(rest, strings.TrimSuffix(w, "limit"))
		case f.role == ignored && roles[w] != ignored:
			f.setRole(w)
			if w == "limit" || w == "quota" {
				soft = i + 1
			}
		case soft > 0 && !marked && f.family == "" && roles[w] != ignored:
			f.family = strings.Join(words[:soft], "-") // the first of two roles was the marker
			f.setRole(w)
		case (f.role == reset || f.role == window) && forms[w] != auto:
			f.form = forms[w]
		case (f.role == reset || f.role == window) && steps[w] > 0:
			f.form, f.step = auto, steps[w]
		case w == "per" && i+1 < len(words):
		case f.role == ignored && marked:
			stem, r := fused(w)
			f.role, rest = r, appendWord(rest, stem)
		default:
			rest = appendWord(rest, w)
		}
	}
	if f = distinguish(f, rest, marked); f != nil {
		f.rank = rankOf(f.family)
		if f.weak {
			f.rank = lastRank
		}
	}
	return f
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

// setRole sets what a word says that a header is.
func (f *field) setRole(w string) {
	f.role, f.order = roles[w], orderOf(w)
	if w == "next" || w == "resettime" {
		f.form = instant
	}
}

// distinguish completes a field by the words that are left.
func distinguish(f *field, rest []string, marked bool) *field {
	f.group = strings.Join(rest, "-")
	f.name = cleanName(f.group)
	f.long = isLong(rest)
	counts := f.role == limit || f.role == remaining || f.role == used
	if counts && isTime(rest) {
		return nil // X-RateLimit-Remaining-Seconds: nobody says until what
	}
	for _, w := range rest {
		if p, ok := windowOf(w); ok {
			f.window = p
		}
		w, _, _ = strings.Cut(w, "_") // tokens_usage_based
		if u := unitOf[w]; u != "" && f.unit == "" {
			f.unit = u
		}
	}
	switch {
	case f.group == "":
	case f.unit == requests:
		f.place = 1
	default:
		f.place = 2
	}
	switch {
	case !marked && f.family != "" || !marked && (counts || f.role == reset):
		// X-Limit belongs to a page, not to a rate, and a quota of bytes to a disk.
		if f.family+f.group == "" || f.unit == unitOf["bytes"] {
			return nil
		}
		f.weak, f.family = true, cmp.Or(f.family, f.group)
	case !marked:
		return nil
	case f.role == ignored && len(rest) == 0:
		f.role = state
	case f.role == ignored && len(rest) == 1 && f.window > 0:
		f.role = limit // X-Vendor-RateLimit-Daily: 1000
	case f.role == ignored:
		f.role, f.form = pairs, keys
	case f.role != label && f.role != kind && len(rest) == 2 && f.window > 0 && f.unit == "" && !scopes[rest[0]]:
		f.unit = rest[0] // X-RateLimit-Limit-Videos-Minute, Kong's response-ratelimiting
	}
	if f.role == label || f.role == kind {
		f.name, f.group, f.place = "", "", 0
	}
	return f
}

// Ranks of what a user says, and of limits whose names have no marker.
const (
	ownRank  = 0
	lastRank = 5
)

// rankOf ranks families: what a user says, the fields of the IETF drafts, vendors' own,
// and the two spellings that many share and that mean the least.
func rankOf(family string) uint8 {
	switch family {
	case ownFamily:
		return ownRank
	case "ratelimit":
		return 1
	case "x-ratelimit":
		return 3
	case "x-rate-limit":
		return 4
	}
	return 2
}

// vendor returns which of the words before the marker distinguish the limit: periods,
// units, and numbers with what they number. The rest names the vendor.
func vendor(f *field, words []string) []string {
	var rest []string
	for i, w := range words {
		_, period := windowOf(w)
		switch {
		case atoi(w) >= 0 && i > 0:
			rest = append(rest, words[i-1], w)
		case period, unitOf[w] != "" && w != "ai":
			rest = append(rest, w)
		}
		if w == "ai" {
			f.unit = unitOf[w]
		}
	}
	return rest
}

// fused splits words such as userlimit, userremaining and userreset.
func fused(w string) (stem string, r role) {
	for _, suffix := range [...]string{"limit", "remaining", "reset", "used"} {
		if stem, ok := strings.CutSuffix(w, suffix); ok {
			return stem, roles[suffix]
		}
	}
	return w, ignored
}

// retryName completes a field whose name has the word retry.
func retryName(f *field, words []string) *field {
	f.role, f.rank = retry, lastRank
	if f.advisory || words[0] == "retry" && (len(words) == 1 || words[1] != "after" && words[1] != "in") {
		return nil
	}
	f.step = steps[words[len(words)-1]]
	return f
}

func appendWord(words []string, w string) []string {
	if w == "" {
		return words
	}
	return append(words, w)
}
