package pacerdebug

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/throttle"
)

// each returns numbers of a minute, by their places.
func each(at map[int]int64) []int64 {
	all := make([]int64, span)
	for place, n := range at {
		all[place] = n
	}
	return all
}

// A minute has this second and the 59 before, whatever passes between two events, and whenever it is looked at.
func TestMinute(t *testing.T) {
	var m minute
	went := func(sec int64, n uint32) { m.slots[m.at(sec)].went += n }
	wait := func(sec int64, d time.Duration) {
		m.wait(sec, d, []throttle.Wait{{Cause: throttle.CausePace, For: d - 1}, {Cause: "new", For: 1}})
	}
	steps := []struct {
		sec  int64
		do   func(sec int64)
		want *chart
	}{
		{0, func(int64) {}, nil},
		{0, func(sec int64) { went(sec, 2) }, &chart{Went: 2, WentEach: each(map[int]int64{59: 2})}},
		{7, func(sec int64) { wait(sec, 1500*time.Microsecond); wait(sec, 0) }, &chart{
			Went: 2, Waits: 1, Waited: 2, Longest: 2, WentEach: each(map[int]int64{52: 2}), LongestEach: each(map[int]int64{59: 2}),
		}},
		{59, func(sec int64) { went(sec, 1) }, &chart{
			Went: 3, Waits: 1, Waited: 2, Longest: 2, WentEach: each(map[int]int64{0: 2, 59: 1}), LongestEach: each(map[int]int64{7: 2}),
		}},
		{60, func(int64) {}, &chart{Went: 1, Waits: 1, Waited: 2, Longest: 2, WentEach: each(map[int]int64{58: 1}), LongestEach: each(map[int]int64{6: 2})}},
		{66, func(sec int64) { m.slots[m.at(sec)].refused++; m.slots[m.at(sec)].failed++ }, &chart{
			Went: 1, Refused: 1, Failed: 1, Waits: 1, Waited: 2, Longest: 2,
			WentEach: each(map[int]int64{52: 1}), RefusedEach: each(map[int]int64{59: 2}), LongestEach: each(map[int]int64{0: 2}),
		}},
		{67, func(int64) {}, &chart{Went: 1, Refused: 1, Failed: 1, WentEach: each(map[int]int64{51: 1}), RefusedEach: each(map[int]int64{58: 2})}},
		{125, func(int64) {}, &chart{Refused: 1, Failed: 1, RefusedEach: each(map[int]int64{0: 2})}},
		{126, func(int64) {}, nil},
		{100_000, func(sec int64) { went(sec, 1) }, &chart{Went: 1, WentEach: each(map[int]int64{59: 1})}},
	}
	for _, s := range steps {
		s.do(s.sec)
		if diff := cmp.Diff(s.want, m.chart(s.sec)); diff != "" {
			t.Errorf("second %d: %s", s.sec, diff)
		}
		if s.sec == 66 {
			if got, want := m.waitedFor(s.sec), [nKinds]time.Duration{0: 1500*time.Microsecond - 1, nKinds - 1: 1}; got != want {
				t.Errorf("waited for %v, want %v", got, want)
			}
		}
	}
	if got := m.waitedFor(100_000); got != [nKinds]time.Duration{} {
		t.Errorf("waited for %v, want nothing", got)
	}
}

// event is what hooks are told of a request to a bucket.
func event(req *http.Request, bucket string) pacer.Event {
	return pacer.Event{Request: req, Bucket: bucket, Label: bucket}
}

// However many buckets and requests there are, a bounded number is remembered; a bucket of which nothing was
// heard for a minute makes room.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Page
		trace := p.Trace()
		req := &http.Request{Method: http.MethodGet}
		for i := range maxCharted + 100 {
			trace.Went(pacer.Went{Event: event(req, fmt.Sprint("b", i))})
		}
		if n := len(p.record.buckets); n != maxCharted || p.record.all.sum(0).went != maxCharted+100 {
			t.Errorf("%d buckets with charts, %d went", n, p.record.all.sum(0).went)
		}
		time.Sleep(30 * time.Second)
		trace.Went(pacer.Went{Event: event(req, "b7")})
		trace.Went(pacer.Went{Event: event(req, "new")})
		time.Sleep(30 * time.Second)
		trace.Went(pacer.Went{Event: event(req, "new")})
		if p.record.buckets["new"] == nil || p.record.buckets["b7"] == nil || len(p.record.buckets) != 2 {
			t.Errorf("%d buckets are left", len(p.record.buckets))
		}
		for range 3 * maxPast {
			trace.Went(pacer.Went{Event: event(req, "new"), Wait: 9, Waits: make([]throttle.Wait, 9)})
		}
		if b := p.record.buckets["new"]; len(b.past) != maxPast || len(b.past[0].parts) != maxParts {
			t.Errorf("%d waits of %d parts", len(b.past), len(b.past[0].parts))
		}

		all := make([]*http.Request, maxInLine+10)
		for i := range all {
			all[i] = &http.Request{Method: http.MethodGet}
			trace.Queued(pacer.Queued{Event: event(all[i], "new")})
		}
		if n := len(p.record.inLine); n != maxInLine {
			t.Errorf("%d in line", n)
		}
		for _, r := range all[:10] {
			trace.Went(pacer.Went{Event: event(r, "new")})
		}
		if n := len(p.record.inLine); n != maxInLine-10 {
			t.Errorf("%d in line, after 10 went", n)
		}
		runtime.KeepAlive(all)
	})
}

