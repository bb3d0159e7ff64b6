package pacer_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

// A table in a configuration file. What is there twice, or cannot be read, is an error that
// says where.
func ExampleTable_UnmarshalJSON() {
	var config struct{ Quotas pacer.Table }
	err := json.Unmarshal([]byte(`{"Quotas": {
		"api.example.com/": "5/s burst 10, 100 in flight",
		"GET api.example.com/search/": ["30/m window", "1000/d window grid"],
		"/": "2/s"
	}}`), &config)
	fmt.Println(config.Quotas["GET api.example.com/search/"], err)

	err = json.Unmarshal([]byte(`{"Quotas": {
		"api.example.com/": "5/s brust 10",
		"/": "5/s",
		"/": "6/s"
	}}`), &config)
	fmt.Println(err)
	// Output:
	// 30/m window, 1000/d window grid <nil>
	// pacer: Quotas["api.example.com/"]: quota: column 5: "brust", did you mean "5/s burst 10"
	// pacer: Quotas["/"]: there twice
}

// A table in Go is written as text by encoding/json, in the order of its patterns.
func ExampleTable() {
	table := pacer.Table{
		"api.example.com/": {{N: 5, Burst: 10}, {N: 100, Kind: quota.InFlight}},
		"POST api.example.com/channels/{id}/messages": {{N: 5, Per: 5 * time.Second, Burst: 5}}, // for each channel
		"api.example.com/complete":                    {{N: 30_000, Unit: "tokens", Per: time.Minute, Burst: 30_000}},
		"/":                                           {{N: 2}}, // every other host, each for itself
	}
	text, err := json.MarshalIndent(table, "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "/": "2/s",
	//   "POST api.example.com/channels/{id}/messages": "5/5s burst 5",
	//   "api.example.com/": "5/s burst 10, 100 in flight",
	//   "api.example.com/complete": "30000 tokens/m burst 30000"
	// } <nil>
}

// All that is wrong is reported at once.
func ExampleTable_Validate() {
	table := pacer.Table{
		"https://api.example.com/":    {{N: 5}},
		"get api.example.com/search/": {{N: 1}},
		"api.example.com/upload":      {{N: 8, Burst: 10}, {N: 5, Burst: -1}},
	}
	fmt.Println(table.Validate())
	// Output:
	// pacer: Quotas["api.example.com/upload"]: quota: "5/s": Burst is -1, want at least 0
	// pacer: Quotas["get api.example.com/search/"]: want the method in upper case: "GET"
	// pacer: Quotas["https://api.example.com/"]: want a pattern without a scheme, since it is for all of them: "api.example.com/"
}

// What is only redundant does no harm, but is probably a mistake.
func ExampleTable_Redundant() {
	table := pacer.Table{
		"api.example.com/":       quota.MustParse("5/s burst 10, 100000/h window"),
		"api.example.com/upload": quota.MustParse("8/s burst 10"),
	}
	for _, why := range table.Redundant() {
		fmt.Println(why)
	}
	// Output:
	// Quotas["api.example.com/"]: 100000/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s
	// Quotas["api.example.com/upload"] beside those of "api.example.com/": 8/s burst 10 never binds: 5/s burst 10 above admits at most 10 at once, and no more than 5/s from then on
}
