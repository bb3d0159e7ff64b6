// Package civil has windows that begin at midnight of days of the calendar: days and weeks as the clocks of a
// time zone show them, months, years.
//
// In come instants, in nanoseconds since 1970; out come the instants between which a window lies. A window
// begins with a day, and a day at the first instant at which the clocks show its date, or a later one. That is
// midnight, unless clocks are put forward then. Where they are put back over midnight, the day has begun
// already. So windows follow one another without a gap, whatever is done to clocks. The package knows nothing
// of what goes in a window.
package civil

import "time"

// Windows are windows of some days, or of some months.
type Windows struct {
	days, months int
	from         int // the day of the month on which windows of months begin; of days, which day since 1970 one of them begins on
	zone         *time.Location

	start, end int64 // of the window that was asked for last
}

// Days returns windows of so many days, of which one begins on the first day of 1970, and so many days later.
func Days(days, later int, zone *time.Location) *Windows {
	w := &Windows{days: days, from: later, zone: zone}
	return w
}

// Weeks returns windows of a week that begin on a day of the week, from 1 for Monday to 7 for Sunday.
func Weeks(from int, zone *time.Location) *Windows {
	return Days(7, from-4, zone) // 1970 began on a Thursday
}

// Months returns windows of 1, 2, 3, 4, 6 or 12 months, of which one begins in January, on that day of the
// month, or on the last one if the month is shorter.
func Months(months, from int, zone *time.Location) *Windows {
	return &Windows{months: months, from: from, zone: zone}
}

// Of returns the window in which an instant lies: from start on, before end.
func (w *Windows) Of(t int64) (start, end int64) {
	if t < w.start || t >= w.end {
		w.start, w.end, _ = w.find(t)
	}
	return w.start, w.end
}

// After returns when the n-th window after that of an instant begins.
func (w *Windows) After(t int64, n int64) int64 {
	if t >= w.start && t < w.end && n == 1 {
		return w.end
	}
	_, _, number := w.find(t)
	return w.begin(number + n)
}

// find returns the window in which an instant lies, and its number.
func (w *Windows) find(t int64) (start, end, number int64) {
	number = w.number(time.Unix(0, t).In(w.zone))
	for start = w.begin(number); start > t; start = w.begin(number) {
		number--
	}
	for end = w.begin(number + 1); end <= t; end = w.begin(number + 1) { // the clocks were put back over midnight
		number, start = number+1, end
	}
	return start, end, number
}

// number returns the number of the window that a date belongs to, or of one close to it.
func (w *Windows) number(date time.Time) int64 {
	y, m, d := date.Date()
	if w.months > 0 {
		return floor(int64(y)*12+int64(m)-1, int64(w.months))
	}
	return floor(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()/int64(day/time.Second)-int64(w.from), int64(w.days))
}

const day = 24 * time.Hour

// begin returns when a window begins.
func (w *Windows) begin(number int64) int64 {
	if w.months == 0 {
		return w.midnight(time.Unix((number*int64(w.days)+int64(w.from))*int64(day/time.Second), 0).UTC())
	}
	month := number * int64(w.months)
	y, m := int(floor(month, 12)), time.Month(month-12*floor(month, 12))+1
	last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC)
	return w.midnight(last.AddDate(0, 0, min(w.from-last.Day(), 0)))
}

// midnight returns the first instant at which the clocks of the zone show a date, or a later one. The date is
// given as its midnight by UTC.
func (w *Windows) midnight(date time.Time) int64 {
	if w.zone == time.UTC {
		return date.UnixNano()
	}
	local := date.Unix()
	for t := date.Add(-2 * day).In(w.zone); ; { // no clock is two days ahead of another
		_, offset := t.Zone()
		_, until := t.ZoneBounds()
		if !until.IsZero() && !until.After(t) { // as time.Time says of 31 December 2040, where a rule goes on for ever
			until = t.Add(15 * time.Minute)
		}
		at := time.Unix(max(local-int64(offset), t.Unix()), 0)
		if until.IsZero() || at.Before(until) {
			return at.UnixNano()
		}
		t = until
	}
}

// floor returns a/b rounded down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
