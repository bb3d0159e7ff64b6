package pacertest

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Dialect says how a Verdict is written into the headers of a response. It
// is data: take one of the predefined ones, change a field, and it is another
// server's. The zero value writes nothing.
//
// The headers of these servers were captured and compared:
//
//	@fastify/rate-limit, throttled      XRateLimitDelta
//	express-rate-limit, legacy          XRateLimit with RetryAfter: RetryAfterSeconds
//	express-rate-limit, draft-6 and -7  RateLimitDraft6, RateLimitDraft7
//	ulule/limiter                       XRateLimit with ResetFloor: true
//	go-chi/httprate                     XRateLimit with ResetFloor: true, RetryAfter: RetryAfterWindow
//	nginx limit_req                     None
type Dialect struct {
	// Layout is how Limit, Remaining and Reset are laid out in fields. If
	// zero, they are not written.
	Layout Layout

	// Prefix begins the names of all fields but Retry-After. If empty, it is
	// "RateLimit-".
	Prefix string

	// Suffix ends the names of a Trio's fields, as in OpenAI's
	// "X-RateLimit-Limit-Requests".
	Suffix string

	// Policy makes a Trio be followed by a field "RateLimit-Policy: 50;w=2".
	// A Dictionary and a List always are.
	Policy bool

	// Name is the name of the policy in a List. If empty, it is "default".
	Name string

	// Reset is how a Trio writes the reset. A Dictionary and a List only know
	// ResetDelta and ResetOmitted; they write a delta for all others.
	Reset ResetForm

	// ResetFloor rounds the reset down to the unit of its form. Otherwise it
	// is rounded up. Either way it is the instant or the difference as
	// written that is rounded.
	ResetFloor bool

	// RetryAfter is how a refusal says when to come back. If zero, it does
	// not. What is never admitted has no such time, and no such field.
	RetryAfter RetryAfterForm

	// RetryAfterFloor rounds the time to come back down, which makes it too
	// early. Otherwise it is rounded up.
	RetryAfterFloor bool

	// RefusalsOnly writes the limit on refusals only.
	RefusalsOnly bool
}

// Layout is how the numbers of a limit are laid out in header fields.
type Layout int

// The layouts of a limit.
const (
	// Trio is three fields: Limit, Remaining and Reset, each after the Prefix.
	Trio Layout = iota + 1
	// Dictionary is the combined field "RateLimit: limit=50, remaining=49,
	// reset=2" of draft-ietf-httpapi-ratelimit-headers-07.
	Dictionary
	// List is the named form of draft 08 and later: `RateLimit:
	// "default";r=49;t=2`.
	List
)

// ResetForm is a way of writing when a quota is reset.
type ResetForm int

// The forms of a reset.
const (
	ResetDelta       ResetForm = iota // seconds from now: 2
	ResetDeltaMillis                  // milliseconds from now: 1500
	ResetDecimal                      // seconds from now, to the millisecond: 1.500
	ResetDuration                     // time from now, to the millisecond, as Go writes it: 6m0s
	ResetEpoch                        // seconds since 1970: 1795249032
	ResetEpochMillis                  // milliseconds since 1970: 1795249032500
	ResetRFC3339                      // 2026-11-21T08:17:12Z
	ResetDate                         // Sat, 21 Nov 2026 08:17:12 GMT
	ResetOmitted                      // not at all
)

// RetryAfterForm is a way of writing when to come back.
type RetryAfterForm int

// The forms of a time to come back.
const (
	RetryAfterOmitted RetryAfterForm = iota // not at all
	RetryAfterSeconds                       // Retry-After: 2
	RetryAfterDecimal                       // Retry-After: 1.500
	RetryAfterMillis                        // Retry-After-Ms: 1500
	RetryAfterDate                          // Retry-After: Sat, 21 Nov 2026 08:17:12 GMT
	RetryAfterWindow                        // Retry-After: the window in seconds, whatever is left of it
)

// Predefined dialects.
var (
	// None writes nothing.
	None = Dialect{}

	// RetryAfterOnly writes a Retry-After in seconds, and no limit.
	RetryAfterOnly = Dialect{RetryAfter: RetryAfterSeconds}

	// XRateLimit is GitHub's: X-RateLimit-Limit, -Remaining, and -Reset in
	// seconds since 1970; no Retry-After.
	XRateLimit = Dialect{Layout: Trio, Prefix: "X-RateLimit-", Reset: ResetEpoch}

	// XRateLimitDelta has the names of XRateLimit, but seconds from now, and a
	// Retry-After.
	XRateLimitDelta = Dialect{Layout: Trio, Prefix: "X-RateLimit-", RetryAfter: RetryAfterSeconds}

	// RateLimitDraft6 is draft-ietf-httpapi-ratelimit-headers-06: three fields
	// and RateLimit-Policy.
	RateLimitDraft6 = Dialect{Layout: Trio, Policy: true, RetryAfter: RetryAfterSeconds}

	// RateLimitDraft7 is the same draft's version 07: one dictionary.
	RateLimitDraft7 = Dialect{Layout: Dictionary, RetryAfter: RetryAfterSeconds}

	// RateLimitDraft8 is the same draft's version 08 and later: named lists.
	RateLimitDraft8 = Dialect{Layout: List, RetryAfter: RetryAfterSeconds}

	// OpenAI is the requests part of OpenAI's and Groq's fields, with a reset
	// like 6m0s.
	OpenAI = Dialect{Layout: Trio, Prefix: "X-RateLimit-", Suffix: "-Requests", Reset: ResetDuration, RetryAfter: RetryAfterSeconds}

	// Anthropic is the requests part of Anthropic's fields, with a reset in
	// RFC 3339.
	Anthropic = Dialect{Layout: Trio, Prefix: "Anthropic-RateLimit-Requests-", Reset: ResetRFC3339, RetryAfter: RetryAfterSeconds}
)

