package adaptive

// doubt is about an attempt that has failed before, such as a look before the reset. After a failure the
// attempt is left out on the next 1, 3, 7 … occasions, about twice as many with each failure, and then made
// again; it is left out on fewer than maxSkip. It is never given up: others may have been the reason of the
// failure, and may have gone.
type doubt struct {
	failures uint
	skip     int // the attempt is made again on the occasion that makes this zero
}

// maxSkip is on which occasion after a failure, at the latest, the attempt is made again: at a window of a
// second, after two minutes.
const maxSkip = 128

// fail notes that the attempt has failed. The first failures have no consequence, as many as are free.
func (d *doubt) fail(free uint) {
	if d.failures++; d.failures > free {
		d.skip = min(1<<min(d.failures-free, 16), maxSkip)
	}
}

// failAgain notes that the attempt has failed as if it had done so as often before at least, since it is likely
// to fail again: after 3 times it is made again on the 16th occasion at the soonest, and after 6 on the 128th.
func (d *doubt) failAgain(before uint) {
	d.failures = max(d.failures, before)
	d.fail(0)
}

// occasion notes an occasion for the attempt. The attempt is to be made if skip is zero after that.
func (d *doubt) occasion() { d.skip = max(d.skip-1, 0) }

// mostFailed bounds counts that a file may say.
const mostFailed = 16

// failed is how often the attempt has failed, as a file says it.
func (d *doubt) failed() int { return int(min(d.failures, mostFailed)) }

// restore takes over how often the attempt has failed in an earlier run or in another process, as if the last
// of these failures were now. It does nothing if the attempt has failed here. So many failures are free.
func (d *doubt) restore(failures int, free uint) {
	if failures = min(max(failures, 0), mostFailed); failures > 0 && d.failures == 0 {
		d.failures = uint(failures - 1)
		d.fail(free)
	}
}
