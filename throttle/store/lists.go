package store

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
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

// others notes by which quotas a member asks, and returns by which others do. A member that has got other
// quotas takes along the ones that it had, if nobody else asked by these.
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
	case i > 0 || now.Sub(l.lists[0].at) >= time.Second || l.lists[0].by != by && l.lists[0].by != "":
		o := list{l.lists[i].quotas, now, by}
		if l.lists[i].by != by {
			o.by = "" // several
		}
		l.lists = slices.Insert(slices.Delete(l.lists, i, i+1), 0, o)
	}
	for i, o := range l.lists {
		if now.Sub(o.at) <= aboutFor && !slices.Equal(o.quotas, qs) || i == 0 && len(qs) == 0 {
			others = append(others, slices.Clone(o.quotas))
		}
	}
	return others
}

// tighten has q grant no more than o does, which is the same quota in another list.
func tighten(q, o *quota.Quota) {
	q.N, q.Burst, q.Cells = min(q.N, o.N), min(q.Burst, o.Burst), min(q.Cells, o.Cells)
	q.Debt = q.Debt && o.Debt
}

// unnamed returns quotas without their names, which are for errors.
func unnamed(qs quota.Quotas) quota.Quotas {
	qs = slices.Clone(qs)
	for i := range qs {
		qs[i].Name = ""
	}
	return qs
}
