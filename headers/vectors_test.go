package headers

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// vector is a case of testdata/headers.json: what a service sends, and what a careful
// reader of its documentation takes from it, the primary limit first. The other fields of a case are for
// people: whose it is, where that is documented, and how sure it is.
type vector struct {
	ID           string
	Headers      map[string][]string
	ReceivedAt   time.Time `json:"received_at"`
	Expect       []expected
	RetryAfterMS *int64 `json:"retry_after_ms"`
}

type expected struct {
	Name      string
	Unit      string
	Limit     *float64
	Remaining *float64
	ResetInMS *int64 `json:"reset_in_ms"`
	WindowMS  *int64 `json:"window_ms"`
}

// header returns the headers of a case as net/http would.
func header(fields map[string][]string) http.Header {
	h := http.Header{}
	for name, values := range fields {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	return h
}

func load(tb testing.TB, name string, to any) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		tb.Fatal(err)
	}
}

// differs returns how a limit differs from what is expected of it: missing is what
// was not read, wrong is what was read otherwise.
func (e expected) differs(l Limit) (missing, wrong []string) {
	note := func(what string, wanted, got, equal bool) {
		switch {
		case equal:
		case wanted && !got:
			missing = append(missing, what)
		default:
			wrong = append(wrong, what)
		}
	}
	limit, windowMS := e.Limit, e.WindowMS
	if limit != nil && *limit < 1 && *limit > 0 && windowMS != nil {
		one, w := 1.0, int64(math.Round(float64(*windowMS) / *limit)) // 0.5 a second is 1 in 2 s
		limit, windowMS = &one, &w
	}
	note("limit", limit != nil, l.Limit.Known, (limit != nil) == l.Limit.Known && (limit == nil || int64(*limit) == l.Limit.N))
	note("remaining", e.Remaining != nil, l.Remaining.Known,
		(e.Remaining != nil) == l.Remaining.Known && (e.Remaining == nil || int64(*e.Remaining) == l.Remaining.N))
	in := l.Reset.In.Round(time.Millisecond).Milliseconds()
	note("reset", e.ResetInMS != nil, l.Reset.Known, (e.ResetInMS != nil) == l.Reset.Known && (e.ResetInMS == nil || *e.ResetInMS == in ||
		l.Reset.Resolution < time.Millisecond && (*e.ResetInMS-in == 1 || in-*e.ResetInMS == 1)))
	window := l.Window.Round(time.Millisecond).Milliseconds()
	note("window", windowMS != nil, l.Window > 0, (windowMS != nil) == (l.Window > 0) && (windowMS == nil || *windowMS == window))
	note("name", e.Name != "", l.Name != "", strings.EqualFold(e.Name, l.Name))
	unit := e.Unit == cmp.Or(l.Unit, "requests") || e.Unit == "bytes" && l.Unit == "content-bytes" ||
		e.Unit == "other" && l.Unit != "" && l.Unit != "tokens" && l.Unit != "content-bytes"
	note("unit", e.Unit != "requests", l.Unit != "", unit)
	return missing, wrong
}

// deviations are the cases of headers.json that are not read as expected, and why. No
// headers tell what is expected there.
var deviations = map[string]string{
	"imgur":            "units: credits are known from the documentation only, and hapi-rate-limit uses the same names",
	"kong-response-rl": "name: videos-minute, not videos, or the windows of a minute and of an hour would be mixed up",
	"prisjakt-ms":      "reset: a delay in milliseconds under a name that others use for seconds, with nothing to tell",
	"sharepoint-429":   "unit: resource units are known from the documentation only",
}

func TestParseVectors(t *testing.T) {
	var vectors []vector
	load(t, "headers.json", &vectors)
	var all, primary, wrongNumbers, noAnswer, withLimits, retries int
	for _, v := range vectors {
		facts := Parse(header(v.Headers), v.ReceivedAt)
		var missing, wrong []string
		for i, e := range v.Expect {
			if i >= len(facts.Limits) {
				missing = append(missing, "limit "+strconv.Quote(e.Name))
				continue
			}
			m, w := e.differs(facts.Limits[i])
			if i == 0 && len(m)+len(w) == 0 {
				primary++
			}
			missing, wrong = append(missing, m...), append(wrong, w...)
		}
		if len(facts.Limits) > len(v.Expect) {
			wrong = append(wrong, "more limits")
		}
		if len(v.Expect) > 0 {
			withLimits++
			if len(facts.Limits) == 0 {
				noAnswer++
			}
		}
		if isNumber(wrong) {
			wrongNumbers++
		}
		_, deviates := deviations[v.ID]
		switch differs := len(missing)+len(wrong) > 0; {
		case !differs:
			all++
			if deviates {
				t.Errorf("%s: is listed as a deviation and is none", v.ID)
			}
		case !deviates:
			t.Errorf("%s: missing %q, wrong %q\n\tgot %s (go run ./cmd/ratelimit says what is read out of which header)", v.ID, missing, wrong, summary(facts))
		}

		r := facts.Retry
		ms := r.After.Round(time.Millisecond).Milliseconds()
		if r.Known != (v.RetryAfterMS != nil) || r.Known && ms != *v.RetryAfterMS {
			t.Errorf("%s: Retry = %+v, want %v ms", v.ID, r, v.RetryAfterMS)
			continue
		}
		retries++
	}
	t.Logf("%d cases, %d with limits: all right %d, primary right %d, wrong number %d, no answer %d; retry hint right %d",
		len(vectors), withLimits, all, primary, wrongNumbers, noAnswer, retries)
	if wrongNumbers > 1 {
		t.Errorf("%d cases with a wrong number, want 1", wrongNumbers)
	}
}

// isNumber reports whether any of what is wrong is a number rather than a name or a unit.
func isNumber(wrong []string) bool {
	return slices.ContainsFunc(wrong, func(w string) bool { return w != "name" && w != "unit" })
}
