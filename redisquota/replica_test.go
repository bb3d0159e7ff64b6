package redisquota_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

// A replica that has what its primary had goes on where that ended.
func TestStoreReplica(t *testing.T) {
	primary, replica := realServer(t), realServer(t)
	follow(t, primary, replica)
	before, after := dial(t, primary), dial(t, replica)
	a := &member{t: t, store: goredis.New(before), quotas: parse(t, "10/s burst 5, 50/2s log"), name: "a"}
	a.open()
	last := a.ask(1, 3)
	if n, err := before.Do(t.Context(), "wait", 1, 5000).Int(); err != nil || n != 1 {
		t.Fatalf("%d replicas, %v, want 1", n, err)
	}
	primary.Stop()
	do(t, after, "replicaof", "no", "one")
	b := &member{t: t, store: goredis.New(after), quotas: a.quotas, name: "b"}
	got := b.ask(1, 1)
	if got.Lost || len(got.Slots) != 1 || got.Slots[0].ID <= last.Slots[len(last.Slots)-1].ID {
		t.Errorf("the replica goes on with %+v after %+v", got, last)
	}
}

// A replica that takes over and lacks what its primary did last has lost the bucket: a process that was
// answered since knows.
func TestStoreReplicaThatLacks(t *testing.T) {
	primary, replica := realServer(t), realServer(t)
	follow(t, primary, replica)
	before, after := dial(t, primary), dial(t, replica)
	a := &member{t: t, store: goredis.New(before), quotas: parse(t, "10/s burst 5, 50/2s log"), name: "a"}
	b := &member{t: t, store: goredis.New(before), quotas: a.quotas, name: "b"}
	a.open()
	a.ask(1, 1)
	b.ask(1, 1)
	if n, err := before.Do(t.Context(), "wait", 1, 5000).Int(); err != nil || n != 1 {
		t.Fatalf("%d replicas, %v, want 1", n, err)
	}
	do(t, after, "replicaof", "no", "one")
	a.ask(1, 3) // which the replica does not hear of
	primary.Stop()
	a.store, b.store = goredis.New(after), goredis.New(after)
	lost := make(chan struct{}, 16)
	stop, err := b.store.Listen("api", func(n store.News) {
		if n.Lost {
			lost <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	subscribers(t, after, 1)
	ask := func(m *member) *store.Reply {
		r := m.request(1, 1)
		r.Answered = r.Serial - 1
		return m.send(r)
	}
	if r := ask(b); r.Lost || len(r.Slots) != 1 {
		t.Errorf("to who was not answered since: %+v, want a slot", r)
	}
	if r := ask(a); !r.Lost || len(r.Slots) > 0 {
		t.Errorf("to who was: %+v, want the bucket to be lost", r)
	}
	<-lost // and others hear of it
}

// TestStoreOfBeforeALoss: a server that lost its data and has again what it had before, as one that ends a
// failover to an empty one, lacks what was done meanwhile: a process that was answered meanwhile knows, and the
// bucket is lost. One that only heard of a life that is to begin knows nothing: the clock was set.
func TestStoreOfBeforeALoss(t *testing.T) {
	c := dial(t, realServer(t))
	a := &member{t: t, store: goredis.New(c), quotas: parse(t, "10/s burst 5, 50/2s log"), name: "a"}
	a.open()
	first := a.ask(1, 1).Life
	do(t, c, "swapdb", "0", "1")
	a.ask(1, 1)
	time.Sleep(600 * time.Millisecond)
	between := a.ask(1, 1)
	do(t, c, "swapdb", "0", "1")
	ask := func(life int64) *store.Reply {
		r := a.request(1, 1)
		r.Answered, r.Life = r.Serial-1, life
		return a.send(r)
	}
	if between.Life <= first {
		t.Fatalf("life %d after %d", between.Life, first)
	}
	if r := ask(between.Life + time.Hour.Microseconds()); r.Life != first {
		t.Errorf("who was answered in an hour: life %d, want %d as before", r.Life, first)
	}
	if r := ask(between.Life); !r.Lost || r.Life <= between.Life || len(r.Slots) > 0 {
		t.Errorf("who was answered in a later life: %+v, want the bucket to be lost", r)
	}
}

func follow(t *testing.T, primary, replica *server.Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.Addr)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, replica)
	do(t, dial(t, primary), "config", "set", "repl-diskless-sync-delay", "0")
	do(t, c, "replicaof", host, port)
	for range 2000 {
		if info := c.InfoMap(t.Context(), "replication"); info.Item("Replication", "master_link_status") == "up" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the replica never followed")
}

// Sentinel tells go-redis where the primary is.
func TestStoreSentinel(t *testing.T) {
	primary := realServer(t)
	host, port, err := net.SplitHostPort(primary.Addr)
	if err != nil {
		t.Fatal(err)
	}
	path, err := server.Find()
	if err != nil {
		t.Skip(err)
	}
	addr := free(t)
	_, own, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	config := t.TempDir() + "/sentinel.conf"
	if err := os.WriteFile(config, fmt.Appendf(nil, "bind 127.0.0.1\nport %s\ndir %s\nsentinel monitor main %s %s 1\n", own, t.TempDir(), host, port), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, config, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // t.Context ends before
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: addr})
	defer sentinel.Close()
	for range 2000 {
		if sentinel.Ping(t.Context()).Err() == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: []string{addr}})
	defer c.Close()
	a := &member{t: t, store: goredis.New(c), quotas: parse(t, "10/s even"), name: "a"}
	a.open()
	if reply := a.ask(1, 1); len(reply.Slots) != 1 {
		t.Errorf("got %+v, want a slot", reply)
	}
}

// free returns an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
