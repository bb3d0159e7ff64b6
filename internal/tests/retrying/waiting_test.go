package retrying

import (
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// The page has a row for each Reason, and no other.
func TestWaitingPageReasons(t *testing.T) {
	text, err := os.ReadFile("../../../docs/waiting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Reason")
	rows := strings.Count(table, "\n| `Reason")
	api, err := os.ReadFile("../../../api/pacer.txt")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`pacer, const (Reason\w+) = "(\w+)"`).FindAllStringSubmatch(string(api), -1)
	for _, r := range reasons {
		if !strings.Contains(table, "\n| `"+r[1]+"` |") {
			t.Errorf("there is no row for %s", r[1])
		}
		if want := "Reason" + strings.ToUpper(r[2][:1]) + r[2][1:]; r[1] != want {
			t.Errorf("%s is %q", r[1], r[2])
		}
	}
	if rows != len(reasons) || rows == 0 {
		t.Errorf("%d rows for %d reasons", rows, len(reasons))
	}
}

// A body that cannot be sent again is a reason that is told.
func TestGaveUpBecauseOfTheBody(t *testing.T) {
	for name, test := range map[string]struct {
		buffer  int64
		trailer http.Header
		answer  func(*http.Request) (*http.Response, error)
		status  int
		want    error
	}{
		"no GetBody, a failure":  {0, nil, lab.Status(503, "busy"), 503, nil},
		"no GetBody, a refusal":  {0, nil, lab.Status(429, "busy", "Retry-After", "1"), 429, nil},
		"no GetBody, no answer":  {0, nil, lab.Fails(lab.ErrBroken), 0, lab.ErrBroken},
		"longer than BufferBody": {2, nil, lab.Status(503, "busy"), 503, nil},
		"a Trailer":              {9, http.Header{"Sum": nil}, lab.Status(503, "busy"), 503, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []pacer.GaveUp
				base := &lab.Script{Answers: list(test.answer)}
				tr := &pacer.Transport{
					Base: base, Retry: pacer.Retry{BufferBody: test.buffer},
					Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { got = append(got, g) }},
				}
				req := lab.Request(t, "PUT", "http://a.example/", "")
				req.Body, req.ContentLength, req.Trailer = io.NopCloser(strings.NewReader("text")), 4, test.trailer
				resp, err := tr.RoundTrip(req)
				if !errors.Is(err, test.want) || err == nil && lab.Read(t, resp) != "busy" || len(base.Got) != 1 {
					t.Errorf("%v, %v, sent %q", resp, err, base.Got)
				}
				if len(got) != 1 || got[0].Reason != pacer.ReasonBody || got[0].Attempts != 1 || got[0].Status != test.status || got[0].Because != nil {
					t.Errorf("gave up %+v", got)
				}
			})
		})
	}
}
