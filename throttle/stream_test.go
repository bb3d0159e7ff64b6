package throttle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// endless is a source that always has something to read.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// flown is what was read or written, and when, in a bubble.
type flown struct {
	mu    sync.Mutex
	start time.Time
	at    []time.Duration
	n     []int
}

func newFlown() *flown { return &flown{start: time.Now()} }

func (f *flown) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.n = append(f.at, time.Since(f.start)), append(f.n, n)
}

// Write implements io.Writer.
func (f *flown) Write(p []byte) (int, error) {
	f.add(len(p))
	return len(p), nil
}

// sum returns how much has flown.
func (f *flown) sum() (sum int) {
	for _, n := range f.n {
		sum += n
	}
	return sum
}

// mostIn returns the most that has flown in any span, both ends included. The plain definition: it adds up
// each.
func (f *flown) mostIn(span time.Duration) (most int) {
	sum, first := 0, 0
	for i, at := range f.at {
		for sum += f.n[i]; f.at[first] < at-span; first++ {
			sum -= f.n[first]
		}
		most = max(most, sum)
	}
	return most
}

// One stream has the whole quota, exactly, in pieces of a fortieth of a second.
func TestReaderPace(t *testing.T) {
	for text, want := range map[string]struct {
		piece int
		n     int64
		last  time.Duration // when the last piece is there
	}{
		"64kB/s streamed":           {1600, 640_000, 9950 * time.Millisecond},
		"1MB/s streamed":            {25_000, 5_000_000, 4950 * time.Millisecond},
		"60MB/m streamed":           {25_000, 5_000_000, 4950 * time.Millisecond},
		"1GB/s streamed":            {25_000_000, 5_000_000_000, 4950 * time.Millisecond},
		"1MB/s burst 1MB streamed":  {25_000, 5_000_000, 4 * time.Second},
		"1MB/s burst 10kB streamed": {5000, 5_000_000, 4990 * time.Millisecond},
		"10B/s streamed":            {1, 100, 9900 * time.Millisecond},
		"1MB/s streamed, 3kB/s":     {75, 6000, time.Second},
		"100kB/s burst 10kB":        {2500, 110_000, time.Second},
		"9B/s even streamed":        {1, 10, time.Second},

		"1MB/s burst 9223372036854775807B streamed": {25_000, 5_000_000, 0},
		"9223372036854775807B/1us streamed":         {32 << 20, 5_000_000_000, 0},
	} {
		if strconv.IntSize < 64 && strings.Contains(text, "9223372036854775807") {
			continue
		}
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, text)}
				buf := make([]byte, 32<<20)
				start, sum, first := time.Now(), int64(0), 0
				r := &Reader{R: endless{}, Limiter: l}
				for sum < want.n {
					n, err := r.Read(buf[:min(int64(len(buf)), want.n-sum)])
					if err != nil || n == 0 {
						t.Fatal(n, err)
					}
					if sum += int64(n); first == 0 {
						first = n
					}
				}
				if got := time.Since(start); first != want.piece || got != want.last {
					t.Errorf("pieces of %d, the last after %v; want %d and %v", first, got, want.piece, want.last)
				}
			})
		})
	}
}

// What a quota of requests, or of what is under way, means for a Reader.
func TestReaderCountsEachPieceAsARequest(t *testing.T) {
	for text, want := range map[string]time.Duration{"2/s even": 2 * time.Second, "2/s even, 1GB/s": 2 * time.Second, "": 0, "5 in flight": 0} {
		synctest.Test(t, func(t *testing.T) {
			r := &Reader{R: io.LimitReader(endless{}, 50_000), Limiter: &Limiter{Quotas: quota.MustParse(text)}}
			f, piece := newFlown(), make([]byte, 10_000)
			for {
				n, err := r.Read(piece)
				if f.add(n); errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(f.start); f.sum() != 50_000 || took != want {
				t.Errorf("%q: %d in %d pieces took %v, want 50000 in %v", text, f.sum(), len(f.n)-1, took, want)
			}
		})
	}
}

// A hundred streams have their turns, and together the whole quota.
func TestStreamsInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streams, each = 100, 20
		l := &Limiter{Quotas: quotas(t, "1MB/s streamed")}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := make([]*flown, streams)
		var wg sync.WaitGroup
		for i := range got {
			got[i] = newFlown()
			wg.Go(func() {
				if i%2 == 0 {
					_, _ = io.CopyBuffer(struct{ io.Writer }{got[i]}, &Reader{R: endless{}, Limiter: l, Context: ctx}, make([]byte, 32<<10))
				} else {
					_, _ = io.CopyBuffer(&Writer{W: got[i], Limiter: l, Context: ctx}, struct{ io.Reader }{endless{}}, make([]byte, 25_000))
				}
			})
		}
		time.Sleep(streams * each * 25 * time.Millisecond)
		synctest.Wait()
		if w := l.State().Waiting; w != streams {
			t.Errorf("%d wait, want all", w)
		}
		cancel()
		wg.Wait()
		sum := 0
		for i, f := range got {
			sum += f.sum()
			if pieces := f.sum() / 25_000; pieces < each || pieces > each+2 || f.sum()%25_000 != 0 { // two pieces went at once
				t.Errorf("stream %d: %d bytes, want %d", i, f.sum(), 25_000*each)
			}
			for j := range f.at[1:] {
				if gap := f.at[j+1] - f.at[j]; gap > (streams+1)*25*time.Millisecond {
					t.Errorf("stream %d waited for %v", i, gap)
				}
			}
		}
		if want := 1_000_000*50 + 50_000; sum != want {
			t.Errorf("%d bytes, want %d", sum, want)
		}
		if s := l.State(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("%+v is left", s)
		}
	})
}

