package quota

import (
	"encoding/json"
	"flag"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/internal/tests/whole"
)

func TestParse(t *testing.T) {
	const s, m, h, d = time.Second, time.Minute, time.Hour, 24 * time.Hour
	for _, test := range []struct {
		text string
		want Quotas
		back string // if not text
	}{
		{text: "", want: nil},
		{text: " \n", want: nil, back: ""},
		{text: "5/s burst 10, 100000/h", want: Quotas{{N: 5, Per: s, Burst: 10}, {N: 100_000, Per: h}}},
		{text: "5/s", want: Quotas{{N: 5, Per: s}}},
		{text: "5/1s", want: Quotas{{N: 5, Per: s}}, back: "5/s"},
		{text: "5/s burst 1", want: Quotas{{N: 5, Per: s, Burst: 1}}, back: "5/s even"},
		{text: "5/s even", want: Quotas{{N: 5, Per: s, Burst: 1}}},
		{text: "5kB/s debt, 5kB/s even debt", want: Quotas{{N: 5000, Unit: Bytes, Per: s, Debt: true}, {N: 5000, Unit: Bytes, Per: s, Burst: 1, Debt: true}}},
		{text: "7 even/s even", want: Quotas{{N: 7, Unit: "even", Per: s, Burst: 1}}},
		{text: "0005/s", want: Quotas{{N: 5, Per: s}}, back: "5/s"},
		{text: "100GB/month, 5000000000/d", want: Quotas{{N: 100e9, Unit: Bytes, Months: 1}, {N: 5e9, Per: d}}}, // more than 32 bits have
		{text: "1/ms,2/m,3/d", want: Quotas{{N: 1, Per: time.Millisecond}, {N: 2, Per: m}, {N: 3, Per: d}}, back: "1/ms, 2/m, 3/d"},
		{text: "1/7d", want: Quotas{{N: 1, Per: 7 * d}}},
		{text: "1/720h, 1/36h", want: Quotas{{N: 1, Per: 30 * d}, {N: 1, Per: 36 * h}}, back: "1/30d, 1/36h"},
		{text: `5 "queries"/s, 1/d`, want: Quotas{{N: 5, Unit: "queries", Per: s}, {N: 1, Per: d}}},
		{text: "3/1h30m", want: Quotas{{N: 3, Per: 90 * m}}},
		{text: "50/2s window", want: Quotas{{N: 50, Per: 2 * s, Kind: FixedWindow}}},
		{text: "5000/h window grid", want: Quotas{{N: 5000, Per: h, Kind: ClockWindow}}},
		{text: "60/m sliding", want: Quotas{{N: 60, Per: m, Kind: SlidingWindow}}},
		{text: "60/m sliding 20", want: Quotas{{N: 60, Per: m, Kind: SlidingWindow, Cells: 20}}},
		{text: "100/m log", want: Quotas{{N: 100, Per: m, Kind: SlidingLog}}},
		{text: "100/m estimate", want: Quotas{{N: 100, Per: m, Kind: EstimatedWindow}}},
		{text: "10/s warm-up 10s cold 3", want: Quotas{{N: 10, Per: s, WarmUp: 10 * s, ColdFactor: 3}}},
		{text: "10/s cold 2.5 warm-up 1d", want: Quotas{{N: 10, Per: s, WarmUp: d, ColdFactor: 2.5}}, back: "10/s warm-up 24h0m0s cold 2.5"},
		{text: "5/s as daily", want: Quotas{{N: 5, Per: s, Name: "daily"}}},
		{text: "5/s as as, 6/s", want: Quotas{{N: 5, Per: s, Name: "as"}, {N: 6, Per: s}}},
		{text: `5/s as "calls, of \"a\" tenant" burst 2`, want: Quotas{{N: 5, Per: s, Burst: 2, Name: `calls, of "a" tenant`}}, back: `5/s burst 2 as "calls, of \"a\" tenant"`},
		{text: "30000 tokens/m burst 30000", want: Quotas{{N: 30_000, Unit: "tokens", Per: m, Burst: 30_000}}},
		{text: "5 requests/s, 1 request/m, 6/s", want: Quotas{{N: 5, Per: s}, {N: 1, Per: m}, {N: 6, Per: s}}, back: "5/s, 1/m, 6/s"},
		{text: "5 bytes/s, 1 byte/m", want: Quotas{{N: 5, Unit: Bytes, Per: s}, {N: 1, Unit: Bytes, Per: m}}, back: "5B/s, 1B/m"},
		{text: "1MiB/s burst 8MiB debt", want: Quotas{{N: 1 << 20, Unit: Bytes, Per: s, Burst: 8 << 20, Debt: true}}},
		{text: "1.5MB/s burst 9 queue 1kB", want: Quotas{{N: 1_500_000, Unit: Bytes, Per: s, Burst: 9, Queue: 1000}}, back: "1500kB/s burst 9B queue 1kB"},
		{text: "1000000B/s log", want: Quotas{{N: 1_000_000, Unit: Bytes, Per: s, Kind: SlidingLog}}, back: "1MB/s log"},
		{text: "5/s debt", want: Quotas{{N: 5, Per: s, Debt: true}}},
		{text: "5/s queue 10", want: Quotas{{N: 5, Per: s, Queue: 10}}},
		{text: "10 in flight", want: Quotas{{N: 10, Kind: InFlight}}},
		{text: "10\tin\n flight,3 unanswered as x", want: Quotas{{N: 10, Kind: InFlight}, {N: 3, Kind: Unanswered, Name: "x"}}, back: "10 in flight, 3 unanswered as x"},
		{text: "100 points in flight", want: Quotas{{N: 100, Unit: "points", Kind: InFlight}}},
		{text: "64 requests unanswered queue 5", want: Quotas{{N: 64, Kind: Unanswered, Queue: 5}}, back: "64 unanswered queue 5"},
		{text: "1GiB in flight", want: Quotas{{N: 1 << 30, Unit: Bytes, Kind: InFlight}}},
		{text: "7 burst/s burst 7, 2 no/s, 3 as in flight", want: Quotas{{N: 7, Unit: "burst", Per: s, Burst: 7}, {N: 2, Unit: "no", Per: s}, {N: 3, Unit: "as", Kind: InFlight}}},
		{text: "100 in flight overall, 5000/h", want: Quotas{{N: 100, Kind: InFlight, Overall: true}, {N: 5000, Per: h}}},
		{text: "5/s overall burst 9 queue 3 as x", want: Quotas{{N: 5, Per: s, Burst: 9, Queue: 3, Overall: true, Name: "x"}}, back: "5/s burst 9 queue 3 overall as x"},
		{text: "5/s warm-up 9s cold 2 overall, 7 \"overall\"/month in UTC overall", want: Quotas{{N: 5, Per: s, WarmUp: 9 * s, ColdFactor: 2, Overall: true}, {N: 7, Unit: "overall", Months: 1, Zone: "UTC", Overall: true}}, back: "5/s warm-up 9s cold 2 overall, 7 \"overall\"/month in UTC overall"},
		{text: "1MiB/s streamed", want: Quotas{{N: 1 << 20, Unit: Bytes, Per: s, Streamed: true}}},
		{text: "1MB/s overall streamed burst 5MB as x", want: Quotas{{N: 1e6, Unit: Bytes, Per: s, Burst: 5e6, Streamed: true, Overall: true, Name: "x"}}, back: "1MB/s burst 5MB streamed overall as x"},
		{text: "40B/s even streamed, 5 \"streamed\"/s", want: Quotas{{N: 40, Unit: Bytes, Per: s, Burst: 1, Streamed: true}, {N: 5, Unit: "streamed", Per: s}}},
		{text: "no limit", want: Quotas{{}}},
		{text: "no limit of PutRecords, 1000 PutRecord/s, 1000 PutRecords/s", want: Quotas{{Unit: "PutRecords"}, {N: 1000, Unit: "PutRecord", Per: s}, {N: 1000, Unit: "PutRecords", Per: s}}},
		{text: `no limit of "queries" as these, no limit of requests`, want: Quotas{{Unit: "queries", Name: "these"}, {}}, back: `no limit of "queries" as these, no limit`},
		{text: "no  limit as free\t,\r\n5/s", want: Quotas{{Name: "free"}, {N: 5, Per: s}}, back: "no limit as free, 5/s"},
	} {
		got, err := Parse(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
		back := test.back
		if back == "" {
			back = strings.TrimSpace(test.text)
		}
		if got.String() != back {
			t.Errorf("%q is written as %q, want %q", test.text, got, back)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const start = "want a quota such as 5/s, 100 tokens/1m30s, 1MiB/s or 10 in flight"
	const number = "want a whole number from 1, or bytes such as 500kB or 1MiB"
	zeros := strings.Repeat("0", 30)
	atMost := "want at most " + strconv.FormatInt(MaxN, 10)
	const after = `want a span such as /m, a unit and a span such as tokens/m (of bytes, one word: 1MiB/s), "in flight" or "unanswered"`
	for text, want := range map[string]string{
		"fast":                              `column 1: "fast", ` + start,
		"5/s,":                              `column 5: nothing, ` + start,
		"5/s,, 6/s":                         `column 5: ",", ` + start,
		"5":                                 `column 2: nothing, ` + after,
		"5 / s":                             `column 3: "/", did you mean "5/s"`,
		"5, 6/s":                            `column 2: ",", ` + after,
		"5 tokens":                          `column 9: nothing, ` + after,
		"5 tokens per minute":               `column 10: "per", did you mean "5 tokens/m"`,
		"5 tokens/":                         `column 10: nothing, want ms`,
		"5 tokens/decade":                   `column 10: "decade", want ms`,
		"5/s fast":                          `column 5: "fast", want ` + wantedClause,
		"5 tok€ns/m":                        `column 3: "tok€ns/m", ` + after,
		"2000 input tokens/s":               `column 12: "tokens/s", want a unit of one word, such as input-tokens`,
		"2000 input tokens in flight":       `column 12: "tokens", want a unit of one word, such as input-tokens`,
		"2000 input tokens unanswered":      `column 12: "tokens", want a unit of one word, such as input-tokens`,
		"2000 input tokens per minute":      `column 12: "tokens", want a unit of one word, such as input-tokens`,
		"2000 input tokens minute":          `column 12: "tokens", ` + after,
		`2000 "input tokens"/s`:             `column 6: "\"input tokens\"/s", want a unit of one word, such as input-tokens`,
		`2000 "input, tokens"/s`:            `column 6: "\"input, tokens\"/s", ` + after,
		"5/s as my name":                    `column 11: "name", want ` + wantedClause + `; a name of several words stands in double quotes: as "my name"`,
		"5/s as my burst 9 fast":            `column 19: "fast", want ` + wantedClause,
		"5 MB/s":                            `column 3: "MB/s", did you mean "5MB/s"`,
		"5 MB/decade":                       `column 3: "MB/decade", want bytes in one word with the number: 5MB or 5MiB`,
		"5 KB/s":                            `column 3: "KB/s", want bytes in one word with the number: 5kB or 5KiB`,
		"5 Requests/s":                      `column 3: "Requests/s", did you mean "5/s"`,
		"5 in/s":                            `column 3: "in/s", ` + after,
		"5 unanswered/s":                    `column 3: "unanswered/s", ` + after,
		"1MiB tokens/s":                     `column 6: "tokens/s", ` + after,
		"1MiB":                              `column 5: nothing, ` + after,
		"5 in":                              `column 5: nothing, want "flight" after "in"`,
		"5 in, 6/s":                         `column 5: ",", want "flight" after "in"`,
		"5 in flight/s":                     `column 6: "flight/s", want "flight" after "in"`,
		"5 points in in flight":             `column 13: "in", want "flight" after "in"`,
		"5/s in flight":                     `column 5: "in", want "in flight" without a span ("10 in flight"), or behind a comma ("5/s, 10 in flight")`,
		"5 in flight log":                   `column 13: "log", want only one kind`,
		"5 in flight burst 2":               `column 13: "5 burst 2 in flight": Burst is 2, want 0 for a Kind other than TokenBucket`,
		"5 in flight debt":                  `column 13: "5 debt in flight": Debt is true, want false for a Kind other than TokenBucket`,
		"5/s log debt":                      `Debt is true, want false for a Kind other than TokenBucket`,
		"5/s debt warm-up 1s":               `Debt is true, want false beside a WarmUp`,
		"5/s debt debt":                     `column 10: "debt", want only one debt`,
		"5/s burst 1kB":                     `column 11: "1kB", want a whole number from 1, or bytes if the quota is of bytes`,
		"5 tokens/s queue 1kB":              `column 18: "1kB", want a whole number from 1, or bytes if`,
		"1kB/s queue":                       `column 12: nothing, want a whole number from 1, or bytes if`,
		"1kB/s queue 0":                     `column 13: "0", want a whole number from 1, or bytes if`,
		"no limit queue 5":                  `"no limit": N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`,
		"1.0001kB/s":                        `column 1: "1.0001kB", did you mean "10001B/10s"`,
		"1.0001kB in flight":                `column 1: "1.0001kB", want a whole number of bytes`,
		"1.B/s":                             `column 1: "1.B", ` + number,
		"9e3kB/s":                           `column 1: "9e3kB", ` + number,
		"5/s streamed":                      `column 5: "5/s streamed": Streamed is true, want false for a quota of requests: only bytes are streamed, as in 1MB/s streamed`,
		"9/h, 30 tokens/m burst 9 streamed": `column 26: "30 tokens/m burst 9 streamed": Streamed is true, want false for a quota of tokens`,
		"1MB/s streamed streamed":           `column 16: "streamed", want only one streamed`,
		"1MB in flight streamed":            `column 1: "1MB in flight streamed": Kind is in flight, want TokenBucket beside Streamed, since bytes flow evenly: 1MB/s streamed`,
		"1GB/d streamed window":             `column 16: "1GB/d window streamed": Kind is window, want TokenBucket beside Streamed`,
		"1GB/month streamed":                `column 1: "1GB/month streamed", did you mean "1GB/30d streamed" (months differ in length)`,
		"41B/s streamed even":               `column 16: "41B/s even streamed": Burst is 1 ("even"), want 0 beside Streamed`,
		"1MB/s streamed debt":               `column 16: "1MB/s debt streamed": Debt is true, want false beside Streamed`,
		"1MB/s queue 1kB streamed":          `column 7: "1MB/s queue 1kB streamed": Queue is 1000, want 0 beside Streamed`,
		"1MB/s streamed warm-up 9s":         `column 16: "1MB/s warm-up 9s streamed": WarmUp is 9s, want 0 beside Streamed`,
		"no limit streamed":                 `"no limit": N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`,
		"5/s overall overall":               `column 13: "overall", want only one overall`,
		"no limit overall":                  `"no limit": N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`,
		"5 , 6/s":                           `column 3: ",", ` + after,
		"5/s, 10/decade":                    `column 9: "decade", want ms, s, m, h, d, w, month, quarter, year, or a duration such as 1m30s`,
		"5/":                                `column 3: nothing, want ms`,
		"5/0s":                              `column 3: "0s", want more than zero`,
		"5/-1s":                             `column 3: "-1s", want more than zero`,
		"-1 in flight":                      `column 1: "-1", want a whole number from 1, or bytes such as 500kB or 1MiB`,
		"-5 tokens/m":                       `column 1: "-5", want a whole number from 1, or bytes such as 500kB or 1MiB`,
		"- in flight":                       `column 1: "-", want a quota such as`,
		"5/s/s":                             `column 3: "s/s", want ms, s`,
		"5/0d":                              `column 3: "0d", want more than zero`,
		"5/106752d":                         `column 3: "106752d", want at most 18250d`,
		"5/1d12h":                           `column 3: "1d12h", want ms`,
		"/s":                                `column 1: nothing, ` + number,
		"0/s":                               `column 1: "0", ` + number + `, or "no limit"`,
		"-5/s":                              `column 1: "-5", ` + number,
		"9223372036854775808/s":             `column 1: "9223372036854775808", ` + atMost,
		"5/s burst":                         `column 10: nothing, did you mean "5/s burst 5"`,
		"5/s even queue":                    `column 15: nothing, want a whole number from 1`,
		"5/s burst many":                    `column 11: "many", want a whole number from 1`,
		"5/s  brust 10":                     `column 6: "brust", did you mean "5/s burst 10"`,
		"5/s burst 3 burst 3":               `column 13: "burst", want only one of even and burst`,
		"5/s even even":                     `column 10: "even", want only one of even and burst`,
		"5/s burst 3 even":                  `column 13: "even", want only one of even and burst`,
		"5/s even log":                      `column 5: "5/s even log": Burst is 1 ("even"), want 0 for a Kind other than TokenBucket: N may go at once`,
		"5/s window log":                    `column 12: "log", want only one kind`,
		"5/s sliding 0":                     `column 13: "0", want a number of cells from 1`,
		"1/s, 5/s burst 9 log":              `column 10: "5/s burst 9 log": Burst is 9, want 0 for a Kind other than TokenBucket`,
		"5/s log warm-up 1s":                `column 9: "5/s log warm-up 1s": WarmUp is 1s, want 0`,
		"5/s burst 1 warm-up 1s":            `column 5: "5/s even warm-up 1s": Burst is 1 ("even"), want 0 beside a WarmUp`,
		"5/s cold 3":                        `column 5: "5/s": ColdFactor is 3, want 0 without a WarmUp`,
		"5/s warm-up 1s cold 0.5":           `column 21: "0.5", want a number from 1`,
		"5/s warm-up 1s cold inf":           `column 21: "inf", want a number from 1`,
		"5/s warm-up 1s cold 0x9":           `column 21: "0x9", want a number from 1`,
		"5/s warm-up 1s cold 1e99":          `ColdFactor is 1e+99, want from 1 to 2147483647`,
		"5/s warm-up soon":                  `column 13: "soon", want a duration such as 10s`,
		"5/s as":                            `column 7: nothing, want a word, or some in double quotes`,
		"5/s as , 6/s":                      `column 8: ",", want a word`,
		`5/s as "daily`:                     `column 8: "\"daily", want a word`,
		`5/s as ""`:                         `column 8: "\"\"", want a word`,
		"no":                                `column 3: nothing, want "limit" after "no"`,
		"no limit log":                      `column 1: "no limit": N is 0, want a positive number beside a Kind`,
		"1mb/s":                             `column 1: "1mb", want 1MB or 1MiB, in bytes`,
		"1.5KB/s":                           `column 1: "1.5KB", want 1.5kB or 1.5KiB, in bytes`,
		"1kib in flight":                    `column 1: "1kib", want 1KiB, in bytes`,
		"5b/s":                              `column 1: "5b", want 5B, in bytes`,
		"1kB/s burst 8KB":                   `column 13: "8KB", want 8kB or 8KiB, in bytes`,
		"5/s burst 8KB":                     `column 11: "8KB", want a whole number from 1, or bytes if the quota is of bytes`,
		"1kB/s queue 1.0001kB":              `column 13: "1.0001kB", want a whole number of bytes`,
		"99999999TB/s":                      `column 1: "99999999TB", ` + atMost + " bytes",
		"10Mi/s":                            `column 1: "10Mi", want the number in digits, or of bytes 10MiB`,
		"5 kb in flight":                    `column 3: "kb", want bytes in one word with the number: 5kB or 5KiB`,
		"10unanswered":                      `column 1: "10unanswered", did you mean "10 unanswered"`,
		"1e3/s":                             `column 1: "1e3", ` + number,
		"5/s burst 0":                       `column 11: "0", want a whole number from 1, or bytes if`,
		"5/s queue 1" + zeros:               `column 11: "1` + zeros + `", ` + atMost,
		"5/s sliding 1" + zeros:             `column 13: "1` + zeros + `", want a number of cells from 1`,
		"5/s sliding 1.5":                   `column 13: "1.5", want a number of cells from 1`,
		"5/60":                              `column 3: "60", want a unit too, such as 60s`,
		"5/0":                               `column 3: "0", want more than zero`,
		"5/+1s":                             `column 3: "+1s", want ms`,
		"5/99999999h":                       `column 3: "99999999h", want at most 18250d`,
		"5/1" + zeros + "d":                 `column 3: "1` + zeros + `d", want at most 18250d`,
		"5/s warm-up 0s":                    `column 13: "0s", want more than zero`,
		"5/s warm-up 10":                    `column 13: "10", want a unit too, such as 10s`,
		"5/s warm-up 99999999h":             `column 13: "99999999h", want at most 18250d`,
		"5/500000h log":                     `Per is 500000h0m0s, want at most 50 years`,
	} {
		qs, err := Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), "quota: column ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", text, qs, err, want)
		}
	}
}

