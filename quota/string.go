package quota

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// String writes the quotas as a person would: "5/s burst 10, 100000/h". If they are valid, Parse
// reads the same quotas from it.
func (qs Quotas) String() string {
	texts := make([]string, len(qs))
	for i, q := range qs {
		texts[i] = q.String() + as(q.Name)
	}
	return strings.Join(texts, ", ")
}

// unitWord is a unit as it stands in a text: in double quotes if its word means something else.
func unitWord(unit string) string {
	if isPlainUnit(unit) || !isUnit(unit) {
		return unit
	}
	return strconv.Quote(unit)
}

// String writes the quota as a person would: "5/s", "1MiB/s burst 8MiB", "10 in flight".
func (q Quota) String() string {
	switch {
	case q.N == 0 && canonical(q.Unit) == "":
		return "no limit"
	case q.N == 0:
		return "no limit of " + unitWord(q.Unit)
	}
	s := amount(q.N, q.Unit)
	if unit := canonical(q.Unit); unit != "" && unit != Bytes {
		s += " " + unitWord(unit)
	}
	if !q.Kind.Concurrent() {
		s += "/" + q.span()
	}
	burst := q.Burst
	if q.Kind == TokenBucket && !q.Debt && q.WarmUp == 0 && !q.Streamed {
		burst = cmp.Or(burst, q.N) // some word has to say that it is a bucket
	}
	switch {
	case burst > 1:
		s += " burst " + amount(burst, q.Unit)
	case burst == 1:
		s += " even"
	}
	if q.Debt {
		s += " debt"
	}
	s += q.counts() + q.begins()
	if q.Queue > 0 {
		s += " queue " + amount(q.Queue, q.Unit)
	}
	if q.WarmUp > 0 {
		s += " warm-up " + q.WarmUp.String()
		if q.ColdFactor != 0 {
			s += " cold " + strconv.FormatFloat(q.ColdFactor, 'g', -1, 64)
		}
	}
	return s + q.whose()
}

// counts returns the clause of the Kind, where that has one, with the Cells. A text says nothing of those of
// Plain.
func (q *Quota) counts() (s string) {
	if q.Kind != Plain && q.Kind != TokenBucket {
		s = " " + string(q.Kind)
	}
	if q.Cells > 0 && (q.Kind != Plain || q.Cells != plainCells) {
		s += " " + strconv.Itoa(q.Cells)
	}
	return s
}

// whose returns the clauses that say of what and of whom the quota is.
func (q *Quota) whose() (s string) {
	if q.Streamed {
		s += " streamed"
	}
	if q.Overall {
		s += " overall"
	}
	return s
}

// label returns the Name of the quota, or its text if it has none.
func (q Quota) label() string {
	if q.Name != "" {
		return q.Name
	}
	return q.String()
}

// span returns the span of the quota as it stands in a text.
func (q *Quota) span() string {
	switch {
	case q.Months == 12:
		return "year"
	case q.Months == 3:
		return "quarter"
	case q.Months == 1:
		return "month"
	case q.Months > 0:
		return strconv.Itoa(q.Months) + "months"
	case q.isWeek() && q.From > 0:
		return "w"
	}
	return span(q.per())
}

// begins returns the clauses that say where and when windows begin.
func (q *Quota) begins() (s string) {
	if from := q.from(); from != "" {
		s = " from " + from
	}
	if q.Zone != "" {
		s += " in " + q.Zone
	}
	return s
}

// from returns the day on which windows begin as it stands in a text; nothing if the text says nothing of it.
func (q *Quota) from() string {
	switch {
	case q.isWeek() && q.Months == 0 && q.From == 1:
		return "" // as the word for a week says
	case q.isWeek() && q.Months == 0 && q.From > 0 && q.From <= len(weekdays):
		return weekdays[q.From-1]
	case q.From != 0:
		return strconv.Itoa(q.From)
	}
	return ""
}

// span writes a duration without the parts that are zero. One second, one minute and so on are
// written as a letter alone, and whole days in days: "s", "2s", "m", "1h30m", "d", "30d".
func span(d time.Duration) string {
	switch d {
	case time.Millisecond:
		return "ms"
	case time.Second:
		return "s"
	case time.Minute:
		return "m"
	case time.Hour:
		return "h"
	case 24 * time.Hour:
		return "d"
	}
	if days := d / (24 * time.Hour); days > 0 && d%(24*time.Hour) == 0 {
		return strconv.FormatInt(int64(days), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// as writes the clause with which Parse reads a name.
func as(name string) string {
	if name == "" {
		return ""
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || c == ',' || c == '"' || c == '\\' {
			return " as " + strconv.Quote(name)
		}
	}
	return " as " + name
}
