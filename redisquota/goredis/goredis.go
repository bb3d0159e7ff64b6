// Package goredis has package redisquota use go-redis, version 9: one node, Sentinel, or a Cluster.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	defer client.Close()
//	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: goredis.New(client), Fresh: true}}
//	defer limiter.Close()
//
// Fresh says that nobody has used the quotas without the Store: see package redisquota.
//
// By default go-redis repeats a call of which it saw no reply, and goes on reading after the end of a context.
// Both do no harm here: a call that was done before is not done again, and the Store returns when the context
// ends. MaxRetries: -1 and ContextTimeoutEnabled: true spare the server the repetitions, and the program the
// goroutines that still read. A call to one node that has no answer after 100 ms dials once by itself, and
// hangs up: so that it can say that the connection was refused, which go-redis says later than a call may take,
// if at all.
package goredis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
)

// New returns a Store on the server of c. The caller closes c, after the Limiters. The Store's Prefix may be
// set, and its Client wrapped, before the Store is used. New panics if c is nil, or a nil pointer.
func New(c redis.UniversalClient) *redisquota.Store {
	if missing(c) {
		panic("goredis: New of a nil client, want one of redis.NewClient, or of another New of go-redis")
	}
	return &redisquota.Store{Client: &client{redis: c}}
}

// missing says that there is no client.
func missing(c redis.UniversalClient) bool {
	switch c := c.(type) {
	case nil:
		return true
	case *redis.Client:
		return c == nil
	case *redis.ClusterClient:
		return c == nil
	case *redis.Ring:
		return c == nil
	}
	return false
}

// client is a redisquota.Client.
type client struct {
	redis redis.UniversalClient
	late  reasons
}

var script = redis.NewScript(redisquota.Script())

// reply is that of one call.
type reply struct {
	flat []string
	err  error
}

// Run implements redisquota.Client.
func (c *client) Run(ctx context.Context, keys, args []string) ([]string, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	var why atomic.Pointer[error]
	looks, over := context.WithCancel(ctx)
	defer over()
	look := time.AfterFunc(patience, func() { c.look(looks, keys[0], &why) })
	defer look.Stop()
	done := make(chan reply)
	go func() {
		r := reply{err: errors.New("a hook of the client has ended its goroutine")}
		defer func() {
			if v := recover(); v != nil { // of a hook: here it would end the program
				r.err = fmt.Errorf("the client panicked: %v", v)
			}
			select {
			case done <- r:
			case <-ctx.Done(): // nobody waits for it
				if r.err != nil && !errors.Is(r.err, ctx.Err()) {
					c.late.keep(keys[0], r.err)
				}
			}
		}()
		r.flat, r.err = script.Run(ctx, c.redis, keys, values...).StringSlice()
	}()
	var err error
	select {
	case r := <-done:
		if r.err == nil {
			c.late.take(keys[0])
			return r.flat, nil
		}
		err = r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, c.noAnswer(err, cmp.Or(why.Load(), c.late.take(keys[0])))
	case strings.Contains(err.Error(), c.address()): // net says whom it could not reach
		return nil, err
	}
	return nil, fmt.Errorf("%s: %w", c.address(), err)
}

// patience is after how long a call looks why it has no answer.
const patience = 100 * time.Millisecond

// look dials once, and says why that fails, or what the server says unasked: that it has too many clients, say.
// go-redis dials again and again, for longer than a call may take, and then says nothing but that the time is
// over. If dialing does not fail, why it did so before is no reason any more; what a server answered is. Of a
// Cluster or a Ring, nothing says which node has the keys.
func (c *client) look(ctx context.Context, key string, why *atomic.Pointer[error]) {
	node, ok := c.redis.(*redis.Client)
	if !ok {
		return
	}
	o := node.Options()
	conn, err := o.Dialer(ctx, o.Network, o.Addr)
	switch {
	case err == nil:
		var answer redis.Error
		if before := c.late.take(key); before != nil && errors.As(*before, &answer) {
			c.late.keep(key, *before)
		}
		if says := greeting(ctx, conn); says != "" {
			err = errors.New(says)
			why.Store(&err)
		}
	case ctx.Err() == nil:
		why.Store(&err)
	}
}

// greeting returns the error with which a server meets whoever comes, before it hangs up; empty if there is
// none while ctx lasts. It closes the connection.
func greeting(ctx context.Context, conn net.Conn) string {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	line, _ := bufio.NewReader(io.LimitReader(conn, mostGreeting)).ReadString('\n')
	says, isError := strings.CutPrefix(strings.TrimSpace(line), "-")
	if !isError {
		return ""
	}
	return says
}

// mostGreeting bounds what is read of a greeting: that of a server in protected mode has some 1000 bytes.
const mostGreeting = 1 << 10

// noAnswer is the error of a call that had no answer in time. It says of whom, and why: what a look found, or
// why the call before of the same bucket failed. go-redis dials again and again, and tells what is wrong only
// after that.
func (c *client) noAnswer(err error, why *error) error {
	if why != nil {
		return fmt.Errorf("no answer from %s: %w (before: %w)", c.address(), err, *why)
	}
	return fmt.Errorf("no answer from %s: %w", c.address(), err)
}

// reasons are why calls failed that had no answer in time, as go-redis found out later: one for each bucket, by
// its first key, until its next call has ended. So a bucket of one node of several does not tell what is wrong
// with another one, nor what was wrong with its own once.
type reasons struct {
	mu sync.Mutex
	of map[string]*error // protected by mu
}

// mostReasons bounds how many reasons are kept: buckets may make no other call. Another one then takes the
// place of any.
const mostReasons = 1000

func (r *reasons) keep(key string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]*error{}
	}
	if r.of[key] == nil && len(r.of) >= mostReasons {
		for k := range r.of {
			delete(r.of, k)
			break
		}
	}
	r.of[key] = &err
}

// take returns a reason that was kept, once; nil if there is none.
func (r *reasons) take(key string) *error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := r.of[key]
	delete(r.of, key)
	return why
}

// address is where the server is, as the caller of New has said.
func (c *client) address() string {
	switch c := c.redis.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ", ")
	case *redis.Ring:
		return strings.Join(slices.Sorted(maps.Values(c.Options().Addrs)), ", ")
	}
	return "the server"
}

// Subscribe implements redisquota.Client. Each node of a Ring has the news of its own buckets.
func (c *client) Subscribe(ctx context.Context, channel string, hear func(message string)) error {
	ring, ok := c.redis.(*redis.Ring)
	if !ok {
		return subscribe(ctx, c.redis, channel, hear)
	}
	if ring.Len() < len(ring.Options().Addrs) { // a node is down: it is tried again later
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ringAgain)
		defer cancel()
	}
	return ring.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error { return subscribe(ctx, node, channel, hear) })
}

// ringAgain is after how long nodes of a Ring are looked for again that were down.
const ringAgain = 10 * time.Second

// subscribe hears a channel of a node, or of a Cluster. go-redis renews the subscription by itself.
func subscribe(ctx context.Context, from redis.UniversalClient, channel string, hear func(message string)) error {
	s := from.Subscribe(ctx, channel)
	defer s.Close()
	messages := s.ChannelWithSubscriptions()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return redis.ErrClosed
			}
			switch m := m.(type) {
			case *redis.Message:
				hear(m.Payload)
			case *redis.Subscription:
				hear("") // what came before is missed
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
