// Package concurrency learns how many requests may be under way at the same time, as a server states it. What
// is used of that comes back when a request ends, and not in time: so it is no window. All of it is in
// concurrency.go.
//
// In come grants ([Bound.Take]) and answers, which state it or do not, with how many of our requests were under
// way ([Bound.Learn]); out comes whether one more may go ([Bound.Open], [Bound.Fits], [Bound.Due]), and whether
// that explains a refusal.
package concurrency

import (
	"math"
	"strconv"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Bound is how many requests may be under way, as the server of one bucket states it. Nothing is stated of the
// zero Bound.
//
// Ours is what others leave: what we had under way, and what remained beside it. Some servers count what
// remains when a request comes, others when its answer goes, and requests overtake each other: so the most
// counts that we had under way in this round trip and the one before. By less, the last answer to a burst would
// let one request go. But once all answers have come, none of that is left when the next request goes. Where
// that was too much since others came, a refusal takes it back. It becomes more only when all answers of a
// round trip allow more: while requests of others are on their way, their places look free. One request may
// always go, whatever was stated.
//
// Others may end their requests while none of ours ends, for an hour if ours is a stream. So when no answer has
// stated for patience that nothing remains, and fewer of ours are under way than the server allows in all, one
// more goes: a look. After each one in a row that is not served, it takes twice as long, up to rarestLook. A
// look goes also beside as many as the server allows in all, if some of these may not count: answers that are
// being read, since the server may not count streams, and requests of other buckets, which may have limits of
// their own. If the look is served, the former do not count from then on (unread), until a refusal is explained
// by the rest; or if there are not enough of these, the latter do not (see Learn).
type Bound struct {
	most   int    // requests that may be under way; zero if the server does not state it
	limit  int    // how many it allows in all, as it stated last; unbounded if it did not say, or if more remains
	stated int    // the limit; or how many were ours, where it said no more than what remains
	least  int    // the least that an answer of this round trip allows
	peak   int    // the most that were under way in this round trip
	before int    // and in the one before
	round  uint64 // the latest grant when this round trip began
	unread bool   // requests whose answers are being read do not count
	served bool   // an answer to a request that was served has stated it: else refusals alone do
	silent int    // answers in a row that do not state it, to requests that were served

	heardAt monotime.Time // when an answer stated it, or a look went, whichever was later
	fullAt  monotime.Time // likewise, when an answer stated that nothing remains, or one more might have gone
	look    uint64        // the grant of the latest look
	vain    int           // looks in a row that were not served
	beyond  beyond        // of the latest look, since it went beside as many as the server allows in all
}

// beyond is what a look shows, if it is served, that went beside as many as the server allows in all.
type beyond uint8

const (
	within  beyond = iota
	streams        // answers that are being read do not count
	buckets        // requests of other buckets do not count
)

// Flight is what is under way, by cost in requests.
type Flight struct {
	N       int // in all
	Reading int // of that, what the answers are being read of
	Others  int // of that, what other buckets have sent
}

// doubtful is what may not count.
func (f *Flight) doubtful() int { return min(f.Reading+f.Others, f.N) }

// patience is for how long no answer states that nothing remains until a look comes, or none states it until it
// may be stated no more: as long as others wait for a request that went ahead of them.
const patience = 5 * time.Second

// silentAfter is after how many answers in a row it may be stated no more. That is more than ten, since some
// servers state a limit with each tenth answer.
const silentAfter = 16

// unbounded is how many may be under way where nothing bounds them: so many that no sum of a few such numbers
// overflows.
const unbounded = math.MaxInt / 32

// rarestLook is as long as MaxStandstill is unless it is set: nobody waits for longer without need. With 30 s,
// two processes at ten at a time for a minute each were refused 168 times in 800 requests, and without looks 8
// times.
const rarestLook = 2 * time.Minute

// Take counts the grant of n requests, now, with what is under way since.
func (c *Bound) Take(now monotime.Time, granted uint64, f Flight, n int) {
	if c.most == 0 {
		return
	}
	if f.N > n && !c.Fits(f.N) && now >= c.nextLook(f.N, f.doubtful()) { // else it is observed, and nothing delays it
		c.look, c.heardAt, c.fullAt = granted, now, now
		c.vain++
		switch c.beyond = within; {
		case f.N <= c.limit:
		case f.N-f.Reading <= c.limit:
			c.beyond = streams
		default:
			c.beyond = buckets
		}
	}
	if f.N == n {
		c.peak, c.before = 0, 0
	}
	if c.Fits(f.N + 1) {
		c.fullAt = now
	}
	c.peak = max(c.peak, f.N)
}

// Ended is a request whose answer has come.
type Ended struct {
	Granted, Latest uint64 // places of its grant, and of the latest grant or answer
	N, Underway     int    // what it cost in requests, and what was under way until the answer came
	Refused, Served bool
}

// Learn takes in the answer to a request, and what it states, if it does. Explains says that the request was
// refused because too many were under way; and apart, that requests of other buckets do not count.
func (c *Bound) Learn(now monotime.Time, st *quota.Concurrency, f *Ended) (explains, apart bool) {
	if f.Served && f.Granted == c.look && c.vain > 0 {
		c.unread, apart = c.unread || c.beyond == streams, c.beyond == buckets
		c.beyond = within
	}
	switch {
	case *st != quota.Concurrency{}:
		explains = c.hear(now, st, f)
	case c.most > 0 && f.Served:
		c.passOver(now, f)
	}
	return explains, apart
}

// UsedUp reports whether the server said that no more requests may be under way.
func UsedUp(st *quota.Concurrency) bool { return st.RemainingKnown && st.Remaining <= 0 }

// hear is Learn for an answer that states it.
func (c *Bound) hear(now monotime.Time, st *quota.Concurrency, f *Ended) (explains bool) {
	ours, full, most := max(f.Underway, c.peak, c.before), UsedUp(st), unbounded
	switch {
	case st.Limit > 0:
		most = atMost(st.Limit)
	case c.most > 0 && atMost(st.Remaining) <= c.limit:
		most = c.limit // some answers say what remains alone
	}
	explains = f.Refused && (full || ours > most)
	c.limit, c.heardAt, c.silent, c.served = most, now, 0, c.served || f.Served
	if full || explains || c.most == 0 {
		c.fullAt = now
	}
	switch {
	case explains:
		c.unread = false
		most = min(most, f.Underway-f.N)
		c.peak, c.before = most, most
	case st.RemainingKnown:
		most = min(most, ours+atMost(st.Remaining))
	}
	most = max(most, 1)
	if c.stated = c.limit; c.limit == unbounded {
		c.stated = most
	}
	if explains || c.most == 0 || most < c.most {
		c.most, c.least, c.round = most, most, f.Latest
	}
	c.allow(most, f)
	return explains
}

// allow takes in how many an answer allows. A look that is served ends the round trip alone: what was stated
// before it is out of date.
func (c *Bound) allow(most int, f *Ended) {
	if f.Served && f.Granted == c.look && c.vain > 0 {
		c.vain, c.least = 0, unbounded
	}
	if c.least = min(c.least, most); f.Granted > c.round {
		c.most, c.least, c.round = c.least, unbounded, f.Latest
		c.before, c.peak = c.peak, f.Underway-f.N
	}
}

// passOver takes in that a request was served, and that the answer does not state how many may be under way.
// Such answers may come from a cache, so what was stated before stays. Where none has stated it for a while, it
// may be no more: then each round trip allows one more if all were used, and once twice as many as were stated
// are, there is no limit. A look was not in vain, but shows nothing else. But where refusals alone state it,
// each served request allows one more, up to what the server allows in all.
func (c *Bound) passOver(now monotime.Time, f *Ended) {
	if !c.served {
		c.allow(min(c.most+1, c.limit), f)
		return
	}
	if c.silent++; f.Granted == c.look {
		c.vain = 0
	}
	switch {
	case c.silent < silentAfter || now < c.heardAt.Add(patience) || max(f.Underway, c.peak, c.before) < c.most:
	case c.most < 2*c.stated:
		c.allow(c.most+1, f)
	default:
		*c = Bound{}
	}
}

// Forget forgets, since the bucket has idled, what no served request is going to state or to deny.
func (c *Bound) Forget() {
	if !c.served {
		*c = Bound{}
	}
}

// Unread reports whether requests whose answers are being read are not to be counted.
func (c *Bound) Unread() bool { return c.unread }

// Open reports whether n requests that go together may go beside those that are under way.
func (c *Bound) Open(now monotime.Time, f Flight, n int) bool {
	return f.N == 0 || c.Fits(f.N+n) || now >= c.nextLook(f.N+n, f.doubtful())
}

// Fits reports whether so many may be under way.
func (c *Bound) Fits(n int) bool { return c.most == 0 || n <= c.most }

// nextLook is when so many may be under way, though others were seen to leave less to us, or some may not
// count.
func (c *Bound) nextLook(n, doubtful int) monotime.Time {
	if n-doubtful > c.limit {
		return c.fullAt.Add(monotime.Longest)
	}
	return c.fullAt.Add(min(patience<<min(c.vain, 20), rarestLook))
}

// Due puts d off until the next look if n more may go only when a request has ended, which an optimist does not
// wait for.
func (c *Bound) Due(d *limit.Due, f Flight, n int, optimist bool) {
	const text = "the requests that the server allows at a time"
	switch {
	case c.Open(d.At, f, n):
	case !optimist:
		at := max(c.nextLook(f.N+n, f.doubtful()), d.At)
		d.Until(at, at, limit.InFlight, text)
	case d.Cause == "":
		d.Cause, d.Quota = limit.InFlight, text
	}
}

// Says reports whether so many were stated to be allowed in all; zero is no number.
func (c *Bound) Says(limit int64) bool { return limit > 0 && c.most > 0 && c.limit == atMost(limit) }

// Stated reports whether the server states how many may be under way.
func (c *Bound) Stated() bool { return c.most > 0 }

// Belief says in words how many may be under way; nothing if that is not known.
func (c *Bound) Belief() string {
	const text = "states how many requests may be under way at a time: "
	switch {
	case c.most == 0, c.most >= unbounded:
		return ""
	case c.limit < c.most || c.limit >= unbounded:
		return text + strconv.Itoa(c.most) + " of ours now"
	case c.limit == c.most:
		return text + strconv.Itoa(c.limit) + ", all of them ours now"
	}
	return text + strconv.Itoa(c.limit) + ", of which " + strconv.Itoa(c.most) + " are ours now"
}

// atMost returns n, which a server has stated, as a number that can be counted with.
func atMost(n int64) int { return int(min(max(n, 0), unbounded)) }
