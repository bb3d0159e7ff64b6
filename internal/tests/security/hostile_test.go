package security

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
)

// chance draws numbers for goroutines.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (c *chance) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

func (c *chance) of(all ...string) string { return all[c.n(len(all))] }

// instant is what stands in a header that says when: sense, nonsense, and what overflows.
func (c *chance) instant() string {
	now := time.Now()
	return c.of("", "0", "-1", "1", "30", "1.5", "10s", "6m0s", "86400", "99999999999", "99999999999999999999", "9223372036854775807", "1e400", "NaN", strings.Repeat("9", 3000),
		strconv.FormatInt(now.Unix()-1000, 10), strconv.FormatInt(now.Unix()+10, 10), strconv.FormatInt(now.Unix()+1e9, 10), strconv.FormatInt(now.UnixMilli()+5000, 10),
		"Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", now.Add(5*time.Second).UTC().Format(http.TimeFormat))
}

// head is the beginning of an answer.
func (c *chance) head() string {
	head := "HTTP/1.1 " + c.of("200 OK", "200 OK", "403 F", "429 T", "429 T", "500 I", "503 S") + "\r\n"
	if c.n(2) == 0 {
		head += "Date: " + c.of(time.Now().UTC().Format(http.TimeFormat), "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "x") + "\r\n"
	}
	if c.n(2) == 0 {
		head += "X-RateLimit-Limit: " + c.of("10", "0", "-1", "1", "9223372036854775807", "1e9", strconv.Itoa(c.n(1000))) +
			"\r\nX-RateLimit-Remaining: " + c.of("0", "-5", "x", "9223372036854775807", strconv.Itoa(c.n(1000))) + "\r\nX-RateLimit-Reset: " + c.instant() + "\r\n"
	}
	if c.n(3) == 0 {
		head += "Retry-After: " + c.instant() + "\r\n"
	}
	return head
}

// megabyte is a megabyte of headers, each with a name of its own.
var megabyte = func() string {
	var text strings.Builder
	for i := range 900 {
		fmt.Fprintf(&text, "X-RateLimit-Remaining-N%d: %s\r\n", i, strings.Repeat("9", 1000))
	}
	return text.String()
}()

// hostilities are what a server does with a connection on which a request came. None of them is an answer of
// net/http, which would see to it that an answer is one.
var hostilities = map[string]func(c *chance, conn net.Conn){
	"a megabyte of headers": func(c *chance, conn net.Conn) {
		io.WriteString(conn, c.head()+megabyte+"Content-Length: 0\r\n\r\n")
	},
	"ten thousand names of limits": func(c *chance, conn net.Conn) {
		var text strings.Builder
		for range 100 {
			n := c.n(10_000)
			fmt.Fprintf(&text, "RateLimit-Policy: \"p%d\";q=%d;w=60\r\nRateLimit: \"p%d\";r=%d;t=%d\r\n", n, c.n(100), n, c.n(3), c.n(100))
		}
		fmt.Fprintf(conn, "%s%sX-RateLimit-Resource: r%d\r\nX-RateLimit-Bucket: b%d\r\nContent-Length: 0\r\n\r\n", c.head(), &text, c.n(10_000), c.n(10_000))
	},
	"an endless body": func(c *chance, conn net.Conn) {
		_, err := io.WriteString(conn, c.head()+"Transfer-Encoding: chunked\r\n\r\n")
		for i := 0; err == nil && i < 200; i++ {
			if _, err = io.WriteString(conn, "1000\r\n"+strings.Repeat("x", 4096)+"\r\n"); i%10 == 0 {
				time.Sleep(time.Second)
			}
		}
	},
	"early hints": func(c *chance, conn net.Conn) {
		var err error
		for i := 0; err == nil && i < 200; i++ {
			_, err = fmt.Fprintf(conn, "HTTP/1.1 103 Early Hints\r\nX-RateLimit-Remaining: 0\r\nRetry-After: %d\r\n\r\n", i)
		}
		io.WriteString(conn, c.head()+"Content-Length: 0\r\n\r\n")
	},
	"redirects": func(c *chance, conn net.Conn) {
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\nLocation: http://%s.example/%d\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", c.of("301 M", "302 F", "307 T", "308 P"), c.of("evil", "evil2", "good"), c.n(1e6), c.instant())
	},
	"broken chunks": func(c *chance, conn net.Conn) {
		io.WriteString(conn, c.head()+"Transfer-Encoding: chunked\r\n\r\nZZZ\r\nbad")
	},
	"trailers": func(c *chance, conn net.Conn) {
		io.WriteString(conn, c.head()+"Transfer-Encoding: chunked\r\nTrailer: X-RateLimit-Remaining, Retry-After\r\n\r\n2\r\nok\r\n0\r\nX-RateLimit-Remaining: 0\r\nRetry-After: 99999999\r\n\r\n")
	},
	"silence":   func(c *chance, _ net.Conn) { time.Sleep(time.Duration(c.n(600)) * time.Second) },
	"no answer": func(_ *chance, conn net.Conn) { io.WriteString(conn, "garbage\x00\r\n\r\n") },
	"half a body": func(c *chance, conn net.Conn) {
		io.WriteString(conn, c.head()+"Content-Length: 1000\r\n\r\nhalf")
		time.Sleep(time.Duration(c.n(2)) * 10 * time.Minute)
	},
	"two lengths": func(c *chance, conn net.Conn) {
		io.WriteString(conn, c.head()+"Content-Length: 0\r\nContent-Length: 5\r\n\r\n")
	},
	"deep JSON": func(c *chance, conn net.Conn) {
		io.WriteString(conn, c.head()+"Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"+strings.Repeat("[", 60_000))
	},
	"an answer": func(c *chance, conn net.Conn) { io.WriteString(conn, c.head()+"Content-Length: 2\r\n\r\nok") },
}

// TestHostileServerForAnHour has four callers use a server that does all it can think of for an hour, and one
// caller use another server, through one Transport. The other server is never waited for, and no request there
// fails; no request outlasts its deadline; in the end nothing is in flight or waits, and what is known is
// little and can be saved.
func TestHostileServerForAnHour(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(hostilities))
	for seed := range whole.Or[uint64](2, 60) {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			c := &chance{r: rand.New(rand.NewPCG(seed, 1))}
			tr := &pacer.Transport{
				Base:   lab.Serve(t, false, server(c, kinds)),
				Quotas: pacer.Table{"evil.example/x/{id}": quota.MustParse("10/s")},
				Learn:  pacer.Learn{MaxHold: time.Duration(seed%3) * 10 * time.Second, Bodies: func(r *http.Response) bool { return r.StatusCode != http.StatusOK }},
				Retry:  pacer.Retry{AttemptTimeout: 30 * time.Second},
			}
			client, end := &http.Client{Transport: tr}, time.Now().Add(time.Hour)
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() {
					for time.Now().Before(end) {
						call(t, client, c)
						time.Sleep(time.Duration(c.n(9000)) * time.Millisecond)
					}
				})
			}
			for ; time.Now().Before(end); time.Sleep(time.Second) {
				start := time.Now()
				if status := lab.Get(t, client, "http://good.example/"); status != http.StatusOK || time.Since(start) > 0 {
					t.Errorf("seed %d: the other server answers %d after %v", seed, status, time.Since(start))
				}
			}
			callers.Wait()
			time.Sleep(time.Hour)
			for _, s := range tr.State() {
				if s.InFlight != 0 || s.Waiting != 0 || len(s.Limits) > 16 || len(s.String()) > 10_000 {
					t.Errorf("seed %d: in the end %s", seed, s)
				}
			}
			file := save(t, tr)
			if n := file.Len(); n > 100_000 {
				t.Errorf("seed %d: %d bytes are saved", seed, n)
			}
			if err := (&pacer.Transport{}).Load(file); err != nil {
				t.Error(err)
			}
		})
	}
}

// server is good at good.example, and does one of these kinds of hostilities elsewhere.
func server(c *chance, kinds []string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Host == "good.example" {
			h := w.Header()
			h["X-Ratelimit-Limit"], h["X-Ratelimit-Remaining"], h["X-Ratelimit-Reset"] = []string{"1000"}, []string{"900"}, []string{"60"}
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return // a request with a body that cannot be read
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Hour))
		hostilities[c.of(kinds...)](c, conn)
	}
}

// call sends a request to the hostile server, and reads the beginning of what comes back, within 40 seconds.
func call(t *testing.T, client *http.Client, c *chance) {
	t.Helper()
	const limit = 40 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, c.of("GET", "POST", "PUT"), "http://evil.example/"+c.of("", "x/1", "x/2", "y/"+strconv.Itoa(c.n(100_000))), strings.NewReader("body"))
	if err != nil {
		t.Error(err)
		return
	}
	if resp, err := client.Do(req); err == nil {
		io.CopyN(io.Discard, resp.Body, 100<<10)
		resp.Body.Close()
	}
	if took := time.Since(start); took > limit {
		t.Errorf("took %v of %v", took, limit)
	}
}
