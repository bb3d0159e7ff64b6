package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Serve answers requests over real HTTP/1.1 on loopback, at once, until the listener is closed. With trio set,
// answers have X-RateLimit headers that count down.
func Serve(l net.Listener, trio bool) error {
	var served atomic.Int64
	reset := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if h := w.Header(); trio {
			h.Set("X-RateLimit-Limit", "1000000000")
			h.Set("X-RateLimit-Remaining", strconv.FormatInt(1_000_000_000-served.Add(1), 10))
			h.Set("X-RateLimit-Reset", reset)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})}
	return s.Serve(l)
}

// Loopback is what requests over real HTTP/1.1 took.
type Loopback struct {
	PerSecond float64       // requests
	CPU       time.Duration // of this process, for each
}

// Load has callers send requests through rt to a URL, one after another each, for some time.
func Load(rt http.RoundTripper, url string, callers int, d time.Duration) (Loopback, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var sent atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, callers)
	cpu, start := CPU(), time.Now()
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := get(rt, url); err != nil {
					failed <- err
					return
				}
				sent.Add(1)
			}
		})
	}
	wg.Wait()
	took, used := time.Since(start), CPU()-cpu
	close(failed)
	if sent.Load() == 0 {
		return Loopback{}, errors.Join(errors.New("bench: no request was answered"), <-failed)
	}
	return Loopback{float64(sent.Load()) / took.Seconds(), used / time.Duration(sent.Load())}, <-failed
}

// get sends a request and reads the answer.
func get(rt http.RoundTripper, url string) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
