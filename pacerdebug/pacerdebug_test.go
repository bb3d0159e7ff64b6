package pacerdebug_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacerdebug"
	"github.com/gopacer/pacer/quota"
)

// get asks a handler in memory.
func get(t *testing.T, h http.Handler, method, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody))
	return w.Result()
}

// seen is what a page says as JSON, without what is different in each run.
func seen(t *testing.T, h http.Handler, query string) string {
	t.Helper()
	resp := get(t, h, "GET", "/debug/pacer?as=json&"+query)
	text := lab.Read(t, resp)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %s", resp.Status, text)
	}
	return text
}

// path returns what is at a path of a JSON value.
func path(t *testing.T, text string, keys ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err, text)
	}
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// traced returns a Transport with a page, whose Base is as given.
func traced(base http.RoundTripper, quotas pacer.Table) (*pacer.Transport, *pacerdebug.Page) {
	tr := &pacer.Transport{Base: base, Rand: lab.Zero, Quotas: quotas}
	page := &pacerdebug.Page{Transport: tr}
	tr.Trace = page.Trace()
	return tr, page
}

// sixty is a series with numbers at places, as JSON.
func sixty(at map[int]int) string {
	all := make([]string, 60)
	for i := range all {
		all[i] = fmt.Sprint(at[i])
	}
	return "[" + strings.Join(all, ",") + "]"
}

// TestJSON shows all that there is of a bucket with a line, a hold, a configured quota, a limit that the server
// states, waits that are over, and requests that were not sent.
func TestJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(200, ""), lab.Status(200, ""), lab.Status(429, "", "Retry-After", "7", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "9"),
			lab.Status(200, ""),
		}}
		tr, page := traced(script, lab.All(quota.Quota{Name: "mine", N: 1, Kind: quota.TokenBucket}))
		for range 2 { // the second one waits for a second
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/?token=secret")
		}
		go lab.Get(t, &http.Client{Transport: tr}, "http://a.example/?token=secret") // refused, when it has waited for a second
		time.Sleep(1500 * time.Millisecond)
		go lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := tr.RoundTrip(lab.Request(t, "PUT", "http://a.example/", "").WithContext(ctx)); err == nil {
			t.Error("sent")
		}
		cancel()
		synctest.Wait()
		id := path(t, seen(t, page, ""), "rows", 0, "id")
		got := seen(t, page, fmt.Sprint("open=", id))
		want := `{
"read":"2000-01-01T00:00:02.5Z","took":0,"traced":true,
"stats":{"buckets":1,"held":1,"waiting":2,"inFlight":0,"waits":2,"waited":2000,"notSent":1,"refused":1,"retried":0,"gaveUp":0},
"minute":{"went":3,"refused":1,"failed":1,"waits":2,"waited":2000,"longest":1000,"wentEach":` + sixty(map[int]int{57: 1, 58: 1, 59: 1}) +
			`,"refusedEach":` + sixty(map[int]int{59: 2}) + `,"longestEach":` + sixty(map[int]int{58: 1000, 59: 1000}) + `},
"found":1,
"rows":[{"id":"` + fmt.Sprint(id) + `","name":"a.example","trouble":"failing","waiting":2,"inFlight":0,"slowStart":1,
"hold":{"for":6500,"status":429,"ago":500},
"next":{"in":8500,"cause":"pace","quota":"mine","advice":"a configured quota: raise it if the provider allows more"},
"limits":[{"quota":"mine","limit":1,"available":0,"reset":500,"rate":1},{"quota":"","limit":60,"available":0,"reset":8500,"stated":true}],
"budget":{"left":10,"of":10},
"minute":{"went":3,"refused":1,"failed":1,"waits":2,"waited":2000,"longest":1000,"wentEach":` + sixty(map[int]int{57: 1, 58: 1, 59: 1}) +
			`,"refusedEach":` + sixty(map[int]int{59: 2}) + `,"longestEach":` + sixty(map[int]int{58: 1000, 59: 1000}) + `}}],
"open":{"id":"` + fmt.Sprint(id) + `","line":[
{"number":3,"method":"GET","since":500,"told":{"for":7000,"cause":"hold"}},
{"number":4,"method":"GET","since":0,"told":{"for":7500,"cause":"pace","quota":"mine"}}],"known":2,
"causes":[{"for":2000,"cause":"pace"}],
"past":[
{"ago":0,"method":"PUT","how":"not sent: wait past the deadline","wait":0},
{"ago":500,"method":"GET","wait":1000,"for":[{"for":1000,"cause":"pace","quota":"mine"}]},
{"ago":1500,"method":"GET","wait":1000,"for":[{"for":1000,"cause":"pace","quota":"mine"}]}]}}`
		lines := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\n", ""), ",\"", ",\n\"") }
		if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
			t.Errorf("%s\n%s", diff, got)
		}
		if strings.Contains(got, "secret") {
			t.Error("a query is there")
		}
		time.Sleep(time.Minute)
	})
}

