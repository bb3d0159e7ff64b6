package throttle

import (
	"fmt"
	"io"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// Save writes what was learned from servers' answers, as JSON, for Load in the next run of the program.
// Otherwise a program that runs every minute would have to find out each time that a limit is used up. Paths
// are written as digests, since they may contain credentials: one that is short, or one of a list, is found by trying.
//
// What was charged to Quotas whose span is over a minute is saved, too, up to 32 for each bucket: else each run would spend
// the day's quota anew. In windows of the clock the next run has exactly what is left; of other quotas no more, and of
// a bucket that warms up it knows nothing. A run whose Quotas are others charges it to those of the same unit, of the same kind
// first, as SetQuotas does. What is in a Store is there, and not saved.
//
// Nothing grows for ever: a limit is saved until its reset, a hold until its end, a rate for a day, and what was charged for
// two spans of its quota. What else an earlier Load has read and no bucket has asked for since is saved for 31 days at most. Save writes no more than 100,000 buckets
// and 64 MB, and leaves out the oldest.
func (g *Group) Save(w io.Writer) error {
	g.mu.Lock()
	learned := g.loaded.Clone()
	all := g.buckets.Nodes()
	g.mu.Unlock()
	for _, n := range all {
		n.Value.saveTo(learned)
	}
	if err := adaptive.Write(w, time.Now(), learned); err != nil {
		return fmt.Errorf("throttle: save: %w", err)
	}
	return nil
}

// Load reads what Save wrote. Buckets that have learned something already ignore it, and so do quotas that were charged
// something, so Load is best called before the first request. What is out of date is left out. What an earlier Load has read, and no bucket has
// asked for yet, stays. If there is an error, nothing changes.
func (g *Group) Load(r io.Reader) error {
	learned, err := adaptive.Read(r)
	if err != nil {
		return fmt.Errorf("throttle: load: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loaded.Put(time.Now(), learned)
	for l := range g.buckets.All() {
		g.restore(l)
	}
	return nil
}
