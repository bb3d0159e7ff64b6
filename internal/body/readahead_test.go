package body

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What was looked into or read ahead is the same, byte for byte, and with the same end, however it
// comes.
func TestHandedOn(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 10_000) // more than is read ahead
	for name, test := range map[string]struct {
		parts []string
		every time.Duration
		end   error
		peek  int           // how much Peek of 1000 bytes finds
		took  time.Duration // Peek, which waits for a body that trickles for a second
	}{
		"short":    {[]string{"{", "}"}, 0, io.EOF, 2, 0},
		"empty":    {nil, 0, io.EOF, 0, 0},
		"long":     {[]string{long}, 0, io.EOF, 1000, 0},
		"broken":   {[]string{`{"a":`}, 0, io.ErrUnexpectedEOF, 5, 0},
		"trickles": {strings.Split(long[:100], ""), 30 * time.Millisecond, io.EOF, 33, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := strings.Join(test.parts, "")
				check := func(how string, source *slowly, whole io.ReadCloser) {
					t.Helper()
					wantErr := test.end
					if errors.Is(wantErr, io.EOF) {
						wantErr = nil
					}
					if got, err := io.ReadAll(whole); string(got) != want || !errors.Is(err, wantErr) {
						t.Errorf("%s: %d bytes, %v, want %d, %v", how, len(got), err, len(want), wantErr)
					}
					whole.Close()
					if _, err := whole.Read(make([]byte, 1)); !source.closed.Load() || err == nil {
						t.Errorf("%s: closed: %v; read after that: %v", how, source.closed.Load(), err)
					}
				}
				source := &slowly{parts: append([]string{}, test.parts...), every: test.every, end: test.end}
				start := time.Now()
				begin, whole := Peek(t.Context(), source, 1000, time.Time{})
				if took := time.Since(start); string(begin) != want[:test.peek] || took != test.took {
					t.Errorf("Peek found %d bytes after %v, want %d after %v", len(begin), took, test.peek, test.took)
				}
				check("Peek", source, whole)

				source = &slowly{parts: append([]string{}, test.parts...), every: test.every, end: test.end}
				start = time.Now()
				whole = ReadAhead(source, false)
				if again := ReadAhead(whole, false); again != whole {
					t.Error("what is being read ahead is wrapped once more")
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("ReadAhead took %v", took)
				}
				check("ReadAhead", source, whole)
			})
		})
	}
}

// A body is read ahead while nobody reads it, as far as that goes.
func TestReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, aheadLimit - 1, aheadLimit, aheadLimit + 1, 3 * aheadLimit} {
			r := strings.NewReader(strings.Repeat("x", n))
			b := ReadAhead(&tracked{Reader: r}, false)
			synctest.Wait()
			if left := r.Len(); left != max(n-aheadLimit, 0) {
				t.Errorf("of %d bytes %d are left", n, left)
			}
			b.Close()
		}
	})
}

// stalled is a body that returns a text and then no more, whatever is done to it, until it is freed.
type stalled struct {
	io.Reader
	free   chan struct{}
	closes atomic.Int32
}

func (b *stalled) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		<-b.free
	}
	return n, err
}

func (b *stalled) Close() error { b.closes.Add(1); return nil }

// A look at a body that stalls ends after a second, with the context, and at the instant that it is given,
// whichever comes first. What has come is returned, and the rest can still be read.
func TestPeekAtAStall(t *testing.T) {
	for name, test := range map[string]struct {
		context, until time.Duration // after which they end; zero means never
		want           time.Duration
	}{
		"no end":      {0, 0, time.Second},
		"context":     {time.Second / 2, 0, time.Second / 2},
		"until":       {0, time.Second / 3, time.Second / 3},
		"late ends":   {time.Minute, time.Minute, time.Second},
		"both":        {time.Second / 2, time.Second / 3, time.Second / 3},
		"it has been": {0, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := t.Context(), func() {}
				if test.context > 0 {
					ctx, cancel = context.WithTimeout(ctx, test.context)
				}
				defer cancel()
				var until time.Time
				if test.until != 0 {
					until = time.Now().Add(test.until)
				}
				source := &stalled{Reader: strings.NewReader("text"), free: make(chan struct{})}
				start := time.Now()
				begin, whole := Peek(ctx, source, 1000, until)
				if took := time.Since(start); took != test.want || test.until >= 0 && string(begin) != "text" {
					t.Errorf("found %q after %v, want \"text\" after %v", begin, took, test.want)
				}
				time.AfterFunc(time.Second, func() { close(source.free) })
				if all, err := io.ReadAll(whole); string(all) != "text" || err != nil {
					t.Errorf("read %q, %v", all, err)
				}
				whole.Close()
			})
		})
	}
}

