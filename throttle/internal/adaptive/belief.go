package adaptive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/overload"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// Beliefs says in words what is believed of the server, and why: first of its pace, of requests at the same
// time and of failures, then of each limit, by unit and name. Instants are by the wall clock of this machine,
// in UTC. What is not known is left out. There are no more than maxWindows + 5 texts, and names are cut as
// everywhere.
func (s *Server) Beliefs(now monotime.Time, clock *monotime.Clock) (all []string) {
	if p := s.pace.State(now); p.Rate > 0 || p.Slides {
		all = append(all, paceBelief(&p, now, clock))
	}
	if s.atOnce != nil && s.atOnce.Belief() != "" {
		all = append(all, s.atOnce.Belief())
	}
	switch s.overload.Belief() {
	case overload.MeanFailure:
	case overload.OnTrial:
		all = append(all, "failures without explanation, such as a 503, may be refusals: that is being tried")
	case overload.MeanRefusal:
		all = append(all, "failures without explanation, such as a 503, are refusals: they end when requests go more slowly")
	}
	windows := slices.Clone(s.windows)
	slices.SortStableFunc(windows, func(a, b *window) int {
		return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.name, b.name), cmp.Compare(a.counter, b.counter))
	})
	for _, w := range windows {
		if clauses := w.beliefs(clock); len(clauses) > 0 {
			all = append(all, w.text+": "+strings.Join(clauses, "; "))
		}
	}
	ofNow := 0
	for i := range s.kept {
		if s.kept[i].OfNow {
			ofNow++
		}
	}
	all = appendKept(all, ofNow, "states no more", "before")
	return appendKept(all, len(s.kept)-ofNow, "has not stated yet", "an earlier run")
}

// appendKept appends how many limits are known that the server does not state now, and from where.
func appendKept(all []string, n int, stated, from string) []string {
	switch n {
	case 0:
		return all
	case 1:
		return append(all, "1 limit that the server "+stated+" is known from "+from)
	}
	return append(all, strconv.Itoa(n)+" limits that the server "+stated+" are known from "+from)
}

// paceBelief says at which rate the server serves.
func paceBelief(p *pace.State, now monotime.Time, clock *monotime.Clock) string {
	switch {
	case p.Slides:
		return "serves " + strconv.Itoa(p.Window) + " in any " + short(p.Lasts) + ", each back as long after it went; tries more at " + at(p.Next, clock)
	case p.Window > 0:
		return "serves " + strconv.Itoa(p.Window) + " in each window of " + short(p.Lasts) + ", all at once; tries more at " + at(p.Next, clock)
	}
	clauses := []string{"serves about " + perSecond(p.Rate) + " while it refuses more, measured at " + at(p.SetAt, clock)}
	switch {
	case p.Tries > 0:
		clauses = append(clauses, "tries "+perSecond(p.Tries)+" now")
	case p.Former > 0:
		clauses = append(clauses, "served "+perSecond(p.Former)+" before, which is tried again at "+at(p.Next, clock))
	case p.Next > now:
		clauses = append(clauses, "tries twice that at "+at(p.Next, clock))
	}
	if p.Burst > 0 {
		clauses = append(clauses, "after idling, "+strconv.Itoa(p.Burst)+" at once")
	}
	return strings.Join(clauses, "; ")
}

// beliefs says how a limit is counted.
func (w *window) beliefs(clock *monotime.Clock) (clauses []string) {
	say := func(is bool, format string, args ...any) {
		if is {
			clauses = append(clauses, fmt.Sprintf(format, args...))
		}
	}
	r := &w.refill
	say(r.refills && pace.Sane(r.rate), "refills %s, seen since %s", perSecond(r.rate), at(r.meter.from, clock))
	say(r.refills && r.raise.on(), "the rate is raised until one is refused")
	say(!r.refills && w.seen.whole, "all of it comes back at the reset")
	say(!r.refills && w.span > 0, "a window lasts %s", short(w.span))
	say(w.millis.found, "resets are milliseconds, as the clock shows")
	say(w.reset.roundsDown, "resets are rounded down to %s", short(w.reset.resolution))
	say(w.wholeSteps == right, "a window ends in the same part of %s in which it began", short(w.reset.resolution))
	say(w.instances, "several instances of the server count, each by itself: the emptiest one counts here")
	say(len(w.overlap.users) > 1, "%d buckets draw on it", len(w.overlap.users))
	say(w.others.perOurToken >= 0.05, "others use %s for each of ours", number(w.others.perOurToken))
	if p := w.price; p != nil && p.known() {
		say(true, "a request costs %s in the mean, seen %s", number(p.mean), times(p.learned))
	}
	say(w.spread.Below > 0 && !r.refills, "%s spread over the time to the reset", last(w.spread.Below))
	say(w.behind.skip > 0, "states what remained before the request: one less counts")
	say(w.seek.most > 0, "no reset is stated; it was back within %s", short(w.seek.most))
	stated := w.reset.late != 0
	say(stated && w.missedLooks > 0, "nothing came back at the reset, %s", times(w.missedLooks))
	say(!stated && w.missedLooks > 0, "nothing was back at a look, %s", times(w.missedLooks))
	return clauses
}

// times is how often something was.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// last is the last n of a limit, before what they are; math.MaxInt64 is all of it.
func last(n int64) string {
	switch n {
	case 1:
		return "the last one is"
	case math.MaxInt64:
		return "all of it is"
	}
	return "the last " + strconv.FormatInt(n, 10) + " are"
}

// at is an instant by the wall clock.
func at(t monotime.Time, clock *monotime.Clock) string {
	return clock.Date(t).UTC().Format("15:04:05")
}

// perSecond is a rate as people write it: "20/s", "0.5/s", "3/min".
func perSecond(rate float64) string {
	if rate < 0.1 {
		return number(60*rate) + "/min"
	}
	return number(rate) + "/s"
}

// number has about three digits.
func number(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(math.Round(f), 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// short is a duration as people write it.
func short(d time.Duration) string {
	text := d.Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
