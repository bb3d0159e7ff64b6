package headers

import (
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
	h := parseDelay(value, auto, &clock{received: date})
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
func parseDelay(value string, f form, c *clock) delay {
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

func numericDelay(n number, f form, c *clock) delay {
	unit := time.Second
	switch {
	case f == millis && n.whole < minEpochMilli:
		unit = time.Millisecond
	case n.whole >= 1e9 && n.whole < maxEpochNano: // an instant by mistake, and those are of today
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
	never, should bool
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
			h.addDelay(f, parseDelay(v, f.form, c))
		}
	}
}

func (h *hints) addDelay(f *field, d delay) {
	switch {
	case f == standardRetry:
		h.standard = h.standard.longer(d)
	case f.form == millis:
		h.millis = h.millis.longer(d)
	default:
		h.other = h.other.longer(d)
	}
}

// disagreement is how far two hints may be apart to be the same one, rounded.
const disagreement = 2 * time.Second

// delay returns the hint that counts: the one in milliseconds, unless Retry-After
// is clearly longer; then Retry-After; then what single vendors send, also where it
// is Retry-After before it was rounded.
func (h *hints) delay() delay {
	d := h.millis
	if !d.known || h.standard.known && h.standard.after > d.after+disagreement {
		d = h.standard
	}
	if o := h.other; !d.known || o.known && o.step < d.step && (o.after-d.after).Abs() <= d.step {
		d = o
	}
	return d
}

// fill fills in what all of it comes to.
func (h *hints) fill(r *Retry) {
	if d := h.delay(); d.known {
		r.Known, r.After, r.Resolution = true, d.after, d.step
	}
	switch {
	case h.never:
		r.Word = NeverRetry
	case h.should:
		r.Word = ShouldRetry
	}
}
