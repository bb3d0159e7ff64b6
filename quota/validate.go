package quota

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gopacer/pacer/internal/spelling"
)

// Validate returns the error of the first quota that is invalid, or nil. A quota whose Unit is nearly that of
// another one ("token" beside "tokens", see [Costs]) is invalid too.
func (qs Quotas) Validate() error {
	for i, q := range qs {
		if err := q.Validate(); err != nil {
			return err
		}
		if err := q.checkSpelling(qs[:i]); err != nil {
			return fmt.Errorf(prefix+"%w", err)
		}
	}
	return nil
}

// checkSpelling returns an error if the Unit of q is nearly that of a quota before it.
func (q Quota) checkSpelling(before Quotas) error {
	if meant := spelling.Meant(named(q.unit()), before, (*Quota).spelled); meant != nil && q.N > 0 {
		return fmt.Errorf("%q: Unit is %q, want %q as in %q; if both are meant, %q before it says so", q.label(), named(q.unit()), named(meant.unit()), meant.label(), Quota{Unit: q.Unit})
	}
	return nil
}

// spelled returns the unit by name, and whether the quota is a limit.
func (q *Quota) spelled() (unit string, limits bool) { return named(q.unit()), q.N > 0 }

// named returns the unit by its name, which is not empty.
func named(unit string) string { return cmp.Or(unit, Requests) }

// Validate returns an error if the quota is invalid. It says which field is wrong, its value, and
// what is valid.
func (q Quota) Validate() error {
	if err := q.check(); err != nil {
		return fmt.Errorf(prefix+"%w", err)
	}
	return nil
}

// fieldError says what is wrong with a field of a quota.
type fieldError struct{ field, text string }

func (e *fieldError) Error() string { return e.text }

// check is Validate without the prefix of the package.
func (q Quota) check() error { //nolint:gocyclo // a flat table
	bad := func(field string, value any, want string) error {
		return &fieldError{field, fmt.Sprintf("%.100q: %s is %v, want %s", q.label(), field, value, want)}
	}
	if field, value, want := q.checkApart(); want != "" && q.N >= 0 {
		return bad(field, value, want)
	}
	switch {
	case !slices.Contains(kinds, q.Kind):
		return bad("Kind", fmt.Sprintf("%.40q", q.Kind), fmt.Sprintf("one of %q", kinds))
	case !isName(q.Name):
		return bad("Name", fmt.Sprintf("%.100q", q.Name), "at most 100 bytes that can be printed")
	case q.N < 0:
		return bad("N", q.N, "at least 0 (0 is no limit)")
	case q.Unit != "" && !isUnit(q.Unit):
		return bad("Unit", strconv.Quote(q.Unit), "a word of letters, digits, '-', '_' and '.' that means nothing else in a quota")
	case q.Kind.Concurrent() && q.Per != 0:
		return bad("Per", q.Per, "0 for InFlight and Unanswered")
	case !q.isBucket() && q.N > MaxN:
		return bad("N", q.N, "at most 1<<50, 1125899906842624")
	case q.Per < 0:
		return bad("Per", q.Per, "a positive duration, or 0 for a second")
	case isBare(q.Per):
		return bad("Per", q.Per, wantedUnits(q.Per))
	case !q.isBucket() && q.Per > longest:
		return bad("Per", q.Per, "at most 50 years")
	case q.Burst < 0:
		return bad("Burst", q.Burst, "at least 0")
	case q.Queue < 0:
		return bad("Queue", q.Queue, "at least 0 (0 is no bound)")
	case q.WarmUp < 0:
		return bad("WarmUp", q.WarmUp, "a positive duration, or 0 for none")
	case isBare(q.WarmUp):
		return bad("WarmUp", q.WarmUp, wantedUnits(q.WarmUp))
	case !q.isBucket() && q.Burst > 0:
		return bad("Burst", burst(q.Burst), "0 for a Kind other than TokenBucket: N may go at once")
	case !q.isBucket() && q.Debt:
		return bad("Debt", q.Debt, "false for a Kind other than TokenBucket")
	case q.WarmUp > 0 && q.Debt:
		return bad("Debt", q.Debt, "false beside a WarmUp: a request of any cost goes, and the next one pays")
	case !q.isBucket() && q.WarmUp > 0:
		return bad("WarmUp", q.WarmUp, "0 for a Kind other than TokenBucket")
	case q.WarmUp > 0 && q.Burst > 0:
		return bad("Burst", burst(q.Burst), "0 beside a WarmUp: tokens stored while idling stand for coldness, not for a burst")
	case q.ColdFactor != 0 && !(q.ColdFactor >= 1 && q.ColdFactor <= math.MaxInt32):
		return bad("ColdFactor", q.ColdFactor, "from 1 to 2147483647, or 0 for 3")
	case q.ColdFactor != 0 && q.WarmUp == 0:
		return bad("ColdFactor", q.ColdFactor, "0 without a WarmUp")
	case q.Cells < 0:
		return bad("Cells", q.Cells, "at least 0 (0 is 10)")
	case q.Cells > 0 && q.Kind != SlidingWindow && q.Cells != q.defaultCells():
		return bad("Cells", q.Cells, "0 for what is no SlidingWindow")
	case q.N == 0 && (q.Burst != 0 || q.WarmUp != 0 || q.Debt || q.Queue != 0 || q.Overall || q.Streamed):
		return bad("N", q.N, "a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed")
	case q.N == 0 && q.Kind != Plain:
		return bad("N", q.N, "a positive number beside a Kind")
	case q.N == 0 && q.Per != 0:
		return bad("N", q.N, "a positive number beside a Per of "+q.Per.String())
	}
	return nil
}

