package security

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// texts are long texts of requests and answers, of which a Transport sees parts.
type texts []weak.Pointer[byte]

// add returns a text, and forgets it. What is behind the beginning is long.
func (ts *texts) add(format string, args ...any) string {
	text := fmt.Sprintf(format, args...) + strings.Repeat("x", 16<<10)
	*ts = append(*ts, weak.Make(unsafe.StringData(text)))
	return text
}

// kept returns how many texts are still in memory.
func (ts texts) kept() (n int) {
	runtime.GC()
	runtime.GC() // what a sync.Pool has goes with the second one
	for _, w := range ts {
		if w.Value() != nil {
			n++
		}
	}
	return n
}

// request makes a request as a server reads one that a proxy then sends on: method and URL are parts of one
// line. A link is a part of a page, or of a header: the URL ends before the query.
func (ts *texts) request(t *testing.T, method, where string, link bool) *http.Request {
	t.Helper()
	line := ts.add("%s http://%s?secret=", method, where)
	text := line[len(method)+1:]
	if link {
		text, _, _ = strings.Cut(text, "?")
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal("not a URL")
	}
	return &http.Request{Method: line[:len(method)], URL: u, Host: u.Host, Header: http.Header{}}
}

// TestHeadersOfRedirectsAreLetGo: a server redirects to a URL which is long as text, and short as soon as its
// dots are resolved.
func TestHeadersOfRedirectsAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, ts := &pacer.Transport{}, &texts{}
		tr.Base = lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Host != "a.example" {
				return lab.Answer(req, 200, ""), nil
			}
			text := fmt.Sprintf("http://host%d.example", len(*ts)) + strings.Repeat("/.", 8<<10) + "/"
			*ts = append(*ts, weak.Make(unsafe.StringData(text)))
			return lab.Answer(req, 302, "", "Location", text), nil
		})
		for range 80 {
			asked := make(chan struct{})
			go func() { // with a stack of its own, on which nothing stays
				defer close(asked)
				if got := lab.Get(t, &http.Client{Transport: tr}, "http://a.example/"); got != 200 {
					t.Errorf("got %d", got)
				}
			}()
			<-asked
		}
		if n := ts.kept(); n > 0 {
			t.Errorf("%d of %d headers are kept", n, len(*ts))
		}
		runtime.KeepAlive(tr)
	})
}

// word returns a part of a path that does not look like an ID.
func word(i int) string { return "path" + string([]rune{'a' + rune(i/26), 'a' + rune(i%26)}) }

