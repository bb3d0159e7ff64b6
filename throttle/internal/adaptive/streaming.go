package adaptive

// streaming is which part of what a request costs is taken from a limit when its answer begins; the rest is,
// when it has been read. Answers that stream are written long after their headers, and servers differ: some
// charge an estimate at once, others what was written, when it has been, or while it is. What is still to be
// charged is in flight (Server.begun).
//
// In come the answers that begin and end (price.beginReading and endReading), and how much more was spent than
// was thought (learn). The part is that with which this would differ least: with the least squares of what was
// spent between two answers, less what those cost that were read meanwhile, over what those cost more that have
// begun. It is the whole at first, as if that had been seen of some requests (streamingTrust).
type streaming struct {
	begun        float64 // what those cost that have begun since learn was told, less what those cost that were read
	both, square float64 // the sums of the least squares
	seen         bool    // an answer came that was still being read
	heard        int     // how often learn was told, since a request was refused
}

const (
	// streamingTrust is of how many requests it is taken to be known that they are charged when their answers
	// begin.
	streamingTrust = 4

	// streamingMemory is over how many observations the sums are taken: prices change, but not when they are
	// charged. As many are needed where Remaining is rounded to many times what a request costs.
	streamingMemory = 256

	// streamingEnough is after how many observations answers are not watched any more, if at least
	// streamingMost of what they cost is charged when they begin: until a request is refused.
	streamingEnough = 32
	streamingMost   = 0.9
)

// part returns which part of a cost is charged when the answer begins, if that is the mean cost.
func (r *streaming) part(mean float64) float64 {
	trust := max(streamingTrust*mean*mean, 1)
	return min(positive((r.both+trust)/(r.square+trust)), 1)
}

// watched reports whether it is to be told when an answer was read, if there are any that are read for a while.
func (r *streaming) watched(mean float64) bool {
	return r.seen && (r.heard < streamingEnough || r.part(mean) < streamingMost)
}

// learn takes in that so much more was spent than was thought, with the part that this mean cost gives.
func (r *streaming) learn(more, mean float64) {
	if r.begun != 0 {
		r.both += (more+r.part(mean)*r.begun)*r.begun - r.both/streamingMemory
		r.square += r.begun*r.begun - r.square/streamingMemory
		r.begun = 0
	}
	if r.heard < streamingEnough {
		r.heard++
	}
}