// What is read ahead can be read when it is there, before the rest is. Close does not wait for a Read that does
// not return, nor does a Read that waits for it.
func TestReadAheadOfAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &stalled{Reader: strings.NewReader("text"), free: make(chan struct{})}
		b := ReadAhead(source, false)
		start := time.Now()
		buf := make([]byte, 3)
		for _, want := range []string{"tex", "t"} {
			if n, err := b.Read(buf); string(buf[:n]) != want || err != nil {
				t.Errorf("read %q, %v", buf[:n], err)
			}
		}
		time.AfterFunc(time.Second, func() { b.Close() })
		if n, err := b.Read(buf); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) || time.Since(start) != time.Second {
			t.Errorf("read %q, %v, after %v", buf[:n], err, time.Since(start))
		}
		resp := &http.Response{Body: source}
		Discard(resp)
		if took := time.Since(start); took != time.Second+drainTime || source.closes.Load() != 2 {
			t.Errorf("discarded after %v, closed %d times", took, source.closes.Load())
		}
		close(source.free)
	})
}

// Of a body without an end no more is kept than aheadLimit.
func TestReadAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ReadAhead(&tracked{Reader: endless{}}, false).(*ahead)
		synctest.Wait()
		if len(b.buf) != aheadLimit || cap(b.buf) != aheadLimit {
			t.Errorf("%d bytes are kept, in %d", len(b.buf), cap(b.buf))
		}
		if _, err := io.CopyN(io.Discard, b, 10*aheadLimit); err != nil || len(b.buf) > aheadLimit {
			t.Errorf("%v; %d bytes are kept", err, len(b.buf))
		}
		b.Close()
	})
}

// An answer that frees its connection is closed when as much was read as is kept, or after lookTime; what was
// read can be read, and then comes an error. Who reads before that gets all of it. It is closed once.
func TestReadAheadFrees(t *testing.T) {
	long := strings.Repeat("x", 2*aheadLimit)
	for name, test := range map[string]struct {
		parts  []string
		every  time.Duration
		reads  time.Duration // when it is read
		closed time.Duration // when it was closed; zero if not before Close
		want   int
		err    error
	}{
		"short":                {[]string{"text"}, 0, time.Minute, 0, 4, nil},
		"longer than is kept":  {[]string{long}, 0, time.Minute, 1, aheadLimit, io.ErrUnexpectedEOF},
		"slow":                 {[]string{"te", "xt"}, lookTime * 2 / 5, time.Minute, 0, 4, nil},
		"too slow":             {[]string{"te", "xt", "s"}, lookTime * 3 / 5, time.Minute, lookTime, 4, io.ErrUnexpectedEOF}, // a Read was under way
		"too slow, and waited": {[]string{"te", "xt", "s"}, lookTime * 3 / 5, lookTime - 1, 0, 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &slowly{parts: test.parts, every: test.every, end: io.EOF}
				b := ReadAhead(source, false)
				for range 2 {
					if ReadAhead(b, true) != b {
						t.Error("what was read ahead is read ahead again")
					}
				}
				time.Sleep(test.closed)
				if synctest.Wait(); source.closed.Load() != (test.closed > 0) {
					t.Errorf("closed %v after %v", source.closed.Load(), test.closed)
				}
				time.Sleep(test.reads - test.closed)
				if got, err := io.ReadAll(b); len(got) != test.want || !errors.Is(err, test.err) {
					t.Errorf("%d bytes, %v; want %d, %v", len(got), err, test.want, test.err)
				}
				source.closed.Store(false)
				if err := b.Close(); err != nil || source.closed.Load() == (test.err != nil) {
					t.Errorf("%v; closed by Close: %v", err, source.closed.Load())
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := ReadAhead(closePanics{endless{}}, true)
		synctest.Wait()
		defer func() {
			if got := recover(); got != "oops" {
				t.Errorf("Close panicked with %v, want what Close of the answer did", got)
			}
		}()
		b.Close()
	})
}

// closePanics is a body whose Close panics.
type closePanics struct{ io.Reader }

func (closePanics) Close() error { panic("oops") }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A panic of a Read, and a runtime.Goexit, reach who reads the body or closes it: once, and behind what came
// before.
func TestReadAheadOfAPanic(t *testing.T) {
	for how, spring := range map[string]func(){"panics": func() { panic("oops") }, "exits": runtime.Goexit} {
		for name, use := range map[string]func(b io.ReadCloser) string{
			"read":      func(b io.ReadCloser) string { all, err := io.ReadAll(b); return string(all) + fmt.Sprint(err) },
			"closed":    func(b io.ReadCloser) string { return fmt.Sprint(b.Close()) },
			"discarded": func(b io.ReadCloser) string { Discard(&http.Response{Body: b}); return "" },
			"looked at": func(b io.ReadCloser) string {
				begin, _ := Peek(context.Background(), b, 1000, time.Time{})
				return string(begin)
			},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := ReadAhead(&tracked{Reader: io.MultiReader(strings.NewReader("text"), springs(spring))}, false)
					synctest.Wait()
					var recovered any
					got, done := "it has not returned", make(chan struct{})
					go func() {
						defer close(done)
						defer func() { recovered = recover() }()
						got = use(b)
					}()
					<-done
					if got != "it has not returned" || (recovered == "oops") != (how == "panics") {
						t.Errorf("recovered %v; %s", recovered, got)
					}
					if _, err := io.ReadAll(b); err == nil {
						t.Error("it is read on as if nothing had been")
					}
					b.Close()
				})
			})
		}
	}
}

