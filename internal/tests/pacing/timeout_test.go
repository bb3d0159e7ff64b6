package pacing

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Where http.Client.Timeout passes while a request waits, net/http may put an error of its own in place of the
// throttle.Error, which has its text, and no type: docs/waiting.md. It does so if its timer was first, and not
// the context that it has made of the Timeout. Where it is known before that the wait outlasts it, and with a
// context, the error is there; a hook is told in any case.
func TestClientTimeoutReplacesTheError(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout bool // by the client, not by a context
		quota   string
		found   bool // always
	}{
		{"in flight, client", true, "1 in flight", false},
		{"in flight, context", false, "1 in flight", true},
		{"known before, client", true, "1/m even", true},
		{"known before, context", false, "1/m even", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told error
				tr := &pacer.Transport{
					Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(1, true)}}, Quotas: lab.All(quota.MustParse(test.quota)...),
					Trace: &pacer.Trace{NotSent: func(e pacer.NotSent) { told = e.Err }},
				}
				first, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")) // in flight until it is read
				if err != nil {
					t.Fatal(err)
				}
				defer first.Body.Close()
				client, ctx := &http.Client{Transport: tr}, t.Context()
				if test.timeout {
					client.Timeout = time.Second
				} else {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Second)
					defer cancel()
				}
				req := lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)
				_, err = client.Do(req)
				var refused *throttle.Error
				if err == nil || !strings.Contains(err.Error(), "throttle: a.example: not sent: ") {
					t.Fatalf("%v has not the text of a throttle.Error", err)
				}
				replaced := !test.found && strings.Contains(err.Error(), "(Client.Timeout exceeded")
				if errors.As(err, &refused) == replaced {
					t.Errorf("%v: a throttle.Error is found: %v, replaced by net/http: %v", err, refused != nil, replaced)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v is no context.DeadlineExceeded", err)
				}
				if !errors.As(told, &refused) {
					t.Errorf("the hook was told %v, want a throttle.Error", told)
				}
			})
		})
	}
}
