package adaptive

// behind is about a server that states what remained before the request which it answers. There a request is
// refused each time one is said to remain, and none that is served hears that none remains. After two such
// refusals in a row (see window.stands), answers to requests that were served count as if one less remained.
// Since others may have taken the last one, it is asked for again later: after 2, 4, 8 … times that the limit
// was used up, see doubt. Or sooner, since others may have gone: a look that finds all but its own request is
// of a server that counts it, or others came first. So the last one is asked for after as many such looks in a
// row as there were refusals, mostFirst at most. That takes a limit that is stated: the most that was there of
// another one is one too much at such a server, so that each look would find all but its own request.
type behind struct {
	doubt
	first  uint // looks in a row that found all but their own request
	counts bool // a request that was served has heard that none remains: the server counts it
}

// mostFirst bounds after how many such looks the last one is asked for.
const mostFirst = 8

// othersSeen is from which estimate on, in tokens for each of ours, others are likely to have taken the last
// one. One that is refused for each window looks like a few hundredths.
const othersSeen = 0.5

// steady reports whether a statement stands for what it says.
func (b *behind) steady() bool { return b.skip == 0 }

// serve takes in what a server states to remain when it serves a request, which was a look if that says so,
// and returns what that stands for. Whole is what remains of the whole limit after it; negative if none is
// stated.
func (b *behind) serve(stated, whole int, look bool) int {
	if stated <= 0 {
		*b = behind{counts: true}
	}
	switch {
	case b.skip == 0:
		return stated
	case look && stated == whole:
		b.first++
	case look:
		b.first = 0
	}
	if b.first >= min(b.failures, mostFirst) {
		b.skip, b.first = 0, 0
		return stated
	}
	return stated - 1
}
