package adaptive

// behind is about a server that states what remained before the request which it answers. There a request is refused each time one is said to
// remain, and none that is served hears that none remains. After two such refusals in a row, answers to requests that were served count as if one less
// remained. Since others may have taken the last one, it is asked for again later: after 2, 4, 8 … times that the limit was used up, see doubt.
type behind struct{ doubt }

// othersSeen is from which estimate on, in tokens for each of ours, others are likely to have taken the last one. One that is refused for each window
// looks like a few hundredths.
const othersSeen = 0.5

// remaining takes in what a server states to remain, where so much remained before a request that cost n, and returns what that stands for. A refusal
// is no surprise if the request cost more, if it was a probe, which goes although nothing remained, or if others use so many tokens for each of ours.
func (b *behind) remaining(stated, before, n int, refused, probe bool, others float64) int {
	switch {
	case refused && !probe && others <= othersSeen && before == 1 && n == 1:
		b.fail(1)
	case refused:
	case stated <= 0:
		*b = behind{}
	case b.skip > 0:
		return stated - 1
	}
	return stated
}
