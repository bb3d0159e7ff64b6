package adaptive

// lastTokens is about the last tokens of a window, for which all processes ask that share it: each hears that
// some are left, and all but the first ones come too late.
//
// Before our next request comes, others take as many as they took between our latest two answers, if both are
// of that window. If no more than that is left, our request would take one of theirs. So one that does and is
// refused fails, and after two of these in a row what is left is left to the others on the next 7, 15 …
// occasions (see doubt): until the reset, as if nothing remained. If each process does so, and each has one
// request under way, all tokens are taken and none is refused, however long answers take: of two tokens, at
// three processes, the other two take one each. One that is served shows that others do not take all.
//
// In come outcomes (note); out comes whether what is left is to be left (leave).
type lastTokens struct {
	doubt doubt
	taken int // by others between the newest two answers
	of    int // of which reset these are, see reset.count and seek.count
	asked int // likewise, of when it was asked last
}

// freeLast is how many refusals have no consequence. With none, a batch that needs just two windows would leave
// tokens in the second one, and last for a third.
const freeLast = 1

// sureLast is how many refusals two in a row count for, less one, so that seven windows pass until that is
// tried again.
// After 1, 3 and 7 windows, tries alone were refused in three of seven. Who is left alone need not try: nobody
// takes anything between two answers then.
const sureLast = 2

// note takes in an outcome, and the number of the reset of which the answer speaks.
func (l *lastTokens) note(o *outcome, reset int) {
	if left := o.remainingBefore - o.inFlight(); !o.look && left > 0 && left <= l.taken {
		switch {
		case !o.refused:
			l.doubt = doubt{}
		case l.doubt.failures < freeLast:
			l.doubt.fail(freeLast)
		default:
			l.doubt.failAgain(sureLast)
		}
	}
	if o.newest {
		// After a refusal, that is n too few: the request took nothing.
		if l.taken = o.remainingBefore - o.found(); l.of != reset {
			l.taken, l.of = 0, reset
		}
	}
}

// leave reports whether so much is to be left to others until a reset of a number.
func (l *lastTokens) leave(left, reset int) bool {
	if left <= 0 || left > l.taken {
		return false
	}
	if l.asked != reset {
		l.asked = reset
		l.doubt.occasion()
	}
	return l.doubt.skip > 0
}
