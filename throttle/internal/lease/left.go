package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// This file is about how much of a window is left, as far as a process knows that cannot ask the store any
// more.

// leftKnown reports whether the last reply said how much was left of a quota, or of the one that it took over
// from.
func (l *Lease) leftKnown(i int) bool { return l.last.left != nil && l.last.left[i] >= 0 }

// stillLeft is how much of a window may be left at an instant: when the outage began, say. If there are others,
// they have used it since the last reply: at the whole rate, and as much at once beside that as they were seen
// to use lately; or of a window that has soon passed, all at once.
func (l *Lease) stillLeft(i int, at monotime.Time) int64 {
	left, q := l.last.left[i], &l.quotas[i]
	switch {
	case l.sharing() <= 1:
		return left
	case q.Per <= far:
		return 0
	}
	used := float64(q.N) * float64(at.Sub(l.last.at)) / float64(q.Per)
	if i < len(l.atOnce) && at.Sub(l.atOnce[i].at) <= 2*q.Per {
		used += float64(l.atOnce[i].n)
	}
	return int64(max(float64(left)-used, 0))
}

// hearLeft takes in how much of each window a reply says is left. A process that asked for nothing takes no
// more into an outage than it knew of before, of itself and of others: they ask meanwhile, and may use it at
// once.
func (l *Lease) hearLeft(now monotime.Time, r *store.Request, reply *store.Reply) {
	left, asked := slices.Clone(reply.Left), len(r.Asks) > 0
	l.hearAtOnce(now, r, reply)
	switch {
	case len(left) != len(l.quotas):
		left = nil // it does not say
	case !asked && len(l.last.left) == len(left) && max(reply.Sharing, l.sharing()) > 1:
		for i := range left {
			if l.leftKnown(i) {
				left[i] = min(left[i], l.stillLeft(i, now))
			}
		}
	default:
		l.last.leftTo = max(reply.Sharing, reply.Members, 1)
	}
	l.last.left = left
}

// hearAhead takes in that others have got slots so far ahead. In an outage it does nothing: those slots were
// got after the outage had begun.
func (l *Lease) hearAhead(now monotime.Time, ahead time.Duration) {
	if ahead > 0 && l.last.at != 0 && l.outage.since == 0 {
		l.far = farNews{now, now.Add(min(ahead, monotime.Longest))}
		l.takeFar()
	}
}

// takeFar takes what news told of slots far ahead as a reply would say it. The process that got these slots
// found a quota used up, and nobody here knows which one. So nothing counts as left of a window, unless a much
// shorter one may have been used up instead.
func (l *Lease) takeFar() {
	if l.far.end > l.last.end {
		l.last.end, l.last.endAt = l.far.end, l.far.at
	}
	ahead := l.far.end.Sub(l.far.at)
	for i := range l.last.left {
		shorter := func(q quota.Quota) bool { return q.Per <= l.quotas[i].Per/4 && ahead <= 4*q.Per }
		if !slices.ContainsFunc(l.quotas, shorter) {
			l.last.left[i] = min(l.last.left[i], 0)
		}
	}
}

// atOnce is what others were seen to use of a window from one reply to the next, beyond its rate.
type atOnce struct {
	n  int64
	at monotime.Time
}

// soonOver is how long a window is at most of which all that others have used may have been used at once, as
// far as the first reply says. Of a longer one a process that is new would stand still for too long in an
// outage.
const soonOver = time.Minute

// hearAtOnce takes in what others used since the last reply, beyond the whole rate: the most in two Per is
// remembered, since they may do it again, as with each window that begins.
func (l *Lease) hearAtOnce(now monotime.Time, r *store.Request, reply *store.Reply) {
	if len(l.atOnce) != len(l.quotas) {
		l.atOnce = make([]atOnce, len(l.quotas))
	}
	if len(reply.Left) != len(l.quotas) || len(r.Own) > 0 {
		return // it does not say, or what went before is told with it
	}
	for i := range l.quotas {
		q := &l.quotas[i]
		if q.Kind == quota.TokenBucket || reply.Left[i] < 0 {
			continue
		}
		used := float64(q.N - reply.Left[i])
		switch {
		case l.leftKnown(i):
			used = float64(l.last.left[i]-reply.Left[i]) - float64(q.N)*float64(now.Sub(l.last.at))/float64(q.Per)
		case q.Per > soonOver:
			continue
		}
		used -= float64(ownOf(i, r, reply))
		if o := &l.atOnce[i]; int64(used) >= o.n || now.Sub(o.at) > 2*q.Per {
			*o = atOnce{int64(max(used, 0)), now}
		}
	}
}

// ownOf is what a process itself used of a quota, by a reply.
func ownOf(i int, r *store.Request, reply *store.Reply) (n int64) {
	for _, s := range reply.Slots {
		if s.Ask >= 0 && s.Ask < len(r.Asks) {
			n += int64(min(s.Count, r.Asks[s.Ask].Count)) * r.Asks[s.Ask].Cost[i]
		}
	}
	for _, p := range r.Back {
		n -= p.Cost[i]
	}
	if len(r.More) > i {
		n += r.More[i]
	}
	return n
}
