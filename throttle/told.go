package throttle

import "time"

// Told learns from the answer to a request that another bucket of the tree had granted,
// g, as Done does from those to its own: for a caller who finds out by an answer which
// bucket the request belonged to. It ends no grant. It returns for how long the bucket is
// held from now on, zero if it is not.
func (l *Limiter) Told(g Grant, a Answer) (held time.Duration) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() {
		g := g.elsewhere(l)
		l.hear(&g, now, &a)
	})
	return max(l.hold.sub(now), 0)
}

// elsewhere is what a grant of another bucket is for l: older than all that l knows, and
// nothing that l has used.
func (g Grant) elsewhere(l *Limiter) Grant {
	return Grant{l: l, sent: max(g.sent, 1)}
}

// Part moves what l knows of the limits of a Statement.Bucket to another Limiter of the
// tree, for the requests that are found to draw on them, where others do not. What l has
// in flight is taken to draw on them, too.
func (l *Limiter) Part(bucket string, to *Limiter) {
	root := to.lock() // to is new, perhaps
	defer to.unlock(root)
	now := root.now()
	l.change(now, func() {
		from, kept := &l.server, l.server.windows[:0]
		for _, w := range from.windows {
			if w.bucket != bucket || len(to.server.windows) >= maxWindows {
				kept = append(kept, w)
				continue
			}
			w.least -= from.flies(w.unit)
			w.leave(l)
			w.probing, w.trying = false, noTrial
			if w.users != nil {
				w.users = append(w.users, to)
			}
			to.server.windows = append(to.server.windows, w)
			to.last.Store(int64(now)) // it is not new
		}
		clear(from.windows[len(kept):])
		from.windows = kept
	})
}
