package headers

import (
	"net/http"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/body"
)

// MaxBody is how much of a body ParseBody reads at most, in bytes. Errors that say something
// about limits are a few kilobytes long. Shopify says it after the data, so that it is not
// seen at the end of a longer answer.
const MaxBody = 64 << 10

// ParseBody is Parse for a response of whose body the beginning is known as well. Some
// services say only there what other ones say in headers:
//
//   - how long to wait: Google (google.rpc.RetryInfo), Discord, Telegram, Dropbox,
//     Shopify's GraphQL API, whose points it follows from, and any that writes a word for it as the
//     key of an error, or of one in a list of errors, also in its extensions, as GraphQL has them:
//     retry_after, Retry-After, retryAfterSec, retry_in_seconds, wait_seconds, backoff, each with a
//     number of seconds, a duration or an instant; Bungie (ThrottleSeconds), Sportmonks
//     (resets_in_seconds), WSO2 (nextAccessTime);
//   - which limits are used up: Google (google.rpc.QuotaFailure and ErrorInfo), Discord's
//     global one, the policies that a problem of the IETF draft names, Shopify's points, Stack
//     Exchange's quota_remaining;
//   - the [Refusal]: those, and OpenAI, Anthropic, Stripe, Linear, GitHub's GraphQL API and its
//     secondary limits (a minute, if nothing says how long), HubSpot, X, AWS, Slack, Kraken, Bybit,
//     Feishu, Google Maps.
//
// The body may be cut anywhere: what is not complete says nothing, and what is beyond
// [MaxBody] is not read. A limit that is said to be exceeded has a Remaining of zero, although
// a small rest may be left of it.
func (r *Reader) ParseBody(h http.Header, prefix []byte, received time.Time) Facts {
	var b *body.Facts
	if r.ReadsBody(h) {
		b = body.Read(prefix[:min(len(prefix), MaxBody)], MaxRetryAfter)
	}
	limits, retry := read(nil, h, received, r.compiled(), b)
	return Facts{Limits: limits, Retry: retry}
}

// ReadsBody reports whether a body that comes with h may say anything to ParseBody, so that it
// is worth reading: whether it is JSON, and not compressed.
func (r *Reader) ReadsBody(h http.Header) bool {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return false
	}
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.Contains(strings.ToLower(media), "json")
}
