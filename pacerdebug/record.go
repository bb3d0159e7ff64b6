package pacerdebug

import (
	"errors"
	"net/http"
	"time"
	"weak"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/logline"
	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/throttle"
)

// What is remembered at most.
const (
	maxCharted = 2000   // buckets with a chart, of 2 kB each, and 10 kB if requests wait
	maxInLine  = 10_000 // requests in line of which it is known who they are
	maxPast    = 10     // waits of a bucket that are over
	maxParts   = 6      // causes of such a wait
	maxText    = 200    // bytes of a text of others
)

// record is what the Trace of a Page has heard of. The lock of the Page protects it.
type record struct {
	start   time.Time // the instant from which seconds are counted
	all     minute
	buckets map[string]*heard
	swept   int64 // the second in which room was made the last time
	inLine  map[weak.Pointer[http.Request]]waiter
	arrived uint64
	any     bool // something was heard

	lineSwept time.Time // when room was made in inLine the last time
}

// heard is what was heard of a bucket.
type heard struct {
	minute
	observe    bool      // by the latest event, nothing is delayed
	heldAt     time.Time // when an answer began the latest hold, and until when
	heldUntil  time.Time
	heldStatus int    // of that answer
	past       []past // the waits that ended last, the latest one last
}

// waiter is a request in line.
type waiter struct {
	number uint64 // in the order of arrival
	label  string // of the request's bucket
	method string
	since  time.Time
	told   throttle.Wait // what the request was told that it waits for, and for how long. The Label of the Bucket is not known
}

// past is a wait that is over, or a request that was not sent.
type past struct {
	at     time.Time
	method string
	how    string // how it ended, unless the request went
	wait   time.Duration
	parts  []throttle.Wait
}

// clip makes a text of others fit to be kept and shown.
func clip(s string) string { return visible.Text(s, maxText) }

// second returns the second of an instant.
func (r *record) second(now time.Time) int64 {
	if r.start.IsZero() {
		r.start = now
		r.buckets, r.inLine = map[string]*heard{}, map[weak.Pointer[http.Request]]waiter{}
	}
	return int64(now.Sub(r.start) / time.Second)
}

// of returns what was heard of a bucket; nil if there are too many of them.
func (r *record) of(name string, sec int64) *heard {
	r.any = true
	if b := r.buckets[name]; b != nil {
		return b
	}
	if len(r.buckets) >= maxCharted && r.swept < sec {
		r.swept = sec
		for n, b := range r.buckets {
			if sec-b.latest >= span {
				delete(r.buckets, n)
			}
		}
	}
	if len(r.buckets) >= maxCharted {
		return nil
	}
	b := &heard{}
	b.latest = sec
	r.buckets[name] = b
	return b
}

// count counts something in a bucket, and in all. It returns nil if nothing is known of the bucket.
func (r *record) count(e *pacer.Event, sec int64, add func(*second)) *heard {
	add(&r.all.slots[r.all.at(sec)])
	b := r.of(e.Bucket, sec)
	if b != nil {
		add(&b.slots[b.at(sec)])
		b.observe = e.Mode == pacer.ModeObserve
	}
	return b
}

// waited notes a wait that is over, if there was one, and how it ended, unless the request went.
func (r *record) waited(e *pacer.Event, now time.Time, how string, wait time.Duration, parts []throttle.Wait) {
	sec := r.second(now)
	if len(r.inLine) > 0 {
		delete(r.inLine, weak.Make(e.Request))
	}
	if wait <= 0 && how == "" {
		return
	}
	r.all.wait(sec, wait, parts)
	if b := r.of(e.Bucket, sec); b != nil {
		b.wait(sec, wait, parts)
		b.remember(past{at: now, method: clip(e.Request.Method), how: how, wait: wait}, parts)
	}
}

