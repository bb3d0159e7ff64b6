package headers

import (
	"strconv"
	"strings"
	"time"
)

// Cause is why a server refuses a request, where it says so itself. A caller needs it
// where the status does not tell, or where waiting for a moment is in vain. It is read
// from the headers Stripe-Rate-Limited-Reason and X-Amzn-ErrorType, from limits of a day
// and longer of which nothing remains, and by ParseBody from bodies.
//
// It may be said of a response that is no refusal, such as the last one that a quota
// granted. It is then why the next one would be.
type Cause int

// Causes, the graver last: if a response names several, the gravest is reported.
const (
	NoCause Cause = iota // it does not say
	TooFast              // a limit over time is used up
	Busy                 // the server, or what the request is about, is busy, whoever asks
	TooMany              // too many requests are under way at the same time

	// Spent means that a quota is used up which is granted by the day or longer, or for
	// money, and that nothing says that it will be restored within the hour.
	Spent
)

// String returns the name of the constant.
func (c Cause) String() string {
	if names := [...]string{"NoCause", "TooFast", "Busy", "TooMany", "Spent"}; c >= 0 && int(c) < len(names) {
		return names[c]
	}
	return "Cause(" + strconv.Itoa(int(c)) + ")"
}

// stripeReasons are values of Stripe-Rate-Limited-Reason,
// https://docs.stripe.com/rate-limits. It has others, which say less.
var stripeReasons = map[string]Cause{
	"global-rate": TooFast, "endpoint-rate": TooFast,
	"global-concurrency": TooMany, "endpoint-concurrency": TooMany,
}

// awsErrors are those of DefaultThrottleErrorCodes of aws-sdk-go-v2 that mean one thing.
// LimitExceededException is both a rate and the quota of a usage plan.
var awsErrors = map[string]Cause{
	"Throttling": TooFast, "ThrottlingException": TooFast, "ThrottledException": TooFast,
	"RequestThrottled": TooFast, "RequestThrottledException": TooFast, "EC2ThrottledException": TooFast,
	"TooManyRequestsException": TooFast, "RequestLimitExceeded": TooFast, "BandwidthLimitExceeded": TooFast,
	"ProvisionedThroughputExceededException": TooFast, "SlowDown": TooFast,
}

// causeOf returns what the value of a header that names a cause says.
func causeOf(value string) Cause {
	value = trim(value)
	if c := stripeReasons[value]; c != NoCause {
		return c
	}
	return awsCause(value)
}

// awsCause reads an error as AWS writes it, which is a name with perhaps a namespace before
// it and a URL after it: "com.amazonaws.sqs#ThrottlingException:http://internal…"
// (https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html).
func awsCause(value string) Cause {
	name, _, _ := strings.Cut(value, ":")
	return awsErrors[name[strings.LastIndexByte(name, '#')+1:]]
}

// soon is the time within which a quota may be restored without being Spent.
const soon = time.Hour

// spent reports whether a limit of which nothing remains is Spent. long is whether its
// window is one of a month or longer.
func (l *Limit) spent(long bool) bool {
	counted := !l.Limit.Known || l.Limit.N > 0
	if !counted || l.Advisory || l.Reset.Known && l.Reset.In < soon {
		return false
	}
	return long || l.Window >= day
}
