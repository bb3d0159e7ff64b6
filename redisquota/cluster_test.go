package redisquota_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/goredis"
)

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
