package throttle

// Spend says how what remains of a server's limit is spent until its reset. It applies to limits that are
// learned and come back all at once, and to a quota.Plain. Other quotas say themselves how fast they may be
// spent, and a limit that the server refills token by token is spent at the rate of the refill.
//
// What is spread goes in equal gaps, but no gap is longer than MaxStandstill or MaxWait, where these are
// bounds. MaxHold does not bound a gap: with neither of the two, the last token of a limit may wait for half of
// the time to the reset.
type Spend string

// The ways to spend. Zero, the empty text, is SpendAuto.
const (
	// SpendAuto is SpendEager if the reset may be waited for: if it is at most MaxStandstill away, and MaxWait,
	// where these are bounds. Then waiting for the reset is the fastest way. Otherwise it is SpendBalanced: a
	// limit of an hour must not be used up in its first minute. For a quota.Plain, MaxStandstill alone counts.
	SpendAuto Spend = "auto"

	// SpendEager spends as fast as claims come. Then all wait for the reset.
	SpendEager Spend = "eager"

	// SpendBalanced spends as fast as claims come down to a fifth of the limit, so that programs that need less
	// than four fifths are not slowed down. The rest is spread evenly over the time to the reset.
	SpendBalanced Spend = "balanced"

	// SpendEven spreads all that remains evenly over the time to the reset.
	SpendEven Spend = "even"
)
