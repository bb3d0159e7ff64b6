package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// site is a server with redirects, cookies and things that take long.
func site(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var code int
	switch n, _ := fmt.Sscanf(r.URL.Path, "/to/%d", &code); {
	case n == 1:
		http.SetCookie(w, &http.Cookie{Name: "from", Value: fmt.Sprint(code)})
		http.Redirect(w, r, "http://b.example/echo?"+r.URL.RawQuery, code)
	case r.URL.Path == "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case r.URL.Path == "/nowhere":
		w.WriteHeader(http.StatusFound)
	case r.URL.Path == "/hangs", r.URL.Path == "/begins":
		if r.URL.Path == "/begins" {
			io.WriteString(w, "text")
			http.NewResponseController(w).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-time.After(time.Hour):
		}
	default:
		user, password, _ := r.BasicAuth()
		fmt.Fprint(w, user, password, r.Referer(), string(b))
	}
}

// browses is a caller with a client.
func browses(f func(c *http.Client) (*http.Response, error), mods ...func(*http.Client)) func(*testing.T, *sight, http.RoundTripper) {
	return func(t *testing.T, s *sight, rt http.RoundTripper) {
		t.Helper()
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: rt, Jar: jar}
		for _, mod := range mods {
			mod(c)
		}
		for range 2 { // the second time with cookies
			resp, err := f(c)
			if err != nil {
				var in *url.Error
				s.callerSees("%v: %v, timeout %v, a response %v", errors.As(err, &in), err, in.Timeout(), resp != nil)
			}
			if resp != nil {
				b := &recorded{ReadCloser: resp.Body}
				_, err = io.Copy(io.Discard, b)
				s.callerSees("%s %s %v; %s %s %v", described(resp), b, err, resp.Request.Method, resp.Request.URL, resp.Request.Header)
				for via := resp.Request.Response; via != nil; via = via.Request.Response {
					s.callerSees("via %s %s %d", via.Request.Method, via.Request.URL, via.StatusCode)
				}
				resp.Body.Close()
			}
			synctest.Wait()
		}
		c.CloseIdleConnections()
	}
}

// Redirects, with their bodies, cookies, credentials and Referer, and timeouts are those of
// http.Client over a bare Base.
func TestContractSameClient(t *testing.T) {
	get := func(path string) func(c *http.Client) (*http.Response, error) {
		return func(c *http.Client) (*http.Response, error) { return c.Get("http://u:p@a.example" + path) }
	}
	scenes := map[string]scene{
		"GET": {server: site, caller: browses(get("/echo")), want: `2 "up" EOF`},
		"form": {server: site, caller: browses(func(c *http.Client) (*http.Response, error) {
			return c.PostForm("http://a.example/", url.Values{"a": {"b"}})
		}), want: `3 "a=b" EOF`},
		"loop":        {server: site, caller: browses(get("/loop")), want: "stopped after 10 redirects"},
		"no Location": {server: site, caller: browses(get("/nowhere")), want: "302"},
		"not followed": {server: site, caller: browses(get("/to/302"), func(c *http.Client) {
			c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		}), want: "302 Found"},
		"forbidden": {server: site, caller: browses(get("/to/302"), func(c *http.Client) {
			c.CheckRedirect = func(*http.Request, []*http.Request) error { return lab.ErrBroken }
		}), want: "a response true"},
		"scheme": {server: site, caller: browses(func(c *http.Client) (*http.Response, error) { return c.Get("gopher://a.example/") }), want: "unsupported protocol scheme"},
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		scenes[fmt.Sprint("GET ", code)] = scene{server: site, caller: browses(get(fmt.Sprint("/to/", code, "?a=b"))), want: fmt.Sprint("via GET http://u:p@a.example/to/", code)}
		scenes[fmt.Sprint("POST ", code)] = scene{server: site, want: fmt.Sprint("via POST http://a.example/to/", code), caller: browses(func(c *http.Client) (*http.Response, error) {
			return c.Post(fmt.Sprint("http://a.example/to/", code), "text/plain", strings.NewReader("text"))
		})}
		scenes[fmt.Sprint("POST of a stream ", code)] = scene{server: site, caller: browses(func(c *http.Client) (*http.Response, error) {
			return c.Post(fmt.Sprint("http://a.example/to/", code), "text/plain", lab.NewBody("text")) // has no GetBody
		})}
	}
	same(t, scenes)
}

// A Client's Timeout that passes while the answer is awaited, or read, is one, whether net/http
// hears first of the context's end or of Request.Cancel, which it gives to RoundTrippers that
// it does not know, or of its own timer: all three end at the same instant. Nothing is sent again.
func TestContractClientTimeoutOfTheServer(t *testing.T) {
	for _, path := range []string{"/hangs", "/begins"} {
		lab.Protocols(t, func(t *testing.T, two bool) {
			t.Helper()
			sent := 0
			base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) { sent++; site(w, r) })
			c := &http.Client{Timeout: time.Second, Transport: &pacer.Transport{Base: base}}
			start := time.Now()
			resp, err := c.Get("http://a.example" + path)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			timeout, _ := err.(interface{ Timeout() bool })
			if timeout == nil || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", path, err)
			}
			synctest.Wait()
			if took := time.Since(start); took != time.Second || sent != 1 {
				t.Errorf("%s: sent %d times in %v, want once in 1s", path, sent, took)
			}
		})
	}
}
