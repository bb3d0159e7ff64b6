package habit

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/inside"
)

// since is an instant by the clock of a Habit.
func since(at time.Time) time.Duration { return at.Sub(noon) + time.Hour }

// got is what a Habit makes of an answer, read as a Transport reads it.
func (h *Habit) got(r *headers.Reader, header http.Header, at time.Time) string {
	if !h.Reads(r, header, since(at)) {
		return "nothing"
	}
	limits, hint := h.Append(r, nil, header, at, since(at))
	return summary(headers.Facts{Limits: limits, Retry: hint})
}

// TestHabit: after 32 answers with the same headers, what is there instead of another header is missed for 15
// answers, or for 10 ms; what is missing, and what comes in addition, is not.
func TestHabit(t *testing.T) {
	spoken := fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "Server", "x", "X-Other", "1")
	silent := fields("Server", "x", "X-Other", "1")
	with := func(h http.Header, without string, add ...string) http.Header {
		h = maps.Clone(h)
		delete(h, without)
		maps.Copy(h, fields(add...))
		return h
	}
	const hint = "Retry-After"
	for name, c := range map[string]struct {
		usual, other http.Header
		answers      int           // of the usual ones, in an instant
		later        time.Duration // the other ones come
		missed       int
	}{
		"before there is a habit":          {spoken, with(spoken, "Server", hint, "3"), 31, 0, 0},
		"in place of another":              {spoken, with(spoken, "Server", hint, "3"), 32, 0, 15},
		"after some":                       {spoken, with(spoken, "Server", hint, "3"), 40, 0, 7},
		"in the last moment":               {spoken, with(spoken, "Server", hint, "3"), 32, 10*time.Millisecond - 1, 15},
		"later":                            {spoken, with(spoken, "Server", hint, "3"), 32, 10 * time.Millisecond, 0},
		"before, by a clock that was set":  {spoken, with(spoken, "Server", hint, "3"), 32, -1, 0},
		"in addition":                      {spoken, with(spoken, "", hint, "3"), 32, 0, 0},
		"in place of what spoke of limits": {spoken, with(spoken, "X-Ratelimit-Limit", hint, "3"), 32, 0, 0},
		"of a server that says nothing":    {silent, with(silent, "Server", hint, "3"), 32, 0, 15},
		"in addition to nothing":           {silent, with(silent, "", hint, "3"), 32, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var h Habit
			for range c.answers {
				if got, want := h.got(nil, c.usual, noon), summary(headers.Parse(c.usual, noon)); got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
			}
			missed := 0
			for h.got(nil, c.other, noon.Add(c.later)) != summary(headers.Parse(c.other, noon)) {
				if missed++; missed > 100 {
					break
				}
			}
			if missed != c.missed {
				t.Errorf("%d answers were missed, want %d", missed, c.missed)
			}
		})
	}
}

// TestHabitByTurns: of news that each n-th answer has in place of another header, at most 31 are missed,
// whatever n is, but for multiples of 31. If all answers have it, 15 are.
func TestHabitByTurns(t *testing.T) {
	silent := fields("Server", "x", "X-Other", "1")
	spoken := fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "30", "Server", "x")
	in := since(noon)
	for name, c := range map[string]struct {
		usual http.Header
		start func() (heard func(http.Header) bool) // reads one answer after the other
	}{
		"nothing": {silent, func() func(http.Header) bool {
			var h Habit
			return func(header http.Header) bool { return h.Reads(nil, header, in) }
		}},
		"read": {spoken, func() func(http.Header) bool {
			var h Habit
			var few [2]headers.Limit
			return func(header http.Header) bool {
				_, hint := h.Append(nil, few[:0], header, noon, in)
				return hint.Known
			}
		}},
		"repeated": {spoken, func() func(http.Header) bool {
			var h Habit
			var few [2]headers.Limit
			var c *Repeat
			return func(header http.Header) bool {
				var left inside.Left
				if c != nil {
					if c.Read(nil, header, &left) {
						return false
					}
					c.TakeBack()
				}
				limits, hint := h.Append(nil, few[:0], header, noon, in)
				c = h.Repeat(nil, header, limits, hint, in)
				return hint.Known
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			news := maps.Clone(c.usual)
			delete(news, "Server")
			news["Retry-After"] = []string{"3"}
			for n := 1; n <= 64; n++ {
				most := 31
				if n == 1 {
					most = 15
				}
				for phase := 0; phase < n && n%31 != 0; phase++ {
					heard, missed := c.start(), 0
					for i := -40; ; i++ {
						if i < 0 || i%n != phase {
							if heard(c.usual) {
								t.Fatal("what the others say is taken for news")
							}
						} else if heard(news) {
							break
						} else if missed++; missed > most {
							t.Errorf("each %d-th answer from the %d-th on has news: more than %d of them were missed", n, phase, most)
							break
						}
					}
				}
			}
		})
	}
}