// remember remembers a wait that is over, with a copy of what it was for.
func (b *heard) remember(p past, parts []throttle.Wait) {
	for _, w := range parts[:min(len(parts), maxParts)] {
		w.Quota = clip(w.Quota)
		p.parts = append(p.parts, w)
	}
	if len(b.past) == maxPast {
		b.past = append(b.past[:0], b.past[1:]...)
	}
	b.past = append(b.past, p)
}

// queued notes that a request waits.
func (r *record) queued(e *pacer.Queued, now time.Time) {
	r.second(now)
	key := weak.Make(e.Request)
	w, known := r.inLine[key]
	if !known {
		if len(r.inLine) >= maxInLine && now.Sub(r.lineSwept) >= time.Second {
			r.lineSwept = now
			for key := range r.inLine {
				if key.Value() == nil { // the goroutine of the request has ended by a panic
					delete(r.inLine, key)
				}
			}
		}
		if len(r.inLine) >= maxInLine {
			return
		}
		r.arrived++
		w = waiter{number: r.arrived, since: now}
	}
	w.label, w.method = e.Label, clip(e.Request.Method)
	w.told = throttle.Wait{Bucket: e.Bucket, Cause: e.Cause, Quota: clip(e.Quota), For: e.Wait}
	r.inLine[key] = w
}

// hooks are the Trace of a Page. Each takes the lock, and then the time, which does not go back between them.
type hooks struct{ p *Page }

func (h hooks) queued(e pacer.Queued) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	h.p.record.queued(&e, time.Now())
}

func (h hooks) went(e pacer.Went) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	now, r := time.Now(), &h.p.record
	r.count(&e.Event, r.second(now), func(s *second) { s.went++ })
	r.waited(&e.Event, now, "", e.Wait, e.Waits)
}

func (h hooks) notSent(e pacer.NotSent) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	now, r := time.Now(), &h.p.record
	if !errors.Is(e.Err, throttle.ErrCanceled) { // else the caller wanted it so
		r.count(&e.Event, r.second(now), func(s *second) { s.failed++ })
	}
	r.waited(&e.Event, now, "not sent: "+logline.Kind(e.Err), e.Wait, e.Waits)
}

func (h hooks) answered(e pacer.Answered) {
	if !e.Refused {
		return
	}
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	now, r := time.Now(), &h.p.record
	if b := r.count(&e.Event, r.second(now), func(s *second) { s.refused++ }); b != nil && e.Held > 0 {
		b.heldAt, b.heldUntil, b.heldStatus = now, now.Add(e.Held), e.Status
	}
}

func (h hooks) retrying(e pacer.Retrying) {
	if e.Delay <= 0 {
		return // a refusal waits in line
	}
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	now, r := time.Now(), &h.p.record
	if b := r.of(e.Bucket, r.second(now)); b != nil {
		b.remember(past{at: now, method: clip(e.Request.Method), how: sentAgain, wait: e.Delay}, backedOff(nil, &e.Event, e.Delay))
	}
}

func (h hooks) gaveUp(e pacer.GaveUp) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	now, r := time.Now(), &h.p.record
	if e.Reason != pacer.ReasonCanceled { // else the caller wanted it so
		r.count(&e.Event, r.second(now), func(s *second) { s.failed++ })
	}
	r.waited(&e.Event, now, "not sent again: "+string(e.Reason), e.Wait, e.Waits)
	if b := r.buckets[e.Bucket]; b != nil && e.Delay > 0 {
		last := &b.past[len(b.past)-1]
		last.wait += e.Delay
		last.parts = backedOff(last.parts, &e.Event, e.Delay)
	}
}

const (
	sentAgain                   = "sent again" // the JavaScript knows it, too
	causeBackoff throttle.Cause = "backoff"    // after a failure, say: no wait in line
)

// backedOff adds to what a request waited for that it backed off.
func backedOff(parts []throttle.Wait, e *pacer.Event, delay time.Duration) []throttle.Wait {
	return append(parts, throttle.Wait{Bucket: e.Bucket, Label: e.Label, Cause: causeBackoff, For: delay})
}
