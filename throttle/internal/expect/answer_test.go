package expect

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// heard is an answer, and how long the next one is expected to take.
type heard struct {
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
		{"at once", []heard{{want: 0}, {took: 2 * ms, want: 2 * ms}, {want: 1 * ms}, {want: 0}}},
	} {
		var a Answer
		for i, h := range c.answers {
			if a.Note(h.took, h.refused, h.lost); a.takes != h.want {
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
			a.Note(took, false, false)
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

func TestAnswerBefore(t *testing.T) {
	const s = monotime.Time(time.Second)
	a := Answer{takes: time.Second}
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
	} {
		if at, takes := a.Before(c.deadline, c.since, c.ofAnswer); at != c.at || takes != c.takes {
			t.Errorf("%+v: before %d, for an answer that takes %v", c, at, takes)
		}
	}
}
