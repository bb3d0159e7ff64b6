package adaptive

// doubt is about an attempt that has failed before. After a failure the attempt is left out on
// the next 1, 3, 7 … occasions, about twice as many with each failure, up to maxSkip. It is not given up for ever:
// other clients may have been the reason for the failure, and they may have gone.
type doubt struct {
	failures uint
	skip     int // the attempt is made again on the occasion that makes this zero
}

// maxSkip is on how many occasions at most an attempt is left out: at a window of a second, of two minutes.
const maxSkip = 128

// fail notes that the attempt has failed. The first failures, as many as are free, have no
// consequence.
func (d *doubt) fail(free uint) {
	if d.failures++; d.failures > free {
		d.skip = min(1<<min(d.failures-free, 16), maxSkip)
	}
}

// occasion notes an occasion for the attempt. Only then is it looked up whether to make it.
func (d *doubt) occasion() { d.skip = max(d.skip-1, 0) }

// mostFailed bounds counts that a file may say.
const mostFailed = 16

// failed is how often the attempt has failed, as a file says it.
func (d *doubt) failed() int { return int(min(d.failures, mostFailed)) }

// restore sets how often the attempt has failed elsewhere or before, of which so many failures are free, as if the last time were now: if none has failed here.
func (d *doubt) restore(failures int, free uint) {
	if failures = min(max(failures, 0), mostFailed); failures > 0 && d.failures == 0 {
		d.failures = uint(failures - 1)
		d.fail(free)
	}
}
