package quota

// Kind is how a provider counts. A client that counts in the same way as the server is never
// refused and can use the whole quota. A client that counts more strictly is never refused either,
// but loses a part of the quota; each Kind says how much.
//
// In any window of the length Per,
//
//	Plain            admits up to N; while the server's own count is believed, what that lets through
//	TokenBucket      admits up to Burst + N
//	FixedWindow      admits up to 2N: N just before the end of its window, N just after it
//	ClockWindow      admits up to 2N: N just before a tick of the clock, N just after it
//	EstimatedWindow  admits up to 2N, if requests come at the right moments
//	SlidingWindow    admits up to N
//	SlidingLog       admits up to N
//
// InFlight and Unanswered have no window: they bound how many requests are under way at the same
// time.
//
// Some costs are known only when a request has ended: bytes of an answer, tokens of a language model. What is
// charged then beyond N (see throttle.Grant.Settle) goes in the window although it is too much, and each Kind
// says for how long it counts. A TokenBucket owes it until it is refilled, so that its rate holds on average.
// The windows of the other kinds end, and forget it with the rest, as the provider's do: requests that claim
// less than they turn out to cost go beyond N in every window, for as long as they come. What is to be held on
// average, whatever a request costs, is a TokenBucket: "1MB/s debt", or "1MB/s streamed" for bytes.
//
// Plain and SlidingLog are therefore for a server about which little is known. They never grant more
// than N in a window, and servers of the other kinds with the same N and Per admit that. Only two
// of them may refuse it: a TokenBucket with a Burst below N, and an EstimatedWindow, which takes a
// burst to have been spread over its window. Of the two, Plain wastes less: where the server states
// what it counts, that is believed. All other kinds are caps: what is asked for, whatever the server
// states.
//
// A client's windows count the instants at which requests leave. The server's windows count the
// instants at which they arrive, and one request may travel faster than another. Where the
// server's windows are exact, Per should be longer than the server's by as much as the latency
// varies.
//
// The value of a Kind is its word in the text of a quota. Plain has none there, and "bucket" is written "even"
// or with its burst. Quota.Validate finds any other value.
//
// The examples of package throttle show each of them.
type Kind string