// TestHabitCountsAnswersOnce: what each n-th answer has is found also if some of the others are read twice, as
// a Transport reads them: by a Repeat, which turns them down or is of no use to the bucket, or by Reads, and
// then by Append.
func TestHabitCountsAnswersOnce(t *testing.T) {
	usual := fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "30", "Server", "x")
	news := fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "30", "Retry-After", "3")
	in := since(noon)
	for name, other := range map[string]http.Header{
		"another reset":       fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "31", "Server", "x"),
		"no number":           fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "", "X-RateLimit-Reset", "30", "Server", "x"),
		"more remains":        fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "13", "X-RateLimit-Reset", "30", "Server", "x"),
		"nothing can be read": fields("X-RateLimit-Limit", "?", "X-RateLimit-Remaining", "?", "X-RateLimit-Reset", "?", "Server", "x"),
		"nothing can be read, and no Repeat is made": fields("X-RateLimit-Limit", "?", "X-RateLimit-Remaining", "?", "X-RateLimit-Reset", "?", "Server", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			for n := 2; n <= 40; n++ {
				for others := 0; others < n && n != 31; others++ {
					var h Habit
					var few [2]headers.Limit
					var repeat *Repeat
					heard := func(header http.Header) bool {
						var left inside.Left
						if repeat != nil {
							if repeat.Read(nil, header, &left) && left[0] == 12 {
								return false
							}
							repeat.TakeBack()
						}
						if !h.Reads(nil, header, in) {
							return false
						}
						limits, hint := h.Append(nil, few[:0], header, noon, in)
						if repeat == nil && !strings.Contains(name, "no Repeat") {
							repeat = h.Repeat(nil, header, limits, hint, in)
						}
						return hint.Known
					}
					for range 64 {
						heard(usual)
					}
					for i, missed := 0, 0; ; i++ {
						header := usual
						if i%n < others {
							header = other
						}
						if i%n < n-1 {
							heard(header)
						} else if heard(news) {
							break
						} else if missed++; missed > 31 {
							t.Errorf("each %d-th answer has news, and %d others are read twice: more than 31 were missed", n, others)
							break
						}
					}
				}
			}
		})
	}
}

// TestHabitByTime: a look that comes by number does not put off the one that is due 10 ms after the latest of
// its kind.
func TestHabitByTime(t *testing.T) {
	usual, news := fields("Server", "x", "X-Other", "1"), fields("Retry-After", "3", "X-Other", "1")
	var h Habit
	tells := func(header http.Header, after time.Duration) bool {
		return h.Reads(nil, header, since(noon.Add(after)))
	}
	for range 32 {
		tells(usual, 0)
	}
	for range 16 { // the last of which is looked at
		tells(usual, 9*time.Millisecond)
	}
	if tells(news, 10*time.Millisecond-1) {
		t.Error("a look before it is due")
	}
	if !tells(news, 10*time.Millisecond) {
		t.Error("no look 10 ms after the first")
	}
}

// TestHabitNames: no longer names are kept than others have, whatever they say.
func TestHabitNames(t *testing.T) {
	long := strings.Repeat("x", 1<<10)
	var h Habit
	for range 40 {
		h.Append(nil, nil, fields("X-RateLimit-Remaining", "3", "X-RateLimit-Remaining-"+long, "3", long+"-Quota-Left", "4", "X-"+long, "5"), noon, since(noon))
	}
	k := h.known.Load()
	if k == nil || len(k.told) == 0 {
		t.Fatal("nothing is remembered")
	}
	names := slices.Clone(k.others)
	for i := range k.told {
		names = append(names, k.told[i].Key)
	}
	for _, key := range names {
		if len(key) > longestName {
			t.Errorf("a name of %d bytes is kept", len(key))
		}
	}
}

// TestHabitValues: values are read of each answer.
func TestHabitValues(t *testing.T) {
	var h Habit
	for n := range 200 {
		header := fields("Date", "Mon, 02 Mar 2026 12:00:00 GMT", "Acme-RateLimit-Things-Limit", "500", "Acme-RateLimit-Things-Remaining", fmt.Sprint(300-n), "Acme-RateLimit-Things-Reset", fmt.Sprint(noon.Unix()+int64(n)))
		if got, want := h.got(nil, header, noon), summary(headers.Parse(header, noon)); got != want {
			t.Fatalf("answer %d: got %s, want %s", n, got, want)
		}
	}
}

