// Package redisquota keeps the quotas of pacer on Redis or Valkey, so that any number of processes share them.
// Its Store is a [store.Store].
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: goredis.New(client), Fresh: true}}
//	defer limiter.Close()
//	err := limiter.Wait(ctx, 1)
//
// Package goredis is in github.com/gopacer/pacer/redisquota/goredis. Fresh says that nobody has used the quotas
// without the Store. Without it, a bucket that Redis does not know counts as used up, and the first request
// waits for up to two minutes.
//
// All processes whose Limiters have the same Name, and whose Stores have the same Prefix, draw on the same
// quotas: together they send no more than an API grants, and what an API says to one of them reaches all. A
// pacer.Transport takes the same Store.
//
// # How
//
// A Limiter asks for slots, instants of one schedule, for all claims that wait in it, and each claim sleeps
// until its slot. One [Script] hands out slots, takes in what came back and what an API said, in one atomic
// step; package [store] has the arithmetic. Nobody polls.
//
// Time is that of Redis (TIME). Only durations are sent and received, so the clocks of the processes do not
// matter. Spans are whole microseconds, and slots are rounded up to them. If the clock of Redis is set by more
// than two seconds, back or forward, a bucket counts as lost. If it is set back by less, time stands still in
// the bucket until the clock has caught up. Processes say how long ago they asked, by their own clocks: that
// tells a clock that was set from a request that has waited for Redis for so long. Such a request does nothing,
// and is sent again.
//
// # Keys
//
// A bucket has five keys, and one more for each quota that is a log or a window of the past (of each list of
// quotas, if versions of a program differ). The keys begin with "{prefix:name}", so that they are on one node
// of a cluster, and all are declared; colons of a name, and braces of a prefix, are escaped as in a URL. If
// somebody else writes into them, the bucket counts as lost. News of APIs that pushed back are on the channel
// "prefix:news". Keys expire a day, or twice the longest Per, after their last use.
//
// # What each kind of quota costs
//
// A bucket with one quota and one member takes 1 to 2 kB if the quota is a TokenBucket, a ClockWindow or an
// EstimatedWindow, whatever its N, and 3 to 6 kB if it is a SlidingWindow. A SlidingLog and a FixedWindow take
// 5 kB for 100 a second, 400 kB for 10000 an hour and 6 MB for 100000 a day: a cell for each
// [store.Request.SlotLife] in Per, but no more cells than slots. Each further member takes 200 to 300 bytes.
// README.md has the tables, the time that a call takes, and the command that made them.
//
// Prefer a TokenBucket, unless the API is known to count otherwise. Take a SlidingWindow for "N in any Per",
// and a SlidingLog if the cells of a SlidingWindow waste too much, and Per is minutes at the most.
//
// One call holds Redis for 4 ms at the most, if a bucket has no more than eight quotas. What a call looks at is
// counted. Beyond a bound nothing more comes back, no more slots are handed out, and the next call goes on. Of
// slots that come back to be handed out again, 256 are remembered. A call looks at some 800 cells of a
// SlidingLog. A claim that costs thousands of tokens may have to wait until more cells have left: then
// [store.Reply.Next] is when those cells have left, which is earlier than the slot. Until the last of such
// calls no slot is kept for that claim, so smaller claims of other processes may go before it.
//
// # Failures
//
// If a call fails, for whatever reason, [Store.Exchange] returns an error; what a Limiter does then is its
// Outage. Errors of this package begin with "redisquota: " and the bucket, say what is wrong if that is known
// (the server wants a password, connection refused, what answers is no Redis), and wrap what the client library
// returned. They are a [slog.LogValuer], which says the same without the text of others. No call is half done:
// if Redis is read-only or out of memory, it refuses before anything is written; if a permission is missing for
// what comes later, the bucket is lost.
//
// Releases may write what they remember in different ways. Then a bucket of an earlier release is lost for a
// later release, and calls of the earlier release fail while the later release uses the bucket, and for ten
// seconds more. With OutageShare, processes of the earlier release send their parts meanwhile, beyond what the
// later release hands out.
//
// A bucket that is lost, evicted or flushed counts as used up, and never as full. If only the key of a log is
// gone, what went comes back later, by half of its Per at the most. Processes hear of a loss, and say what they
// still have and what they sent. A flushed script cache is loaded again. If no reply comes in time, the Limiter
// or the client library repeats the call: it gets the slots that it got before, unless they have passed, and no
// others.
//
// Redis may lack what it has answered, if a replica took over too early or a file was not written. Then the
// bucket is lost as soon as a process asks that was answered since. Until then, slots of these moments may be
// handed out again; if costs are large, a claim may go beyond the quota.
package redisquota

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// Client runs [Script] on Redis or Valkey. Package goredis has one for go-redis; README.md has Clients of a few
// lines for other libraries. A Client is used by several goroutines at once. The interface does not grow.
type Client interface {
	// Run runs [Script], by EVALSHA, and by EVAL if the server does not have it (NOSCRIPT). All
	// keys are in one slot of a cluster. The reply is an array of strings. Run returns when ctx
	// ends. It may run the script more than once: what was done is not done again.
	Run(ctx context.Context, keys, args []string) ([]string, error)

	// Subscribe calls hear with each message of a channel, until ctx ends or the subscription fails, and
	// returns then. A Client that cannot subscribe returns errors.ErrUnsupported at once; then news wait for
	// the next exchange. After any other return, Subscribe is called again a second later, unless ctx has
	// ended. Whenever the server has confirmed a subscription, also one that the library has made anew by
	// itself after a connection was lost, it calls hear with an empty message: some may have been missed.
	Subscribe(ctx context.Context, channel string, hear func(message string)) error
}

