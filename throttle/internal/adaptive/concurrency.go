package adaptive

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// concurrency is how many requests may be under way at the same time, as the server states it. What is used of
// that comes back when a request ends, and not in time: so it is no window.
//
// In come what answers state, with how many of our requests were under way (learn), and answers that do not
// state it (passOver); out comes whether one more may go (open, fits, due), and whether that explains a
// refusal.
//
// Ours is what others leave: what we had under way, and what remained beside it. Some servers count what
// remains when a request comes, others when its answer goes, and requests overtake each other: so the most
// counts that we had under way in this round trip and the one before. By less, the last answer to a burst would
// let one request go. Where that was too much since others came, a refusal takes it back. It becomes more only
// when all answers of a round trip allow more: while requests of others are on their way, their places look
// free. One request may always go, whatever was stated.
type concurrency struct {
	most   int      // requests that may be under way; zero if the server does not state it
	least  int      // the least that an answer of this round trip allows
	peak   int      // the most that were under way in this round trip
	before int      // and in the one before
	round  sequence // the latest grant when this round trip began
	silent int      // answers in a row that do not state it, to requests that were served
}

// take takes in how many are under way since one more was granted.
func (c *concurrency) take(underway int) {
	if c.most > 0 {
		c.peak = max(c.peak, underway)
	}
}

// learn takes in what the answer to a request states, with how many were under way until the answer came, and
// which grants were that of the request and the latest. It reports whether the request was refused because too
// many were.
func (c *concurrency) learn(st *quota.Concurrency, granted, latest sequence, underway int, refused bool) (explains bool) {
	ours, full, most := max(underway, c.peak, c.before), st.UsedUp(), maxTokens
	if st.Limit > 0 {
		most = st.Limit
	}
	explains = refused && (full || ours > most)
	switch {
	case explains:
		most = min(most, underway-1)
		c.peak, c.before = most, most
	case st.RemainingKnown:
		most = min(most, ours+bounded(st.Remaining))
	}
	if most = max(most, 1); explains || c.most == 0 || most < c.most {
		c.most, c.least, c.round = most, most, latest
	}
	if c.least = min(c.least, most); granted > c.round {
		c.most, c.least, c.round = c.least, maxTokens, latest
		c.before, c.peak = c.peak, underway-1
	}
	c.silent = 0
	return explains
}

// passOver takes in that a request was served, and that the answer does not state how many may be under way. A
// few such answers may come from a cache.
func (c *concurrency) passOver(few int) {
	if c.silent++; c.silent > few {
		*c = concurrency{}
	}
}

// open reports whether n requests that go together may go beside those that are under way.
func (c *concurrency) open(underway, n int) bool { return underway == 0 || c.fits(underway+n) }

// fits reports whether so many may be under way.
func (c *concurrency) fits(n int) bool { return c.most == 0 || n <= c.most }

// due puts d off for the longest time if n more may go only when a request has ended, which an optimist does
// not wait for.
func (c *concurrency) due(d *limit.Due, underway, n int, optimist bool) {
	const text = "the requests that the server allows at a time"
	switch {
	case c.open(underway, n):
	case !optimist:
		at := d.At.Add(monotime.Longest)
		d.Until(at, at, limit.InFlight, text)
	case d.Cause == "":
		d.Cause, d.Quota = limit.InFlight, text
	}
}
