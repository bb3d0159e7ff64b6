package civil

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// windows are windows of all sorts, with which of them a date belongs to: its number, by a plain look at the
// calendar.
func windows(zone *time.Location) map[string]struct {
	*Windows
	of func(y int, m time.Month, d int) int
} {
	type one = struct {
		*Windows
		of func(y int, m time.Month, d int) int
	}
	days := func(y int, m time.Month, d int) int {
		return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	}
	first := func(months, from int) func(y int, m time.Month, d int) int {
		return func(y int, m time.Month, d int) int {
			month := 12*y + int(m) - 1
			last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
			if month%months == 0 && d < min(from, last) {
				month--
			}
			return month / months
		}
	}
	return map[string]one{
		"day":            {Days(1, 0, zone), days},
		"3 days":         {Days(3, 0, zone), func(y int, m time.Month, d int) int { return days(y, m, d) / 3 }},
		"week, Thursday": {Days(7, 0, zone), func(y int, m time.Month, d int) int { return days(y, m, d) / 7 }},
		"week, Monday":   {Weeks(1, zone), func(y int, m time.Month, d int) int { return (days(y, m, d) + 3) / 7 }},
		"week, Sunday":   {Weeks(7, zone), func(y int, m time.Month, d int) int { return (days(y, m, d) + 4) / 7 }},
		"month":          {Months(1, 1, zone), first(1, 1)},
		"month from 15":  {Months(1, 15, zone), first(1, 15)},
		"month from 31":  {Months(1, 31, zone), first(1, 31)},
		"quarter":        {Months(3, 1, zone), first(3, 1)},
		"quarter from 9": {Months(3, 9, zone), first(3, 9)},
		"6 months":       {Months(6, 30, zone), first(6, 30)},
		"year":           {Months(12, 1, zone), first(12, 1)},
	}
}

// TestWindowsAgainstTheCalendar walks through years in quarters of an hour, in zones whose clocks were changed
// in every way: by an hour, half an hour, two hours, over midnight in both directions, over a whole day.
// Windows begin where, and only where, clocks show the first date of a window for the first time.
func TestWindowsAgainstTheCalendar(t *testing.T) {
	whole.Alone(t)
	for name, years := range map[string][2]int{
		"UTC":                 {1996, 2004}, // leap years
		"America/Los_Angeles": {2005, 2013}, // the rule changed
		"Europe/Berlin":       {2023, 2027},
		"America/Sao_Paulo":   {2015, 2020}, // at midnight
		"America/Havana":      {2010, 2013}, // one o'clock becomes midnight
		"Asia/Beirut":         {2021, 2024}, // midnight becomes one o'clock
		"America/St_Johns":    {2009, 2012}, // one minute past midnight, half an hour
		"Australia/Lord_Howe": {2018, 2020}, // half an hour
		"Antarctica/Troll":    {2018, 2020}, // two hours
		"Pacific/Apia":        {2011, 2013}, // had no 30 December 2011
		"Asia/Kathmandu":      {1985, 1987}, // from 5:30 to 5:45
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var walk []shown
		for at := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < years[1]; at = at.Add(step(at, zone)) {
			y, m, d := at.In(zone).Date()
			walk = append(walk, shown{at.UnixNano(), y, m, d})
		}
		for of, w := range windows(zone) {
			began, number := int64(0), math.MinInt
			for _, at := range walk {
				u := at.unix
				n := w.of(at.y, at.m, at.d)
				if n > number {
					if number > math.MinInt {
						if s, e := w.Of(u - 1); s > began && began > 0 || e != u {
							t.Fatalf("%s in %s: that before %v lies from %v to %v", of, name, time.Unix(0, u).In(zone), time.Unix(0, s).In(zone), time.Unix(0, e).In(zone))
						}
						began = u
					}
					number = n
				}
				if s, e := w.Of(u); began > 0 && s != began || s > u || e <= u {
					t.Fatalf("%s in %s: %v lies from %v to %v, which began %v", of, name, time.Unix(0, u).In(zone), time.Unix(0, s).In(zone), time.Unix(0, e).In(zone), time.Unix(0, began).In(zone))
				}
			}
		}
	}
}

// shown is the date that clocks show at an instant.
type shown struct {
	unix int64
	y    int
	m    time.Month
	d    int
}

// step is a quarter of an hour, but that clocks are changed a minute later, too; an hour by day, when no window
// begins, unless all is wanted.
func step(at time.Time, zone *time.Location) time.Duration {
	switch at.Minute() % 15 {
	case 0:
		if hour := at.In(zone).Hour(); 4 < hour && hour < 20 && !whole.Wanted() {
			return time.Hour
		}
		return time.Minute
	case 1:
		return 14 * time.Minute
	}
	panic("no quarter of an hour")
}

// The n-th window after an instant begins when n windows from there have ended; but for the days that a zone
// left out.
func TestAfterIsTheEndOfWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(0, 20))
	for _, name := range []string{"", "America/Los_Angeles", "Europe/Berlin", "Asia/Beirut"} {
		for of, w := range windows(Zone(name)) {
			for range 50 {
				at := r.Int64N(80*365*int64(day)) - 5*365*int64(day)
				_, end := w.Of(at)
				for n := range int64(20) {
					if got := w.After(at, n+1); got != end {
						t.Fatalf("%s in %q: window %d after %v begins %v, want %v", of, name, n+1, time.Unix(0, at), time.Unix(0, got), time.Unix(0, end))
					}
					_, end = w.Of(end)
					w.Of(at)
				}
			}
		}
	}
}

// A zone is read once.
func TestZoneIsRemembered(t *testing.T) {
	first := Zone("Europe/Berlin")
	if first != Zone("Europe/Berlin") || Zone("") != time.UTC || Zone("no/zone") != time.UTC {
		t.Error("zones differ")
	}
}
