package redisquota_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
)

// threeNodes starts a Cluster of three servers.
func threeNodes(t *testing.T) (addrs []string) {
	t.Helper()
	var nodes []*redis.Client
	for i := range 3 {
		s := realServer(t, "--cluster-enabled", "yes", "--cluster-config-file", t.TempDir()+"/nodes.conf")
		c := dial(t, s)
		all := []any{"cluster", "addslots"}
		for slot := i * 5462; slot < min((i+1)*5462, 16384); slot++ {
			all = append(all, slot)
		}
		do(t, c, all...)
		do(t, c, "cluster", "set-config-epoch", i+1)
		nodes, addrs = append(nodes, c), append(addrs, s.Addr)
	}
	for _, c := range nodes[1:] {
		host, port, _ := strings.Cut(addrs[0], ":")
		do(t, c, "cluster", "meet", host, port)
	}
	for _, c := range nodes {
		ok := false
		for range 4000 {
			info, err := c.ClusterInfo(t.Context()).Result()
			if ok = err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3"); ok {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if !ok {
			t.Fatal("the nodes never came to know each other")
		}
	}
	return addrs
}

// TestStoreThreeNodes: the buckets are spread over three nodes, of a Cluster or of a Ring, and each of them
// holds for all processes; news of each are heard. A node that is gone is an outage of its own buckets alone.
func TestStoreThreeNodes(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) (client func() redis.UniversalClient, nodes []*redis.Client){
		"Cluster": func(t *testing.T) (func() redis.UniversalClient, []*redis.Client) {
			t.Helper()
			addrs := threeNodes(t)
			var nodes []*redis.Client
			for _, addr := range addrs {
				c := redis.NewClient(&redis.Options{Addr: addr})
				t.Cleanup(func() { c.Close() })
				nodes = append(nodes, c)
			}
			return func() redis.UniversalClient { return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs}) }, nodes
		},
		"Ring": func(t *testing.T) (func() redis.UniversalClient, []*redis.Client) {
			t.Helper()
			addrs := map[string]string{}
			var nodes []*redis.Client
			for _, name := range []string{"a", "b", "c"} {
				s := realServer(t)
				addrs[name], nodes = s.Addr, append(nodes, dial(t, s))
			}
			return func() redis.UniversalClient { return redis.NewRing(&redis.RingOptions{Addrs: addrs}) }, nodes
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, nodes := start(t)
			one, other := client(), client()
			defer one.Close()
			defer other.Close()
			a, b := goredis.New(one), goredis.New(other)
			for i := range 30 {
				bucket := fmt.Sprint("api", i)
				ask := func(s *redisquota.Store, name string, serial int64) int {
					m := &member{t: t, store: s, quotas: parse(t, "10/m log, 100/s burst 20"), name: name, serial: serial - 1}
					r := m.request(1, 7)
					r.Bucket, r.Fresh = bucket, true
					if serial == 1 && name == "a" {
						r.Horizon = 0
					}
					return granted(m.send(r), 0)
				}
				if got := ask(a, "a", 1) + ask(b, "b", 1); got != 10 {
					t.Errorf("%s: %d at once, want 10", bucket, got)
				}
			}
			heard, stop := listen(t, b, "api7")
			defer stop()
			time.Sleep(100 * time.Millisecond) // until it listens
			m := &member{t: t, store: a, quotas: parse(t, "10/m log, 100/s burst 20"), name: "a", serial: 2}
			r := m.request(1, 0)
			r.Bucket, r.Hold = "api7", time.Minute
			m.send(r)
			select {
			case <-heard:
			case <-time.After(5 * time.Second):
				t.Error("no news")
			}
			for i, c := range nodes {
				if n := len(c.Keys(t.Context(), "*:state").Val()); n < 2 || n > 25 {
					t.Errorf("node %d has %d of 30 buckets", i, n)
				}
			}
		})
	}
}

// All keys of a bucket are in one slot of a cluster, whatever its name is.
func TestStoreCluster(t *testing.T) {
	s := realServer(t, "--cluster-enabled", "yes", "--cluster-config-file", t.TempDir()+"/nodes.conf")
	plain := dial(t, s)
	all := []any{"cluster", "addslots"}
	for slot := range 16384 {
		all = append(all, slot)
	}
	do(t, plain, all...)
	for range 1000 {
		if info, err := plain.ClusterInfo(t.Context()).Result(); err == nil && strings.Contains(info, "cluster_state:ok") {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := plain.Eval(t.Context(), "return 1", []string{"a", "b"}).Err(); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Fatalf("keys of two slots: %v, want CROSSSLOT", err)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr}})
	defer c.Close()
	store := goredis.New(c)
	heard, stop := listen(t, store, "api")
	defer stop()
	subscribers(t, plain, 1)
	for _, name := range []string{"api", "", "}", "{}", "{x}y", "a b\n\x00"} {
		a := &member{t: t, store: store, quotas: parse(t, "50/s burst 5, 100/s log, 20/s sliding, 10/s estimate"), name: "a"}
		for i := range 3 {
			r := a.request(1, 2)
			if r.Bucket = name; i == 0 {
				open := *r
				open.Member, open.Horizon, open.Leave, open.Asks = "opens", 0, true, nil
				a.send(&open)
			}
			r.Hold = 10 * time.Millisecond
			if reply := a.send(r); len(reply.Slots) == 0 {
				t.Errorf("%q: no slots: %+v", name, reply)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	select {
	case <-heard:
	case <-ctx.Done():
		t.Error("no news in a cluster")
	}
}
