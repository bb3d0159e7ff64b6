package quota

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestQuotaString(t *testing.T) {
	for want, q := range map[string]Quota{
		"no limit":                   {},
		"5/s":                        {N: 5},
		"7/s even":                   {N: 7, Per: time.Second, Burst: 1},
		"8/s even":                   {N: 8, Burst: 1},
		"8/s even debt":              {N: 8, Burst: 1, Debt: true},
		"8/s debt":                   {N: 8, Debt: true},
		"8/s burst 2":                {N: 8, Kind: TokenBucket, Burst: 2},
		"8/s burst 8":                {N: 8, Kind: TokenBucket},
		"9/s debt":                   {N: 9, Kind: TokenBucket, Debt: true},
		"1/s even":                   {N: 1, Kind: TokenBucket},
		"-8/s":                       {N: -8, Kind: TokenBucket},
		"8/s warm-up 1s":             {N: 8, Kind: TokenBucket, WarmUp: time.Second},
		"5/s burst 10":               {N: 5, Burst: 10},
		"50/2s":                      {N: 50, Per: 2 * time.Second},
		"60/m":                       {N: 60, Per: time.Minute},
		"5000/h":                     {N: 5000, Per: time.Hour},
		"100/d":                      {N: 100, Per: 24 * time.Hour},
		"100/2d":                     {N: 100, Per: 48 * time.Hour},
		"1000/30d":                   {N: 1000, Per: 30 * 24 * time.Hour},
		"1000/721h":                  {N: 1000, Per: 721 * time.Hour},
		`5 "queries"/s`:              {N: 5, Unit: "queries"},
		"3/1h30m":                    {N: 3, Per: 90 * time.Minute},
		"3/1m30s":                    {N: 3, Per: 90 * time.Second},
		"3/10m":                      {N: 3, Per: 10 * time.Minute},
		"3/10h":                      {N: 3, Per: 10 * time.Hour},
		"3/1h0m1s":                   {N: 3, Per: time.Hour + time.Second},
		"1/ms":                       {N: 1, Per: time.Millisecond},
		"1/250ms":                    {N: 1, Per: 250 * time.Millisecond},
		"1/1ns":                      {N: 1, Per: 1},
		"10/s warm-up 3s":            {N: 10, WarmUp: 3 * time.Second},
		"10/m warm-up 1m0s cold 2.5": {N: 10, Per: time.Minute, WarmUp: time.Minute, ColdFactor: 2.5},
		"5/s burst 10 debt":          {N: 5, Burst: 10, Debt: true},
		"5/s queue 10":               {N: 5, Queue: 10},
		"9/m log queue 9":            {N: 9, Per: time.Minute, Kind: SlidingLog, Queue: 9},
		"6/s queue 2":                {N: 6, Unit: Requests, Queue: 2},
		"30000 tokens/m burst 300":   {N: 30_000, Unit: "tokens", Per: time.Minute, Burst: 300},
		"1MiB/s burst 8MiB debt":     {N: 1 << 20, Unit: Bytes, Burst: 8 << 20, Debt: true},
		"1500kB/s queue 1B":          {N: 1_500_000, Unit: Bytes, Queue: 1},
		"10 in flight":               {N: 10, Kind: InFlight},
		"2 points unanswered":        {N: 2, Unit: "points", Kind: Unanswered},
		"1GB in flight queue 3B":     {N: 1e9, Unit: Bytes, Kind: InFlight, Queue: 3},
		"2147483647/2562047h":        {N: math.MaxInt32, Per: 2562047 * time.Hour},
	} {
		if got := q.String(); got != want {
			t.Errorf("%#v is %q, want %q", q, got, want)
		}
		q.Name = "mine"
		if got := q.label(); got != "mine" || q.String() != want {
			t.Errorf("%#v has the label %q and is %q, want its name and %q", q, got, q, want)
		}
	}
}

func TestQuotasString(t *testing.T) {
	for want, qs := range map[string]Quotas{
		"":                                  nil,
		"5/s":                               {{N: 5}},
		"5/s burst 10, 100000/h":            {{N: 5, Burst: 10}, {N: 100_000, Per: time.Hour}},
		"no limit, 1/m, 2/d warm-up 1h0m0s": {{}, {N: 1, Per: time.Minute}, {N: 2, Per: 24 * time.Hour, WarmUp: time.Hour}},
	} {
		if got := qs.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// {N: 10, Debt: true} and {N: 10, Kind: TokenBucket, Debt: true} once differed tenfold: N at once is the
// default of both.
func TestZeroBurstIsN(t *testing.T) {
	for _, q := range []Quota{
		{N: 10, Kind: TokenBucket},
		{N: 10, Debt: true},
		{N: 10, Kind: TokenBucket, Debt: true},
		{N: 1 << 20, Unit: Bytes, Kind: TokenBucket},
		{N: math.MaxInt, Kind: TokenBucket},
	} {
		e := Quotas{q}.Explicit()[0]
		if e.Kind != TokenBucket || e.Burst != q.N {
			t.Errorf("%#v has a Burst of %d, want N", q, e.Burst)
		}
		back, err := Parse(q.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := back.Explicit()[0]; got != e {
			t.Errorf("%#v is written %q, which is read as %+v", q, q, got)
		}
		full := q
		full.Burst = q.N
		if why := (Quotas{q, full}).Redundant(); why == nil || why[1] == "" {
			t.Errorf("%#v is another one with a Burst of N: %q", q, why)
		}
	}
	// Stored tokens stand for coldness, and not for a burst.
	for _, q := range []Quota{{N: 10, WarmUp: 1e9}, {N: 10, Kind: TokenBucket, WarmUp: 1e9}} {
		if e := (Quotas{q}).Explicit()[0]; e.Burst != 0 || e.Kind != TokenBucket || e.Validate() != nil {
			t.Errorf("%#v is %+v", q, e)
		}
	}
}

// Of a streamed quota, the default is what comes in a twentieth of a second.
func TestStreamedBurst(t *testing.T) {
	for text, want := range map[string]int64{
		"1MB/s streamed": 50_000, "64kB/s streamed": 3200, "1GB/s streamed": 50_000_000, "39B/s streamed": 1, "1B/h streamed": 1, "60MB/m streamed": 50_000,
		"1MB/ms streamed": 50_000_000, "1MB/s burst 7B streamed": 7, "9223372036854775807B/s streamed": 461168601842738790, "9223372036854775807B/ms streamed": math.MaxInt64,
		"5B/s even streamed": 1,
	} {
		if strconv.IntSize < 64 && strings.HasPrefix(text, "9") {
			continue
		}
		e := MustParse(text).Explicit()[0]
		if e.Burst != want || e.Kind != TokenBucket || e.Name != text {
			t.Errorf("%s: got %+v, want a TokenBucket with a Burst of %d", text, e, want)
		}
		if again := (Quotas{e}).Explicit()[0]; again != e || e.Validate() != nil {
			t.Errorf("%s: %+v is not explicit: %+v, %v", text, e, again, e.Validate())
		}
	}
}
