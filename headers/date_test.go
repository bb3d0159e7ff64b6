package headers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gopacer/pacer/headers"
)

// A Date counts if it is the only one, and within a day of the local clock, where that is known; one that is
// further ahead, for instants that are nearer to it than to the local clock.
func TestUsableDate(t *testing.T) {
	local := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	until := func(ahead time.Duration, received time.Time, more ...string) time.Duration {
		server := local.Add(ahead)
		f := headers.Parse(http.Header{
			"Date":        append([]string{server.Format(http.TimeFormat)}, more...),
			"Retry-After": {server.Add(10 * time.Second).Format(http.TimeFormat)},
		}, received)
		return f.Retry.After
	}
	for _, test := range []struct {
		ahead    time.Duration
		received time.Time
		more     []string
		want     time.Duration
	}{
		{13 * time.Hour, local, nil, 10 * time.Second},
		{24 * time.Hour, local, nil, 10 * time.Second},
		{-24 * time.Hour, local, nil, 10 * time.Second},
		{24*time.Hour + time.Second, local, nil, 10 * time.Second},
		{30 * 365 * 24 * time.Hour, local, nil, 10 * time.Second},
		{-24*time.Hour - time.Second, local, nil, 0},
		{-26 * time.Hour, time.Time{}, nil, 10 * time.Second},
		{time.Hour, local, []string{"Thu, 01 Jan 1970 00:00:00 GMT"}, time.Hour + 10*time.Second},
	} {
		if got := until(test.ahead, test.received, test.more...); got != test.want {
			t.Errorf("server ahead by %v, received %v, %d further Dates: Retry-After is %v, want %v", test.ahead, test.received, len(test.more), got, test.want)
		}
	}
}
