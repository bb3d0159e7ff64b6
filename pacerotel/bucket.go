package pacerotel

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/throttle"
)

// The attributes of metrics and spans.
const (
	keyBucket     = attribute.Key("pacer.bucket")
	keyCause      = attribute.Key("pacer.cause")
	keyMode       = attribute.Key("pacer.mode")
	keyReason     = attribute.Key("pacer.reason")
	keyRetryCause = attribute.Key("pacer.retry.cause")
	keyQuota      = attribute.Key("pacer.quota")
	keyUnit       = attribute.Key("pacer.unit")
	keyStoreEvent = attribute.Key("pacer.store.event")
	keyError      = attribute.Key("error.type")                // of the semantic conventions
	keyResends    = attribute.Key("http.request.resend_count") // likewise
)

const (
	other     = "other"
	otherType = "_OTHER" // what the semantic conventions call an error.type that has no name
	maxText   = 200      // bytes of a text in an attribute
)

// causes are all values of pacer.cause: a further Cause is the last of them.
var causes = [...]throttle.Cause{
	throttle.CausePace, throttle.CauseSpread, throttle.CauseWarmUp, throttle.CauseInFlight, throttle.CauseHold,
	throttle.CauseWindowUsedUp, throttle.CauseSlowStart, throttle.CauseStoreAsked, throttle.CauseStoreNotReached, other,
}

// reasons are all values of pacer.reason: a further Reason is the last of them.
var reasons = [...]pacer.Reason{
	pacer.ReasonAttempts, pacer.ReasonRefusals, pacer.ReasonHint, pacer.ReasonWait, pacer.ReasonDeadline, pacer.ReasonElapsed,
	pacer.ReasonBudget, pacer.ReasonBackoff, pacer.ReasonMethod, pacer.ReasonBody, pacer.ReasonNested, pacer.ReasonCanceled, pacer.ReasonPrepare, other,
}

// storeEvents are all values of pacer.store.event: a further StoreEventKind is the last of them.
var storeEvents = [...]throttle.StoreEventKind{
	throttle.StoreDown, throttle.StoreBack, throttle.StoreSlow, throttle.StoreLost, throttle.StoreOthers, otherType,
}

// failures are all values of error.type: any other error is the last of them.
var failures = [...]struct {
	err  error
	name string
}{
	{throttle.ErrWouldWait, "would_wait"},
	{throttle.ErrMaxWait, "max_wait"},
	{throttle.ErrStandstill, "standstill"},
	{throttle.ErrDeadline, "deadline"},
	{throttle.ErrQueueFull, "queue_full"},
	{throttle.ErrTooLarge, "too_large"},
	{throttle.ErrUnit, "unit"},
	{throttle.ErrInvalid, "invalid"},
	{throttle.ErrClosed, "closed"},
	{throttle.ErrCanceled, "canceled"},
	{nil, otherType},
}

// failure returns which of failures an error is.
func failure(err error) int {
	last := len(failures) - 1
	for i, f := range failures[:last] {
		if errors.Is(err, f.err) {
			return i
		}
	}
	return last
}

// which returns which of a list a value is: the last one, if it is none of them.
func which[T comparable](list []T, v T) int {
	if i := slices.Index(list, v); i >= 0 {
		return i
	}
	return len(list) - 1
}

// counts are what has happened to the requests of one label. All of them only grow. Times are in nanoseconds.
type counts struct {
	attributes attribute.Set
	waited     []metric.RecordOption // for a wait that was not in vain

	grants, refusals          atomic.Int64
	refusedAgain, failedAgain atomic.Int64 // retries
	backoff                   atomic.Int64 // time
	storeDownTime             atomic.Int64 // time
	storeEvents               [len(storeEvents)]atomic.Int64
	waits                     [len(causes)]atomic.Int64 // time
	notSent                   [len(failures)]atomic.Int64
	gaveUp                    [len(reasons)]atomic.Int64
}

// bucket is all buckets of one label.
type bucket struct {
	label    string
	real     counts
	observed counts // what would have been, in ModeObserve
}

func newBucket(label string) *bucket {
	b := &bucket{label: label}
	b.real.set(keyBucket.String(label))
	b.observed.set(keyBucket.String(label), keyMode.String(string(pacer.ModeObserve)))
	return b
}

func (c *counts) set(attributes ...attribute.KeyValue) {
	c.attributes = attribute.NewSet(attributes...)
	c.waited = []metric.RecordOption{metric.WithAttributeSet(c.attributes)}
}

// with returns the attributes of the counts and some more.
func (c *counts) with(more ...attribute.KeyValue) metric.MeasurementOption {
	if len(more) == 0 {
		return metric.WithAttributeSet(c.attributes)
	}
	return metric.WithAttributeSet(attribute.NewSet(append(c.attributes.ToSlice(), more...)...))
}

// of returns the counts of a mode.
func (b *bucket) of(m pacer.Mode) *counts {
	if m == pacer.ModeObserve {
		return &b.observed
	}
	return &b.real
}

// add counts the time that requests waited.
func add(to *atomic.Int64, d time.Duration) { to.Add(int64(max(d, 0))) }

// buckets are the buckets by label, of which there are so many at most, and one for the others. They are copied
// when one is added, so that requests find theirs without a lock and without an allocation.
type buckets struct {
	others *bucket
	most   int

	mu   sync.Mutex // held by who adds one
	last atomic.Pointer[map[string]*bucket]
}

func (b *buckets) init(most int) {
	if most == 0 {
		most = 100
	}
	b.most, b.others = most, newBucket(other)
	b.last.Store(&map[string]*bucket{})
}

// get returns the bucket of a label.
func (b *buckets) get(label string) *bucket {
	known := *b.last.Load()
	if found := known[label]; found != nil {
		return found
	}
	if len(known) >= b.most {
		return b.others
	}
	return b.add(label)
}

func (b *buckets) add(label string) *bucket {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := *b.last.Load()
	if found := known[label]; found != nil {
		return found
	}
	if len(known) >= b.most {
		return b.others
	}
	known = maps.Clone(known)
	added := newBucket(clean(label))
	known[label] = added
	b.last.Store(&known)
	return added
}

// all returns all buckets.
func (b *buckets) all() []*bucket {
	all := []*bucket{b.others}
	for _, one := range *b.last.Load() {
		all = append(all, one)
	}
	return all
}

// clean returns a text of others as an attribute may have it: UTF-8, since exporters refuse anything else, and
// not long. Of a long one a digest is the end, so that two that begin alike remain two.
func clean(text string) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "")
	}
	end := " " + pacer.KeyDigest(text)
	return strings.ToValidUTF8(text[:maxText-len(end)], "") + end
}
