package body

import (
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/refusal"
	"github.com/gopacer/pacer/headers/internal/value"
)

// reader collects what the values of a body say, in whichever order they come.
type reader struct {
	facts Facts
	most  time.Duration // bounds facts.Delay

	own      Limit    // what the body says of itself, by words for a quota
	quota    Limit    // that is being read
	problem  bool     // the body is a problem of the IETF draft
	violated []string // the policies that it names
	global   bool     // Discord's limit is that of all routes

	resets value.Delay // in which time something is back, if nothing is left
	left   value.Count

	// Points of a GraphQL API.
	maximum, available value.Count
	rate, cost         value.Number // points that are restored in a second, and that the request costs
}

// none is what remains of a limit that is exceeded: a count of zero.
var none = value.Count{Known: true}

// number reads a delay that is a number of units.
func (r *reader) number(text string, unit time.Duration) (d value.Delay) {
	if n, ok := value.ParseNumber(text); ok {
		d = value.DelayOf(n.Duration(unit, r.most))
	}
	return d
}

// wait notes how long to wait: of several delays the longest counts.
func (r *reader) wait(d value.Delay) { r.facts.Delay = r.facts.Delay.Longer(d) }

// seconds reads a delay that is a number.
func (r *reader) seconds(text string) { r.wait(r.number(text, time.Second)) }

// duration reads a delay as Protocol Buffers write it in JSON: "34.074824224s".
func (r *reader) duration(text string) {
	if d, resolution, ok := value.ParseDuration(text, r.most); ok {
		r.wait(value.DelayOf(d, resolution))
	}
}

// delay reads a delay that is a number of seconds or a duration, or an instant in its place.
func (r *reader) delay(text string) {
	switch n, ok := value.ParseNumber(text); {
	case ok && n.Whole >= firstEpoch:
		r.facts.Next = text
	case ok:
		r.seconds(text)
	default:
		r.duration(text)
		r.next(text)
	}
}

// firstEpoch is the least number that is an instant and no delay, as value.ParseDelay reads it: a second of
// 2001.
const firstEpoch = 1e9

// millis reads a delay that is a number of milliseconds.
func (r *reader) millis(text string) { r.wait(r.number(text, time.Millisecond)) }

// throttle reads a number of seconds that is zero where there is nothing to wait for.
func (r *reader) throttle(text string) {
	if n, ok := value.ParseNumber(text); ok && n.Whole+n.Nanos > 0 {
		r.seconds(text)
	}
}

// resetsIn reads in how many seconds a limit is restored.
func (r *reader) resetsIn(text string) {
	if d := r.number(text, time.Second); d.Known {
		r.resets = d
	}
}

// next reads the instant at which to try again.
func (r *reader) next(text string) {
	if _, _, ok := value.ParseInstant(text); ok {
		r.facts.Next = text
	}
}

// because notes why the request was refused.
func (r *reader) because(why refusal.Refusal) { r.facts.Refusal = max(r.facts.Refusal, why) }

// problems are the types of problems that draft-ietf-httpapi-ratelimit-headers
// registers, and why they refuse. The policies that they name are exceeded.
var problems = map[string]refusal.Refusal{
	"quota-exceeded": refusal.TooFast, "temporary-reduced-capacity": refusal.Busy, "abnormal-usage-detected": refusal.Unknown,
}

// problemType reads the type of a problem (RFC 9457).
func (r *reader) problemType(text string) {
	base, kind, _ := strings.Cut(text, "#")
	if _, ok := problems[kind]; ok && strings.HasSuffix(base, "iana.org/assignments/http-problem-types") {
		r.problem = true
		r.because(problems[kind])
	}
	if strings.HasSuffix(text, "/2/problems/usage-capped") {
		r.because(refusal.Spent) // X's monthly cap
	}
}

// documentation reads where GitHub explains an error. A secondary limit is told by that alone (and prose) where
// there is no Retry-After: then "wait for at least one minute before retrying", says
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit.
func (r *reader) documentation(url string) {
	switch _, section, _ := strings.Cut(url, "#"); section {
	case "about-secondary-rate-limits", "secondary-rate-limits", "abuse-rate-limits":
		r.because(refusal.TooFast)
		r.facts.Else = value.DelayOf(min(time.Minute, r.most), time.Second)
	}
}