// checkApart returns what is wrong with the calendar, or with what is Streamed; no want if nothing is.
func (q *Quota) checkApart() (field string, value any, want string) {
	if field, value, want = q.checkCalendar(); want == "" && q.Streamed {
		return q.checkStreamed()
	}
	return field, value, want
}

// monthsOfWindows are the lengths of windows that begin in the same months of each year.
var monthsOfWindows = []int{1, 2, 3, 4, 6, 12}

// checkCalendar returns which of Months, From and Zone is wrong, or what is beside them, and what is wanted
// there; no want if nothing is.
func (q *Quota) checkCalendar() (field string, value any, want string) { //nolint:gocyclo // a flat table
	switch {
	case q.Months != 0 && !slices.Contains(monthsOfWindows, q.Months):
		return "Months", q.Months, "1, 2, 3, 4, 6 or 12 (or 0 for a Per)"
	case q.Months > 0 && q.Kind.Concurrent():
		return "Months", q.Months, "0 for InFlight and Unanswered"
	case q.Months > 0 && q.isBucket():
		return "Months", q.Months, "0 for a TokenBucket, which is refilled evenly: over 30d, say"
	case q.Months > 0 && q.Kind != Plain && q.Kind != ClockWindow:
		return "Kind", q.Kind, "Plain or ClockWindow beside Months"
	case q.Months > 0 && q.Per != 0 && q.Per != q.longestMonths():
		return "Per", q.Per, "0 beside Months"
	case q.Months > 0 && (q.From < 0 || q.From > 31):
		return "From", q.From, "a day of the month from 1 to 31 (or 0 for 1)"
	case q.Months == 0 && q.isWeek() && (q.From < 0 || q.From > 7):
		return "From", q.From, "a day of the week from 1, Monday, to 7, Sunday (or 0 for Thursday)"
	case q.Months == 0 && !q.isWeek() && q.From != 0:
		return "From", q.From, `0 without Months or a ClockWindow of a week (1000/month, 1000/w window grid)`
	case q.Zone != "" && q.Months == 0 && (q.Kind != ClockWindow || q.per()%day != 0):
		return "Zone", strconv.Quote(q.Zone), `none without Months or a ClockWindow of whole days (1000/month, 1000/d window grid)`
	case q.Zone != "" && wantedZone(q.Zone, time.LoadLocation) != "":
		return "Zone", strconv.Quote(q.Zone), wantedZone(q.Zone, time.LoadLocation)
	case q.N == 0 && (q.Months != 0 || q.From != 0 || q.Zone != ""):
		return "N", q.N, "a positive number beside Months, From or a Zone"
	}
	return "", nil, ""
}

// checkStreamed returns what is wrong with a quota that is Streamed, and what is wanted there; no want if
// nothing is.
func (q *Quota) checkStreamed() (field string, value any, want string) {
	switch unit := q.unit(); {
	case q.N == 0: // of which check says what is wrong
	case unit != Bytes:
		return "Streamed", q.Streamed, "false for a quota of " + named(unit) + ": only bytes are streamed, as in 1MB/s streamed"
	case q.Kind != Plain && q.Kind != TokenBucket:
		return "Kind", q.Kind, "TokenBucket beside Streamed, since bytes flow evenly: 1MB/s streamed"
	case q.Burst == 1 && q.perSecond() > 2/piece.Seconds():
		return "Burst", burst(q.Burst), "0 beside Streamed, for what comes in a twentieth of a second, or a larger one: bytes flow evenly anyway"
	case q.Debt:
		return "Debt", q.Debt, "false beside Streamed: bytes are paid for as they flow"
	case q.Queue > 0:
		return "Queue", q.Queue, "0 beside Streamed: a body that has begun must not be refused"
	case q.WarmUp > 0:
		return "WarmUp", q.WarmUp, "0 beside Streamed"
	}
	return "", nil, ""
}

// burst returns a Burst for an error, with the word that a text has for it.
func burst(n int64) string {
	if n == 1 {
		return `1 ("even")`
	}
	return strconv.FormatInt(n, 10)
}

// isName reports whether s may be a Name, which errors and logs show as it is.
func isName(s string) bool {
	return len(s) <= 100 && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// isBare reports whether d is so short that it is a number to which somebody forgot the unit. No quota has such
// a span: a million in a millisecond is a thousand in a microsecond.
func isBare(d time.Duration) bool { return d > 0 && d < time.Microsecond }

// wantedUnits says what is wanted in place of a bare number.
func wantedUnits(d time.Duration) string {
	return fmt.Sprintf("1µs or more: a number alone is in nanoseconds, %d * time.Second in seconds", int64(d))
}

// longest is the longest Per of a window. The arithmetic adds up several windows, and their sum
// must not overflow.
const longest = 50 * 365 * 24 * time.Hour
