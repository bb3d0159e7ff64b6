package headers

import "strings"

// bodyPaths says what the values in bodies mean, by their paths (see scanner). Each has
// the source that documents it.
var bodyPaths = newBodyPaths()

func newBodyPaths() map[string]func(*bodyFacts, string) {
	paths := map[string]func(*bodyFacts, string){
		// https://docs.discord.com/developers/topics/rate-limits
		"retry_after": (*bodyFacts).seconds,
		"global":      func(b *bodyFacts, v string) { b.global = v == "true" },

		// https://core.telegram.org/bots/api#responseparameters
		"parameters/retry_after": (*bodyFacts).seconds,

		// https://www.dropbox.com/developers/documentation/http/documentation#error-handling
		"error/retry_after": (*bodyFacts).seconds,

		// https://shopify.dev/docs/api/usage/limits
		"extensions/cost/throttleStatus/maximumAvailable":   func(b *bodyFacts, v string) { b.maximum = parseCount(v) },
		"extensions/cost/throttleStatus/currentlyAvailable": func(b *bodyFacts, v string) { b.available = parseCount(v) },
		"extensions/cost/throttleStatus/restoreRate":        func(b *bodyFacts, v string) { b.rate, _ = parseNumber(v) },
		"extensions/cost/requestedQueryCost":                func(b *bodyFacts, v string) { b.cost, _ = parseNumber(v) },

		// draft-ietf-httpapi-ratelimit-headers, and X, which writes problems as well
		"type":                (*bodyFacts).problemType,
		"violated-policies/*": (*bodyFacts).violatedPolicy,

		// https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
		"__type": func(b *bodyFacts, v string) { b.because(awsCause(v)) },
	}
	// A google.rpc.Status, bare as grpc-gateway writes it, or as an error of Google:
	// https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto
	for _, details := range []string{"details/*/", "error/details/*/"} {
		paths[details+"retryDelay"] = (*bodyFacts).duration
		paths[details+"violations/*/quotaId"] = (*bodyFacts).quotaName
		paths[details+"violations/*/quotaValue"] = (*bodyFacts).quotaValue
		paths[details+"metadata/quota_limit"] = (*bodyFacts).quotaName
		paths[details+"metadata/quota_limit_value"] = (*bodyFacts).quotaValue
		paths[details+"metadata/quota_unit"] = (*bodyFacts).quotaUnit
	}
	for path, causes := range bodyCauses {
		paths[path] = func(b *bodyFacts, v string) { b.because(causes[v]) }
	}
	return paths
}

// bodyTree is bodyPaths and all that leads to them.
var bodyTree = newBodyTree()

func newBodyTree() map[string]bool {
	tree := map[string]bool{}
	for path := range bodyPaths {
		for ok := true; ok && !tree[path]; {
			tree[path] = true
			i := strings.LastIndexByte(path, '/')
			if ok = i >= 0; ok {
				path = path[:i]
			}
		}
	}
	return tree
}

// ietfProblems are the types of problems that draft-ietf-httpapi-ratelimit-headers
// registers, and their causes. The policies that they name are exceeded.
var ietfProblems = map[string]Cause{
	"quota-exceeded": TooFast, "temporary-reduced-capacity": Busy, "abnormal-usage-detected": NoCause,
}

// bodyCauses are words for a cause, by the path at which they are. Words that stand for
// more than one (Google's quotaExceeded and RESOURCE_EXHAUSTED, Salesforce's
// REQUEST_LIMIT_EXCEEDED) are not among them.
var bodyCauses = map[string]map[string]Cause{
	"error/code": errorCodes,
	"error/type": errorCodes,

	// https://developers.google.com/search/apis/indexing-api/v3/core-errors
	"error/errors/*/reason": {
		"dailyLimitExceeded": Spent, "dailyLimitExceededUnreg": Spent,
		"rateLimitExceeded": TooFast, "userRateLimitExceeded": TooFast,
	},
	"error/details/*/reason": {"RATE_LIMIT_EXCEEDED": TooFast},

	// https://developers.google.com/maps/documentation/geocoding/requests-geocoding#StatusCodes
	"status": {"OVER_DAILY_LIMIT": Spent, "OVER_QUERY_LIMIT": TooFast},

	"errors/*/extensions/code": {
		"THROTTLED":   TooFast, // https://shopify.dev/docs/api/usage/limits
		"RATELIMITED": TooFast, // https://linear.app/developers/rate-limiting
	},
	"errors/*/type": {"RATE_LIMITED": TooFast}, // https://docs.github.com/en/graphql

	// https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines
	"errorType":  {"RATE_LIMIT": TooFast},
	"policyName": {"DAILY": Spent},

	"error":   {"ratelimited": TooFast},              // https://docs.slack.dev/apis/web-api/rate-limits
	"error/*": {"EAPI:Rate limit exceeded": TooFast}, // https://docs.kraken.com/api/docs/guides/spot-errors
	"retCode": {"10006": TooFast, "10018": TooFast},  // https://bybit-exchange.github.io/docs/v5/error
	"code":    {"99991400": TooFast},                 // https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code

	// https://www.dropbox.com/developers/documentation/http/documentation#error-handling
	"error/reason/.tag": {"too_many_requests": TooFast, "too_many_write_operations": Busy},
}

// errorCodes are codes and types of errors.
var errorCodes = map[string]Cause{
	// https://platform.openai.com/docs/guides/error-codes
	"insufficient_quota": Spent, "credit_balance_exhausted": Spent, "organization_spend_limit_exceeded": Spent,
	"project_spend_limit_exceeded": Spent, "organization_usage_limit_exceeded": Spent, "rate_limit_exceeded": TooFast,

	// https://docs.anthropic.com/en/api/errors
	"rate_limit_error": TooFast, "overloaded_error": Busy, "billing_error": Spent,

	// https://docs.stripe.com/error-codes: another request holds the object.
	"rate_limit": TooFast, "lock_timeout": Busy,
}