// A request whose goroutine ended by a panic is not kept, and makes room when there is none.
func TestLostInLine(t *testing.T) {
	var p Page
	trace := p.Trace()
	for range maxInLine {
		trace.Queued(pacer.Queued{Event: event(&http.Request{Method: http.MethodGet}, "a")})
	}
	runtime.GC()
	req := &http.Request{Method: http.MethodGet}
	trace.Queued(pacer.Queued{Event: event(req, "a")})
	if n := len(p.record.inLine); n > 10 {
		t.Errorf("%d in line, want that of which there is a request", n)
	}
	runtime.KeepAlive(req)
}

// What is shown of a line costs no more memory the longer it is, and is its beginning: hooks wait meanwhile.
func TestShowsTheBeginningOfALine(t *testing.T) {
	var p Page
	trace := p.Trace()
	b := &bucket{state: throttle.State{Bucket: "a", Label: "a"}}
	s := &snapshot{labels: map[string]string{"a": "a"}, alike: map[string]int{"a": 1}}
	all := make([]*http.Request, 3000)
	allocations := map[int]float64{}
	for i := range all {
		all[i] = &http.Request{Method: http.MethodGet}
		trace.Queued(pacer.Queued{Event: event(all[i], "a")})
		n := i + 1
		if n != maxShown-1 && n != maxShown && n != len(all) {
			continue
		}
		d := p.detail(s, b, time.Now(), 0)
		if len(d.Line) != min(n, maxShown) || d.Known != n {
			t.Errorf("%d of %d are shown, want %d of %d", len(d.Line), d.Known, min(n, maxShown), n)
		}
		for k, in := range d.Line {
			if in.Number != uint64(k+1) {
				t.Errorf("number %d is at place %d of %d", in.Number, k+1, n)
			}
		}
		allocations[n] = testing.AllocsPerRun(10, func() { p.detail(s, b, time.Now(), 0) })
	}
	if few, many := allocations[maxShown], allocations[len(all)]; many > few {
		t.Errorf("%v allocations for a line of %d, and %v for one of %d", many, len(all), few, maxShown)
	}
	runtime.KeepAlive(all)
}

// In a line of which no more is remembered, each further request costs the same: room is looked for once a
// second. What is remembered is kept up to date.
func TestLookForRoomOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Page
		trace := p.Trace()
		queue := func() *http.Request {
			req := &http.Request{Method: http.MethodGet}
			trace.Queued(pacer.Queued{Event: event(req, "a")})
			return req
		}
		fill := func() (first *http.Request) {
			all := make([]*http.Request, maxInLine+1) // the last one comes when there is no room, and begins the second
			for i := range all {
				all[i] = queue()
			}
			defer runtime.KeepAlive(all)
			return all[0]
		}
		first := fill()
		runtime.GC()
		last := queue()
		if n := len(p.record.inLine); n != maxInLine {
			t.Errorf("%d in line, before a second has passed", n)
		}
		trace.Queued(pacer.Queued{Event: event(first, "a"), Cause: throttle.CauseHold})
		if w := p.record.inLine[weak.Make(first)]; w.told.Cause != throttle.CauseHold || w.number != 1 {
			t.Errorf("the first is told of as %+v", w)
		}
		time.Sleep(time.Second)
		trace.Queued(pacer.Queued{Event: event(last, "a")})
		if n := len(p.record.inLine); n != 2 {
			t.Errorf("%d in line, want the 2 of which there is a request", n)
		}
		runtime.KeepAlive(first)
		runtime.KeepAlive(last)
	})
}

// A request that does not wait costs no allocation.
func TestAllocations(t *testing.T) {
	var p Page
	trace := p.Trace()
	e := event(&http.Request{Method: http.MethodGet}, "a")
	n := testing.AllocsPerRun(100, func() {
		trace.Went(pacer.Went{Event: e, Attempt: 1})
		trace.Answered(pacer.Answered{Event: e, Attempt: 1, Status: 200})
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHooks(b *testing.B) {
	var p Page
	trace := p.Trace()
	e := event(&http.Request{Method: http.MethodGet}, "api.example.com")
	b.ReportAllocs()
	for b.Loop() {
		trace.Went(pacer.Went{Event: e, Attempt: 1})
		trace.Answered(pacer.Answered{Event: e, Attempt: 1, Status: 200})
	}
}
