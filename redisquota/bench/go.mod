module github.com/gopacer/pacer/redisquota/bench

go 1.25.0

replace (
	github.com/gopacer/pacer => ../../
	github.com/gopacer/pacer/filequota => ../../filequota
	github.com/gopacer/pacer/redisquota => ../
)

require (
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/gopacer/pacer v0.0.0
	github.com/gopacer/pacer/filequota v0.0.0-00010101000000-000000000000
	github.com/gopacer/pacer/redisquota v0.0.0-00010101000000-000000000000
	github.com/redis/go-redis/v9 v9.5.5
	github.com/redis/rueidis v1.0.79
	github.com/throttled/throttled/v2 v2.15.0
	github.com/valkey-io/valkey-go v1.0.79
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/time v0.14.0 // indirect
)
