package contract

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
)

// shout answers each line at once, in upper case.
func shout(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	rc.EnableFullDuplex() // HTTP/2 is without it
	w.WriteHeader(http.StatusOK)
	rc.Flush()
	lines := bufio.NewReader(r.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		io.WriteString(w, strings.ToUpper(line))
		rc.Flush()
	}
}

// converse sends a line a second, and reads what is answered before it sends the next.
func converse(t *testing.T, s *sight, w io.Writer, r io.Reader) {
	t.Helper()
	lines := bufio.NewReader(r)
	for i := range 3 {
		fmt.Fprintf(w, "line %d\n", i)
		line, err := lines.ReadString('\n')
		s.callerSees("%q %v", line, err)
		time.Sleep(time.Second)
	}
}

// duplex is a caller who writes the body of the request while he reads that of the answer.
func duplex(method string) func(*testing.T, *sight, http.RoundTripper) {
	return func(t *testing.T, s *sight, rt http.RoundTripper) {
		t.Helper()
		pr, pw := io.Pipe()
		req := lab.Request(t, method, "http://a.example/", "")
		req.Body, req.ContentLength = pr, -1
		if method == http.MethodConnect {
			req.URL.Path = ""
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		s.callerSees("%s", described(resp))
		converse(t, s, pw, resp.Body)
		pw.Close()
		rest, err := io.ReadAll(resp.Body)
		s.callerSees("%q %v %v", rest, err, resp.Body.Close())
	}
}

// leaves is a server that leaves HTTP with this answer, and shouts three times.
func leaves(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		rw.WriteString("HTTP/1.1 " + answer + "\r\n\r\n")
		rw.Flush()
		for range 3 {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			rw.WriteString(strings.ToUpper(line))
			rw.Flush()
		}
	}
}

var upgrades = leaves("101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout")

// tunnels answers CONNECT.
func tunnels(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		leaves("200 OK")(w, r)
	} else {
		shout(w, r)
	}
}

func upgrade(t *testing.T, s *sight, rt http.RoundTripper) {
	t.Helper()
	req := lab.Request(t, "GET", "http://a.example/", "")
	set("Connection", "Upgrade", "Upgrade", "shout")(req)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	s.callerSees("%s", described(resp))
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("a %T is not an io.ReadWriteCloser", resp.Body)
	}
	_, half := resp.Body.(interface{ CloseWrite() error })
	s.callerSees("CloseWrite: %v", half)
	converse(t, s, rwc, rwc)
	s.callerSees("closed %v", rwc.Close())
}

// events is a server that sends an event a second.
func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 10 {
		fmt.Fprintf(w, "data: %d\n\n", i)
		http.NewResponseController(w).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
			return
		}
	}
}

// Streams pass as they come, in both directions, and so does what is no longer HTTP.
func TestContractSameStream(t *testing.T) {
	same(t, map[string]scene{
		"duplex":  {server: shout, caller: duplex("POST"), want: `"LINE 2\n" <nil>`},
		"CONNECT": {server: tunnels, caller: duplex("CONNECT"), want: `"LINE 2\n" <nil>`},
		"upgrade": {server: upgrades, caller: upgrade, only: 1, want: `"LINE 2\n" <nil>`},
		"events":  {server: events, caller: one("GET", "/", ""), want: `data: 0\n\n`},
		"closed early, and again": {server: events, want: "reused", caller: func(t *testing.T, s *sight, rt http.RoundTripper) {
			t.Helper()
			for range 2 {
				req := lab.Request(t, "GET", "http://a.example/", "")
				resp, err := rt.RoundTrip(req.WithContext(traced(req.Context(), s)))
				if err != nil {
					t.Fatal(err)
				}
				n, err := resp.Body.Read(make([]byte, 100))
				s.callerSees("%d %v; closed %v, %v", n, err, resp.Body.Close(), resp.Body.Close())
				_, err = resp.Body.Read(make([]byte, 1))
				s.callerSees("%v", err)
			}
		}},
		"read to the end, and again": {server: replies(200, "text"), want: "reused true", caller: func(t *testing.T, s *sight, rt http.RoundTripper) {
			t.Helper()
			for i := range 3 {
				if i == 2 {
					(&http.Client{Transport: rt}).CloseIdleConnections()
				}
				req := lab.Request(t, "GET", "http://a.example/", "")
				s.send(rt, req.WithContext(traced(req.Context(), s)))
			}
		}},
	})
}

// A reverse proxy over a Transport is one over its Base.
func TestContractSameReverseProxy(t *testing.T) {
	through := func(caller func(*testing.T, *sight, http.RoundTripper)) func(*testing.T, *sight, http.RoundTripper) {
		return func(t *testing.T, s *sight, rt http.RoundTripper) {
			t.Helper()
			proxy := &httputil.ReverseProxy{
				Transport: rt, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
				Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(&url.URL{Scheme: "http", Host: "back.example"})
					r.SetXForwarded()
				},
				ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
					s.callerSees("the proxy fails: %v", err)
					w.WriteHeader(http.StatusBadGateway)
				},
			}
			caller(t, s, lab.Serve(t, s.two, proxy.ServeHTTP))
			synctest.Wait()
		}
	}
	same(t, map[string]scene{
		"GET":     {server: replies(200, "text", "Connection", "X-Hop", "X-Hop", "a"), caller: through(one("GET", "/p?q=r", "", set("X-Any", "a"))), want: `4 "text" EOF`},
		"HEAD":    {server: replies(200, "text"), caller: through(one("HEAD", "/", "")), want: "200 OK"},
		"POST":    {caller: through(one("POST", "/", "text")), want: `4 "text" EOF`},
		"chunked": {caller: through(one("POST", "/", "text", func(r *http.Request) { r.ContentLength = -1 })), want: `4 "text" EOF`},
		"404":     {server: replies(404, "why"), caller: through(one("GET", "/", "")), want: "404"},
		"503":     {server: replies(503, "why"), caller: through(one("POST", "/", "text")), want: "503"},
		"gzip":    {server: zipped, caller: through(one("GET", "/", "")), want: "uncompressed true"},
		"fails":   {server: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, caller: through(one("POST", "/", "text")), want: "the proxy fails"},
		"breaks off": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "text")
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			},
			caller: through(one("GET", "/", "")), want: `4 "text"`,
		},
		"trailers": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "Sum")
				io.WriteString(w, "text")
				w.Header().Set("Sum", "late")
			},
			caller: through(one("GET", "/", "")), want: "Sum:[late]",
		},
		"early hints": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "</a>")
				w.WriteHeader(http.StatusEarlyHints)
			},
			caller: through(one("GET", "/", "", func(r *http.Request) { *r = *r.WithContext(traced(r.Context(), &sight{})) })), want: "Link:[</a>]",
		},
		"events":  {server: events, caller: through(one("GET", "/", "")), want: `data: 0\n\n`},
		"duplex":  {server: shout, caller: through(duplex("POST")), only: 2, want: `"LINE 2\n" <nil>`},
		"upgrade": {server: upgrades, caller: through(upgrade), only: 1, want: `"LINE 2\n" <nil>`},
	})
}
