package contract

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
)

// again asks what is sent again, and what must not be.
func again() []Question {
	return []Question{
		{
			Name: "POST, the connection breaks after the server did it",
			Rule: "RFC 9110, 9.2.2: \"SHOULD NOT automatically retry\"", Right: []string{once},
			ask: func(ctx context.Context, p Peer) (string, error) {
				n, err := breaks(ctx, p, http.MethodPost, "")
				return sent(n), err
			},
		},
		{
			Name: "the same, GET · POST with `Idempotency-Key`",
			ask: func(ctx context.Context, p Peer) (string, error) {
				get, err := breaks(ctx, p, http.MethodGet, "")
				if err != nil {
					return "", err
				}
				post, err := breaks(ctx, p, http.MethodPost, "key")
				return sent(get) + " · " + sent(post), err
			},
		},
		{
			Name: "POST, answered 500 after the server did it",
			Rule: "RFC 9110, 9.2.2: \"SHOULD NOT automatically retry\"", Right: []string{once},
			ask: answered500,
		},
		{
			Name: "unknown certificate · unknown scheme",
			Rule: "the second time would end as the first", Right: []string{"1× · 1×"},
			ask: hopeless,
		},
		{
			Name: "503 to the last, two layers of three attempts",
			Rule: "one layer sends again", Right: []string{"3×", "1×"},
			ask: nested,
		},
	}
}

// breaks has a server hang up on the first request that it gets, and returns how often it got it.
func breaks(ctx context.Context, p Peer, method, key string) (int64, error) {
	l := newLab(func(_ http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			panic(http.ErrAbortHandler) // ends the connection without an answer
		}
	})
	defer l.close()
	req, err := l.request(ctx, method, http.NoBody)
	if err != nil {
		return 0, err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	do(req, p.wrap(l.base, short).RoundTrip)
	return l.requests.Load(), nil
}

func answered500(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, _ *http.Request, _ int) { answer(w, http.StatusInternalServerError, "") })
	defer l.close()
	req, err := l.request(ctx, http.MethodPost, strings.NewReader("order"))
	if err != nil {
		return "", err
	}
	do(req, p.wrap(l.base, short).RoundTrip)
	return sent(l.requests.Load()), nil
}

// counted counts what a peer gives to its base.
type counted struct {
	base http.RoundTripper
	n    atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.base.RoundTrip(req)
}

func hopeless(ctx context.Context, p Peer) (string, error) {
	l := newLab2(func(http.ResponseWriter, *http.Request, int) {})
	defer l.close()
	stranger := &http.Transport{} // does not know who signed the certificate
	var seen [2]string
	for i, url := range []string{l.server.URL, "gopher://127.0.0.1/"} {
		c := &counted{base: stranger}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return "", err
		}
		do(req, p.wrap(c, short).RoundTrip)
		seen[i] = times(c.n.Load())
	}
	return seen[0] + " · " + seen[1], nil
}

func nested(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, _ *http.Request, _ int) { answer(w, http.StatusServiceUnavailable, "") })
	defer l.close()
	_, err := l.get(ctx, p.wrap(p.wrap(l.base, short), short))
	return times(l.requests.Load()), err
}
