package throttle

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestQuotaString(t *testing.T) {
	for want, q := range map[string]Quota{
		"no limit":                   {},
		"5/s":                        {N: 5},
		"7/s":                        {N: 7, Per: time.Second, Burst: 1},
		"5/s burst 10":               {N: 5, Burst: 10},
		"50/2s":                      {N: 50, Per: 2 * time.Second},
		"60/m":                       {N: 60, Per: time.Minute},
		"5000/h":                     {N: 5000, Per: time.Hour},
		"100/d":                      {N: 100, Per: 24 * time.Hour},
		"100/48h":                    {N: 100, Per: 48 * time.Hour},
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

func TestQuotaValidate(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		q    Quota
		want string // empty if it is valid
	}{
		{Quota{}, ""},
		{Quota{Name: "free"}, ""},
		{Quota{Per: s}, ""},
		{Quota{N: 1}, ""},
		{Quota{N: math.MaxInt, Per: 1, Burst: math.MaxInt}, ""},
		{Quota{N: 1, Per: math.MaxInt64}, ""},
		{Quota{N: 1, WarmUp: 1}, ""},
		{Quota{N: 1, WarmUp: s, ColdFactor: 1}, ""},
		{Quota{N: 1, WarmUp: s, ColdFactor: math.MaxInt32}, ""},
		{Quota{N: 1, Unit: "a-b.c_9"}, ""},
		{Quota{N: 1, Unit: Requests}, ""},
		{Quota{N: 1, Unit: Bytes, Debt: true}, ""},
		{Quota{N: 1, Queue: math.MaxInt}, ""},
		{Quota{N: 1, Kind: SlidingLog, Queue: 1}, ""},

		{Quota{N: -1}, `throttle: quota "-1/s": N is -1, want at least 0 (0 is no limit)`},
		{Quota{N: 1, Per: -s}, `throttle: quota "1/-1s": Per is -1s, want a positive duration, or 0 for a second`},
		{Quota{N: 1, Burst: -2}, `throttle: quota "1/s": Burst is -2, want at least 0 (0 is a burst of 1)`},
		{Quota{N: 1, WarmUp: -s}, `throttle: quota "1/s": WarmUp is -1s, want a positive duration, or 0 for none`},
		{Quota{N: 1, WarmUp: s, Burst: 2}, `throttle: quota "1/s burst 2 warm-up 1s": Burst is 2, want 0 beside a WarmUp`},
		{Quota{N: 1, WarmUp: s, ColdFactor: .99}, `throttle: quota "1/s warm-up 1s cold 0.99": ColdFactor is 0.99, want at least 1, or 0 for 3`},
		{Quota{N: 1, WarmUp: s, ColdFactor: -3}, `ColdFactor is -3, want at least 1`},
		{Quota{N: 1, WarmUp: s, ColdFactor: math.NaN()}, `ColdFactor is NaN, want at least 1`},
		{Quota{N: 1, WarmUp: s, ColdFactor: math.Inf(1)}, `ColdFactor is +Inf, want at least 1`},
		{Quota{N: 1, ColdFactor: 3}, `throttle: quota "1/s": ColdFactor is 3, want 0 without a WarmUp`},
		{Quota{Burst: 5}, `N is 0, want a positive number beside a Burst, a Debt, a Queue or a WarmUp`},
		{Quota{WarmUp: s}, `N is 0, want a positive number beside a Burst, a Debt, a Queue or a WarmUp`},
		{Quota{Debt: true}, `N is 0, want a positive number beside a Burst, a Debt, a Queue or a WarmUp`},
		{Quota{Queue: 1}, `N is 0, want a positive number beside a Burst, a Debt, a Queue or a WarmUp`},
		{Quota{N: 1, Queue: -1}, `throttle: quota "1/s": Queue is -1, want at least 0 (0 is no bound)`},
		{Quota{N: 1, Debt: true, WarmUp: s}, `throttle: quota "1/s debt warm-up 1s": Debt is true, want false beside a WarmUp`},
		{Quota{N: 1, Unit: "a b"}, `Unit is "a b", want a word`},
		{Quota{N: 1, Unit: "2b"}, `Unit is "2b", want a word`},
		{Quota{N: 1, Unit: "in", Kind: InFlight}, `Unit is "in", want a word`},
		{Quota{N: 1, Unit: "unanswered"}, `Unit is "unanswered", want a word`},
		{Quota{N: 1, Unit: "MiB"}, `Unit is "MiB", want a word`},
		{Quota{N: 1, Unit: "request"}, `Unit is "request", want a word`},
		{Quota{N: 1, Unit: strings.Repeat("a", 65)}, `want a word`},
		{Quota{Name: "daily", N: -5}, `throttle: quota "daily": N is -5`},
	} {
		err := test.q.Validate()
		switch {
		case err == nil && test.want != "":
			t.Errorf("%#v is valid, want %q", test.q, test.want)
		case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%#v: got %q, want %q in it", test.q, err, test.want)
		}
		// Quotas are as bad as the first bad one, and a Limiter grants nothing.
		qs := Quotas{{N: 5}, test.q, {N: -7}}
		all := qs.Validate()
		if test.want == "" {
			test.want = `quota "-7/s": N is -7`
		}
		if all == nil || !strings.Contains(all.Error(), test.want) {
			t.Errorf("%v: got %v, want %q in it", qs, all, test.want)
		}
		l := Limiter{Quotas: qs}
		if err := l.Wait(t.Context(), 1); err == nil || err.Error() != all.Error() {
			t.Errorf("Wait returned %v, want %v", err, all)
		}
	}
	if err := Quotas(nil).Validate(); err != nil {
		t.Error(err)
	}
}