// Whatever streams come and go, wait for their sources, are canceled, and read and write pieces of whatever
// size: what flows in any second is N and a Burst at most; and while one always wants more, nothing is lost.
func TestStreamsModel(t *testing.T) {
	for seed := range seeds(10) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 20))
			q := quota.Quota{N: int64(1 + r.IntN(1<<(4+r.IntN(24)))), Unit: quota.Bytes, Streamed: true, Per: time.Duration(1+r.IntN(3)) * time.Second}
			if r.IntN(2) == 0 {
				q.Burst = int64(2 + r.IntN(int(2*q.N)))
			}
			burst := quota.Quotas{q}.Explicit()[0].Burst
			rate := float64(q.N) / q.Per.Seconds()
			l := &Limiter{Quotas: quota.Quotas{q}}
			all := newFlown()
			var wg sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			greedy := r.IntN(2) == 0
			if greedy {
				wg.Go(func() { _, _ = io.Copy(struct{ io.Writer }{all}, &Reader{R: endless{}, Limiter: l, Context: ctx}) })
			}
			for range r.IntN(30) {
				r := rand.New(rand.NewPCG(r.Uint64(), 0))
				wg.Go(func() {
					time.Sleep(time.Duration(r.Int64N(int64(10 * time.Second))))
					ctx := ctx
					if r.IntN(3) == 0 {
						var stop func()
						ctx, stop = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(10*time.Second))))
						defer stop()
					}
					slow := source(func(p []byte) (int, error) {
						if r.IntN(4) == 0 {
							time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
						}
						return r.IntN(len(p)) + 1, nil
					})
					buf := make([]byte, 1+r.IntN(64<<10))
					c := Claim{Flow: []string{"", "a", "b"}[r.IntN(3)], Priority: Priority(r.IntN(4) - 1)}
					if r.IntN(2) == 0 {
						_, _ = io.CopyBuffer(struct{ io.Writer }{all}, &Reader{R: slow, Limiter: l, Context: ctx, Claim: c}, buf)
					} else {
						_, _ = io.CopyBuffer(&Writer{W: all, Limiter: l, Context: ctx, Claim: c}, struct{ io.Reader }{slow}, buf)
					}
				})
			}
			const lasts = 20 * time.Second
			time.Sleep(lasts)
			synctest.Wait()
			if most, want := all.mostIn(time.Second), rate+float64(burst); float64(most) > want+1e-6 {
				t.Errorf("seed %d, %v: %d bytes in a second, want %v at most", seed, q, most, want)
			}
			if want := rate*lasts.Seconds() + float64(burst); greedy && float64(all.sum()) < want-float64(l.piece())-1 {
				t.Errorf("seed %d, %v: %d bytes, want %v", seed, q, all.sum(), want)
			}
			cancel()
			wg.Wait()
			if s := l.State(); s.Waiting != 0 || s.InFlight != 0 {
				t.Errorf("seed %d: %+v is left", seed, s)
			}
		})
	}
}

// source is a function as an io.Reader.
type source func(p []byte) (int, error)

func (f source) Read(p []byte) (int, error) { return f(p) }

// piece is how many bytes are claimed at once.
func (l *Limiter) piece() int { return (&payer{l: l}).Most() }

