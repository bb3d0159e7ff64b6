package headers

import (
	"cmp"
	"strings"
	"time"
)

// RetryAfter reads a value of Retry-After in every form that is in use: whole and
// decimal seconds, the three HTTP-dates of RFC 9110 (5.6.7), RFC 3339, text such
// as "30s", and an instant in seconds or milliseconds since the epoch, which some
// servers send by mistake. Of a list the longest counts. Instants are measured
// against date, the Date of the same response; one that is past means no delay,
// and one that is past by more than a day makes no sense.
//
// The delay is at least zero and at most MaxRetryAfter. It is false if the value
// makes no sense, or if it is an instant and date is zero.
func RetryAfter(value string, date time.Time) (time.Duration, bool) {
	h := parseDelay(value, standardRetry, &clock{received: date})
	return h.after, h.known
}

// delay is what one value says.
type delay struct {
	after, step time.Duration
	known       bool
}

// longer returns the longer of two delays.
func (d delay) longer(e delay) delay {
	if e.known && (!d.known || e.after > d.after || e.after == d.after && e.step < d.step) {
		return e
	}
	return d
}

// parseDelay reads one field line.
func parseDelay(value string, f *field, c *clock) delay {
	s := trim(value)
	if len(s) > 4*maxNumber || s == "" {
		return delay{}
	}
	if n, ok := parseNumber(s); ok {
		return numericDelay(n, f, c)
	}
	if t, step, ok := parseInstant(s); ok {
		return delayUntil(t, step, c)
	}
	if d, step, ok := parseDuration(s, MaxRetryAfter); ok {
		return delay{d, step, true}
	}
	var longest delay
	if isDigit(s[0]) && strings.IndexByte(s, ',') > 0 { // a list, and no date
		for s != "" {
			var member string
			member, s, _ = strings.Cut(s, ",")
			if strings.IndexByte(member, ',') < 0 {
				longest = longest.longer(parseDelay(member, f, c))
			}
		}
	}
	return longest
}

func numericDelay(n number, f *field, c *clock) delay {
	unit := cmp.Or(f.step, time.Second)
	// An instant by mistake, and those are of today.
	if n.whole >= max(1e9, int64(longest/unit)) && n.whole < maxEpochNano {
		if t, step, ok := epoch(n); ok {
			return delayUntil(t, step, c)
		}
	}
	d, step := n.duration(unit, MaxRetryAfter)
	return delay{d, step, true}
}

func delayUntil(t time.Time, step time.Duration, c *clock) delay {
	in, ok := c.until(t)
	if !ok || in < -maxSkew {
		return delay{}
	}
	return delay{min(max(in, 0), MaxRetryAfter), step, true}
}

// hints collects what the headers of an answer say about trying again, in any order.
type hints struct {
	millis        delay // Retry-After-Ms and the like
	standard      delay // Retry-After
	other         delay // names of single vendors
	body          delay
	never, should bool
	cause         Cause
}

// standardRetry is the entry of Retry-After.
var standardRetry = &field{role: retry}

// add adds what one header says.
func (h *hints) add(f *field, values []string, c *clock) {
	for i, v := range values {
		if i == maxMembers {
			break
		}
		switch f.role {
		case age, cache:
		case should:
			switch trim(v) {
			case "false":
				h.never = true
			case "true":
				h.should = true
			}
		case reason:
			h.cause = max(h.cause, causeOf(v))
		case pushback:
			// Negative or unreadable means not to retry (gRPC proposal A6).
			n, ok := parseNumber(trim(v))
			if !ok || n.digits > 0 {
				h.never = true
				continue
			}
			d, step := n.duration(time.Millisecond, MaxRetryAfter)
			h.millis = h.millis.longer(delay{d, step, true})
		default:
			h.addDelay(f, parseDelay(v, f, c))
		}
	}
}

func (h *hints) addDelay(f *field, d delay) {
	switch {
	case f.step == time.Millisecond:
		h.millis = h.millis.longer(d)
	case f.rank == ownRank: // Retry-After, and what a user says is like it
		h.standard = h.standard.longer(d)
	default:
		h.other = h.other.longer(d)
	}
}

// disagreement is how far two hints may be apart to be the same one, rounded.
const disagreement = 2 * time.Second

// delay returns the hint that counts: the one in milliseconds, unless Retry-After
// is clearly longer; then Retry-After; then what single vendors send, also where it
// is Retry-After before it was rounded. That of a body counts where it is the finer one
// of two that agree, and where it is clearly longer.
func (h *hints) delay() delay {
	d := h.millis
	if !d.known || h.standard.known && h.standard.after > d.after+disagreement {
		d = h.standard
	}
	if !d.known || h.other.finer(d) {
		d = h.other
	}
	if b := h.body; !d.known || b.finer(d) || b.known && b.after > d.after+disagreement {
		d = b
	}
	return d
}

// finer reports whether d is e before it was rounded.
func (d delay) finer(e delay) bool {
	return d.known && d.step < e.step && (d.after-e.after).Abs() <= e.step
}

// retry returns what all of it comes to.
func (h *hints) retry() Retry {
	r := Retry{Cause: h.cause}
	if d := h.delay(); d.known {
		r.Known, r.After, r.Resolution = true, d.after, d.step
	}
	switch {
	case h.never:
		r.Word = NeverRetry
	case h.should:
		r.Word = ShouldRetry
	}
	return r
}
