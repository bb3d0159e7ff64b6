package headers

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzParse reads headers from lines such as "Name: value", as they would arrive.
func FuzzParse(f *testing.F) {
	add := func(fields map[string][]string, received time.Time) {
		var b strings.Builder
		for name, values := range fields {
			for _, v := range values {
				b.WriteString(name + ": " + v + "\n")
			}
		}
		f.Add(b.String(), received.Unix())
	}
	var vectors []vector
	load(f, "headers.json", &vectors)
	for _, v := range vectors {
		add(v.Headers, v.ReceivedAt)
	}
	var cases []hostile
	load(f, "hostile_headers.json", &cases)
	for _, c := range cases {
		add(c.Headers, c.ReceivedAt)
	}
	var real []realAnswer
	load(f, "headers_real.json", &real)
	for _, v := range real {
		add(v.Headers, v.ReceivedAt)
	}
	for _, cases := range rules {
		for _, c := range cases {
			add(fields(c.in...), noon)
		}
	}
	for i := range unseens {
		add(fields(unseens[i].h...), noon)
	}
	f.Fuzz(func(t *testing.T, lines string, received int64) {
		h := http.Header{}
		for line := range strings.SplitSeq(lines, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				h.Add(name, value)
			}
		}
		facts := Parse(h, time.Unix(received, 0))
		checkBounds(t, facts)
		checkQuick(t, h, time.Unix(received, 0))
		for range 3 { // the order of the map is another one each time
			if again := Parse(h, time.Unix(received, 0)); !reflect.DeepEqual(again, facts) {
				t.Fatalf("two readings of the same headers\n%+v\n%+v", facts, again)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	var vectors []vector
	load(f, "headers.json", &vectors)
	for _, v := range vectors {
		for _, value := range header(v.Headers)["Retry-After"] {
			f.Add(value, v.ReceivedAt.Unix())
		}
	}
	for _, value := range []string{
		"30s", "2.5", "1, 3600", "1772452845", "1772452845000", "2026-03-02T12:00:00.5+01:00", "Sun Nov  6 08:49:37 1994",
		"Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "99999999999999999999", "-1", "1e3",
	} {
		f.Add(value, int64(1772452800))
	}
	f.Fuzz(func(t *testing.T, value string, date int64) {
		d, ok := retryAfter(value, time.Unix(date, 0))
		if d < 0 || d > MaxRetryAfter || !ok && d != 0 {
			t.Errorf("Retry-After %q = %v, %v", value, d, ok)
		}
	})
}

// FuzzReader reads headers that a dialect names, whatever it is.
func FuzzReader(f *testing.F) {
	f.Add("acme", "tokens", int64(1000), int64(time.Minute), int64(time.Millisecond), "X-Acme-Left", "7", "X-Acme-Reset", "1500")
	f.Add("", "", int64(0), int64(0), int64(time.Hour), "Retry-After", "1, 2", "retry-after", "99999999999999999999")
	f.Add("\x00", "\n", int64(-1), int64(-1), int64(1), "Date", "-1", "", "0.000000001")
	f.Fuzz(func(t *testing.T, name, unit string, total, window, step int64, left, leftValue, reset, resetValue string) {
		d := Dialect{
			Name: name, Unit: unit, FixedLimit: total, FixedWindow: time.Duration(window), Step: time.Duration(step),
			Remaining: left, Reset: reset, RetryAfter: resetValue, Used: leftValue,
		}
		r := &Reader{Dialects: []Dialect{d, {Limit: left}}, Ignore: []string{reset}}
		h := http.Header{left: {leftValue}, reset: {resetValue}, leftValue: {resetValue, "5"}, resetValue: {left}}
		facts := r.Parse(h, noon)
		checkBounds(t, facts)
		if r.Validate() == nil && left != "" && reset != "" {
			t.Errorf("Validate says nothing about %+v", r.Dialects) // Limit and Remaining are one header, at least
		}
		if again := r.Parse(h, noon); !reflect.DeepEqual(again, facts) {
			t.Errorf("two readings of the same headers\n%+v\n%+v", facts, again)
		}
	})
}
