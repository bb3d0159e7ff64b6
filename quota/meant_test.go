package quota

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestParseReadsSpansInWords(t *testing.T) {
	for letter, words := range map[string][]string{
		"s":  {"sec", "secs", "second", "seconds"},
		"m":  {"min", "mins", "minute", "minutes"},
		"h":  {"hr", "hrs", "hour", "hours"},
		"d":  {"day", "days"},
		"7d": {"w", "wk", "week", "weeks"},
	} {
		for _, word := range words {
			for text, want := range map[string]string{
				"5/" + word: "5/" + letter, "7 tokens/" + word + " burst 9": "7 tokens/" + letter + " burst 9",
				"1MiB/2" + word: "1MiB/2" + letter, "5/s warm-up 3" + word: "5/s warm-up 3" + letter,
			} {
				switch letter {
				case "7d":
					want = strings.NewReplacer("/27d", "/14d", "warm-up 37d", "warm-up "+(21*24*time.Hour).String()).Replace(want)
				default:
					want = MustParse(want).String()
				}
				if got, err := Parse(text); err != nil || got.String() != want {
					t.Errorf("%q is read as %q, %v, want %q", text, got, err, want)
				}
			}
		}
	}
}

// What people write for a quota is read, or answered with how it is written.
func TestParseSaysWhatWasMeant(t *testing.T) {
	for text, want := range map[string]string{
		"5 rps":                        `column 3: "rps", did you mean "5/s"`,
		"5rps":                         `column 1: "5rps", did you mean "5/s"`,
		"300 RPM burst 5":              `column 5: "RPM", did you mean "300/m burst 5"`,
		"5/s, 1000 rpd":                `column 11: "rpd", did you mean "5/s, 1000/d"`,
		"5 req/s":                      `column 3: "req/s", did you mean "5/s"`,
		"5r/m":                         `column 1: "5r", did you mean "5/m"`,
		"5 reqs/min":                   `column 3: "reqs/min", did you mean "5/m"`,
		"5 reqests/min":                `column 3: "reqests/min", did you mean "5/m"`,
		"5 Byte/m":                     `column 3: "Byte/m", did you mean "5B/m"`,
		"100 per minute":               `column 5: "per", did you mean "100/m"`,
		"100 requests per minute":      `column 14: "per", did you mean "100/m"`,
		"100 requests every 2 seconds": `column 14: "every", did you mean "100/2s"`,
		"5 per fortnight":              `column 3: "per", did you mean "5/14d"`,
		"5 tokens/Fortnight even":      `column 10: "Fortnight", did you mean "5 tokens/14d even"`,
		"5/s, 10 fortnightly":          `column 9: "fortnightly", did you mean "5/s, 10/14d"`,
		"5000/h windw grid":            `column 8: "windw", did you mean "5000/h window grid"`,
		"5000/d wndow grid in UTC":     `column 8: "wndow", did you mean "5000/d window grid in UTC"`,
		"1000/d windw calendar":        `column 8: "windw", did you mean "1000/d window grid"`,
		"100 requests hourly":          `column 14: "hourly", did you mean "100/h"`,
		"30000 tokens per day":         `column 14: "per", did you mean "30000 tokens/d"`,
		"5 a second":                   `column 3: "a", did you mean "5/s"`,
		"5 an hour":                    `column 3: "an", did you mean "5/h"`,
		"5 / s":                        `column 3: "/", did you mean "5/s"`,
		"5 /s":                         `column 3: "/s", did you mean "5/s"`,
		"5/ s":                         `column 3: nothing, did you mean "5/s"`,
		"5/10 seconds":                 `column 3: "10", did you mean "5/10s"`,
		"5/minut":                      `column 3: "minut", did you mean "5/m"`,
		"5/Hour":                       `column 3: "Hour", did you mean "5/h"`,
		"5/M":                          `column 3: "M", did you mean "5/m"`,
		"5/10S":                        `column 3: "10S", did you mean "5/10s"`,

		// A comma, a number or a span that is missing, and a unit in the wrong place.
		"5/s 10/m":                   `column 5: "10/m", did you mean "5/s, 10/m"`,
		"5/s burst 10 10/m":          `column 14: "10/m", did you mean "5/s burst 10, 10/m"`,
		"5/s 10/m 100/h 3 in flight": `column 5: "10/m", did you mean "5/s, 10/m, 100/h, 3 in flight"`,
		"5 tokens/s 1MB/m":           `column 12: "1MB/m", did you mean "5 tokens/s, 1MB/m"`,
		"5/s burst":                  `column 10: nothing, did you mean "5/s burst 5" (the text does not say how many may go at once)`,
		"5/s token":                  `column 5: "token", did you mean "5 tokens/s"`,
		"5/s tokens burst 9":         `column 5: "tokens", did you mean "5 tokens/s burst 9"`,
		"10 concurent":               `column 13: nothing, did you mean "10 in flight"`,
		"10 concurent, 5/s":          `column 13: ",", did you mean "10 in flight, 5/s"`,
		"500 requests and 30000 tokens per minute":                  `column 14: "and", did you mean "500/m, 30000 tokens/m"`,
		"500 requests & 30000 tokens & 9 points per 2 seconds even": `column 14: "&", did you mean "500/2s, 30000 tokens/2s, 9 points/2s even"`,
		"500 requests and 10 in flight and 30000 tokens per minute": `column 14: "and", did you mean "500/m, 10 in flight, 30000 tokens/m"`,
		"500 requests and 30000 tokens":                             `column 14: "and", want ` + afterNumber,

		// A number with a point, with marks among its digits, or with a word.
		"1.0/s":            `column 1: "1.0", did you mean "1/s"`,
		"2.0/m":            `column 1: "2.0", did you mean "2/m"`,
		"5/s burst 2.0":    `column 11: "2.0", did you mean "5/s burst 2"`,
		"1.5/s":            `column 1: "1.5", did you mean "3/2s"`,
		"0.5/s":            `column 1: "0.5", did you mean "1/2s"`,
		"0.01/m":           `column 1: "0.01", did you mean "1/1h40m"`,
		"2.5 tokens/10s":   `column 1: "2.5", did you mean "5 tokens/20s"`,
		"1,000/h":          `column 2: ",", did you mean "1000/h"`,
		"1,000/m":          `column 2: ",", did you mean "1000/m"`,
		"5/s, 1,000,000/d": `column 7: ",", did you mean "5/s, 1000000/d"`,
		"1_000/m":          `column 1: "1_000", did you mean "1000/m"`,
		"90k tokens/m":     `column 1: "90k", did you mean "90000 tokens/m"`,
		"2M tokens/d":      `column 1: "2M", did you mean "2000000 tokens/d"`,
		"1.5k req/m":       `column 1: "1.5k", did you mean "1500/m"`,
		"10k/s":            `column 1: "10k", did you mean "10000/s"`,
		"2 million/d":      `column 3: "million/d", did you mean "2000000/d"`,

		// The units of language models, and bits.
		"90000 TPM":                         `column 7: "TPM", did you mean "90000 tokens/m"`,
		"40000 tpm":                         `column 7: "tpm", did you mean "40000 tokens/m"`,
		"90k TPM":                           `column 1: "90k", did you mean "90000 tokens/m"`,
		"100 tps":                           `column 5: "tps", did you mean "100/s"`,
		"10Mbit/s":                          `column 1: "10Mbit", did you mean "1250kB/s" (a byte has 8 bits)`,
		"10 Mbit/s":                         `column 4: "Mbit/s", did you mean "1250kB/s" (a byte has 8 bits)`,
		"10Mbps":                            `column 1: "10Mbps", did you mean "1250kB/s" (a byte has 8 bits)`,
		"10 Mbps debt":                      `column 4: "Mbps", did you mean "1250kB/s debt" (a byte has 8 bits)`,
		"1 MB per second":                   `column 3: "MB", did you mean "1MB/s"`,
		"1.5 MB/s":                          `column 1: "1.5", did you mean "1500kB/s"`,
		"10 MB/s debt":                      `column 4: "MB/s", did you mean "10MB/s debt"`,
		"1 MB per second of traffic":        `column 3: "MB", did you mean "1MB/s streamed"`,
		"1 GiB/day":                         `column 3: "GiB/day", did you mean "1GiB/d"`,
		"64 kB in flight":                   `column 4: "kB", did you mean "64kB in flight"`,
		"500 requests and 10 MB per minute": `column 14: "and", did you mean "500/m, 10MB/m"`,
		"10MBps":                            `column 1: "10MBps", did you mean "10MB/s"`,
		"10 MBps":                           `column 4: "MBps", did you mean "10MB/s"`,
		"1 megabyte per second":             `column 3: "megabyte", did you mean "1MB/s"`,
		"500 kilobytes/s":                   `column 5: "kilobytes/s", did you mean "500kB/s"`,
		"10 Gigabytes per day debt":         `column 4: "Gigabytes", did you mean "10GB/d debt"`,
		"1.5 mebibytes/s":                   `column 1: "1.5", did you mean "1536KiB/s"`,
		"100 megabits per second":           `column 5: "megabits", did you mean "12500kB/s" (a byte has 8 bits)`,
		"8 kilobit/s":                       `column 3: "kilobit/s", did you mean "1kB/s" (a byte has 8 bits)`,
		"1.5MBps streamed":                  `column 1: "1.5MBps", did you mean "1500kB/s streamed"`,
		"10 KB/s":                           `column 4: "KB/s", want bytes in one word with the number: 10kB or 10KiB`, // of 1000 or of 1024
		"10KBps":                            `column 1: "10KBps", want 10kB/s or 10KiB/s, in bytes`,
		"10 KBps":                           `column 4: "KBps", want bytes in one word with the number: 10kB/s or 10KiB/s`,
		"5 KBps/s":                          `column 3: "KBps/s", want bytes in one word with the number: 5kB or 5KiB`,
		"10 KBps streamed":                  `column 4: "KBps", want bytes in one word with the number: 10kB/s or 10KiB/s`,
		"5 MBPS":                            `column 3: "MBPS", want bytes in one word with the number: 5MB/s or 5MiB/s`, // or bits
		"10 bits/s":                         `column 4: "bits/s", did you mean "5B/4s" (a byte has 8 bits)`,

		// As other tools write it, and in an order of its own.
		"rate=10r/s burst=20 nodelay": `column 1: "rate=10r", did you mean "10/s burst 20"`,
		"10r/s nodelay":               `column 1: "10r", did you mean "10/s"`,
		"QPS: 20, burst: 30":          `column 1: "QPS:", did you mean "20/s burst 30"`,
		"rps=20":                      `column 1: "rps=20", did you mean "20/s"`,
		"TPM 90000, 5/s":              `column 1: "TPM", did you mean "90000 tokens/m, 5/s"`,
		"5/s, RPM: 100, 9/h":          `column 6: "RPM:", did you mean "5/s, 100/m, 9/h"`,
		"once per second":             `column 1: "once", did you mean "1/s"`,
		"Once a minute, burst 3":      `column 1: "Once", did you mean "1/m burst 3"`,
		"twice per hour":              `column 1: "twice", did you mean "2/h"`,
		"one request per second":      `column 1: "one", did you mean "1/s"`,
		"every 500ms":                 `column 1: "every", did you mean "1/500ms"`,
		"every 2 minutes":             `column 1: "every", did you mean "1/2m"`,
		"every second day":            `column 1: "every", want a quota such as`,
		"20-M":                        `column 1: "20-M", did you mean "20/m"`,
		"20-s burst 3":                `column 1: "20-s", did you mean "20/s burst 3"`,
		"limit 100 per minute":        `column 1: "limit", did you mean "100/m"`,
		"Rate limit: 100/m":           `column 1: "Rate", did you mean "100/m"`,
		"limited to 100 calls/m":      `column 1: "limited", did you mean "100/m" (a unit of that name`,
		"limit":                       `column 1: "limit", want a quota such as`,
		"burst 20 10/s":               `column 1: "burst", did you mean "10/s burst 20"`,
		"burst=20 10/s as \"a  b\"":   `column 1: "burst=20", did you mean "10/s burst 20 as \"a  b\""`,
		"burst 20":                    `column 1: "burst", want a quota such as`,
		"1 000/h":                     `column 3: "000/h", did you mean "1000/h"`,
		"10 000 tokens/m":             `column 4: "000", did you mean "10000 tokens/m"`,
		"5/s, 1\u00a0000\u202f000/d":  `column 6: "1\u00a0000\u202f000", did you mean "5/s, 1000000/d"`,
		"1'000/h":                     `column 1: "1'000", did you mean "1000/h"`,
		"1 00/h":                      `column 3: "00/h", want a span such as /m`,
		"100/m tokenbucket":           `column 7: "tokenbucket", did you mean "100/m burst 100"`,
		"100/m fixedwindow":           `column 7: "fixedwindow", did you mean "100/m window"`,
		"100/m SlidingWindow":         `column 7: "SlidingWindow", did you mean "100/m sliding"`,
		"100/m leakybucket":           `column 7: "leakybucket", did you mean "100/m even queue 100" (what finds`,
		"5 fortnights":                `column 3: "fortnights", did you mean "5/14d"`,
		"500ms every m":               `column 1: "500ms", want a whole number from 1, or bytes such as 500kB or 1MiB`,
		"2000 minutes per month":      `column 14: "per", did you mean "2000 minutes/month"`,

		// Words for requests.
		"5 calls/s":              `column 3: "calls/s", did you mean "5/s" (a unit of that name stands in double quotes)`,
		"5 hits/s":               `column 3: "hits/s", did you mean "5/s" (a unit of that name`,
		"5 invocations/s":        `column 3: "invocations/s", did you mean "5/s" (a unit of that name`,
		"5 queries/s":            `column 3: "queries/s", did you mean "5/s" (a unit of that name`,
		"5 Query/s":              `column 3: "Query/s", did you mean "5/s" (a unit of that name`,
		"5 transactions/s":       `column 3: "transactions/s", did you mean "5/s" (a unit of that name`,
		"5 operations/s burst 6": `column 3: "operations/s", did you mean "5/s burst 6" (a unit of that name`,
		"5 ops/s":                `column 3: "ops/s", did you mean "5/s" (a unit of that name`,
		"100 calls per minute":   `column 5: "calls", did you mean "100/m" (a unit of that name`,
		"100 queries/100s":       `column 5: "queries/100s", did you mean "100/1m40s" (a unit of that name`,
		"5 calls in flight":      `column 3: "calls", did you mean "5 in flight" (a unit of that name`,

		// Spans.
		"20 in 10s":                  `column 7: "10s", did you mean "20/10s"`,
		"20 in 10 seconds":           `column 7: "10", did you mean "20/10s"`,
		"20 requests in 10 seconds":  `column 16: "10", did you mean "20/10s"`,
		"20 requests in any 10 secs": `column 16: "any", did you mean "20/10s"`,
		"20 per 10 seconds":          `column 4: "per", did you mean "20/10s"`,
		"5/weak":                     `column 3: "weak", did you mean "5/7d"`,
		"10000 per 2 weeks":          `column 7: "per", did you mean "10000/14d"`,
		"1000/moth":                  `column 6: "moth", did you mean "1000/month"`,
		"1000 monthly":               `column 6: "monthly", did you mean "1000/month"`,
		"1000 per 3 months":          `column 6: "per", did you mean "1000/quarter"`,
		"1000 per year":              `column 6: "per", did you mean "1000/year"`,
		"1000 weekly":                `column 6: "weekly", did you mean "1000/7d"`,

		// What is under way, and what is not bounded.
		"10 concurrent":            `column 4: "concurrent", did you mean "10 in flight"`,
		"10 concurrent requests":   `column 4: "concurrent", did you mean "10 in flight"`,
		"10 requests concurrently": `column 13: "concurrently", did you mean "10 in flight"`,
		"10 in-flight":             `column 4: "in-flight", did you mean "10 in flight"`,
		"10inflight":               `column 1: "10inflight", did you mean "10 in flight"`,
		"10in flight":              `column 1: "10in", did you mean "10 in flight"`,
		"10 tokens parallel":       `column 11: "parallel", did you mean "10 tokens in flight"`,
		"10 in fligth":             `column 7: "fligth", did you mean "10 in flight"`,
		"10 tokens in flights":     `column 14: "flights", did you mean "10 tokens in flight"`,
		"10 IN FLIGHT":             `column 4: "IN", did you mean "10 in flight"`,
		"10 at a time":             `column 7: "a", did you mean "10 in flight"`,
		"10 at once":               `column 7: "once", did you mean "10 in flight"`,
		"10 requests unansered":    `column 13: "unansered", did you mean "10 unanswered"`,
		"10 Unanswered":            `column 4: "Unanswered", did you mean "10 unanswered"`,
		"no limits":                `column 4: "limits", did you mean "no limit"`,
		"No Limit":                 `column 1: "No", did you mean "no limit"`,
		"unlimited":                `column 1: "unlimited", did you mean "no limit"`,
		"none":                     `column 1: "none", did you mean "no limit"`,
		"infinite":                 `column 1: "infinite", did you mean "no limit"`,

		// Clauses, and words that say nothing.
		"max 10/s":                  `column 1: "max", did you mean "10/s"`,
		"up to 100/m":               `column 1: "up", did you mean "100/m"`,
		"at most 100/m":             `column 1: "at", did you mean "100/m"`,
		"5/s;100/m":                 `column 3: "s;100/m", did you mean "5/s, 100/m"`,
		"5/s and 100/m":             `column 5: "and", did you mean "5/s, 100/m"`,
		"5/s + 100 rpm, 10/h":       `column 5: "+", did you mean "5/s, 100/m, 10/h"`,
		"30 RPM, 14400 RPD":         `column 4: "RPM", did you mean "30/m, 14400/d"`,
		"5/60s, 30 RPM, 9 per hour": `column 11: "RPM", did you mean "5/m, 30/m, 9/h"`,
		"30 RPM, 5 frobs":           `column 4: "RPM", did you mean "30/m" for "30 RPM"`,
		"30 RPM, 9 tokens rpm, x":   `column 4: "RPM", did you mean "30/m" for "30 RPM"`,
		"30 rpm per user, 9 in utc": `column 4: "rpm", did you mean "30/m" for "30 rpm per user" (for each, if a Key tells them apart)`,
		"10/s, burst 20":            `column 7: "burst", did you mean "10/s burst 20"`,
		"60/min, burst 10, 900/h":   `column 9: "burst", did you mean "60/m burst 10, 900/h"`,
		"9/s, 10/s, with burst 20":  `column 12: "with", did you mean "9/s, 10/s burst 20"`,
		"10/s burst=20":             `column 6: "burst=20", did you mean "10/s burst 20"`,
		"10/s burst of 20":          `column 12: "of", did you mean "10/s burst 20"`,
		"10/s burst: 20":            `column 6: "burst:", did you mean "10/s burst 20"`,
		"10/s (burst: 20)":          `column 6: "(burst:", did you mean "10/s burst 20"`,
		"10/s with bursts up to 20": `column 6: "with", did you mean "10/s burst 20"`,
		"100/m fixed window":        `column 7: "fixed", did you mean "100/m window"`,
		"100/m fixed":               `column 7: "fixed", did you mean "100/m window"`,
		"100/m calendar":            `column 7: "calendar", did you mean "100/m window grid"`,
		"100/m sliding window":      `column 15: "window", did you mean "100/m sliding"`,
		"100/m sliding log":         `column 15: "log", did you mean "100/m log"`,
		"100/m rolling window":      `column 7: "rolling", did you mean "100/m log"`,
		"100/m token bucket":        `column 7: "token", did you mean "100/m burst 100"`,
		"10/s token bucket burst 5": `column 6: "token", did you mean "10/s burst 5"`,
		"100/m token-bucket":        `column 7: "token-bucket", did you mean "100/m burst 100"`,
		"100/m fixed-window":        `column 7: "fixed-window", did you mean "100/m window"`,
		"100/m sliding-window":      `column 7: "sliding-window", did you mean "100/m sliding"`,
		"100/m leaky-bucket":        `column 7: "leaky-bucket", did you mean "100/m even queue 100" (what finds the queue full fails; without queue, all wait)`,
		"20 concurrent connections": `column 4: "concurrent", did you mean "20 in flight"`,
		"20 open connections":       `column 9: "connections", did you mean "20 in flight"`,
		"100/m leaky bucket":        `column 7: "leaky", did you mean "100/m even queue 100" (what finds the queue full fails; without queue, all wait)`,
		"100/m LOG":                 `column 7: "LOG", did you mean "100/m log"`,
		"5/s brust 10":              `column 5: "brust", did you mean "5/s burst 10"`,
		"5/s Burst 10":              `column 5: "Burst", did you mean "5/s burst 10"`,
		"5/s warmup 10s":            `column 5: "warmup", did you mean "5/s warm-up 10s"`,
		"5/s warm_up 10s":           `column 5: "warm_up", did you mean "5/s warm-up 10s"`,
		"5/s warm up 10s":           `column 5: "warm", did you mean "5/s warm-up 10s"`,
		"5/s windows":               `column 5: "windows", did you mean "5/s window"`,
		"5/s window gird":           `column 12: "gird", did you mean "5/s window grid"`,
		"5/s slidng 4":              `column 5: "slidng", did you mean "5/s sliding 4"`,
		"5/s evenly":                `column 5: "evenly", did you mean "5/s even"`,
		"5/s queu 3":                `column 5: "queu", did you mean "5/s queue 3"`,
		"100 in flight globally":    `column 15: "globally", did you mean "100 in flight overall"`,
		"100 at a time in total":    `column 8: "a", did you mean "100 in flight overall"`,
		"5 overall in flight":       `column 3: "overall", did you mean "5 in flight overall"`,
		"1MB/s streaming":           `column 7: "streaming", did you mean "1MB/s streamed"`,
		"1MB/s as it flows":         `column 13: "flows", did you mean "1MB/s streamed"`,
		"1MB streamed/s":            `column 5: "streamed/s", did you mean "1MB/s streamed"`,
		"1MB/s streame overal":      `column 7: "streame", did you mean "1MB/s streamed overall"`,
		"1MB per second of traffic": `column 5: "per", did you mean "1MB/s streamed"`,
		"5 overall/s":               `column 3: "overall/s", did you mean "5/s overall"`,
		"9/h, 5 overall/s burst 7":  `column 8: "overall/s", did you mean "9/h, 5/s burst 7 overall"`,
		"5/s Overal":                `column 5: "Overal", did you mean "5/s overall"`,
		"5 rps as A":                `column 3: "rps", did you mean "5/s as A"`,
		`5 rps as "a / of, b"`:      `column 3: "rps", did you mean "5/s as \"a / of, b\""`,

		// When a day begins, where, and whose the quota is.
		"1000 per day, reset at midnight UTC":           `column 6: "per", did you mean "1000/d window grid in UTC"`,
		"1000 per day resets at midnight, 5/s":          `column 6: "per", did you mean "1000/d window grid, 5/s"`,
		"10000 per day, reset at midnight Pacific Time": `column 7: "per", did you mean "10000/d window grid in America/Los_Angeles"`,
		"10000/d window grid in PST":                    `column 24: "PST", did you mean "10000/d window grid in America/Los_Angeles"`,
		"10000/d window grid eastern time":              `column 21: "eastern", did you mean "10000/d window grid in America/New_York"`,
		"10000 per day in Europe/Berlin":                `column 7: "per", did you mean "10000/d window grid in Europe/Berlin"`,
		"10000 per day in Europe/Nowhere":               `column 7: "per", want a span such as /m`,
		"1000/day UTC":                                  `column 10: "UTC", did you mean "1000/d window grid in UTC"`,
		"1000 per week from monday":                     `column 6: "per", did you mean "1000/w window grid"`,
		"1000 per week from sunday, 5/s":                `column 6: "per", did you mean "1000/w window grid from sunday, 5/s"`,
		"1000/day from midnight":                        `column 15: "midnight", did you mean "1000/d window grid"`,
		"2000 per month evenly":                         `column 6: "per", did you mean "2000/30d even" (months differ in length)`,
		"2000 per month in Asia/Tokyo":                  `column 6: "per", did you mean "2000/month in Asia/Tokyo"`,
		"2000 per billing month from 15":                `column 6: "per", did you mean "2000/month from 15"`,
		"10 requests per second per user":               `column 13: "per", did you mean "10/s" (for each, if a Key tells them apart)`,
		"5000 per hour and token":                       `column 6: "per", did you mean "5000/h" (for each, if a Key tells them apart)`,
		"60 per minute per IP":                          `column 4: "per", did you mean "60/m overall"`,
		"60 per minute and address":                     `column 4: "per", did you mean "60/m overall"`,

		// How it is counted, before the span or behind a comma; and the part that is meant, if the rest is not
		// known.
		"100 per minute, evenly spaced":            `column 5: "per", did you mean "100/m even"`,
		"100 per minute, rolling, 5/s":             `column 5: "per", did you mean "100/m log, 5/s"`,
		"100 requests in any (rolling) 60 seconds": `column 17: "any", did you mean "100/m log"`,
		"100 per rolling hour, 5 rps":              `column 5: "per", did you mean "100/h log, 5/s"`,
		"100/rolling hour":                         `column 5: "rolling", did you mean "100/h log"`,
		"100 per calendar day":                     `column 5: "per", did you mean "100/d window grid"`,
		"5000 per hour, from the first request on": `column 6: "per", did you mean "5000/h window"`,
		"5000 per week, from Monday on":            `column 6: "per", did you mean "5000/w window grid"`,
		"2000 per month, on the 15th":              `column 6: "per", did you mean "2000/month" for "2000 per month"`,
		"5/s, 50  RPM,\t5 a frob":                  `column 10: "RPM", did you mean "50/m" for "50 RPM"`,
		"9 rpm, 50 \"a\u00e4\" per hour, 5 a frob": `column 3: "rpm", did you mean "9/m" for "9 rpm"`,

		// Of what may be meant in several ways, or in none.
		"5 calls":            `column 3: "calls", want a span such as /m`,
		"5months":            `column 1: "5months", want a slash before a span: 5/months`,
		"5s":                 `column 1: "5s", want a slash before a span: 5/s`,
		"10tokens":           `column 1: "10tokens", want a blank after the number, and a span: 10 tokens/m`,
		"10tokens fast":      `column 1: "10tokens", want a blank after the number: 10 tokens`,
		"5k":                 `column 1: "5k", want the number in digits, or of bytes 5kB/m or 5KiB/m`,
		"10 KB":              `column 4: "KB", want bytes in one word with the number: 10kB/m or 10KiB/m`,
		"5/s from noon":      `column 10: "noon", want no from: months and weeks begin on a day`,
		"5/s in Nowhere":     `column 8: "Nowhere", want no time zone: months and days of a clock have one`,
		"5 per 2 fortnight":  `column 3: "per", want a span such as /m`,
		"5/decade":           `column 3: "decade", want ms, s, m, h, d, w, month, quarter, year, or a duration such as 1m30s`,
		"5/s fast":           `column 5: "fast", want a comma, even, `,
		"5/100ns":            `column 3: "100ns", want at least 1µs`,
		"1.0/blink":          `column 1: "1.0", want a whole number from 1`,
		"0.001/s":            `column 1: "0.001", want a whole number from 1`,
		"1.5":                `column 1: "1.5", want a whole number from 1`,
		"token bucket 100/m": `column 1: "token", want a quota such as`,
		"0.01/106751d":       `column 1: "0.01", want a whole number from 1`,
		"5/s,":               `column 5: nothing, want a quota such as`,
		"1.5 parallel":       `column 1: "1.5", want a whole number from 1`,
		"5/s, 1.0001":        `column 6: "1.0001", want a whole number from 1`,

		// Too large: the bound.
		"1125899906842625/s":             `N is 1125899906842625, want at most 1<<50, 1125899906842624`,
		"99999999999999999999/s":         "want at most " + strconv.FormatInt(MaxN, 10),
		"5/s warm-up 9s cold 3000000000": `column 16: "5/s warm-up 9s cold 3e+09": ColdFactor is 3e+09, want from 1 to 2147483647, or 0 for 3`,
		"5/s log cold 3":                 `column 9: "5/s log": ColdFactor is 3, want 0 without a WarmUp`,
	} {
		if strconv.IntSize < 64 && strings.HasPrefix(want, "N is") {
			continue
		}
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(want, "N is") && strings.HasSuffix(want, `"`) && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
			continue
		}
		advised(t, text, err)
	}
}

