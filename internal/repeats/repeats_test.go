package repeats

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/habit"
	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

var within = throttle.Inside(inside.Key{})

// world is a bucket whose server counts down.
type world struct {
	t      *testing.T
	l      throttle.Limiter
	habit  habit.Habit
	as     Answers
	left   int
	header http.Header
}

// request makes a request, and reports whether its answer repeated one before.
func (w *world) request(may bool) (ended, current bool) {
	w.t.Helper()
	g, err := w.l.Acquire(w.t.Context(), throttle.Claim{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.left--
	w.header.Set("X-RateLimit-Remaining", fmt.Sprint(w.left))
	if a := w.as.Latest(); a != nil {
		var left inside.Left
		current = a.Current(within.Elapsed(g))
		if ended = current && a.Read(nil, w.header, &left) && within.Count(g, a.Mark, &left); current && !ended {
			a.TakeBack()
		}
	}
	if ended {
		return ended, current
	}
	limits, hint := w.habit.Append(nil, nil, w.header, within.Time(g), within.Elapsed(g))
	a := throttle.Answer{}
	for _, l := range limits {
		a.Statements = append(a.Statements, quota.Statement{Limit: l.Limit.N, Remaining: l.Remaining.N, Reset: l.Reset.In, ResetKnown: true, Resolution: time.Second})
	}
	var c *habit.Repeat
	if may {
		c = w.as.Next(within.Elapsed(g), &w.habit, w.header, limits, hint, a.Statements)
	}
	_, mark := within.Answered(g, a, c != nil)
	w.as.Note(c, mark)
	return ended, current
}

// TestAnswersThatComeSlowly: nothing is made for answers to come where none comes within 10 ms, and again as
// soon as they come faster.
func TestAnswersThatComeSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t: t, left: 1000, header: http.Header{"X-Ratelimit-Limit": {"1000"}, "X-Ratelimit-Reset": {"3600"}}}
		for range 40 {
			w.request(false)
		}
		w.habit.Repeat(nil, w.header, []headers.Limit{{}}, headers.Retry{}, 1) // of the first answer, it is tried
		for i := range 20 {
			time.Sleep(10 * time.Millisecond)
			if w.request(true); w.as.Latest() != nil {
				t.Fatalf("what is to read answers was made for answer %d, 10 ms after another", i)
			}
		}
		time.Sleep(10*time.Millisecond - 1)
		if w.request(true); w.as.Latest() == nil {
			t.Fatal("nothing was made for an answer less than 10 ms after another")
		}
		for i := range 20 { // by turns, one is read, and one repeats it
			time.Sleep(10*time.Millisecond - 1)
			if ended, _ := w.request(true); ended != (i%2 == 1) {
				t.Fatalf("answer %d: repeats one: %v", i, ended)
			}
		}
		before := w.as.Latest()
		for range 20 {
			time.Sleep(20 * time.Millisecond)
			w.request(true)
		}
		if w.as.Latest() == before {
			t.Error("nothing was made after an answer that others had repeated")
		}
		before = w.as.Latest()
		time.Sleep(20 * time.Millisecond)
		if w.request(true); w.as.Latest() != before {
			t.Error("what is to read answers was made anew although it was of no use before")
		}
	})
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t: t, left: 1000, header: http.Header{"X-Ratelimit-Limit": {"1000"}, "X-Ratelimit-Reset": {"3600"}}}
		for i := range 40 {
			if ended, current := w.request(false); ended || current {
				t.Fatalf("answer %d repeats one although none may", i)
			}
		}
		w.request(true)
		for i := range 100 {
			if ended, current := w.request(true); !ended || !current {
				t.Fatalf("answer %d: repeats %v, current %v", i, ended, current)
			}
		}
		if got := w.l.State().Limits[0].Available; got != int64(w.left) {
			t.Errorf("%d remain, want %d", got, w.left)
		}
		w.left += 50 // more than before
		if ended, current := w.request(true); ended || !current {
			t.Errorf("more remains: repeats %v, current %v, want false and true", ended, current)
		}
		time.Sleep(10 * time.Millisecond)
		if ended, current := w.request(true); ended || current {
			t.Errorf("after 10 ms: repeats %v, current %v", ended, current)
		}
		if ended, _ := w.request(true); !ended {
			t.Error("the next answer after one that was read does not repeat it")
		}
		w.header.Set("X-RateLimit-Reset", "3599")
		if ended, current := w.request(true); ended || !current {
			t.Errorf("another reset: repeats %v, current %v, want false and true", ended, current)
		}
	})
}
