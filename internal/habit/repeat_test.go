package habit

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/inside"
)

// counter reads answers as a Transport does: those that repeat one before by a Repeat, all others by the Habit.
type counter struct {
	h       Habit
	counts  *Repeat
	said    []headers.Limit // of the answer of which counts was made
	counted int
}

func (c *counter) got(r *headers.Reader, header http.Header, at time.Time) string {
	if c.counts != nil && c.counts.Current(since(at)) {
		var left inside.Left
		if c.counts.Read(r, header, &left) {
			limits := slices.Clone(c.said)
			for i := range limits {
				limits[i].Remaining.N = int64(left[i])
			}
			c.counted++
			return summary(headers.Facts{Limits: limits})
		}
		c.counts.TakeBack()
	}
	if !c.h.Reads(r, header, since(at)) {
		return "nothing"
	}
	limits, hint := c.h.Append(r, nil, header, at, since(at))
	if next := c.h.Repeat(c.counts, header, limits, hint, since(at)); next != nil {
		c.counts, c.said = next, limits
	}
	return summary(headers.Facts{Limits: limits, Retry: hint})
}

// left has a number of what remains in place of LEFT.
func left(n int, pairs ...string) http.Header {
	for i, v := range pairs {
		if v == "LEFT" {
			pairs[i] = fmt.Sprint(n)
		}
	}
	return fields(pairs...)
}

