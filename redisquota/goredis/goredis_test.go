package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

const addr = "10.1.2.3:6379"

// dialer dials a server, for redis.Options.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

var errRefused = errors.New("connection refused")

func refuses(_ context.Context, network, addr string) (net.Conn, error) {
	return nil, fmt.Errorf("dial %s %s: %w", network, addr, errRefused)
}

// clients are those of go-redis.
var clients = map[string]func(dialer) redis.UniversalClient{
	"one node": func(d dialer) redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: addr, Dialer: d}) },
	"cluster": func(d dialer) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, Dialer: d})
	},
	"ring": func(d dialer) redis.UniversalClient {
		return redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": addr}, Dialer: d, HeartbeatFrequency: 24 * time.Hour})
	},
}

// request asks for no slot.
var request = &store.Request{
	Version: 1, Bucket: "api", Quotas: quota.Quotas{{N: 5, Per: time.Second, Kind: quota.SlidingLog}}, SlotLife: 20 * time.Millisecond,
	Horizon: 500 * time.Millisecond, Member: "a", Serial: 1, Hand: []int64{0},
}

// A wrong address is told at once, with the address and the cause, and once more to those who have waited.
func TestAWrongAddressIsNotSilence(t *testing.T) {
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(refuses)
				start := time.Now()
				var events []throttle.StoreEvent
				l := &throttle.Limiter{
					Name: "api", Quotas: quota.Quotas{{N: 5}}, MaxStandstill: 2 * time.Minute, Shared: throttle.Shared{
						Store: goredis.New(c),
						Event: func(e throttle.StoreEvent) {
							events = append(events, e)
							if took := time.Since(start); took > 250*time.Millisecond {
								t.Errorf("told after %v", took)
							}
						},
					},
				}
				err := l.Wait(t.Context(), 1)
				if !errors.Is(err, throttle.ErrStandstill) || !strings.Contains(err.Error(), addr+": "+errRefused.Error()) {
					t.Errorf("got %v, want ErrStandstill that names %s and %q", err, addr, errRefused)
				}
				if len(events) != 1 || events[0].Kind != throttle.StoreDown || !strings.Contains(events[0].Err.Error(), addr) || !errors.Is(events[0].Err, errRefused) {
					t.Errorf("events %v, want one that names %s and %q", events, addr, errRefused)
				}
				if err := l.Close(); err != nil && !errors.Is(err, errRefused) {
					t.Error(err)
				}
				c.Close()
				time.Sleep(time.Minute) // what still dials ends
			})
		})
	}
}

// A client library that dials again and again, as later versions of go-redis do, does not tell in time what is
// wrong: one look tells it.
func TestDialingAgainIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		c := redis.NewClient(&redis.Options{Addr: addr, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return refuses(ctx, network, addr)
		}})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		_, err := goredis.New(c).Exchange(ctx, request)
		if !errors.Is(err, errRefused) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer from "+addr) {
			t.Errorf("got %v, want that it says %q", err, errRefused)
		}
	})
}

// A server that has too many clients, or takes none from elsewhere, says so to whoever comes, and hangs up.
// go-redis comes again, for longer than a call may take: one look tells what the server says.
func TestAServerThatHangsUpIsNotSilence(t *testing.T) {
	for says, want := range map[string]string{
		"-ERR max number of clients reached\r\n":                  "the server has too many clients",
		"-DENIED Redis is running in protected mode\r\nand so on": "the server takes no clients from other machines, since it has no password",
		"-ERR " + strings.Repeat("x", 1<<20):                      "",
		"220 ready\r\n":                                           "",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := redis.NewClient(&redis.Options{Addr: addr, MinRetryBackoff: time.Second, MaxRetryBackoff: time.Second, Dialer: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					_, _ = io.WriteString(there, says)
					there.Close()
				}()
				return here, nil
			}})
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
			defer cancel()
			_, err := goredis.New(c).Exchange(ctx, request)
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
				t.Errorf("got %.200v, want that it says %q", err, want)
			}
			var log slog.LogValuer
			if want != "" && (!errors.As(err, &log) || log.LogValue().String() != want) {
				t.Errorf("a log gets %v, want %q", log, want)
			}
			time.Sleep(time.Minute) // what still dials ends
		})
	}
}

