package quota

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Parse reads quotas as a person writes them, separated by commas:
//
//	500/m, 30000 tokens/m, 10 in flight
//	5/s burst 10, 10000/h
//	50/2s window
//	300/m sliding 20 as "calls of a tenant"
//	10/s warm-up 10s cold 3
//	1MiB/s burst 8MiB debt
//	1MiB/s streamed
//
// A quota begins with one of these forms:
//
//	N/PER            N requests in any PER, of the Kind Plain unless a clause says otherwise
//	N UNIT/PER       N tokens of a UNIT in any PER
//	N in flight      N requests at the same time, of the Kind InFlight; or N UNIT in flight
//	N unanswered     N requests at the same time, of the Kind Unanswered; or N UNIT unanswered
//	no limit         the zero Quota; "no limit of PutRecords" says that this is a unit, and no misspelled "PutRecord"
//
// PER is ms, s, m, h, d, w, a number of days or weeks such as 7d, or a duration such as 1m30s; in place of a
// letter alone, the word may stand: sec, secs, second, seconds, min, mins, minute, minutes, hr, hrs, hour,
// hours, day, days, wk, week, weeks. Or it is Months: month, months, mo, quarter, quarters, year, years, yr, y,
// or some of them such as 6months. A week of the clock begins on a Monday: 1000/w window grid. UNIT is a word
// of your choice; in double quotes, if it is one of those that people write for something else: "5 calls/s" is
// answered with "5/s", and 5 "calls"/s has a unit of that name. Bytes are written in one word with the number:
// 500kB, 1.5MB, 1MiB. Their suffix is B, after k, M, G, T for powers of 1000, or after Ki, Mi, Gi, Ti for
// powers of 1024.
//
// After that come clauses, in any order and each at most once; a quota has one Kind at most.
//
//	even              a TokenBucket with a Burst of 1: one token every PER/N
//	burst B           the Burst of a TokenBucket, in the unit of the quota
//	debt              a TokenBucket with Debt; without even or burst, its Burst is N
//	queue Q           the Queue, in the unit of the quota
//	window            the Kind FixedWindow
//	window grid       the Kind ClockWindow
//	sliding [CELLS]   the Kind SlidingWindow
//	log               the Kind SlidingLog
//	estimate          the Kind EstimatedWindow
//	warm-up D         the WarmUp of a TokenBucket, a duration
//	cold F            the ColdFactor of a TokenBucket
//	from DAY          the day of the month on which Months begin, or of a week, such as sunday, of w window grid
//	in ZONE           the Zone: America/Los_Angeles
//	streamed          Streamed: bytes count as they flow
//	overall           Overall: of all tenants together
//	as NAME           the Name: one word, or several in double quotes as in a Go string
//
// The empty text means no quotas. Every quota that Parse returns passes Validate. An error says at
// which column (counted in bytes, from 1) which word stands, and what was expected there, or meant:
// "5 rps" is answered with "5/s", "10 concurrent" with "10 in flight", and "5/s brust 10" with "5/s burst 10".
func Parse(s string) (Quotas, error) {
	qs, err := parse(s)
	var e *syntaxError
	if errors.As(err, &e) {
		e.want = cmp.Or(meant(s, e.column), e.want)
	}
	return qs, err
}

// MustParse is Parse for texts that are part of a program. It panics if the text cannot be read,
// with the text and with the error of Parse:
//
//	limiter := throttle.Limiter{Quotas: quota.MustParse("5000/h, 10 in flight")}
//
// Texts that a user writes, or that come from a file, are for Parse, which returns the error.
func MustParse(s string) Quotas {
	qs, err := Parse(s)
	if err != nil {
		panic("quota: MustParse(" + strconv.Quote(s) + "): " + strings.TrimPrefix(err.Error(), prefix))
	}
	return qs
}

// UnmarshalText implements encoding.TextUnmarshaler with Parse. So quotas can be strings in JSON and YAML, and
// flags by flag.TextVar. "no limit" alone is read as no quotas, as the empty text is. If there is an error, qs
// does not change.
func (qs *Quotas) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	if *qs = parsed; slices.Equal(parsed, Quotas{{}}) {
		*qs = nil
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler with String. If there are no quotas, the text is "no limit",
// since a pacer.Table takes an empty text for one that was forgotten. It returns an error if a quota is
// invalid.
func (qs Quotas) MarshalText() ([]byte, error) {
	if err := qs.Validate(); err != nil {
		return nil, err
	}
	if len(qs) == 0 {
		qs = Quotas{{}}
	}
	return []byte(qs.String()), nil
}