// Without the page's Trace, there is what the Transport says, and the page says what is missing.
func TestWithoutTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK()}
		page := &pacerdebug.Page{Transport: tr}
		if got := path(t, seen(t, page, ""), "found"); got != 0.0 {
			t.Errorf("%v buckets", got)
		}
		lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		if got := path(t, seen(t, page, ""), "found"); got != 0.0 {
			t.Errorf("%v buckets, want what was read a moment ago", got)
		}
		time.Sleep(time.Second)
		text := seen(t, page, "")
		if path(t, text, "traced") != false || path(t, text, "rows", 0, "name") != "a.example" || path(t, text, "minute") != nil || path(t, text, "rows", 0, "minute") != nil {
			t.Error(text)
		}
	})
}

// A Trace that was asked for, and not set, is missing as well: requests wait, and it hears of none.
func TestTraceNotSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket})}
		page := &pacerdebug.Page{Transport: tr}
		_ = page.Trace()
		for _, want := range []bool{true, false} {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
			if got := path(t, seen(t, page, ""), "traced"); got != want {
				t.Errorf("traced: %v, want %v", got, want)
			}
		}
	})
}

// In ModeObserve, the page has what would have been, and says so.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, page := traced(lab.OK(), lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}))
		tr.Mode = pacer.ModeObserve
		for range 3 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		}
		text := seen(t, page, "open="+pacer.KeyDigest("a.example"))
		if path(t, text, "rows", 0, "observe") != true || path(t, text, "rows", 0, "minute", "waited") != 3000.0 || path(t, text, "open", "line") != nil || path(t, text, "open", "past", 0, "wait") != 2000.0 {
			t.Error(text)
		}
	})
}

