package filequota

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// tick has the header of the last step become that of the next one: when that is, by the clock of the ledger,
// and what it means for the bucket. If the bucket is lost, or is found to be, the ledger begins anew.
func (b *bucket) tick(h *header, c reading, r *store.Request, lost bool) error {
	was := *h
	h.version, h.boot, h.asleep, h.wall = version(), c.boot, c.asleep, c.wall
	h.now = max(c.now+was.shift, was.now)
	switch {
	case lost:
	case was.length == 0: // it is new
		h.now, h.shift = c.now, 0
		b.ledger.Epoch = c.epoch(c.now)
	case was.restarted(c):
		if ago := time.Duration(c.wall - was.turned); was.former == c.boot && c.boot.known() && ago.Abs() < turnsBack {
			return fmt.Errorf("%s: two machines use it, or two systems with clocks of their own", b.path)
		}
		h.former, h.turned = was.boot, c.wall
		if lost = !was.boot.known() || !c.boot.known() || longestPer(r.Quotas) <= shortest; lost {
			break
		}
		h.now = was.sinceRestart(c)
		h.shift = h.now - c.now
		if err := b.chargeUnsynced(h.now, r); err != nil {
			return err
		}
	case c.now+was.shift < was.now-clockBack:
		lost = true
	case c.asleep-was.asleep > clockStep && was.until > was.now:
		r.Hold = max(r.Hold, min(was.until-was.now, afterSleep))
	}
	if !lost && slices.ContainsFunc(r.Quotas, func(q quota.Quota) bool { return q.Kind.OnClock() }) {
		lost = c.epoch(h.now).Sub(b.ledger.Epoch).Abs() > gridOff // the wall clock was set
	}
	if b.heldTo > c.now {
		r.Hold = max(r.Hold, b.heldTo-c.now)
	}
	if lost {
		b.ledger = store.Ledger{Epoch: c.epoch(c.now)}
		b.ledger.Lose()
		h.lineage, h.now, h.shift, h.until, h.hold, h.end = rand.Uint64()|1, c.now, 0, 0, 0, 0
	}
	return nil
}

// restarted reports whether the machine was started anew since a step: it has another name for this run, if
// that is known, and its clock is behind, or the wall clock says so. A container may have names of its own, and
// the clock of its host.
func (h *header) restarted(c reading) bool {
	now := c.now + h.shift
	set := time.Duration(c.wall - int64(now) - (h.wall - int64(h.now)))
	return (h.boot != c.boot || !c.boot.known()) && (now < h.now-clockBack || set.Abs() > wallSet)
}

// sinceRestart is what the ledger's clock says after the machine was started anew, by the wall clock.
func (h *header) sinceRestart(c reading) time.Duration {
	return h.now + min(max(time.Duration(c.wall-h.wall), 0), longest/2)
}

// clockStep is what reading one clock after the other may look like.
const clockStep = 100 * time.Millisecond

// epoch is what the wall clock was when the ledger's clock was at zero; it is at now.
func (c *reading) epoch(now time.Duration) time.Time { return time.Unix(0, c.wall-int64(now)) }

func longestPer(qs quota.Quotas) (d time.Duration) {
	for i := range qs {
		d = max(d, qs[i].Per)
	}
	return d
}

// chargeUnsynced charges what may have gone and was not on disk when the machine ended.
func (b *bucket) chargeUnsynced(now time.Duration, r *store.Request) error {
	cost := make([]int64, len(r.Quotas))
	for i, q := range r.Quotas {
		cost[i] = max(int64(float64(q.N)*min(unsynced.Seconds()/q.Per.Seconds(), 1)), 1)
	}
	_, _, err := b.ledger.Exchange(now, &store.Request{
		Version: r.Version, Bucket: r.Bucket, Quotas: r.Quotas, SlotLife: r.SlotLife, Horizon: r.Horizon,
		Member: "before the machine was started", Serial: 1, More: cost, Leave: true,
	})
	return err
}
