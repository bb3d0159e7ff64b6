package pacertest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/pacertest"
)

// fields are header fields with one value each.
type fields map[string]string

func (f fields) header() http.Header {
	h := http.Header{}
	for name, value := range f {
		h.Set(name, value)
	}
	return h
}

func TestDialectSet(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 17, 10, 600e6, time.UTC) // 1795249030.6
	admitted := pacertest.Verdict{OK: true, Limit: 50, Remaining: 49, Reset: 1200 * time.Millisecond, Window: 2 * time.Second}
	refused := pacertest.Verdict{Limit: 50, Reset: 1200 * time.Millisecond, RetryAfter: 1200 * time.Millisecond, Window: 2 * time.Second}
	never := pacertest.Verdict{Limit: 50, Remaining: 50, Reset: pacertest.Never, RetryAfter: pacertest.Never, Window: pacertest.Never}
	with := func(d pacertest.Dialect, change func(*pacertest.Dialect)) pacertest.Dialect {
		change(&d)
		return d
	}
	trio := func(reset pacertest.ResetForm, floor bool) pacertest.Dialect {
		return pacertest.Dialect{Layout: pacertest.LayoutTrio, Reset: reset, ResetFloor: floor}
	}
	retry := func(form pacertest.RetryAfterForm, floor bool) pacertest.Dialect {
		return pacertest.Dialect{RetryAfter: form, RetryAfterFloor: floor}
	}
	reset := func(value string) fields {
		return fields{"RateLimit-Limit": "50", "RateLimit-Remaining": "49", "RateLimit-Reset": value}
	}
	tests := []struct {
		name    string
		dialect pacertest.Dialect
		verdict pacertest.Verdict
		want    fields
	}{
		{"NoHeaders", pacertest.NoHeaders, refused, fields{}},
		{"RetryAfterOnly", pacertest.RetryAfterOnly, refused, fields{"Retry-After": "2"}},
		{"RetryAfterOnly admitted", pacertest.RetryAfterOnly, admitted, fields{}},
		{"RetryAfterOnly never", pacertest.RetryAfterOnly, never, fields{}},
		{"XRateLimit", pacertest.XRateLimit, admitted, fields{"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "49", "X-RateLimit-Reset": "1795249032"}},
		{"XRateLimit refused", pacertest.XRateLimit, refused, fields{"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795249032"}},
		{"XRateLimitDelta", pacertest.XRateLimitDelta, refused, fields{"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2", "Retry-After": "2"}},
		{"XRateLimitDelta never", pacertest.XRateLimitDelta, never, fields{"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "50"}},
		{"RateLimitDraft6", pacertest.RateLimitDraft6, admitted, fields{"RateLimit-Limit": "50", "RateLimit-Remaining": "49", "RateLimit-Reset": "2", "RateLimit-Policy": "50;w=2"}},
		{"RateLimitDraft7", pacertest.RateLimitDraft7, admitted, fields{"RateLimit": "limit=50, remaining=49, reset=2", "RateLimit-Policy": "50;w=2"}},
		{"RateLimitDraft7 never", pacertest.RateLimitDraft7, never, fields{"RateLimit": "limit=50, remaining=50", "RateLimit-Policy": "50"}},
		{"RateLimitDraft8", pacertest.RateLimitDraft8, refused, fields{"RateLimit": `"default";r=0;t=2`, "RateLimit-Policy": `"default";q=50;w=2`, "Retry-After": "2"}},
		{"RateLimitDraft8 never", pacertest.RateLimitDraft8, never, fields{"RateLimit": `"default";r=50`, "RateLimit-Policy": `"default";q=50`}},
		{"OpenAI", pacertest.OpenAI, admitted, fields{"X-RateLimit-Limit-Requests": "50", "X-RateLimit-Remaining-Requests": "49", "X-RateLimit-Reset-Requests": "1.2s"}},
		{"Anthropic", pacertest.Anthropic, admitted, fields{"Anthropic-RateLimit-Requests-Limit": "50", "Anthropic-RateLimit-Requests-Remaining": "49", "Anthropic-RateLimit-Requests-Reset": "2026-11-21T08:17:12Z"}},

		{"delta", trio(pacertest.ResetDelta, false), admitted, reset("2")},
		{"delta floor", trio(pacertest.ResetDelta, true), admitted, reset("1")},
		{"delta ms", trio(pacertest.ResetDeltaMillis, false), admitted, reset("1200")},
		{"decimal", trio(pacertest.ResetDecimal, false), admitted, reset("1.200")},
		{"epoch", trio(pacertest.ResetEpoch, false), admitted, reset("1795249032")},
		{"epoch floor", trio(pacertest.ResetEpoch, true), admitted, reset("1795249031")},
		{"epoch ms", trio(pacertest.ResetEpochMillis, false), admitted, reset("1795249031800")},
		{"RFC 3339", trio(pacertest.ResetRFC3339, false), admitted, reset("2026-11-21T08:17:12Z")},
		{"HTTP-date floor", trio(pacertest.ResetDate, true), admitted, reset("Sat, 21 Nov 2026 08:17:11 GMT")},
		{"omitted", trio(pacertest.ResetOmitted, false), admitted, fields{"RateLimit-Limit": "50", "RateLimit-Remaining": "49"}},
		{"draft 7 omitted", with(pacertest.RateLimitDraft7, func(d *pacertest.Dialect) { d.Reset = pacertest.ResetOmitted }), admitted, fields{"RateLimit": "limit=50, remaining=49", "RateLimit-Policy": "50;w=2"}},
		{"draft 8 named", with(pacertest.RateLimitDraft8, func(d *pacertest.Dialect) { d.Name, d.Prefix = `a"\b`, "Beta-RateLimit-" }), admitted, fields{"Beta-RateLimit": `"a\"\\b";r=49;t=2`, "Beta-RateLimit-Policy": `"a\"\\b";q=50;w=2`}},

		{"retry seconds", retry(pacertest.RetryAfterSeconds, false), refused, fields{"Retry-After": "2"}},
		{"retry seconds floor", retry(pacertest.RetryAfterSeconds, true), refused, fields{"Retry-After": "1"}},
		{"retry decimal", retry(pacertest.RetryAfterDecimal, false), refused, fields{"Retry-After": "1.200"}},
		{"retry ms", retry(pacertest.RetryAfterMillis, false), refused, fields{"Retry-After-Ms": "1200"}},
		{"retry date", retry(pacertest.RetryAfterDate, false), refused, fields{"Retry-After": "Sat, 21 Nov 2026 08:17:12 GMT"}},
		{"retry date floor", retry(pacertest.RetryAfterDate, true), refused, fields{"Retry-After": "Sat, 21 Nov 2026 08:17:11 GMT"}},
		{"retry window", retry(pacertest.RetryAfterWindow, false), refused, fields{"Retry-After": "2"}},
		{"no such layout", pacertest.Dialect{Layout: "other", Policy: true}, admitted, fields{}},
		{"no such reset", trio("other", false), admitted, reset("2")},
		{"no such retry", retry("other", false), refused, fields{}},
		{"refusals only", with(pacertest.XRateLimit, func(d *pacertest.Dialect) { d.RefusalsOnly = true }), admitted, fields{}},
		{"refusals only, refused", with(pacertest.XRateLimit, func(d *pacertest.Dialect) { d.RefusalsOnly = true }), refused, fields{"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795249032"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := http.Header{}
			tt.dialect.Set(got, tt.verdict, now)
			if diff := cmp.Diff(tt.want.header(), got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// The local zone of the server does not show.
func TestDialectSetUTC(t *testing.T) {
	h := http.Header{}
	now := time.Date(2026, 11, 21, 10, 17, 10, 0, time.FixedZone("EET", 7200))
	pacertest.Anthropic.Set(h, pacertest.Verdict{Reset: time.Second}, now)
	if got, want := h.Get("Anthropic-RateLimit-Requests-Reset"), "2026-11-21T08:17:11Z"; got != want {
		t.Errorf("reset = %q, want %q", got, want)
	}
}

var (
	layouts = []pacertest.Layout{pacertest.LayoutTrio, pacertest.LayoutDictionary, pacertest.LayoutList}
	resets  = []pacertest.ResetForm{
		pacertest.ResetDelta, pacertest.ResetDeltaMillis, pacertest.ResetDecimal, pacertest.ResetDuration, pacertest.ResetEpoch,
		pacertest.ResetEpochMillis, pacertest.ResetRFC3339, pacertest.ResetDate, pacertest.ResetOmitted,
	}
	waits = []pacertest.RetryAfterForm{
		"", pacertest.RetryAfterSeconds, pacertest.RetryAfterDecimal, pacertest.RetryAfterMillis,
		pacertest.RetryAfterDate, pacertest.RetryAfterWindow,
	}
)

// No verdict makes a negative number or an overflow.
func FuzzDialectSet(f *testing.F) {
	f.Add(0, int64(time.Second), int64(1), int64(time.Minute), false)
	f.Add(5, int64(pacertest.Never)-1, int64(pacertest.Never)-1, int64(pacertest.Never)-1, true)
	f.Fuzz(func(t *testing.T, form int, reset, after, window int64, floor bool) {
		if reset < 0 || after < 0 || window < 0 {
			t.Skip("no verdict")
		}
		v := pacertest.Verdict{Reset: time.Duration(reset), RetryAfter: time.Duration(after), Window: time.Duration(window)}
		d := pacertest.Dialect{
			Layout: layouts[uint(form)%3], Policy: true, Reset: resets[uint(form)%9], ResetFloor: floor,
			RetryAfter: waits[uint(form)%6], RetryAfterFloor: floor,
		}
		h := http.Header{}
		d.Set(h, v, time.Unix(1795249030, 600e6))
		for name, values := range h {
			for _, r := range fmt.Sprint(values) {
				if name != "Retry-After" && d.Reset != pacertest.ResetRFC3339 && r == '-' {
					t.Errorf("%s: %v", name, values)
				}
			}
		}
	})
}
