package store

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// list is quotas by which members ask.
type list struct {
	quotas quota.Quotas
	at     monotime.Time // when a member asked by them last, to a second
	by     string        // how the name of that member begins
}

const (
	// mostLists bounds how many lists are remembered. More than two are about if a new version is taken back.
	mostLists = 4

	// aboutFor is for how long a list counts after a request: who is busy asks several times a second.
	aboutFor = 10 * time.Second
)

// others notes by which quotas a member asks, and returns by which others do. A member that has got other quotas takes along the
// ones that it had.
func (l *Ledger) others(r *Request, now monotime.Time) (others []quota.Quotas) {
	qs, by := unnamed(r.Quotas), r.Member[:min(len(r.Member), 8)]
	if len(qs) > 0 {
		l.lists = slices.DeleteFunc(l.lists, func(o list) bool { return o.by == by && !slices.Equal(o.quotas, qs) })
	}
	i := slices.IndexFunc(l.lists, func(o list) bool { return slices.Equal(o.quotas, qs) })
	switch {
	case len(qs) == 0: // it asks for nothing
	case i < 0:
		l.lists = slices.Insert(l.lists[:min(len(l.lists), mostLists-1)], 0, list{qs, now, by})
	case i > 0 || now.Sub(l.lists[0].at) >= time.Second:
		o := list{l.lists[i].quotas, now, by}
		l.lists = slices.Insert(slices.Delete(l.lists, i, i+1), 0, o)
	}
	for i, o := range l.lists {
		if now.Sub(o.at) <= aboutFor && !slices.Equal(o.quotas, qs) || i == 0 && len(qs) == 0 {
			others = append(others, slices.Clone(o.quotas))
		}
	}
	return others
}

// tightest returns quotas by which a member asks, with the tighter numbers of those by which others do, at the same place and of the
// same kind.
func (l *Ledger) tightest(qs quota.Quotas, now monotime.Time) quota.Quotas {
	if len(l.lists) < 2 && (len(l.lists) == 0 || slices.Equal(l.lists[0].quotas, qs)) {
		return qs
	}
	qs = slices.Clone(qs)
	for _, o := range l.lists {
		if now.Sub(o.at) > aboutFor {
			continue
		}
		for i := range min(len(qs), len(o.quotas)) {
			tighten(&qs[i], &o.quotas[i])
		}
	}
	return qs
}

// tighten has q grant no more than o does, if they are of one kind and unit, and windows of one length.
func tighten(q, o *quota.Quota) {
	switch {
	case !slot.Compatible(q, o):
	case q.Kind == quota.TokenBucket:
		if float64(o.N)*float64(q.Per) < float64(q.N)*float64(o.Per) {
			q.N, q.Per = o.N, o.Per
		}
		q.Burst, q.Debt = min(q.Burst, o.Burst), q.Debt && o.Debt
	case q.Per == o.Per:
		q.N = min(q.N, o.N)
	}
}

// unnamed returns quotas without their names, which are for errors.
func unnamed(qs quota.Quotas) quota.Quotas {
	qs = slices.Clone(qs)
	for i := range qs {
		qs[i].Name = ""
	}
	return qs
}

// look returns what Exchange would, of a copy.
func (l *Ledger) look(now time.Duration, r *Request) (*Reply, error) {
	state, err := l.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var c Ledger
	if err := c.UnmarshalBinary(state); err != nil {
		return nil, err
	}
	acts := *r
	acts.Look = false
	reply, _, err := c.Exchange(now, &acts)
	return reply, err
}

// release ends what a person may end: see Request.Release.
func (l *Ledger) release(now monotime.Time) {
	l.heldUntil, l.statements = min(l.heldUntil, now), nil
	at := max(now, l.learnsUntil)
	for i := range l.ledgers {
		l.ledgers[i].Release(at)
		l.noneBefore[i] = min(l.noneBefore[i], at)
	}
}
