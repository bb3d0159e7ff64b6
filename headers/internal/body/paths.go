package body

import (
	"bytes"
	"strings"

	"github.com/gopacer/pacer/headers/internal/refusal"
	"github.com/gopacer/pacer/headers/internal/value"
)

// paths says what the values in bodies mean, by their paths (see jsonscan). Each has
// the source that documents it.
var paths = newPaths()

func newPaths() map[string]func(*reader, string) {
	m := map[string]func(*reader, string){
		// https://docs.discord.com/developers/topics/rate-limits
		"retry_after": (*reader).delay,
		"global":      func(r *reader, v string) { r.global = v == "true" },

		// https://core.telegram.org/bots/api#responseparameters
		"parameters/retry_after": (*reader).seconds,

		// https://www.dropbox.com/developers/documentation/http/documentation#error-handling
		"error/retry_after": (*reader).delay,

		// https://bungie-net.github.io: zero where nothing is throttled
		"ThrottleSeconds": (*reader).throttle,

		// https://docs.sportmonks.com, rate limit: on each answer
		"rate_limit/resets_in_seconds": (*reader).resetsIn,
		"rate_limit/remaining":         func(r *reader, v string) { r.left = value.ParseCount(v) },

		// WSO2's API Manager, error 900804
		"nextAccessTime":       (*reader).next,
		"fault/nextAccessTime": (*reader).next,

		// https://shopify.dev/docs/api/usage/limits
		"extensions/cost/throttleStatus/maximumAvailable":   func(r *reader, v string) { r.maximum = value.ParseCount(v) },
		"extensions/cost/throttleStatus/currentlyAvailable": func(r *reader, v string) { r.available = value.ParseCount(v) },
		"extensions/cost/throttleStatus/restoreRate":        func(r *reader, v string) { r.rate, _ = value.ParseNumber(v) },
		"extensions/cost/requestedQueryCost":                func(r *reader, v string) { r.cost, _ = value.ParseNumber(v) },

		// draft-ietf-httpapi-ratelimit-headers, and X, which writes problems as well
		"type":                (*reader).problemType,
		"violated-policies/*": (*reader).violatedPolicy,

		"documentation_url": (*reader).documentation,

		// https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
		"__type": func(r *reader, v string) { r.because(refusal.OfAWS(v)) },
	}
	// A google.rpc.Status, bare as grpc-gateway writes it, or as an error of Google:
	// https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto
	for _, details := range []string{"details/*/", "error/details/*/"} {
		m[details+"retryDelay"] = (*reader).duration
		m[details+"violations/*/quotaId"] = (*reader).quotaName
		m[details+"violations/*/quotaValue"] = (*reader).quotaValue
		m[details+"metadata/quota_limit"] = (*reader).quotaName
		m[details+"metadata/quota_limit_value"] = (*reader).quotaValue
		m[details+"metadata/quota_unit"] = (*reader).quotaUnit
	}
	// Words for a hint to retry, as keys of an error: Stack Exchange writes backoff, quota_remaining and
	// quota_max (https://api.stackexchange.com/docs/throttle).
	for _, in := range []string{"", "error/", "meta/", "details/", "error/details/", "extensions/", "errors/*/", "errors/*/extensions/", "error/data/"} {
		for key := range strings.FieldsSeq(delays) {
			if m[in+key] == nil {
				m[in+key] = (*reader).delay
			}
		}
		for key := range strings.FieldsSeq(millis) {
			m[in+key] = (*reader).millis
		}
	}
	m["quota_remaining"] = func(r *reader, v string) { r.own.Remaining = value.ParseCount(v) }
	m["quota_max"] = func(r *reader, v string) { r.own.Limit = value.ParseCount(v) }
	for path, words := range refusals {
		m[path] = func(r *reader, v string) { r.because(words[v]) }
	}
	return m
}

// delays are keys of a number of seconds, or of a duration, after which to try again, and millis of one of
// milliseconds.
const (
	delays = `backoff backoff_seconds backoffSeconds retry_after retryAfter retry-after retry_after_sec retryAfterSec
		retry_after_secs retryAfterSecs retry_after_seconds retryAfterSeconds retryAfterInSeconds retry_after_in_seconds
		retry_in retryIn retry_in_seconds retryInSeconds retry_delay retryDelay Retry-After wait_seconds`
	millis = `retry_after_ms retryAfterMs retry_after_millis retryAfterMillis retry_in_ms retryInMs retryAfterMilliseconds`
)

