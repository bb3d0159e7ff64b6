// Package link is what a bucket and its Store tell each other outside of the calls for slots.
package link

import (
	"context"
	"errors"
	"weak"

	"github.com/gopacer/pacer/throttle/internal/call"
	"github.com/gopacer/pacer/throttle/store"
)

// Farewell tells the store what next returns, each in time, until that is nil or leaves; told is called after each.
func Farewell(to store.Store, next func() *store.Request, told func()) error {
	for r := next(); r != nil; r = next() {
		err := call.InTime(func(ctx context.Context) error {
			_, err := to.Exchange(ctx, r)
			return err
		})
		if err != nil {
			return err
		}
		if told(); r.Leave {
			return nil
		}
	}
	return nil
}

// Listen has news called with what the store tells of a bucket. If nothing else holds the target, it can be collected. Stop
// is nil if that failed, and only then; none says that the store has no news.
func Listen[T any](to store.Store, bucket string, target *T, news func(*T, store.News)) (stop func(), none bool) {
	held := weak.Make(target)
	stop, err := to.Listen(bucket, func(n store.News) {
		if t := held.Value(); t != nil && n != (store.News{}) {
			news(t, n)
		}
	})
	switch {
	case err != nil:
		return nil, errors.Is(err, errors.ErrUnsupported)
	case stop == nil:
		return func() {}, false
	}
	return stop, false
}

// Stop calls what Listen has returned.
func Stop(stop func()) error {
	return call.InTime(func(context.Context) error { stop(); return nil })
}