// What is guessed is bounded: of a text of thousands of words without a comma, the error names the first that
// cannot be read, and neither repeats the text nor takes long to be written.
func TestParseGuessesNothingLong(t *testing.T) {
	for _, words := range []string{"5/s even ", "5/s as \"", "5/s burst 9 "} {
		_, err := Parse(strings.Repeat(words, 5000))
		if err == nil || len(err.Error()) > 300 || strings.Contains(err.Error(), didYouMean) {
			t.Errorf("%q many times: %.400v", words, err)
		}
	}
}

// Words that stay units: nobody counts them as requests.
func TestParseReadsUnits(t *testing.T) {
	for _, word := range []string{"messages", "writes", "reads", "points", "images", "tokens", "events", "pages"} {
		text := "5 " + word + "/s"
		if got, err := Parse(text); err != nil || got[0].Unit != word || got.String() != text {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}

// A unit of a program may have the name of something else: then its text has double quotes, and is read as it
// was.
func TestUnitsInDoubleQuotes(t *testing.T) {
	for _, word := range []string{"queries", "Calls", "ops", "tps", "bits", "Mbit", "k", "a", "max"} {
		qs := Quotas{{N: 5, Unit: word, Per: 1e9}, {N: 9, Unit: word, Kind: InFlight, Name: "x"}}
		text := fmt.Sprintf("5 %q/s, 9 %[1]q in flight as x", word)
		if err := qs.Validate(); err != nil || qs.String() != text {
			t.Errorf("%#v is %q, %v, want %q", qs, qs, err, text)
		}
		if got, err := Parse(text); err != nil || !slices.Equal(got, qs) {
			t.Errorf("%q is read as %#v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`5 "tokens"/s`: "5 tokens/s", `5 "requests"/s`: "5/s", `5 "bytes"/s, 2 "queries"/m burst 3`: `5B/s, 2 "queries"/m burst 3`,
	} {
		if got, err := Parse(text); err != nil || got.String() != want {
			t.Errorf("%q is read as %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`5 "a b"/s`, `5 "rps"/s`, `5 ""/s`, `5 "in"/s`, `5 "a/s`, `5 "a""/s`, `5 "request"/s`, `5 "a"`} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

// advised checks that what an error of Parse advises can be read.
func advised(t *testing.T, text string, err error) {
	t.Helper()
	m := regexp.MustCompile(`did you mean (".*?[^\\]")(?: for ".*")?(?: \([^()]*\))?$`).FindStringSubmatch(err.Error())
	if m == nil {
		return
	}
	better, unquoted := strconv.Unquote(m[1])
	if unquoted != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if qs, err := Parse(better); err != nil || qs.String() != better {
		t.Errorf("%q: advised %s, which is read as %q, %v", text, better, qs, err)
	}
}
