package throttle

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gopacer/pacer/quota"
)

// A cost in "token" draws on no quota in "tokens": without an error, it would be a pass without a limit.
func TestMisspelledUnitIsNoUnlimitedPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := &Limiter{Name: "account", Label: "of account", Quotas: quotas(t, "100 points/s log")}
		l := &Limiter{Name: "api", Label: "of api", Quotas: quotas(t, "5/s burst 5, 30 tokens/s log"), Parent: account}
		for _, test := range []struct{ unit, bucket, quota, want string }{
			{"token", "api", "30 tokens/s log", `throttle: api: not sent: claim does not fit a quota: cost in "token", want "tokens" as in "30 tokens/s log"`},
			{"Tokens", "api", "30 tokens/s log", `throttle: api: not sent: claim does not fit a quota: cost in "Tokens", want "tokens" as in "30 tokens/s log"`},
			{"tokns", "api", "30 tokens/s log", `throttle: api: not sent: claim does not fit a quota: cost in "tokns", want "tokens" as in "30 tokens/s log"`},
			{" tokens", "api", "30 tokens/s log", `throttle: api: not sent: claim does not fit a quota: cost in " tokens", want "tokens" as in "30 tokens/s log"`},
			{"request", "api", "5/s burst 5", `throttle: api: not sent: claim does not fit a quota: cost in "request", want "requests" as in "5/s burst 5"`},
			{"point", "account", "100 points/s log", `throttle: account: not sent: claim does not fit a quota: cost in "point", want "points" as in "100 points/s log"`},
		} {
			c := Claim{Costs: quota.Costs{test.unit: 7, "tokens": 1}}
			_, _, err := l.Join(t.Context(), c)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrUnit) || err.Error() != test.want || e.Bucket != test.bucket || e.Quota != test.quota || e.Cost != 7 || e.Unit != test.unit {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if f := l.Forecast(c); !f.Never || f.Err == nil || f.Err.Error() != test.want || f.Bucket != test.bucket || f.Label != "of "+test.bucket {
				t.Errorf("%s: forecast %+v, want never", test.unit, f)
			}
			g, f := l.Observe(c) // grants all the same
			if !f.Never || f.Err == nil || f.Err.Error() != test.want || f.Bucket != test.bucket || f.Label != "of "+test.bucket {
				t.Errorf("%s: observed %+v, want never", test.unit, f)
			}
			g.Cancel()
		}
		var e *Error
		if _, _, err := l.Join(t.Context(), Claim{Costs: quota.Costs{"token": -7}}); !errors.As(err, &e) || !errors.Is(err, ErrUnit) || e.Cost != 0 || e.Unit != "token" {
			t.Errorf("got %v, a cost of %d, want ErrUnit, and 0, as a negative cost counts", err, e.Cost)
		}
		for _, fine := range []string{"tokens", "points", "images"} {
			grant(t, l, Claim{Costs: quota.Costs{fine: 1}}).Cancel()
		}
		if err := l.Wait(t.Context(), 2); !errors.Is(err, ErrUnit) || !errors.As(err, &e) || e.Cost != 2 || e.Unit != "" {
			t.Errorf("got %v, want ErrUnit, and a cost of 2 requests", err)
		}
		// A quota without an N says that a unit is meant as it is written.
		if err := l.SetQuotas(append(quotas(t, "30 tokens/s log"), quota.Quota{Unit: "token"})); err != nil {
			t.Fatal(err)
		}
		grant(t, l, Claim{Costs: quota.Costs{"token": 1000}})
	})
}

// Settle cannot fail. A cost in the wrong unit counts, since it would else be a pass without a limit.
func TestSettleCountsMisspelledUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, settle := range map[string]func(g *Grant, spent quota.Costs){
			"Settle":   func(g *Grant, spent quota.Costs) { g.Settle(spent); g.Answered(Answer{}) },
			"Answered": func(g *Grant, spent quota.Costs) { g.Answered(Answer{Spent: spent}) },
			"in time":  func(g *Grant, spent quota.Costs) { g.Answered(Answer{Unsettled: true}); g.Settle(spent); g.Done() },
		} {
			for _, test := range []struct {
				spent quota.Costs
				left  int
			}{
				{quota.Costs{"token": 30}, 70},
				{quota.Costs{"tokens ": 30}, 70},
				{quota.Costs{"Tokens": 30, "images": 1}, 70},
				{quota.Costs{"token": 30, "tokens": 20}, 80}, // the right one counts
				{quota.Costs{"images": 30}, 90},
			} {
				account := &Limiter{Quotas: quotas(t, "100 tokens/s log")}
				l := &Limiter{Quotas: quotas(t, "5/s burst 5"), Parent: account}
				settle(grant(t, l, tokens(10)), test.spent)
				if got := account.State().Limits[0].Available; got != int64(test.left) {
					t.Errorf("%s of %v leaves %d, want %d", name, test.spent, got, test.left)
				}
				if len(test.spent) == 2 && test.spent["token"]+test.spent["Tokens"] != 30 {
					t.Errorf("%s has changed %v", name, test.spent)
				}
			}
		}
	})
}

// A cost has one of two spellings, and would draw on nothing of the other.
func TestParentIsNotInAnotherSpellingOfAUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := &Limiter{Name: "account", Quotas: quotas(t, "100 tokens/m log")}
		l := &Limiter{Name: "api", Quotas: quotas(t, "5 token/s log"), Parent: above}
		want := `throttle: api: the Unit of "5 token/s log" is "token", want "tokens" as in "100 tokens/m log" of account`
		if err := l.Wait(t.Context(), 1); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := l.SetQuotas(quotas(t, "5 tokens/s log")); err != nil {
			t.Fatal(err)
		}
		grant(t, l, tokens(5))
		if err := l.SetQuotas(quotas(t, "7 token/s log")); err == nil || !strings.Contains(err.Error(), `want "tokens" as in`) {
			t.Errorf("SetQuotas returned %v", err)
		}
		// The quotas of the Parent may come later.
		if err := above.SetQuotas(quotas(t, "100 Tokens/m log")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Join(t.Context(), tokens(1)); !errors.Is(err, ErrUnit) {
			t.Errorf("got %v, want ErrUnit", err)
		}
	})
}
