package contract

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// varies is what differs from one attempt to the next by itself.
var varies = regexp.MustCompile(`Date:\[[^]]*\]|stream ID \d+`)

// What is sent again looks to the server like the first time, several times over, and to the
// caller, when it is given up, like the only time: the last response comes whole, with the
// caller's request.
func TestContractAgain(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	slowly := func(b *http.Transport) { b.ResponseHeaderTimeout = 10 * time.Second }
	hangs := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(time.Hour):
		}
	}
	breaksOff := func(w http.ResponseWriter, r *http.Request) {
		replies(503, "part", "Content-Length", "100")(w, r)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	breaks := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}
	oneAtATime := func(b *http.Transport) { b.MaxConnsPerHost = 1 }
	for name, test := range map[string]scene{
		"GET 500":               {server: replies(500, "why"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"GET 502":               {server: replies(502, "why"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"GET 503":               {server: replies(503, "why"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"GET 504":               {server: replies(504, "why"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"GET 408":               {server: replies(408, "why"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"GET 425":               {server: replies(425, "why"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"GET 429":               {server: replies(429, "why", "Retry-After", "1"), caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"HEAD 503":              {server: replies(503, "why"), caller: one("HEAD", "/", ""), want: `0 "" EOF`},
		"DELETE 503":            {server: replies(503, ""), caller: one("DELETE", "/", ""), want: "503"},
		"PUT 503":               {server: replies(503, "why"), caller: one("PUT", "/", "text", renewed), want: "request's body closed: 1"},
		"a long PUT 503":        {server: replies(503, "why"), caller: one("PUT", "/", long, renewed), want: "request's body closed: 1"},
		"chunked":               {server: replies(503, "why"), caller: one("PUT", "/", long, renewed, func(r *http.Request) { r.ContentLength = -1 }), want: "request's body closed: 1"},
		"POST 429":              {server: replies(429, "why", "Retry-After", "1"), caller: one("POST", "/", "text", renewed), want: "429"},
		"POST 503 with a hint":  {server: replies(503, "why", "Retry-After", "1"), caller: one("POST", "/", "text", renewed), want: "503"},
		"POST with a key":       {server: replies(503, "why"), caller: one("POST", "/", "text", renewed, set("Idempotency-Key", "k")), want: "503"},
		"Expect":                {server: replies(503, "why"), caller: one("PUT", "/", "text", renewed, set("Expect", "100-continue")), want: "503"},
		"refused before Expect": {server: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, caller: one("PUT", "/", "text", renewed, set("Expect", "100-continue")), want: "503"},
		"long":                  {server: replies(503, long), caller: one("GET", "/", ""), want: "70000 "},
		"one connection":        {server: replies(503, long), tune: oneAtATime, caller: one("GET", "/", ""), want: "70000 "}, // must not wait for itself
		"of unknown length": {server: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			http.NewResponseController(w).Flush()
			io.WriteString(w, "why")
		}, tune: oneAtATime, caller: one("GET", "/", ""), want: `3 "why" EOF`},
		"zipped": {server: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusServiceUnavailable)
			zipped(w, r)
		}, caller: one("GET", "/", ""), want: "uncompressed true"},
		"trailers":                {server: replies(503, "why", "Trailer", "Sum", "Sum", "late"), caller: one("GET", "/", ""), want: "Sum:[late]"},
		"JSON":                    {server: replies(503, `{"a":1}`, "Content-Type", "application/json"), caller: one("GET", "/", ""), want: `7 "{`},
		"with a body that breaks": {server: breaksOff, caller: one("GET", "/", ""), want: `4 "part"`},
		"lost":                    {server: breaks, caller: one("GET", "/", ""), want: "response <nil>"},
		"a lost PUT":              {server: breaks, caller: one("PUT", "/", "text", renewed), want: "request's body closed: 1"},
		"too slow":                {server: hangs, tune: slowly, caller: one("PUT", "/", "text", renewed), want: "timeout true"},
		"events": {server: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			events(w, r)
		}, caller: one("GET", "/", ""), want: "data: 0"},
	} {
		for _, two := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " over HTTP/1.1", true: " over HTTP/2"}[two], func(t *testing.T) {
				bare := test.play(t, two, func(base http.RoundTripper) http.RoundTripper { return base })
				if !strings.Contains(strings.Join(bare.caller, "\n"), test.want) {
					t.Errorf("the caller sees nothing of %q:\n%s", test.want, strings.Join(bare.caller, "\n"))
				}
				bare.server = slices.Repeat(bare.server, 3)
				for layer, around := range map[string]func(http.RoundTripper) http.RoundTripper{
					"zero": func(base http.RoundTripper) http.RoundTripper {
						return &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 2}}
					},
					"watching": func(base http.RoundTripper) http.RoundTripper {
						return &pacer.Transport{
							Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 2}, Quotas: lab.All(lab.InFlight(1), lab.Hoard(), quota.Quota{N: 1000, Burst: 1000}),
							Learn: pacer.Learn{Bodies: func(*http.Response) bool { return true }}, Spent: func(*http.Response) quota.Costs { return nil },
						}
					},
					"nested": func(base http.RoundTripper) http.RoundTripper {
						return &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 2}, Base: &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}}
					},
				} {
					got := test.play(t, two, around)
					for _, lines := range [][]string{got.caller, got.server, bare.caller, bare.server} {
						for i := range lines {
							lines[i] = varies.ReplaceAllString(lines[i], "")
						}
					}
					got.took = bare.took
					got.compare(t, layer, bare)
				}
			})
		}
	}
}

