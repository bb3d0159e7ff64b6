package verdict

import (
	"net/http"

	"github.com/gopacer/pacer/headers"
)

// Refusal reports whether an answer says "not yet": the server did nothing because
// a limit is used up. What the answer itself gives as the reason counts first. Else a 429 is
// always a refusal. Some other statuses are refusals if they say when to come back (Retry-After), and a
// 403, which GitHub sends, also if the answer is spent: it says that nothing remains of a limit.
func Refusal(status int, hint headers.Retry, spent bool) bool {
	switch {
	case hint.Cause == headers.TooFast || hint.Cause == headers.TooMany:
		return true
	case hint.Cause == headers.Busy || status < 400:
		return false
	}
	switch status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, 420, 509, 529, http.StatusTeapot:
		return hint.Known
	case http.StatusForbidden:
		return hint.Known || spent
	}
	return false
}

// MayRefuse reports whether an answer may be a refusal although nothing in it says so: nginx's
// limit_req and limit_conn answer 503 unless told otherwise, without a Retry-After.
func MayRefuse(status int, hint headers.Retry) bool {
	return status == http.StatusServiceUnavailable && !hint.Known && hint.Cause == headers.NoCause && hint.Word == headers.NoWord
}
