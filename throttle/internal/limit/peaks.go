package limit

import (
	"iter"
	"math"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Peaks remember how much room there was in a bucket, right before each of the latest
// grants, until it was full again. A refund of an earlier grant cannot exceed the least room
// since: the rest would have overflowed. Only those peaks matter after which none was
// smaller, so that they are in the order of their room. Room is counted in tokens, or as
// the time in which they come back.
type Peaks[Room ~int64 | ~float64] struct{ list []peak[Room] }

type peak[Room ~int64 | ~float64] struct {
	at    monotime.Time
	room  Room
	ratio float64 // to the room before, for merge; zero if it is not known
}

// maxPeaks bounds how many are remembered.
const maxPeaks = 32

// Note remembers how much room there was right before a grant. Dust is the least room that
// means anything.
func (p *Peaks[Room]) Note(at monotime.Time, room, dust Room) {
	n := len(p.list)
	for n > 0 && p.list[n-1].room >= room {
		n--
	}
	p.list = append(p.list[:n], peak[Room]{at: at, room: room})
	if len(p.list) > maxPeaks {
		p.merge(dust)
	}
}

// NoteFull is Note of a bucket in which there is no room.
func (p *Peaks[Room]) NoteFull(at monotime.Time) { p.list = append(p.list[:0], peak[Room]{at: at}) }

// merge makes one of the two peaks that differ least for their size. Rather too little of a
// heavy grant comes back by that.
func (p *Peaks[Room]) merge(dust Room) {
	least, ratio := 1, math.Inf(1)
	list := p.list
	for i := 1; i < len(list); i++ {
		r := list[i].ratio
		if r == 0 {
			r = float64(list[i].room) / float64(max(list[i-1].room, dust))
			list[i].ratio = r
		}
		if r < ratio {
			least, ratio = i, r
		}
	}
	list[least-1].at = list[least].at
	p.list = slices.Delete(list, least, least+1)
	if least < len(p.list) {
		p.list[least].ratio = 0
	}
}

// Refund returns how much of n, which was granted at an instant, would not have overflowed
// since, and notes that the bucket held so much more all the time. All is at most how much
// room there is now.
func (p *Peaks[Room]) Refund(went monotime.Time, n, all Room) Room {
	first := len(p.list)
	for first > 0 && p.list[first-1].at > went {
		first--
	}
	n = min(n, all)
	if first < len(p.list) {
		n = min(n, p.list[first].room)
	}
	if n <= 0 || first == len(p.list) {
		return n
	}
	for i := first; i < len(p.list); i++ {
		p.list[i].room -= n
		p.list[i].ratio = 0
	}
	before := first
	for before > 0 && p.list[before-1].room >= p.list[first].room {
		before--
	}
	p.list = slices.Delete(p.list, before, first)
	return n
}

// All are the instants and rooms that are remembered. A Peaks that is told of them in order
// remembers the same.
func (p *Peaks[Room]) All() iter.Seq2[monotime.Time, Room] {
	return func(yield func(monotime.Time, Room) bool) {
		for _, o := range p.list {
			if !yield(o.at, o.room) {
				return
			}
		}
	}
}

// Last is the last instant that is remembered; zero if none is.
func (p *Peaks[Room]) Last() monotime.Time {
	if len(p.list) == 0 {
		return 0
	}
	return p.list[len(p.list)-1].at
}

// Len is how many are remembered.
func (p *Peaks[Room]) Len() int { return len(p.list) }
