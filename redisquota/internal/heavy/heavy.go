// Package heavy has fleets whose calls keep the server busy for as long as any: of each kind of quota, all that
// a call may have much of. A test counts what the script does in them, and bench measures for how long it holds
// a server.
package heavy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// Quotas are of each kind, at rates at which much happens in the half second for which slots are handed out,
// and several together.
var Quotas = []string{
	"1000000/s even", "1000/s burst 1000", "400000 tokens/s burst 160000", "20000/s burst 8000 debt",
	"1000/s log", "100000/s log", "100000/d log", "1000/s sliding", "1000/s window grid", "1000/s estimate", "60/m burst 4",
	"1000/s burst 100, 900/s log, 800/s sliding, 700/s window grid, 600/s estimate, 500/s even",
}

// A Limiter has so many asks in one request, and tells of so many costs that come back, or went without the
// store.
const (
	mostAsks  = 257
	mostCosts = 64
)

// A Fleet is members of one bucket.
type Fleet struct {
	Exchange func(*store.Request) (*store.Reply, error)
	Pass     func(time.Duration) // has time pass
	Quotas   quota.Quotas
	Members  int // how many there are, 20 at least

	members []*member
	rand    *rand.Rand
	err     error
}

// member is one, with the slots that it has.
type member struct {
	name   string
	serial int64
	has    []store.Part
}

// Play has the fleet do all of it, by the same plan each time, and returns the first error.
func (f *Fleet) Play() error {
	f.rand = rand.New(rand.NewPCG(1, 2))
	f.send(&member{name: "opens"}, &store.Request{Horizon: 1, Leave: true}) // else nothing is handed out for half a second
	f.Pass(time.Millisecond)
	for i := range f.Members {
		f.members = append(f.members, &member{name: fmt.Sprintf("%026d", i)})
	}
	for _, part := range []func(){f.alone, f.line, f.all, f.outOfTime, f.comeBack, f.tell, f.versions} {
		part()
	}
	return f.err
}

func (f *Fleet) cost(n int64) []int64 {
	c := make([]int64, len(f.Quotas))
	for i := range c {
		c[i] = n
	}
	return c
}

// most is the largest cost that all quotas grant.
func (f *Fleet) most() int64 {
	n := int64(1 << 30)
	for i := range f.Quotas {
		q := &f.Quotas[i]
		if q.Kind == quota.TokenBucket && !q.Debt {
			n = min(n, q.Burst)
		} else {
			n = min(n, q.N)
		}
	}
	return n
}

// parts is how many slots come back with one request.
func (f *Fleet) parts() int { return mostCosts / len(f.Quotas) }

// asks returns asks of so many costs from least on.
func (f *Fleet) asks(many, count, least int, within time.Duration) (asks []store.Ask) {
	for i := range many {
		asks = append(asks, store.Ask{Cost: f.cost(min(int64(least+i%8), f.most())), Count: count, Within: within})
	}
	return asks
}

// send sends a request of a member.
func (f *Fleet) send(m *member, r *store.Request) {
	if f.err != nil {
		return
	}
	m.serial++
	r.Version, r.Bucket, r.SlotLife, r.Member, r.Serial = 1, "api", 20*time.Millisecond, m.name, m.serial
	if r.Quotas == nil {
		r.Quotas = f.Quotas
	}
	if r.Horizon == 0 {
		r.Horizon = 500 * time.Millisecond
	}
	var reply *store.Reply
	if reply, f.err = f.Exchange(r); f.err != nil {
		return
	}
	for _, s := range reply.Slots {
		for range s.Count { // each as a part of its own, as if settled one by one
			m.has = append(m.has, store.Part{Slot: s.ID, Cost: r.Asks[s.Ask].Cost})
		}
	}
}

// alone: one member takes all that it is given.
func (f *Fleet) alone() {
	for range 8 {
		f.send(f.members[0], &store.Request{Asks: f.asks(1, 100_000, 1, -1)})
	}
}

// line: each member has a slot, the last ones far ahead.
func (f *Fleet) line() {
	for i, m := range f.members[1:] {
		f.send(m, &store.Request{Asks: f.asks(1, 1, 1+i%4, -1)})
	}
}

