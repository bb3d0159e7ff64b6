package quota

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const losAngeles = "America/Los_Angeles"

// Spans of the calendar are read, written back, and the same as what is written in Go.
func TestParseCalendar(t *testing.T) {
	for _, test := range []struct {
		text, back string
		want       Quota
	}{
		{"1000/w", "1000/7d", Quota{N: 1000, Per: week}},
		{"1000/2weeks", "1000/14d", Quota{N: 1000, Per: 2 * week}},
		{"1000/w window grid", "", Quota{N: 1000, Per: week, Kind: ClockWindow, From: 1}},
		{"1000/week window grid from Sunday", "1000/w window grid from sunday", Quota{N: 1000, Per: week, Kind: ClockWindow, From: 7}},
		{"1000/7d window grid", "", Quota{N: 1000, Per: week, Kind: ClockWindow}}, // begins on a Thursday, as it always did
		{"1000/7d window grid from monday", "1000/w window grid", Quota{N: 1000, Per: week, Kind: ClockWindow, From: 1}},
		{"1000/w from tuesday window grid in " + losAngeles, "1000/w window grid from tuesday in " + losAngeles, Quota{N: 1000, Per: week, Kind: ClockWindow, From: 2, Zone: losAngeles}},
		{"2000/month", "", Quota{N: 2000, Months: 1}},
		{"2000/mo", "2000/month", Quota{N: 2000, Months: 1}},
		{"2000/month window grid", "", Quota{N: 2000, Months: 1, Kind: ClockWindow}},
		{"2000/month from 15", "", Quota{N: 2000, Months: 1, From: 15}},
		{"2000/month from 1", "", Quota{N: 2000, Months: 1, From: 1}},
		{"2000/month in Europe/Berlin from 31", "2000/month from 31 in Europe/Berlin", Quota{N: 2000, Months: 1, From: 31, Zone: "Europe/Berlin"}},
		{"5 tokens/3months queue 9", "5 tokens/quarter queue 9", Quota{N: 5, Unit: "tokens", Months: 3, Queue: 9}},
		{"5/6months", "", Quota{N: 5, Months: 6}},
		{"5/year", "", Quota{N: 5, Months: 12}},
		{"5/y", "5/year", Quota{N: 5, Months: 12}},
		{"5/1yr as a", "5/year as a", Quota{N: 5, Months: 12, Name: "a"}},
		{"10000/d window grid in " + losAngeles, "", Quota{N: 10000, Per: day, Kind: ClockWindow, Zone: losAngeles}},
		{"1MB/day window grid in UTC", "1MB/d window grid in UTC", Quota{N: 1e6, Unit: Bytes, Per: day, Kind: ClockWindow, Zone: "UTC"}},
	} {
		back := test.back
		if back == "" {
			back = test.text
		}
		got, err := Parse(test.text)
		if err != nil || !slices.Equal(got, Quotas{test.want}) || got.String() != back {
			t.Errorf("%q is read as %#v, %v, and written %q, want %#v, %q", test.text, got, err, got, test.want, back)
		}
		text, err := json.Marshal(got)
		var again Quotas
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%q as JSON is %s, which is read as %#v, %v", test.text, text, again, err)
		}
		if e := got.Explicit(); e.Validate() != nil || !slices.Equal(e, e.Explicit()) {
			t.Errorf("%q has the defaults %#v, %v", test.text, e, e.Validate())
		}
	}
}