// A body is closed exactly once, and so is each that GetBody made, whatever becomes of them.
func TestContractBodyClosedOnce(t *testing.T) {
	type call struct {
		tr  *pacer.Transport
		req *http.Request
		all []*lab.Body
	}
	never := quota.Quota{N: 1, Per: time.Hour, Kind: quota.TokenBucket}
	for name, test := range map[string]struct {
		server http.HandlerFunc
		with   func(c *call)
		bodies int // that were made
	}{
		"sent":            {replies(200, ""), func(*call) {}, 1},
		"not read":        {func(http.ResponseWriter, *http.Request) {}, func(*call) {}, 1},
		"failed":          {replies(503, ""), func(*call) {}, 3},
		"failed unread":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, func(*call) {}, 3},
		"refused":         {replies(429, ""), func(*call) {}, 3},
		"broken":          {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, func(*call) {}, 3},
		"no GetBody":      {replies(503, ""), func(c *call) { c.req.GetBody = nil }, 1},
		"a hint too long": {replies(429, "", "Retry-After", "1000"), func(*call) {}, 1},
		"nil URL":         {nil, func(c *call) { c.req.URL = nil }, 1},
		"nil Header":      {nil, func(c *call) { c.req.Header = nil }, 1},
		"method":          {nil, func(c *call) { c.req.Method = "a b" }, 1},
		"no connection": {nil, func(c *call) {
			c.tr.Base.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, lab.ErrDial }
		}, 3},
		"PrepareRetry fails": {replies(503, ""), func(c *call) { c.tr.Retry.PrepareRetry = func(*http.Request) error { return lab.ErrBroken } }, 2},
		"rejected":           {nil, func(c *call) { c.tr.Mode, c.tr.Quotas = pacer.ModeReject, lab.All(never); c.tr.Cost = twice }, 1},
		"rejected and copied": {nil, func(c *call) {
			c.tr.Mode, c.tr.Quotas, c.tr.Fallback, c.tr.Cost = pacer.ModeDegrade, lab.All(never), lab.Fallback(c.tr.Base), twice
		}, 1},
		"over MaxWait":       {nil, func(c *call) { c.tr.Quotas = lab.All(never); c.tr.Cost = twice }, 1},
		"over MaxWait later": {replies(503, ""), func(c *call) { c.tr.Quotas = lab.All(never) }, 1},
		"invalid":            {nil, func(c *call) { c.tr.Line.Reserve = 2 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Protocols(t, func(t *testing.T, two bool) {
				t.Helper()
				h := test.server
				if h == nil {
					h = echo
				}
				c := &call{tr: &pacer.Transport{Base: lab.Serve(t, two, h), Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 2}}}
				made := func() (io.ReadCloser, error) {
					b := lab.NewBody(strings.Repeat("x", 100_000))
					c.all = append(c.all, b)
					return b, nil
				}
				c.req = lab.Request(t, "PUT", "http://a.example/", "")
				c.req.Body, _ = made()
				c.req.ContentLength, c.req.GetBody = 100_000, made
				test.with(c)
				resp, err := c.tr.RoundTrip(c.req)
				if (resp == nil) == (err == nil) {
					t.Errorf("got %v, %v", resp, err)
				}
				if err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if len(c.all) != test.bodies {
					t.Errorf("%d bodies, want %d", len(c.all), test.bodies)
				}
				for i, b := range c.all {
					if b.Closes != 1 {
						t.Errorf("body %d was closed %d times", i+1, b.Closes)
					}
				}
			})
		})
	}
}

// twice is a cost that no quota of one grants.
func twice(*http.Request) quota.Costs { return quota.Costs{quota.Requests: 2} }
