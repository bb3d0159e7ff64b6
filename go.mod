module github.com/gopacer/pacer

go 1.25.0

require (
	github.com/cenkalti/backoff/v4 v4.3.0
	github.com/dunglas/httpsfv v1.1.2
	github.com/google/go-cmp v0.7.0
	github.com/hashicorp/go-retryablehttp v0.7.8
	golang.org/x/time v0.14.0
)

require github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
