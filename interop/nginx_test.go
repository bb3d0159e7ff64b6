package interop

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

func TestNginxQuota(t *testing.T) {
	for _, tt := range []struct {
		quota       quota.Quota
		rate, burst string
	}{
		{quota.Quota{N: 20, Per: time.Second, Burst: 10}, "20r/s", " burst=9"},
		{quota.Quota{N: 20, Per: 2 * time.Second, Burst: 2}, "10r/s", " burst=1"},
		{quota.Quota{N: 3, Per: 2 * time.Second, Burst: 1}, "90r/m", ""},
		{quota.Quota{N: 30, Per: time.Minute}, "30r/m", ""},
	} {
		if got := nginxRate(tt.quota); got != tt.rate {
			t.Errorf("%s: rate is %q, want %q", tt.quota, got, tt.rate)
		}
		if got := nginxBurst(tt.quota); got != tt.burst {
			t.Errorf("%s: burst is %q, want %q", tt.quota, got, tt.burst)
		}
	}
}