// A server that refused connections, and then takes them and does not answer, no longer counts as one that
// refuses. What a server answered too late remains the reason, though it takes connections.
func TestWhatWasWrongIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		answers string // to the script after 300 ms; a call has 250
		want    []string
	}{
		"silent": {"", []string{errRefused.Error(), ""}},
		"late":   {"-OOM no memory\r\n", []string{errRefused.Error(), "", "OOM", "OOM"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var up atomic.Bool
				rdb := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
					if !up.Load() {
						return refuses(ctx, network, addr)
					}
					client, server := net.Pipe()
					go func() {
						defer server.Close()
						for in := make([]byte, 1<<16); ; {
							n, err := server.Read(in)
							switch {
							case err != nil:
								return
							case c.answers == "":
							case strings.Contains(string(in[:n]), "hello"):
								_, _ = io.WriteString(server, "-ERR unknown command\r\n")
							default:
								time.Sleep(300 * time.Millisecond)
								_, _ = io.WriteString(server, c.answers)
							}
						}
					}()
					return client, nil
				}})
				defer rdb.Close()
				s := goredis.New(rdb)
				for i, want := range c.want {
					ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
					_, err := s.Exchange(ctx, request)
					cancel()
					if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, errRefused) != (i == 0) {
						t.Errorf("call %d: got %v, want %q", i, err, want)
					}
					up.Store(true)
					time.Sleep(10 * time.Second) // what still dials ends
				}
			})
		})
	}
}

// silent is the connection to a server that does not answer.
func silent() net.Conn {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		_, _ = io.Copy(io.Discard, server)
	}()
	return client
}

// What was wrong with a call, and was found out too late, the next call of its bucket tells, and no other; not
// even that one, if it can look whether it is still so.
func TestAReasonIsToldOnce(t *testing.T) {
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var up atomic.Bool
				c := client(func(ctx context.Context, network, addr string) (net.Conn, error) {
					if up.Load() {
						return silent(), nil
					}
					time.Sleep(300 * time.Millisecond) // a call has 250
					return refuses(ctx, network, addr)
				})
				defer time.Sleep(time.Minute) // what still dials ends
				defer c.Close()
				s := goredis.New(c)
				for i, want := range []bool{false, name != "one node", false, false} {
					ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
					_, err := s.Exchange(ctx, request)
					cancel()
					if err == nil || errors.Is(err, errRefused) != want {
						t.Errorf("call %d: got %v, want that it says %q: %v", i, err, errRefused, want)
					}
					time.Sleep(time.Minute)
					up.Store(true)
				}
			})
		})
	}
}

// scripted is a client that does nothing but run scripts, by a function.
type scripted struct {
	redis.UniversalClient
	run func(context.Context) error
}

func (c scripted) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(c.run(ctx))
	return cmd
}

// refusesLate returns a Store whose calls are refused after they are over; and then, when up is set, have no
// answer.
func refusesLate(by time.Duration, up *atomic.Bool) *redisquota.Store {
	return goredis.New(scripted{run: func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(by)
		if up.Load() {
			return ctx.Err()
		}
		return errRefused
	}})
}

// late is a context that says only after a while that it is over.
type late struct{ context.Context } //nolint:containedctx // it is one

func (c late) Done() <-chan struct{} {
	time.Sleep(time.Millisecond)
	return c.Context.Done()
}

// run has the Client of a Store make a call for a bucket, whose context is over, and waits for all that it has
// begun. It returns the error.
func run(t *testing.T, s *redisquota.Store, bucket int) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Client.Run(late{ctx}, []string{fmt.Sprint("api", bucket)}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	time.Sleep(time.Minute)
	return err
}

// A reason that comes at the instant at which the call is over is told once as well: now, or with the next
// call.
func TestAReasonOfTheLastInstantIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for bucket := range 100 {
			var up atomic.Bool
			s := refusesLate(0, &up)
			first := run(t, s, bucket)
			up.Store(true)
			if said := fmt.Sprint(first, run(t, s, bucket)); strings.Count(said, errRefused.Error()) != 1 {
				t.Fatalf("said %s", said)
			}
		}
	})
}

// Where more buckets have a reason than are kept, each further one takes the place of one other.
func TestReasonsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const buckets, most = 1010, 1000
		var up atomic.Bool
		s := refusesLate(10*time.Millisecond, &up)
		for _, want := range []int{0, most, 0} {
			told := 0
			for bucket := range buckets {
				if errors.Is(run(t, s, bucket), errRefused) {
					told++
				}
			}
			up.Store(true)
			if told != want {
				t.Errorf("%d calls say why those before them failed, want %d", told, want)
			}
		}
	})
}