// parseDoc returns the documentation of Parse.
func parseDoc(t *testing.T) string {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), "text.go", nil, goparser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Parse" {
			return f.Doc.Text()
		}
	}
	t.Fatal("text.go has no Parse")
	return ""
}

// The words of clauses are those of the documentation, Parse reads each of them, and an error of the field that
// it sets has the column of the clause.
func TestClausesAreDocumented(t *testing.T) {
	_, doc, _ := strings.Cut(parseDoc(t), "\nAfter that come clauses")
	var documented []string
	for line := range strings.Lines(doc) {
		if text, ok := strings.CutPrefix(line, "\t"); ok {
			documented = append(documented, strings.Fields(text)[0])
		}
	}
	if got := slices.Compact(documented); !slices.Equal(got, clauses) { // window and window grid are one word
		t.Errorf("the documentation of Parse (text.go) has the clauses\n\t%q, in this order, but words.go has\n\t%q", got, clauses)
	}
	for _, word := range clauses {
		clauseIsWritten(t, word)
	}
	if len(fieldOf) != len(clauses) {
		t.Errorf("fieldOf has %d words, want the %d of clauses", len(fieldOf), len(clauses))
	}
}

// clauseIsWritten has Parse read a clause with each operand that clauses have, after beginnings of which one
// may have it, until the clause sets its field, and wants the field to be in the text of the quota.
func clauseIsWritten(t *testing.T, word string) {
	t.Helper()
	if _, ok := reflect.TypeFor[Quota]().FieldByName(fieldOf[word]); !ok {
		t.Errorf("fieldOf[%q] is %q, want a field of Quota", word, fieldOf[word])
		return
	}
	set := func(q Quota) any {
		if v := reflect.ValueOf(q).FieldByName(fieldOf[word]); !v.IsZero() {
			return v.Interface()
		}
		return nil
	}
	for _, begin := range []string{"5/s", "5B/s", "5/month", "5/s warm-up 9s"} {
		for _, operand := range []string{"", " 2", " 9s", " UTC", " x"} {
			text := begin + " " + word + operand
			qs, err := Parse(text)
			if err != nil || set(qs[0]) == nil || strings.Contains(begin, word) {
				continue
			}
			written := qs.String()
			if back, err := Parse(written); err != nil || set(back[0]) != set(qs[0]) {
				t.Errorf("String writes %q as %q, without %s: the clause %q belongs into string.go, too", text, written, fieldOf[word], word)
			}
			return
		}
	}
	_, err := Parse("5/s " + word)
	t.Errorf("Parse does not read the clause %q, which sets %s (5/s %s: %v): it belongs into clause of parse.go, and its operand into this test", word, fieldOf[word], word, err)
}

