// Package refusal has words by which servers say why they refuse a request, as values of
// headers that exist for it. What comes in is such a value; what goes out is a [Refusal],
// Unknown for a word that is not known or that stands for more than one.
package refusal

import (
	"strings"

	"github.com/gopacer/pacer/headers/internal/value"
)

// Refusal is why a server refuses a request. It is a headers.Refusal, which says what it means, as a number:
// the graver, the larger.
type Refusal int

// Refusals, the graver last.
const (
	Unknown Refusal = iota
	TooFast
	Busy
	TooMany
	Spent
)

// Of returns what the value of a header that exists for it says.
func Of(s string) Refusal {
	s = value.Trim(s)
	if c := stripeReasons[s]; c != Unknown {
		return c
	}
	return OfAWS(s)
}

// stripeReasons are values of Stripe-Rate-Limited-Reason,
// https://docs.stripe.com/rate-limits. It has others, which say less.
var stripeReasons = map[string]Refusal{
	"global-rate": TooFast, "endpoint-rate": TooFast,
	"global-concurrency": TooMany, "endpoint-concurrency": TooMany,
}

// OfAWS reads an error as AWS writes it, which is a name with perhaps a namespace before
// it and a URL after it: "com.amazonaws.sqs#ThrottlingException:http://internal…"
// (https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html).
func OfAWS(s string) Refusal {
	name, _, _ := strings.Cut(s, ":")
	return awsErrors[name[strings.LastIndexByte(name, '#')+1:]]
}

// awsErrors are those of DefaultThrottleErrorCodes of aws-sdk-go-v2 that mean one thing.
// LimitExceededException is both a rate and the quota of a usage plan.
var awsErrors = map[string]Refusal{
	"Throttling": TooFast, "ThrottlingException": TooFast, "ThrottledException": TooFast,
	"RequestThrottled": TooFast, "RequestThrottledException": TooFast, "EC2ThrottledException": TooFast,
	"TooManyRequestsException": TooFast, "RequestLimitExceeded": TooFast, "BandwidthLimitExceeded": TooFast,
	"ProvisionedThroughputExceededException": TooFast, "SlowDown": TooFast,
}