// What comes from servers and from requests is JSON that no HTML parser takes for more, printable and cut.
func TestHostileNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`}
		var limits []quota.Quota
		for _, name := range names {
			limits = append(limits, quota.Quota{Name: name, N: 1000, Kind: quota.TokenBucket})
		}
		long := "<b>&'" + strings.Repeat("long", 2500)
		tr, page := traced(&lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset-After", "30", "X-RateLimit-Resource", long, "X-RateLimit-Bucket", "a\x1b[2J\xe2\x80\xae\x00"),
		}}, lab.All(limits...))
		req := lab.Request(t, "GET", "http://a.example/", "")
		req.Method = "<i>\x07"
		if resp, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		} else {
			resp.Body.Close()
		}
		text := seen(t, page, "")
		if bad := regexp.MustCompile("[<>&\x00-\x1f\x7f]|[^\x20-\x7e…]").FindString(text); bad != "" {
			t.Errorf("%q is there", bad)
		}
		var got []string
		for i := range 3 {
			got = append(got, fmt.Sprint(path(t, text, "rows", 0, "limits", i, "quota")))
		}
		if got[0] != names[0] || got[1] != names[1] || !strings.HasPrefix(got[2], long[:20]) || len(got[2]) > 200 {
			t.Errorf("%q", got)
		}
	})
}

// Values of wildcards and what Key returns are not shown; buckets with one label are told apart. Names shows
// the values.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, page := traced(lab.OK(), pacer.Table{"GET a.example/hooks/{token}/": {{N: 1, Kind: quota.TokenBucket}}})
		tr.Key = func(r *http.Request) string { return r.Header.Get("Authorization") }
		for _, url := range []string{"http://a.example/hooks/hunter1/", "http://a.example/hooks/hunter2/?hunter3", "http://hunter4@b.example/hunter5"} {
			req := lab.Request(t, "GET", url, "")
			req.Header.Set("Authorization", "hunter6")
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		text := seen(t, page, "sort=name")
		if strings.Contains(text, "hunter") {
			t.Error(text)
		}
		digest := pacer.KeyDigest("hunter6")
		var names []string
		for i := range 6 {
			names = append(names, fmt.Sprint(path(t, text, "rows", i, "name")))
		}
		if !slices.Equal(names[2:], []string{"a.example for " + digest, "a.example overall", "b.example for " + digest, "b.example overall"}) || names[0] == names[1] ||
			!regexp.MustCompile(`^GET a\.example/hooks/\{token\}/ #[0-9a-f]{6}$`).MatchString(names[0]) {
			t.Errorf("%q", names)
		}
		open := &pacerdebug.Page{Transport: tr, Names: true}
		if name := path(t, seen(t, open, "search=HUNTER1"), "rows", 0, "name"); name != "GET a.example/hooks/hunter1/ for "+digest {
			t.Error(name)
		}
		if n := path(t, seen(t, page, "search=hunter1"), "found"); n != 0.0 {
			t.Errorf("%v buckets found by what is not shown", n)
		}
	})
}

// A request that waits for a bucket above its own is shown with both, unless there are others with the label of
// its own.
func TestWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		even := func(per time.Duration) quota.Quotas { return quota.Quotas{{N: 1, Per: per, Kind: quota.TokenBucket}} }
		tr, page := traced(lab.OK(), pacer.Table{"a.example/": even(10 * time.Second), "GET a.example/{x}": even(30 * time.Second), "GET a.example/y": even(time.Second)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, path := range []string{"1", "1", "2", "y"} {
			req := lab.Request(t, "GET", "http://a.example/"+path, "").WithContext(ctx)
			go func() {
				if resp, err := tr.RoundTrip(req); err == nil {
					resp.Body.Close()
				}
			}()
			synctest.Wait()
		}
		const above = `"cause":"pace","quota":"1/10s even"`
		for name, want := range map[string]string{
			"GET a.example/1": `[{"number":1,"method":"GET","since":0,"told":{"for":30000,"cause":"pace","quota":"1/30s even"}}],"known":1`,
			"GET a.example/2": ``,
			"GET a.example/y": `[{"number":3,"method":"GET","since":0,"told":{"for":20000,` + above + `,"bucket":"a.example"}}],"known":1`,
			"a.example": `[{"number":2,"method":"GET","of":"GET a.example/{x}","since":0,"told":{"for":10000,` + above + `}},` +
				`{"number":3,"method":"GET","of":"GET a.example/y","since":0,"told":{"for":20000,` + above + `}}],"known":2`,
		} {
			text := seen(t, page, "open="+pacer.KeyDigest(name))
			if _, line, _ := strings.Cut(text, `"line":`); line == "" && want != "" || !strings.HasPrefix(line, want) {
				t.Errorf("%s: got %s, want %s", name, line, want)
			}
		}
	})
}

