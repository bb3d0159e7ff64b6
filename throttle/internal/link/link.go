// Package link calls a Store, which is of others: it ought to return in time, and may not, or panic (call.go,
// panic.go). What a bucket and its Store tell each other outside of the calls for slots, news and a farewell,
// is in link.go.
package link

import (
	"context"
	"errors"
	"sync"
	"time"
	"weak"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// Farewell calls stop, which Listen has returned, unless it is nil. Then it tells the store what next returns,
// each within the timeout, until that is nil or leaves; told is called after each. Where an error says why no
// call can be made, it makes none.
func Farewell(to store.Store, stop func(), cannot error, timeout time.Duration, next func() *store.Request, told func()) error {
	if stop != nil {
		if err := Stop(stop); err != nil {
			return err
		}
	}
	if cannot != nil {
		return cannot
	}
	for r := next(); r != nil; r = next() {
		err := InTime(timeout, func(ctx context.Context) error {
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

// All has all leave, one after the other, and returns their errors. It ends with one that took too long, or
// when those that failed took so long together: the others would fail for the same reason.
func All[T any](all []T, leave func(T) error) error {
	var errs []error
	var failing time.Duration
	for _, one := range all {
		began := time.Now()
		err := leave(one)
		if err == nil {
			continue
		}
		errs, failing = append(errs, err), failing+time.Since(began)
		if TookTooLong(err) || failing >= OverdueAfter {
			break
		}
	}
	return errors.Join(errs...)
}

// Tries is when Listen is to be called again, which has failed. The zero Tries is that it has not.
type Tries struct {
	next monotime.Time
	wait time.Duration // how long after its next failure
}

// Due reports whether to call Listen.
func (t *Tries) Due(now monotime.Time) bool { return now >= t.next }

// longestWait is until when Listen is called again at the latest: for so long news may be missed that the store
// has again.
const longestWait = time.Minute

// fail notes a failure: Listen is called again with the next call, then after a second at the earliest, after
// two, four and so on.
func (t *Tries) fail(now monotime.Time) {
	t.next, t.wait = now.Add(t.wait), min(max(2*t.wait, time.Second), longestWait)
}

// Listen has news called with what the store tells of a bucket. If nothing else holds the target, it can be
// collected. Stop is nil if that failed, and only then. However often it is called, the store is stopped once:
// a Limiter that was closed is collected later, and both call it. The tries count a store that panics as well;
// one that has no news is not called again.
func Listen[T any](tries *Tries, now monotime.Time, to store.Store, bucket string, target *T, news func(*T, store.News)) (stop func()) {
	tries.fail(now) // unless Listen returns
	held := weak.Make(target)
	stop, err := to.Listen(bucket, func(n store.News) {
		if t := held.Value(); t != nil && n != (store.News{}) {
			news(t, n)
		}
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		tries.next = monotime.Time(monotime.Unbounded)
		return nil
	case err != nil:
		return nil
	case stop == nil:
		return func() {}
	}
	return sync.OnceFunc(stop)
}

// Stop calls what Listen has returned.
func Stop(stop func()) error {
	return InTime(Timeout, func(context.Context) error { stop(); return nil })
}