// The words of spans are those of the documentation, none of them is answered with another text, and a number
// goes before each: "3fortnight" would be 32 weeks, if that were a word for "2w".
func TestSpansAreDocumented(t *testing.T) {
	_, per, _ := strings.Cut(parseDoc(t), "\nPER is ")
	per, _, _ = strings.Cut(per, " week of the clock")
	var documented []string // a word may end with a point, as "min." does; and so may a sentence, after a word
	for _, word := range strings.Fields(per) {
		word = strings.TrimRight(word, ",;:")
		documented = append(documented, word, strings.TrimSuffix(word, "."))
	}
	words := []string{"ms"}
	for _, s := range spans {
		words = append(append(words, s.letter), s.words...)
	}
	for _, s := range calendar {
		words = append(words, s.words...)
	}
	for _, word := range words {
		if !slices.Contains(documented, word) {
			t.Errorf("the documentation of Parse has no span %q", word)
		}
		one, err := Parse("5/" + word)
		three, tooMany := Parse("5/3" + word)
		if err != nil || tooMany == nil && (three[0].Per != 3*one[0].Per || three[0].Months != 3*one[0].Months) {
			t.Errorf("5/%s is %v, %v; 5/3%[1]s is %[4]v, want three times the span", word, one, err, three)
		}
		if p, n := known([]string{word}); n > 0 {
			t.Errorf("%q is read as a span, and is answered with %q, too", word, p.to)
		}
	}
}

