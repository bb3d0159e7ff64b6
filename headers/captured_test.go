package headers

import (
	"strings"
	"testing"
	"time"
)

// capture is a response of an unmodified server library, see testdata/captured_headers.json.
type capture struct {
	Server   string
	Config   string
	Note     string
	Status   int
	Headers  map[string][]string
	Received int64 `json:"recv_unix_ms"`
}

// TestParseCaptured checks that each response of a library that sends headers about
// limits yields one limit which makes sense, and that the others yield none.
func TestParseCaptured(t *testing.T) {
	var captures []capture
	load(t, "captured_headers.json", &captures)
	for _, c := range captures {
		facts := Parse(header(c.Headers), time.UnixMilli(c.Received))
		checkBounds(t, facts)
		silent := strings.Contains(c.Server, "nginx") || strings.Contains(c.Server, "xtime")
		if silent {
			if len(facts.Limits) != 0 || facts.Retry.Known {
				t.Errorf("%s, %s: %s, want nothing", c.Server, c.Note, summary(facts))
			}
			continue
		}
		if len(facts.Limits) != 1 {
			t.Errorf("%s, %s: %s, want one limit", c.Server, c.Note, summary(facts))
			continue
		}
		l := facts.Limits[0]
		if !l.Limit.Known || !l.Remaining.Known || l.Unit != "" {
			t.Errorf("%s, %s: %+v lacks a count", c.Server, c.Note, l)
		}
		if c.Status == 429 && l.Remaining.N != 0 {
			t.Errorf("%s, %s: %d remain", c.Server, c.Note, l.Remaining.N)
		}
		if past := l.Reset.Absolute && !l.Reset.Known; !past && (!l.Reset.Known || l.Reset.In > time.Minute+time.Second) {
			t.Errorf("%s, %s: reset %+v", c.Server, c.Note, l.Reset)
		}
		if _, hinted := header(c.Headers)["Retry-After"]; hinted != facts.Retry.Known {
			t.Errorf("%s, %s: Retry = %+v", c.Server, c.Note, facts.Retry)
		}
	}
	t.Logf("%d captures", len(captures))
}
