package name

import (
	"slices"
	"strings"
	"time"
)

// known is what is known about headers beforehand.
var known = newKnown()

func newKnown() *Table {
	t := &Table{}
	for i := range dialects {
		d := &dialects[i]
		for _, p := range d.Parts() {
			t.Add(p.Name, d.Describe(p, i+3))
		}
	}
	for name, m := range others {
		t.Add(name, m)
	}
	for name := range strings.FieldsSeq(common) {
		t.Add(name, &Meaning{Role: Ignored})
	}
	for name := range strings.FieldsSeq(frequent) {
		if m, ok := Classify(name); ok {
			t.Add(name, &m)
		}
	}
	t.number()
	return t
}

// number numbers what the table has in the order of compare, so that comparing is
// comparing numbers.
func (t *Table) number() {
	var all []*Meaning
	for i := range t.slots {
		if m := t.slots[i].meaning; m != nil && m.Role != Ignored {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, compare)
	var sorted, set uint16
	for i, m := range all {
		if i == 0 || compare(all[i-1], m) != 0 {
			sorted++
		}
		if i == 0 || !SameGroup(all[i-1], m) {
			set++
		}
		m.sorted, m.Set, m.Quick = sorted, set, m.isQuick()
	}
}

// others are headers that belong to no limit.
var others = map[string]*Meaning{
	"Age":          {Role: Age, Source: "RFC 9111, 5.1"},
	"X-From-Cache": {Role: Cache, Source: "github.com/gregjones/httpcache and its like"},
	"Retry-After":  {Role: Retry, Source: "RFC 9110, 10.2.3"},

	"Retry-After-Ms":      {Role: Retry, Step: time.Millisecond, Source: "the SDKs of Azure and of OpenAI"},
	"X-Ms-Retry-After-Ms": {Role: Retry, Step: time.Millisecond, Source: "the SDKs of Azure and of OpenAI"},

	"X-Should-Retry":      {Role: Should, Source: "the SDKs of OpenAI, Anthropic and Stripe"},
	"Stripe-Should-Retry": {Role: Should, Source: "the SDKs of OpenAI, Anthropic and Stripe"},

	"Stripe-Rate-Limited-Reason": {Role: Refusal, Source: "https://docs.stripe.com/rate-limits"},
	"X-Amzn-Errortype":           {Role: Refusal, Source: "https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html"},

	"Grpc-Retry-Pushback-Ms": {Role: Pushback, Source: "https://github.com/grpc/proposal/blob/master/A6-client-retries.md"},
}

// common are headers that many responses have and that are not about limits.
const common = `
Accept-Ranges Access-Control-Allow-Credentials Access-Control-Allow-Headers Access-Control-Allow-Methods
Access-Control-Allow-Origin Access-Control-Expose-Headers Access-Control-Max-Age Allow Alt-Svc Cache-Control
Cf-Cache-Status Cf-Ray Connection Content-Encoding Content-Length Content-Security-Policy Content-Type
Cross-Origin-Embedder-Policy Cross-Origin-Opener-Policy Cross-Origin-Resource-Policy Etag Expires Keep-Alive
Last-Modified Link Location Nel Openai-Organization Openai-Processing-Ms Openai-Version Permissions-Policy Pragma
Referrer-Policy Report-To Request-Id Server Server-Timing Set-Cookie Strict-Transport-Security Trailer
Transfer-Encoding Vary Via Www-Authenticate X-Accepted-Oauth-Scopes X-Amz-Cf-Id X-Amz-Cf-Pop X-Amz-Request-Id
X-Amzn-Requestid X-Amzn-Trace-Id X-Cache X-Cache-Hits X-Content-Type-Options X-Correlation-Id X-Dns-Prefetch-Control
X-Download-Options X-Envoy-Upstream-Service-Time X-Frame-Options X-Github-Media-Type X-Github-Request-Id
X-Ms-Request-Id X-Oauth-Scopes X-Permitted-Cross-Domain-Policies X-Powered-By X-Request-Id X-Runtime X-Served-By
X-Timer X-Trace-Id X-Xss-Protection X-Ratelimit-Global X-Rate-Limit-Request-Remote-Addr Docker-Ratelimit-Source`

// frequent are the names that are read by rule, once, instead of with every response.
const frequent = `
X-Ratelimit-Limit X-Ratelimit-Remaining X-Ratelimit-Reset X-Ratelimit-Used X-Ratelimit-Resource
X-Ratelimit-Bucket X-Ratelimit-Scope X-Ratelimit-Reset-After X-Ratelimit-Name
X-Ratelimit-Policy X-Ratelimit-Period X-Rate-Limit-Limit X-Rate-Limit-Remaining X-Rate-Limit-Reset
X-Rate-Limit-Duration
Ratelimit Ratelimit-Policy Ratelimit-Limit Ratelimit-Remaining Ratelimit-Reset
X-Ratelimit-Limit-Requests X-Ratelimit-Remaining-Requests X-Ratelimit-Reset-Requests
X-Ratelimit-Limit-Tokens X-Ratelimit-Remaining-Tokens X-Ratelimit-Reset-Tokens
X-Ratelimit-Limit-Second X-Ratelimit-Remaining-Second X-Ratelimit-Limit-Minute X-Ratelimit-Remaining-Minute
X-Ratelimit-Limit-Hour X-Ratelimit-Remaining-Hour X-Ratelimit-Limit-Day X-Ratelimit-Remaining-Day
Anthropic-Ratelimit-Requests-Limit Anthropic-Ratelimit-Requests-Remaining Anthropic-Ratelimit-Requests-Reset
Anthropic-Ratelimit-Tokens-Limit Anthropic-Ratelimit-Tokens-Remaining Anthropic-Ratelimit-Tokens-Reset
Anthropic-Ratelimit-Input-Tokens-Limit Anthropic-Ratelimit-Input-Tokens-Remaining Anthropic-Ratelimit-Input-Tokens-Reset
Anthropic-Ratelimit-Output-Tokens-Limit Anthropic-Ratelimit-Output-Tokens-Remaining Anthropic-Ratelimit-Output-Tokens-Reset
X-Retry-After X-Retry-In Backoff X-Backoff X-Backoff-Ms X-Backoff-Seconds`