// Set sets in h the header fields that announce v, which was made at now.
func (d Dialect) Set(h http.Header, v Verdict, now time.Time) {
	if v.OK && d.RefusalsOnly {
		return
	}
	prefix := d.Prefix
	if prefix == "" {
		prefix = "RateLimit-"
	}
	combined := strings.TrimSuffix(prefix, "-")
	window := ""
	if v.Window > 0 && v.Window != Never {
		window = ";w=" + number(v.Window, time.Second, false)
	}
	delta := ""
	if d.Reset != ResetOmitted && v.Reset != Never {
		delta = number(v.Reset, time.Second, d.ResetFloor)
	}
	switch d.Layout {
	case Trio:
		h.Set(prefix+"Limit"+d.Suffix, strconv.Itoa(v.Limit))
		h.Set(prefix+"Remaining"+d.Suffix, strconv.Itoa(v.Remaining))
		if delta != "" {
			h.Set(prefix+"Reset"+d.Suffix, d.reset(v.Reset, now))
		}
		if d.Policy {
			h.Set(prefix+"Policy", strconv.Itoa(v.Limit)+window)
		}
	case Dictionary:
		h.Set(combined, fmt.Sprintf("limit=%d, remaining=%d", v.Limit, v.Remaining)+optional(", reset=", delta))
		h.Set(prefix+"Policy", strconv.Itoa(v.Limit)+window)
	case List:
		name := d.quoted()
		h.Set(combined, fmt.Sprintf("%s;r=%d", name, v.Remaining)+optional(";t=", delta))
		h.Set(prefix+"Policy", fmt.Sprintf("%s;q=%d%s", name, v.Limit, window))
	}
	if !v.OK {
		d.setRetryAfter(h, v, now)
	}
}

// reset returns the reset in the form of d.
func (d Dialect) reset(in time.Duration, now time.Time) string {
	switch d.Reset {
	case ResetDeltaMillis:
		return number(in, time.Millisecond, d.ResetFloor)
	case ResetDecimal:
		return decimal(in, d.ResetFloor)
	case ResetDuration:
		return round(in, time.Millisecond, d.ResetFloor).String()
	case ResetEpoch:
		return strconv.FormatInt(instant(now, in, time.Second, d.ResetFloor).Unix(), 10)
	case ResetEpochMillis:
		return strconv.FormatInt(instant(now, in, time.Millisecond, d.ResetFloor).UnixMilli(), 10)
	case ResetRFC3339:
		return instant(now, in, time.Second, d.ResetFloor).Format(time.RFC3339)
	case ResetDate:
		return instant(now, in, time.Second, d.ResetFloor).Format(http.TimeFormat)
	default:
		return number(in, time.Second, d.ResetFloor)
	}
}

func (d Dialect) setRetryAfter(h http.Header, v Verdict, now time.Time) {
	in, floor := v.RetryAfter, d.RetryAfterFloor
	if in == Never {
		return
	}
	switch d.RetryAfter {
	case RetryAfterSeconds:
		h.Set("Retry-After", number(in, time.Second, floor))
	case RetryAfterDecimal:
		h.Set("Retry-After", decimal(in, floor))
	case RetryAfterMillis:
		h.Set("Retry-After-Ms", number(in, time.Millisecond, floor))
	case RetryAfterDate:
		h.Set("Retry-After", instant(now, in, time.Second, floor).Format(http.TimeFormat))
	case RetryAfterWindow:
		if v.Window == Never {
			return
		}
		h.Set("Retry-After", number(v.Window, time.Second, floor))
	}
}

// quoted returns the policy's name as a String of RFC 9651, section 4.1.6.
func (d Dialect) quoted() string {
	name := d.Name
	if name == "" {
		name = "default"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// optional returns value after its key, or nothing if there is no value.
func optional(key, value string) string {
	if value == "" {
		return ""
	}
	return key + value
}

// round returns d as a whole multiple of unit.
func round(d, unit time.Duration, floor bool) time.Duration {
	whole := d - d%unit
	if whole < d && !floor && whole <= math.MaxInt64-unit {
		whole += unit
	}
	return whole
}

// number returns d in whole units.
func number(d, unit time.Duration, floor bool) string {
	return strconv.FormatInt(int64(round(d, unit, floor)/unit), 10)
}

// decimal returns d in seconds with three decimals.
func decimal(d time.Duration, floor bool) string {
	ms := round(d, time.Millisecond, floor).Milliseconds()
	return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
}

// instant returns the instant in from now as a whole multiple of unit, in UTC.
func instant(now time.Time, in, unit time.Duration, floor bool) time.Time {
	at := now.Add(in).UTC()
	whole := at.Truncate(unit)
	if whole.Before(at) && !floor {
		whole = whole.Add(unit)
	}
	return whole
}
