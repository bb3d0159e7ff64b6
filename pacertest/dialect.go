package pacertest

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Dialect says how a Verdict is written into the headers of an answer. It is data:
// a predefined Dialect with one field changed is the Dialect of another server. The
// zero value writes nothing.
//
// The headers of these servers were captured, and the Dialects reproduce them:
//
//	@fastify/rate-limit, throttled      XRateLimitDelta
//	express-rate-limit, legacy          XRateLimit with RetryAfter: RetryAfterSeconds
//	express-rate-limit, draft-6 and -7  RateLimitDraft6, RateLimitDraft7
//	ulule/limiter                       XRateLimit with ResetFloor: true
//	go-chi/httprate                     XRateLimit with ResetFloor: true, RetryAfter: RetryAfterWindow
//	nginx limit_req                     NoHeaders
type Dialect struct {
	// Layout is how Limit, Remaining and Reset are laid out in header fields. If zero,
	// they are not written.
	Layout Layout

	// Prefix begins the names of all fields but Retry-After. If empty, it is
	// "RateLimit-".
	Prefix string

	// Suffix ends the names of the fields of a LayoutTrio, as in OpenAI's
	// "X-RateLimit-Limit-Requests". If empty, nothing is added.
	Suffix string

	// Policy adds a field "RateLimit-Policy: 50;w=2" to a LayoutTrio. The other layouts
	// always have it.
	Policy bool

	// Name is the name of the policy in a LayoutList. If empty, it is "default".
	Name string

	// Reset is how a LayoutTrio writes the reset. The other layouts have no other forms
	// than ResetDelta and ResetOmitted: they write ResetDelta for any other.
	Reset ResetForm

	// ResetFloor rounds the reset down to the unit of its form. Otherwise it is
	// rounded up. What is rounded is what is written: an instant or a difference.
	ResetFloor bool

	// RetryAfter is how a refusal says when to come back. If zero, it does not say. A
	// refusal of a request that is never admitted does not say either.
	RetryAfter RetryAfterForm

	// RetryAfterFloor rounds the time to come back down, so that a client comes back
	// too early. Otherwise it is rounded up.
	RetryAfterFloor bool

	// RefusalsOnly writes the limit into refusals only.
	RefusalsOnly bool
}

// Layout is how the numbers of a limit are laid out in header fields. The zero Layout, or
// any text that is none of the constants, does not write them.
type Layout string

// The layouts of a limit.
const (
	// LayoutTrio is three fields: Limit, Remaining and Reset, each after the Prefix.
	LayoutTrio Layout = "trio"
	// LayoutDictionary is the combined field "RateLimit: limit=50, remaining=49,
	// reset=2" of draft-ietf-httpapi-ratelimit-headers-07.
	LayoutDictionary Layout = "dictionary"
	// LayoutList is the form with a name, of draft 08 and later: `RateLimit:
	// "default";r=49;t=2`.
	LayoutList Layout = "list"
)

// ResetForm is a way of writing when a quota is reset. The zero ResetForm is ResetDelta, as
// is any text that is none of the constants.
type ResetForm string

// The forms of a reset.
const (
	ResetDelta       ResetForm = "delta"        // seconds from now: 2
	ResetDeltaMillis ResetForm = "delta_millis" // milliseconds from now: 1500
	ResetDecimal     ResetForm = "decimal"      // seconds from now, to the millisecond: 1.500
	ResetDuration    ResetForm = "duration"     // time from now, to the millisecond, as Go writes it: 6m0s
	ResetEpoch       ResetForm = "epoch"        // seconds since 1970: 1795249032
	ResetEpochMillis ResetForm = "epoch_millis" // milliseconds since 1970: 1795249032500
	ResetRFC3339     ResetForm = "rfc3339"      // 2026-11-21T08:17:12Z
	ResetDate        ResetForm = "date"         // Sat, 21 Nov 2026 08:17:12 GMT
	ResetOmitted     ResetForm = "omitted"      // not at all
)

// RetryAfterForm is a way of writing when to come back. Zero, the empty text, writes
// nothing, as does any text that is none of the constants.
type RetryAfterForm string

// The forms of a time to come back.
const (
	RetryAfterSeconds RetryAfterForm = "seconds" // Retry-After: 2
	RetryAfterDecimal RetryAfterForm = "decimal" // Retry-After: 1.500
	RetryAfterMillis  RetryAfterForm = "millis"  // Retry-After-Ms: 1500
	RetryAfterDate    RetryAfterForm = "date"    // Retry-After: Sat, 21 Nov 2026 08:17:12 GMT
	RetryAfterWindow  RetryAfterForm = "window"  // Retry-After: the whole window in seconds, however much of it is over
)

