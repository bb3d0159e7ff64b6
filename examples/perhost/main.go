// The program shows which quota a request waits for. It sets quotas by hand: for a host, for a route of
// that host, for each value of a wildcard, and for all other hosts. Then it sends 25 requests at once,
// and prints when each of them went and what it waited for:
//
//   - A request takes tokens of its route and of its host, and goes when both grant it. So all routes of
//     the host together keep to the quota of the host.
//   - Each value of a wildcard has a bucket of its own: no channel waits for messages to another one.
//   - Each other host has a bucket of its own, and waits for none of the first host's requests.
//
// It runs offline and takes about two seconds.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// quotas are what the providers grant. The keys are patterns of http.ServeMux. A request takes tokens of
// two entries: of the entry of its host, and of the most specific other entry that matches it. It goes
// when the quotas of both grant it.
var quotas = map[string]quota.Quotas{
	// A pattern that is a host and "/" is for all requests to the host: here 10 a second, and up to 5 at
	// once.
	"127.0.0.1/": {{Name: "the host", N: 10, Burst: 5}},

	// This is a route of the host. A Burst of 1 spaces requests evenly: one every
	// 250 ms. They count for the host's quota, too.
	"GET 127.0.0.1/search/": {{Name: "search", N: 4, Burst: 1}},

	// Each value of a wildcard has its own bucket: 2 messages a second to channel a do not delay the
	// messages to channel b.
	"POST 127.0.0.1/channels/{channel}/messages": {{Name: "messages", N: 2, Burst: 1}},

	// "/" is for every other host, each with its own bucket. The first quota starts slowly: its requests
	// go 300 ms apart, and 100 ms apart after a second of warming up. Both quotas of the pattern are
	// enforced together.
	"/": {{Name: "any host", N: 10, WarmUp: time.Second}, {Name: "a day", N: 100_000, Per: 24 * time.Hour, Burst: 1000}},
}

func main() {
	// The two servers refuse nothing and say nothing about limits: requests wait only for the quotas above.
	// If a server does say something, it can only lower the quotas. (The cause "slow_start" is pacer's
	// own: until a host that pacer does not know has answered once, one request goes ahead alone.)
	var named, other pacertest.Server
	defer named.Close()
	defer other.Close()
	api := named.Start()
	elsewhere := strings.Replace(other.Start(), "127.0.0.1", "localhost", 1)
	run(os.Stdout, http.DefaultTransport, api, elsewhere)
}

// run sends the requests to the two servers through base.
func run(out io.Writer, base http.RoundTripper, api, elsewhere string) *journal {
	log := &journal{out: out, start: time.Now()}
	transport := &pacer.Transport{
		Quotas: quotas,
		// The Base of pacer is called with a request when its turn has come.
		Base: log.sent(base),
		// Queued is called before a request waits. Other hooks are called when something is refused,
		// learned, held or retried.
		Trace: &pacer.Trace{Queued: log.queued},
	}
	// Without this call, the first request would report a bad pattern or quota.
	if err := transport.Validate(); err != nil {
		fmt.Fprintln(out, err)
		return log
	}
	client := &http.Client{Transport: transport}
	fmt.Fprint(out, intro())

	var wg sync.WaitGroup
	for _, batch := range []struct {
		method, url string
		n           int
	}{
		{http.MethodGet, api + "/search/", 5},
		{http.MethodPost, api + "/channels/a/messages", 2},
		{http.MethodPost, api + "/channels/b/messages", 2},
		{http.MethodGet, api + "/items", 8},
		{http.MethodGet, elsewhere + "/", 8},
	} {
		for range batch.n {
			wg.Go(func() { call(out, client, batch.method, batch.url) })
		}
	}
	wg.Wait()
	fmt.Fprint(out, log, outro)
	return log
}

// intro lists the quotas.
func intro() string {
	var b strings.Builder
	b.WriteString("25 requests are sent at once to two servers, which refuse nothing. These\nquotas, set by hand, make them wait:\n\n")
	for _, pattern := range slices.Sorted(maps.Keys(quotas)) {
		for _, q := range quotas[pattern] {
			name := q.Name
			q.Name = ""
			fmt.Fprintf(&b, "%-44s %-10s %v\n", pattern, name, q)
		}
	}
	return b.String() + "\nWhen each request went:\n\n"
}

const outro = `
What to see:
- Searches are 250 ms apart or more. They count for the host, too: all
  requests to 127.0.0.1 together are 5 at once, then one every 100 ms.
- The messages of a channel are 500 ms apart or more, and neither channel
  waits for the other one.
- The other host, localhost, waits for none of these. It begins slowly:
  requests are 300 ms apart at first, and 100 ms after a second.
`

func call(out io.Writer, client *http.Client, method, url string) {
	req, err := http.NewRequestWithContext(withNote(context.Background()), method, url, http.NoBody)
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		// If pacer does not send a request, the error is a *throttle.Error. It says which quota was in
		// the way, and when the request could have gone.
		fmt.Fprintln(out, err)
		return
	}
	resp.Body.Close()
}
