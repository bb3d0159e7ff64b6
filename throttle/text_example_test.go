package throttle_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
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

	_, err = throttle.ParseQuotas("5/s burst ten")
	fmt.Println(err)
	// Output:
	// 5 10
	// 5/s burst 10, 100000/d window grid
	// throttle: quotas: column 11: "ten", want a whole number from 1, or bytes if the quota is of bytes
}

// Quotas of different units, as a provider of language models has them.
func ExampleParseQuotas_units() {
	quotas, err := throttle.ParseQuotas("500/m window, 30000 tokens/m burst 30000, 1.5MB/s burst 8MiB debt, 10 in flight")
	if err != nil {
		panic(err)
	}
	for _, q := range quotas {
		fmt.Printf("%d %q %v\n", q.N, q.Unit, q.Kind)
	}
	// Output:
	// 500 "" window
	// 30000 "tokens" bucket
	// 1500000 "bytes" bucket
	// 10 "" in flight
}

// What is written as text can be written in Go, field by field.
func ExampleQuotas() {
	quotas := throttle.Quotas{
		{N: 5, Burst: 10},
		{N: 100_000, Per: 24 * time.Hour, Kind: throttle.ClockWindow},
		{N: 30_000, Unit: "tokens", Per: time.Minute, Burst: 30_000},
		{N: 1 << 20, Unit: throttle.Bytes, Burst: 8 << 20, Debt: true},
		{N: 10, Kind: throttle.InFlight},
	}
	fmt.Println(quotas, quotas.Validate())

	fmt.Println(throttle.Quotas{{N: 5, Kind: throttle.SlidingLog, Burst: 10}}.Validate())
	// Output:
	// 5/s burst 10, 100000/d window grid, 30000 tokens/m burst 30000, 1MiB/s burst 8MiB debt, 10 in flight <nil>
	// throttle: quota "5/s burst 10 log": Burst is 10, want 0 for what is no token bucket: N may go at once
}

// Quotas are strings in JSON.
func ExampleQuotas_UnmarshalText() {
	var config struct {
		Workers int
		Quotas  throttle.Quotas
	}
	err := json.Unmarshal([]byte(`{"Workers": 8, "Quotas": "5/s burst 10, 1000/h log"}`), &config)
	fmt.Println(config.Quotas, err)

	text, err := json.Marshal(config)
	fmt.Println(string(text), err)
	// Output:
	// 5/s burst 10, 1000/h log <nil>
	// {"Workers":8,"Quotas":"5/s burst 10, 1000/h log"} <nil>
}

// Quotas in an environment variable.
func ExampleQuotas_UnmarshalText_environment() {
	os.Setenv("UPSTREAM_QUOTAS", "5/s queue 10") // as the shell does
	defer os.Unsetenv("UPSTREAM_QUOTAS")

	quotas := throttle.Quotas{{N: 1}} // unless it is set
	if text, ok := os.LookupEnv("UPSTREAM_QUOTAS"); ok {
		if err := quotas.UnmarshalText([]byte(text)); err != nil {
			fmt.Println("UPSTREAM_QUOTAS:", err)
			return
		}
	}
	fmt.Println(quotas)
	// Output: 5/s queue 10
}

// Quotas in a flag, which has a default and explains itself.
func ExampleQuotas_UnmarshalText_flag() {
	flags := flag.NewFlagSet("crawl", flag.ContinueOnError)
	flags.SetOutput(os.Stdout)
	var quotas throttle.Quotas
	flags.TextVar(&quotas, "quotas", throttle.Quotas{{N: 5, Burst: 10}}, "what the server `allows`")
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
