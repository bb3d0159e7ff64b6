package headers

import (
	"slices"
	"strings"
	"time"
)

// roles are the words that say what a header's value is.
var roles = map[string]role{
	"limit": limit, "max": limit, "total": limit, "quota": limit, "capacity": limit,
	"remaining": remaining, "left": remaining, "remain": remaining, "available": remaining,
	"used": used, "usage": used, "consumed": used,
	"reset": reset, "resets": reset, "resettime": reset, "next": reset,
	"window": window, "period": window, "duration": window,
	"policy": policy, "type": kind,
	"resource": label, "bucket": label, "name": label, "group": label, "action": label, "zone": label, "scope": label,
}

// labels ranks the words whose values name a limit: the more specific comes first. All but
// the last say which counter a request drew on; a scope says whom else it counts for
// (Discord's are user, shared and global).
var labels = [...]string{"resource", "bucket", "name", "group", "action", "zone", "scope"}

// tellsBucket reports whether the value of a label is a Limit.Bucket.
func (f *field) tellsBucket() bool { return int(f.order) < len(labels)-1 }

// forms are the words that say how a value is written.
var forms = map[string]form{
	"after": seconds, "in": seconds, "seconds": seconds, "sec": seconds,
	"at": instant, "time": instant, "timestamp": instant, "epoch": instant, "date": instant, "utc": instant,
}

// steps are the words that say what a number of time counts.
var steps = map[string]time.Duration{
	"ms": time.Millisecond, "milliseconds": time.Millisecond, "millis": time.Millisecond,
	"minutes": time.Minute, "mins": time.Minute,
}

// unitOf are the words that say what is counted.
var unitOf = map[string]string{
	"requests": requests, "request": requests, "tokens": "tokens", "token": "tokens", "bytes": "content-bytes",
	"complexity": "complexity", "credits": "credits", "points": "points", "percent": "percent", "percentage": "percent",
	"concurrent": "concurrent-requests", "concurrency": "concurrent-requests",
	"ai": "tokens", // the plugins ai-* of Apache APISIX put it before the marker
}

const requests = "requests"

// scopes are words that say whose a limit is, so that they are no units.
var scopes = map[string]bool{
	"user": true, "client": true, "app": true, "application": true, "account": true, "org": true, "organization": true,
	"team": true, "tenant": true, "workspace": true, "project": true, "ip": true, "key": true, "global": true, "endpoint": true,
	"route": true, "method": true, "read": true, "write": true, "search": true, "burst": true,
}

func orderOf(w string) uint8 {
	for i, l := range labels {
		if l == w {
			return uint8(i)
		}
	}
	return 0
}

// periods are the words that name a window, in names of headers and in values.
// A month and a year are names of windows without a fixed length.
var periods = map[string]time.Duration{
	"second": time.Second, "secondly": time.Second, "sec": time.Second, "persecond": time.Second, "qps": time.Second,
	"minute": time.Minute, "minutely": time.Minute, "min": time.Minute, "perminute": time.Minute,
	"hour": time.Hour, "hourly": time.Hour, "perhour": time.Hour,
	"day": 24 * time.Hour, "daily": 24 * time.Hour, "perday": 24 * time.Hour,
	"week": 7 * 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
	"month": 0, "monthly": 0, "permonth": 0, "year": 0, "yearly": 0,
}

// windowOf returns the window that a word names: "daily", "15min", "10s". It is zero for a
// month and longer, and false if the word names none.
func windowOf(w string) (time.Duration, bool) {
	if p, ok := periods[w]; ok {
		return p, true
	}
	if d, _, ok := parseDuration(w, maxWindow); ok && d > 0 {
		return d, true
	}
	i := 0
	for i < len(w) && isDigit(w[i]) {
		i++
	}
	n, ok := parseNumber(w[:i])
	p := periods[strings.TrimSuffix(w[i:], "s")]
	if !ok || n.whole == 0 || p == 0 {
		return 0, false
	}
	d, _ := n.duration(p, maxWindow)
	return d, true
}

// isLong reports whether one of the words names a window that has no fixed length, which
// are those of a month and longer.
func isLong(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		p, ok := windowOf(w)
		return ok && p == 0
	})
}

// isTime reports whether the words say that a number is a time.
func isTime(words []string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return steps[last] > 0 || last == "seconds" || last == "time" && len(words) == 1
}

// parsePeriod reads a window that is a word: "minute", "per_hour", "QPS", "Daily-limit".
func parsePeriod(s string) (d time.Duration) {
	if len(s) > maxNumber {
		return 0
	}
	words := strings.FieldsFunc(strings.ToLower(trim(s)), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	for _, w := range words {
		if w == "per" || w == "limit" {
			continue
		}
		p, ok := windowOf(w)
		if !ok || d > 0 {
			return 0
		}
		d = p
	}
	return d
}