const (
	// Plain admits N in any window of the length Per, at once if need be. It is for providers whose
	// pages say "100 requests per minute", and not how these are counted. It is a SlidingLog for an N
	// of up to 64, and above that a SlidingWindow of as many Cells, so that it takes 2 kB at most.
	//
	// Where a server counts on a grid, its tokens may come back sooner than those of a log. So a
	// throttle.Limiter charges a Plain quota always, but lets it delay nothing while the latest answer
	// that speaks of limits states a limit of the same Unit, of N, over Per (or over no span, and with a
	// reset within Per): then what the server says of that limit counts in its place. The quota delays
	// again when answers state no limits any more, when the reset has passed, after a refusal that
	// the statements do not explain, and while the limit is seen to come back token by token, as in a token
	// bucket: when it does is a guess then. A statement with another N never takes its place.
	//
	// If Per is longer than MaxStandstill of the Limiter, the last fifth of N is spread over the time
	// until a fifth is back, but no two tokens are more than MaxStandstill apart. So a program that has
	// used four fifths of its hour in a minute goes on slowly. throttle.Spend says the same of limits
	// that are learned. With a Store, the server's count is not believed, and nothing is spread.
	//
	// A Plain quota of Months admits N in each month of the calendar, not in any 30 days: it is a ClockWindow
	// of which the server's count is believed, over 31 days for a month, and the last fifth is spread until the
	// month ends.
	//
	// What is charged beyond N counts for Per, or until the month ends, and is forgotten then.
	//
	// The zero Kind of a quota with a Burst, a Debt or a WarmUp, or that is Streamed, is TokenBucket.
	Plain Kind = ""

	// TokenBucket holds Burst tokens and is refilled evenly, N tokens per Per. With a Burst of 1, tokens are
	// spaced evenly. It suits golang.org/x/time/rate, didip/tollbooth, GCRA (throttled, redis_rate,
	// redis-cell), AWS API Gateway, Stripe.
	//
	// A leaky bucket that refuses what overflows admits the same: nginx's limit_req with burst=9
	// nodelay is a Burst of 10, and Shopify's bucket is a Burst of its size. For a leaky bucket
	// that delays (limit_req without nodelay) a Burst of 1 is best: a larger burst would only wait in
	// the server's queue.
	//
	// What is charged beyond Burst is owed: nothing goes until it is refilled, however long that takes. With a
	// Debt, a cost above Burst goes that is known before, too.
	TokenBucket Kind = "bucket"

	// FixedWindow admits N in a window. The window starts with the first request after the end of
	// the last window. It suits express-rate-limit, @fastify/rate-limit, ulule/limiter, GitHub, and
	// counters in Redis that expire (INCR, EXPIRE).
	//
	// Where the grant that started the window is canceled as if it had never been, the server's
	// window starts with a later grant, and it is not known with which. Then nothing more is
	// granted until Per after the latest of them, when the server's window has ended for certain.
	//
	// What is charged beyond N is forgotten when the window ends.
	FixedWindow Kind = "window"

	// ClockWindow admits N in each window of the wall clock. Windows start at multiples of Per
	// since 1970 in UTC: windows of a minute, an hour or a day start as on the clock, and windows
	// of a week on Thursdays. It suits counters whose key contains the minute, Discord's and
	// Twitter's windows, and daily quotas that end at midnight UTC.
	//
	// With Months or a Zone, or From for a week, windows begin at midnight of days of the calendar. A day
	// begins at the first instant at which the clocks of the Zone show its date: where these are put forward at
	// midnight, that is one o'clock. Such windows live in one process: a throttle.Limiter with a Store refuses
	// them.
	//
	// If the clock is set, the windows follow it, once somebody asks for a token or half a minute
	// later. What went in the window that ran then, and in the one before it, counts in those that
	// run by the new clock, so that no setting of the clock brings tokens back before one begins; and
	// until two windows later no more than 2N go in any Per. A token comes within Per, however far and
	// however often the clock is set. Steps of less than 0.1 s are not followed, nor any by a Limiter
	// with a Store, which has a clock of its own.
	//
	// What is charged beyond N is forgotten when the window ends.
	ClockWindow Kind = "window grid"

	// SlidingWindow admits N in any window of the length Per. It divides Per into Cells parts and remembers the
	// tokens of a cell together. All tokens of a cell come back together, Per after the last of them was
	// granted, so that a token comes back after Per at the earliest and Per + Per/Cells at the latest. A client
	// that always has requests waiting loses nothing, since what was granted together comes back together; a
	// client that sends evenly loses up to one part in Cells. It suits ASP.NET Core's SlidingWindowRateLimiter,
	// and the servers of SlidingLog where N is so large that the memory matters. What is charged beyond N
	// counts as long as the rest of its cell, and is forgotten then.
	SlidingWindow Kind = "sliding"

	// SlidingLog admits N in any window of the length Per, exactly. It remembers the instant of each grant: at
	// most N instants, of 24 bytes each, in memory for up to three times as many. It suits sorted sets in Redis
	// (Upstash's, many Lua scripts), DigitalOcean, Riot Games. What is charged beyond N counts for Per, and is
	// forgotten then.
	SlidingLog Kind = "log"

	// EstimatedWindow admits N minus an estimate of what was granted in the last Per:
	//
	//	estimate = running + before · overlap, rounded to a whole number
	//
	// Running is what was granted in the running window of the wall clock (see ClockWindow), and
	// before what was granted in the window before it; overlap is the share of that window which
	// lies within the last Per. It suits go-chi/httprate, Upstash's slidingWindow, Cloudflare. A
	// server that does not round admits half a token less: give such a quota an N of one less. What is charged
	// beyond N counts in its window and, less and less, in the next one, and is forgotten then.
	EstimatedWindow Kind = "estimate"

	// InFlight admits N at the same time, each from its grant until its answer has been read to its
	// end. It suits limits of concurrent requests or connections (GitHub's 100, Slack's, Azure
	// OpenAI's), and servers that are fast as long as not too much is asked of them at once. Each
	// request counts as one, whatever it costs, unless the quota has a Unit.
	InFlight Kind = "in flight"

	// Unanswered admits N at the same time, each from its grant until its answer begins. It suits
	// servers that count the requests on which they work, and not the answers that are still on their
	// way back.
	Unanswered Kind = "unanswered"
)

// Concurrent reports whether the kind bounds what is under way at the same time: InFlight and
// Unanswered. Their tokens come back when requests end, those of the other kinds as time passes.
func (k Kind) Concurrent() bool { return k == InFlight || k == Unanswered }

// OnClock reports whether the kind counts in windows of the wall clock, none of which admits more
// than N: ClockWindow and EstimatedWindow.
func (k Kind) OnClock() bool { return k == ClockWindow || k == EstimatedWindow }

// kinds are all of them.
var kinds = []Kind{Plain, TokenBucket, FixedWindow, ClockWindow, SlidingWindow, SlidingLog, EstimatedWindow, InFlight, Unanswered}
