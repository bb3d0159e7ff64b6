// Package stated translates what an answer says into what a bucket learns from.
//
// In come limits and hints as package headers has them; out come statements, in the units of quotas, the
// server's name for what the request drew on, and whether the answer is a refusal. The package does not know
// what is made of them.
package stated

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Statements translates what headers say into what throttle learns from. It leaves out limits that do not bind
// now, and those of requests at the same time, unless a reset is stated: see Concurrency.
func Statements(to []quota.Statement, limits []headers.Limit) []quota.Statement {
	for i := range limits {
		l := &limits[i]
		if !binds(l) || l.Unit == concurrent && !l.Reset.Known {
			continue
		}
		s := quota.Statement{
			Name: l.Name, Counter: l.Counter, Unit: unitName(l.Unit), Limit: l.Limit.N, Remaining: l.Remaining.N,
			Reset: l.Reset.In, ResetKnown: l.Reset.Known, Resolution: l.Reset.Resolution, Window: l.Window,
			Absolute: l.Reset.Absolute, Skew: l.Reset.Skew,
		}
		i := sameName(to, &s)
		if i >= 0 && s.Name == "" && s.Limit > 0 && to[i].Limit > 0 && s.Limit != to[i].Limit {
			s.Name = strconv.FormatInt(s.Limit, 10) // without a name, that is what tells a limit from the other
			i = sameName(to, &s)
		}
		if i < 0 {
			to = append(to, s)
		} else if s.Remaining < to[i].Remaining || s.Remaining == to[i].Remaining && s.ResetKnown && s.Reset > to[i].Reset {
			to[i] = s // two statements of one name are about one limit: the tighter counts
		}
	}
	return to
}

// Concurrency returns what is stated of requests at the same time. Of several such limits, the tightest numbers
// count. One that has a reset comes back in time, whatever its unit is called: that is a Statement.
func Concurrency(limits []headers.Limit) (c quota.Concurrency) {
	for i := range limits {
		l := &limits[i]
		if l.Unit != concurrent || l.Advisory || l.Reset.Known {
			continue
		}
		if n := l.Limit.N; n > 0 && (c.Limit == 0 || n < c.Limit) {
			c.Limit = n
		}
		if n := l.Remaining.N; binds(l) && (!c.RemainingKnown || n < c.Remaining) {
			c.Remaining, c.RemainingKnown = n, true
		}
	}
	return c
}

// concurrent is the unit in draft-ietf-httpapi-ratelimit-headers, section 9.4, of limits of requests at the
// same time.
const concurrent = "concurrent-requests"

// binds reports whether a limit says what may go now. One without a Remaining says nothing about now, an
// advisory limit binds nobody, and with 0 of 0 the server does not count (Tyk, Okta).
func binds(l *headers.Limit) bool {
	return l.Remaining.Known && !l.Advisory && (l.Remaining.N > 0 || !l.Limit.Known || l.Limit.N > 0)
}

// sameName returns the index of the statement that has the name, the counter and the unit of another, or -1.
func sameName(in []quota.Statement, s *quota.Statement) int {
	return slices.IndexFunc(in, func(o quota.Statement) bool { return o.Name == s.Name && o.Counter == s.Counter && o.Unit == s.Unit })
}

// unitName returns the name that Quotas have for a unit of headers. Both have an empty one for requests.
func unitName(name string) string {
	if name == "content-bytes" { // draft-ietf-httpapi-ratelimit-headers section 9.4
		return quota.Bytes
	}
	return name
}

// Counter returns the name that an answer gives to what its request drew on. The name is empty if the answer
// gives none, or more than one.
func Counter(limits []headers.Limit) (name string) {
	for i := range limits {
		switch b := limits[i].Counter; {
		case b == "" || b == name:
		case name != "":
			return ""
		default:
			name = b
		}
	}
	return name
}

// UsedUp reports whether nothing remains of at least one of the limits.
func UsedUp(limits []headers.Limit) bool {
	return slices.ContainsFunc(limits, func(l headers.Limit) bool { return binds(&l) && l.Remaining.N == 0 })
}

// Refusal notes in a whether the answer, which says that of limits, refuses the request, and for how long the
// bucket is to be held if so.
func Refusal(a *throttle.Answer, resp *http.Response, limits []headers.Limit, hint headers.Retry) {
	switch {
	case verdict.Refusal(resp.StatusCode, hint, resp.StatusCode >= 400 && UsedUp(limits)):
		if hint.Refusal == headers.RefusalSpent && hint.After < spentHold {
			hint = headers.Retry{Known: true, After: spentHold}
		}
		if a.Refused = true; hint.Known {
			a.Hold = &quota.Hold{For: hint.After, Resolution: hint.Resolution, Absolute: hint.Absolute, Skew: hint.Skew}
		}
	case resp.StatusCode >= 400:
		a.MayRefuse = verdict.MayRefuse(resp.StatusCode, hint)
	}
}

// spentHold is for how long a bucket is held, within MaxHold, when the server says that a quota by the day or
// longer, or a quota that costs money, is spent. After spentHold, one request looks whether that has changed.
const spentHold = time.Hour
