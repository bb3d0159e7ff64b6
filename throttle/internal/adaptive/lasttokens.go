package adaptive

// lastTokens is about the last tokens of a window, for which all processes ask that share it: each hears that some are left, and all but the first ones come too late.
//
// Before our next request comes, others take as many as they took between our latest two answers. If no more than that is left, our request would take one of theirs. So one that does
// and is refused fails, and after two of these in a row what is left is left to the others on the next 1, 3, 7 … occasions (see doubt): until the reset, as if
// nothing remained. If each process does so, and each has one request under way, all tokens are taken and none is refused, however long answers take: of two tokens, at three processes, the
// other two take one each. One that is served shows that others do not take all.
//
// In come outcomes (note); out comes whether what is left is to be left (leave).
type lastTokens struct {
	doubt doubt
	taken int // by others between the newest two answers
	asked int // of which reset it was asked last, see reset.count
}

// freeLast is how many refusals have no consequence: a batch that ends with the next window or the one after it would need the tokens.
const freeLast = 1

// note takes in an outcome.
func (l *lastTokens) note(o *outcome) {
	if left := o.remainingBefore - (o.flight - o.n); !o.probe && left > 0 && left <= l.taken {
		if o.refused {
			l.doubt.fail(freeLast)
		} else {
			l.doubt = doubt{}
		}
	}
	if o.newest {
		l.taken = o.remainingBefore - o.remaining - o.n
	}
}

// leave reports whether so much is to be left to others until a reset, which is known by its number.
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
