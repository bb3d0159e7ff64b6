package throttle

// Freeze has nobody go from the tree of l, whatever is due, until thaw is called, once: for
// changes of several buckets that belong together. Who asks meanwhile lines up.
func (l *Limiter) Freeze() (thaw func()) {
	root := l.lock()
	defer l.unlock(root)
	root.frozen++
	return l.thaw
}

func (l *Limiter) thaw() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { root.frozen-- })
	if root.frozen == 0 {
		for _, b := range root.stalled {
			b.run(now)
		}
		root.stalled = nil
	}
}

// Dismiss ends the waits of all who asked l with ErrDismissed: for a caller who finds out
// that requests belong in other buckets of the tree. Each has to ask again there with the
// Place of its Waiter, and then, whatever became of that, to call its Moved. Until all
// have, the tree is frozen, so that they line up in the order in which they first asked.
func (l *Limiter) Dismiss() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() {
		for w := range l.line.all() {
			if w.l == l {
				root.frozen++
				w.end(Grant{}, w.refusal(now, due{at: now}, ErrDismissed))
			}
		}
	})
}

// Moved ends what Dismiss began for one.
func (w *Waiter) Moved() { w.l.thaw() }
