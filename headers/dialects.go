package headers

import "time"

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
)

// dialects are what the package knows beside its rules.
var dialects = []Dialect{
	{
		source: "https://techdocs.akamai.com/adaptive-media-delivery/reference/rate-limiting",
		family: "x-ratelimit", bare: true, form: instant, Reset: "X-Ratelimit-Next",
	},
	{
		source: "https://developer-docs.amazon.com/sp-api/docs/usage-plans-and-rate-limits", // requests per second
		family: "amzn", Window: second, Limit: "X-Amzn-Ratelimit-Limit",
	},
	{
		source: "auth0/node-auth0 and auth0/auth0.net, token quota headers",
		family: "x-ratelimit", Name: "client", Unit: "tokens", form: keys, text: "Auth0-Client-Quota-Limit",
	},
	{
		source: "auth0/node-auth0 and auth0/auth0.net, token quota headers",
		family: "x-ratelimit", Name: "organization", Unit: "tokens", form: keys, text: "Auth0-Organization-Quota-Limit",
	},
	{
		source: "https://developer.atlassian.com/cloud/jira/platform/rate-limiting/",
		family: "beta-ratelimit", Unit: "points", state: "Beta-Ratelimit", policy: "Beta-Ratelimit-Policy",
	},
	{
		source: "https://developer.atlassian.com/cloud/jira/platform/rate-limiting/",
		family: "x-ratelimit", bare: true, Unit: "points", label: "Ratelimit-Reason",
	},
	{
		source: "bigcommerce/dev-docs, docs/api-docs/getting-started/best-practices.mdx",
		family: "bigcommerce", Limit: "X-Rate-Limit-Requests-Quota", Remaining: "X-Rate-Limit-Requests-Left",
		Reset: "X-Rate-Limit-Time-Reset-Ms", Period: "X-Rate-Limit-Time-Window-Ms",
	},
	{
		source: "https://bybit-exchange.github.io/docs/v5/rate-limit",
		family: "bybit", Limit: "X-Bapi-Limit", Remaining: "X-Bapi-Limit-Status",
		Reset: "X-Bapi-Limit-Reset-Timestamp", Step: time.Millisecond,
	},
	{
		source: "responses of api.cohere.com; the headers are not documented",
		family: "cohere", Name: "trial-endpoint-call",
		Limit: "X-Trial-Endpoint-Call-Limit", Remaining: "X-Trial-Endpoint-Call-Remaining",
	},
	{
		source: "responses of api.cohere.com; the headers are not documented",
		family: "cohere", Name: "endpoint-monthly-call",
		Limit: "X-Endpoint-Monthly-Call-Limit", Remaining: "X-Endpoint-Monthly-Call-Remaining",
	},
	{
		source: "fixtures of Contentful's SDK", // Reset: until the next request
		family: "x-contentful-ratelimit", form: seconds, RetryAfter: "X-Contentful-Ratelimit-Reset",
	},
	{
		source: "responses of api.crossref.org, X-Rate-Limit-Interval: 1s",
		family: "x-rate-limit", bare: true, Period: "X-Rate-Limit-Interval",
	},
	{
		source: "DocuSign's description of its eSign API", // 30 s by prose
		family: "x-ratelimit", Name: "burst", Window: 30 * second,
		Limit: "X-Burstlimit-Limit", Remaining: "X-Burstlimit-Remaining",
	},
	{
		source: "https://developers.etsy.com/documentation/essentials/rate-limits",
		family: "etsy", Name: "second", Window: second,
		Limit: "X-Limit-Per-Second", Remaining: "X-Remaining-This-Second",
	},
	{
		source: "https://developers.etsy.com/documentation/essentials/rate-limits",
		family: "etsy", Name: "day", Window: day, Limit: "X-Limit-Per-Day", Remaining: "X-Remaining-Today",
	},
	{
		source: "https://www.gate.io/docs/developers/apiv4/",
		family: "gate", Limit: "X-Gate-Ratelimit-Limit", Remaining: "X-Gate-Ratelimit-Requests-Remain",
		Reset: "X-Gate-Ratelimit-Reset-Timestamp",
	},
	{
		source: "responses of api.hubapi.com",
		family: "hubspot", Limit: "X-Hubspot-Ratelimit-Max", Remaining: "X-Hubspot-Ratelimit-Remaining",
		Period: "X-Hubspot-Ratelimit-Interval-Milliseconds",
	},
	{
		source: "responses of api.hubapi.com",
		family: "hubspot", Name: "daily", Window: day,
		Limit: "X-Hubspot-Ratelimit-Daily", Remaining: "X-Hubspot-Ratelimit-Daily-Remaining",
	},
	{
		source: "responses of api.hubapi.com",
		family: "hubspot", Name: "secondly", Window: second,
		Limit: "X-Hubspot-Ratelimit-Secondly", Remaining: "X-Hubspot-Ratelimit-Secondly-Remaining",
	},
	{
		source: "https://www.kucoin.com/docs/basic-info/request-rate-limit/rest-api", // a delay in milliseconds, of weighted requests
		family: "kucoin", Unit: "weight", Step: time.Millisecond,
		Limit: "Gw-Ratelimit-Limit", Remaining: "Gw-Ratelimit-Remaining", Reset: "Gw-Ratelimit-Reset",
	},
	{
		source: "LaunchDarkly's OpenAPI description", // 10 s by prose
		family: "x-ratelimit", Name: "global", Window: 10 * second, Remaining: "X-Ratelimit-Global-Remaining",
	},
	{
		source: "LaunchDarkly's OpenAPI description",
		family: "x-ratelimit", Name: "route", Window: 10 * second, Remaining: "X-Ratelimit-Route-Remaining",
	},
	{
		source: "https://developers.facebook.com/docs/graph-api/overview/rate-limiting/",
		family: "meta", Name: "app", Unit: "percent", form: usage, text: "X-App-Usage",
	},
	{
		source: "https://developers.facebook.com/docs/graph-api/overview/rate-limiting/",
		family: "meta", Name: "business", Unit: "percent", form: usage, text: "X-Business-Use-Case-Usage",
	},
	{
		source: "npm riot-ratelimiter",
		family: "riot", Name: "app", form: windows, Limit: "X-App-Rate-Limit", Used: "X-App-Rate-Limit-Count",
	},
	{
		source: "npm riot-ratelimiter",
		family: "riot", Name: "method", form: windows, Limit: "X-Method-Rate-Limit", Used: "X-Method-Rate-Limit-Count",
	},
	{
		source: "Salesforce's REST API, Sforce-Limit-Info",
		family: "salesforce", form: ratio, text: "Sforce-Limit-Info",
	},
	{
		source: "getsentry/develop, src/docs/sdk/rate-limiting.mdx",
		family: "sentry", Unit: "events", form: delays, text: "X-Sentry-Rate-Limits",
	},
	{
		source: "https://shopify.dev/docs/api/admin-rest/usage/rate-limits",
		family: "shopify", form: ratio, text: "X-Shopify-Shop-Api-Call-Limit",
	},
	{
		source: "spring-cloud/spring-cloud-gateway, requestratelimiter-factory.adoc",
		family: "x-ratelimit", bare: true, Limit: "X-Ratelimit-Burst-Capacity",
	},
	{
		source: "https://developers.strava.com/docs/rate-limits/", // of 15 minutes and of a day
		family: "x-ratelimit", bare: true, Used: "X-Ratelimit-Usage",
		series: []span{{"overall-15min", 15 * minute}, {"overall-daily", day}},
	},
	{
		source: "https://developers.strava.com/docs/rate-limits/",
		family: "x-ratelimit", Name: "read", Limit: "X-Readratelimit-Limit", Used: "X-Readratelimit-Usage",
		series: []span{{"read-15min", 15 * minute}, {"read-daily", day}},
	},
	{
		source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits/",
		family: "trello", Name: "api-token", Limit: "X-Rate-Limit-Api-Token-Max",
		Remaining: "X-Rate-Limit-Api-Token-Remaining", Period: "X-Rate-Limit-Api-Token-Interval-Ms",
	},
	{
		source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits/",
		family: "trello", Name: "api-key", Limit: "X-Rate-Limit-Api-Key-Max",
		Remaining: "X-Rate-Limit-Api-Key-Remaining", Period: "X-Rate-Limit-Api-Key-Interval-Ms",
	},
	{
		source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		family: "xero", Name: "day", Window: day, Remaining: "X-Daylimit-Remaining",
	},
	{
		source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		family: "xero", Name: "minute", Window: minute, Remaining: "X-Minlimit-Remaining",
	},
	{
		source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		family: "xero", Name: "app-minute", Window: minute, Remaining: "X-Appminlimit-Remaining",
	},
	{
		source: "Yelp's Fusion API, rate limiting",
		family: "ratelimit", bare: true, Name: "daily", Limit: "Ratelimit-Dailylimit",
	},
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
X-Retry-After X-Retry-In`
