package pace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestSlidingKeepsToLog: of a log that says nothing, asked for twice what it allows, nothing is refused after
// the row that shows it, but for what goes to see whether there is more; and each token goes as it is back.
func TestSlidingKeepsToLog(t *testing.T) {
	const limit, span, every = 20, 30 * time.Second, 750 * time.Millisecond
	var r Rate
	var log []monotime.Time
	now, refusals, refused, trials := start, 0, 0, 0
	for asked := start; now < start.Add(20*span); asked = asked.Add(every) {
		for now = max(now, asked); ; {
			now = max(now, r.Due(now, 0, 1, 0, false))
			if r.Alone(now, 1, 0) {
				trials++
			}
			r.Take(now, asked, 1)
			if len(log) < limit || now.Sub(log[len(log)-limit]) >= span {
				break
			}
			if refusals++; now > start.Add(span) {
				refused++
			}
			r.Refuse(now, false)
			hold, _ := r.Look(now, refusals, true, 0)
			now = now.Add(hold)
		}
		log, refusals = append(log, now), 0
		r.Serve(now, 1, Went{})
	}
	if size, lasts, known := r.Window(); !known || size != limit || lasts != span || !r.Measured() || !r.Open() || r.RowOver(limit) {
		t.Errorf("%d in %v, known %v, want %d in %v", size, lasts, known, limit, span)
	}
	if s := r.State(now); !s.Slides || s.Window != limit || s.Lasts != span {
		t.Errorf("%+v, want a log", s)
	}
	// The second token of the second row is refused, and what each trial takes beyond, but for the last one,
	// which goes on.
	if refused != 5 || trials != 5 || len(log) != 20*limit+1 {
		t.Errorf("%d refused after the first row, %d trials, %d served, want 5, 5 and %d", refused, trials, len(log), 20*limit+1)
	}
}

// TestSlidingIsRefused: what a refusal shows, by what was served in the span before it.
func TestSlidingIsRefused(t *testing.T) {
	const s = time.Second
	at := start.Add(100 * s)
	for _, test := range []struct {
		name string
		used int
		was  sliding
		want sliding
	}{
		{"more went", 40, sliding{beyond: true, gap: 40 * s}, sliding{size: 40, gap: time.Minute, next: at.Add(time.Minute)}},
		{"more went, and was served", 45, sliding{beyond: true, gap: 40 * s, calm: provenServed}, sliding{size: 45, former: 40, gap: time.Minute, next: at.Add(time.Minute)}},
		{"more went, and of a cell some may be back", 41, sliding{beyond: true, gap: 40 * s, most: 1}, sliding{size: 40, gap: time.Minute, next: at.Add(time.Minute), most: 1}},
		{"more went, long ago", 40, sliding{beyond: true, gap: longestUp}, sliding{size: 40, gap: longestUp, next: at.Add(longestUp)}},
		{"one was on its way", 40, sliding{longest: 9 * s}, sliding{size: 40, longest: 9 * s}},
		{"one was on its way, after more", 40, sliding{former: 30}, sliding{size: 40, former: 30}},
		{"one was on its way, and not refused by chance", 40, sliding{calm: provenServed}, sliding{size: 40, calm: provenServed}},
		{"less by chance", 5, sliding{former: 30, calm: provenServed + 1}, sliding{size: 40, former: 30, calm: 1}},
		{"less after more", 39, sliding{former: 30, calm: provenServed - 1, gap: 40 * s}, sliding{size: 30, calm: provenServed - 1, gap: time.Minute, next: at.Add(time.Minute)}},
		{"a little less", 38, sliding{longest: 9 * s}, sliding{size: 38, top: 40, longest: 9 * s}},
		{"a little less, once more", 39, sliding{top: 42, longest: 9 * s}, sliding{size: 40, top: 42, span: 9 * s, longest: 9 * s}},
		{"far less, as it takes longer", 37, sliding{longest: 9 * s}, sliding{size: 40, span: 9 * s, longest: 9 * s}},
		{"far less", 37, sliding{longest: 8 * s, failed: mostFailed - 2}, sliding{failed: mostFailed - 1}},
		{"far less, once more", 37, sliding{longest: 8 * s, failed: mostFailed - 1, took: s}, sliding{failed: mostFailed - 1, took: s, barred: at.Add(barredFor)}},
	} {
		e, want := test.was, test.want
		e.size, e.top, e.span, e.back = 40, max(e.top, 40), 8*s, leastRow
		e.cells, e.served[0] = 1, cell{at, test.used}
		if e.refuse(at); e.on() {
			want.back, want.cells, want.served[0] = leastRow, 1, e.served[0]
			if want.top == 0 {
				want.top = e.size
			}
			if want.span == 0 {
				want.span = 8 * s
			}
		}
		if e != want {
			t.Errorf("%s: %+v, want %+v", test.name, e, want)
		}
	}
	e := sliding{size: 40, top: 40, span: 8 * s}
	for range 3 * provenServed {
		e.serve(at, 1)
	}
	if e.calm != 2*provenServed {
		t.Errorf("%d served count for those that are refused by chance, want %d", e.calm, 2*provenServed)
	}
	if e.begin(at, 40, 7*s, 8*s); e.calm != 0 {
		t.Errorf("%d of another limit count", e.calm)
	}
	e = sliding{barred: at}
	if e.begin(at-1, 40, 7*s, 8*s); e.on() {
		t.Error("a limit that failed often is looked for again before an hour is over")
	}
	if e.begin(at, 40, 7*s, 8*s); !e.on() {
		t.Error("a limit that failed often is not looked for again after an hour")
	}
}

