package main

import (
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// banning counts as another Algorithm, and bans its users for a while after so many refusals: Discord and
// Binance ban an address that was refused too often. While the ban lasts, everything is refused.
type banning struct {
	pacertest.Algorithm

	after int // refusals
	ban   time.Duration

	bans    int
	refused int       // since the last ban
	until   time.Time // the end of the last ban
}

// Fresh implements pacertest.Algorithm. The example has one server, which shows its bans.
func (b *banning) Fresh() pacertest.Algorithm { return b }

// Take implements pacertest.Algorithm.
func (b *banning) Take(now time.Time, n int) pacertest.Verdict {
	v := pacertest.Verdict{Reset: b.until.Sub(now)}
	if v.Reset <= 0 {
		v = b.Algorithm.Take(now, n)
		if v.OK {
			return v
		}
		b.refused++
	}
	if b.refused >= b.after {
		b.bans, b.refused, b.until = b.bans+1, 0, now.Add(b.ban)
	}
	v.RetryAfter = max(v.RetryAfter, b.until.Sub(now))
	return v
}
