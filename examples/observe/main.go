// The program tries pacer on a client that is there already, and changes nothing: in ModeObserve, every request
// goes at once, as before, and pacer notes what it would have done. After a while the program reports how many
// refusals that would have saved, for how long requests would have waited, and which quota text fits the
// server.
//
// Without flags, it starts a server on loopback that grants 50 requests in two seconds, and a client that sends
// 20 at once every 0.6 s, so that none come just when a window ends, for six seconds. With -url, the same
// client calls that server: be sure that you may call it so often, or say how often by -at-once and -every. To
// try it in a program of yours, take observe.go and fit.go along, and wrap the Transport of your http.Client:
//
//	o := &observer{}
//	client.Transport = o.around(client.Transport)
//	time.AfterFunc(time.Hour, func() { fmt.Print(o.report()) })
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

func main() {
	var w work
	url := flag.String("url", "", "call this `URL` instead of a server of the program's own")
	flag.DurationVar(&w.lasts, "for", 6*time.Second, "observe for so long")
	flag.DurationVar(&w.every, "every", 600*time.Millisecond, "how often the client begins to send")
	flag.IntVar(&w.atOnce, "at-once", 20, "how many requests it sends then")
	flag.Parse()
	w.every = max(w.every, time.Millisecond)
	if *url == "" {
		server := newServer()
		defer server.Close()
		*url = server.Start()
	}
	run(os.Stdout, &http.Client{}, *url, w)
}

// newServer returns a server that says in its answers what remains, as GitHub does.
func newServer() *pacertest.Server {
	return pacertest.NewServer(&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, pacertest.XRateLimit)
}

// run puts an observer into a client, has the client do its work, and reports.
func run(out io.Writer, client *http.Client, url string, w work) {
	o := &observer{}
	client.Transport = o.around(client.Transport)
	fmt.Fprintf(out, "For %v, a client sends %d requests every %v. pacer only looks on.\n", w.lasts, w.atOnce, w.every)
	w.do(out, client, url)
	fmt.Fprint(out, o.report())
}

// work is what the client does anyway. It knows nothing of pacer.
type work struct {
	lasts, every time.Duration
	atOnce       int
}

func (w work) do(out io.Writer, client *http.Client, url string) {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	var wg sync.WaitGroup
	for range max(w.lasts/w.every, 1) {
		for range w.atOnce {
			wg.Go(func() {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
				if err != nil {
					fmt.Fprintln(out, err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					fmt.Fprintln(out, err)
					return
				}
				io.Copy(io.Discard, resp.Body) //nolint:errcheck // read to its end, the connection can be used again
				resp.Body.Close()
			})
		}
		<-ticker.C
	}
	wg.Wait()
}