// TestRepeatReads: what repeats is counted as it would be read, in whatever form it comes.
func TestRepeatReads(t *testing.T) {
	reset := fmt.Sprint(noon.Unix() + 3600)
	for name, of := range map[string]func(n int) http.Header{
		"a trio": func(n int) http.Header {
			return left(n, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", reset)
		},
		"GitHub": func(n int) http.Header {
			return left(n, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", reset, "X-RateLimit-Used", fmt.Sprint(5000-n), "X-RateLimit-Resource", "core")
		},
		"draft 7": func(n int) http.Header {
			return fields("RateLimit-Policy", "5000;w=3600", "RateLimit", fmt.Sprintf("limit=5000, remaining=%d, reset=30", n))
		},
		"draft 8": func(n int) http.Header {
			return fields("RateLimit-Policy", `"default";q=5000;w=3600`, "RateLimit", fmt.Sprintf(`"default";r=%d;t=30`, n))
		},
		"two limits": func(n int) http.Header {
			return left(n, "X-RateLimit-Limit-Requests", "5000", "X-RateLimit-Remaining-Requests", "LEFT", "X-RateLimit-Reset-Requests", "1h0m0s",
				"X-RateLimit-Limit-Tokens", "150000", "X-RateLimit-Remaining-Tokens", fmt.Sprint(140000+n/2), "X-RateLimit-Reset-Tokens", "6m0s")
		},
		"no table": func(n int) http.Header {
			return left(n, "Acme-RateLimit-Things-Limit", "5000", "Acme-RateLimit-Things-Remaining", "LEFT", "Acme-RateLimit-Things-Reset", "30")
		},
		"without a limit": func(n int) http.Header { return left(n, "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", "30") },
	} {
		t.Run(name, func(t *testing.T) {
			var c counter
			for i := range 400 {
				header := of(4000 - i)
				if got, want := c.got(nil, header, noon), summary(headers.Parse(header, noon)); got != want {
					t.Fatalf("answer %d: got %s, want %s", i, got, want)
				}
			}
			if c.counted < 300 {
				t.Errorf("%d of 400 answers were counted", c.counted)
			}
		})
	}
}

// TestRepeatNot: what has to be read is not counted.
func TestRepeatNot(t *testing.T) {
	for name, of := range map[string]func(n int) http.Header{
		"used alone": func(n int) http.Header { return left(n, "X-RateLimit-Limit", "9000", "X-RateLimit-Used", "LEFT") },
		"another header has the number that follows from what is used": func(n int) http.Header {
			return left(n, "X-RateLimit-Limit", "9000", "X-RateLimit-Used", fmt.Sprint(9000-n), "X-Credits-Remaining", "LEFT")
		},
		"another header has the number of a state in a field of limits": func(n int) http.Header {
			return left(n, "X-RateLimit-Limit-Day", fmt.Sprintf(`"default";r=%d;t=30`, n), "X-Search-Remaining", "LEFT")
		},
		"used without a limit": func(n int) http.Header {
			return left(n, "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Used", "7")
		},
		"a hint": func(n int) http.Header { return left(n, "X-RateLimit-Remaining", "LEFT", "Retry-After", "3") },
		"a list": func(n int) http.Header { return fields("X-RateLimit-Remaining", fmt.Sprintf("%d, %d", n, n-1)) },
		"two lines": func(n int) http.Header {
			return http.Header{"X-Ratelimit-Remaining": {fmt.Sprint(n), fmt.Sprint(n - 1)}}
		},
		"a fraction": func(n int) http.Header { return fields("X-RateLimit-Remaining", fmt.Sprintf("%d.5", n)) },
		"two policies": func(n int) http.Header {
			return fields("RateLimit", fmt.Sprintf(`"a";r=%d;t=30, "b";r=%d;t=30`, n, n+1))
		},
		"more than an int32": func(n int) http.Header {
			return fields("X-RateLimit-Remaining", fmt.Sprint(int64(1)<<40+int64(n)))
		},
		"too many": func(n int) http.Header {
			h := http.Header{}
			for i := range len(inside.Left{}) + 1 {
				h[fmt.Sprintf("Ratelimit-Part%c-Remaining", 'a'+i)] = []string{fmt.Sprint(n + i)}
			}
			return h
		},
		"two of which as much remains": func(n int) http.Header {
			return left(n, "X-RateLimit-Remaining-Minute", "LEFT", "X-RateLimit-Remaining-Hour", "LEFT")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c counter
			for i := range 100 {
				header := of(4000 - i)
				if got, want := c.got(nil, header, noon), summary(headers.Parse(header, noon)); got != want {
					t.Fatalf("answer %d: got %s, want %s", i, got, want)
				}
			}
			if c.counted > 0 {
				t.Errorf("%d answers were counted", c.counted)
			}
		})
	}
}

// TestRepeatBound: what is new and stands in place of something else is missed for 15 answers, or 10 ms.
// Another reset and another bucket are not missed at all, nor what is missing or comes in addition.
func TestRepeatBound(t *testing.T) {
	usual := func(n int) http.Header {
		return left(n, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", "30", "X-RateLimit-Resource", "core", "Server", "x")
	}
	with := func(h http.Header, without string, add ...string) http.Header {
		h = maps.Clone(h)
		delete(h, without)
		maps.Copy(h, fields(add...))
		return h
	}
	for name, c := range map[string]struct {
		other  func(h http.Header) http.Header
		later  time.Duration
		missed int // at most
	}{
		"a hint in place of another header": {func(h http.Header) http.Header { return with(h, "Server", "Retry-After", "3") }, 0, 15},
		"the same, in the last moment":      {func(h http.Header) http.Header { return with(h, "Server", "Retry-After", "3") }, 10*time.Millisecond - 1, 15},
		"the same, later":                   {func(h http.Header) http.Header { return with(h, "Server", "Retry-After", "3") }, 10 * time.Millisecond, 0},
		"the same, with ever another reset": {func(h http.Header) http.Header {
			n := h.Get("X-RateLimit-Remaining")
			return with(h, "Server", "Retry-After", "3", "X-RateLimit-Reset", []string{"30", "29"}[n[len(n)-1]&1])
		}, 0, 15},
		"another limit":        {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Limit", "6000") }, 0, 15},
		"another limit, later": {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Limit", "6000") }, 10 * time.Millisecond, 0},
		"another reset":        {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Reset", "29") }, 0, 0},
		"another bucket":       {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Resource", "search") }, 0, 0},
		"no reset":             {func(h http.Header) http.Header { return with(h, "X-Ratelimit-Reset", "X-Other", "1") }, 0, 0},
		"a hint in addition":   {func(h http.Header) http.Header { return with(h, "", "Retry-After", "3") }, 0, 0},
		"a header less":        {func(h http.Header) http.Header { return with(h, "X-Ratelimit-Limit") }, 0, 0},
		"more remains":         {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Remaining", "4999") }, 0, 0},
		"nothing remains":      {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Remaining", "0") }, 0, 0},
		"no number remains":    {func(h http.Header) http.Header { return with(h, "", "X-RateLimit-Remaining", "some") }, 0, 0},
	} {
		for before := 32; before < 80; before += 5 {
			var r counter
			n := 4000
			for range before {
				n--
				r.got(nil, usual(n), noon)
			}
			if r.counts == nil {
				t.Fatal("nothing is counted")
			}
			missed := 0
			for {
				n--
				if h := c.other(usual(n)); r.got(nil, h, noon.Add(c.later)) == summary(headers.Parse(h, noon)) {
					break
				}
				if missed++; missed > 100 {
					break
				}
			}
			if missed > c.missed {
				t.Errorf("%s, after %d answers: %d answers were missed, want %d at most", name, before, missed, c.missed)
			}
		}
	}
}

// TestRepeatVectors: no answer of a server is read otherwise when it is repeated.
func TestRepeatVectors(t *testing.T) {
	var vectors []vector
	load(t, "headers.json", &vectors)
	for _, v := range vectors {
		var c counter
		header := header(v.Headers)
		want := summary(headers.Parse(header, v.ReceivedAt))
		for range 100 {
			if got := c.got(nil, header, v.ReceivedAt); got != want && (got != "nothing" || len(headers.Parse(header, v.ReceivedAt).Limits) > 0) {
				t.Fatalf("%s: got %s, want %s", v.ID, got, want)
			}
		}
	}
}

func TestRepeatAllocs(t *testing.T) {
	var c counter
	header := left(12, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", "30", "Server", "x")
	for range 40 {
		c.got(nil, header, noon)
	}
	var to inside.Left
	if n := testing.AllocsPerRun(100, func() { c.counts.Read(nil, header, &to) }); n != 0 || to[0] != 12 {
		t.Errorf("%v allocations, %d remain, want none and 12", n, to[0])
	}
}

// TestRepeatKeepsTexts: what says the same as before is not copied once more; what does not is.
func TestRepeatKeepsTexts(t *testing.T) {
	var c counter
	answer := func(reset string) { // each text is another copy
		header := left(12, "X-RateLimit-Limit", fmt.Sprint(5000), "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", reset)
		limits, hint := c.h.Append(nil, nil, header, noon, since(noon))
		if next := c.h.Repeat(c.counts, header, limits, hint, since(noon)); next != nil {
			c.counts = next
		}
	}
	for range 40 {
		answer("30")
	}
	texts := func() (at [2]*byte) {
		at[0] = unsafe.StringData(c.counts.rest.text)
		for f := c.counts.each; f != nil; f = f.next {
			if f.content == sameText {
				at[1] = unsafe.StringData(f.text)
			}
		}
		return at
	}
	first := texts()
	answer("30")
	if second := texts(); second != first || first[0] == nil || first[1] == nil {
		t.Errorf("texts are at %p, and were at %p", second, first)
	}
	answer("31")
	if third := texts(); third[0] != first[0] || third[1] == first[1] {
		t.Errorf("texts are at %p, and were at %p", third, first)
	}
}

func TestRepeatConcurrent(t *testing.T) {
	var c counter
	of := func(n int) http.Header {
		return left(n, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "LEFT", "X-RateLimit-Reset", "30")
	}
	for range 40 {
		c.got(nil, of(4000), noon)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 1000 {
				var to inside.Left
				if ok := c.counts.Read(nil, of(n+1), &to); !ok || to[0] != n+1 {
					t.Errorf("read: %v, %d remain, want %d", ok, to[0], n+1)
				}
			}
		})
	}
	wg.Wait()
}

// TestParse: a text is the number that strconv says, if it is nothing but digits, and few; whatever one of its
// bytes is.
func TestParse(t *testing.T) {
	for _, s := range []string{"", "0", "7", "007", "42", "123", "1234", "12345", "99999999", "123456789", "999999999", "1234567890"} {
		for i := range len(s) + 1 {
			for b := range 256 {
				text := []byte(s)
				if i < len(s) {
					text[i] = byte(b)
				}
				want, err := strconv.ParseUint(string(text), 10, 64)
				if got := parse(string(text)); err != nil || len(s) > maxDigits {
					if got != -1 {
						t.Fatalf("%q: %d, want -1", text, got)
					}
				} else if got != int(want) {
					t.Fatalf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}