func TestMustParse(t *testing.T) {
	if diff := cmp.Diff(Quotas{{N: 5000, Per: time.Hour}, {N: 10, Kind: InFlight}}, MustParse("5000/h, 10 in flight")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	defer func() {
		if got, want := recover(), `quota: MustParse("5/s\tas \"a"): column 8: "\"a", want a word, or some in double quotes`; got != want {
			t.Errorf("panics with %v, want %s", got, want)
		}
	}()
	MustParse("5/s\tas \"a")
}

func TestQuotasText(t *testing.T) {
	var conf struct{ Quotas map[string]Quotas }
	const text = `{"Quotas":{"api.example/":"5/s burst 10, 1000/d window grid","other.example/":"no limit"}}`
	if err := json.Unmarshal([]byte(text), &conf); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(conf); err != nil || string(back) != text {
		t.Errorf("got %s, %v, want %s", back, err, text)
	}
	if qs, ok := conf.Quotas["other.example/"]; !ok || qs != nil {
		t.Errorf("no limit was read as %#v", qs)
	}

	fs := flag.NewFlagSet("", flag.ContinueOnError)
	var qs Quotas
	fs.TextVar(&qs, "quotas", Quotas{{N: 5}}, "")
	if qs.String() != "5/s" {
		t.Errorf("the default is %q", qs)
	}
	if err := fs.Parse([]string{"-quotas", "7/m log"}); err != nil || qs.String() != "7/m log" {
		t.Errorf("got %q, %v", qs, err)
	}
	if err := qs.UnmarshalText([]byte("7/x")); err == nil || qs.String() != "7/m log" {
		t.Errorf("got %q, %v, want an error, and what was there before", qs, err)
	}
	if text, err := (Quotas{{N: -1}}).MarshalText(); err == nil {
		t.Errorf("invalid quotas were written as %q", text)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"5/s burst 10, 100000/h", "50/2s window", "60/m sliding 7", "100/m log", "5/d window grid as x",
		"10/s warm-up 10s cold 3", `no limit as "a, b"`, "9/1h30m estimate", "5/s,", "1/106751d", "1/1.5ms cold 1e3 warm-up 1m",
		"30000 tokens/m burst 30000", "1.5MB/s burst 8MiB debt", "10 in flight, 2 points unanswered queue 3", "1 request/s",
		"5 rps", `5 "calls"/s`, "10 concurrent", "100 per minute", "1.5k hits/s + 10 Mbps", "2.50 x / 3 weeks, with bursts of 7", "9 IN 1,000 month token bucket", "leaky bucket 0.1/d as N", "5/2minutes", "30 a per 10 secnds", "1,000/h", "7/3months from 31 in UTC queue 2", "5/w window grid in Asia/Tokyo", "5/w window grid from friday", "1/2w",
		"6 monthly from 3", "9 in flight overall, 5/s overall as x", "1MiB/s streamed overall", "9kB streamed/m burst 9B", "9 at once globally", "9/d window grid in Nowhere", "5 Req / Hour", "9 x parallel", "5/s brust 3", "5/ week",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		qs, err := Parse(s)
		if err != nil {
			advised(t, s, err)
			return
		}
		if err := qs.Validate(); err != nil {
			t.Fatalf("%q was accepted: %v", s, err)
		}
		back, err := Parse(qs.String())
		if diff := cmp.Diff(qs, back); err != nil || diff != "" {
			t.Errorf("%q was read as %q, and that as %q, %v:\n%s", s, qs, back, err, diff)
		}
	})
}

