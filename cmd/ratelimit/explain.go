package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/quota"
)

// explain says what an answer tells.
func (a *answer) explain(w io.Writer) {
	facts := headers.Parse(a.header, a.received)
	if a.from != "" {
		fmt.Fprintf(w, "%s\n", a.from)
	}
	switch {
	case a.status == http.StatusTooManyRequests:
		fmt.Fprintln(w, "The server refuses the request: 429, too many requests.")
	case a.status >= 400:
		fmt.Fprintf(w, "The server answers with an error: %d.\n", a.status)
	case a.status >= 300 && a.status != http.StatusNotModified:
		fmt.Fprintf(w, "The server sends elsewhere: %d%s. That answer may say more.\n", a.status, a.elsewhere())
	}
	evidence := "What says so:"
	switch {
	case len(facts.Limits) > 0:
	case a.isCached():
		fmt.Fprintln(w, "A cache gave the answer. What it says of limits was said to another request, so that it is not believed.")
		evidence = "What is in it:"
	default:
		fmt.Fprintln(w, "It states no limit.")
	}
	for i := range facts.Limits {
		a.writeLimit(w, &facts.Limits[i])
	}
	writeRetry(w, facts.Retry)
	var past, unknown []string
	for i, r := range (*headers.Reader)(nil).Explain(a.header, a.received) {
		switch {
		case r.Says == "" && r.By != "" && hasPassed(r.Values, a.received):
			past = append(past, field(&r))
			continue
		case r.Says == "":
			unknown = append(unknown, field(&r))
			continue
		}
		if i == len(past)+len(unknown) {
			fmt.Fprintln(w, "\n"+evidence)
		}
		fmt.Fprintf(w, "  %s\n      %s (%s)\n", field(&r), visible.Text(r.Says, maxText), r.By)
	}
	writeFields(w, a.inThePast(), past)
	writeFields(w, "Not understood, though the name looks like one of a limit:", unknown)
}

// inThePast says why instants that have passed say nothing, and what to do if the answer is not a new one.
func (a *answer) inThePast() string {
	if _, err := http.ParseTime(a.header.Get("Date")); err == nil {
		return "Not believed, since it had passed when the answer came (its Date):"
	}
	return "Not believed, since it has passed. The answer has no Date; if it is not a new one, put the line \"Date: …\" of when it came into its head:"
}

// writeFields writes headers under a heading, or nothing if there are none.
func writeFields(w io.Writer, heading string, fields []string) {
	if len(fields) > 0 {
		fmt.Fprintf(w, "\n%s\n", heading)
	}
	for _, f := range fields {
		fmt.Fprintf(w, "  %s\n", f)
	}
}

// hasPassed reports whether values are one instant of before now, but of this millennium, in seconds or
// milliseconds since 1970 or as a date.
func hasPassed(values []string, now time.Time) bool {
	text := strings.TrimSpace(strings.Join(values, ","))
	at, err := http.ParseTime(text)
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, text)
	}
	if n, bad := strconv.ParseFloat(text, 64); bad == nil {
		if err = nil; n >= 1e12 {
			n /= 1000
		}
		at = time.Unix(int64(min(max(n, 0), 1e12)), 0)
	}
	return err == nil && at.Year() >= 2000 && at.Before(now)
}

// isCached reports whether an answer would state limits if no cache had given it.
func (a *answer) isCached() bool {
	h := a.header.Clone()
	for _, key := range [...]string{"Age", "X-From-Cache"} {
		h.Del(key)
	}
	return len(headers.Parse(h, a.received).Limits) > 0
}

// elsewhere returns where a redirect goes to, or nothing.
func (a *answer) elsewhere() string {
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || u.Path == "" && u.Host == "" {
		return ""
	}
	return ", to " + place(u)
}

// field returns a header as it is in the answer, fit to be printed.
func field(r *headers.Reading) string {
	return visible.Text(r.Name, maxText) + ": " + visible.Text(strings.Join(r.Values, ", "), maxText)
}

