package expect

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// heard is an answer, and how long the next one is expected to take.
type heard struct {
	after         time.Duration // how long after the answer before it
	took          time.Duration
	refused, lost bool
	want          time.Duration
}

func TestAnswer(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		answers []heard
	}{
		{"the first one tells all, and those alike tell nothing new", []heard{{took: 640 * ms, want: 640 * ms}, {took: 640 * ms, want: 640 * ms}}},
		{"a refusal tells nothing", []heard{{took: 640 * ms, want: 640 * ms}, {took: 5 * ms, refused: true, want: 640 * ms}, {took: 900 * ms, refused: true, lost: true, want: 640 * ms}}},
		{"down by a 64th, up by nine", []heard{{took: 640 * ms, want: 640 * ms}, {took: 1 * ms, want: 630 * ms}, {took: 2000 * ms, want: 630*ms + 9*(630*ms/64)}}},
		{"one that does not come within the time would have taken longer", []heard{{took: 640 * ms, want: 640 * ms}, {took: 640 * ms, lost: true, want: 730 * ms}}},
		{"one that is given up sooner tells nothing", []heard{{took: 640 * ms, want: 640 * ms}, {took: 100 * ms, lost: true, want: 640 * ms}}},
		{"lost before anything is known", []heard{{took: 300 * ms, lost: true, want: 300 * ms}}},
		{"a minute without an answer", []heard{{took: 640 * ms, want: 640 * ms}, {after: memory, took: 1 * ms, want: 630 * ms}, {after: memory + 1, took: 1 * ms, want: 1 * ms}}},
		{"a minute without one that tells something", []heard{{took: 640 * ms, want: 640 * ms}, {after: memory, refused: true, want: 640 * ms}, {after: 1, took: 100 * ms, lost: true, want: 100 * ms}}},
		{"at once", []heard{{want: 0}, {took: 2 * ms, want: 2 * ms}, {want: 1 * ms}, {want: 0}}},
	} {
		var a Answer
		now := monotime.Time(time.Hour)
		for i, h := range c.answers {
			now = now.Add(h.after)
			if a.Note(now.Add(-h.took), now, true, h.refused, h.lost); a.takes != h.want {
				t.Errorf("%s: after answer %d of %v: %v, want %v", c.name, i, h.took, a.takes, h.want)
			}
		}
	}
}

// Nine of ten answers take no longer than is expected, by whatever law their times vary, and if they change.
func TestAnswerQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name  string
		takes func(i int) time.Duration
	}{
		{"uniform", func(int) time.Duration { return time.Duration(100+900*r.Float64()) * time.Millisecond }},
		{"exponential", func(int) time.Duration { return time.Duration(200*r.ExpFloat64()) * time.Millisecond }},
		{"one of twenty takes half a minute", func(int) time.Duration {
			if r.IntN(20) == 0 {
				return 30 * time.Second
			}
			return time.Duration(100+100*r.Float64()) * time.Millisecond
		}},
		{"ten times as much after the half", func(i int) time.Duration {
			return time.Duration((1+9*(i/10_000))*int(100+100*r.Float64())) * time.Millisecond
		}},
	} {
		var a Answer
		within, most := 0, time.Duration(0)
		for i := range 20_000 {
			took := c.takes(i)
			if i > 1000 && took <= a.takes {
				within++
			}
			now := monotime.Time(time.Hour) + monotime.Time(i)
			a.Note(now.Add(-took), now, true, false, false)
			most = max(most, a.takes)
		}
		if share := float64(within) / 19_000; share < 0.87 || share > 0.93 {
			t.Errorf("%s: %.3f of the answers took no longer, want 0.9", c.name, share)
		}
		if c.name[:3] == "one" && most > 2*time.Second {
			t.Errorf("%s: %v, want the time of the others", c.name, most)
		}
	}
}

// What was slow once is forgotten soon, where all answers are quick.
func TestAnswerFalls(t *testing.T) {
	var a Answer
	a.Note(1, 1+monotime.Time(5*time.Second), true, false, false)
	n := 0
	for ; a.takes > 20*time.Millisecond; n++ {
		a.Note(1, 1+monotime.Time(10*time.Millisecond), true, false, false)
		a.Note(1, 1+monotime.Time(time.Hour), false, false, false)
	}
	if n != 133 {
		t.Errorf("after %d answers of 10ms, 20ms are expected, want 133", n)
	}
}

func TestAnswerBefore(t *testing.T) {
	const s = monotime.Time(time.Second)
	a := Answer{takes: time.Second, heard: 1}
	const late = 1 + monotime.Time(memory)
	for _, c := range []struct {
		deadline, since monotime.Time
		ofAnswer        bool
		at              monotime.Time
		takes           time.Duration
	}{
		{10 * s, 2 * s, true, 9 * s, time.Second},
		{10 * s, 2 * s, false, 10 * s, 0},
		{0, 2 * s, true, 0, 0},
		{10 * s, 9 * s, true, 10*s - s/2, time.Second / 2},
		{10 * s, 10 * s, true, 10 * s, 0},
		{10 * s, 11 * s, true, 10 * s, 0},
		{late + 10*s, late, true, late + 9*s, time.Second},
		{late + 10*s, late + 1, true, late + 10*s, 0},
		{4 * late, 2 * late, true, 4*late - s, time.Second}, // all that it has is more than a minute
		{4 * late, 2*late + 2, true, 4 * late, 0},
	} {
		if at, takes := a.Before(c.deadline, c.since, c.ofAnswer); at != c.at || takes != c.takes {
			t.Errorf("%+v: before %d, for an answer that takes %v", c, at, takes)
		}
	}
}
