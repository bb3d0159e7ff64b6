package adaptive

import (
	"strconv"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// concurrency is how many requests may be under way at the same time, as the server states it. What is used of
// that comes back when a request ends, and not in time: so it is no window.
//
// In come grants (take), what answers state, with how many of our requests were under way (learn), and answers
// that do not state it (passOver); out comes whether one more may go (open, fits, due), and whether that
// explains a refusal.
//
// Ours is what others leave: what we had under way, and what remained beside it. Some servers count what
// remains when a request comes, others when its answer goes, and requests overtake each other: so the most
// counts that we had under way in this round trip and the one before. By less, the last answer to a burst would
// let one request go. Where that was too much since others came, a refusal takes it back. It becomes more only
// when all answers of a round trip allow more: while requests of others are on their way, their places look
// free. One request may always go, whatever was stated.
//
// Others may end their requests while none of ours ends, for an hour if ours is a stream. So when no answer has
// stated anything for Patience, and fewer of ours are under way than the server allows in all, one more goes: a
// look. After each one in a row that is not served, it takes twice as long, up to rarestLook.
type concurrency struct {
	most   int      // requests that may be under way; zero if the server does not state it
	limit  int      // how many it allows in all, as it stated last; maxTokens if it did not say
	least  int      // the least that an answer of this round trip allows
	peak   int      // the most that were under way in this round trip
	before int      // and in the one before
	round  sequence // the latest grant when this round trip began
	served bool     // an answer to a request that was served has stated it: else refusals alone do
	silent int      // answers in a row that do not state it, to requests that were served

	heardAt monotime.Time // when an answer stated it, or a look went, whichever was later
	look    sequence      // the grant of the latest look
	vain    int           // looks in a row that were not served
}

// rarestLook is as long as MaxStandstill is unless it is set: nobody waits for longer without need. With 30 s, two
// processes at ten at a time for a minute each were refused 168 times in 800 requests, and without looks 8 times.
const rarestLook = 2 * time.Minute

// take counts the grant of n requests, now, with how many are under way since.
func (c *concurrency) take(now monotime.Time, granted sequence, underway, n int) {
	if c.most == 0 {
		return
	}
	if underway > n && !c.fits(underway) && now >= c.nextLook(underway) { // else it is observed, and nothing delays it
		c.look, c.heardAt = granted, now
		c.vain++
	}
	c.peak = max(c.peak, underway)
}

// ended is a request whose answer has come.
type ended struct {
	granted, latest sequence // its grant, and the latest one
	n, underway     int      // what it cost in requests, and what was under way until the answer came
	refused, served bool
}

// learn takes in what the answer to a request states, and reports whether the request was refused because too
// many were under way.
func (c *concurrency) learn(now monotime.Time, st *quota.Concurrency, f *ended) (explains bool) {
	ours, full, most := max(f.underway, c.peak, c.before), st.UsedUp(), maxTokens
	if st.Limit > 0 {
		most = bounded(st.Limit)
	}
	explains = f.refused && (full || ours > most)
	c.limit, c.heardAt, c.silent, c.served = most, now, 0, c.served || f.served
	switch {
	case explains:
		most = min(most, f.underway-f.n)
		c.peak, c.before = most, most
	case st.RemainingKnown:
		most = min(most, ours+bounded(st.Remaining))
	}
	if most = max(most, 1); explains || c.most == 0 || most < c.most {
		c.most, c.least, c.round = most, most, f.latest
	}
	c.allow(most, f)
	return explains
}

// allow takes in how many an answer allows. A look that is served ends the round trip alone: what was stated before
// it is out of date.
func (c *concurrency) allow(most int, f *ended) {
	if f.served && f.granted == c.look && c.vain > 0 {
		c.vain, c.least = 0, maxTokens
	}
	if c.least = min(c.least, most); f.granted > c.round {
		c.most, c.least, c.round = c.least, maxTokens, f.latest
		c.before, c.peak = c.peak, f.underway-f.n
	}
}

// passOver takes in that a request was served, and that the answer does not state how many may be under way. Such
// answers may come from a cache, so what was stated before stays. Where none has stated it for a while, it may be no
// more: then each round trip allows one more if all were used, and once twice as many as were stated are, there is no
// limit. But where refusals alone state it, each served request allows one more, up to what the server allows in all.
func (c *concurrency) passOver(now monotime.Time, f *ended) {
	if !c.served {
		c.allow(min(c.most+1, c.limit), f)
		return
	}
	c.silent++
	switch {
	case c.silent < droppedAfter || now < c.heardAt.Add(Patience) || max(f.underway, c.peak, c.before) < c.most:
	case c.most < 2*c.limit:
		c.allow(c.most+1, f)
	default:
		*c = concurrency{}
	}
}

// forget forgets, since the bucket has idled, what no served request is going to state or to deny.
func (c *concurrency) forget() {
	if !c.served {
		*c = concurrency{}
	}
}

// belief says in words how many may be under way; nothing if that is not known.
func (c *concurrency) belief() string {
	const text = "states how many requests may be under way at a time: "
	switch {
	case c.most == 0, c.most >= maxTokens:
		return ""
	case c.limit < c.most || c.limit >= maxTokens:
		return text + strconv.Itoa(c.most) + " of ours now"
	case c.limit == c.most:
		return text + strconv.Itoa(c.limit) + ", all of them ours now"
	}
	return text + strconv.Itoa(c.limit) + ", of which " + strconv.Itoa(c.most) + " are ours now"
}

// begin begins with what another bucket of the same server has learned, of whose requests so many are under way.
func (c *concurrency) begin(of *concurrency, underway int) {
	if of.most > 0 {
		*c = *of
		c.most = max(of.most-underway, 1)
		c.least, c.peak, c.before = c.most, 0, 0
	}
}

// open reports whether n requests that go together may go beside those that are under way.
func (c *concurrency) open(now monotime.Time, underway, n int) bool {
	return underway == 0 || c.fits(underway+n) || now >= c.nextLook(underway+n)
}

// fits reports whether so many may be under way.
func (c *concurrency) fits(n int) bool { return c.most == 0 || n <= c.most }

// nextLook is when so many may be under way, though others were seen to leave less to us.
func (c *concurrency) nextLook(n int) monotime.Time {
	if n > c.limit {
		return c.heardAt.Add(monotime.Longest)
	}
	return c.heardAt.Add(min(doubled(Patience, c.vain+1), rarestLook))
}

// due puts d off until the next look if n more may go only when a request has ended, which an optimist does not
// wait for.
func (c *concurrency) due(d *limit.Due, underway, n int, optimist bool) {
	const text = "the requests that the server allows at a time"
	switch {
	case c.open(d.At, underway, n):
	case !optimist:
		at := max(c.nextLook(underway+n), d.At)
		d.Until(at, at, limit.InFlight, text)
	case d.Cause == "":
		d.Cause, d.Quota = limit.InFlight, text
	}
}
