package pacerotel

import (
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// instruments are those that are read when a reader asks.
type instruments struct {
	waitTime, backoffTime, storeDownTime                    metric.Float64ObservableCounter
	grants, refusals, retries, notSent, gaveUp, storeEvents metric.Int64ObservableCounter
	queue, active, held                                     metric.Int64ObservableUpDownCounter
	budget                                                  metric.Float64ObservableGauge
	limit, remaining                                        metric.Int64ObservableGauge

	all []metric.Observable
}

func newInstruments(m metric.Meter) (*instruments, error) {
	in := &instruments{}
	var failed []error
	note := func(made metric.Observable, err error) {
		in.all = append(in.all, made)
		failed = append(failed, err)
	}
	seconds := func(name, description string) metric.Float64ObservableCounter {
		c, err := m.Float64ObservableCounter(name, metric.WithUnit("s"), metric.WithDescription(description))
		note(c, err)
		return c
	}
	counter := func(name, unit, description string) metric.Int64ObservableCounter {
		c, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		note(c, err)
		return c
	}
	sum := func(name, unit, description string) metric.Int64ObservableUpDownCounter {
		c, err := m.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		note(c, err)
		return c
	}
	gauge := func(name, description string) metric.Int64ObservableGauge {
		c, err := m.Int64ObservableGauge(name, metric.WithUnit("{unit}"), metric.WithDescription(description))
		note(c, err)
		return c
	}
	in.waitTime = seconds("pacer.wait.time", "How long requests waited in line, by what they waited for.")
	in.backoffTime = seconds("pacer.backoff.time", "Time for which requests backed off, after failures, or refusals of one request alone, before the next attempts.")
	in.storeDownTime = seconds("pacer.store.down.time", "How long stores of quotas could not be reached, of outages that are over.")
	in.grants = counter("pacer.grants", "{request}", "Attempts that went.")
	in.refusals = counter("pacer.refusals", "{request}", "Answers by which a server refused a request as too early.")
	in.retries = counter("pacer.retries", "{request}", "Attempts that were made again.")
	in.notSent = counter("pacer.not_sent", "{request}", "Requests that pacer did not send.")
	in.gaveUp = counter("pacer.gave_up", "{request}", "Requests that were refused or failed and were not sent again, although they could be.")
	in.storeEvents = counter("pacer.store.events", "{event}", "What happened to the links between buckets and the store of their quotas, by kind.")
	in.queue = sum("pacer.queue.length", "{request}", "Requests in line.")
	in.active = sum("pacer.active_requests", "{request}", "Requests that were granted and have no answer yet.")
	in.held = sum("pacer.held_buckets", "{bucket}", "Buckets that are held.")
	in.limit = gauge("pacer.quota.limit", "The limit of a quota.")
	in.remaining = gauge("pacer.quota.remaining", "What may go now.")
	var err error
	in.budget, err = m.Float64ObservableGauge("pacer.retry.budget", metric.WithUnit("{request}"),
		metric.WithDescription("Retries that are left, of buckets whose retry budget is not full."))
	note(in.budget, err)
	return in, errors.Join(failed...)
}

// observer is where values go when a reader asks.
type observer struct {
	to metric.Observer
	*instruments
}

// observe tells what a reader asks for.
func (t *Telemetry) observe(o observer) {
	for _, b := range t.buckets.all() {
		o.counts(&b.real)
		o.counts(&b.observed)
	}
	lines, levels, budgets := map[*bucket]*line{}, map[levelKey]throttle.Level{}, map[*bucket]float64{}
	for _, transport := range t.transports() {
		for _, s := range transport.State() {
			b := t.buckets.get(s.Label)
			if lines[b] == nil {
				lines[b] = &line{}
			}
			lines[b].add(&s)
			for _, l := range s.Limits {
				if key := t.buckets.keyOf(b, &l); keepsLess(levels, key, &l) {
					levels[key] = l
				}
			}
		}
		for label, left := range transport.RetryBudgets() {
			b := t.buckets.get(label)
			if least, ok := budgets[b]; !ok || left < least {
				budgets[b] = left
			}
		}
	}
	for b, l := range lines {
		o.to.ObserveInt64(o.queue, int64(l.waiting), b.real.with())
		o.to.ObserveInt64(o.active, int64(l.inFlight), b.real.with())
		o.to.ObserveInt64(o.held, int64(l.held), b.real.with())
	}
	for key, l := range levels {
		with := key.bucket.real.with(keyQuota.String(key.quota), keyUnit.String(key.unit))
		if l.Limit > 0 {
			o.to.ObserveInt64(o.limit, l.Limit, with)
		}
		o.to.ObserveInt64(o.remaining, l.Available, with)
	}
	for b, left := range budgets {
		o.to.ObserveFloat64(o.budget, left, b.real.with())
	}
}

// counts tells of what has happened at all.
func (o *observer) counts(c *counts) {
	integer := func(in metric.Int64Observable, n *atomic.Int64, more ...attribute.KeyValue) {
		if n := n.Load(); n > 0 {
			o.to.ObserveInt64(in, n, c.with(more...))
		}
	}
	seconds := func(in metric.Float64Observable, n *atomic.Int64, more ...attribute.KeyValue) {
		if n := n.Load(); n > 0 {
			o.to.ObserveFloat64(in, time.Duration(n).Seconds(), c.with(more...))
		}
	}
	integer(o.grants, &c.grants)
	integer(o.refusals, &c.refusals)
	integer(o.retries, &c.refusedAgain, keyRetryCause.String("refusal"))
	integer(o.retries, &c.failedAgain, keyRetryCause.String("failure"))
	seconds(o.backoffTime, &c.backoff)
	seconds(o.storeDownTime, &c.storeDownTime)
	for i := range c.storeEvents {
		integer(o.storeEvents, &c.storeEvents[i], keyStoreEvent.String(string(storeEvents[i])))
	}
	for i := range c.waits {
		seconds(o.waitTime, &c.waits[i], keyCause.String(string(causes[i])))
	}
	for i := range c.notSent {
		integer(o.notSent, &c.notSent[i], keyError.String(failures[i].name))
	}
	for i := range c.gaveUp {
		integer(o.gaveUp, &c.gaveUp[i], keyReason.String(string(reasons[i])))
	}
}

// line is what the buckets of one label have, added up.
type line struct{ waiting, inFlight, held int }

func (l *line) add(s *throttle.State) {
	l.waiting += s.Waiting
	l.inFlight += s.InFlight
	if s.Held > 0 {
		l.held++
	}
}

// levelKey is what tells levels apart.
type levelKey struct {
	bucket      *bucket
	quota, unit string
}

// keyOf returns the key of a level. What a server calls a limit, and a unit, is not in it: there may be any
// number of these, as of the quotas of buckets that are among the others.
func (b *buckets) keyOf(of *bucket, l *throttle.Level) levelKey {
	unit := l.Unit
	if unit == "" {
		unit = quota.Requests
	}
	switch {
	case !l.Stated && of == b.others:
		return levelKey{of, other, clean(unit)}
	case !l.Stated:
		return levelKey{of, clean(l.Quota), clean(unit)}
	}
	switch unit {
	case quota.Requests, quota.Bytes, "tokens":
	default:
		unit = other
	}
	return levelKey{of, "server", unit}
}

// keepsLess reports whether l has less left than what is known of its key. Shares are compared, if both limits
// are known.
func keepsLess(known map[levelKey]throttle.Level, key levelKey, l *throttle.Level) bool {
	least, ok := known[key]
	switch {
	case !ok:
		return true
	case l.Limit <= 0 || least.Limit <= 0:
		return l.Available < least.Available
	}
	return float64(l.Available)*float64(least.Limit) < float64(least.Available)*float64(l.Limit)
}
