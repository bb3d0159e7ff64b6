package quota

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKindText: a Kind is text in JSON, and the same when it is read.
func TestKindText(t *testing.T) {
	type kinds struct{ A, B, C, D, E, F, G, H, I Kind }
	all := kinds{Plain, TokenBucket, FixedWindow, ClockWindow, SlidingWindow, SlidingLog, EstimatedWindow, InFlight, Unanswered}
	const want = `{"A":"plain","B":"bucket","C":"window","D":"window grid","E":"sliding","F":"log","G":"estimate","H":"in flight","I":"unanswered"}`
	got, err := json.Marshal(all)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	var back kinds
	if err := json.Unmarshal(got, &back); err != nil || back != all {
		t.Errorf("got %+v, %v, want %+v", back, err, all)
	}
	for _, k := range []Kind{-1, Unanswered + 1} {
		if got, err := k.MarshalText(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("quota: kind %d, want one of", int(k))) {
			t.Errorf("%d: got %q, %v", int(k), got, err)
		}
	}
	k := SlidingLog
	if err := k.UnmarshalText([]byte("even")); k != SlidingLog || err == nil || !strings.Contains(err.Error(), `quota: kind "even", want one of ["plain" "bucket"`) {
		t.Errorf("got %v, %v", k, err)
	}
}

func TestKindValidate(t *testing.T) {
	over := MaxN + 1
	for want, q := range map[string]Quota{
		`"1 kind 9": Kind is 9, want Plain, TokenBucket, FixedWindow, ClockWindow, SlidingWindow, SlidingLog, EstimatedWindow, InFlight or Unanswered`: {N: 1, Kind: Unanswered + 1},
		`Kind is -1, want Plain, TokenBucket,`:                               {N: 1, Kind: -1},
		`"5/s even log": Burst is 1 ("even"), want 0 for a Kind other`:       {N: 5, Kind: SlidingLog, Burst: 1},
		`WarmUp is 1s, want 0 for a Kind other than TokenBucket`:             {N: 5, Kind: FixedWindow, WarmUp: time.Second},
		`ColdFactor is 3, want 0 without a WarmUp`:                           {N: 5, Kind: FixedWindow, ColdFactor: 3},
		`Cells is -1, want at least 0 (0 is 10)`:                             {N: 5, Kind: SlidingWindow, Cells: -1},
		`Cells is 5, want 0 for what is no SlidingWindow`:                    {N: 5, Kind: SlidingLog, Cells: 5},
		`N is 0, want a positive number beside a Kind`:                       {Kind: ClockWindow},
		`"no limit": N is 0, want a positive number beside a Kind`:           {Kind: TokenBucket},
		`"5/500000h": Per is 500000h0m0s, want at most 50 years`:             {N: 5, Per: 500_000 * time.Hour},
		`"5 in flight": Per is 1s, want 0 for InFlight and Unanswered`:       {N: 5, Kind: InFlight, Per: time.Second},
		`"5 unanswered": Per is 1ns, want 0 for InFlight and Unanswered`:     {N: 5, Kind: Unanswered, Per: 1},
		`"5 burst 9 in flight": Burst is 9, want 0 for a Kind other`:         {N: 5, Kind: InFlight, Burst: 9},
		`Debt is true, want false for a Kind other than TokenBucket`:         {N: 5, Kind: Unanswered, Debt: true},
		`"5/500000h window grid": Per is 500000h0m0s, want at most 50 years`: {N: 5, Kind: ClockWindow, Per: 500_000 * time.Hour},
		fmt.Sprintf(`"%d/s estimate": N is %[1]d, want at most 1<<50`, over): {N: over, Kind: EstimatedWindow},
	} {
		if strconv.IntSize < 64 && strings.Contains(want, "1<<50") {
			continue
		}
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%#v: got %v, want %q in it", q, err, want)
		}
	}
}

