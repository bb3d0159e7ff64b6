package contract

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// bodies asks what becomes of the bodies of requests.
func bodies() []Question {
	return []Question{
		{
			Name: "PUT over HTTP/2 after a 429: what is stored",
			Rule: "what was sent, or nothing", Right: []string{"the whole", once},
			ask: func(ctx context.Context, p Peer) (string, error) {
				return stored(ctx, p, newLab2, strings.NewReader("object"))
			},
		},
		{
			Name: "PUT of a stream after a 429: what is stored",
			Rule: "what was sent, or nothing", Right: []string{"the whole", once},
			ask: func(ctx context.Context, p Peer) (string, error) {
				return stored(ctx, p, newLab, struct{ io.Reader }{strings.NewReader("object")})
			},
		},
		{
			Name: "a body that is written bit by bit is sent",
			Rule: "as by net/http", Right: []string{"as it is written"},
			ask: streamed,
		},
		{
			Name: "the body is closed: if sent · if its context is over",
			Rule: "RoundTripper: \"must always close the body\"", Right: []string{"yes · yes"},
			ask: closed,
		},
		{
			Name: "the caller's request, after it was sent twice",
			Rule: "RoundTripper: \"should not modify the request\"", Right: []string{"unchanged"},
			ask: unchanged,
		},
	}
}

// stored has a server refuse at first, and then store what it is sent.
func stored(ctx context.Context, p Peer, start func(handler) *lab, body io.Reader) (string, error) {
	object := "nothing"
	l := start(func(w http.ResponseWriter, r *http.Request, n int) {
		b, _ := io.ReadAll(r.Body) // a server that does not look at the error
		if n == 1 {
			refuse(w, "1")
			return
		}
		object = string(b)
		answer(w, http.StatusCreated, "")
	})
	defer l.close()
	req, err := l.request(ctx, http.MethodPut, body)
	if err != nil {
		return "", err
	}
	o := do(req, p.wrap(l.base, short).RoundTrip)
	switch {
	case l.requests.Load() == 1 && o.err == nil:
		return once, nil
	case l.requests.Load() == 1:
		return "an error", nil
	case object == "":
		return "an empty one", nil
	}
	return choose(object == "object", "the whole", "a part"), nil
}

// trickle is a body whose second part comes when the first has arrived.
type trickle struct {
	arrived <-chan struct{}
	parts   int
	early   bool // it was not waited for in vain
}

// Read implements io.Reader.
func (t *trickle) Read(p []byte) (int, error) {
	t.parts++
	switch t.parts {
	case 1:
		return copy(p, "first"), nil
	case 2:
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		select {
		case <-t.arrived:
			t.early = true
		case <-timer.C:
		}
		return copy(p, "second"), nil
	}
	return 0, io.EOF
}

func streamed(ctx context.Context, p Peer) (string, error) {
	arrived := make(chan struct{})
	l := newLab(func(_ http.ResponseWriter, r *http.Request, n int) {
		if _, err := io.ReadFull(r.Body, make([]byte, len("first"))); err == nil && n == 1 {
			close(arrived)
		}
		io.Copy(io.Discard, r.Body) //nolint:errcheck // the first part is what counts
	})
	defer l.close()
	body := &trickle{arrived: arrived}
	req, err := l.request(ctx, http.MethodPut, body)
	if err != nil {
		return "", err
	}
	do(req, p.wrap(l.base, short).RoundTrip)
	return choose(body.early, "as it is written", "when it is complete"), nil
}

// closer is a body that notes its end.
type closer struct {
	io.Reader
	once sync.Once
	done chan struct{}
}

// Close implements io.Closer.
func (c *closer) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// closed reports whether a body was closed, or is soon: net/http may do so after RoundTrip has returned.
func (c *closer) closed() bool {
	timer := time.NewTimer(500 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

func closed(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(_ http.ResponseWriter, r *http.Request, _ int) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // only its end counts
	})
	defer l.close()
	over, cancel := context.WithCancel(ctx)
	cancel()
	var seen [2]string
	for i, ctx := range []context.Context{ctx, over} {
		body := &closer{Reader: strings.NewReader("object"), done: make(chan struct{})}
		req, err := l.request(ctx, http.MethodPut, body)
		if err != nil {
			return "", err
		}
		do(req, p.wrap(l.base, short).RoundTrip)
		seen[i] = choose(body.closed(), "yes", "no")
	}
	return seen[0] + " · " + seen[1], nil
}

func unchanged(ctx context.Context, p Peer) (string, error) {
	l := newLab(func(w http.ResponseWriter, r *http.Request, n int) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // only the answer counts
		if n == 1 {
			refuse(w, "1")
		}
	})
	defer l.close()
	req, err := l.request(ctx, http.MethodPut, strings.NewReader("object"))
	if err != nil {
		return "", err
	}
	before, header := *req, req.Header.Clone()
	do(req, p.wrap(l.base, short).RoundTrip)
	switch {
	case req.Body != before.Body:
		return "another `Body`", nil
	case len(req.Header) != len(header):
		return "another `Header`", nil
	case req.URL != before.URL, req.Method != before.Method, req.ContentLength != before.ContentLength, req.Context() != before.Context():
		return "changed", nil
	}
	return "unchanged", nil
}