// TestSlidingSpan: the span is a whole second, if that is possible.
func TestSlidingSpan(t *testing.T) {
	const s = time.Second
	for _, test := range []struct{ shorter, longest, want time.Duration }{
		{56 * s, time.Minute + s/10, time.Minute}, {59 * s, time.Minute, time.Minute}, {time.Minute, time.Minute + s/2, time.Minute + s/2},
	} {
		var e sliding
		if e.begin(start, 40, test.shorter, test.longest); e.span != test.want || e.next != start.Add(test.want) {
			t.Errorf("%v to %v: %v, want %v", test.shorter, test.longest, e.span, test.want)
		}
	}
}

// TestSlidingCells: what was served in the span is never more than is counted of it, and less by what the
// oldest cell has at most, however much is served.
func TestSlidingCells(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := sliding{size: 1 + r.IntN(2000), span: time.Duration(1+r.IntN(60)) * time.Second}
		type served struct {
			at monotime.Time
			n  int
		}
		var all []served
		now := start
		for range 1000 {
			now = now.Add(time.Duration(r.Int64N(int64(e.span) / 50)))
			n := 1 + r.IntN(3)
			all = append(all, served{now, n})
			e.serve(now, n)
			least := 0
			for _, s := range all {
				if s.at.Add(e.span) > now {
					least += s.n
				}
			}
			if used := e.used(now); used < least || used >= least+e.served[0].n {
				t.Fatalf("seed %d: %d used, want %d, and less than %d more", seed, used, least, e.served[0].n)
			}
		}
	}
}

// TestSlidingDue: a token goes when it is back; and all are a span after the latest request, whatever became of
// it. What costs more than there is goes then as well.
func TestSlidingDue(t *testing.T) {
	const s = time.Second
	e := sliding{size: 4, span: 10 * s, cells: 2, next: start.Add(time.Hour)}
	e.served[0], e.served[1] = cell{start, 1}, cell{start.Add(2 * s), 3}
	latest := start.Add(3 * s)
	for _, test := range []struct {
		name             string
		at               time.Duration
		tokens, inFlight int
		want             time.Duration
	}{
		{"the first is not back", 4 * s, 1, 0, 10 * s},
		{"nor is the second", 4 * s, 2, 0, 12 * s},
		{"four are", 4 * s, 4, 0, 12 * s},
		{"one is", 10 * s, 1, 0, 10 * s},
		{"it is on its way", 10 * s, 1, 1, 12 * s},
		{"all are on their way", 4 * s, 1, 9, 13 * s},
		{"all are on their way for long", 13 * s, 4, 9, 13 * s},
		{"five are two times", 4 * s, 5, 0, 23 * s},
		{"and so they are where all are back", 13 * s, 5, 0, 23 * s},
		{"nine are three times", 4 * s, 9, 0, 33 * s},
		{"more is tried", time.Hour, 4, 9, time.Hour},
	} {
		if at := e.due(start.Add(test.at), latest, test.tokens, test.inFlight).Sub(start); at != test.want {
			t.Errorf("%s: after %v, want %v", test.name, at, test.want)
		}
	}
	if at := e.due(start.Add(4*s), start.Add(s), 2, 0).Sub(start); at != 11*s {
		t.Errorf("after %v, want 11s: what was served after the latest request had gone is back with that", at)
	}
	e.beyond = true
	if at := e.due(start.Add(4*s), latest, 4, 9).Sub(start); at != 4*s {
		t.Errorf("after %v, want at once: more goes until one is refused", at)
	}
	e.beyond = false
	var r Rate
	r.sliding, r.lastGrant = e, latest
	if at := r.Due(start.Add(4*s), 0, 9, 0, false).Sub(start); at != 12*s {
		t.Errorf("nine tokens go after %v, want 12s", at)
	}
}

