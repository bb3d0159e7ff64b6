package headers

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/headers/internal/name"
)

func TestReader(t *testing.T) {
	acme := Dialect{
		Name: "acme", Unit: "tokens", FixedWindow: time.Minute, Step: time.Millisecond,
		Limit: "X-Acme-Cap", Remaining: "X-Acme-Quota-Left", Reset: "X-Acme-Refill",
	}
	for _, tt := range []struct {
		name   string
		reader *Reader
		in     http.Header
		want   string
	}{
		{
			"all of it", &Reader{Dialects: []Dialect{acme}},
			fields("X-Acme-Cap", "100", "X-Acme-Quota-Left", "7", "X-Acme-Refill", "1500"), `"acme" 7/100 tokens in 1.5s per 1m0s`,
		},
		{
			"part of it", &Reader{Dialects: []Dialect{acme}}, fields("X-Acme-Quota-Left", "7"), `"acme" 7/? tokens per 1m0s`,
		},
		{
			"an instant in that step", &Reader{Dialects: []Dialect{acme}},
			fields("X-Acme-Quota-Left", "0", "X-Acme-Refill", "1772452801500"), `"acme" 0/? tokens in 1.5s per 1m0s`,
		},
		{
			"none of it", &Reader{Dialects: []Dialect{acme}}, fields("Content-Type", "text/plain"), `nothing`,
		},
		{
			"names in lower case", &Reader{Dialects: []Dialect{{Remaining: "acme-left"}}},
			http.Header{"Acme-Left": {"7"}},
			`"" 7/?`,
		},
		{
			"keys in lower case", &Reader{Dialects: []Dialect{{Remaining: "Acme-Left"}}},
			http.Header{"acme-left": {"7"}},
			`"" 7/?`,
		},
		{
			"a name that is skipped otherwise", &Reader{Dialects: []Dialect{{Remaining: "Content-Left"}}},
			fields("Content-Left", "7"), `"" 7/?`,
		},
		{
			"what is known beside it", &Reader{Dialects: []Dialect{acme}},
			fields("X-Acme-Quota-Left", "7", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12"), `"acme" 7/? tokens per 1m0s, "" 12/60`,
		},
		{
			"the same limit twice", &Reader{Dialects: []Dialect{{Name: "acme", Limit: "X-Cap", Remaining: "X-Left"}}},
			fields("X-Cap", "60", "X-Left", "12", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "30"), `"acme" 12/60 in 30s`,
		},
		{
			"another meaning", &Reader{Dialects: []Dialect{{Unit: "credits", Limit: "X-RateLimit-Remaining", Remaining: "X-RateLimit-Limit"}}},
			fields("X-RateLimit-Limit", "12", "X-RateLimit-Remaining", "60"), `"" 12/60 credits`,
		},
		{
			"used, of a total that only the documentation tells",
			&Reader{Dialects: []Dialect{{Name: "weight", Unit: "weight", FixedLimit: 6000, FixedWindow: time.Minute, Used: "X-MBX-Used-Weight-1m"}}},
			fields("X-MBX-Used-Weight-1m", "45"), `"weight" 5955/6000 weight per 1m0s`,
		},
		{
			"a total that a header tells", &Reader{Dialects: []Dialect{{FixedLimit: 6000, Limit: "X-Cap", Used: "X-Gone"}}},
			fields("X-Cap", "100", "X-Gone", "45"), `"" 55/100`,
		},
		{
			"unlimited in spite of a total", &Reader{Dialects: []Dialect{{FixedLimit: 6000, Limit: "X-Cap", Remaining: "X-Left"}}},
			fields("X-Cap", "unlimited", "X-Left", "55"), `"" 55/?`,
		},
		{
			"Retry-After in milliseconds", &Reader{Dialects: []Dialect{{RetryAfter: "Retry-After", Step: time.Millisecond}}},
			fields("Retry-After", "1500"), `retry 1.5s`,
		},
		{
			"minutes", &Reader{Dialects: []Dialect{{Remaining: "X-Left", Reset: "X-Back", RetryAfter: "X-Pause", Step: time.Minute}}},
			fields("X-Left", "0", "X-Back", "5", "X-Pause", "2"), `"" 0/? in 5m0s, retry 2m0s`,
		},
		{
			"a long delay whose step is stated", &Reader{Dialects: []Dialect{{Remaining: "X-Left", Reset: "X-Back", FixedWindow: time.Hour, Step: time.Second}}},
			fields("X-Left", "0", "X-Back", "90000"), `"" 0/? in 25h0m0s per 1h0m0s`,
		},
		{
			"a window that a header tells", &Reader{Dialects: []Dialect{{Limit: "X-Cap", Remaining: "X-Left", Window: "X-Per", FixedWindow: time.Hour}}},
			fields("X-Cap", "60", "X-Left", "12", "X-Per", "90"), `"" 12/60 per 1m30s`,
		},
		{
			"a window in milliseconds", &Reader{Dialects: []Dialect{{Limit: "X-Cap", Remaining: "X-Left", Window: "X-Per", Step: time.Millisecond}}},
			fields("X-Cap", "60", "X-Left", "12", "X-Per", "1500"), `"" 12/60 per 1.5s`,
		},
		{
			"a window of which the header says nothing", &Reader{Dialects: []Dialect{{Limit: "X-Cap", Remaining: "X-Left", Window: "X-Per", FixedWindow: time.Hour}}},
			fields("X-Cap", "60", "X-Left", "12", "X-Per", "soon"), `"" 12/60 per 1h0m0s`,
		},
		{
			"a total beside a header that says nothing", &Reader{Dialects: []Dialect{{FixedLimit: 6000, Limit: "X-Cap", Remaining: "X-Left"}}},
			fields("X-Cap", "many", "X-Left", "55"), `"" 55/?`,
		},
		{
			"lists", &Reader{Dialects: []Dialect{{Limit: "X-Caps", Remaining: "X-Lefts"}}},
			fields("X-Caps", "10, 100", "X-Lefts", "3, 50"), `"" 3/10, "" 50/100`,
		},
		{
			"ignored", &Reader{Ignore: []string{"x-ratelimit-limit", "X-RateLimit-Remaining", "Retry-After"}},
			fields("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "Retry-After", "5", "RateLimit-Remaining", "12"), `"" 12/?`,
		},
		{
			"from a cache", &Reader{Dialects: []Dialect{acme}}, fields("X-Acme-Quota-Left", "7", "Age", "5"), `nothing`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.reader.Validate(); err != nil {
				t.Errorf("Validate: %v", err)
			}
			facts := tt.reader.Parse(tt.in, noon)
			checkBounds(t, facts)
			if got := summary(facts); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestReaderDeviations reads the cases which only documentation tells how to read.
func TestReaderDeviations(t *testing.T) {
	r := &Reader{Dialects: []Dialect{
		{Name: "user", Unit: "credits", Limit: "X-RateLimit-UserLimit", Remaining: "X-RateLimit-UserRemaining", Reset: "X-RateLimit-UserReset"},
		{Name: "client", Unit: "credits", Limit: "X-RateLimit-ClientLimit", Remaining: "X-RateLimit-ClientRemaining"},
		{Name: "videos", Unit: "videos", FixedWindow: time.Minute, Limit: "X-RateLimit-Limit-Videos-Minute", Remaining: "X-RateLimit-Remaining-Videos-Minute"},
		{Step: time.Millisecond, Limit: "X-Rate-Limit-Limit", Remaining: "X-Rate-Limit-Remaining", Reset: "X-Rate-Limit-Reset"},
		{Unit: "resource-units", Limit: "RateLimit-Limit", Remaining: "RateLimit-Remaining", Reset: "RateLimit-Reset"},
	}}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	load(t, "headers.json", &vectors)
	n := 0
	for _, v := range vectors {
		if _, deviates := deviations[v.ID]; !deviates {
			continue
		}
		n++
		facts := r.Parse(header(v.Headers), v.ReceivedAt)
		if len(facts.Limits) != len(v.Expect) {
			t.Errorf("%s: %s", v.ID, summary(facts))
			continue
		}
		for i, e := range v.Expect {
			if missing, wrong := e.differs(facts.Limits[i]); len(missing)+len(wrong) > 0 {
				t.Errorf("%s: missing %q, wrong %q\n\tgot %s", v.ID, missing, wrong, summary(facts))
			}
		}
	}
	if n != len(deviations) {
		t.Errorf("%d cases, want %d", n, len(deviations))
	}
}

// TestReaderZero checks that a nil and a zero Reader, and one whose dialects do not occur,
// read all cases as Parse does, by each of their methods.
func TestReaderZero(t *testing.T) {
	readers := []*Reader{nil, {}, {Dialects: []Dialect{{Remaining: "X-Nobody-Sends-This"}}}}
	var vectors []vector
	load(t, "headers.json", &vectors)
	for _, v := range vectors {
		h := header(v.Headers)
		want := Parse(h, v.ReceivedAt)
		for i, r := range readers {
			for method, got := range map[string]Facts{
				"Parse": r.Parse(h, v.ReceivedAt), "Append": r.Append(Facts{Retry: Retry{Known: true}}, h, v.ReceivedAt), "ParseBody": r.ParseBody(h, []byte("{}"), v.ReceivedAt),
			} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s of reader %d (-want +got):\n%s", v.ID, method, i, diff)
				}
			}
			if !r.Reads(h) && (len(want.Limits) > 0 || want.Retry != Retry{}) {
				t.Errorf("%s: reader %d tells nothing", v.ID, i)
			}
		}
	}
	var r *Reader
	if err := r.Validate(); err != nil {
		t.Errorf("nil Reader: Validate: %v", err)
	}
}

func TestReaderValidate(t *testing.T) {
	many := make([]Dialect, name.MaxTable+3) // those behind the first that is too many say no more
	for i := range many {
		many[i].Remaining = fmt.Sprint("X-Left-", i)
	}
	for _, tt := range []struct {
		name   string
		reader *Reader
		want   string
	}{
		{"a space", &Reader{Dialects: []Dialect{{Name: "acme", Remaining: "X Acme Left"}}}, `headers: Dialects[0] ("acme").Remaining: "X Acme Left" is no name of a header: ' ' is not allowed in it`},
		{"a colon", &Reader{Dialects: []Dialect{{Remaining: "X-Left:"}}}, `headers: Dialects[0].Remaining: "X-Left:" is no name of a header: ':' is not allowed in it`},
		{"too short", &Reader{Dialects: []Dialect{{Remaining: "XL"}}}, `headers: Dialects[0].Remaining: "Xl" is a name of 2 bytes, want 3 to 128`},
		{"Date", &Reader{Dialects: []Dialect{{Reset: "date"}}}, `headers: Dialects[0].Reset: the header Date says when the response was written, and nothing else`},
		{
			"two meanings", &Reader{Dialects: []Dialect{{Name: "a", Limit: "X-Acme"}, {Name: "b", Remaining: "x-acme"}}},
			`headers: Dialects[1] ("b").Remaining: X-Acme is Dialects[0] ("a").Limit already`,
		},
		{"twice in one", &Reader{Dialects: []Dialect{{Limit: "X-Acme", Remaining: "X-Acme"}}}, `headers: Dialects[0].Remaining: X-Acme is Dialects[0].Limit already`},
		{
			"read and ignored", &Reader{Dialects: []Dialect{{Remaining: "X-Left"}}, Ignore: []string{"X-Right", "X-Left"}},
			`headers: Ignore[1]: X-Left is Dialects[0].Remaining already`,
		},
		{"nothing", &Reader{Dialects: []Dialect{{Name: "acme", Used: "X-Used", Window: "X-Period"}}}, `headers: Dialects[0] ("acme"): says nothing, want one of Limit, Remaining, Reset and RetryAfter, or Used with FixedLimit`},
		{"a name", &Reader{Dialects: []Dialect{{Name: "caf\u00e9", Limit: "X-Cap"}}}, `headers: Dialects[0] ("café"): has the Name "café", want printable ASCII of at most 64 bytes`},
		{"a unit", &Reader{Dialects: []Dialect{{Unit: "\n", Limit: "X-Cap"}}}, `headers: Dialects[0]: has the Unit "\n", want printable ASCII of at most 64 bytes`},
		{"a total", &Reader{Dialects: []Dialect{{FixedLimit: -1, Limit: "X-Cap"}}}, `headers: Dialects[0]: has a FixedLimit of -1, want 0 to 999999999999999`},
		{"a window", &Reader{Dialects: []Dialect{{FixedWindow: -time.Second, Limit: "X-Cap"}}}, `headers: Dialects[0]: has a FixedWindow of -1s, want 0 to 8784h0m0s`},
		{"a step", &Reader{Dialects: []Dialect{{Step: 24 * time.Hour, Limit: "X-Cap"}}}, `headers: Dialects[0]: has a Step of 24h0m0s, want 0 to 1h0m0s`},
		{
			"several", &Reader{Dialects: []Dialect{{Name: "acme"}, {Limit: "X Cap", Reset: "Date"}}, Ignore: []string{"XL"}},
			`headers: Dialects[0] ("acme"): says nothing, want one of Limit, Remaining, Reset and RetryAfter, or Used with FixedLimit
headers: Dialects[1].Limit: "X Cap" is no name of a header: ' ' is not allowed in it
headers: Dialects[1].Reset: the header Date says when the response was written, and nothing else
headers: Ignore[0]: "Xl" is a name of 2 bytes, want 3 to 128`,
		},
		{"too many", &Reader{Dialects: many}, `headers: Dialects[256].Remaining: there are over 256 headers`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.reader.Validate()
			if err == nil || err.Error() != tt.want {
				t.Errorf("Validate = %v\nwant       %s", err, tt.want)
			}
		})
	}
}

// TestReaderInvalid checks that what is right is read although something else is wrong.
func TestReaderInvalid(t *testing.T) {
	r := &Reader{Dialects: []Dialect{{Remaining: "bad name"}, {Name: "acme", Remaining: "X-Left", Reset: "Date"}}}
	if got, want := summary(r.Parse(fields("X-Left", "7", "Date", "Mon, 02 Mar 2026 12:00:00 GMT"), noon)), `"acme" 7/?`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "bad name") || !strings.Contains(err.Error(), "Date") {
		t.Errorf("Validate = %v, want both mistakes", err)
	}
}

func TestReaderConcurrent(t *testing.T) {
	r := &Reader{Dialects: []Dialect{{Remaining: "X-Left"}}}
	h := fields("X-Left", "7")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, want := summary(r.Parse(h, noon)), `"" 7/?`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	wg.Wait()
}

func TestReaderAllocs(t *testing.T) {
	r := &Reader{Dialects: []Dialect{{Name: "acme", Unit: "tokens", Limit: "X-Cap", Remaining: "X-Left", Reset: "X-Back"}}}
	h := fields("Date", "Mon, 02 Mar 2026 12:00:00 GMT", "X-Cap", "100", "X-Left", "7", "X-Back", "30", "RateLimit-Remaining", "12")
	var buf [4]Limit
	if n := testing.AllocsPerRun(100, func() { r.Append(Facts{Limits: buf[:0]}, h, noon) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
