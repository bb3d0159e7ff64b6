package adaptive

// doubt is about something that was tried in vain: it is not tried again before it would have
// been of use for a number of times, which doubles with each failure. Others who use the
// limit too may have been the reason, and they may have gone.
type doubt struct {
	failures uint
	skip     int // times before it is tried again
}

// fail notes that it was tried in vain. So many times are free.
func (d *doubt) fail(free uint) {
	if d.failures++; d.failures > free {
		d.skip = 1 << min(d.failures-free, 16)
	}
}

// use notes that it would have been of use now.
func (d *doubt) use() { d.skip = max(d.skip-1, 0) }
