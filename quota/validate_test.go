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

// TestKindText: a Kind is text in JSON, and the same when it is read; a word that is none is an error of
// Validate.
func TestKindText(t *testing.T) {
	const want = `["","bucket","window","window grid","sliding","log","estimate","in flight","unanswered"]`
	got, err := json.Marshal([]Kind{Plain, TokenBucket, FixedWindow, ClockWindow, SlidingWindow, SlidingLog, EstimatedWindow, InFlight, Unanswered})
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	var qs Quotas
	if err := json.Unmarshal([]byte(`[{"N": 5}, {"N": 5, "Kind": "window grid"}, {"N": 5, "Kind": "grid"}]`), (*[]Quota)(&qs)); err != nil {
		t.Fatal(err)
	}
	if text := qs[:2].String(); text != "5/s, 5/s window grid" || qs[:2].Validate() != nil {
		t.Errorf("got %q, %v", text, qs[:2].Validate())
	}
	if err := qs.Validate(); err == nil || !strings.Contains(err.Error(), `quota: "5/s grid": Kind is "grid", want one of`) {
		t.Errorf("got %v", err)
	}
}

func TestKindValidate(t *testing.T) {
	over := MaxN + 1
	for want, q := range map[string]Quota{
		`"1/s fast": Kind is "fast", want one of ["" "bucket" "window" "window grid" "sliding" "log" "estimate" "in flight" "unanswered"]`: {N: 1, Kind: "fast"},
		`"no limit": Kind is "Window", want one of`:                          {Kind: "Window"},
		`"5/s even log": Burst is 1 ("even"), want 0 for a Kind other`:       {N: 5, Kind: SlidingLog, Burst: 1},
		`WarmUp is 1s, want 0 for a Kind other than TokenBucket`:             {N: 5, Kind: FixedWindow, WarmUp: time.Second},
		`ColdFactor is 3, want 0 without a WarmUp`:                           {N: 5, Kind: FixedWindow, ColdFactor: 3},
		`Cells is -1, want at least 0 (0 is 10)`:                             {N: 5, Kind: SlidingWindow, Cells: -1},
		`Cells is 5, want 0 for what is no SlidingWindow`:                    {N: 5, Kind: SlidingLog, Cells: 5},
		`"64/s": Cells is 64, want 0 for what is no SlidingWindow`:           {N: 64, Cells: 64},
		`"65/s 63": Cells is 63, want 0 for what is no SlidingWindow`:        {N: 65, Cells: 63},
		`"65/month": Cells is 64, want 0 for what is no SlidingWindow`:       {N: 65, Cells: 64, Months: 1},
		`"65/s burst 9": Cells is 64, want 0 for what is no SlidingWindow`:   {N: 65, Cells: 64, Burst: 9},
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

// Costs name one unit: of two spellings, half of what is counted would draw on one quota, and half on the
// other.
func TestQuotasAreNotInTwoSpellingsOfAUnit(t *testing.T) {
	err := Quotas{{N: 5}, {N: 10, Unit: "tokens"}, {N: 100, Unit: "Token", Per: 60e9}}.Validate()
	if want := `quota: "100 Token/m": Unit is "Token", want "tokens" as in "10 tokens/s"; if both are meant, "no limit of Token" before it says so`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for _, fine := range []Quotas{
		{{N: 10, Unit: "tokens"}, {N: 100, Unit: "tokens", Per: 60e9}},
		{{N: 10, Unit: "tier1"}, {N: 10, Unit: "tier2"}},
		{{N: 10, Unit: "tokens"}, {Unit: "token"}}, // says that "token" is no mistake
		{{N: 10, Unit: "tokens"}, {Unit: "token"}, {N: 5, Unit: "token"}},
	} {
		if err := fine.Validate(); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
}

func TestParseRefusesTwoSpellingsOfAUnit(t *testing.T) {
	_, err := Parse("5/s, 10 tokens/s,  100 token/m")
	if want := `quota: column 20: "100 token/m": Unit is "token", want "tokens" as in "10 tokens/s"; if both are meant, "no limit of token" before it says so`; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
