module github.com/gopacer/pacer/bench

go 1.25.0

require (
	github.com/PuerkitoBio/rehttp v1.4.0
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/gopacer/pacer v0.0.0
	github.com/hashicorp/go-retryablehttp v0.7.8
	golang.org/x/time v0.14.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/influxdata/tdigest v0.0.1 // indirect
)

replace github.com/gopacer/pacer => ../