// What hurts is on top; a search finds the others; what is open stays.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "n7.example" {
				return lab.Answer(r, 429, "", "Retry-After", "60"), nil
			}
			return lab.Answer(r, 200, ""), nil
		})
		tr, page := traced(base, pacer.Table{"n5.example/": {{N: 1, Kind: quota.TokenBucket}}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 9 {
			for range i%3 + 1 {
				req := lab.Request(t, "GET", fmt.Sprintf("http://n%d.example/", i), "").WithContext(ctx)
				go func() {
					if resp, err := tr.RoundTrip(req); err == nil {
						resp.Body.Close()
					}
				}()
				synctest.Wait()
			}
		}
		order := func(query string) string {
			text, names := seen(t, page, query), []string{}
			for i := range 9 {
				if name := path(t, text, "rows", i, "name"); name != nil {
					names = append(names, strings.TrimSuffix(fmt.Sprint(name), ".example"))
				}
			}
			return fmt.Sprint(strings.Join(names, " "), " of ", path(t, text, "found"))
		}
		first := path(t, seen(t, page, "sort=name"), "rows", 0, "id")
		for query, want := range map[string]string{
			"rows=3":                             "n7 n5 n0 of 9",
			"sort=traffic&rows=3":                "n2 n8 n1 of 9",
			"sort=name":                          "n0 n1 n2 n3 n4 n5 n6 n7 n8 of 9",
			"search=N7.":                         "n7 of 1",
			"search=hold":                        "n7 of 1",
			"search=nothing":                     " of 0",
			"sort=line&rows=1":                   "n7 of 9",
			"rows=-1&search=+n8+":                "n8 of 1",
			fmt.Sprint("search=n8&open=", first): "n8 n0 of 1",
		} {
			if got := order(query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
	})
}

func TestMethodsAndHeaders(t *testing.T) {
	_, page := traced(lab.OK(), nil)
	mux := http.NewServeMux()
	mux.Handle("GET /debug/pacer", page)
	mux.Handle("GET /deep/down/pacer/", http.StripPrefix("/deep/down/pacer", page))
	mux.Handle("GET /", http.NotFoundHandler())
	for target, contentType := range map[string]string{
		"":           "text/html; charset=utf-8",
		"?as=style":  "text/css; charset=utf-8",
		"?as=script": "text/javascript; charset=utf-8",
		"?as=icon":   "image/svg+xml",
		"?as=json":   "application/json",
		"?as=else":   "",
	} {
		for _, at := range []string{"/debug/pacer", "/deep/down/pacer/"} {
			resp := get(t, mux, "GET", at+target)
			body := lab.Read(t, resp)
			switch {
			case contentType == "":
				if resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %s", target, resp.Status)
				}
				continue
			case resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != contentType || body == "":
				t.Errorf("%s%s: %s, %v", at, target, resp.Status, resp.Header)
			}
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
				"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q", target, name, got)
				}
			}
			for _, outside := range []string{"http://", "https://", "//cdn"} {
				if body := strings.ReplaceAll(body, "http://www.w3.org/2000/svg", ""); strings.Contains(body, outside) {
					t.Errorf("%s has %s", target, outside)
				}
			}
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		resp := get(t, page, method, "/?as=json")
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" || strings.Contains(lab.Read(t, resp), "{") {
			t.Errorf("%s: %s, %v", method, resp.Status, resp.Header)
		}
	}
	if resp := get(t, &pacerdebug.Page{}, "GET", "/"); resp.StatusCode != http.StatusInternalServerError || !strings.HasPrefix(lab.Read(t, resp), "pacerdebug: Page.Transport is nil") {
		t.Error(resp.Status)
	}
}

// On a loopback address, only names that no other machine can have are answered.
func TestHosts(t *testing.T) {
	_, page := traced(lab.OK(), nil)
	any := &pacerdebug.Page{Transport: page.Transport, AnyHost: true}
	for _, tt := range []struct {
		local, host string
		h           http.Handler
		want        int
	}{
		{"127.0.0.1", "localhost:6060", page, 200},
		{"127.0.0.1", "127.0.0.1:6060", page, 200},
		{"::1", "[::1]:6060", page, 200},
		{"127.0.0.1", "evil.example", page, 403},
		{"::1", "evil.example:6060", page, 403},
		{"127.0.0.1", "localhost.evil.example", page, 403},
		{"127.0.0.1", "", page, 403},
		{"127.0.0.1", "evil.example", any, 200},
		{"10.0.0.1", "pacer.internal.example", page, 200},
	} {
		req := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.ParseIP(tt.local)})), "GET", "/?as=json", http.NoBody)
		req.Host = tt.host
		w := httptest.NewRecorder()
		tt.h.ServeHTTP(w, req)
		if w.Code != tt.want {
			t.Errorf("%s at %s: %d, want %d", tt.host, tt.local, w.Code, tt.want)
		}
	}
}

