package throttle

import (
	"cmp"
	"context"
	"io"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/piece"
)

// Reader reads from R no faster than the Quotas in bytes of a Limiter, and of its Parents, grant: in pieces of
// a fortieth of a second, or of half of a Burst if that is less. A piece is read, and handed on when it is
// granted, which an [*Error] may prevent, as for Acquire: then the next Read tries again, and nothing is lost.
// Readers and Writers of a Limiter have their turns, piece by piece. What buffers below R hold comes as fast as
// before. Each piece counts as a request, too, and a quota of requests delays it: give Readers a Limiter for
// bytes alone. Without R or Limiter, each Read returns an error that is ErrInvalid. If R returns a number that
// cannot be, negative or more than was asked for, Read returns an error in place of it.
type Reader struct {
	R       io.Reader       // must not be nil
	Limiter *Limiter        // must not be nil. Without a quota in bytes, it delays pieces by its other quotas alone.
	Context context.Context // of all that is read. It ends waits; nil never does.
	Claim   Claim           // of each piece, but for its Costs: N, Priority, Flow, Weight, Cancel, MaxWait

	pieces piece.Reader
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	return r.pieces.Read(r.R, p, &payer{r.Limiter, r.Context, r.Claim, nil}, check.Stream("Reader", "R", r.R != nil, r.Limiter != nil))
}

// Writer writes to W no faster than the Quotas in bytes of a Limiter grant, as a Reader reads. It writes a
// piece when that is granted, and gives back what W does not write.
type Writer struct {
	W       io.Writer       // must not be nil
	Limiter *Limiter        // must not be nil; see Reader
	Context context.Context // of all that is written. It ends waits; nil never does.
	Claim   Claim           // of each piece, as in a Reader
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	return piece.Write(w.W, p, &payer{w.Limiter, w.Context, w.Claim, nil}, check.Stream("Writer", "W", w.W != nil, w.Limiter != nil))
}

// payer claims bytes.
type payer struct {
	l     *Limiter
	ctx   context.Context // of one Read or Write
	claim Claim
	last  *Grant
}

// Most implements piece.Payer.
func (p *payer) Most() int {
	l, _ := p.l.lockCurrent()
	defer l.unlock()
	least := int64(NoLimit)
	for b := l; b != nil; b = b.Parent {
		least = min(least, limit.Piece(b.quotas, b.Reserve))
	}
	return int(least)
}

// Pay implements piece.Payer.
func (p *payer) Pay(n int) (err error) {
	p.claim.Costs = quota.Costs{quota.Bytes: int64(n)}
	if p.last, err = p.l.Acquire(cmp.Or(p.ctx, context.Background()), p.claim); err == nil {
		p.last.endUnreported()
	}
	return err
}

// Flown implements piece.Payer.
func (p *payer) Flown(n int) { p.last.Settle(quota.Costs{quota.Bytes: int64(n)}) }
