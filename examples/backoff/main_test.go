package main

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the program prints, but for random delays: these are compared with the longest that they may be.
func TestRun(t *testing.T) {
	random := regexp.MustCompile(`next in (\S+)|due after ([^:]+)`)
	longest := []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 330 * time.Millisecond, // a hint is spread by a tenth
		7*24*time.Hour + 100*time.Millisecond, 1100 * time.Millisecond, 10 * time.Millisecond,
	}
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		run(t.Context(), &out)
		got := random.ReplaceAllStringFunc(out.String(), func(s string) string {
			m := random.FindStringSubmatch(s)
			d, err := time.ParseDuration(m[1] + m[2])
			if err != nil || len(longest) == 0 || d > longest[0] {
				t.Errorf("%q, want no more than %v", s, longest)
			} else {
				longest = longest[1:]
			}
			return strings.Replace(s, m[1]+m[2], "DELAY", 1)
		})
		want := `Two failures, random delays of up to 100 ms and 200 ms:
  attempt 1: service unavailable; next in DELAY
  attempt 2: service unavailable; next in DELAY
  got 3 apples
The server asks for 300 ms:
  attempt 1: service unavailable; next in DELAY
  got 3 apples
The server asks for a week:
  failed: backoff: hint exceeds MaxHint (2m0s), 1 attempt in 0s, next due after DELAY: service unavailable
An answer that another attempt does not change:
  failed: no such order
A deadline that the next delay would miss:
  failed: backoff: next attempt would miss the context's deadline, 1 attempt in 0s, next due after DELAY: service unavailable
Ten orders while the service is down, under a budget of 3 retries:
  13 calls where 3 attempts each are 30; the last says: backoff: local retry budget is empty, 1 attempt in 0s, next due after DELAY: service unavailable
`
		if len(longest) > 0 {
			t.Errorf("no more delays, want one of no more than %v", longest)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	})
}