// HEAD has the headers of GET, and no body; that of events ends.
func TestHEAD(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		_, page := traced(lab.OK(), nil)
		base := lab.Serve(t, two, page.ServeHTTP)
		for _, as := range []string{"", "style", "json", "events"} {
			resp, err := base.RoundTrip(lab.Request(t, "HEAD", "http://localhost/?as="+as, ""))
			if err != nil {
				t.Fatal(err)
			}
			if text := lab.Read(t, resp); resp.StatusCode != http.StatusOK || text != "" || resp.Header.Get("Content-Type") == "" {
				t.Errorf("%s: %s, %q, %v", as, resp.Status, text, resp.Header)
			}
		}
	})
}

// Events come each second, or as asked, each with what is so then. A stream ends after ten seconds; the next
// one goes on.
func TestEvents(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr, page := traced(lab.OK(), nil)
		base := lab.Serve(t, two, page.ServeHTTP)
		start := time.Now()
		for _, query := range []string{"", "&pace=5"} {
			resp, err := base.RoundTrip(lab.Request(t, "GET", "http://localhost/?as=events"+query, ""))
			if err != nil {
				t.Fatal(err)
			}
			if h := resp.Header; h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%v", h)
			}
			var got []string
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				text, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					if lines.Text() != "" {
						got = append(got, lines.Text())
					}
					continue
				}
				went := path(t, text, "minute", "went")
				got = append(got, fmt.Sprint(time.Since(start), " ", went))
				lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
			}
			resp.Body.Close()
			want := []string{"retry: 1000", "0s <nil>", "1s 1", "2s 2", "3s 3", "4s 4", "5s 5", "6s 6", "7s 7", "8s 8", "9s 9"}
			if query != "" {
				want = []string{"retry: 5000", "9s 10", "14s 11"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(query, diff)
			}
		}
		if got := time.Since(start); got != 14*time.Second {
			t.Errorf("it took %v", got)
		}
	})
}

// A stream ends at once when who reads it has gone: the bubble waits for all goroutines.
func TestEventsCanceled(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		_, page := traced(lab.OK(), nil)
		ended := make(chan time.Time, 1)
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			page.ServeHTTP(w, r)
			ended <- time.Now()
		})
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := base.RoundTrip(lab.Request(t, "GET", "http://localhost/?as=events", "").WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(2500 * time.Millisecond)
		at := time.Now()
		cancel()
		if end := <-ended; !end.Equal(at) {
			t.Errorf("it ended %v later", end.Sub(at))
		}
	})
}

// A reader that does not read holds up nobody, and loses its stream after six seconds.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, page := traced(lab.OK(), nil)
		ended := make(chan time.Time, 1)
		base := lab.Serve(t, false, func(w http.ResponseWriter, r *http.Request) {
			page.ServeHTTP(w, r)
			if r.URL.Query().Get("as") == "events" {
				ended <- time.Now()
			}
		})
		for i := range 100 { // an event is longer than what is buffered between them
			lab.Get(t, &http.Client{Transport: tr}, fmt.Sprintf("http://n%d.example/", i))
		}
		start := time.Now()
		resp, err := base.RoundTrip(lab.Request(t, "GET", "http://localhost/?as=events&rows=500", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for range 3 {
			time.Sleep(time.Second)
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
			if found := path(t, seen(t, page, ""), "found"); found != 101.0 {
				t.Errorf("found %v", found)
			}
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("others took %v", took)
		}
		if end := <-ended; end.Sub(start) != 6*time.Second {
			t.Errorf("it ended after %v", end.Sub(start))
		}
	})
}

