package throttle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gopacer/pacer/throttle"
)

func ExampleParseQuotas() {
	quotas, err := throttle.ParseQuotas("5/s burst 10, 100000/d window grid")
	if err != nil {
		panic(err)
	}
	fmt.Println(quotas[0].N, quotas[0].Burst)
	fmt.Println(quotas)

	_, err = throttle.ParseQuotas("5/s brust 10")
	fmt.Println(err)
	// Output:
	// 5 10
	// 5/s burst 10, 100000/d window grid
	// throttle: quotas: column 5: "brust", want a comma, burst, window, sliding, log, estimate, warm-up, cold or as
}

// Quotas are strings in JSON, YAML and flags.
func ExampleQuotas_UnmarshalText() {
	var config map[string]throttle.Quotas
	err := json.Unmarshal([]byte(`{"api.example.com/": "5/s burst 10", "slow.example.com/": "100/m log"}`), &config)
	fmt.Println(config["slow.example.com/"], err)
	// Output: 100/m log <nil>
}

// The provider allows 3 in any minute, and counts each.
func ExampleQuota_kind() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 3, Per: time.Minute, Kind: throttle.SlidingLog}}}
	for range 4 {
		_, _, err := l.Join(context.Background(), throttle.Claim{NoWait: true})
		fmt.Println(err == nil)
	}
	// Output:
	// true
	// true
	// true
	// false
}
