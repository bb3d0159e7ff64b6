package piece

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

var errLater = errors.New("later")

// payer pays, or not, as a seed says, in pieces whose size changes.
type payer struct {
	r    *rand.Rand
	paid int // in all
	last int
	most int
}

func (p *payer) Most() int {
	p.most = 1 + p.r.IntN(9)
	return p.most
}

func (p *payer) Pay(n int) error {
	if n < 1 || n > p.most {
		panic("not what Most has returned")
	}
	if p.r.IntN(4) == 0 {
		return errLater
	}
	p.paid, p.last = p.paid+n, n
	return nil
}

func (p *payer) Flown(n int) {
	if n < 0 || n >= p.last {
		panic("nothing to give back")
	}
	p.paid -= p.last - n
}

// A text moves through a Reader and through Write, each of which may fail at any piece: all of it comes, in
// order and once, and as much as has come is paid for.
func TestPieces(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 0))
		text := []byte("all of it comes, in order and once, and nothing else")[:r.IntN(53)]
		source := bytes.NewReader(text)
		var reader Reader
		var read bytes.Buffer
		from := &payer{r: r}
		for err := error(nil); !errors.Is(err, io.EOF); {
			p := make([]byte, r.IntN(20))
			var n int
			n, err = reader.Read(readFunc(func(p []byte) (int, error) {
				n, err := source.Read(p[:min(len(p), 1+r.IntN(20))])
				if source.Len() == 0 && r.IntN(2) == 0 {
					err = io.EOF // with the last bytes
				}
				return n, err
			}), p, from, nil)
			if read.Write(p[:n]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLater) || read.Len() != from.paid {
				t.Fatalf("%v, and %d of %d bytes are paid for", err, from.paid, read.Len())
			}
		}
		if !bytes.Equal(read.Bytes(), text) {
			t.Errorf("read %q of %q", read.Bytes(), text)
		}

		var wrote bytes.Buffer
		to := &payer{r: r}
		for left := text; len(left) > 0; {
			n, err := Write(writeFunc(func(p []byte) (int, error) {
				p = p[:len(p)-r.IntN(2)*r.IntN(len(p)+1)]
				return wrote.Write(p)
			}), left[:1+r.IntN(len(left))], to, nil)
			left = left[n:]
			if err != nil && !errors.Is(err, errLater) && !errors.Is(err, io.ErrShortWrite) || wrote.Len() != to.paid {
				t.Fatalf("%v, and %d of %d bytes are paid for", err, to.paid, wrote.Len())
			}
		}
		if !bytes.Equal(wrote.Bytes(), text) {
			t.Errorf("wrote %q of %q", wrote.Bytes(), text)
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

// A source that returns a number of bytes that cannot be: neither that nor a panic goes to the caller, and
// nothing is paid for.
func TestReadImpossible(t *testing.T) {
	for _, tt := range []struct {
		n    int
		err  error
		want string
	}{
		{n: -1, want: "throttle: piece.readFunc has read -1 bytes, where there is room for 3"},
		{n: -1, err: io.EOF, want: "throttle: piece.readFunc has read -1 bytes, where there is room for 3"},
		{n: 4, want: "throttle: piece.readFunc has read 4 bytes, where there is room for 3"},
		{n: 6, err: io.EOF, want: "throttle: piece.readFunc has read 6 bytes, where there is room for 3"},
	} {
		var reader Reader
		from := &three{}
		n, err := reader.Read(readFunc(func([]byte) (int, error) { return tt.n, tt.err }), make([]byte, 5), from, nil)
		if n != 0 || err == nil || err.Error() != tt.want || from.paid != 0 {
			t.Errorf("Read of a source that returns %d and %v = %d, %v, and paid for %d", tt.n, tt.err, n, err, from.paid)
		}
	}
}

// three pays for pieces of three bytes.
type three struct{ paid int }

func (*three) Most() int         { return 3 }
func (p *three) Pay(n int) error { p.paid += n; return nil }
func (*three) Flown(int)         {}
