package value

import (
	"net/http"
	"strings"
	"time"
)

// ParseInstant reads an instant in any of the written forms in use, and the resolution of
// that statement. The day of the week is not checked: published examples have wrong ones.
func ParseInstant(s string) (t time.Time, resolution time.Duration, ok bool) {
	if len(s) < len("2006-01-02T15:04") || len(s) > 2*MaxNumber {
		return t, 0, false
	}
	if IsDigit(s[0]) {
		if s[8] == '-' && len(s) > len("2006-Jan-02T15:04") { // 2026-Sep-09 00:00:00+0000, as WSO2 writes it
			m := month(s[5:8])
			s = s[:5] + string([]byte{byte('0' + m/10), byte('0' + m%10)}) + s[8:]
		}
		return parseISO(s)
	}
	if s[3] == ',' && (s[6] == ' ' || s[7] == ' ') {
		t, ok = parseMail(s)
		return t, time.Second, ok
	}
	if layout := layoutOf(s); layout != "" {
		t, err := time.Parse(layout, s)
		return t, time.Second, err == nil
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

// layoutOf returns the layout of an instant as Unix prints it, "Tue May 14 12:30:00 UTC 2024", or as .NET and
// Mashery write it, "Wednesday, May 15, 2024 12:00:00 AM GMT", if it is in UTC.
func layoutOf(s string) string {
	switch {
	case strings.HasSuffix(s, "M GMT"), strings.HasSuffix(s, "M UTC"):
		return "Monday, January 2, 2006 3:04:05 PM MST"
	case strings.Contains(s, " UTC 2"), strings.Contains(s, " GMT 2"):
		return time.UnixDate
	}
	return ""
}

// parseMail reads the date of a mail (RFC 5322, 3.3), of which an HTTP-date is the form of fixed width. A day
// of one digit is what Java's RFC_1123_DATE_TIME prints, and a zone in digits what PHP's DATE_RFC2822 and
// Python's email.utils.formatdate do.
func parseMail(s string) (time.Time, bool) {
	if s[6] == ' ' {
		s = s[:5] + "0" + s[5:]
	}
	date, zone := len("Mon, 02 Jan 2006 15:04:05 "), "GMT"
	if len(s) == date+len("-0700") {
		s, zone = s[:date]+zone, s[date:]
	}
	if len(s) != len(http.TimeFormat) {
		return time.Time{}, false
	}
	t, ok := parseIMF(s)
	offset, known := parseZone(zone)
	return t.Add(-offset), ok && known
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
		if !IsDigit(s[i]) {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// parseISO reads RFC 3339 and its relatives of ISO 8601: a space for the T,
// seconds left out, any number of digits in the fraction, a zone without a colon
// or no zone, which means UTC.
func parseISO(s string) (t time.Time, resolution time.Duration, ok bool) {
	if s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != 't' && s[10] != ' ' || s[13] != ':' {
		return t, 0, false
	}
	clock, rest := s[11:16], s[16:]
	resolution = time.Minute
	if len(rest) >= 3 && rest[0] == ':' {
		clock, rest, resolution = s[11:19], s[19:], time.Second
	} else {
		clock += ":00"
	}
	t, ok = civil(s[:4], atoi(s[5:7]), s[8:10], clock)
	if !ok {
		return t, 0, false
	}
	if rest != "" && rest[0] == '.' && resolution == time.Second {
		i := 1
		for i < len(rest) && IsDigit(rest[i]) {
			i++
		}
		if i == 1 {
			return t, 0, false
		}
		n, ok := ParseNumber(s[18 : 19+i]) // from the last digit of the seconds
		if !ok {
			return t, 0, false
		}
		n.Whole = 0
		var fraction time.Duration
		fraction, resolution = n.Duration(time.Second, time.Second)
		t, rest = t.Add(fraction), rest[i:]
	}
	offset, ok := parseZone(rest)
	return t.Add(-offset), resolution, ok
}

// parseZone reads "", "Z", "+01:00", "+0100" or "+01".
func parseZone(s string) (time.Duration, bool) {
	s = strings.TrimPrefix(s, " ")
	switch s {
	case "", "Z", "z", "UTC", "GMT":
		return 0, true
	}
	if offset, zone, ok := strings.Cut(s, " "); ok && len(zone) <= 5 {
		s = offset // "+0000 UTC", as time.Time prints it
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
