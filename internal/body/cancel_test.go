package body

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// cancelAtEnd returns the body of an answer to a request without a body.
func cancelAtEnd(b io.ReadCloser, cancel context.CancelCauseFunc) io.ReadCloser {
	resp := &http.Response{Body: b, ContentLength: -1}
	CancelAtEnd(&http.Request{}, cancel).Answered(resp)
	return resp.Body
}

func TestCancelAtEnd(t *testing.T) {
	for name, test := range map[string]struct {
		body io.Reader
		end  func(io.ReadCloser)
	}{
		"read":   {strings.NewReader("text"), func(b io.ReadCloser) { io.ReadAll(b) }},
		"closed": {strings.NewReader("text"), func(b io.ReadCloser) { b.Close() }},
		"failed": {iotest.ErrReader(errors.New("broken")), func(b io.ReadCloser) { b.Read(make([]byte, 1)) }},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := cancelAtEnd(&tracked{Reader: test.body}, cancel)
		if n, err := io.ReadFull(b, make([]byte, 2)); name != "failed" && (n != 2 || err != nil || ctx.Err() != nil) {
			t.Errorf("%s: read %d, %v; the context has ended: %v", name, n, err, ctx.Err())
		}
		if test.end(b); !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("%s: the context has ended: %v", name, context.Cause(ctx))
		}
	}
}

// An answer that ends before its request was sent leaves the context to the request: until its body is closed,
// and the one that was opened in its place.
func TestCancelAtEndOfTheRequest(t *testing.T) {
	for name, test := range map[string]struct {
		length int64
		end    func(io.ReadCloser)
	}{
		"read":    {-1, func(b io.ReadCloser) { io.ReadAll(b) }},
		"closed":  {-1, func(b io.ReadCloser) { b.Close() }},
		"no body": {0, func(io.ReadCloser) {}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		sent := &http.Request{Body: newTracked("first"), GetBody: func() (io.ReadCloser, error) { return newTracked("again"), nil }}
		exchange := CancelAtEnd(sent, cancel)
		io.ReadAll(sent.Body)
		sent.Body.Close()
		sent.Body.Close()
		again, err := sent.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		resp := &http.Response{Body: newTracked("text"), ContentLength: test.length}
		exchange.Answered(resp)
		test.end(resp.Body)
		resp.Body.Close()
		if text, err := io.ReadAll(again); string(text) != "again" || err != nil || ctx.Err() != nil {
			t.Errorf("%s: sent %q, %v; the context has ended: %v", name, text, err, ctx.Err())
		}
		if again.Close(); ctx.Err() == nil {
			t.Errorf("%s: the context lives on", name)
		}
	}
}

// What has no body to send is left as it is.
func TestCancelAtEndWithoutABody(t *testing.T) {
	broken := errors.New("broken")
	for name, get := range map[string]func() (io.ReadCloser, error){
		"none": func() (io.ReadCloser, error) { return nil, nil }, "NoBody": func() (io.ReadCloser, error) { return http.NoBody, nil },
		"error": func() (io.ReadCloser, error) { return nil, broken },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		sent := &http.Request{Body: http.NoBody, GetBody: get}
		exchange := CancelAtEnd(sent, cancel)
		got, err := sent.GetBody()
		if want, wantErr := get(); got != want || !errors.Is(err, wantErr) || sent.Body != http.NoBody {
			t.Errorf("%s: got %v, %v and the body %v", name, got, err, sent.Body)
		}
		if exchange.Answered(&http.Response{Body: http.NoBody}); ctx.Err() == nil {
			t.Errorf("%s: the context lives on", name)
		}
	}
}

// A connection on which the server sends no more can still be written to, until it is closed.
func TestCancelAtEndOfAConnection(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := cancelAtEnd(&connection{tracked: newTracked("pong")}, cancel)
	if io.ReadAll(b); ctx.Err() != nil {
		t.Error("the context has ended with what the server sends")
	}
	if b.Close(); ctx.Err() == nil {
		t.Error("the context lives on")
	}
}
