// Package pacerdebug shows in a browser what a pacer.Transport does now, and why requests wait.
//
//	page := &pacerdebug.Page{Transport: transport}
//	transport.Trace = pacer.Traces(transport.Trace, page.Trace()) // before the first request
//	mux.Handle("GET /debug/pacer", page)
//
// The page has a row for each bucket: the levels of its quotas and of the limits that the server states, with
// their resets, the line, the hold and its cause, the retry budget, and charts of the last minute. The buckets
// in which requests lose the most time are on top; a search finds the others. A click on a bucket shows which
// requests wait there and why, and what the requests before them waited for. The page updates itself each
// second, by server-sent events, or by polling if these do not come through. Its parts have the URL of the page
// with another query, so it works under any path, also behind http.StripPrefix.
//
// # Where not to put it
//
// The page changes nothing, but it shows which hosts the program calls, how often, and how near to its limits
// it is. It asks for no password. So serve it where only those who run the program can reach it: on a port of
// its own that listens on localhost, or behind a handler that checks who asks. Do not put it on the port, or
// into the ServeMux, that serves the public; nor on http.DefaultServeMux if anything public serves that.
// Importing the package registers nothing.
//
// On a loopback address, the Page answers only requests for localhost or an IP address, so that no web page in
// your browser can read it under another name (DNS rebinding). See AnyHost for a proxy.
//
// Texts of servers are shown as text and never as HTML. The page has no URL, no header and no body of a
// request; of an error that is not pacer's own it has the kind. It shows the labels of buckets, without the
// values of wildcards, which may be secret; see Names. What Transport.Key returned is shown as a
// pacer.KeyDigest. The page loads nothing from elsewhere; its Content-Security-Policy makes sure of that.
//
// # What it costs
//
// The hooks cost a request a fraction of a microsecond, and no allocation if it does not wait. They remember
// the last minute of 2000 buckets at most (2 kB each, up to 10 kB if requests wait) and up to 10,000 requests
// in line. While nobody looks, nothing else is done. While somebody looks, Transport.State, Stats and
// RetryBudgets are read at most once a second, for all viewers together, and less often if that takes more than
// a twentieth of the time: the foot of the page says how long it takes. The Page has no goroutine of its own. A
// stream of events ends after 10 seconds, and the browser asks for the next one: so http.Server.Shutdown waits
// no longer than that for an open page.
package pacerdebug

import (
	"embed"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer"
)

// Page is an http.Handler for a live page of a Transport. It answers GET and HEAD. With "?as=json" it answers
// with what the page shows, as JSON; the names in it may change between versions. With "&open=" and the id of a
// row, that has the requests that wait in the bucket. A Page must not be copied, nor its fields be changed,
// after its first use. It is safe for concurrent use.
type Page struct {
	// Transport is what the page shows. If it is nil, the Page answers with status 500.
	Transport *pacer.Transport

	// Names says that buckets are shown by their names, with the values of wildcards: the channel in
	// "GET discord.com/api/channels/7/messages". If false, they are shown by their labels, and those that
	// have one label are told apart by a digest. Leave it false if a wildcard stands for something secret.
	Names bool

	// AnyHost says that requests over a loopback address are answered whatever host they ask for. If false,
	// they are answered only for localhost and IP addresses. Set AnyHost behind a proxy on the same machine
	// that passes on the name by which it is asked, and have the proxy check who asks.
	AnyHost bool

	traced  atomic.Bool  // Trace was called
	streams atomic.Int32 // how many there are

	mu     sync.Mutex // protects record; not held while anything else is locked, or written
	record record

	reading sync.Mutex // protects latest, and is held while the Transport is read
	latest  *snapshot
}

// Trace returns the hooks by which the Page hears of requests. Without them, it shows buckets without charts,
// and lines without who stands there. Set them once, before the first request, beside those that there are:
//
//	transport.Trace = pacer.Traces(transport.Trace, page.Trace())
func (p *Page) Trace() *pacer.Trace {
	p.traced.Store(true)
	h := hooks{p}
	return &pacer.Trace{
		Queued: h.queued, Went: h.went, NotSent: h.notSent, Answered: h.answered, Retrying: h.retrying, GaveUp: h.gaveUp,
	}
}

//go:embed assets
var assets embed.FS

// files are the parts of the page that are the same for all, by the query that asks for them.
var files = map[string]struct{ name, contentType string }{
	"":       {"page.html", "text/html; charset=utf-8"},
	"style":  {"page.css", "text/css; charset=utf-8"},
	"script": {"page.js", "text/javascript; charset=utf-8"},
	"icon":   {"icon.svg", "image/svg+xml"},
}

// policy lets the page load its own parts, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	query := r.URL.Query()
	as := query.Get("as")
	file, isFile := files[as]
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "pacerdebug: want GET or HEAD", http.StatusMethodNotAllowed)
	case !p.AnyHost && isRebound(r):
		http.Error(w, "pacerdebug: the host must be localhost or an IP address, or AnyHost be set", http.StatusForbidden)
	case p.Transport == nil:
		http.Error(w, "pacerdebug: Page.Transport is nil", http.StatusInternalServerError)
	case isFile:
		text, _ := assets.ReadFile("assets/" + file.name) // it is there
		h.Set("Content-Type", file.contentType)
		_, _ = w.Write(text)
	case as == "json":
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(p.json(asked(query)))
	case as == "events":
		p.stream(w, r, asked(query))
	default:
		http.NotFound(w, r)
	}
}

// isRebound reports whether a request came over a loopback address, and asks for a name that another machine
// may have.
func isRebound(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	return host != "localhost" && net.ParseIP(host) == nil
}

// wish is what somebody wants to see.
type wish struct {
	search string // in names of buckets
	sort   string // "name", "line", "traffic"; anything else is what hurts first
	open   string // the ID of a bucket
	rows   int
	pace   int // seconds from one event to the next
}

// asked returns what a query asks for.
func asked(q url.Values) wish {
	number := func(name string, zero, most int) int {
		n, _ := strconv.Atoi(q.Get(name))
		if n <= 0 {
			n = zero
		}
		return min(n, most)
	}
	return wish{q.Get("search"), q.Get("sort"), q.Get("open"), number("rows", 50, 500), number("pace", 1, 10)}
}

// json is what the page shows now.
func (p *Page) json(w wish) []byte {
	text, err := json.Marshal(p.view(w))
	if err != nil {
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return text
}
