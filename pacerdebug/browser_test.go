package pacerdebug_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacerdebug"
	"github.com/gopacer/pacer/quota"
)

var pictures = flag.String("pictures", "", "write pictures of the page into this directory")

const hostile = `<img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script>`

// world is a Transport with a page, and servers that answer at once: of "a.example", whose limit is used up for
// 100 s after four requests, of "b.example", which has a quota with a hostile name, of "c.example", which
// refuses, and of "n….example".
type world struct {
	tr  *pacer.Transport
	url string // of the page
}

func newWorld(t *testing.T, wrap func(http.Handler) http.Handler) *world {
	t.Helper()
	var left atomic.Int64
	left.Store(40)
	base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
		switch r.URL.Host {
		case "a.example":
			return lab.Answer(r, 200, "", "X-RateLimit-Limit", "40", "X-RateLimit-Remaining", fmt.Sprint(max(left.Add(-1), 0)), "X-RateLimit-Reset-After", "100"), nil
		case "c.example":
			return lab.Answer(r, 429, "", "Retry-After", "50"), nil
		case "d.example":
			return lab.Answer(r, 200, "", "RateLimit-Policy", `"<b>x</b>";q=10;w=60`, "RateLimit", `"<b>x</b>";r=1;t=1`), nil
		}
		return lab.Answer(r, 200, ""), nil
	})
	tr := &pacer.Transport{Base: base, Quotas: pacer.Table{"b.example/": {{Name: hostile, N: 100, Per: time.Minute, Kind: quota.TokenBucket, Burst: 50}}}}
	page := &pacerdebug.Page{Transport: tr}
	tr.Trace = page.Trace()
	mux := http.NewServeMux()
	mux.Handle("GET /ops/debug/pacer", wrap(page))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &world{tr, server.URL + "/ops/debug/pacer"}
}

// send sends n requests to a host, and does not wait for their ends, which come before that of the test.
func (w *world) send(t *testing.T, n int, host string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	for range n {
		req := lab.Request(t, "GET", "http://"+host+"/?token=secret", "").WithContext(ctx)
		go func() {
			if resp, err := w.tr.RoundTrip(req); err == nil {
				resp.Body.Close()
			}
			done <- struct{}{}
		}()
	}
	t.Cleanup(func() {
		cancel()
		for range n {
			<-done
		}
	})
}

