package agenda

// Once is what is to be done once, in the order in which it was first added. The zero Once is empty.
type Once[K comparable] struct {
	list  []K
	added map[K]bool
}

// Add adds k, if it was not added since Take.
func (o *Once[K]) Add(k K) {
	if o.added[k] {
		return
	}
	if o.added == nil {
		o.added = map[K]bool{}
	}
	o.added[k] = true
	o.list = append(o.list, k)
}

// Take empties o, and returns what was added.
func (o *Once[K]) Take() []K {
	list := o.list
	*o = Once[K]{}
	return list
}

// Len returns how many were added since Take.
func (o *Once[K]) Len() int { return len(o.list) }