// Store is a [store.Store] on Redis or Valkey. It is safe for concurrent use, by any number of Limiters. It
// must not be copied after its first use.
type Store struct {
	// Client is how the server is reached. Without one, every Exchange is an error.
	Client Client

	// Prefix begins all keys and channels. Empty means "pacer". It must not change while the Store
	// is in use.
	Prefix string

	logs atomic.Int64 // how many any bucket was seen to need: see moreLogs

	mu     sync.Mutex // protects the fields below
	hears  map[string]map[*func(store.News)]struct{}
	listen context.CancelFunc // ends the subscription; nil if nobody listens
}

var _ store.Store = (*Store)(nil)

func (s *Store) prefix() string {
	if s.Prefix == "" {
		return "pacer"
	}
	return s.Prefix
}

func (s *Store) channel() string { return s.prefix() + ":news" }

// Exchange implements [store.Store], of version 1 (see [store.Request.Version]). It hands out 512 slots at the
// most. A request of another version, or one that no Limiter sends, is an error and does not reach the server.
func (s *Store) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.Client == nil {
		return nil, errors.New("redisquota: Store.Client is nil, want a Client")
	}
	if err := check(r); err != nil {
		return nil, err
	}
	began, request := time.Now(), *r
	for logs, set, late := int(s.logs.Load()), false, 0; late < mostLate; {
		sent := time.Now()
		keys, args := encode(&request, s.prefix(), s.channel(), logs, set)
		flat, err := s.Client.Run(ctx, keys, args)
		if err != nil {
			return nil, &failure{r.Bucket, err}
		}
		if need := refused(flat, "logs "); need > int64(logs) && need <= int64(mostLogs+len(r.Quotas)) {
			logs = int(need)
			s.logs.Store(need)
			continue
		}
		if by := time.Duration(refused(flat, "late ")) * time.Microsecond; by > 0 {
			late++
			set = by > time.Since(sent)+clockOff
			request.Since = r.Since + time.Since(began)
			continue
		}
		if refused(flat, "later ") > 0 {
			return nil, &failure{r.Bucket, errLater}
		}
		reply, err := decode(flat)
		if err != nil {
			return nil, &failure{r.Bucket, err}
		}
		return reply, nil
	}
	return nil, &failure{r.Bucket, fmt.Errorf("the server came to a request too late, %d times", mostLate)}
}

const (
	// mostLogs is how many logs a bucket may have beside those of the one who asks.
	mostLogs = 64

	// mostLate is how often a request is sent to which the server comes too late.
	mostLate = 8

	// clockOff is by how much a request may seem to have waited for longer than its call took, if the server's
	// clock was not set. It is less than what the script bears, so that the script has the next request be a
	// loss, or serves it.
	clockOff = time.Second
)

// refused returns the number behind a word, if that is the reply: then nothing was done. The script needs so
// many logs declared, since others have some by which the member does not ask; or by its clock the request came
// so many microseconds too late; or what is there is of that later version.
func refused(flat []string, word string) int64 {
	if len(flat) != 1 {
		return 0
	}
	text, _ := strings.CutPrefix(flat[0], word)
	n, _ := strconv.ParseInt(text, 10, 64)
	return min(n, int64(longest/time.Microsecond))
}
