// The program sets quotas by hand: for a host, for a route of it, for every value of a wildcard, and for all other hosts. It prints when
// each request went, and what it had waited for. It runs offline and takes about two seconds.
package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/throttle"
)

// quotas are what the providers grant, under the patterns of http.ServeMux. A request draws on two of them: on that of its host, and on
// the most specific other one. It goes when both grant it.
var quotas = map[string]throttle.Quotas{
	// A pattern that is only a host and "/" is for all requests to the host: here, 10 a second, of which 5 may go at once.
	"127.0.0.1/": {{Name: "the host", N: 10, Burst: 5}},

	// A route of the host. Without a Burst, its requests are spaced evenly: one every 250 ms. They count towards the host's quota too.
	"GET 127.0.0.1/search/": {{Name: "search", N: 4}},

	// Each value of a wildcard has a bucket of its own: 2 messages a second to channel a do not delay those to channel b.
	"POST 127.0.0.1/channels/{channel}/messages": {{Name: "messages", N: 2}},

	// "/" is for hosts that are not named, each for itself. This quota starts slowly, with requests 300 ms apart, and after warming up for
	// a second they are 100 ms apart. Several quotas of a pattern are enforced together.
	"/": {{Name: "any host", N: 10, WarmUp: time.Second}, {Name: "a day", N: 100_000, Per: 24 * time.Hour, Burst: 1000}},
}

func main() {
	// Two servers, which refuse nothing and say nothing about limits: what waits here waits for the quotas above. Where a server does say
	// something, that may only lower them. (The cause "slow start" is pacer's own: until a host that it does not know has answered once, one
	// request goes ahead alone.)
	var named, other pacertest.Server
	defer named.Close()
	defer other.Close()
	api := named.Start()
	elsewhere := strings.Replace(other.Start(), "127.0.0.1", "localhost", 1)

	log := &journal{start: time.Now()}
	transport := &pacer.Transport{
		Quotas: quotas,
		// What is below pacer sees a request when its turn has come.
		Base: log.sent(http.DefaultTransport),
		// Queued is called before a request waits. Other hooks tell what was refused, learned, held and retried.
		Trace: &pacer.Trace{Queued: log.queued},
	}
	// A bad pattern or quota is found by the first request, or here.
	if err := transport.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}

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
			wg.Go(func() { call(client, batch.method, batch.url) })
		}
	}
	wg.Wait()
	fmt.Print(log)
}

func call(client *http.Client, method, url string) {
	req, err := http.NewRequestWithContext(withNote(context.Background()), method, url, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		// What pacer did not send fails with a *throttle.Error that says which quota stood in the way, and when it could have gone.
		fmt.Println(err)
		return
	}
	resp.Body.Close()
}