// writeLimit says what a limit is.
func (a *answer) writeLimit(w io.Writer, l *headers.Limit) {
	name := "A limit without a name"
	if l.Name != "" {
		name = "The limit " + strconv.Quote(visible.Text(l.Name, maxText))
	}
	unit := cmp.Or(visible.Text(l.Unit, maxText), quota.Requests)
	fmt.Fprintf(w, "%s: ", name)
	switch {
	case l.Limit.Known && l.Limit.N == 0 && l.Remaining.Known && l.Remaining.N == 0:
		fmt.Fprintf(w, "0 of 0 %s, which servers write that count nothing", unit)
	case l.Limit.Known:
		fmt.Fprintf(w, "%d %s%s", l.Limit.N, oneOf(unit, l.Limit.N), perWindow(l.Window))
		if l.Remaining.Known {
			fmt.Fprintf(w, ", of which %d %s left", l.Remaining.N, areOrIs(l.Remaining.N))
		}
	case l.Remaining.Known:
		fmt.Fprintf(w, "%d %s %s left%s, and it is not said of how many", l.Remaining.N, oneOf(unit, l.Remaining.N), areOrIs(l.Remaining.N), perWindow(l.Window))
	default:
		fmt.Fprint(w, "it is not said how much")
	}
	switch {
	case !l.Reset.Known:
		fmt.Fprintln(w, ". It is not said when that is restored.")
	case l.Reset.In == 0:
		fmt.Fprintln(w, ". It is restored now.")
	case l.Reset.In >= headers.MaxReset:
		fmt.Fprintf(w, ". It is restored in %s or later: no later reset is read.\n", lasting(l.Reset.In))
	default:
		fmt.Fprintf(w, ". It is restored in %s, by %s.\n", lasting(l.Reset.In), a.received.Add(l.Reset.In).UTC().Format("2006-01-02 15:04:05 MST"))
	}
	if l.Counter != "" && l.Counter != l.Name {
		fmt.Fprintf(w, "  The request drew on the counter %q.\n", visible.Text(l.Counter, maxText))
	}
	if l.Advisory {
		fmt.Fprintln(w, "  The server announces this limit, and does not enforce it yet.")
	}
	if text, why := quotaText(l); text != "" {
		fmt.Fprintf(w, "  As a quota of pacer: %s\n", text)
	} else {
		fmt.Fprintf(w, "  No quota of pacer says the same: %s.\n", why)
	}
}

// oneOf returns a unit as it is said of a number: one of requests is a request.
func oneOf(unit string, n int64) string {
	if n == 1 && len(unit) > 3 && !strings.HasSuffix(unit, "ss") {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

func areOrIs(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// lasting says how long d is, without what nobody wants to read: several whole days as "31 days", not as
// "744h0m0s".
func lasting(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d > day && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	case d > time.Second:
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// perWindow returns the time in which a limit is granted: " a minute", " in 15m0s", " in 30 days", or nothing.
func perWindow(d time.Duration) string {
	switch d {
	case 0:
		return ""
	case time.Second:
		return " a second"
	case time.Minute:
		return " a minute"
	case time.Hour:
		return " an hour"
	case 24 * time.Hour:
		return " a day"
	case 7 * 24 * time.Hour:
		return " a week"
	}
	return " in " + lasting(d)
}

// quotaText returns the text of a quota that says what a limit says, or why there is none.
func quotaText(l *headers.Limit) (text, why string) {
	q := quota.Quota{N: l.Limit.N, Per: l.Window, Unit: l.Unit}
	switch {
	case !l.Limit.Known:
		return "", "the answer does not say how much there is in all"
	case l.Limit.N == 0:
		return "", "that is no number of a quota"
	case l.Unit == "percent":
		return "", "percent are no requests"
	case l.Unit == "concurrent-requests":
		q = quota.Quota{N: q.N, Kind: quota.InFlight}
	case l.Window == 0:
		return "", "the answer names no time of a fixed length"
	case l.Unit == "content-bytes":
		q.Unit = quota.Bytes
	}
	if err := (quota.Quotas{q}).Validate(); err != nil {
		return "", visible.Text(err.Error(), maxText)
	}
	return q.String(), ""
}

// writeRetry says what the answer says about trying again.
func writeRetry(w io.Writer, r headers.Retry) {
	switch {
	case r.Known && r.After >= headers.MaxRetryAfter:
		fmt.Fprintf(w, "It asks to wait for %s or longer before the next attempt: no longer wait is read.\n", lasting(r.After))
	case r.Known:
		fmt.Fprintf(w, "It asks to wait for %s before the next attempt.\n", lasting(r.After))
	}
	switch r.Advice {
	case headers.AdviceNever:
		fmt.Fprintln(w, "It says that the request is not to be sent again.")
	case headers.AdviceRetry:
		fmt.Fprintln(w, "It says that the request may be sent again.")
	}
	switch r.Refusal {
	case headers.RefusalTooFast:
		fmt.Fprintln(w, "Its reason: a limit over time is used up.")
	case headers.RefusalBusy:
		fmt.Fprintln(w, "Its reason: the server is busy.")
	case headers.RefusalTooMany:
		fmt.Fprintln(w, "Its reason: too many requests are under way at the same time.")
	case headers.RefusalSpent:
		fmt.Fprintln(w, "Its reason: a quota by the day or longer, or for money, is used up; waiting for a moment is in vain.")
	}
}