// Where nothing can be flushed, as under an http.TimeoutHandler, an answer has one event, and the browser comes
// again.
func TestEventsWithoutFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, page := traced(lab.OK(), nil)
		base := lab.Serve(t, false, http.TimeoutHandler(page, time.Minute, "").ServeHTTP)
		start := time.Now()
		resp, err := base.RoundTrip(lab.Request(t, "GET", "http://localhost/?as=events", ""))
		if err != nil {
			t.Fatal(err)
		}
		if text := lab.Read(t, resp); strings.Count(text, "data: ") != 1 || !strings.HasSuffix(text, "\n\n") || time.Since(start) != 0 {
			t.Errorf("%q after %v", text, time.Since(start))
		}
	})
}

// More streams than are allowed poll; when others end, there is room again.
func TestTooManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, page := traced(lab.OK(), nil)
		base := lab.Serve(t, true, page.ServeHTTP)
		ask := func() *http.Response {
			resp, err := base.RoundTrip(lab.Request(t, "GET", "http://localhost/?as=events", ""))
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		var all []*http.Response
		for range 32 {
			all = append(all, ask())
		}
		if resp := ask(); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s", resp.Status)
		} else {
			resp.Body.Close()
		}
		for _, resp := range all {
			resp.Body.Close()
		}
		synctest.Wait()
		if resp := ask(); resp.StatusCode != http.StatusOK {
			t.Errorf("%s", resp.Status)
		} else {
			resp.Body.Close()
		}
		synctest.Wait()
	})
}

// Viewers and requests do not disturb each other.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, page := traced(lab.OK(), lab.All(quota.Quota{N: 20, Kind: quota.TokenBucket}))
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for range 5 {
					lab.Get(t, &http.Client{Transport: tr}, fmt.Sprintf("http://n%d.example/", i%3))
				}
			})
			wg.Go(func() {
				for range 5 {
					text := seen(t, page, "")
					seen(t, page, fmt.Sprint("open=", path(t, text, "rows", 0, "id")))
					time.Sleep(300 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		if went := path(t, seen(t, page, ""), "minute", "went"); went != 100.0 {
			t.Errorf("%v went", went)
		}
	})
}

// Of a limit that the server states, what the latest answer said is marked as past when the reset has come,
// since a request would go at once; while one would wait, nothing is.
func TestPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, page := traced(&lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "5"),
			lab.Status(429, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "Retry-After", "3"),
			lab.Status(200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "10", "X-RateLimit-Reset-After", "0"),
		}}, nil)
		limit := func() string {
			l := path(t, seen(t, page, ""), "rows", 0, "limits", 0).(map[string]any)
			return fmt.Sprint(l["available"], " of ", l["limit"], " back in ", l["reset"], ", past ", l["past"])
		}
		for _, step := range []struct {
			send  bool
			sleep time.Duration
			want  string
		}{
			{true, 0, "0 of 10 back in 5000, past <nil>"},
			{false, 4 * time.Second, "0 of 10 back in 1000, past <nil>"},
			{false, 1500 * time.Millisecond, "0 of 10 back in <nil>, past true"},
			{true, 0, "10 of 10 back in <nil>, past <nil>"}, // refused for 3 s first
		} {
			if step.send {
				lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
			}
			time.Sleep(step.sleep)
			if got := limit(); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		}
	})
}

// What is believed of the server is there in words, whatever the server calls its limits.
func TestBeliefs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &lab.Script{}
		for i := range 4 {
			script.Answers = append(script.Answers, lab.Status(200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", fmt.Sprint(4-i), "X-RateLimit-Reset", fmt.Sprint(6+i), "X-RateLimit-Resource", "<b>core</b>"))
		}
		tr, page := traced(script, nil)
		for range 4 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
			time.Sleep(3 * time.Second)
		}
		text := fmt.Sprint(path(t, seen(t, page, ""), "rows", 0, "beliefs", 0))
		if !strings.HasPrefix(text, "<b>core</b> of 10: refills ") || len(text) > 400 {
			t.Errorf("%q is believed", text)
		}
	})
}
