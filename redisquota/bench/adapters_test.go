package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

// TestAdaptersREADME: those that README.md shows are these.
func TestAdaptersREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("adapters.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), ")\n\n")
	for _, part := range strings.Split(code, "\n\n") {
		_, part, ok := strings.Cut("\n"+part, "shows it.\n")
		if !ok {
			part = strings.TrimPrefix(part, "\n")
		}
		if !strings.Contains(string(readme), strings.TrimSpace(part)) {
			t.Errorf("README.md does not show\n%s", part)
		}
	}
}

// TestAdapters: the adapters that README.md shows work.
func TestAdapters(t *testing.T) {
	s, err := server.Any(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	resp2 := s.Mini != nil // in RESP3 it takes no commands on a connection that subscribes, as real servers do
	r, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, AlwaysRESP2: resp2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, AlwaysRESP2: resp2})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	for name, client := range map[string]redisquota.Client{"rueidis": rueidisClient{r}, "valkey-go": valkeyClient{v}} {
		t.Run(name, func(t *testing.T) {
			shared := &redisquota.Store{Client: client, Prefix: name}
			heard := make(chan store.News, 100)
			stop, err := shared.Listen("api", func(n store.News) { heard <- n })
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			lost := func(when string) {
				t.Helper()
				for timeout := time.After(10 * time.Second); ; {
					select {
					case n := <-heard:
						if n.Lost {
							return
						}
					case <-timeout:
						t.Fatalf("%s, nobody hears that news may have been missed", when)
					}
				}
			}
			lost("when it subscribes")
			if s.Mini == nil {
				if err := c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
					t.Fatal(err)
				}
				lost("when it subscribes anew")
			}
			slots, held := false, false
			for i := range 1000 { // a bucket that nobody knows may have been lost: it has its first slots after the Horizon
				reply, err := shared.Exchange(t.Context(), &store.Request{
					Version: 1, Bucket: "api", Quotas: quota.Quotas{{N: 50, Per: time.Second, Kind: quota.TokenBucket, Burst: 1}}, SlotLife: 10 * time.Millisecond, Horizon: 50 * time.Millisecond,
					Member: "a", Serial: int64(i + 1), Hold: time.Duration(1000+i) * time.Millisecond, Asks: []store.Ask{{Cost: []int64{1}, Count: 2, Within: -1}},
				})
				if err != nil {
					t.Fatal(err)
				}
				slots = slots || len(reply.Slots) > 0
				select {
				case n := <-heard:
					held = held || n.Hold >= time.Second
				case <-time.After(5 * time.Millisecond):
				}
				if slots && held {
					return
				}
			}
			t.Errorf("slots: %v, news of a hold: %v, want both", slots, held)
		})
	}
}
