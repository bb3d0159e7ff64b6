// Package redisquota keeps the quotas of pacer on Redis or Valkey, so that any number of
// processes share them: a [store.Store].
//
//	store := goredis.New(redis.NewClient(&redis.Options{Addr: "localhost:6379"}))
//	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Store: store}
//
// All processes whose Limiters have the same Name (and whose Stores have the same Prefix) draw on the
// same quotas. What an API grants holds for them together, whoever sends; what a server says
// to one of them reaches all.
//
// # How
//
// A [throttle.Limiter] asks for slots, instants of one schedule, for all who wait in it at
// once, and each of them sleeps until its own. One script does that, with what came back and what
// the server said, in one atomic step: see [store.Store] for the arithmetic. Nobody polls. Time
// is that of the server (TIME) and never runs back in a bucket: if the clock is set back, by up
// to a minute, time stands still for as long, and beyond that the bucket counts as lost. If it is
// set forward, so much comes back at once, but no more than a Burst or an N. Only durations
// are sent and received, so that the clocks of the processes do not matter.
//
// # Keys
//
// A bucket has five keys, and one for each quota that is a log or a window of the past. They begin with
// "{prefix:name}", so that they are on one node of a cluster, and all are declared.
// News, of servers that pushed back, are on the channel "prefix:news". Keys expire a
// day, or twice the longest Per, after their last use.
//
// # What each kind of quota costs
//
// A bucket of one quota takes 650 bytes, and 190 for each further member. That is all for a TokenBucket; a ClockWindow
// and an EstimatedWindow take 150 more, whatever their N. A SlidingWindow has as many cells as it is divided into
// and two more, 500 bytes for 10. A SlidingLog and a FixedWindow have one cell for each [store.Request.Late] in Per, and no more than
// slots: 36 bytes each up to 128 of them, 110 each of more, which is 4 kB for 100 a second, 400 kB for 10000 an hour
// and 6 MB for 100000 a day. A call reads and writes only the cells which it changes: it takes 25 to 60 times as long as a
// script that does nothing, and one to five times more for each slot. README.md has the table, and
// the command that made it.
//
// Prefer a TokenBucket, unless the server is known to count otherwise; a SlidingWindow for "N in any Per"; a
// SlidingLog if the cells of that waste too much, and Per is minutes at the most.
//
// # Failures
//
// A call that fails, for whatever reason, is an error of Exchange; what a Limiter does then is its Outage. Nothing
// is half done: what the server may refuse (it is read-only, out of memory, or a permission is
// missing) is refused before anything is written. A bucket that is lost, evicted, or
// flushed is a drained one, never a full one; so is a quota whose own key is. A flushed script cache is loaded
// again. Calls may be repeated by the client library: one that was done gets the slots that it got
// then. A replica that takes over without the last moments hands out the slots of these again.
package redisquota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/throttle/store"
)

// Client runs a script on Redis or Valkey. Package goredis has one for go-redis; for other
// libraries it takes a few lines: see README.md.
type Client interface {
	// Run runs the script, which is always [Script], by EVALSHA, and by EVAL if the server
	// does not have it (NOSCRIPT). All keys are in one slot of a cluster. The reply is an array of
	// strings. Run returns when ctx ends.
	Run(ctx context.Context, script string, keys, args []string) ([]string, error)

	// Subscribe calls hear with each message of a channel, until ctx ends or the
	// subscription fails, and returns then. A Client that cannot returns
	// errors.ErrUnsupported at once; then news wait for the next exchange.
	Subscribe(ctx context.Context, channel string, hear func(message string)) error
}

// Store is a [store.Store] on Redis or Valkey. It is safe for concurrent use, by any number of Limiters. It must not be
// copied after its first use.
type Store struct {
	// Client is how the server is reached. Required.
	Client Client

	// Prefix begins all keys and channels. Empty means "pacer".
	Prefix string

	calls atomic.Uint64
	run   atomic.Uint64 // random; tells this Store from others

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

// nonce returns what no other call has.
func (s *Store) nonce() string {
	if s.run.Load() == 0 {
		s.run.CompareAndSwap(0, rand.Uint64()|1)
	}
	return strconv.FormatUint(s.run.Load(), 36) + "." + strconv.FormatUint(s.calls.Add(1), 36)
}

// Exchange implements [store.Store].
func (s *Store) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.Client == nil {
		return nil, errors.New("redisquota: a Store needs a Client")
	}
	if err := check(r); err != nil {
		return nil, err
	}
	keys, args := encode(r, s.prefix(), s.channel(), s.nonce())
	flat, err := s.Client.Run(ctx, Script, keys, args)
	if err != nil {
		return nil, fmt.Errorf("redisquota: %s: %w", r.Bucket, err)
	}
	reply, err := decode(flat)
	if err != nil {
		return nil, fmt.Errorf("redisquota: %s: %w", r.Bucket, err)
	}
	return reply, nil
}
