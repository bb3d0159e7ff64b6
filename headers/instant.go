package headers

import (
	"net/http"
	"strings"
	"time"
)

// clock tells the instant at which an answer was written, and reads Date only if
// somebody asks.
type clock struct {
	dates    []string // the lines of Date
	aged     bool     // a cache answered, some time after Date
	received time.Time
	now      time.Time
	read     bool
}

// maxSkew is how far Date may be from the local clock to be believed.
const maxSkew = 24 * time.Hour

// until returns the time from the writing of the answer to t. It is false if
// nobody says when that was.
func (c *clock) until(t time.Time) (time.Duration, bool) {
	if !c.read {
		c.now, c.read = c.written(), true
	}
	return between(c.now, t), !c.now.IsZero()
}

// skew returns by how much the local time was ahead of the server's, once until has
// told that time.
func (c *clock) skew() time.Duration {
	if c.received.IsZero() {
		return 0
	}
	return between(c.now, c.received)
}

// between is u.Sub(t) for instants of the wall clock, which takes a third of the time.
// What is above a century is one.
func between(t, u time.Time) time.Duration {
	const century = 100 * 366 * 24 * 3600
	s := min(max(u.Unix()-t.Unix(), -century), century)
	return time.Duration(s)*time.Second + time.Duration(u.Nanosecond()-t.Nanosecond())
}

// written returns Date if there is exactly one which is valid, near the local
// clock, and not that of a cached answer; else the time of receipt.
func (c *clock) written() time.Time {
	if len(c.dates) != 1 || c.aged {
		return c.received
	}
	date, _, ok := parseInstant(trim(c.dates[0]))
	if !ok || !c.received.IsZero() && between(c.received, date).Abs() > maxSkew {
		return c.received
	}
	return date
}

// parseInstant reads an instant in any of the forms in use, and the step in which
// it is stated. The day of the week is not checked: published examples have wrong ones.
func parseInstant(s string) (t time.Time, step time.Duration, ok bool) {
	if len(s) < len("2006-01-02T15:04") || len(s) > 2*maxNumber {
		return t, 0, false
	}
	if isDigit(s[0]) {
		return parseISO(s)
	}
	if len(s) == len(http.TimeFormat) && s[3] == ',' && s[7] == ' ' {
		t, ok = parseIMF(s)
		return t, time.Second, ok
	}
	if head, _, found := strings.Cut(s, " ("); found || strings.Contains(s, " GMT+") || strings.Contains(s, " GMT-") {
		// Date.prototype.toString of ECMA-262.
		t, err := time.Parse("Mon Jan 02 2006 15:04:05 GMT-0700", head)
		return t, time.Second, err == nil
	}
	// RFC 850 and asctime (RFC 9110, 5.6.7). The time package takes any
	// abbreviation of a zone for UTC, so that one is checked here.
	if i := strings.LastIndexByte(s, ' '); i < 0 || strings.Contains(s, ",") && s[i:] != " GMT" && s[i:] != " UTC" {
		return t, 0, false
	}
	t, err := http.ParseTime(s)
	return t, time.Second, err == nil
}

// parseIMF reads the fixed-width form of an HTTP-date, "Sun, 06 Nov 1994 08:49:37
// GMT" (RFC 9110, 5.6.7), and the same with UTC, which Go's time.RFC1123 prints.
func parseIMF(s string) (time.Time, bool) {
	if s[4] != ' ' || s[11] != ' ' || s[16] != ' ' || s[25] != ' ' || s[26:] != "GMT" && s[26:] != "UTC" {
		return time.Time{}, false
	}
	return civil(s[12:16], month(s[8:11]), s[5:7], s[17:25])
}

// month returns the number of a month, zero if it is none.
func month(name string) int {
	switch name {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}

// civil returns the instant of a civil date and "15:04:05" in UTC. A leap second is
// the first of the next minute.
func civil(year string, month int, day, clock string) (time.Time, bool) {
	y, d := atoi(year), atoi(day)
	h, m, s := atoi(clock[:2]), atoi(clock[3:5]), atoi(clock[6:])
	if y < 1 || d < 1 || h < 0 || m < 0 || s < 0 || month < 1 || month > 12 || h > 23 || m > 59 || s > 60 ||
		clock[2] != ':' || clock[5] != ':' {
		return time.Time{}, false
	}
	leap := y%4 == 0 && (y%100 != 0 || y%400 == 0)
	if d > daysIn[month-1] && (!leap || month != 2 || d != 29) {
		return time.Time{}, false // 31 February must not become 3 March
	}
	// Days since the epoch, by years that begin in March. This is several times as
	// fast as time.Date, which is most of the cost of reading a Date.
	if month -= 2; month <= 0 {
		month += 12
		y--
	}
	days := y/4 - y/100 + y/400 + 367*month/12 + d + y*365 - 719499
	return time.Unix(int64(days)*86400+int64(h*3600+m*60+s), 0), true
}

var daysIn = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// atoi reads a fixed-width number, -1 if it is none.
func atoi(s string) int {
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// parseISO reads RFC 3339 and its relatives of ISO 8601: a space for the T,
// seconds left out, any number of digits in the fraction, a zone without a colon
// or no zone, which means UTC.
func parseISO(s string) (t time.Time, step time.Duration, ok bool) {
	if s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != 't' && s[10] != ' ' || s[13] != ':' {
		return t, 0, false
	}
	clock, rest := s[11:16], s[16:]
	step = time.Minute
	if len(rest) >= 3 && rest[0] == ':' {
		clock, rest, step = s[11:19], s[19:], time.Second
	} else {
		clock += ":00"
	}
	t, ok = civil(s[:4], atoi(s[5:7]), s[8:10], clock)
	if !ok {
		return t, 0, false
	}
	if rest != "" && rest[0] == '.' && step == time.Second {
		i := 1
		for i < len(rest) && isDigit(rest[i]) {
			i++
		}
		if i == 1 {
			return t, 0, false
		}
		n, ok := parseNumber(s[18 : 19+i]) // from the last digit of the seconds
		if !ok {
			return t, 0, false
		}
		n.whole = 0
		var fraction time.Duration
		fraction, step = n.duration(time.Second, time.Second)
		t, rest = t.Add(fraction), rest[i:]
	}
	offset, ok := parseZone(rest)
	return t.Add(-offset), step, ok
}

// parseZone reads "", "Z", "+01:00", "+0100" or "+01".
func parseZone(s string) (time.Duration, bool) {
	s = strings.TrimPrefix(s, " ")
	switch s {
	case "", "Z", "z", "UTC", "GMT":
		return 0, true
	}
	if len(s) != 3 && len(s) != 5 && (len(s) != 6 || s[3] != ':') || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	h, m := atoi(s[1:3]), 0
	if len(s) > 3 {
		m = atoi(s[len(s)-2:])
	}
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, false
	}
	offset := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}