// FuzzQuotaString writes every valid quota and reads it again.
func FuzzQuotaString(f *testing.F) {
	f.Add("", "", 5, int64(0), "", 10, false, 0, 0, int64(0), 0.0, 0, 0, "", false, false)
	f.Add("a b", "", 5, int64(time.Hour), "window grid", 0, false, 0, 7, int64(0), 0.0, 0, 0, "", false, false)
	f.Add("", "tokens", 5, int64(90*time.Minute+1), "", 0, false, 6, 0, int64(time.Second), 1234567.5, 0, 0, "", false, false)
	f.Add("", Bytes, 1500, int64(time.Minute), "", 1<<20, true, 3000, 0, int64(0), 0.0, 0, 0, "", false, false)
	f.Add("x", "points", 1500, int64(0), string(InFlight), 0, false, 30, 0, int64(0), 0.0, 0, 0, "", false, false)
	f.Add("", "", 2000, int64(0), "", 0, false, 0, 0, int64(0), 0.0, 1, 31, "Europe/Berlin", false, false)
	f.Add("", "", 100, int64(0), string(InFlight), 0, false, 3, 0, int64(0), 0.0, 0, 0, "", true, false)
	f.Add("", "", 2000, int64(7*24*time.Hour), string(ClockWindow), 0, false, 0, 0, int64(0), 0.0, 0, 7, "", false, false)
	f.Add("", Bytes, 1_000_000, int64(time.Second), "", 0, false, 0, 0, int64(0), 0.0, 0, 0, "", true, true)
	f.Fuzz(func(t *testing.T, name, unit string, n int, per int64, kind string, burst int, debt bool, queue, cells int, warmUp int64, cold float64, months, from int, zone string, overall, streamed bool) {
		writtenAndRead(t, Quota{
			Name: name, Unit: unit, N: int64(n), Per: time.Duration(per), Kind: Kind(kind), Burst: int64(burst), Debt: debt, Queue: int64(queue),
			Cells: cells, WarmUp: time.Duration(warmUp), ColdFactor: cold, Months: months, From: from, Zone: zone, Overall: overall, Streamed: streamed,
		})
	})
}