// TestTextsAreLetGo: of texts of requests and answers, nothing is kept but short copies of some parts. A query,
// say, is gone with its request, and nobody makes a Transport remember megabytes.
func TestTextsAreLetGo(t *testing.T) {
	const many = 80
	statement := []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "900", "X-RateLimit-Reset", "60"}
	flow := func(req *http.Request) string { return req.URL.Path }
	for name, test := range map[string]struct {
		tr     *pacer.Transport // nil for one without fields
		where  func(i int) string
		links  bool
		answer func(i int, ts *texts) (status int, header []string)
	}{
		"hosts":          {where: func(i int) string { return fmt.Sprintf("host%d.example/", i) }},
		"hosts of links": {links: true, where: func(i int) string { return fmt.Sprintf("host%d.example/", i) }},
		"hosts with ports": {
			where: func(i int) string { return fmt.Sprintf("host%d.example:8080/a", i) },
		},
		"paths under patterns": {
			tr:    &pacer.Transport{Quotas: pacer.Table{"/users/{name}": quota.MustParse("100/s")}},
			where: func(i int) string { return fmt.Sprintf("a.example/users/name%d", i/2) },
		},
		"tenants": {
			tr:    &pacer.Transport{Key: flow, Quotas: pacer.Table{"/users/{name}": quota.MustParse("100/s")}},
			where: func(i int) string { return fmt.Sprintf("a.example/users/name%d", i) },
		},
		"a store": {
			tr: &pacer.Transport{
				Key: flow, Quotas: pacer.Table{"/users/{name}": quota.MustParse("100/s")}, Shared: pacer.Shared{Store: &store.Memory{}},
			},
			where: func(i int) string { return fmt.Sprintf("a.example/users/name%d", i) },
		},
		"bodies that flow, and a log": {
			tr: &pacer.Transport{
				Quotas: pacer.Table{"/users/{name}": quota.MustParse("1MB/s streamed")}, Trace: pacer.Log(slog.New(slog.DiscardHandler)),
			},
			where: func(i int) string { return fmt.Sprintf("a.example/users/name%d", i/2) },
		},
		"flows": {
			tr:    &pacer.Transport{Line: pacer.Line{Flow: flow}, Quotas: pacer.Table{"/": quota.MustParse("1/s")}},
			where: func(i int) string { return fmt.Sprintf("a.example/users/name%d", i) },
		},
		"costs": {
			tr: &pacer.Transport{
				Spent:  func(*http.Response) quota.Costs { return quota.Costs{"tokens": 1} },
				Quotas: pacer.Table{"/": quota.MustParse("1000 tokens/s")},
			},
			where: func(i int) string { return fmt.Sprintf("a.example/users/name%d", i) },
		},
		"prices": {
			where: func(i int) string { return "a.example/" + word(i) },
			answer: func(i int, _ *texts) (int, []string) {
				return 200, []string{"X-RateLimit-Limit-Tokens", "10000", "X-RateLimit-Remaining-Tokens", fmt.Sprint(9900 - 100*i), "X-RateLimit-Reset-Tokens", "60"}
			},
		},
		"refusals": {
			tr:     &pacer.Transport{Retry: pacer.Retry{MaxRefusals: -1}},
			where:  func(i int) string { return "a.example/" + word(i) },
			answer: func(i int, _ *texts) (int, []string) { return 429 - i%2*229, nil },
		},
		"failures": {
			tr:     &pacer.Transport{Retry: pacer.Retry{MaxAttempts: 1}},
			where:  func(i int) string { return "a.example/" + word(i) },
			answer: func(i int, _ *texts) (int, []string) { return 503 - i%2*303, nil },
		},
		"names of limits": {
			where: func(int) string { return "a.example/" },
			answer: func(i int, ts *texts) (int, []string) {
				return 200, []string{"RateLimit", ts.add(`"name%d";r=5;t=60;more="`, i) + `"`, "RateLimit-Policy", ts.add(`"name%d";q=10;w=60;more="`, i) + `"`}
			},
		},
		"answers that are repeated": {
			where: func(i int) string { return fmt.Sprintf("host%d.example/", i/40) },
			answer: func(i int, ts *texts) (int, []string) {
				return 200, []string{"RateLimit", fmt.Sprintf(`"a";r=%d;t=60`, 99-i%40), "RateLimit-Policy", ts.add(`"a";q=100;w=60;more="`)}
			},
		},
		"headers that are cut out of one text": {
			where: func(i int) string { return fmt.Sprintf("host%d.example/", i/40) },
			answer: func(i int, ts *texts) (int, []string) {
				all := ts.add("X-Ratelimit-Limit 1000 X-Ratelimit-Remaining %d X-Ratelimit-Reset 60 X-Ratelimit-Used %d Server some ", 900-i, 100+i)
				return 200, strings.Fields(all)[:10]
			},
		},
		"names of resources": {
			where: func(i int) string { return "a.example/" + word(i) },
			answer: func(i int, ts *texts) (int, []string) {
				return 200, append([]string{"X-RateLimit-Resource", ts.add("name%d", i)[:6]}, statement...)
			},
		},
		"routes": {
			where: func(i int) string { return "a.example/" + word(i%4) },
			answer: func(i int, _ *texts) (int, []string) {
				return 200, []string{"X-RateLimit-Limit", fmt.Sprint(100 + i%4), "X-RateLimit-Remaining", fmt.Sprint(90 - i), "X-RateLimit-Reset", "60"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, ts := cmp.Or(test.tr, &pacer.Transport{}), &texts{}
				n := 0
				tr.Base = lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					status, header := 200, statement
					if test.answer != nil {
						status, header = test.answer(n, ts)
					}
					n++
					return lab.Answer(req, status, "", header...), nil
				})
				for i := range many {
					asked := make(chan struct{})
					go func() { // with a stack of its own, on which nothing stays
						defer close(asked)
						resp, err := tr.RoundTrip(ts.request(t, []string{"GET", "POST"}[i/2%2], test.where(i), test.links))
						if err != nil {
							t.Error(err)
							return
						}
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}()
					<-asked
					time.Sleep(100 * time.Microsecond)
				}
				if n := ts.kept(); n > 0 {
					t.Errorf("%d of %d texts are kept", n, len(*ts))
				}
				runtime.KeepAlive(tr)
			})
		})
	}
}
