package simulation

import (
	"container/heap"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// least is how long each heap takes at least, from its arrival to the last answer: for
// callers who know the server's algorithm and state, and the way to it.
func (w *world) least() []time.Duration {
	took := make([]time.Duration, heaps)
	for _, v := range w.ideal(0, w.requests, 0, nil) {
		h := w.heap(v.id)
		took[h] = max(took[h], v.end-w.begin(h))
	}
	return took
}

// visit is when an ideal caller's request comes to the server, and when its answer is back.
type visit struct {
	id, process int
	at, end     time.Duration // from the start of the world on
}

// span is a time, from the start of the world on.
type span struct{ from, to time.Duration }

// ideal is what callers do who know the server's algorithm and state, and the way to it: all
// visits of the requests from first up to last. None of these comes before begin, when the
// server is as fresh as at the start, nor within one of the spans that are closed, which are
// sorted and apart.
func (w *world) ideal(first, last int, begin time.Duration, closed []span) (visits []visit) {
	algorithms := make([]pacertest.Algorithm, len(w.layers))
	for i, l := range w.layers {
		algorithms[i] = l.algorithm.Fresh()
	}
	others := w.others
	next := make([]int, w.processes)
	var q oracle
	// ask lets a caller of the process take its next request at t.
	ask := func(process int, t time.Duration) {
		id := first + next[process]*w.processes + process
		if id >= last {
			return
		}
		next[process]++
		heap.Push(&q, asked{id, process, max(t, begin+w.arrival(id)) + w.way(id, 1, "there")})
	}
	for p := range w.processes {
		for range w.callers {
			ask(p, 0)
		}
	}
	var now time.Duration
	for len(q) > 0 {
		a := heap.Pop(&q).(asked)
		now = max(now, a.at)
		var delay time.Duration
		for _, algorithm := range algorithms {
			for {
				for len(closed) > 0 && closed[0].to <= now {
					closed = closed[1:]
				}
				if len(closed) > 0 && closed[0].from < now {
					now = closed[0].to
				}
				for len(others) > 0 && others[0].Sub(w.start) <= now {
					algorithm.Take(others[0], 1)
					others = others[1:]
				}
				v := algorithm.Take(w.start.Add(now), w.cost(a.id))
				if v.OK {
					delay += v.Delay
					break
				}
				wait := v.RetryAfter
				if len(others) > 0 {
					wait = min(wait, others[0].Sub(w.start)-now)
				}
				now += wait
			}
		}
		end := now + delay + w.way(a.id, 1, "back")
		visits = append(visits, visit{a.id, a.process, now, end})
		ask(a.process, end)
	}
	return visits
}

// asked is a request that comes to the server at an instant.
type asked struct {
	id, process int
	at          time.Duration
}

// oracle is a heap of them.
type oracle []asked

func (o oracle) Len() int           { return len(o) }
func (o oracle) Less(i, j int) bool { return o[i].at < o[j].at }
func (o oracle) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *oracle) Push(x any)        { *o = append(*o, x.(asked)) }
func (o *oracle) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}
