package interop

import (
	"net/http"
	"testing"

	"github.com/gopacer/pacer/quota"
)

// TestRoutesOfParts: three processes together send as many requests to each of two routes as one does.
func TestRoutesOfParts(t *testing.T) {
	count := func(processes int) (narrow, all int) {
		whole := job{Truth: Truth{Quota: quota.Quota{N: 50}, Narrow: 10}}
		for _, j := range parts(whole, Workload{Processes: processes, Requests: 300}) {
			w := &worker{job: j, narrow: &http.Request{}, req: &http.Request{}}
			for i := range j.Requests {
				if all++; w.route(i+1) == w.narrow {
					narrow++
				}
			}
		}
		return narrow, all
	}
	for _, processes := range []int{1, 3, 7} {
		if narrow, all := count(processes); narrow != 50 || all != 300 {
			t.Errorf("of %d processes: %d of %d requests go to the narrow route, want 50 of 300", processes, narrow, all)
		}
	}
}
