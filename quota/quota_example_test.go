package quota_test

import (
	"fmt"
	"time"

	"github.com/gopacer/pacer/quota"
)

// Some quotas are of each tenant of a program, and some of all of them together.
func ExampleQuota_overall() {
	for _, q := range quota.MustParse("5000/h, 100 in flight overall") {
		fmt.Printf("%d %q %v\n", q.N, q.Kind, q.Overall)
	}
	// Output:
	// 5000 "" false
	// 100 "in flight" true
}

// Files of any size are read and written no faster than the quota grants, while others wait for their turn.
func ExampleQuota_streamed() {
	q := quota.MustParse("1MB/s streamed")
	fmt.Println(q.Explicit()[0].Burst, "bytes at once")

	_, err := quota.Parse("5/s streamed")
	fmt.Println(err)
	// Output:
	// 50000 bytes at once
	// quota: column 5: "5/s streamed": Streamed is true, want false for a quota of requests: only bytes are streamed, as in 1MB/s streamed
}

// Three of these quotas never bind: the first one is too slow for the second, the bucket above is
// stricter than the fourth, and the fifth is the fourth again.
func ExampleQuotas_Redundant() {
	quotas := quota.MustParse("5/s burst 10, 100000/h window, 1000/h log, 10 in flight, 10 in flight as pool")
	for i, why := range quotas.Redundant(quota.Quota{N: 8, Kind: quota.InFlight}) {
		fmt.Printf("%d: %q\n", i, why)
	}
	fmt.Println(quota.MustParse("5/s, 300/m").Redundant() == nil)
	// Output:
	// 0: ""
	// 1: "100000/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"
	// 2: ""
	// 3: "10 in flight never binds: 8 in flight above admits at most 8 at a time"
	// 4: "10 in flight as pool never binds: 10 in flight admits the same"
	// true
}

// Explicit fills in what the text leaves out.
func ExampleQuotas_Explicit() {
	for _, q := range quota.MustParse("5/s even, 1000/h, 10/m sliding as mine").Explicit() {
		fmt.Printf("%s: %q, N %d, Per %v, Burst %d, Cells %d\n", q.Name, q.Kind, q.N, q.Per, q.Burst, q.Cells)
	}
	// Output:
	// 5/s even: "bucket", N 5, Per 1s, Burst 1, Cells 0
	// 1000/h: "", N 1000, Per 1h0m0s, Burst 0, Cells 64
	// mine: "sliding", N 10, Per 1m0s, Burst 0, Cells 10
}

// Months are those of the calendar. Other windows of the clock begin on days of the calendar, too.
func ExampleQuota_calendar() {
	fmt.Println(quota.Quotas{
		{N: 2000, Months: 1},
		{N: 2000, Months: 1, From: 15},
		{N: 10_000, Per: 24 * time.Hour, Kind: quota.ClockWindow, Zone: "America/Los_Angeles"},
		{N: 5000, Per: 7 * 24 * time.Hour, Kind: quota.ClockWindow, From: 1},
	})
	_, err := quota.Parse("10000/d window grid in America/Los_Angles")
	fmt.Println(err)
	// Output:
	// 2000/month, 2000/month from 15, 10000/d window grid in America/Los_Angeles, 5000/w window grid
	// quota: column 24: "America/Los_Angles", want a time zone of the IANA database such as America/Los_Angeles
}
