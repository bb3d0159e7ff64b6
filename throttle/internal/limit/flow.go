package limit

import (
	"math"

	"github.com/gopacer/pacer/quota"
)

// Turn is how much a claim costs its flow, in a bucket that has these quotas: the time in which what it draws
// comes back, of the quota of which that is the longest. So flows whose claims cost different units are
// compared by what they keep from others, as in dominant resource fair queueing (Ghodsi et al., SIGCOMM 2012).
// A claim that draws on no such quota costs as many requests of the fastest one; without any, its N. All that
// is divided by the weight of the flow. One that the server refused so often that it lost its place costs its
// flow eight times as much: one that is refused always takes few turns of those that could be served. All
// defaults of qs must be written out.
func (d *Demand) Turn(qs quota.Quotas, weight int, lostPlace bool) float64 {
	cost := d.cost(qs) / float64(max(weight, 1))
	if lostPlace {
		cost *= 8
	}
	return cost
}

func (d *Demand) cost(qs quota.Quotas) float64 {
	longest, least := 0.0, math.Inf(1)
	for i := range qs {
		q := &qs[i]
		if q.N <= 0 || q.Kind.Concurrent() {
			continue
		}
		each := q.Per.Seconds() / float64(q.N)
		longest, least = max(longest, each*float64(d.In(q))), min(least, each)
	}
	switch {
	case longest > 0:
		return longest
	case math.IsInf(least, 1):
		return float64(d.N)
	}
	return least * float64(d.N)
}

// Flows is what the claims of each flow need together, by row. The flow without a name is not among them: what
// all the others need is under its name.
type Flows map[FlowKey]*Demand

// FlowKey is a flow in a row.
type FlowKey struct {
	Row  int
	Name string
}

// Add adds a claim of a flow if sign is 1, and takes it away if sign is -1.
func (f *Flows) Add(row int, flow string, d *Demand, sign int) {
	if flow == "" {
		return
	}
	if *f == nil {
		*f = Flows{}
	}
	for _, key := range []FlowKey{{row, flow}, {row, ""}} {
		sum := (*f)[key]
		if sum == nil {
			sum = &Demand{}
			(*f)[key] = sum
		}
		if sum.Add(d, sign); sum.Claims == 0 {
			delete(*f, key)
		}
	}
	if len(*f) == 0 {
		*f = nil
	}
}

// Of returns what the claims of a flow need, where all need what all says.
func (f Flows) Of(row int, flow string, all *Demand) (sum Demand) {
	d := f[FlowKey{row, flow}]
	switch {
	case flow == "":
		sum.Add(all, 1)
		if d != nil {
			sum.Add(d, -1)
		}
	case d != nil:
		sum.Add(d, 1)
	}
	return sum
}

// rows is how many rows a line has, one for each priority; the last is of urgent claims.
const rows = 3

// Line is what those need who wait in a line, by row, and within it by flow.
type Line struct {
	Sum   [rows]Demand
	Flows Flows
}

// Add adds a claim of a flow if sign is 1, and takes it away if sign is -1.
func (a *Line) Add(row int, flow string, d *Demand, sign int) {
	a.Sum[row].Add(d, sign)
	if flow != "" {
		a.Flows.Add(row, flow, d, sign)
	}
}

// AddTo adds to ahead what those of a flow need, and those of more urgent rows.
func (a *Line) AddTo(ahead *Ahead, row int, flow string) {
	if a.Sum[row].Claims > 0 {
		own := a.Flows.Of(row, flow, &a.Sum[row])
		ahead.Add(&own, row == rows-1)
	}
	for row++; row < rows; row++ {
		ahead.Add(&a.Sum[row], row == rows-1)
	}
}

// FullQueue returns the first quota on which the claim draws and of which those ahead need as much as its
// Queue; nil if none.
func (d *Demand) FullQueue(qs quota.Quotas, ahead *Demand) *quota.Quota {
	for i := range qs {
		if q := &qs[i]; q.Queue > 0 && d.In(q) > 0 && ahead.In(q) >= q.Queue {
			return q
		}
	}
	return nil
}