// TestSlidingScaled: of a log that processes share, each has its part, which changes when others come or go.
func TestSlidingScaled(t *testing.T) {
	const s = time.Second
	r := Rate{lastGrant: start, sliding: sliding{size: 40, top: 40, former: 30, span: 10 * s, cells: 1, next: start.Add(time.Hour)}}
	r.sliding.served[0] = cell{start, 20}
	if r.Scale(0.5); r.sliding.size != 20 || r.sliding.top != 20 || r.sliding.former != 15 || r.Due(start, 0, 1, 0, false) != start.Add(10*s) {
		t.Errorf("%d of 40, and %d of 30, for half of the processes, and the next goes after %v, want 20, 15 and 10s", r.sliding.size, r.sliding.former, r.Due(start, 0, 1, 0, false).Sub(start))
	}
	if r.Scale(2); r.sliding.size != 40 || r.sliding.former != 30 || r.Due(start, 0, 20, 0, false) != start {
		t.Errorf("%d and %d for twice as much, want 40 and 30", r.sliding.size, r.sliding.former)
	}
	if r.Scale(0.001); r.sliding.size != 1 || r.sliding.former != 1 {
		t.Errorf("%d and %d for very many processes, want 1", r.sliding.size, r.sliding.former)
	}
	if r.Scale(1000); r.sliding.size != 40 || r.sliding.top != 40 || r.sliding.former != 30 {
		t.Errorf("%d and %d when these have gone, want 40 and 30", r.sliding.size, r.sliding.former)
	}
	for members := 1.0; members < 100; members++ {
		r.Scale(members / (members + 1))
	}
	if r.Scale(50); r.sliding.size != 20 || r.sliding.former != 15 {
		t.Errorf("%d and %d for two processes, after 98 came one by one and went, want 20 and 15", r.sliding.size, r.sliding.former)
	}
	r.sliding.size = 7 // was found meanwhile
	for _, part := range []float64{1. / 2, 2. / 3, 3} {
		r.Scale(part)
	}
	if r.sliding.size != 7 || r.sliding.former != 15 {
		t.Errorf("%d and %d for two processes again, want 7 and 15", r.sliding.size, r.sliding.former)
	}
	one := Rate{sliding: sliding{size: 1}}
	if one.Scale(2); one.sliding.size != 2 {
		t.Errorf("%d of one for twice as much, want 2", one.sliding.size)
	}
	var none Rate
	if none.Scale(0.5); none.sliding.on() {
		t.Error("a log is known that was none before")
	}
}

// TestSlidingCountsNothing: where nothing was served between two answers, no token comes back later for that.
func TestSlidingCountsNothing(t *testing.T) {
	var r Rate
	r.Serve(start, 1, Went{})
	r.sliding.most = 2
	want := r.sliding
	if r.Count(start.Add(time.Second), 0); r.sliding != want {
		t.Errorf("%d cells, the last of %v later, want one of the beginning", r.sliding.cells, r.sliding.served[0].at.Sub(start))
	}
	if r.Count(start.Add(time.Second), 1); r.sliding.served[0] != (cell{start.Add(time.Second), 2}) {
		t.Errorf("%+v, want a token more", r.sliding.served[0])
	}
}