// all: members with long lines ask for all that these want, each for the largest costs as well.
func (f *Fleet) all() {
	for _, m := range f.members[:20] {
		f.send(m, &store.Request{Asks: f.asks(mostAsks, 100, 1, -1)})
		f.send(m, &store.Request{Asks: append(f.asks(mostAsks-1, 100, 1, 400*time.Millisecond), f.asks(1, 100, int(f.most()), -1)...)})
	}
}

// outOfTime: nobody can wait for as long as it takes, but for the last.
func (f *Fleet) outOfTime() {
	for _, m := range f.members[:5] {
		f.send(m, &store.Request{Asks: append(f.asks(mostAsks-1, 1, 1, 0), f.asks(1, 100, 1, -1)...)})
	}
}

// comeBack: all comes back, before, at and after its time; and who gives back asks again.
func (f *Fleet) comeBack() {
	for round := range 2 {
		for _, m := range f.members {
			has := m.has
			m.has = nil
			f.rand.Shuffle(len(has), func(i, k int) { has[i], has[k] = has[k], has[i] })
			for back := range slices.Chunk(has[:min(len(has), 5*f.parts())], f.parts()) {
				f.send(m, &store.Request{Back: back, Asks: f.asks(mostAsks/4, 10, 2, 300*time.Millisecond)})
			}
			if len(has) > 0 {
				f.Pass(time.Duration(1+round*round) * time.Millisecond)
			}
		}
		f.alone()
		f.all()
		f.Pass(100 * time.Millisecond)
	}
}

// tell: after an outage, members tell what they sent and what they have.
func (f *Fleet) tell() {
	for i, m := range f.members[:10] {
		r := &store.Request{Outage: i == 0, Ahead: time.Second, Asks: f.asks(mostAsks, 1, 1, -1), Hold: time.Millisecond}
		for k := range f.parts() {
			r.Own = append(r.Own, store.Own{In: time.Duration(k-f.parts()/2) * 7 * time.Millisecond, Cost: f.cost(1)})
		}
		for k := range 16 {
			r.Statements = append(r.Statements, quota.Statement{Name: strings.Repeat("n", 50+k), Limit: 10, Remaining: int64(k), Reset: time.Minute, ResetKnown: true})
		}
		f.send(m, r)
	}
}

// told tells what members sent in each of the last 64 seconds, from the i-th part of it on. So much is kept for
// quotas that come later.
func (f *Fleet) told(i int, ago time.Duration) (all []store.Own) {
	for k := range f.parts() {
		all = append(all, store.Own{In: -ago - time.Duration((i*f.parts()+k)%mostCosts)*time.Second, Cost: f.cost(1)})
	}
	return all
}

// version is another list of quotas; every other one counts all that is told, for two minutes or more.
func (f *Fleet) version(i int) quota.Quotas {
	qs := slices.Clone(f.Quotas)
	for k := range qs {
		q := &qs[k]
		if times := int(2 * time.Minute / q.Per); i%2 == 0 && times > 0 {
			q.N, q.Per = q.N*int64(times), q.Per*time.Duration(times)
		}
		q.Per *= time.Duration(1 + i)
	}
	return qs
}

// versions: after members of one version have told as much as is kept, four others are about, each with other
// quotas. What was told is charged to these; their members tell as much, give back, and ask for all that they
// want.
func (f *Fleet) versions() {
	for i, m := range f.members[:min((mostCosts+f.parts()-1)/f.parts(), len(f.members))] {
		f.send(m, &store.Request{Own: f.told(i, 0)})
	}
	for i := range 40 {
		m := &member{name: fmt.Sprintf("version %d of it", i%5), serial: int64(i)}
		for k := range 3 {
			r := &store.Request{Quotas: f.version(i % 5), Asks: f.asks(mostAsks, 100, 1, -1), Back: m.has[:min(len(m.has), f.parts())]}
			if k == 0 {
				r.Own = f.told(i/5, 500*time.Millisecond)
			}
			f.send(m, r)
			m.has = nil
		}
	}
}