// anywhere has the keys that mean the same in any object of a body: Discourse's extras have wait_seconds.
var anywhere = map[string]func(*reader, string){"wait_seconds": (*reader).delay}

// readerOf returns how the value at a path is read, nil if it is not.
func readerOf(path []byte) func(*reader, string) {
	if read := paths[string(path)]; read != nil {
		return read
	}
	if object, key, ok := bytes.Cut(path, []byte{'/'}); ok && string(object) != "*" {
		return anywhere[string(key)]
	}
	return nil
}

// tree is paths and all that leads to them.
var tree = newTree()

func newTree() map[string]bool {
	m := map[string]bool{}
	for path := range paths {
		for ok := true; ok && !m[path]; {
			m[path] = true
			i := strings.LastIndexByte(path, '/')
			if ok = i >= 0; ok {
				path = path[:i]
			}
		}
	}
	return m
}

// refusals are words for a refusal, by the path at which they are. Words that stand for
// more than one (Google's quotaExceeded and RESOURCE_EXHAUSTED, Salesforce's
// REQUEST_LIMIT_EXCEEDED) are not among them.
var refusals = map[string]map[string]refusal.Refusal{
	"error/code": errorCodes,
	"error/type": errorCodes,

	// https://developers.google.com/search/apis/indexing-api/v3/core-errors
	"error/errors/*/reason": {
		"dailyLimitExceeded": refusal.Spent, "dailyLimitExceededUnreg": refusal.Spent,
		"rateLimitExceeded": refusal.TooFast, "userRateLimitExceeded": refusal.TooFast,
	},
	"error/details/*/reason": {"RATE_LIMIT_EXCEEDED": refusal.TooFast},

	// https://developers.google.com/maps/documentation/geocoding/requests-geocoding#StatusCodes
	"status": {"OVER_DAILY_LIMIT": refusal.Spent, "OVER_QUERY_LIMIT": refusal.TooFast},

	"errors/*/extensions/code": {
		"THROTTLED":   refusal.TooFast, // https://shopify.dev/docs/api/usage/limits
		"RATELIMITED": refusal.TooFast, // https://linear.app/developers/rate-limiting
	},
	"errors/*/type": {"RATE_LIMITED": refusal.TooFast}, // https://docs.github.com/en/graphql

	// https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines
	"errorType":  {"RATE_LIMIT": refusal.TooFast},
	"policyName": {"DAILY": refusal.Spent},

	"error":   {"ratelimited": refusal.TooFast},                     // https://docs.slack.dev/apis/web-api/rate-limits
	"error/*": {"EAPI:Rate limit exceeded": refusal.TooFast},        // https://docs.kraken.com/api/docs/guides/spot-errors
	"retCode": {"10006": refusal.TooFast, "10018": refusal.TooFast}, // https://bybit-exchange.github.io/docs/v5/error
	"code":    {"99991400": refusal.TooFast},                        // https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code

	// https://www.dropbox.com/developers/documentation/http/documentation#error-handling
	"error/reason/.tag": {"too_many_requests": refusal.TooFast, "too_many_write_operations": refusal.Busy},
}

// errorCodes are codes and types of errors.
var errorCodes = map[string]refusal.Refusal{
	// https://platform.openai.com/docs/guides/error-codes
	"insufficient_quota": refusal.Spent, "credit_balance_exhausted": refusal.Spent, "organization_spend_limit_exceeded": refusal.Spent,
	"project_spend_limit_exceeded": refusal.Spent, "organization_usage_limit_exceeded": refusal.Spent, "rate_limit_exceeded": refusal.TooFast,

	// https://docs.anthropic.com/en/api/errors
	"rate_limit_error": refusal.TooFast, "overloaded_error": refusal.Busy, "billing_error": refusal.Spent,

	// https://docs.stripe.com/error-codes: another request holds the object.
	"rate_limit": refusal.TooFast, "lock_timeout": refusal.Busy,
}
