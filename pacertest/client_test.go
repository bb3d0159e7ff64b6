package pacertest_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// polite is a client that waits as long as a refusal asks.
func polite(t *testing.T, rt http.RoundTripper) {
	t.Helper()
	for {
		resp, _ := get(t, rt, "https://api.example.com/")
		if resp.StatusCode != http.StatusTooManyRequests {
			return
		}
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(after) * time.Second)
	}
}

// A test as a user writes it. It finds out how well a client does that obeys a
// Retry-After in whole seconds.
func TestPoliteClient(t *testing.T) {
	tests := []struct {
		name      string
		algorithm pacertest.Algorithm
		took      time.Duration
		least     time.Duration
		refused   int
	}{
		{"exact", &pacertest.FixedWindow{Limit: 5, Window: 4 * time.Second}, 16 * time.Second, 16 * time.Second, 4},
		{"in time", &pacertest.TokenBucket{Rate: 2, Burst: 5}, 10 * time.Second, 10 * time.Second, 10},
		{"half", &pacertest.TokenBucket{Rate: 2, Burst: 1}, 24 * time.Second, 12 * time.Second, 24},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := pacertest.NewServer(tt.algorithm, pacertest.RetryAfterOnly)
				defer server.Close()
				tr, start := server.Transport(), time.Now()
				for range 25 {
					polite(t, tr)
				}
				if got := time.Since(start); got != tt.took {
					t.Errorf("took %v, want %v", got, tt.took)
				}
				if got := pacertest.Least(tt.algorithm, start, 25); got != tt.least {
					t.Errorf("Least = %v, want %v", got, tt.least)
				}
				if got := server.Stats().Refused; got != tt.refused {
					t.Errorf("refused %d times, want %d", got, tt.refused)
				}
			})
		})
	}
}
