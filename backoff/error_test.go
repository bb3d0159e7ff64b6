package backoff

import (
	"context"
	"errors"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		err  *Error
		want string
	}{
		{
			&Error{Attempts: 3, Elapsed: 1300*time.Millisecond + 7, Because: ErrAttempts, Err: errFailed},
			"backoff: MaxAttempts used up, 3 attempts in 1.3s: failed",
		},
		{
			&Error{Attempts: 1, Delay: 5 * time.Second, Because: ErrDeadline, Err: errFailed},
			"backoff: next attempt would miss the context's deadline, 1 attempt in 0s, next due after 5s: failed",
		},
		{
			&Error{Attempts: 1, Delay: time.Second, Because: ErrBudget, Err: errFailed},
			"backoff: local retry budget is empty, 1 attempt in 0s, next due after 1s: failed",
		},
		{
			&Error{Because: context.Canceled},
			"backoff: context canceled, 0 attempts in 0s",
		},
		{
			&Error{},
			"backoff: stopped, 0 attempts in 0s",
		},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// A bound that was meant to be in seconds shows itself.
func TestErrorNamesTheBound(t *testing.T) {
	for _, test := range []struct {
		err     error
		options Options
		want    string
	}{
		{errFailed, Options{MaxElapsed: 5}, "backoff: next attempt would exceed MaxElapsed (5ns), 1 attempt in 0s, next due after 1s: failed"},
		{errFailed, Options{MaxElapsed: -1}, "backoff: next attempt would exceed MaxElapsed (-1ns), 1 attempt in 0s, next due after 1s: failed"},
		{After(errFailed, time.Hour), Options{}, "backoff: hint exceeds MaxHint (2m0s), 1 attempt in 0s, next due after 1h0m1s: failed"},
		{After(errFailed, time.Hour), Options{MaxHint: -1}, "backoff: hint exceeds MaxHint (0s), 1 attempt in 0s, next due after 1h0m1s: failed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			test.options.Backoff = Constant{Interval: time.Second, Jitter: NoJitter}
			if err := Do(t.Context(), func(context.Context) error { return test.err }, &test.options); err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
		})
	}
}

func TestErrorTimeout(t *testing.T) {
	for _, test := range []struct {
		because error
		want    bool
	}{
		{ErrDeadline, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{ErrAttempts, false},
		{ErrElapsed, false},
		{nil, false},
	} {
		err := &Error{Because: test.because, Err: errFailed}
		// These two functions look at the error itself, not at the errors that it wraps.
		outer := &url.Error{Op: "Get", URL: "/", Err: err}
		if err.Timeout() != test.want || os.IsTimeout(err) != test.want || outer.Timeout() != test.want {
			t.Errorf("because %v: Timeout %v, os.IsTimeout %v, url.Error %v, want %v",
				test.because, err.Timeout(), os.IsTimeout(err), outer.Timeout(), test.want)
		}
		if !errors.Is(err, errFailed) || (test.because != nil && !errors.Is(err, test.because)) {
			t.Errorf("because %v: errors.Is does not find it or the last error", test.because)
		}
	}
}
