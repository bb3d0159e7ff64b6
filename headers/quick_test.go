package headers

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/headers/internal/body"
)

// checkQuick fails if the quick way reads headers otherwise than the general one, which a
// body that says nothing leads to.
func checkQuick(tb testing.TB, h http.Header, received time.Time) {
	tb.Helper()
	quick := Parse(h, received)
	limits, retry := read(nil, h, received, nil, &body.Facts{})
	if diff := cmp.Diff(Facts{limits, retry}, quick); diff != "" {
		tb.Errorf("%v (-general +quick):\n%s", h, diff)
	}
}

// TestAppendQuick reads each way all that a trio may have in it.
func TestAppendQuick(t *testing.T) {
	values := []string{"", "0", "7", "0.5", "60", "86401", "1772452845", "-1", "10, 20", "x", "99999999999999999999"}
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		for _, l := range values {
			for _, r := range values {
				for _, s := range values {
					h := fields(prefix+"Limit", l, prefix+"Remaining", r, prefix+"Reset", s)
					checkQuick(t, h, noon)
					h.Set("X-RateLimit-Used", "3")
					h.Set("X-RateLimit-Resource", "core")
					h.Set("Date", "Mon, 02 Mar 2026 12:00:00 GMT")
					checkQuick(t, h, noon)
				}
			}
		}
	}
	var vectors []vector
	load(t, "headers.json", &vectors)
	for _, v := range vectors {
		checkQuick(t, header(v.Headers), v.ReceivedAt)
	}
}
