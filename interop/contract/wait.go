package contract

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// waits asks when a request is sent again, and for how long its caller waits.
func waits() []Question {
	return []Question{
		{
			Name: "429 with `Retry-After: 1` · with a date",
			Rule: "RFC 9110, 10.2.3: how long it \"ought to wait\"", Right: []string{"waited for · waited for", "waited for · " + once, once + " · " + once},
			ask: bothHints,
		},
		{
			Name: "429 with `Retry-After` of a year, a deadline in 1 s",
			Rule: "a deadline that is lost is not waited for", Right: []string{"the 429, at once"},
			ask: lostDeadline,
		},
		{
			Name: "canceled while it waits",
			Rule: "net/http returns the context's error", Right: []string{"context.Canceled, at once", once},
			ask: canceled,
		},
		{
			Name: "another request, while `Retry-After` runs",
			ask:  another,
		},
	}
}

func bothHints(ctx context.Context, p Peer) (string, error) {
	seconds, err := told(ctx, p, func(now time.Time) (string, time.Time) { return "1", now.Add(time.Second) })
	if err != nil {
		return "", err
	}
	date, err := told(ctx, p, func(now time.Time) (string, time.Time) {
		until := now.UTC().Truncate(time.Second).Add(2 * time.Second)
		return until.Format(http.TimeFormat), until
	})
	return seconds + " · " + date, err
}

// told has a server say when to come back.
func told(ctx context.Context, p Peer, say func(now time.Time) (string, time.Time)) (string, error) {
	var mu sync.Mutex // protects until and early
	var until time.Time
	early := false
	l := newLab(func(w http.ResponseWriter, _ *http.Request, n int) {
		mu.Lock()
		defer mu.Unlock()
		if n > 1 {
			early = early || time.Now().Before(until)
			return
		}
		hint, end := say(time.Now())
		until = end
		refuse(w, hint)
	})
	defer l.close()
	if _, err := l.get(ctx, p.wrap(l.base, short)); err != nil {
		return "", err
	}
	if l.requests.Load() == 1 {
		return once, nil
	}
	return choose(early, "sent earlier", "waited for"), nil
}

func lostDeadline(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, _ *http.Request, _ int) {
		refuse(w, "31536000")
	})
	defer l.close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	o, err := l.get(ctx, p.wrap(l.base, short))
	switch {
	case err != nil:
		return "", err
	case l.requests.Load() > 1:
		return "sent " + times(l.requests.Load()) + " at once", nil
	case o.err != nil:
		return "an error, " + when(o.took), nil
	}
	return choose(o.body == secondary, "the 429, ", "the 429 without its body, ") + when(o.took), nil
}

// when says after which half second something was.
func when(took time.Duration) string {
	if took < 500*time.Millisecond {
		return "at once"
	}
	return "after " + took.Round(500*time.Millisecond).String()
}

// canceled has the caller go while the peer waits for 10 s.
func canceled(ctx context.Context, p Peer) (string, error) {
	answered := make(chan struct{})
	l := newLab(func(w http.ResponseWriter, _ *http.Request, n int) {
		refuse(w, "60")
		if n == 1 {
			close(answered)
		}
	})
	defer l.close()
	theirs, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a deadline would be known
	defer cancel()
	var left time.Time
	var wg sync.WaitGroup
	wg.Go(func() {
		await(ctx, answered)
		pause(ctx, 300*time.Millisecond) // until it waits
		left = time.Now()
		cancel()
	})
	o, err := l.get(theirs, p.wrap(l.base, 10*time.Second))
	returned := time.Now()
	wg.Wait()
	if err != nil {
		return "", err
	}
	if o.err == nil {
		return once, nil
	}
	took := returned.Sub(left)
	return choose(errors.Is(o.err, context.Canceled), "context.Canceled, ", "another error, ") + when(took), nil
}

// another has a second caller come while the first one is told to wait.
func another(ctx context.Context, p Peer) (string, error) {
	answered := make(chan struct{})
	var mu sync.Mutex // protects until and early
	var until time.Time
	early := false
	l := newLab(func(w http.ResponseWriter, r *http.Request, n int) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if n == 1 {
			until = now.Add(time.Second)
			defer close(answered)
		}
		if !now.Before(until) {
			return
		}
		early = early || r.Header.Get("Caller") == "second"
		refuse(w, "1")
	})
	defer l.close()
	rt := p.wrap(l.base, short)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { l.get(ctx, rt) }) //nolint:errcheck // the second one counts
	await(ctx, answered)
	pause(ctx, 200*time.Millisecond) // until the first one has the answer
	req, err := l.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Caller", "second")
	do(req, rt.RoundTrip)
	mu.Lock()
	defer mu.Unlock()
	return choose(early, "sent, and refused", "waits too"), nil
}
