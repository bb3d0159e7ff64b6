package body

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/headers/internal/refusal"
	"github.com/gopacer/pacer/headers/internal/value"
)

// TestRead reads a body of each kind. Package headers has those of all services.
func TestRead(t *testing.T) {
	count := func(n int64) value.Count { return value.Count{N: n, Known: true} }
	for _, tt := range []struct {
		name string
		body string
		want Facts
	}{
		{
			"a delay", `{"retry_after":1.25,"global":false}`,
			Facts{Delay: value.Delay{In: 1250 * time.Millisecond, Resolution: 10 * time.Millisecond, Known: true}},
		},
		{"a delay that is too long", `{"retry_after":3601}`, Facts{Delay: value.Delay{In: time.Hour, Resolution: time.Second, Known: true}}},
		{
			"a global limit", `{"retry_after":5,"global":true}`,
			Facts{
				Delay:  value.Delay{In: 5 * time.Second, Resolution: time.Second, Known: true},
				Limits: []Limit{{Name: "global", Remaining: none, Reset: value.DelayOf(5*time.Second, time.Second)}},
			},
		},
		{
			"quotas", `{"error":{"details":[{"violations":[
				{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"},
				{"quotaId":"RequestsPerMonth","quotaValue":"500"}]}]}}`,
			Facts{Limits: []Limit{
				{Name: "GenerateContentInputTokensPerModelPerMinute-FreeTier", Unit: "tokens", Limit: count(250000), Remaining: none, Window: time.Minute},
				{Name: "RequestsPerMonth", Limit: count(500), Remaining: none, Long: true},
			}},
		},
		{
			"a quota of zero", `{"error":{"details":[{"metadata":{"quota_limit":"DefaultRequestsPerMinutePerProject","quota_limit_value":"0"}}]}}`,
			Facts{Refusal: refusal.Spent},
		},
		{
			"a problem", `{"violated-policies":["hourly"],"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"}`,
			Facts{Refusal: refusal.Busy, Limits: []Limit{{Name: "hourly", Remaining: none}}},
		},
		{
			"points", `{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":752,
				"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":666,"restoreRate":50.0}}}}`,
			Facts{
				Refusal: refusal.TooFast,
				Delay:   value.Delay{In: 1720 * time.Millisecond, Resolution: 20 * time.Millisecond, Known: true}, // (752 - 666) / 50
				Limits: []Limit{{
					Name: "cost", Unit: "points", Limit: count(1000), Remaining: count(666), Window: 20 * time.Second,
					Reset: value.DelayOf(6680*time.Millisecond, 20*time.Millisecond), // (1000 - 666) / 50
				}},
			},
		},
		{"the gravest of refusals", `{"error":{"code":"rate_limit_exceeded","type":"insufficient_quota"}} `, Facts{Refusal: refusal.Spent}},
		{"a word that is cut", `{"error":{"code":"insufficient_quota`, Facts{}},
		{"nothing", ``, Facts{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(&tt.want, Read([]byte(tt.body), time.Hour)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
