package adaptive

import "iter"

// Peers are the buckets of a Site whose Servers may share windows, by the IDs of these. The zero Peers are
// none.
type Peers[Bucket any] struct{ byID map[ID]Bucket }

// Any reports whether there are any.
func (p *Peers[Bucket]) Any() bool { return len(p.byID) > 0 }

// Join adds the bucket of a Server, if that shares a window with others, or may come to.
func (p *Peers[Bucket]) Join(s *Server, of Bucket) {
	if !s.Overlaps() {
		return
	}
	if p.byID == nil {
		p.byID = map[ID]Bucket{}
	}
	p.byID[s.id] = of
}

// Leave takes a Server out of its Site, and its bucket out of the Peers.
func (p *Peers[Bucket]) Leave(s *Server) {
	s.Leave()
	delete(p.byID, s.id)
}

// Of returns the buckets whose Servers share a window with s, or did so until its latest answer: what s has in
// flight is missing for them no longer.
func (p *Peers[Bucket]) Of(s *Server) iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		var few [8]ID
		for _, id := range append(s.Sharing(few[:0]), s.parted...) {
			if b, ok := p.byID[id]; ok && !yield(b) {
				return
			}
		}
	}
}
