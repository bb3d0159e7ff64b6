package retrying

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// put is a request whose body has no GetBody, and the body.
func put(t *testing.T, r io.Reader) (*http.Request, *lab.Body) {
	t.Helper()
	req := lab.Request(t, "PUT", "http://a.example/", "")
	b := &lab.Body{Reader: r}
	req.Body, req.ContentLength = b, -1
	return req, b
}

// A body without GetBody is sent again if it is no longer than BufferBody, and the caller's is read
// and closed once.
func TestBufferBody(t *testing.T) {
	for name, test := range map[string]struct {
		keep int64
		text string
		body func(io.Reader) io.Reader
		want int
	}{
		"none":                {0, "0123456789", nil, 1},
		"negative":            {-1, "0123456789", nil, 1},
		"shorter":             {11, "0123456789", nil, 3},
		"as long":             {10, "0123456789", nil, 3},
		"longer by one":       {9, "0123456789", nil, 1},
		"empty":               {1, "", nil, 3},
		"bit by bit":          {10, "0123456789", iotest.OneByteReader, 3},
		"longer, bit by bit":  {9, "0123456789", iotest.OneByteReader, 1},
		"data with its end":   {10, "0123456789", iotest.DataErrReader, 3},
		"longer, with an end": {9, "0123456789", iotest.DataErrReader, 1},
		"an error in it":      {100, "0123456789", iotest.TimeoutReader, 1},
	} {
		for what, a := range map[string]func(*http.Request) (*http.Response, error){
			"503": lab.Status(503, "why"), "broken": lab.Fails(lab.ErrBroken), "429": lab.Status(429, "why"),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var r io.Reader = strings.NewReader(test.text)
					if test.body != nil {
						r = test.body(r)
					}
					base := &lab.Script{Answers: list(a)}
					req, b := put(t, r)
					tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{BufferBody: test.keep, MaxRefusals: 2}}
					resp, err := tr.RoundTrip(req)
					if (err != nil) != (what == "broken") || err == nil && (lab.Read(t, resp) != "why" || resp.Request != req) {
						t.Error(resp, err)
					}
					want := strings.TrimSpace("PUT http://a.example/ " + test.text)
					if len(base.Got) != test.want || strings.TrimSpace(base.Got[0]) != want || strings.TrimSpace(base.Got[len(base.Got)-1]) != want {
						t.Errorf("sent %q, want %d times %q", base.Got, test.want, want)
					}
					if b.Closes != 1 || req.Body != io.ReadCloser(b) || req.GetBody != nil {
						t.Errorf("closed %d times, request %+v", b.Closes, req)
					}
				})
			})
		}
	}
}

// GetBody is asked first; and a body whose length is known to be too much is not kept.
func TestBufferBodyIsNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []io.ReadCloser
		tr := &pacer.Transport{Retry: pacer.Retry{BufferBody: 3}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if got = append(got, r.Body); r.Body != nil {
				r.Body.Close()
			}
			return lab.Answer(r, 200, ""), nil
		})}
		with := lab.Request(t, "PUT", "http://a.example/", "text")
		long, _ := put(t, strings.NewReader("text"))
		long.ContentLength = 4
		none := lab.Request(t, "PUT", "http://a.example/", "")
		for _, req := range []*http.Request{with, long, none} {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, []io.ReadCloser{with.Body, long.Body, none.Body}) {
			t.Errorf("sent %v", got)
		}
	})
}