// Of a Read that cannot wait, nothing is lost: the error names the bucket, the quota and the cause, and the
// next Read goes on.
func TestReaderErrorLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "disk", Quotas: quotas(t, "1kB/s streamed")}
		text := strings.Repeat("0123456789", 10)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		last := false
		r := &Reader{Limiter: l, Context: ctx, R: source(func(p []byte) (int, error) {
			n := copy(p, text)
			if text = text[n:]; text == "" && last {
				return n, io.EOF // with the last bytes
			}
			return n, nil
		})}
		var got []byte
		buf := make([]byte, 64)
		read := func() error {
			n, err := r.Read(buf)
			got = append(got, buf[:n]...)
			return err
		}
		if err := errors.Join(read(), read()); err != nil || len(got) != 50 {
			t.Fatalf("%q, %v", got, err)
		}
		err := read()
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrDeadline) || !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() ||
			e.Bucket != "disk" || e.Quota != "1kB/s streamed" || e.Cause != CausePace || e.Wait != 25*time.Millisecond {
			t.Errorf("got %#v", err)
		}
		if want := `throttle: disk: not sent: wait past the deadline (in 10ms): pace "1kB/s streamed", could go in 25ms`; err.Error() != want {
			t.Errorf("got  %v\nwant %v", err, want)
		}
		for range 3 {
			if n, err := r.Read(buf); n > 0 || !errors.Is(err, ErrDeadline) {
				t.Errorf("%d, %v", n, err)
			}
		}
		r.Context, last = nil, true
		buf = buf[:7] // less than what is left
		for err == nil || errors.Is(err, ErrDeadline) {
			err = read()
		}
		if want := strings.Repeat("0123456789", 10); !errors.Is(err, io.EOF) || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
		if s := l.State(); s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("%+v is left", s)
		}
	})
}

// What is not written is given back, whatever ends the Write.
func TestWriterGivesBack(t *testing.T) {
	for name, test := range map[string]struct {
		write func(p []byte) (int, error)
		want  error
		flown int
	}{
		"all":    {func(p []byte) (int, error) { return len(p), nil }, nil, 40},
		"error":  {func([]byte) (int, error) { return 10, io.ErrClosedPipe }, io.ErrClosedPipe, 10},
		"short":  {func([]byte) (int, error) { return 10, nil }, io.ErrShortWrite, 10},
		"none":   {func([]byte) (int, error) { return 0, io.ErrClosedPipe }, io.ErrClosedPipe, 0},
		"wrong":  {func([]byte) (int, error) { return -1, io.ErrClosedPipe }, io.ErrClosedPipe, 0},
		"panics": {func([]byte) (int, error) { panic("x") }, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, "1kB/s burst 80B streamed")}
				func() {
					defer func() {
						if (recover() != nil) != (name == "panics") {
							t.Error("panicked")
						}
					}()
					n, err := (&Writer{W: sink(test.write), Limiter: l}).Write(make([]byte, 40))
					if n != test.flown || !errors.Is(err, test.want) {
						t.Errorf("%d, %v; want %d, %v", n, err, test.flown, test.want)
					}
				}()
				s := l.State()
				if got := s.Limits[0].Available; got != 80-int64(test.flown) || s.InFlight != 0 {
					t.Errorf("%d are left, and %d in flight; want %d", got, s.InFlight, 80-test.flown)
				}
			})
		})
	}
	text := ""
	n, err := (&Writer{Limiter: &Limiter{Quotas: quotas(t, "1kB/s streamed")}, W: sink(func(p []byte) (int, error) {
		text += string(p)
		return len(p) + 1, nil
	})}).Write([]byte(strings.Repeat("0123456789", 10)))
	if n != 25 || err == nil || err.Error() != "throttle: throttle.sink has written 26 of 25 bytes" || text != "0123456789012345678901234" {
		t.Errorf("of more than there is: %d, %v, wrote %q", n, err, text)
	}
	n, err = (&Writer{W: sink(func(p []byte) (int, error) { return len(p), io.EOF }), Limiter: &Limiter{}}).Write(nil)
	if n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("of nothing: %d, %v", n, err)
	}
}

// sink is a function as an io.Writer.
type sink func(p []byte) (int, error)

func (f sink) Write(p []byte) (int, error) { return f(p) }

// A wait ends with the channel of the claim, and charges nothing.
func TestWriterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1kB/s burst 50B streamed")}
		cancel := make(chan struct{})
		w := &Writer{W: io.Discard, Limiter: l, Claim: Claim{Cancel: cancel}}
		time.AfterFunc(30*time.Millisecond, func() { close(cancel) })
		n, err := w.Write(make([]byte, 1000))
		if n != 75 || !errors.Is(err, ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%d, %v", n, err)
		}
		time.Sleep(45 * time.Millisecond)
		if s := l.State(); s.Limits[0].Available != 50 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Quotas that become smaller, larger or none bind the pieces that wait, and none fails.
func TestStreamsWhileQuotasChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1MB/s streamed")}
		f := newFlown()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if n, err := io.CopyN(f, &Reader{R: endless{}, Limiter: l}, 1_000_000); n != 1_000_000 || err != nil {
					t.Error(n, err)
				}
			})
		}
		at := func(sleep time.Duration, text string, granted int) {
			t.Helper()
			time.Sleep(sleep)
			synctest.Wait()
			if got := f.sum(); got > granted || got <= granted-l.piece() { // the next piece waits for the rest
				t.Errorf("before %q: %d, want a piece less than %d", text, got, granted)
			}
			if err := l.SetQuotas(quotas(t, text)); err != nil {
				t.Error(err)
			}
		}
		at(time.Second, "1kB/s streamed", 1_050_000)
		at(time.Second, "100kB/s streamed", 1_051_000)
		at(time.Second, "no limit", 1_151_000)
		wg.Wait()
		if got := f.sum(); got != 3_000_000 {
			t.Errorf("%d in the end", got)
		}
	})
}

// What waits for a narrow bucket does not keep others from the wide one, and flows share it, however many
// streams each has.
func TestStreamsOfBucketsAndFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := &Limiter{Name: "wide", Quotas: quotas(t, "100kB/s streamed")}
		narrow := &Limiter{Name: "narrow", Quotas: quotas(t, "10kB/s streamed"), Parent: wide}
		ctx, cancel := context.WithCancel(t.Context())
		start := func(l *Limiter, c Claim, streams int) *flown {
			f := newFlown()
			for range streams {
				go func() {
					_, _ = io.Copy(struct{ io.Writer }{f}, &Reader{R: endless{}, Limiter: l, Context: ctx, Claim: c})
				}()
			}
			return f
		}
		n := start(narrow, Claim{}, 5)
		a, b := start(wide, Claim{Flow: "a"}, 10), start(wide, Claim{Flow: "b"}, 1)
		time.Sleep(100 * time.Second)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got := n.sum(); got < 990_000 || got > 1_000_500 {
			t.Errorf("the narrow one has %d, want 1 MB", got)
		}
		if x, y := a.sum(), b.sum(); x-y > 10_000 || y-x > 10_000 || x+y+n.sum() > 10_005_000 || x+y+n.sum() <= 10_005_000-wide.piece() {
			t.Errorf("%d and %d, and %d of the narrow one; want equal shares of 10005000", x, y, n.sum())
		}
	})
}

// What a Reader or a Writer cannot do without is named by an error, and not by a panic somewhere below.
func TestStreamsSayWhatTheyLack(t *testing.T) {
	const noLimiter = ".Limiter is nil, want a Limiter with a quota in bytes"
	p, l := []byte("abc"), &Limiter{}
	for want, do := range map[string]func([]byte) (int, error){
		"throttle: Reader.R is nil, want an io.Reader":                               (&Reader{Limiter: l}).Read,
		"throttle: Reader" + noLimiter:                                               (&Reader{R: bytes.NewReader(p)}).Read,
		"throttle: Writer.W is nil, want an io.Writer":                               (&Writer{Limiter: l}).Write,
		"throttle: Writer" + noLimiter:                                               (&Writer{W: io.Discard}).Write,
		"throttle: Writer.W is nil, want an io.Writer\nthrottle: Writer" + noLimiter: (&Writer{}).Write,
	} {
		for _, p := range [][]byte{p, nil} {
			if n, err := do(p); n != 0 || err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
				t.Errorf("%d, %v\nwant %s", n, err, want)
			}
		}
	}
}

// A nil context is told where it is given: nothing has a reason to accept it.
func TestNilContextPanics(t *testing.T) {
	l := &Limiter{Quotas: quotas(t, "1/h")}
	for range 2 { // it would go; it would wait
		for _, do := range []func(){
			func() { _ = l.Wait(nil, 1) },             //nolint:staticcheck // this is what is tested
			func() { _, _ = l.Acquire(nil, Claim{}) }, //nolint:staticcheck // as above
		} {
			func() {
				defer func() {
					if v := recover(); v != "throttle: nil context" {
						t.Errorf("panic %v", v)
					}
				}()
				do()
			}()
		}
		l.Allow(1)
	}
}
