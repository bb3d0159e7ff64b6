package contract

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// answers asks what becomes of what the server says.
func answers() []Question {
	return []Question{
		{
			Name: "503 to the last: the caller gets",
			Rule: "RoundTripper: \"must return err == nil if it obtained a response\"", Right: []string{"the last 503, whole"},
			ask: lastAnswer,
		},
		{
			Name: "503s of 64 kB, with one connection",
			Rule: "http.Response: \"the caller's responsibility to close Body\"", Right: []string{"goes on", once},
			ask: oneConnection,
		},
		{
			Name: "a 503 whose body never ends",
			Rule: "what is not wanted is not waited for", Right: []string{"goes on", once},
			ask: endless,
		},
		{
			Name: "101 Switching Protocols: the body can be written to",
			Rule: "http.Response: \"will also implement io.Writer\"", Right: []string{"yes"},
			ask: upgraded,
		},
		{
			Name: "a redirect",
			Rule: "RoundTripper: \"should not attempt to handle … redirects\"", Right: []string{"left to the http.Client"},
			ask: redirected,
		},
	}
}

func lastAnswer(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, _ *http.Request, _ int) { answer(w, http.StatusServiceUnavailable, "why") })
	defer l.close()
	req, err := l.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return "", err
	}
	o := do(req, (&http.Client{Transport: p.wrap(l.base, short)}).Do)
	if o.err != nil {
		return "an error", nil
	}
	return choose(o.body == "why", "the last 503, whole", "the last 503, without its body"), nil
}

// goesOn has a peer send a GET, and says whether it was soon done with it.
func goesOn(ctx context.Context, p Peer, l *lab) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	o, err := l.get(ctx, p.wrap(l.base, short))
	switch {
	case err != nil:
		return "", err
	case o.err != nil || ctx.Err() != nil && l.requests.Load() > 1:
		return "hangs", nil
	case l.requests.Load() == 1 && o.status == http.StatusServiceUnavailable:
		return once, nil
	}
	return "goes on", nil
}

func oneConnection(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, _ *http.Request, n int) {
		answer(w, failsOnce(n), strings.Repeat("x", 64<<10))
	})
	defer l.close()
	l.base.MaxConnsPerHost = 1
	return goesOn(ctx, p, l)
}

func endless(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, r *http.Request, n int) {
		answer(w, failsOnce(n), "text")
		if n > 1 {
			return
		}
		http.NewResponseController(w).Flush() // to a caller that may be gone
		<-r.Context().Done()
	})
	defer l.close()
	return goesOn(ctx, p, l)
}

// upgraded has a server echo a line over what was a connection for HTTP.
func upgraded(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		line, err := buffered.ReadString('\n')
		if err == nil {
			io.WriteString(conn, line) //nolint:errcheck // the caller sees it
		}
	})
	defer l.close()
	req, err := l.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := p.wrap(l.base, short).RoundTrip(req)
	if err != nil {
		return "an error", nil
	}
	defer resp.Body.Close()
	w, ok := resp.Body.(io.Writer)
	if !ok {
		return "no", nil
	}
	if _, err = io.WriteString(w, "ping\n"); err != nil {
		return "no", nil
	}
	line, _ := bufio.NewReader(resp.Body).ReadString('\n') // what was read says it
	return choose(line == "ping\n", "yes", "no"), nil
}

// redirected asks a client that does not follow redirects.
func redirected(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	})
	defer l.close()
	req, err := l.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return "", err
	}
	o := do(req, (&http.Client{
		Transport:     p.wrap(l.base, short),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do)
	switch o.status {
	case 0:
		return "an error", nil
	case http.StatusFound:
		return "left to the http.Client", nil
	}
	return "followed without asking it", nil
}

// failsOnce is the status of a server that fails once.
func failsOnce(n int) int {
	if n == 1 {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
