package headers

import "time"

// dialect is one limit as one service writes it, where the names of its headers do
// not follow the rules of parseName, or where only its documentation says what they
// mean. Everything else is read by rule.
type dialect struct {
	source string        // where it is documented, or the code that sends it
	family string        // headers of one family state different limits
	name   string        // of the limit
	bare   bool          // belongs to the limit of the family that has no name
	unit   string        // empty for requests
	window time.Duration // if documented and not stated
	form   form          // of the values, if their names do not tell
	series []span        // names and windows, if the values are lists

	// The names of the headers, as http.CanonicalHeaderKey spells them.
	limit, remaining, used, reset, per, policy, state, label, text, retry string
}

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
)

var dialects = []dialect{
	{
		source: "https://techdocs.akamai.com/adaptive-media-delivery/reference/rate-limiting",
		family: "x-ratelimit", bare: true, form: instant, reset: "X-Ratelimit-Next",
	},
	{
		source: "https://developer-docs.amazon.com/sp-api/docs/usage-plans-and-rate-limits", // requests per second
		family: "amzn", window: second, limit: "X-Amzn-Ratelimit-Limit",
	},
	{
		source: "auth0/node-auth0 and auth0/auth0.net, token quota headers",
		family: "x-ratelimit", name: "client", unit: "tokens", form: keys, text: "Auth0-Client-Quota-Limit",
	},
	{
		source: "auth0/node-auth0 and auth0/auth0.net, token quota headers",
		family: "x-ratelimit", name: "organization", unit: "tokens", form: keys, text: "Auth0-Organization-Quota-Limit",
	},
	{
		source: "https://developer.atlassian.com/cloud/jira/platform/rate-limiting/",
		family: "beta-ratelimit", unit: "points", state: "Beta-Ratelimit", policy: "Beta-Ratelimit-Policy",
	},
	{
		source: "https://developer.atlassian.com/cloud/jira/platform/rate-limiting/",
		family: "x-ratelimit", bare: true, unit: "points", label: "Ratelimit-Reason",
	},
	{
		source: "bigcommerce/dev-docs, docs/api-docs/getting-started/best-practices.mdx",
		family: "bigcommerce", limit: "X-Rate-Limit-Requests-Quota", remaining: "X-Rate-Limit-Requests-Left",
		reset: "X-Rate-Limit-Time-Reset-Ms", per: "X-Rate-Limit-Time-Window-Ms",
	},
	{
		source: "https://bybit-exchange.github.io/docs/v5/rate-limit",
		family: "bybit", limit: "X-Bapi-Limit", remaining: "X-Bapi-Limit-Status",
		reset: "X-Bapi-Limit-Reset-Timestamp", form: millis,
	},
	{
		source: "responses of api.cohere.com; the headers are not documented",
		family: "cohere", name: "trial-endpoint-call",
		limit: "X-Trial-Endpoint-Call-Limit", remaining: "X-Trial-Endpoint-Call-Remaining",
	},
	{
		source: "responses of api.cohere.com; the headers are not documented",
		family: "cohere", name: "endpoint-monthly-call",
		limit: "X-Endpoint-Monthly-Call-Limit", remaining: "X-Endpoint-Monthly-Call-Remaining",
	},
	{
		source: "fixtures of Contentful's SDK", // Reset: until the next request
		family: "x-contentful-ratelimit", form: seconds, retry: "X-Contentful-Ratelimit-Reset",
	},
	{
		source: "responses of api.crossref.org, X-Rate-Limit-Interval: 1s",
		family: "x-rate-limit", bare: true, per: "X-Rate-Limit-Interval",
	},
	{
		source: "DocuSign's description of its eSign API", // 30 s by prose
		family: "x-ratelimit", name: "burst", window: 30 * second,
		limit: "X-Burstlimit-Limit", remaining: "X-Burstlimit-Remaining",
	},
	{
		source: "https://developers.etsy.com/documentation/essentials/rate-limits",
		family: "etsy", name: "second", window: second,
		limit: "X-Limit-Per-Second", remaining: "X-Remaining-This-Second",
	},
	{
		source: "https://developers.etsy.com/documentation/essentials/rate-limits",
		family: "etsy", name: "day", window: day, limit: "X-Limit-Per-Day", remaining: "X-Remaining-Today",
	},
	{
		source: "https://www.gate.io/docs/developers/apiv4/",
		family: "gate", limit: "X-Gate-Ratelimit-Limit", remaining: "X-Gate-Ratelimit-Requests-Remain",
		reset: "X-Gate-Ratelimit-Reset-Timestamp",
	},
	{
		source: "responses of api.hubapi.com",
		family: "hubspot", limit: "X-Hubspot-Ratelimit-Max", remaining: "X-Hubspot-Ratelimit-Remaining",
		per: "X-Hubspot-Ratelimit-Interval-Milliseconds",
	},
	{
		source: "responses of api.hubapi.com",
		family: "hubspot", name: "daily", window: day,
		limit: "X-Hubspot-Ratelimit-Daily", remaining: "X-Hubspot-Ratelimit-Daily-Remaining",
	},
	{
		source: "responses of api.hubapi.com",
		family: "hubspot", name: "secondly", window: second,
		limit: "X-Hubspot-Ratelimit-Secondly", remaining: "X-Hubspot-Ratelimit-Secondly-Remaining",
	},
	{
		source: "https://www.kucoin.com/docs/basic-info/request-rate-limit/rest-api", // a delay in milliseconds, of weighted requests
		family: "kucoin", unit: "weight", form: millis,
		limit: "Gw-Ratelimit-Limit", remaining: "Gw-Ratelimit-Remaining", reset: "Gw-Ratelimit-Reset",
	},
	{
		source: "LaunchDarkly's OpenAPI description", // 10 s by prose
		family: "x-ratelimit", name: "global", window: 10 * second, remaining: "X-Ratelimit-Global-Remaining",
	},
	{
		source: "LaunchDarkly's OpenAPI description",
		family: "x-ratelimit", name: "route", window: 10 * second, remaining: "X-Ratelimit-Route-Remaining",
	},
	{
		source: "https://developers.facebook.com/docs/graph-api/overview/rate-limiting/",
		family: "meta", name: "app", unit: "percent", form: usage, text: "X-App-Usage",
	},
	{
		source: "https://developers.facebook.com/docs/graph-api/overview/rate-limiting/",
		family: "meta", name: "business", unit: "percent", form: usage, text: "X-Business-Use-Case-Usage",
	},
	{
		source: "npm riot-ratelimiter",
		family: "riot", name: "app", form: windows, limit: "X-App-Rate-Limit", used: "X-App-Rate-Limit-Count",
	},
	{
		source: "npm riot-ratelimiter",
		family: "riot", name: "method", form: windows, limit: "X-Method-Rate-Limit", used: "X-Method-Rate-Limit-Count",
	},
	{
		source: "Salesforce's REST API, Sforce-Limit-Info",
		family: "salesforce", form: ratio, text: "Sforce-Limit-Info",
	},
	{
		source: "getsentry/develop, src/docs/sdk/rate-limiting.mdx",
		family: "sentry", unit: "events", form: delays, text: "X-Sentry-Rate-Limits",
	},
	{
		source: "https://shopify.dev/docs/api/admin-rest/usage/rate-limits",
		family: "shopify", form: ratio, text: "X-Shopify-Shop-Api-Call-Limit",
	},
	{
		source: "spring-cloud/spring-cloud-gateway, requestratelimiter-factory.adoc",
		family: "x-ratelimit", bare: true, limit: "X-Ratelimit-Burst-Capacity",
	},
	{
		source: "https://developers.strava.com/docs/rate-limits/", // of 15 minutes and of a day
		family: "x-ratelimit", bare: true, used: "X-Ratelimit-Usage",
		series: []span{{"overall-15min", 15 * minute}, {"overall-daily", day}},
	},
	{
		source: "https://developers.strava.com/docs/rate-limits/",
		family: "x-ratelimit", name: "read", limit: "X-Readratelimit-Limit", used: "X-Readratelimit-Usage",
		series: []span{{"read-15min", 15 * minute}, {"read-daily", day}},
	},
	{
		source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits/",
		family: "trello", name: "api-token", limit: "X-Rate-Limit-Api-Token-Max",
		remaining: "X-Rate-Limit-Api-Token-Remaining", per: "X-Rate-Limit-Api-Token-Interval-Ms",
	},
	{
		source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits/",
		family: "trello", name: "api-key", limit: "X-Rate-Limit-Api-Key-Max",
		remaining: "X-Rate-Limit-Api-Key-Remaining", per: "X-Rate-Limit-Api-Key-Interval-Ms",
	},
	{
		source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		family: "xero", name: "day", window: day, remaining: "X-Daylimit-Remaining",
	},
	{
		source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		family: "xero", name: "minute", window: minute, remaining: "X-Minlimit-Remaining",
	},
	{
		source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		family: "xero", name: "app-minute", window: minute, remaining: "X-Appminlimit-Remaining",
	},
	{
		source: "Yelp's Fusion API, rate limiting",
		family: "ratelimit", bare: true, name: "daily", limit: "Ratelimit-Dailylimit",
	},
}

// common are headers that many responses have and that are not about limits.
const common = `
Accept-Ranges Access-Control-Allow-Credentials Access-Control-Allow-Headers Access-Control-Allow-Methods
Access-Control-Allow-Origin Access-Control-Expose-Headers Alt-Svc Cache-Control Cf-Cache-Status Cf-Ray Connection
Content-Encoding Content-Length Content-Security-Policy Content-Type Etag Expires Keep-Alive Last-Modified Link
Location Nel Pragma Referrer-Policy Report-To Server Server-Timing Set-Cookie Strict-Transport-Security
Transfer-Encoding Vary Via X-Cache X-Content-Type-Options X-Frame-Options X-Powered-By X-Request-Id X-Xss-Protection
X-Ratelimit-Global X-Rate-Limit-Request-Remote-Addr Docker-Ratelimit-Source`

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
X-Retry-After X-Retry-In`