// story plays lab.ThreeSeconds, and returns the URL of a page which shows what there was to be seen then.
func story(t *testing.T) string {
	t.Helper()
	page := &pacerdebug.Page{Transport: &pacer.Transport{Rand: lab.Zero, Quotas: lab.All(lab.OnePerSecond())}}
	var seen []byte
	synctest.Test(t, func(t *testing.T) {
		made := func(base http.RoundTripper) http.RoundTripper {
			page.Transport.Base = base
			return page.Transport
		}
		begin := func() { page.Transport.Trace = page.Trace() }
		if after, err := lab.ThreeSeconds(t, made, begin, lab.Request(t, "GET", "http://api.example.com/why?token=secret", "")); after != 3*time.Second || err != nil {
			t.Fatalf("sent after %v, %v", after, err)
		}
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/?as=json&open="+pacer.KeyDigest("api.example.com"), http.NoBody))
		seen = w.Body.Bytes()
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("as") {
		case "events":
			w.WriteHeader(http.StatusNoContent) // then it polls
		case "json":
			w.Write(seen)
		default:
			page.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestBrowser looks at the page with Chromium, if there is one: PACER_WHOLE=1 go test ./pacerdebug -run Browser
// -args -pictures DIRECTORY.
func TestBrowser(t *testing.T) {
	if !whole.Wanted() {
		t.Skip("a browser takes many seconds: PACER_WHOLE=1")
	}
	b := startBrowser(t)
	as := func(h http.Handler) http.Handler { return h }

	t.Run("live", func(t *testing.T) {
		w := newWorld(t, as)
		w.send(t, 45, "a.example")
		w.send(t, 2, "b.example")
		w.send(t, 1, "c.example")
		w.send(t, 1, "d.example")
		p := b.open(t, w.url, 1400, 1000, "light")
		p.until(`document.querySelectorAll("#rows > tr").length === 4 && document.body.innerText.includes("window used up")`)
		p.until(`document.querySelector("#live").textContent === "live"`)

		// By keyboard: to the first bucket, open it, close it.
		p.eval(`document.querySelector("#pace").focus()`, nil)
		p.press("Tab", 9)
		name := p.text("document.activeElement.textContent")
		p.press("Enter", 13)
		p.until(`document.querySelector(".detail")`)
		if got := p.text("document.activeElement.textContent"); got != name || name == "" {
			t.Errorf("the focus went from %q to %q", name, got)
		}
		p.press("Escape", 27)
		p.until(`!document.querySelector(".detail")`)

		// Who waits there, and why.
		p.eval(`[...document.querySelectorAll(".name")].find((e) => e.textContent === "a.example").click()`, nil)
		p.until(`document.querySelector(".detail") && document.querySelectorAll(".detail ol:first-of-type li").length >= 5`)
		detail := p.text(`document.querySelector(".detail").innerText`)
		for _, want := range []string{"5 requests wait", "GET has waited", "window used up “the server's limit of 40”", "the server says that its limit is used up"} {
			if !strings.Contains(detail, want) {
				t.Errorf("no %q in\n%s", want, detail)
			}
		}
		p.picture("light")

		// Values change, and the reset counts down.
		reset := `document.querySelector(".open .limits .what span:last-child").textContent`
		before := p.text(reset)
		w.send(t, 7, "b.example")
		p.until(`document.querySelector("#all figcaption").textContent.startsWith("51 requests went")`)
		p.until(reset + " !== " + fmt.Sprintf("%q", before))
		if !strings.HasPrefix(before, "0 of 40, back in ") {
			t.Error(before)
		}

		// What came from servers is text.
		if title := p.text("document.title"); !strings.HasPrefix(title, "pacer at 127.0.0.1:") || p.text("document.scripts.length") != "1" || p.text("document.images.length") != "0" {
			t.Error("the hostile name is HTML; the title is ", title)
		}
		text := p.text(`document.querySelector("#rows").innerText`)
		for _, want := range []string{hostile, "<b>x</b>", "the server answered 429"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "secret") {
			t.Error(text)
		}
		p.until(`document.querySelector("#rows").innerText.includes("1 of 10 as last heard") && !document.querySelector("#rows .bar.low")`) // the reset has come
		p.accessible()
		p.clean(w.url)
	})

	t.Run("why a request waited three seconds", func(t *testing.T) {
		p := b.open(t, story(t)+"#open="+pacer.KeyDigest("api.example.com"), 1000, 900, "light")
		p.until(`document.querySelectorAll(".detail ol:last-of-type li").length > 0`)
		detail := p.text(`document.querySelector(".detail").innerText`)
		const line = "GET waited 3 s: 2.5 s window used up “the server's limit of 100”; 500 ms pace “1/s even”"
		if !strings.Contains(detail, line+" – 0 ms ago") {
			t.Errorf("no %q in\n%s", line, detail)
		}
		if readme, err := os.ReadFile("../README.md"); err != nil || !strings.Contains(string(readme), line) {
			t.Errorf("README.md does not have %s, %v", line, err)
		}
		p.picture("why")
	})

	t.Run("dark, on a phone", func(t *testing.T) {
		w := newWorld(t, as)
		w.send(t, 45, "a.example")
		w.send(t, 2, "b.example")
		w.send(t, 1, "c.example")
		p := b.open(t, w.url, 390, 844, "dark")
		p.until(`document.querySelectorAll("#rows > tr").length === 3 && document.body.innerText.includes("window used up")`)
		p.picture("phone")
		p.eval(`[...document.querySelectorAll(".name")].find((e) => e.textContent === "a.example").click()`, nil)
		p.until(`document.querySelectorAll(".detail ol:first-of-type li").length >= 5`)
		if wide := p.text("document.scrollingElement.scrollWidth"); wide != "390" {
			t.Errorf("the page is %s wide", wide)
		}
		if color := p.text("getComputedStyle(document.documentElement).backgroundColor"); color != "rgb(20, 23, 27)" {
			t.Errorf("the background is %s", color)
		}
		p.eval(`document.querySelector(".open").scrollIntoView()`, nil)
		p.picture("phone-open")
		p.clean(w.url)
	})

	t.Run("a thousand buckets, by polling", func(t *testing.T) {
		w := newWorld(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("as") == "events" {
					rw.WriteHeader(http.StatusNoContent)
					return
				}
				h.ServeHTTP(rw, r)
			})
		})
		for i := range 1000 {
			lab.Get(t, &http.Client{Transport: w.tr}, fmt.Sprintf("http://n%d.example/", i))
		}
		w.send(t, 45, "a.example")
		p := b.open(t, w.url, 1400, 1000, "dark")
		p.until(`document.querySelector("#found").textContent === "1,001 buckets, 50 shown"`)
		p.until(`document.querySelector("#live").textContent === "live, by polling"`)
		p.until(`document.querySelector(".name").textContent === "a.example"`)
		p.picture("thousand")
		p.eval(`document.querySelector("#more").click()`, nil)
		p.until(`document.querySelectorAll("#rows > tr").length === 100`)
		// What comes into view by keyboard is not behind the head of the table.
		p.eval(`document.querySelectorAll(".name")[20].scrollIntoView(); window.scrollBy(0, 5 + (parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0));
			document.querySelectorAll(".name")[20].focus()`, nil)
		p.until(`document.activeElement.getBoundingClientRect().top >= document.querySelector("thead th").getBoundingClientRect().bottom`)
		p.eval(`const s = document.querySelector("#search"); s.value = "N77"; s.dispatchEvent(new Event("input"))`, nil)
		p.until(`document.querySelector("#found").textContent === "11 matches"`)
		p.clean(w.url)
	})
}

// accessible checks what a screen reader is told.
func (p *tab) accessible() {
	p.t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value string }
		}
	}
	p.call("Accessibility.getFullAXTree", nil, &tree)
	seen := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		seen[n.Role.Value]++
		switch n.Role.Value {
		case "table", "button", "searchbox", "combobox", "image", "columnheader", "rowheader":
			if n.Name.Value == "" {
				p.t.Errorf("a %s has no name", n.Role.Value)
			}
		}
	}
	for role, least := range map[string]int{"table": 1, "columnheader": 6, "rowheader": 4, "button": 4, "searchbox": 1, "combobox": 2, "image": 4, "status": 1, "heading": 3} {
		if seen[role] < least {
			p.t.Errorf("%d of role %s, want %d at least: %v", seen[role], role, least, seen)
		}
	}
}
