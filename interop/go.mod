module github.com/gopacer/pacer/interop

go 1.25.0

replace github.com/gopacer/pacer => ../

require (
	github.com/PuerkitoBio/rehttp v1.4.0
	github.com/aws/aws-sdk-go-v2 v1.47.7
	github.com/aws/smithy-go v1.28.8
	github.com/cenkalti/backoff/v4 v4.3.0
	github.com/didip/tollbooth/v7 v7.0.2
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/go-chi/httprate v0.16.1
	github.com/goccy/go-yaml v1.19.2
	github.com/gofri/go-github-ratelimit/v2 v2.0.2
	github.com/google/go-cmp v0.7.0
	github.com/gopacer/pacer v0.0.0
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/throttled/throttled/v2 v2.15.0
	github.com/ulule/limiter/v3 v3.11.2
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/time v0.14.0
	gopkg.in/yaml.v2 v2.4.0
	gopkg.in/yaml.v3 v3.0.1
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/go-pkgz/expirable-cache/v3 v3.0.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	github.com/influxdata/tdigest v0.0.1 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/zeebo/xxh3 v1.0.2 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

ignore ./node/node_modules
