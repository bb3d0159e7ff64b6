package verdict

import (
	"net/http"

	"github.com/gopacer/pacer/headers"
)

// Refusal reports whether an answer says "not yet": the server did nothing because a limit is used up. If
// the answer itself says why (headers.Refusal), that decides: a server that is busy has failed. Otherwise a
// 429 is always a refusal, and some other statuses are refusals if the answer says when to come back
// (Retry-After). A 403 is also a refusal if usedUp is set, which means that nothing remains of a limit:
// GitHub sends such answers.
func Refusal(status int, hint headers.Retry, usedUp bool) bool {
	switch {
	case hint.Refusal == headers.RefusalTooFast || hint.Refusal == headers.RefusalTooMany:
		return true
	case hint.Refusal == headers.RefusalBusy || status < 400:
		return false
	}
	switch status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, 420, 509, 529, http.StatusTeapot:
		return hint.Known
	case http.StatusForbidden:
		return hint.Known || usedUp
	}
	return false
}

// MayRefuse reports whether an answer may be a refusal although nothing in it says so: unless configured
// otherwise, limit_req and limit_conn of nginx answer 503 without a Retry-After.
func MayRefuse(status int, hint headers.Retry) bool {
	return status == http.StatusServiceUnavailable && !hint.Known && hint.Refusal == "" && hint.Advice == ""
}