// Predefined dialects.
var (
	// NoHeaders writes nothing.
	NoHeaders = Dialect{}

	// RetryAfterOnly writes a Retry-After in seconds, and no limit.
	RetryAfterOnly = Dialect{RetryAfter: RetryAfterSeconds}

	// XRateLimit is GitHub's Dialect: X-RateLimit-Limit, -Remaining, and -Reset in
	// seconds since 1970; no Retry-After.
	XRateLimit = Dialect{Layout: LayoutTrio, Prefix: "X-RateLimit-", Reset: ResetEpoch}

	// XRateLimitDelta has the names of XRateLimit, but a reset in seconds from now, and
	// a Retry-After.
	XRateLimitDelta = Dialect{Layout: LayoutTrio, Prefix: "X-RateLimit-", RetryAfter: RetryAfterSeconds}

	// RateLimitDraft6 is draft-ietf-httpapi-ratelimit-headers-06: three fields
	// and RateLimit-Policy.
	RateLimitDraft6 = Dialect{Layout: LayoutTrio, Policy: true, RetryAfter: RetryAfterSeconds}

	// RateLimitDraft7 is version 07 of the same draft: one dictionary.
	RateLimitDraft7 = Dialect{Layout: LayoutDictionary, RetryAfter: RetryAfterSeconds}

	// RateLimitDraft8 is version 08 and later of the same draft: lists with names.
	RateLimitDraft8 = Dialect{Layout: LayoutList, RetryAfter: RetryAfterSeconds}

	// OpenAI has the fields of OpenAI and Groq that are about requests, with a reset
	// like 6m0s.
	OpenAI = Dialect{Layout: LayoutTrio, Prefix: "X-RateLimit-", Suffix: "-Requests", Reset: ResetDuration, RetryAfter: RetryAfterSeconds}

	// Anthropic has Anthropic's fields that are about requests, with a reset as in RFC
	// 3339.
	Anthropic = Dialect{Layout: LayoutTrio, Prefix: "Anthropic-RateLimit-Requests-", Reset: ResetRFC3339, RetryAfter: RetryAfterSeconds}
)

// Set sets the fields of h that announce v, a Verdict made at now. A Server calls it by
// itself; it is for handlers that are no Server.
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
	case LayoutTrio:
		h.Set(prefix+"Limit"+d.Suffix, strconv.Itoa(v.Limit))
		h.Set(prefix+"Remaining"+d.Suffix, strconv.Itoa(v.Remaining))
		if delta != "" {
			h.Set(prefix+"Reset"+d.Suffix, d.reset(v.Reset, now))
		}
		if d.Policy {
			h.Set(prefix+"Policy", strconv.Itoa(v.Limit)+window)
		}
	case LayoutDictionary:
		h.Set(combined, fmt.Sprintf("limit=%d, remaining=%d", v.Limit, v.Remaining)+optional(", reset=", delta))
		h.Set(prefix+"Policy", strconv.Itoa(v.Limit)+window)
	case LayoutList:
		name := d.quoted()
		h.Set(combined, fmt.Sprintf("%s;r=%d", name, v.Remaining)+optional(";t=", delta))
		h.Set(prefix+"Policy", fmt.Sprintf("%s;q=%d%s", name, v.Limit, window))
	}
	if !v.OK {
		d.setRetryAfter(h, v, now)
	}
}

// reset writes a reset that is in from now, in the form of d.
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

// setRetryAfter sets the field of h that says when to come back, if d has one.
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

// quoted returns the name of the policy as a String of RFC 9651, section 4.1.6.
func (d Dialect) quoted() string {
	name := d.Name
	if name == "" {
		name = "default"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// optional returns the key and the value, or nothing if there is no value.
func optional(key, value string) string {
	if value == "" {
		return ""
	}
	return key + value
}

// round rounds d to a multiple of unit: down if floor is set, and otherwise up.
func round(d, unit time.Duration, floor bool) time.Duration {
	whole := d - d%unit
	if whole < d && !floor && whole <= math.MaxInt64-unit {
		whole += unit
	}
	return whole
}

// number writes d as a number of whole units.
func number(d, unit time.Duration, floor bool) string {
	return strconv.FormatInt(int64(round(d, unit, floor)/unit), 10)
}

// decimal writes d in seconds with three decimals.
func decimal(d time.Duration, floor bool) string {
	ms := round(d, time.Millisecond, floor).Milliseconds()
	return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
}

// instant returns the instant that is in from now, rounded to a multiple of unit, in
// UTC.
func instant(now time.Time, in, unit time.Duration, floor bool) time.Time {
	at := now.Add(in).UTC()
	whole := at.Truncate(unit)
	if whole.Before(at) && !floor {
		whole = whole.Add(unit)
	}
	return whole
}
