package name

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
		Source: "https://techdocs.akamai.com/adaptive-media-delivery/reference/rate-limiting",
		Family: "x-ratelimit", Bare: true, Form: Instant, Reset: "X-Ratelimit-Next",
	},
	{
		Source: "https://developer-docs.amazon.com/sp-api/docs/usage-plans-and-rate-limits", // requests per second
		Family: "amzn", FixedWindow: second, Limit: "X-Amzn-Ratelimit-Limit",
	},
	{
		Source: "auth0/node-auth0 and auth0/auth0.net, token quota headers",
		Family: "x-ratelimit", Name: "client", Unit: "tokens", Form: Keys, Text: "Auth0-Client-Quota-Limit",
	},
	{
		Source: "auth0/node-auth0 and auth0/auth0.net, token quota headers",
		Family: "x-ratelimit", Name: "organization", Unit: "tokens", Form: Keys, Text: "Auth0-Organization-Quota-Limit",
	},
	{
		Source: "https://developer.atlassian.com/cloud/jira/platform/rate-limiting/",
		Family: "beta-ratelimit", Unit: "points", State: "Beta-Ratelimit", Policy: "Beta-Ratelimit-Policy",
	},
	{
		Source: "https://developer.atlassian.com/cloud/jira/platform/rate-limiting/",
		Family: "x-ratelimit", Bare: true, Unit: "points", Label: "Ratelimit-Reason",
	},
	{
		Source: "bigcommerce/dev-docs, docs/api-docs/getting-started/best-practices.mdx",
		Family: "bigcommerce", Limit: "X-Rate-Limit-Requests-Quota", Remaining: "X-Rate-Limit-Requests-Left",
		Reset: "X-Rate-Limit-Time-Reset-Ms", Window: "X-Rate-Limit-Time-Window-Ms",
	},
	{
		Source: "https://bybit-exchange.github.io/docs/v5/rate-limit",
		Family: "bybit", Limit: "X-Bapi-Limit", Remaining: "X-Bapi-Limit-Status",
		Reset: "X-Bapi-Limit-Reset-Timestamp", Step: time.Millisecond,
	},
	{
		Source: "responses of api.cohere.com; the headers are not documented",
		Family: "cohere", Name: "trial-endpoint-call",
		Limit: "X-Trial-Endpoint-Call-Limit", Remaining: "X-Trial-Endpoint-Call-Remaining",
	},
	{
		Source: "responses of api.cohere.com; the headers are not documented",
		Family: "cohere", Name: "endpoint-monthly-call",
		Limit: "X-Endpoint-Monthly-Call-Limit", Remaining: "X-Endpoint-Monthly-Call-Remaining",
	},
	{
		Source: "fixtures of Contentful's SDK", // Reset: until the next request
		Family: "x-contentful-ratelimit", Form: Seconds, MayBeIdle: true, RetryAfter: "X-Contentful-Ratelimit-Reset",
	},
	{
		Source: "responses of api.crossref.org, X-Rate-Limit-Interval: 1s",
		Family: "x-rate-limit", Bare: true, Window: "X-Rate-Limit-Interval",
	},
	{
		Source: "DocuSign's description of its eSign API", // 30 s by prose
		Family: "x-ratelimit", Name: "burst", FixedWindow: 30 * second,
		Limit: "X-Burstlimit-Limit", Remaining: "X-Burstlimit-Remaining",
	},
	{
		Source: "https://developers.etsy.com/documentation/essentials/rate-limits",
		Family: "etsy", Name: "second", FixedWindow: second,
		Limit: "X-Limit-Per-Second", Remaining: "X-Remaining-This-Second",
	},
	{
		Source: "https://developers.etsy.com/documentation/essentials/rate-limits",
		Family: "etsy", Name: "day", FixedWindow: day, Limit: "X-Limit-Per-Day", Remaining: "X-Remaining-Today",
	},
	{
		Source: "https://www.gate.io/docs/developers/apiv4/",
		Family: "gate", Limit: "X-Gate-Ratelimit-Limit", Remaining: "X-Gate-Ratelimit-Requests-Remain",
		Reset: "X-Gate-Ratelimit-Reset-Timestamp",
	},
	{
		Source: "responses of api.hubapi.com",
		Family: "hubspot", Limit: "X-Hubspot-Ratelimit-Max", Remaining: "X-Hubspot-Ratelimit-Remaining",
		Window: "X-Hubspot-Ratelimit-Interval-Milliseconds",
	},
	{
		Source: "responses of api.hubapi.com",
		Family: "hubspot", Name: "daily", FixedWindow: day,
		Limit: "X-Hubspot-Ratelimit-Daily", Remaining: "X-Hubspot-Ratelimit-Daily-Remaining",
	},
	{
		Source: "responses of api.hubapi.com",
		Family: "hubspot", Name: "secondly", FixedWindow: second,
		Limit: "X-Hubspot-Ratelimit-Secondly", Remaining: "X-Hubspot-Ratelimit-Secondly-Remaining",
	},
	{
		Source: "https://ip-api.com/docs/api:json#usage_limits", // how many are left in a window of a minute, and of how much of it
		Family: "ip-api", Weak: true, Remaining: "X-Rl", Reset: "X-Ttl",
	},
	{
		Source: "https://www.kucoin.com/docs/basic-info/request-rate-limit/rest-api", // a delay in milliseconds, of weighted requests
		Family: "kucoin", Unit: "weight", Step: time.Millisecond,
		Limit: "Gw-Ratelimit-Limit", Remaining: "Gw-Ratelimit-Remaining", Reset: "Gw-Ratelimit-Reset",
	},
	{
		Source: "LaunchDarkly's OpenAPI description", // 10 s by prose
		Family: "x-ratelimit", Name: "global", FixedWindow: 10 * second, Prose: true, Remaining: "X-Ratelimit-Global-Remaining",
	},
	{
		Source: "LaunchDarkly's OpenAPI description",
		Family: "x-ratelimit", Name: "route", FixedWindow: 10 * second, Prose: true, Remaining: "X-Ratelimit-Route-Remaining",
	},
	{
		Source: "https://developers.facebook.com/docs/graph-api/overview/rate-limiting/",
		Family: "meta", Name: "app", Unit: "percent", Form: Usage, Text: "X-App-Usage",
	},
	{
		Source: "https://developers.facebook.com/docs/graph-api/overview/rate-limiting/",
		Family: "meta", Name: "business", Unit: "percent", Form: Usage, Text: "X-Business-Use-Case-Usage",
	},
	{
		Source: "https://www.pathofexile.com/developer/docs, rate limits",
		Family: "x-rate-limit", Name: "account", Form: Windows, Limit: "X-Rate-Limit-Account", Used: "X-Rate-Limit-Account-State",
	},
	{
		Source: "https://www.pathofexile.com/developer/docs, rate limits",
		Family: "x-rate-limit", Name: "client", Form: Windows, Limit: "X-Rate-Limit-Client", Used: "X-Rate-Limit-Client-State",
	},
	{
		Source: "https://www.pathofexile.com/developer/docs, rate limits",
		Family: "x-rate-limit", Name: "ip", Form: Windows, Limit: "X-Rate-Limit-Ip", Used: "X-Rate-Limit-Ip-State",
	},
	{
		Source: "npm riot-ratelimiter",
		Family: "riot", Name: "app", Form: Windows, Limit: "X-App-Rate-Limit", Used: "X-App-Rate-Limit-Count",
	},
	{
		Source: "npm riot-ratelimiter",
		Family: "riot", Name: "method", Form: Windows, Limit: "X-Method-Rate-Limit", Used: "X-Method-Rate-Limit-Count",
	},
	{
		Source: "Salesforce's REST API, Sforce-Limit-Info",
		Family: "salesforce", Form: Ratio, Text: "Sforce-Limit-Info",
	},
	{
		Source: "getsentry/develop, src/docs/sdk/rate-limiting.mdx",
		Family: "sentry", Unit: "events", Form: Delays, Text: "X-Sentry-Rate-Limits",
	},
	{
		Source: "https://shopify.dev/docs/api/admin-rest/usage/rate-limits",
		Family: "shopify", Form: Ratio, Text: "X-Shopify-Shop-Api-Call-Limit",
	},
	{
		Source: "spring-cloud/spring-cloud-gateway, requestratelimiter-factory.adoc",
		Family: "x-ratelimit", Bare: true, Limit: "X-Ratelimit-Burst-Capacity",
	},
	{
		Source: "https://developers.strava.com/docs/rate-limits/", // of 15 minutes and of a day
		Family: "x-ratelimit", Bare: true, Used: "X-Ratelimit-Usage",
		Series: []Span{{"overall-15min", 15 * minute}, {"overall-daily", day}},
	},
	{
		Source: "https://developers.strava.com/docs/rate-limits/",
		Family: "x-ratelimit", Name: "read", Limit: "X-Readratelimit-Limit", Used: "X-Readratelimit-Usage",
		Series: []Span{{"read-15min", 15 * minute}, {"read-daily", day}},
	},
	{
		Source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits/",
		Family: "trello", Name: "api-token", Limit: "X-Rate-Limit-Api-Token-Max",
		Remaining: "X-Rate-Limit-Api-Token-Remaining", Window: "X-Rate-Limit-Api-Token-Interval-Ms",
	},
	{
		Source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits/",
		Family: "trello", Name: "api-key", Limit: "X-Rate-Limit-Api-Key-Max",
		Remaining: "X-Rate-Limit-Api-Key-Remaining", Window: "X-Rate-Limit-Api-Key-Interval-Ms",
	},
	{
		Source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		Family: "xero", Name: "day", FixedWindow: day, Remaining: "X-Daylimit-Remaining",
	},
	{
		Source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		Family: "xero", Name: "minute", FixedWindow: minute, Remaining: "X-Minlimit-Remaining",
	},
	{
		Source: "https://developer.xero.com/documentation/guides/oauth2/limits/",
		Family: "xero", Name: "app-minute", FixedWindow: minute, Remaining: "X-Appminlimit-Remaining",
	},
	{
		Source: "Yelp's Fusion API, rate limiting",
		Family: "ratelimit", Bare: true, Name: "daily", Limit: "Ratelimit-Dailylimit",
	},
}
