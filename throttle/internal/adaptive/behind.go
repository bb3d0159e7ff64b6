package adaptive

// behind is about a server that states what remained before the request which it answers. There a request is
// refused each time one is said to remain, and none that is served hears that none remains. After two such
// refusals in a row (see window.stands), answers to requests that were served count as if one less remained.
// Since others may have taken the last one, it is asked for again later: after 2, 4, 8 … times that the limit
// was used up, see doubt.
type behind struct {
	doubt
	counts bool // a request that was served has heard that none remains: the server counts it
}

// othersSeen is from which estimate on, in tokens for each of ours, others are likely to have taken the last
// one. One that is refused for each window looks like a few hundredths.
const othersSeen = 0.5

// steady reports whether a statement stands for what it says.
func (b *behind) steady() bool { return b.skip == 0 }

// serve takes in what a server states to remain when it serves a request, and returns what that stands for.
func (b *behind) serve(stated int) int {
	if stated <= 0 {
		*b = behind{counts: true}
	}
	if b.skip == 0 {
		return stated
	}
	return stated - 1
}