// violatedPolicy reads the name of a policy that the request exceeded.
func (r *reader) violatedPolicy(text string) {
	if policy := value.CleanName(text); policy != "" && len(r.violated) < value.MaxMembers {
		r.violated = append(r.violated, policy)
	}
}

// quotaName reads the name of a quota of Google, which says of what and of which window it
// is: "GenerateRequestsPerDayPerProjectPerModel-FreeTier".
func (r *reader) quotaName(text string) {
	q := &r.quota
	q.Name = value.CleanName(text)
	words := camelWords(text)
	for i, w := range words {
		if u := value.UnitOf(w); u != "" && q.Unit == "" {
			q.Unit = u
		}
		if i > 0 && words[i-1] == "per" {
			q.setWindow(w)
		}
	}
}

// quotaValue reads how much a quota of Google is in all.
func (r *reader) quotaValue(text string) { r.quota.Limit = value.ParseCount(text) }

// quotaUnit reads the unit of a quota of Google: "1/min/{project}", "1/d/{project}".
func (r *reader) quotaUnit(text string) {
	if _, rest, ok := strings.Cut(text, "/"); ok {
		w, _, _ := strings.Cut(rest, "/")
		r.quota.setWindow(map[string]string{"s": "second", "min": "minute", "h": "hour", "d": "day"}[w])
	}
}

// endQuota ends the quota that is being read, which is exceeded.
func (r *reader) endQuota() {
	q := r.quota
	r.quota = Limit{}
	switch {
	case q.Limit.Known && q.Limit.N == 0:
		r.because(refusal.Spent) // there is none, and no waiting helps
	case q.Name != "":
		q.Remaining = none
		r.add(q)
	}
}

// add adds a limit unless one of that name is known.
func (r *reader) add(l Limit) {
	if len(r.facts.Limits) < value.MaxMembers && !slices.ContainsFunc(r.facts.Limits, func(o Limit) bool { return o.Name == l.Name }) {
		l.Unit = value.UnitOfLimit(l.Unit)
		r.facts.Limits = append(r.facts.Limits, l)
	}
}

// finish concludes what follows from several values, in whichever order they came.
func (r *reader) finish() {
	r.endQuota()
	if r.problem {
		for _, policy := range r.violated {
			r.add(Limit{Name: policy, Remaining: none})
		}
	}
	if r.global && r.facts.Delay.Known {
		r.add(Limit{Name: "global", Remaining: none, Reset: r.facts.Delay})
	}
	r.points()
	if r.left == none {
		r.wait(r.resets)
	}
	if r.own.Remaining.Known {
		r.own.Name = "quota"
		r.add(r.own)
	}
}

// points concludes what points and the rate at which they are restored say: when all of
// them are back, and when there are enough for a request that was throttled.
func (r *reader) points() {
	l := Limit{Name: "cost", Unit: "points", Limit: r.maximum, Remaining: r.available}
	rate := r.rate.Float()
	if rate > 0 && l.Limit.Known && l.Remaining.Known {
		resolution := max(fromSeconds(1/rate), 1)
		l.Window = min(fromSeconds(float64(l.Limit.N)/rate), value.MaxWindow)
		l.Reset = value.DelayOf(fromSeconds(float64(l.Limit.N-l.Remaining.N)/rate), resolution)
		if missing := r.cost.Float() - float64(l.Remaining.N); missing > 0 && r.facts.Refusal == refusal.TooFast {
			r.wait(value.DelayOf(min(fromSeconds(missing/rate), r.most), resolution))
		}
	}
	if l.Limit.Known || l.Remaining.Known {
		r.add(l)
	}
}

// fromSeconds converts seconds to a duration of at most the longest reset.
func fromSeconds(s float64) time.Duration {
	return time.Duration(max(min(s, value.Longest.Seconds()), 0) * float64(time.Second))
}

// camelWords takes a name such as ReadRequestsPerMinute apart into lower-case words, 32 at
// most.
func camelWords(name string) []string {
	var words []string
	start := 0
	for i := 1; i <= len(name) && len(words) < value.MaxMembers; i++ {
		if i == len(name) || isUpper(name[i]) && !isUpper(name[i-1]) || name[i] == '-' {
			words = append(words, strings.ToLower(strings.Trim(name[start:i], "-")))
			start = i
		}
	}
	return words
}

func isUpper(c byte) bool { return c-'A' < 26 }
