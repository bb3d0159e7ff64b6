package retrying

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
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
	all := reasons(t)
	for _, r := range all {
		if !strings.Contains(table, "\n| `"+nameOf(r)+"` |") {
			t.Errorf("there is no row for %s", nameOf(r))
		}
	}
	if rows != len(all) || rows == 0 {
		t.Errorf("%d rows for %d reasons", rows, len(all))
	}
}

// reasons are all Reasons that there are, each of which has the name of its text.
func reasons(t *testing.T) (all []pacer.Reason) {
	t.Helper()
	api, err := os.ReadFile("../../../api/pacer.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range regexp.MustCompile(`pacer, const (Reason\w+) = "(\w+)"`).FindAllStringSubmatch(string(api), -1) {
		if want := nameOf(pacer.Reason(r[2])); r[1] != want {
			t.Errorf("%s is %q", r[1], r[2])
		}
		all = append(all, pacer.Reason(r[2]))
	}
	return all
}

func nameOf(r pacer.Reason) string { return "Reason" + strings.ToUpper(string(r[:1])) + string(r[1:]) }

// What the caller gets after each Reason: the last answer or, if there was none, the last error. If its context
// has ended by then, it gets the error of that, in place of an answer and beside an error.
func TestWaitingPageWhatTheCallerGets(t *testing.T) {
	type transport = pacer.Transport
	gone := errors.New("gone")
	nothing := func(*transport) {}
	same := func(req *http.Request, _ func()) *http.Request { return req }
	within := func(d time.Duration) func(*http.Request, func()) *http.Request {
		return func(req *http.Request, _ func()) *http.Request {
			ctx, cancel := context.WithTimeout(req.Context(), d)
			context.AfterFunc(ctx, cancel)
			return req.WithContext(ctx)
		}
	}
	canceled := func(req *http.Request, cancel func()) *http.Request {
		time.AfterFunc(100*time.Millisecond, cancel)
		return req
	}
	hint := []string{"Retry-After", "3600"}
	var tested []pacer.Reason
	for _, test := range []struct {
		reason pacer.Reason
		status int
		header []string
		set    func(*transport)
		of     func(req *http.Request, cancel func()) *http.Request
		ended  bool // the context
	}{
		{pacer.ReasonAttempts, 503, nil, nothing, same, false},
		{pacer.ReasonRefusals, 429, nil, func(tr *transport) { tr.Retry.MaxRefusals = -1 }, same, false},
		{pacer.ReasonHint, 500, hint, nothing, same, false},
		{pacer.ReasonWait, 429, hint, nothing, same, false},
		{pacer.ReasonWait, 503, nil, func(tr *transport) { tr.Quotas = lab.All(lab.Budget(1)) }, same, false},
		{pacer.ReasonDeadline, 503, nil, nothing, within(time.Second), false},
		{pacer.ReasonDeadline, 429, hint, func(tr *transport) { tr.MaxStandstill = pacer.Forever }, within(time.Minute), false},
		{pacer.ReasonElapsed, 503, nil, func(tr *transport) { tr.Retry.MaxElapsed = time.Millisecond }, same, false},
		{pacer.ReasonBudget, 503, nil, func(tr *transport) { tr.Retry.MaxAttempts = 20 }, same, false},
		{pacer.ReasonBackoff, 503, nil, func(tr *transport) {
			tr.Retry.Backoff = backoff.Func(func(int, time.Duration) time.Duration { return -1 })
		}, same, false},
		{pacer.ReasonNested, 503, nil, nothing, same, false},
		{pacer.ReasonPrepare, 503, nil, func(tr *transport) { tr.Retry.PrepareRetry = func(*http.Request) error { return io.ErrNoProgress } }, same, false},
		{pacer.ReasonBody, 503, nil, nothing, func(req *http.Request, _ func()) *http.Request {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader("text")), 4
			return req
		}, false},
		{pacer.ReasonMethod, 503, nil, nothing, func(req *http.Request, _ func()) *http.Request { req.Method = "POST"; return req }, false},
		{pacer.ReasonCanceled, 503, nil, nothing, canceled, true},
		{pacer.ReasonPrepare, 503, nil, nothing, func(req *http.Request, cancel func()) *http.Request {
			req.Method, req.Body, req.ContentLength = "PUT", io.NopCloser(strings.NewReader("text")), 4
			req.GetBody = func() (io.ReadCloser, error) { cancel(); return nil, io.ErrNoProgress }
			return req
		}, true},
		{pacer.ReasonCanceled, 429, hint, func(tr *transport) { tr.MaxStandstill = pacer.Forever }, canceled, true},
	} {
		tested = append(tested, test.reason)
		answers := list(lab.Status(test.status, "busy", test.header...))
		if test.status == http.StatusServiceUnavailable { // after an error, all goes as after that
			answers = append(answers, lab.Fails(lab.ErrBroken))
		}
		for i, answer := range answers {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				var told []pacer.Reason
				tr := &transport{Base: &lab.Script{Answers: list(answer)}, Retry: pacer.Retry{Backoff: lab.Steady{}}, Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { told = append(told, g.Reason) }}}
				test.set(tr)
				var top http.RoundTripper = tr
				if test.reason == pacer.ReasonNested {
					top = &transport{Base: lab.Wrap(tr), Retry: pacer.Retry{MaxAttempts: -1}}
				}
				resp, err := top.RoundTrip(test.of(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx), func() { cancel(gone) }))
				text := ""
				if err == nil {
					text = lab.Read(t, resp)
				}
				failed := i > 0
				if (text == "busy") != (!failed && !test.ended) || errors.Is(err, lab.ErrBroken) != failed || errors.Is(err, gone) != test.ended || errors.Is(err, context.Canceled) != test.ended {
					t.Errorf("%s after %d (failed %v): the caller gets %q, %v", test.reason, test.status, failed, text, err)
				}
				if !slices.Equal(told, []pacer.Reason{test.reason}) {
					t.Errorf("gave up because of %q, want %q", told, test.reason)
				}
			})
		}
	}
	for _, r := range reasons(t) {
		if !slices.Contains(tested, r) {
			t.Errorf("%s is not tested", r)
		}
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
