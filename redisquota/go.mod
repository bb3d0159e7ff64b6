module github.com/gopacer/pacer/redisquota

go 1.25.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/gopacer/pacer v0.0.0
	github.com/redis/go-redis/v9 v9.5.5
)

require (
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/time v0.14.0 // indirect
)

replace github.com/gopacer/pacer => ../