// What is wrong with one node of a Ring is not told of a bucket of another one.
func TestAReasonIsOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"a": "10.1.2.3:1", "b": "10.1.2.3:2"}, HeartbeatFrequency: 24 * time.Hour,
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if strings.HasSuffix(addr, ":2") {
					return silent(), nil
				}
				time.Sleep(300 * time.Millisecond)
				return refuses(ctx, network, addr)
			},
		})
		defer time.Sleep(time.Minute) // what still dials ends
		defer c.Close()
		s := goredis.New(c)
		said := map[bool]int{}
		for i := range 20 {
			var of []bool
			for range 3 {
				r := *request
				r.Bucket = fmt.Sprint("api", i)
				ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
				_, err := s.Exchange(ctx, &r)
				cancel()
				of = append(of, errors.Is(err, errRefused))
				time.Sleep(time.Minute)
			}
			if of[1] != of[2] {
				t.Errorf("bucket %d: refused %v", i, of)
			}
			said[of[2]]++
		}
		if said[true] == 0 || said[false] == 0 {
			t.Errorf("refused: %v", said)
		}
	})
}

// Whoever answers with an error is named: another server in place of Redis, one that asks for a password, and
// one that has another password.
func TestAnErrorNamesTheServer(t *testing.T) {
	m := miniredis.RunT(t)
	m.RequireAuth("secret")
	needsPassword := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, m.Addr())
	}
	speaksHTTP := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := server.Read(make([]byte, 1)); err == nil {
				go io.Copy(io.Discard, server)
				_, _ = io.WriteString(server, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
			}
		}()
		return client, nil
	}
	type server struct {
		client redis.UniversalClient
		says   string
	}
	servers := map[string]server{
		"one node, another password": {redis.NewClient(&redis.Options{Addr: addr, Dialer: needsPassword, Password: "other"}), "WRONGPASS"},
	}
	for name, client := range clients {
		servers[name+", no Redis"] = server{client(speaksHTTP), "HTTP/1.1 400"}
		servers[name+", no password"] = server{client(needsPassword), "NOAUTH"}
	}
	for name, s := range servers {
		t.Run(name, func(t *testing.T) {
			defer s.client.Close()
			_, err := goredis.New(s.client).Exchange(t.Context(), request)
			if err == nil || strings.Count(err.Error(), addr) != 1 || !strings.Contains(err.Error(), s.says) {
				t.Errorf("got %v, want that it names %s once, and %q", err, addr, s.says)
			}
		})
	}
}

// A server that does not answer is named as well, and so is what was wrong where go-redis finds out too late.
func TestNoAnswerNamesTheServer(t *testing.T) {
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			called := make(chan struct{})
			answer := make(chan struct{})
			c := client(func(ctx context.Context, network, addr string) (net.Conn, error) {
				called <- struct{}{}
				<-answer
				return refuses(ctx, network, addr)
			})
			defer c.Close()
			s := goredis.New(c)
			for range 1000 {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-called
					cancel()
				}()
				_, err := s.Exchange(ctx, request)
				if err == nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no answer from "+addr) {
					t.Fatalf("got %v, want that it names %s", err, addr)
				}
				if errors.Is(err, errRefused) {
					return
				}
				answer <- struct{}{} // too late
			}
			t.Error("the cause is never named")
		})
	}
}

// hook is what a user adds to a client of go-redis.
type hook func()

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { h(); return nil }
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A hook that panics, or ends its goroutine, fails the call, and does not end the program.
func TestAPanicFailsTheCall(t *testing.T) {
	for want, do := range map[string]hook{
		addr + ": the client panicked: boom":                    func() { panic("boom") },
		addr + ": a hook of the client has ended its goroutine": runtime.Goexit,
	} {
		for name, client := range clients {
			c := client(refuses)
			c.(interface{ AddHook(redis.Hook) }).AddHook(do)
			if _, err := goredis.New(c).Exchange(t.Context(), request); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
			c.Close()
		}
	}
}

// New says that there is no client, instead of each call.
func TestNoClient(t *testing.T) {
	for _, c := range []redis.UniversalClient{nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil), (*redis.Ring)(nil)} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "goredis: New of a nil client, want ") {
					t.Errorf("%T: %s", c, v)
				}
			}()
			goredis.New(c)
		}()
	}
}
