package throttle

import (
	"context"
	"errors"
	"io"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/piece"
)

// Reader reads from R no faster than the Quotas in bytes of a Limiter, and of its Parents, grant. It reads in pieces of a fortieth
// of a second, or of half of a Burst if that is less, and hands each on when it is granted. Several Readers and Writers have their
// turns piece by piece. An error of a wait is an [*Error], as of Acquire; nothing is lost by it, and the next Read tries again. What
// buffers below R hold, such as those of a connection, comes as fast as before.
//
//	l := &throttle.Limiter{Quotas: quota.MustParse("1MB/s streamed")}
//	n, err := io.Copy(file, &throttle.Reader{R: conn, Limiter: l})
//
// A piece counts as a request, too: the Limiter should be for bytes alone. Who calls Read concurrently takes turns as with R.
type Reader struct {
	R       io.Reader
	Limiter *Limiter
	Context context.Context //nolint:containedctx // it has the Reader's life, as that of an http.Request // ends waits; nil is one that does not end
	Claim   Claim           // of each piece, for all but its cost in bytes: Priority, Flow, Weight, Cancel and MaxWait count

	pieces piece.Reader
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	return r.pieces.Read(r.R, p, &payer{r.Limiter, r.Context, &r.Claim, nil})
}

// Writer writes to W no faster than the Quotas in bytes of a Limiter grant: what a Reader is to what is read. It writes each piece
// when it is granted, and gives back what W does not write.
type Writer struct {
	W       io.Writer
	Limiter *Limiter
	Context context.Context
	Claim   Claim
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	return piece.Write(w.W, p, &payer{w.Limiter, w.Context, &w.Claim, nil})
}

// payer claims bytes. It implements piece.Payer.
type payer struct {
	l     *Limiter
	ctx   context.Context // may be nil
	claim *Claim
	last  *Grant
}

// Most returns how many bytes to claim at once.
func (p *payer) Most() int {
	l, root := p.l.lockCurrent()
	defer l.unlock(root)
	least := NoLimit
	for b := l; b != nil; b = b.Parent {
		least = min(least, limit.Piece(b.quotas, b.Reserve))
	}
	return least
}

// Pay claims bytes, or a piece of them.
func (p *payer) Pay(n int) (paid int, err error) {
	ctx, c := p.ctx, *p.claim
	if ctx == nil {
		ctx = context.Background()
	}
	for paid = min(n, p.Most()); ; paid = min(n, p.Most()) {
		c.Costs = quota.Costs{quota.Bytes: paid}
		if p.last, err = p.l.Acquire(ctx, c); err == nil {
			p.last.endUnreported()
			return paid, nil
		}
		if !errors.Is(err, ErrTooLarge) || p.Most() >= paid {
			return 0, err
		} // else the quotas have become smaller
	}
}

// Flown gives back what was granted last, but for n bytes.
func (p *payer) Flown(n int) { p.last.Settle(quota.Costs{quota.Bytes: n}) }
