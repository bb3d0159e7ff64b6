package body

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

var errTooLong = errors.New("too long")

// A body can be sent again while what was read of it is no longer than the limit, and did not
// fail.
func TestReplay(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		limit int64
		wrap  func(io.Reader) io.Reader
		want  error // of another attempt, after all was read
	}{
		"shorter":          {"0123456789", 11, nil, nil},
		"as long":          {"0123456789", 10, nil, nil},
		"longer by one":    {"0123456789", 9, nil, errTooLong},
		"empty":            {"", 0, nil, nil},
		"bit by bit":       {"0123456789", 10, iotest.OneByteReader, nil},
		"longer, in bits":  {"0123456789", 9, iotest.OneByteReader, errTooLong},
		"data with an end": {"0123456789", 10, iotest.DataErrReader, nil},
		"an error in it":   {"0123456789", 100, iotest.TimeoutReader, iotest.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			var r io.Reader = strings.NewReader(test.text)
			if test.wrap != nil {
				r = test.wrap(r)
			}
			source := &tracked{Reader: r}
			b := NewReplay(source, test.limit, errTooLong)
			first, err := b.Open()
			if err != nil || !Replayable(&http.Request{Body: first}) {
				t.Fatalf("nothing was read, and it cannot be sent again: %v", err)
			}
			text, err := io.ReadAll(first)
			if !errors.Is(err, test.want) && err != nil || err == nil && string(text) != test.text {
				t.Errorf("the first attempt read %q, %v", text, err)
			}
			if got := Replayable(&http.Request{Body: first}); got != (test.want == nil) {
				t.Errorf("can be sent again: %v", got)
			}
			second, err := b.Open()
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("the second attempt: %v, want %v", err, test.want)
			}
			last := first
			if err == nil {
				if text, err := io.ReadAll(second); string(text) != test.text || err != nil {
					t.Errorf("the second attempt read %q, %v", text, err)
				}
				if _, err := first.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
					t.Errorf("the first attempt can still read: %v", err)
				}
				last = second
			}
			b.Finish(false)
			if source.closes != 0 {
				t.Error("closed while it is still being read")
			}
			last.Close()
			last.Close()
			if source.closes != 1 {
				t.Errorf("closed %d times, want once", source.closes)
			}
		})
	}
}

// The source of a request that has failed is closed, whatever became of the last reader, and read no more.
func TestReplayOfARequestThatFails(t *testing.T) {
	source := newTracked("text")
	b := NewReplay(source, 10, errTooLong)
	for range 2 { // as net/http does it between attempts of its own
		if _, err := b.Open(); err != nil {
			t.Fatal(err)
		}
	}
	b.Finish(true)
	if _, err := b.current.Read(make([]byte, 1)); source.closes != 1 || source.reads != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("closed %d times, read %d times: %v", source.closes, source.reads, err)
	}
	if b.current.Close(); source.closes != 1 {
		t.Error("closed twice")
	}
}

func TestReplayable(t *testing.T) {
	getBody := func() (io.ReadCloser, error) { return http.NoBody, nil }
	b := NewReplay(&tracked{Reader: strings.NewReader("text")}, 10, errTooLong)
	replay, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	trailer := http.Header{"A": nil}
	for name, test := range map[string]struct {
		req  http.Request
		want bool
	}{
		"no body":               {http.Request{}, true},
		"NoBody":                {http.Request{Body: http.NoBody}, true},
		"a body":                {http.Request{Body: newTracked("text")}, false},
		"GetBody":               {http.Request{Body: newTracked("text"), GetBody: getBody}, true},
		"GetBody and a trailer": {http.Request{Body: newTracked("text"), GetBody: getBody, Trailer: trailer}, false},
		"a Replay":              {http.Request{Body: replay}, true},
		"one with a trailer":    {http.Request{Body: replay, Trailer: trailer}, false},
	} {
		if got := Replayable(&test.req); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Every attempt reads the body from its beginning, however much of it those before have read,
// and while they go on.
func TestReplayRandomReaders(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := make([]byte, random.IntN(200))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		source := &tracked{Reader: iotest.OneByteReader(bytes.NewReader(text))}
		b := NewReplay(source, 200, errTooLong)
		var late sync.WaitGroup
		for attempt := range 4 {
			r, err := b.Open()
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
		b.Finish(false)
		late.Wait()
		if source.closes != 1 {
			t.Fatalf("closed %d times, want once", source.closes)
		}
	}
}
