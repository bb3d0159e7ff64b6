package value

import (
	"net/http"
	"testing"
	"time"
)

// TestCivil compares the arithmetic of dates with package time, over four centuries.
func TestCivil(t *testing.T) {
	for d := time.Date(1900, 1, 1, 13, 14, 15, 0, time.UTC); d.Year() < 2300; d = d.AddDate(0, 0, 1) {
		got, step, ok := ParseInstant(d.Format(http.TimeFormat))
		if !ok || step != time.Second || !got.Equal(d) {
			t.Fatalf("%v, %v, want %v", got, ok, d)
		}
	}
}

func TestParseInstant(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 1, 0, 0, time.UTC)
	for _, tt := range []struct {
		text       string
		want       time.Time
		resolution time.Duration
	}{
		{"Mon, 02 Mar 2026 12:01:00 GMT", at, time.Second},
		{"Tue, 02 Mar 2026 12:01:00 GMT", at, time.Second}, // a wrong day of the week
		{"Mon, 02 Mar 2026 12:01:00 UTC", at, time.Second},
		{"Mon, 2 Mar 2026 12:01:00 GMT", at, time.Second},    // as Java's RFC_1123_DATE_TIME prints it
		{"Mon, 02 Mar 2026 12:01:00 -0000", at, time.Second}, // as Python's email.utils.formatdate does
		{"Mon, 02 Mar 2026 12:01:00 +0000", at, time.Second}, // as PHP's DATE_RFC2822 and Go's time.RFC1123Z do
		{"Mon, 2 Mar 2026 07:01:00 -0500", at, time.Second},  // RFC 5322, 3.3
		{"Mon, 02 Mar 2026 17:31:00 +0530", at, time.Second},
		{"Monday, 02-Mar-26 12:01:00 GMT", at, time.Second},
		{"Mon Mar  2 12:01:00 2026", at, time.Second},
		{"Mon Mar 02 2026 13:01:00 GMT+0100 (Central European Standard Time)", at, time.Second},
		{"2026-03-02T12:01Z", at, time.Minute},
		{"2026-Mar-02 12:01:00+0000 UTC", at, time.Second},
		{"2026-03-02T12:01:00", at, time.Second},
		{"2026-03-02 12:01:00.25 UTC", at.Add(250 * time.Millisecond), 10 * time.Millisecond},
		{"2026-03-02T13:01:00+01:00", at, time.Second},
		{"2026-03-02T13:01:00+0100", at, time.Second},
		{"2026-03-02t11:01:00-01", at, time.Second},
		{"2026-03-02T15:01:00+03", at, time.Second},
		{"2026-03-02 15:01:00 +03", at, time.Second},
		{"2026-12-31T23:59:60Z", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Second}, // a leap second

		{text: "Mon, 31 Feb 2026 12:00:00 GMT"},
		{text: "Mon, 02 Mar 2026 12:01:00 PST"},
		{text: "Mon, 2 Mar 2026 12:01:00 PST"},
		{text: "Mon, 31 Feb 2026 12:00:00 +0000"},
		{text: "Mon, 2 Mar 2026 24:01:00 +0000"},
		{text: "Mon, 2 Mar 2026 12:01:00 +2500"},
		{text: "Mon, 2 Mar 2026 12:01:00 +01"},
		{text: "Monday, 02-Mar-26 12:02:00 PST"},
		{text: "2026-02-29T12:00:00Z"},
		{text: "2100-02-29T12:00:00Z"}, // no leap year
		{"2000-02-29T12:00:00Z", time.Date(2000, 2, 29, 12, 0, 0, 0, time.UTC), time.Second},
		{text: "2026-03-02T24:00:00Z"},
		{text: "2026-03-02T12:01:00+25:00"},
		{text: "2026-03-02T12:01:00.Z"},
		{text: "2026-03-02"},
		{text: ""},
	} {
		got, resolution, ok := ParseInstant(tt.text)
		if ok != !tt.want.IsZero() || ok && (!got.Equal(tt.want) || resolution != tt.resolution) {
			t.Errorf("ParseInstant(%q) = %v, %v, %v, want %v, %v", tt.text, got, resolution, ok, tt.want, tt.resolution)
		}
	}
}
