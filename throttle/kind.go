package throttle

import "strconv"

// Kind is how a provider counts. A client that counts as the server does is never
// refused and loses nothing; of the others, those that are stricter than the server
// are never refused either, and lose what each says.
//
// In any window of the length Per, a server that is a
//
//	TokenBucket      sees up to Burst + N
//	FixedWindow      sees up to 2N, half of them on either side of the end of its window
//	ClockWindow      sees up to 2N, on either side of a tick of its clock
//	EstimatedWindow  sees up to 2N, if they come at the right moments
//	SlidingWindow    sees up to N
//	SlidingLog       sees up to N
//
// InFlight and Unanswered have no window: they bound how many requests are under way
// at the same time.
//
// SlidingLog is therefore the one for a server that is not known well: the others
// with the same N and Per admit whatever it sends. Only a TokenBucket with a Burst below N,
// and an EstimatedWindow, which takes a burst to have been spread over its window,
// may refuse.
//
// Windows count when requests leave here. A server counts when they arrive, and
// one may be faster than another; where its windows are exact, Per should be longer than
// the server's by as much as its latency varies.
type Kind int

const (
	// TokenBucket holds Burst tokens and is refilled evenly at N per Per. Suits
	// golang.org/x/time/rate, didip/tollbooth, GCRA (throttled, redis_rate,
	// redis-cell), AWS API Gateway, Stripe.
	//
	// A leaky bucket that refuses what overflows admits the same: nginx's
	// limit_req with burst=9 nodelay, and Shopify's bucket, are a Burst of 10 and of
	// the bucket's size. A leaky bucket that delays (limit_req without nodelay) is
	// best met evenly, with a Burst of 1: its queue only moves the wait to the server.
	TokenBucket Kind = iota

	// FixedWindow admits N in a window which starts with the first request after
	// the end of the last window. Suits express-rate-limit, @fastify/rate-limit,
	// ulule/limiter, GitHub, and counters in Redis that expire (INCR, EXPIRE).
	//
	// A grant that is canceled as if it had never been moves the window's start.
	// Where later grants of the window remain, nothing more goes until Per after
	// the latest of them: only then a window at the server has ended for certain.
	FixedWindow

	// ClockWindow admits N in each window of the wall clock: windows start at
	// multiples of Per since 1970 in UTC, so that those of a minute, an hour or a
	// day start as on the clock, and those of a week on Thursdays. Suits counters
	// whose key has the minute in it, Discord's and Twitter's windows, and daily
	// quotas that end at midnight UTC.
	//
	// The clock is read once, when the Limiter is first used. If it is set
	// after that, or the machine sleeps, windows are off by as much.
	ClockWindow

	// SlidingWindow admits N in any window of Per, and remembers what went in Cells
	// cells. All of a cell leaves Per after the newest of it, so that a token is back
	// after Per to Per + Per/Cells. A client that always asks loses nothing, since
	// what goes together comes back together; one that sends evenly loses up to one
	// part in Cells. Suits ASP.NET Core's SlidingWindowRateLimiter, and SlidingLog's
	// servers where N is so large that its memory matters.
	SlidingWindow

	// SlidingLog admits N in any window of Per, exactly. It remembers each instant
	// at which something went: at most N, of 24 bytes each, in up to three times the room.
	// Suits sorted sets in Redis (Upstash's, many Lua scripts), DigitalOcean,
	// Riot Games.
	SlidingLog

	// EstimatedWindow admits N minus an estimate of what went in the last Per: what
	// went in the running window of the wall clock (see ClockWindow), and of what went in
	// the one before it the share by which it overlaps the last Per, rounded to a whole
	// number. Suits go-chi/httprate, Upstash's slidingWindow, Cloudflare. A server
	// that does not round admits half a token less: give it an N of one less.
	EstimatedWindow

	// InFlight admits N at a time, each from when it is granted until its answer
	// has been read ([Grant.Close]). Suits limits of concurrent requests or
	// connections (GitHub's 100, Slack's, Azure OpenAI's), and servers that
	// are fast as long as not too much is asked of them at once. Each request is
	// one, whatever it costs, unless the quota has a Unit.
	InFlight

	// Unanswered admits N at a time, each until its answer begins ([Grant.Done]):
	// for servers that count how many requests they work on, and not what is still on its
	// way back.
	Unanswered
)

// slots reports whether what is granted is given back when the request ends, and
// not in time.
func (k Kind) slots() bool { return k >= InFlight }

// String returns the kind as it is written in the text of a quota.
func (k Kind) String() string {
	if k < 0 || k > Unanswered {
		return "kind " + strconv.Itoa(int(k))
	}
	return [...]string{"bucket", "window", "window grid", "sliding", "log", "estimate", "in flight", "unanswered"}[k]
}

// newWindow returns the arithmetic of q, which is no token bucket. The wall clock was
// at wall, in nanoseconds since 1970, at instant 0.
func newWindow(q Quota, wall int64) limit {
	switch q.Kind {
	case FixedWindow, ClockWindow:
		return &fixed{n: int64(q.N), per: q.per(), grid: q.Kind == ClockWindow, wall: wall}
	case InFlight, Unanswered:
		return &slots{kind: q.Kind, n: int64(q.N)}
	case EstimatedWindow:
		return &estimated{n: int64(q.N), per: q.per(), wall: wall}
	default:
		s := &sliding{kind: q.Kind}
		s.set(0, q)
		return s
	}
}