// TestSlidingCounted: a request was counted when the server knows whether to refuse, which takes as long as a
// refusal takes, or when it was answered, if that is sooner.
func TestSlidingCounted(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name       string
		sent, took time.Duration
		want       time.Duration
	}{
		{"a slow answer", s, 2 * s, 3 * s},
		{"a slower refusal", s, 9 * s, 8 * s},
		{"no refusal yet", s, 0, 8 * s},
		{"nobody knows when it went", -time.Duration(start), 2 * s, 8 * s},
	} {
		var r Rate
		r.Answered(test.took, false)
		if r.Serve(at(8*s), 1, Went{Sent: at(test.sent)}); r.sliding.served[0].at != at(test.want) {
			t.Errorf("%s: counted after %v, want %v", test.name, r.sliding.served[0].at.Sub(start), test.want)
		}
	}
}

// TestSlidingTurn: what one turn of a window had comes back no later for what the next one had; and of the turn
// before, all counts, also what was counted before the first answer.
func TestSlidingTurn(t *testing.T) {
	var r Rate
	r.sliding.most = 100
	serve := func(sent, now time.Duration, n int) { r.Serve(at(now), n, Went{Sent: at(sent)}) }
	r.Answered(time.Second, false)
	serve(0, 3*time.Second, 2) // counted after 1 s
	serve(0, 4*time.Second, 3)
	r.Refuse(at(5*time.Second), false)
	serve(10*time.Second, 13*time.Second, 4)
	r.Refuse(at(14*time.Second), false)
	serve(20*time.Second, 23*time.Second, 5)
	if got, want := r.sliding.served[:r.sliding.cells], []cell{{at(11 * time.Second), 4}, {at(21 * time.Second), 5}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSlidingCellsAreFew: each token comes back when it was served, as far as there are cells. Then two cells
// are one, and as much is in each cell from then on, until few cells are left.
func TestSlidingCellsAreFew(t *testing.T) {
	const s = time.Second
	e := sliding{size: 100, top: 100, span: 100 * s, longest: 100 * s}
	at := func(i int) monotime.Time { return start.Add(time.Duration(i) * s) }
	for i := range slidingCells {
		e.serve(at(i), 1)
		if got := e.used(at(i)); e.cells != i+1 || got != i+1 {
			t.Fatalf("%d cells, %d used, want %d", e.cells, got, i+1)
		}
	}
	e.serve(at(slidingCells-1), 1) // at the same instant
	if e.cells != slidingCells || e.served[slidingCells-1].n != 2 {
		t.Errorf("%d cells, the last one of %d, want %d, of 2", e.cells, e.served[slidingCells-1].n, slidingCells)
	}
	e.open(cell{at(10), 2}) // was counted before these, and is heard of late
	if want := slidingCells/2 + 1; e.cells != want || e.most != 2 || e.served[want-1] != (cell{at(slidingCells - 1), 2}) {
		t.Errorf("%d cells of %d, the last one %+v, want %d of 2, and no cell before the one before it", e.cells, e.most, e.served[e.cells-1], want)
	}
	e.serve(at(slidingCells), 2)
	e.serve(at(slidingCells+1), 1)
	e.serve(at(slidingCells+2), 1) // as much as a cell has
	if want := slidingCells/2 + 3; e.cells != want || e.served[want-1] != (cell{at(slidingCells + 2), 2}) {
		t.Errorf("%d cells, the last one %+v, want %d", e.cells, e.served[e.cells-1], want)
	}
	e.forget(at(slidingCells - 1))
	if e.cells != 2 || e.most != 1 {
		t.Errorf("%d cells of %d are left, want 2 of 1", e.cells, e.most)
	}
	var none sliding
	if none.open(cell{start, 1}); none.cells != 1 || none.served[0] != (cell{start, 1}) {
		t.Errorf("%+v is the first cell", none.served[0])
	}
}

// TestSlidingAlone: what goes beyond the limit goes alone, when more is to go, and once.
func TestSlidingAlone(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name   string
		now    time.Duration
		tokens int
		beyond bool
		want   bool
	}{
		{"too soon", 5*s - 1, 2, false, false},
		{"within the limit", 5 * s, 1, false, false},
		{"beyond it", 5 * s, 2, false, true},
		{"goes on", 5 * s, 2, true, false},
	} {
		e := sliding{size: 4, top: 4, span: 10 * s, longest: 10 * s, next: start.Add(5 * s), beyond: test.beyond}
		e.cells = copy(e.served[:], []cell{{start, 3}})
		if got := e.alone(start.Add(test.now), test.tokens); got != test.want || e.beyond != (test.beyond || test.want) {
			t.Errorf("%s: alone %v, goes on %v, want %v", test.name, got, e.beyond, test.want)
		}
	}
}
