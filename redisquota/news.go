package redisquota

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// again is how long after a subscription failed there is another one.
const again = time.Second

// Listen implements [store.Store]. All who listen to a Store share one subscription, which is renewed if it
// fails, until the last of them stops.
func (s *Store) Listen(bucket string, hear func(store.News)) (stop func(), err error) {
	if s.Client == nil {
		return nil, errors.ErrUnsupported
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hears == nil {
		s.hears = map[string]map[*func(store.News)]struct{}{}
	}
	if s.hears[bucket] == nil {
		s.hears[bucket] = map[*func(store.News)]struct{}{}
	}
	s.hears[bucket][&hear] = struct{}{}
	if s.listen == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s.listen = cancel
		go s.subscribe(ctx)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.hears[bucket], &hear)
		if len(s.hears[bucket]) == 0 {
			delete(s.hears, bucket)
		}
		if len(s.hears) == 0 && s.listen != nil {
			s.listen()
			s.listen = nil
		}
	}, nil
}

// subscribe listens until ctx ends.
func (s *Store) subscribe(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Client.Subscribe(ctx, s.channel(), s.heard)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		wait := time.NewTimer(again)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
	}
}

// heard passes a message on: for how long to hold, 0 if something came back, "lost", "release", or "sharing="
// and how many members do, "ahead=" and how far the last slot is; and which bucket. An empty one says that
// messages may have been missed; any other is of another release, and passed over.
func (s *Store) heard(message string) {
	what, bucket, ok := strings.Cut(message, " ")
	news := store.News{Lost: what == "lost" || message == "", Released: what == "release"}
	name, number, named := strings.Cut(what, "=")
	if !named {
		number = what
	}
	if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && n >= 0 {
		span := time.Duration(min(n, int64(longest/time.Microsecond))) * time.Microsecond
		switch {
		case !named:
			news = store.News{Hold: span, Room: n == 0}
		case name == "sharing":
			news.Sharing = int(min(n, math.MaxInt32))
		case name == "ahead":
			news.Ahead = span
		}
	}
	if news == (store.News{}) {
		return
	}
	s.mu.Lock()
	var hears []func(store.News)
	for of, all := range s.hears {
		if of == bucket || message == "" {
			for hear := range all {
				hears = append(hears, *hear)
			}
		}
	}
	s.mu.Unlock()
	for _, hear := range hears {
		hear(news)
	}
}

// longest is the longest hold: that of the script.
const longest = 50 * 365 * 24 * time.Hour