// TestHabitVectors: whatever a server says, a Habit reads as a Reader does, as long as the names are the same.
func TestHabitVectors(t *testing.T) {
	var vectors []vector
	load(t, "headers.json", &vectors)
	own := &headers.Reader{Dialects: []headers.Dialect{{Remaining: "X-Left"}}, Ignore: []string{"X-RateLimit-Limit"}}
	for _, v := range vectors {
		for _, r := range []*headers.Reader{nil, own} {
			var h Habit
			header := header(v.Headers)
			want := r.Append(headers.Facts{}, header, v.ReceivedAt)
			for range 100 {
				var got headers.Facts
				got.Limits, got.Retry = h.Append(r, nil, header, v.ReceivedAt, since(v.ReceivedAt))
				if reflect.DeepEqual(got, want) {
					continue // what cmp takes long to find
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", v.ID, diff)
				}
			}
		}
	}
}

// TestHabitAllocs: names that no table knows are taken apart once.
func TestHabitAllocs(t *testing.T) {
	header := fields("Acme-RateLimit-Things-Limit", "500", "Acme-RateLimit-Things-Remaining", "3", "Acme-RateLimit-Things-Reset", "30")
	var h Habit
	var buf [4]headers.Limit
	read := func() { h.Append(nil, buf[:0], header, noon, since(noon)) }
	for range 32 {
		read()
	}
	if n := testing.AllocsPerRun(10, read); n != 0 {
		t.Errorf("%v allocations", n)
	}
	h = Habit{}
	silent := fields(usual...)
	if n := testing.AllocsPerRun(1000, func() { h.Reads(nil, silent, since(noon)) }); n != 0 {
		t.Errorf("%v allocations of a server that says nothing", n)
	}
}

// TestHabitTooManyNames: of an answer with hundreds of names that only rules know, the hint is read, and
// nothing is remembered.
func TestHabitTooManyNames(t *testing.T) {
	for _, pattern := range []string{"X-Ratelimit-A%d-Remaining", "X-%d-Retry-After"} {
		header := fields("Date", noon.Format(http.TimeFormat), "RateLimit-Limit", "10", "RateLimit-Remaining", "3", "Retry-After", "7")
		for i := range 500 {
			header[http.CanonicalHeaderKey(fmt.Sprintf(pattern, i))] = []string{"1"}
		}
		var h Habit
		for range 40 {
			limits, hint := h.Append(nil, nil, header, noon, 0)
			if s := summary(headers.Facts{Limits: limits, Retry: hint}); s != "retry 7s" {
				t.Errorf("%s: %s, want only the hint", pattern, s)
			}
		}
		if h.known.Load() != nil {
			t.Errorf("%s: the names are remembered", pattern)
		}
	}
}

// TestHabitBounded: a server that sends ever new names is remembered for nothing.
func TestHabitBounded(t *testing.T) {
	var h Habit
	for i := range 1000 {
		header := http.Header{}
		for k := range 100 {
			header[fmt.Sprintf("X-%d-Ratelimit-Remaining-%d", i, k)] = []string{"1"}
		}
		if limits, _ := h.Append(nil, nil, header, noon, since(noon)); len(limits) != 0 {
			t.Fatalf("%d limits of an answer with too many headers", len(limits))
		}
		if h.known.Load() != nil {
			t.Fatal("too many headers are remembered")
		}
	}
}

func TestHabitConcurrent(t *testing.T) {
	var h Habit
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				header := fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", fmt.Sprint(n%60))
				if i%2 == 1 && n > 100 {
					header = fields("X-Other-Limit-Of-Requests", "60", "Server", "x")
				}
				if got, want := h.got(nil, header, noon), summary(headers.Parse(header, noon)); i%2 == 0 && got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestHabitTurnsConcurrent: of several goroutines that look at answers whose turn has come, one begins to count
// anew, and no other takes back what is counted meanwhile.
func TestHabitTurnsConcurrent(t *testing.T) {
	var h Habit
	var ended atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !ended.Load() {
				h.noteTurn()
			}
		})
	}
	unread := 0
	for i := range 1_000_000 {
		if h.unread.Add(1) <= habitUnread {
			if unread++; unread > habitUnread {
				t.Errorf("answer %d is the %dth in a row at which nobody looks", i, unread)
				break
			}
			continue
		}
		unread = 0
		h.noteTurn()
	}
	ended.Store(true)
	wg.Wait()
}
