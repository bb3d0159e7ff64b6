package pacer

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// put is a request whose body has no GetBody, and the body.
func put(t *testing.T, r io.Reader) (*http.Request, *body) {
	t.Helper()
	req := request(t, "PUT", "http://a.example/", "")
	b := &body{Reader: r}
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
			"503": status(503, "why"), "broken": fails(errBroken), "429": status(429, "why"),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var r io.Reader = strings.NewReader(test.text)
					if test.body != nil {
						r = test.body(r)
					}
					base := &script{answers: list(a)}
					req, b := put(t, r)
					tr := &Transport{Base: base, Rand: zero, BufferBody: test.keep, MaxRefusals: 2}
					resp, err := tr.RoundTrip(req)
					if (err != nil) != (what == "broken") || err == nil && (read(t, resp) != "why" || resp.Request != req) {
						t.Error(resp, err)
					}
					want := strings.TrimSpace("PUT http://a.example/ " + test.text)
					if len(base.got) != test.want || strings.TrimSpace(base.got[0]) != want || strings.TrimSpace(base.got[len(base.got)-1]) != want {
						t.Errorf("sent %q, want %d times %q", base.got, test.want, want)
					}
					if b.closes != 1 || req.Body != io.ReadCloser(b) || req.GetBody != nil {
						t.Errorf("closed %d times, request %+v", b.closes, req)
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
		tr := &Transport{BufferBody: 3, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.Body)
			closeBody(r)
			return answer(r, 200, ""), nil
		})}
		with := request(t, "PUT", "http://a.example/", "text")
		long, _ := put(t, strings.NewReader("text"))
		long.ContentLength = 4
		none := request(t, "PUT", "http://a.example/", "")
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
	once := map[string]throttle.Quotas{"/": {{N: 1, Per: time.Hour}}}
	for name, tr := range map[string]*Transport{
		"answered":       {Base: ok()},
		"never sent":     {Base: roundTripper(func(r *http.Request) (*http.Response, error) { r.Body.Close(); return nil, errDial })},
		"not read":       {Base: roundTripper(func(r *http.Request) (*http.Response, error) { r.Body.Close(); return answer(r, 503, ""), nil })},
		"no turn":        {Base: ok(), Quotas: once, Mode: Reject},
		"no second turn": {Base: &script{answers: list(status(503, ""))}, Quotas: once},
		"a fallback":     {Base: ok(), Quotas: once, Mode: Degrade, Fallback: ok()},
		"PrepareRetry":   {Base: &script{answers: list(status(503, ""))}, PrepareRetry: func(*http.Request) error { return io.ErrNoProgress }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr.BufferBody, tr.Rand = 100, zero
				if name == "no turn" || name == "a fallback" {
					if _, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
						t.Fatal(err)
					}
				}
				req, b := put(t, strings.NewReader("text"))
				tr.RoundTrip(req)
				if b.closes != 1 {
					t.Errorf("closed %d times, want once", b.closes)
				}
			})
		})
	}
}

// An upload that is produced in answer to what the server says is not read ahead.
func TestBufferBodyOfAConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{BufferBody: mebi, Base: serve(t, true, func(w http.ResponseWriter, r *http.Request) {
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
		if b.closes != 1 {
			t.Errorf("closed %d times, want once", b.closes)
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
		tr := &Transport{Backoff: steady{}, BufferBody: 3, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				go func() {
					defer r.Body.Close()
					_, lateErr = io.Copy(io.Discard, r.Body)
				}()
				synctest.Wait() // it is in a Read
				return answer(r, 503, ""), nil
			}
			defer r.Body.Close()
			var err error
			got, err = io.ReadAll(r.Body)
			return answer(r, 200, ""), err
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
		if !errors.Is(lateErr, http.ErrBodyReadAfterClose) || b.closes != 1 {
			t.Errorf("the first ended with %v; closed %d times", lateErr, b.closes)
		}
	})
}

// Every attempt reads the body from its beginning, however much of it those before have read,
// and while they go on.
func TestBufferBodyRandomReaders(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := make([]byte, random.IntN(200))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		source := &body{Reader: iotest.OneByteReader(bytes.NewReader(text))}
		b := newReplay(source, 200)
		var late sync.WaitGroup
		for attempt := range 4 {
			r, err := b.open()
			if err != nil {
				t.Fatal(err)
			}
			some := make([]byte, random.IntN(len(text)+1))
			if attempt == 3 {
				some = make([]byte, len(text))
			}
			if _, err := io.ReadFull(r, some); err != nil || !bytes.Equal(some, text[:len(some)]) {
				t.Fatalf("attempt %d read %d of %d bytes wrong: %v", attempt, len(some), len(text), err)
			}
			late.Go(func() {
				io.Copy(io.Discard, r)
				r.Close()
			})
		}
		b.finish()
		late.Wait()
		if source.closes != 1 {
			t.Fatalf("closed %d times, want once", source.closes)
		}
	}
}
