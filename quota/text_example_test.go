package quota_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/gopacer/pacer/quota"
)

func ExampleParse() {
	quotas, err := quota.Parse("5/s burst 10, 100000/d window grid")
	if err != nil {
		panic(err)
	}
	fmt.Println(quotas[0].N, quotas[0].Burst)
	fmt.Println(quotas)

	_, err = quota.Parse("5/s burst ten")
	fmt.Println(err)
	// Output:
	// 5 10
	// 5/s burst 10, 100000/d window grid
	// quota: column 11: "ten", want a whole number from 1, or bytes if the quota is of bytes
}

// Quotas in the literal of a program. A text that cannot be read is a mistake of the program, and
// panics.
func ExampleMustParse() {
	fmt.Println(quota.MustParse("5000/h, 10/s burst 20")) // for the Quotas of a throttle.Limiter, or in a pacer.Table

	defer func() { fmt.Println(recover()) }()
	quota.MustParse("5000 per hour")
	// Output:
	// 5000/h, 10/s burst 20
	// quota: MustParse("5000 per hour"): column 6: "per", did you mean "5000/h"
}

// Quotas of different units, as a provider of a language model grants them.
func ExampleParse_units() {
	quotas, err := quota.Parse("500/m window, 30000 tokens/m, 1.5MB/s burst 8MiB debt, 10 in flight")
	if err != nil {
		panic(err)
	}
	for _, q := range quotas {
		fmt.Printf("%d %q %q\n", q.N, q.Unit, q.Kind)
	}
	// Output:
	// 500 "" "window"
	// 30000 "tokens" ""
	// 1500000 "bytes" ""
	// 10 "" "in flight"
}

// These texts stand for sentences that providers write.
func ExampleParse_providers() {
	for _, text := range []string{
		"10/s",               // "10 requests per second", and nothing else
		"10/s even",          // the same, and the requests should be spaced
		"10/s log",           // "10 requests in any second", to the letter
		"10/s burst 20",      // "10 per second, with bursts of up to 20"
		"5000/h window",      // "5000 per hour", from the first request on
		"1000/d window grid", // "1000 per day, reset at midnight UTC"
		"10 in flight",       // "no more than 10 concurrent requests"
		"30000 tokens/m",     // "30000 tokens per minute"
		"1MB/s debt",         // "1 MB per second", for files of any size
	} {
		quotas, err := quota.Parse(text)
		if err != nil {
			panic(err)
		}
		q := quotas.Explicit()[0]
		fmt.Printf("%-18s  %-13q  N %d, Per %v, Burst %d\n", text, q.Kind, q.N, q.Per, q.Burst)
	}
	// Output:
	// 10/s                ""             N 10, Per 1s, Burst 0
	// 10/s even           "bucket"       N 10, Per 1s, Burst 1
	// 10/s log            "log"          N 10, Per 1s, Burst 0
	// 10/s burst 20       "bucket"       N 10, Per 1s, Burst 20
	// 5000/h window       "window"       N 5000, Per 1h0m0s, Burst 0
	// 1000/d window grid  "window grid"  N 1000, Per 24h0m0s, Burst 0
	// 10 in flight        "in flight"    N 10, Per 0s, Burst 0
	// 30000 tokens/m      ""             N 30000, Per 1m0s, Burst 0
	// 1MB/s debt          "bucket"       N 1000000, Per 1s, Burst 1000000
}

// Quotas can be written in Go, field by field, instead of as text.
func ExampleQuotas() {
	quotas := quota.Quotas{
		{N: 5, Burst: 10},
		{N: 100_000, Per: 24 * time.Hour, Kind: quota.ClockWindow},
		{N: 30_000, Unit: "tokens", Per: time.Minute},
		{N: 1 << 20, Unit: quota.Bytes, Burst: 8 << 20, Debt: true},
		{N: 10, Kind: quota.InFlight},
	}
	fmt.Println(quotas, quotas.Validate())

	fmt.Println(quota.Quotas{{N: 5, Kind: quota.SlidingLog, Burst: 10}}.Validate())
	// Output:
	// 5/s burst 10, 100000/d window grid, 30000 tokens/m, 1MiB/s burst 8MiB debt, 10 in flight <nil>
	// quota: "5/s burst 10 log": Burst is 10, want 0 for a Kind other than TokenBucket: N may go at once
}

// In JSON, Quotas are strings.
func ExampleQuotas_UnmarshalText() {
	var config struct {
		Workers int
		Quotas  quota.Quotas
	}
	err := json.Unmarshal([]byte(`{"Workers": 8, "Quotas": "5/s burst 10, 1000/h log"}`), &config)
	fmt.Println(config.Quotas, err)

	text, err := json.Marshal(config)
	fmt.Println(string(text), err)
	// Output:
	// 5/s burst 10, 1000/h log <nil>
	// {"Workers":8,"Quotas":"5/s burst 10, 1000/h log"} <nil>
}

// An environment variable can set Quotas.
func ExampleQuotas_UnmarshalText_environment() {
	os.Setenv("UPSTREAM_QUOTAS", "5/s queue 10") // as the shell does
	defer os.Unsetenv("UPSTREAM_QUOTAS")

	quotas := quota.Quotas{{N: 1}} // the default, if the variable is not set
	if text, ok := os.LookupEnv("UPSTREAM_QUOTAS"); ok {
		if err := quotas.UnmarshalText([]byte(text)); err != nil {
			fmt.Println("UPSTREAM_QUOTAS:", err)
			return
		}
	}
	fmt.Println(quotas)
	// Output: 5/s queue 10
}

// A flag can set Quotas. It has a default and explains itself.
func ExampleQuotas_UnmarshalText_flag() {
	flags := flag.NewFlagSet("crawl", flag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	var quotas quota.Quotas
	flags.TextVar(&quotas, "quotas", quota.Quotas{{N: 5, Burst: 10}}, "what the server `allows`")
	flags.PrintDefaults()

	if err := flags.Parse([]string{"-quotas", "2/s, 10 in flight"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(quotas)
	// Output:
	//   -quotas allows
	//     	what the server allows (default 5/s burst 10)
	// 2/s, 10 in flight
}