// What is wrong is named, with its column and what was expected.
func TestParseCalendarErrors(t *testing.T) {
	for text, want := range map[string]string{
		"5/month from 0":                        `column 14: "0", want a day of the month from 1 to 31`,
		"5/month from 32":                       `column 14: "32", want a day of the month from 1 to 31`,
		"5/month from monday":                   `column 14: "monday", want a day of the month from 1 to 31`,
		"5/month from":                          `column 13: nothing, want a day of the month`,
		"5/w window grid from 3":                `column 22: "3", want a day of the week such as monday, or of a month: 2000/month from 15`,
		"5/w from friday":                       `column 5: "from", did you mean "5/w window grid from friday"`,
		"5/s, 100/week from monday":             `column 15: "from", did you mean "5/s, 100/w window grid"`,
		"5/d window grid from friday":           `column 17: "5/d window grid from 5": From is 5, want 0 without`,
		"5/5months":                             `column 3: "5months", want month, 2months, quarter, 4months, 6months or year`,
		"5/100y":                                `column 3: "100y", want month, 2months, quarter, 4months, 6months or year`,
		"5/2years":                              `column 3: "2years", want month, 2months, quarter,`,
		"5/0month":                              `column 3: "0month", want ms, s, m, h, d, w, month`,
		"5/month burst 3":                       `column 1: "5/month burst 3", did you mean "5/30d burst 3" (months differ in length)`,
		"5/month even":                          `column 1: "5/month even", did you mean "5/30d even" (months differ in length)`,
		"5/year even as x":                      `column 1: "5/year even as x", did you mean "5/365d even as x" (months`,
		"5/quarter debt from 2":                 `column 1: "5/quarter debt from 2": Months is 3, want 0 for a TokenBucket`,
		"5/month log":                           `column 9: "log", did you mean "5/30d log" (months differ in length)`,
		"5/year window":                         `column 8: "window", did you mean "5/year window grid"`,
		"5/d in Europe/Berlin":                  `column 5: "in", did you mean "5/d window grid in Europe/Berlin"`,
		"5/w in Europe/Berlin":                  `column 5: "in", did you mean "5/w window grid in Europe/Berlin"`,
		"5/d window in Europe/Berlin":           `column 12: "in", did you mean "5/d window grid in Europe/Berlin"`,
		"5/d even in Europe/Berlin":             `column 10: "5/d even in Europe/Berlin": Zone is "Europe/Berlin", want none without Months`,
		"5/h in Europe/Berlin":                  `column 5: "5/h in Europe/Berlin": Zone is "Europe/Berlin", want none without Months`,
		"5/mon":                                 `column 3: "mon", did you mean "5/month"`,
		"5/weekly":                              `column 3: "weekly", did you mean "5/7d"`,
		"5/h window grid in Europe/Berlin":      `column 17: "5/h window grid in Europe/Berlin": Zone is "Europe/Berlin", want none without`,
		"5/d window grid in Europe/Nowhere":     `column 20: "Europe/Nowhere", want a time zone of the IANA database such as America/Los_Angeles`,
		"5/d window grid in Local":              `column 20: "Local", want a time zone`,
		"5/d window grid in ../UTC":             `column 20: "../UTC", want a time zone`,
		"5/d window grid in":                    `column 19: nothing, want a time zone`,
		"5/s, 5/month in UTC in UTC":            `column 21: "in", want only one in`,
		"1000/d window grid UTC":                `column 20: "UTC", did you mean "1000/d window grid in UTC"`,
		"1000/d grid in utc":                    `column 8: "grid", did you mean "1000/d window grid in UTC"`,
		"1000 a month GMT":                      `column 6: "a", did you mean "1000/month in UTC"`,
		"1000/d window grid Asia/Tokyo":         `column 20: "Asia/Tokyo", want "in" before a time zone`,
		"1000/d window grid Asia/Nowhere":       `column 20: "Asia/Nowhere", want a comma, even, `,
		"5/Y":                                   `column 3: "Y", did you mean "5/year"`,
		"5/month from 3 from 4":                 `column 16: "from", want only one from`,
		"5/d window grid in , 5/s":              `column 20: ",", want a time zone`,
		"5/d window grid from monday in Europe": `column 32: "Europe", want a time zone`,
	} {
		qs, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", text, qs, err, want)
		}
	}
	for want, q := range map[string]Quota{
		`"5/7d from 5": From is 5, want 0 without Months or a ClockWindow of a week (1000/month, 1000/w window grid)`:                               {N: 5, Per: week, From: 5},
		`"5/month burst 3": Months is 1, want 0 for a TokenBucket, which is refilled evenly: over 30d, say`:                                         {N: 5, Months: 1, Burst: 3},
		`"5/month log": Kind is log, want Plain or ClockWindow beside Months`:                                                                       {N: 5, Months: 1, Kind: SlidingLog},
		`"5/year window": Kind is window, want Plain or ClockWindow beside Months`:                                                                  {N: 5, Months: 12, Kind: FixedWindow},
		`"5/d in Europe/Berlin": Zone is "Europe/Berlin", want none without Months or a ClockWindow of whole days (1000/month, 1000/d window grid)`: {N: 5, Per: day, Zone: "Europe/Berlin"},
		`Per is 1h0m0s, want 0 beside Months`:                     {N: 1, Months: 1, Per: time.Hour},
		`Months is -1, want 1, 2, 3, 4, 6 or 12`:                  {N: 1, Months: -1},
		`From is -1, want a day of the month from 1 to 31`:        {N: 1, Months: 1, From: -1},
		`From is 8, want a day of the week from 1, Monday, to 7`:  {N: 1, Per: week, Kind: ClockWindow, From: 8},
		`N is 0, want a positive number beside Months, From or a`: {Months: 1},
		`Zone is "a b", want a time zone of the IANA database`:    {N: 1, Months: 1, Zone: "a b"},
		`Months is 1, want 0 for InFlight and Unanswered`:         {N: 1, Months: 1, Kind: InFlight, Per: time.Second},
	} {
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%#v: got %v, want %q", q, err, want)
		}
	}
}

// Where a machine has no data of time zones, the error says what to do, and does not blame the name.
func TestZoneWithoutData(t *testing.T) {
	none := func(name string) (*time.Location, error) { return nil, errors.New("unknown time zone " + name) }
	if got := wantedZone("Asia/Yerevan", none); got != `data of time zones, of which this machine has none: import _ "time/tzdata" in the program` {
		t.Errorf("got %q", got)
	}
}

// Longest is how long some months last at most, from whichever day they are counted.
func TestLongestMonths(t *testing.T) {
	for _, months := range []int{1, 2, 3, 4, 6, 12} {
		q, longest := Quota{N: 1, Months: months}, time.Duration(0)
		for first := range 12 / months {
			for year := 2023; year < 2026; year++ {
				from := time.Date(year, time.Month(1+first*months), 1, 0, 0, 0, 0, time.UTC)
				longest = max(longest, from.AddDate(0, months, 0).Sub(from))
			}
		}
		if got := q.longestMonths(); got != longest {
			t.Errorf("%d months last %v, want %v", months, got, longest)
		}
	}
}

func TestRedundantCalendar(t *testing.T) {
	for text, want := range map[string]string{
		"5/month, 6/month": "6/month never binds: 5/month admits at most 5 in each window of month",
		"5/month window grid in UTC, 6/month window grid in UTC": "6/month window grid in UTC never binds: 5/month window grid in UTC admits at most 5 in each window of month",
		"79/month window grid, 100/month":                        "100/month never binds: 79/month window grid admits at most 79 in each window of month",
		"81/month window grid, 100/month":                        "", // of which the last fifth may be spread
		"5/month, 6/month from 2":                                "",
		"5/d window grid, 6/d window grid in Asia/Tokyo":         "",
		"1/d, 100/month":                                         "",
		"5/month, 100/s":                                         "",
		"5/year in UTC, 5/year in UTC":                           "5/year in UTC never binds: 5/year in UTC admits the same",
	} {
		if got := strings.Join(MustParse(text).Redundant(), ""); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
