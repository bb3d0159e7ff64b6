module github.com/gopacer/pacer/filequota

go 1.25.0

require (
	github.com/gopacer/pacer v0.0.0
	golang.org/x/sys v0.47.0
)

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	golang.org/x/time v0.14.0 // indirect
)

replace github.com/gopacer/pacer => ../
