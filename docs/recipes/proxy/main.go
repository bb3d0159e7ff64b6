// The program is a reverse proxy, through which programs in any language, on this machine or in the same
// network, call APIs politely. They use http://localhost:8080/api.example.com/path in place of
// https://api.example.com/path, and share what is granted. Nothing else changes for them but that an answer may
// take longer.
//
// As it stands, the program calls a fake through itself, and ends; main says how to make it serve. It prints
//
//	25 answers: 200 OK
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/throttle"
)

func main() {
	// For real APIs, leave out the fake and run, and write in their place:
	//
	//	err := http.ListenAndServe("localhost:8080", newProxy(http.DefaultTransport))
	err := run(context.Background(), os.Stdout, newFake())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hosts are the APIs that may be called. A proxy for every host would lend its network to everybody who reaches
// it.
var hosts = map[string]bool{"api.example.com": true}

// target returns which host is to be called, and the path there, as it is written: %2F is not a slash.
func target(u *url.URL) (host, escapedPath string) {
	host, path, _ := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	return host, "/" + path
}

func newProxy(base http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{
		Transport: &pacer.Transport{
			Base: base,
			// Clients of a proxy have timeouts, which it does not know: 30 s are common. Who would wait for
			// longer than that is told so at once, instead of waiting in vain. Without a MaxWait, a line that
			// moves is waited for, however long it is.
			MaxWait: 25 * time.Second,
			// Each client that waits is a connection and a goroutine. If so many wait, a further one is refused
			// at once.
			Line: pacer.Line{MaxQueue: 1000},
			// Mode: pacer.ModeReject would be for clients that wait by themselves: they are told at once when
			// to come back, but nobody keeps their place in a line, and at a new host all but one of a burst
			// are told so.

			// What comes in has no GetBody. Bodies up to this size are kept, so that they can be sent again.
			Retry: pacer.Retry{BufferBody: 1 << 20},
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			host, path := target(r.In.URL)
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "https", host, host
			r.Out.URL.RawPath = path
			r.Out.URL.Path, _ = url.PathUnescape(path) // what EscapedPath returns can be unescaped
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			var early *throttle.Error
			switch {
			case r.Context().Err() != nil: // the client has gone; its place in line went to the next one
			case errors.As(err, &early): // pacer did not send it: in the words that every client knows
				if early.Wait > 0 {
					w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(early.Wait.Seconds()))))
				}
				http.Error(w, err.Error(), http.StatusTooManyRequests)
			default:
				http.Error(w, err.Error(), http.StatusBadGateway)
			}
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _ := target(r.URL); !hosts[host] {
			http.Error(w, "this proxy does not serve "+strconv.Quote(host), http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// run is what clients do, in any language.
func run(ctx context.Context, out io.Writer, api *fake) error {
	proxy := api.proxy(newProxy(api.Transport()))
	defer proxy.Close()
	client := &http.Client{Transport: proxy.Transport(), Timeout: 30 * time.Second}

	var mu sync.Mutex // protects the counts
	counts := map[string]int{}
	var wg sync.WaitGroup
	for n := range 25 {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://localhost:8080/api.example.com/items/%d", n), nil)
			var resp *http.Response
			if err == nil {
				resp, err = client.Do(req)
			}
			status := fmt.Sprint(err)
			if err == nil {
				resp.Body.Close()
				status = resp.Status
			}
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
		})
	}
	wg.Wait()
	for status, n := range counts {
		if _, err := fmt.Fprintf(out, "%d answers: %s\n", n, status); err != nil {
			return err
		}
	}
	return nil
}