// A Read that returns more bytes than it was given room for, or fewer than none, is a panic of whoever reads
// the body, as it is for the readers of the standard library.
func TestReadAheadOfAWrongCount(t *testing.T) {
	for _, count := range []int{-1, 1 << 20} {
		for name, use := range map[string]func(b io.ReadCloser){
			"read":      func(b io.ReadCloser) { io.ReadAll(ReadAhead(b, false)) },
			"discarded": func(b io.ReadCloser) { Discard(&http.Response{Body: b}) },
			"looked at": func(b io.ReadCloser) { Peek(context.Background(), b, 1000, time.Time{}) },
		} {
			synctest.Test(t, func(t *testing.T) {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.HasPrefix(got, fmt.Sprintf("pacer: a Read of the body of an answer returned %d, where there is room for", count)) {
						t.Errorf("%s: recovered %s", name, got)
					}
				}()
				use(&tracked{Reader: counts(count)})
			})
		}
	}
}

// counts is a Reader that says that it has read so many bytes.
type counts int

func (n counts) Read([]byte) (int, error) { return int(n), nil }

type springs func()

func (f springs) Read([]byte) (int, error) { f(); return 0, io.EOF }

// A body whose Read or Close panics has ended for those who watch it.
func TestWatchOfAPanic(t *testing.T) {
	for name, use := range map[string]func(io.ReadCloser){
		"Read":  func(b io.ReadCloser) { b.Read(make([]byte, 1)) },
		"Close": func(b io.ReadCloser) { b.Close() },
	} {
		oops := &panicking{}
		ctx, cancel := context.WithCancelCause(t.Context())
		told := 0
		b := Watch(t.Context(), cancelAtEnd(oops, cancel), time.Minute, func(int64) { told++ })
		func() {
			defer func() {
				if got := recover(); got != "oops" {
					t.Errorf("%s: recovered %v", name, got)
				}
			}()
			use(b)
		}()
		if told != 1 || ctx.Err() == nil {
			t.Errorf("%s: its end was told %d times; the context has ended: %v", name, told, ctx.Err())
		}
	}
}

type panicking struct{}

func (*panicking) Read([]byte) (int, error) { panic("oops") }
func (*panicking) Close() error             { panic("oops") }

// A body of which nobody knows how far it was read cannot be sent again.
func TestReplayOfAPanic(t *testing.T) {
	r := NewReplay(&panicking{}, 10, errTooLong)
	b, _ := r.Open()
	func() {
		defer func() { recover() }()
		b.Read(make([]byte, 1))
	}()
	if Replayable(&http.Request{Body: b}) {
		t.Error("it can be sent again")
	}
	if again, err := r.Open(); err == nil {
		t.Errorf("opened %v", again)
	}
}
