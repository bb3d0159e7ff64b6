package definition

import (
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/pacer/quota"
)

// Sent is what was sent so long after a start.
type Sent struct {
	At time.Duration
	N  int64
}

// Check returns where what was sent, in order, breaks a quota. Late is by how much a request
// may be sent later than it was due: a bucket whose burst is too small for that may let so
// much go at once (see package store).
func Check(q quota.Quota, start time.Time, late time.Duration, sent []Sent) error {
	switch q.Kind {
	case quota.TokenBucket:
		return checkBucket(q, late, sent)
	case quota.ClockWindow:
		return checkClock(q, start, sent)
	case quota.EstimatedWindow:
		return checkEstimate(q, start, sent)
	}
	return checkWindow(q, sent)
}

func checkClock(q quota.Quota, start time.Time, sent []Sent) error {
	in := map[int64]int64{}
	var broken []error
	for _, s := range sent {
		window := start.Add(s.At).UnixNano() / int64(q.Per)
		if in[window] += s.N; in[window] > q.N {
			broken = append(broken, fmt.Errorf("%v: more than %d in its window, at %v", q, q.N, s.At))
		}
	}
	return errors.Join(broken...)
}

func checkEstimate(q quota.Quota, start time.Time, sent []Sent) error {
	in := map[int64]int64{}
	var broken []error
	for _, s := range sent {
		at, per := start.Add(s.At).UnixNano(), int64(q.Per)
		window, rest := at/per, at%per
		in[window] += s.N
		// cur + prev·(1−u) < N + 1/2, in whole numbers.
		if s.N > 0 && 2*((in[window]-q.N)*per+in[window-1]*(per-rest)) > per {
			broken = append(broken, fmt.Errorf("%v: estimate above %d at %v", q, q.N, s.At))
		}
	}
	return errors.Join(broken...)
}

// checkWindow looks at all windows that begin with something.
func checkWindow(q quota.Quota, sent []Sent) error {
	var broken []error
	for j := range sent {
		var n int64
		for k := j; k < len(sent) && sent[k].At < sent[j].At+q.Per; k++ {
			n += sent[k].N
		}
		if n > q.N {
			broken = append(broken, fmt.Errorf("%v: %d in %v from %v", q, n, q.Per, sent[j].At))
		}
	}
	return errors.Join(broken...)
}

// checkBucket looks at all spans.
func checkBucket(q quota.Quota, late time.Duration, sent []Sent) error {
	interval := float64(q.Per) / float64(q.N)
	burst, slack := float64(q.Burst), 0.0
	if burst < 1+float64(late)/interval {
		// One at a time, and what is due within late of each other may go at once.
		p := float64(max(q.Per, time.Second))
		interval *= (p + float64(late)) / p
		burst, slack = 1, float64(late)
	}
	for j := range sent {
		var n int64
		for k := j; k < len(sent); k++ {
			n += sent[k].N
			span := sent[k].At - sent[j].At
			if float64(n)-burst > (float64(span)+slack)/interval+1e-6 {
				return fmt.Errorf("%v: %d in %v from %v, late %v", q, n, span, sent[j].At, late)
			}
		}
	}
	return nil
}
