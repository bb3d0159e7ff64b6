package whose

// Strays tells refusals that come by chance from something in front of the server, such as a CDN, from those of
// the server: the server states its numbers with what it serves, they leave something over, and the refusal
// states nothing. Such a refusal is the matter of its own request. It is taken for one of the server all the
// same if too many come, or if the pace may be the reason, since there may be a limit of which the server does
// not speak.
//
// In come refusals that state nothing (Refuse), those that a pace explains (Explained), and what was served
// (Serve). Out comes whether a refusal is a stray. The zero Strays have heard of none.
type Strays struct {
	weight   int // of the strays, less what was served since
	unserved int // refusals that state nothing since a request was served
	slow     int // strays in a row that came although the pace had not risen
}

const (
	// strayWeight is how many requests must be served for each stray in the long run: more refusals than one in
	// 13 are no accident.
	strayWeight = 12
	// maxStrays is how many strays may come at once. Where two of 100 are refused by chance, half as many did
	// once in some 500 strays.
	maxStrays = 8
	// enoughSlow is how many strays in a row show that the pace is not the reason of refusals.
	enoughSlow = 3
)

// Refuse takes in a refusal that states nothing, and reports whether it is a stray. Left says that something
// remains of every limit, and slow that requests are paced and the pace has not risen. If nothing remains, the
// refused request went to look whether the limit was restored: then it may be a stray once, and the next one
// looks again. Unpaced says that enough strays have come so to show that the pace was never the reason of
// refusals.
func (s *Strays) Refuse(left, slow bool) (stray, unpaced bool) {
	s.unserved++
	s.weight = min(s.weight+strayWeight, (maxStrays+1)*strayWeight)
	if !left && s.unserved > 1 || s.weight > maxStrays*strayWeight {
		s.slow = 0
		return false, false
	}
	if slow {
		s.slow++
	}
	if unpaced = s.slow >= enoughSlow; unpaced {
		s.slow = 0
	}
	return true, unpaced
}

// Explained takes in a refusal of which the pace may be the reason, since it has risen.
func (s *Strays) Explained() { s.slow = 0 }

// Serve takes in that a request was served.
func (s *Strays) Serve() {
	if s.weight > 0 {
		s.weight--
	}
	s.unserved = 0
}