// Whatever becomes of the request, the caller's body is closed once.
func TestBufferBodyClosedOnEveryPath(t *testing.T) {
	once := map[string]quota.Quotas{"/": {{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
	for name, tr := range map[string]*pacer.Transport{
		"answered":       {Base: lab.OK()},
		"never sent":     {Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) { r.Body.Close(); return nil, lab.ErrDial })},
		"not read":       {Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) { r.Body.Close(); return lab.Answer(r, 503, ""), nil })},
		"no turn":        {Base: lab.OK(), Quotas: once, Mode: pacer.ModeReject},
		"no second turn": {Base: &lab.Script{Answers: list(lab.Status(503, ""))}, Quotas: once},
		"a fallback":     {Base: lab.OK(), Quotas: once, Mode: pacer.ModeDegrade, Fallback: lab.Fallback(lab.OK())},
		"PrepareRetry":   {Base: &lab.Script{Answers: list(lab.Status(503, ""))}, Retry: pacer.Retry{PrepareRetry: func(*http.Request) error { return io.ErrNoProgress }}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr.Retry.BufferBody, tr.Rand = 100, lab.Zero
				if name == "no turn" || name == "a fallback" {
					if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
						t.Fatal(err)
					}
				}
				req, b := put(t, strings.NewReader("text"))
				tr.RoundTrip(req)
				if b.Closes != 1 {
					t.Errorf("closed %d times, want once", b.Closes)
				}
			})
		})
	}
}

// An upload that is produced in answer to what the server says is not read ahead.
func TestBufferBodyOfAConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Retry: pacer.Retry{BufferBody: 1 << 20}, Base: lab.Serve(t, true, func(w http.ResponseWriter, r *http.Request) {
			c := http.NewResponseController(w)
			c.Flush()
			for line := make([]byte, 1); ; {
				if _, err := r.Body.Read(line); err != nil {
					return
				}
				w.Write(line)
				c.Flush()
			}
		})}
		pr, pw := io.Pipe()
		req, b := put(t, pr)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			pw.Write([]byte{byte(i)})
			echo := make([]byte, 1)
			if _, err := io.ReadFull(resp.Body, echo); err != nil || echo[0] != byte(i) {
				t.Fatalf("said %d, heard %v, %v", i, echo, err)
			}
		}
		pw.Close()
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		synctest.Wait()
		if b.Closes != 1 {
			t.Errorf("closed %d times, want once", b.Closes)
		}
	})
}

// An attempt that was answered before its body was read may be in a Read when the next
// begins. What it reads is not lost, even where it is more than should be kept.
func TestBufferBodyLateReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		req, b := put(t, pr)
		var lateErr error
		var got []byte
		n := 0
		tr := &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}, BufferBody: 3}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				go func() {
					defer r.Body.Close()
					_, lateErr = io.Copy(io.Discard, r.Body)
				}()
				synctest.Wait() // it is in a Read
				return lab.Answer(r, 503, ""), nil
			}
			defer r.Body.Close()
			var err error
			got, err = io.ReadAll(r.Body)
			return lab.Answer(r, 200, ""), err
		})}
		go func() {
			time.Sleep(2 * time.Second) // the second attempt has begun
			pw.Write([]byte("some"))
			pw.Write([]byte(" text"))
			pw.Close()
		}()
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusOK || string(got) != "some text" {
			t.Errorf("%v, %v, the second attempt had %q", resp, err, got)
		}
		if synctest.Wait(); !errors.Is(lateErr, http.ErrBodyReadAfterClose) || b.Closes != 1 { // the first may end after the second
			t.Errorf("the first ended with %v; closed %d times", lateErr, b.Closes)
		}
	})
}

// A Transport below, which sees a body that can be sent again, leaves it to the one above to say when
// there will be no other attempt.
func TestBufferBodyOfTheTransportAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req, b := put(t, strings.NewReader("some text"))
		n := 0
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			if n++; n == 1 {
				io.ReadFull(r.Body, make([]byte, 4))
				return lab.Answer(r, 503, ""), nil
			}
			if text := lab.Read(t, &http.Response{Body: r.Body}); text != "some text" || b.Closed() {
				t.Errorf("the second attempt had %q; the caller's body was closed: %v", text, b.Closed())
			}
			return lab.Answer(r, 200, ""), nil
		})
		tr := &pacer.Transport{Retry: pacer.Retry{BufferBody: 100}, Rand: lab.Zero, Base: &pacer.Transport{Retry: pacer.Retry{BufferBody: 100}, Base: base}}
		if resp, err := tr.RoundTrip(req); err != nil || resp.StatusCode != http.StatusOK || n != 2 || b.Closes != 1 {
			t.Errorf("%v, %v, sent %d times, closed %d times", resp, err, n, b.Closes)
		}
	})
}