func TestQuotaValidate(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		q    Quota
		want string // empty if it is valid
	}{
		{Quota{}, ""},
		{Quota{Name: "free"}, ""},
		{Quota{Name: "ü, 日本"}, ""},
		{Quota{Name: strings.Repeat("x", 100)}, ""},
		{Quota{Name: strings.Repeat("x", 101)}, "want at most 100 bytes that can be printed"},
		{Quota{Name: "a\n\x1b[2J"}, `quota: "a\n\x1b[2J": Name is "a\n\x1b[2J", want`},
		{Quota{Name: "a\u202eb"}, "want at most 100 bytes"},
		{Quota{Name: "\xff"}, "want at most 100 bytes"},
		{Quota{N: 1}, ""},
		{Quota{N: math.MaxInt, Per: 1000, Burst: math.MaxInt}, ""},
		{Quota{N: 1, Per: math.MaxInt64, Burst: 1}, ""},
		{Quota{N: 1, Per: math.MaxInt64, Kind: TokenBucket}, ""},
		{Quota{N: 1, Kind: TokenBucket, WarmUp: s}, ""},
		{Quota{N: 1, WarmUp: 1000}, ""},
		// A number without a unit is in nanoseconds, which nobody means.
		{Quota{N: 1, Per: 60}, `"1/60ns": Per is 60ns, want 1µs or more: a number alone is in nanoseconds, 60 * time.Second in seconds`},
		{Quota{N: 1, Per: 999, Kind: FixedWindow}, `Per is 999ns, want 1µs or more`},
		{Quota{N: 1, WarmUp: 10}, `WarmUp is 10ns, want 1µs or more: a number alone is in nanoseconds, 10 * time.Second in seconds`},
		{Quota{N: 1_000_000, Per: time.Millisecond}, ""},
		{Quota{N: 1, WarmUp: s, ColdFactor: 1}, ""},
		{Quota{N: 1, WarmUp: s, ColdFactor: math.MaxInt32}, ""},
		{Quota{N: 1, Unit: "a-b.c_9"}, ""},
		{Quota{N: 1, Unit: Requests}, ""},
		{Quota{N: 1, Unit: Bytes, Debt: true}, ""},
		{Quota{N: 1, Queue: math.MaxInt}, ""},
		{Quota{N: 1, Kind: SlidingLog, Queue: 1}, ""},

		{Quota{N: -1}, `quota: "-1/s": N is -1, want at least 0 (0 is no limit)`},
		{Quota{N: 1, Per: -s}, `quota: "1/-1s": Per is -1s, want a positive duration, or 0 for a second`},
		{Quota{N: 1, Burst: -2}, `quota: "1/s": Burst is -2, want at least 0`},
		{Quota{N: 1, WarmUp: -s}, `quota: "1/s": WarmUp is -1s, want a positive duration, or 0 for none`},
		{Quota{N: 1, WarmUp: s, Burst: 2}, `quota: "1/s burst 2 warm-up 1s": Burst is 2, want 0 beside a WarmUp`},
		{Quota{N: 1, WarmUp: s, ColdFactor: .99}, `quota: "1/s warm-up 1s cold 0.99": ColdFactor is 0.99, want from 1 to 2147483647, or 0 for 3`},
		{Quota{N: 1, WarmUp: s, ColdFactor: -3}, `ColdFactor is -3, want from 1 to 2147483647`},
		{Quota{N: 1, WarmUp: s, ColdFactor: math.NaN()}, `ColdFactor is NaN, want from 1 to 2147483647`},
		{Quota{N: 1, WarmUp: s, ColdFactor: math.Inf(1)}, `ColdFactor is +Inf, want from 1 to 2147483647`},
		{Quota{N: 1, ColdFactor: 3}, `quota: "1/s": ColdFactor is 3, want 0 without a WarmUp`},
		{Quota{Burst: 5}, `N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`},
		{Quota{WarmUp: s}, `N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`},
		{Quota{Debt: true}, `N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`},
		{Quota{Per: s}, `quota: "no limit": N is 0, want a positive number beside a Per of 1s`},
		{Quota{Name: "daily", Unit: "tokens", Per: s}, `quota: "daily": N is 0, want a positive number beside a Per of 1s`},
		{Quota{Queue: 1}, `N is 0, want a positive number beside a Burst, a Debt, a Queue, a WarmUp, Overall or Streamed`},
		{Quota{N: 1, Queue: -1}, `quota: "1/s": Queue is -1, want at least 0 (0 is no bound)`},
		{Quota{N: 1, Debt: true, WarmUp: s}, `quota: "1/s debt warm-up 1s": Debt is true, want false beside a WarmUp`},
		{Quota{N: 1, Unit: "a b"}, `Unit is "a b", want a word`},
		{Quota{N: 1, Unit: "2b"}, `Unit is "2b", want a word`},
		{Quota{N: 1, Unit: "in", Kind: InFlight}, `Unit is "in", want a word`},
		{Quota{N: 1, Unit: "unanswered"}, `Unit is "unanswered", want a word`},
		{Quota{N: 1, Unit: "MiB"}, `Unit is "MiB", want a word`},
		{Quota{N: 1, Unit: "request"}, `Unit is "request", want a word`},
		{Quota{N: 1, Unit: strings.Repeat("a", 65)}, `want a word`},
		{Quota{Name: "daily", N: -5}, `quota: "daily": N is -5`},
		{Quota{N: 1, Months: 1, Per: time.Hour}, `Per is 1h0m0s, want 0 beside Months`},
		{Quota{N: 1, Months: 1, Per: -1}, `Per is -1ns, want 0 beside Months`},
		{Quota{N: 1, Months: 1, From: -1}, `From is -1`},
	} {
		err := test.q.Validate()
		switch {
		case err == nil && test.want != "":
			t.Errorf("%#v is valid, want %q", test.q, test.want)
		case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%#v: got %q, want %q in it", test.q, err, test.want)
		}
		if explicit := (Quotas{test.q}).Explicit().Validate(); (explicit == nil) != (err == nil) {
			t.Errorf("%#v: got %v, and with all defaults filled in %v", test.q, err, explicit)
		}
		// Quotas are as bad as the first bad one.
		qs := Quotas{{N: 5}, test.q, {N: -7}}
		all := qs.Validate()
		if test.want == "" {
			test.want = `"-7/s": N is -7`
		}
		if all == nil || !strings.Contains(all.Error(), test.want) {
			t.Errorf("%v: got %v, want %q in it", qs, all, test.want)
		}
	}
	if err := Quotas(nil).Validate(); err != nil {
		t.Error(err)
	}
}