// writtenAndRead writes q as text and reads it again. A default may come back as zero, or zero as
// the default. If q is invalid, writing it must not panic.
func writtenAndRead(t *testing.T, q Quota) (valid bool) {
	t.Helper()
	text := Quotas{q, q}.String()
	if q.Validate() != nil {
		return false
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if err := (Quotas{q}).Explicit().Validate(); err != nil {
		t.Errorf("%q is valid, and with all defaults filled in %v", text, err)
	}
	if q.N == 0 {
		q.Per, q.Unit = 0, ""
	}
	if diff := cmp.Diff(Quotas{q, q}.Explicit(), got.Explicit()); diff != "" {
		t.Errorf("%q (-want +got):\n%s", text, diff)
	}
	return true
}

// TestQuotaStringRandom writes and reads quotas whose fields have any valid values, in all
// combinations.
func TestQuotaStringRandom(t *testing.T) {
	whole.Alone(t)
	r := rand.New(rand.NewPCG(0, 6))
	some := func(n int) int { return (1 + r.IntN(n)) * r.IntN(2) * r.IntN(2) }
	const tries = 20_000
	valid, civil, streamed := map[Kind]int{}, 0, 0
	for range tries {
		q := Quota{
			Name: []string{"", "daily", "a b", `"`, ",", "ü", "in", "\xff"}[r.IntN(8)],
			N:    int64(1 + r.IntN(1<<r.IntN(30))), Unit: []string{"", Requests, Bytes, "tokens", "a.b-c_9", "no"}[r.IntN(6)],
			Kind: kinds[r.IntN(len(kinds))], Burst: int64(some(1 << 30)), Debt: r.IntN(4) == 0, Queue: int64(some(1 << 30)), Cells: some(30),
			WarmUp: time.Duration(some(1e6)) * time.Millisecond, Overall: r.IntN(4) == 0,
		}
		if r.IntN(4) > 0 {
			q.Per = time.Duration(1 + r.Int64N(1<<r.IntN(60)))
		}
		if r.IntN(4) == 0 {
			q.Months, q.From, q.Per = []int{1, 2, 3, 4, 5, 6, 12}[r.IntN(7)], r.IntN(32), 0
		} else if r.IntN(4) == 0 {
			q.Per, q.From = time.Duration(1+r.IntN(9))*24*time.Hour, r.IntN(2)*r.IntN(8)
		}
		if r.IntN(10) == 0 {
			q.Zone = []string{"UTC", "America/Los_Angeles"}[r.IntN(2)]
		}
		if q.WarmUp > 0 && r.IntN(2) == 0 {
			q.ColdFactor = 1 + 100*r.Float64()
		}
		if r.IntN(4) == 0 {
			q.Streamed = true
			if r.IntN(4) > 0 {
				q.Unit, q.Kind, q.Debt, q.Queue, q.Cells, q.WarmUp, q.Months, q.From, q.ColdFactor = Bytes, kinds[r.IntN(2)], false, 0, 0, 0, 0, 0, 0
			}
		}
		if writtenAndRead(t, q) {
			valid[q.Kind]++
			if q.Streamed {
				streamed++
			}
			if q.isCivil() {
				civil++
			}
		}
	}
	if streamed < tries/20 {
		t.Errorf("only %d were streamed", streamed)
	}
	if civil < tries/200 {
		t.Errorf("only %d began on days of the calendar", civil)
	}
	for _, k := range kinds {
		if valid[k] < tries/500 {
			t.Errorf("only %d of kind %q were valid", valid[k], k)
		}
	}
}
