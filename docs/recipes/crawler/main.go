// The program fetches the pages of 50 hosts: from each of them one page at a time and two in a second, from all
// of them at once. While it does, a terminal shows a line for each host: how many pages are done, how many in a
// second, how many wait and what for, and how long the rest will take. A file gets a line for all of them each
// second. A host that says to come back in an hour is left for the next time, and delays no other one.
//
// As it stands, the program talks to a fake; main says how to take that out. At last it prints
//
//	490 pages of 49 hosts; later: host13.example.com (in 1h0m0s)
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func main() {
	api := newFake() // for real hosts, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	if err := run(context.Background(), os.Stdout, newScreen(os.Stderr), api.Transport()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, progress *screen, base http.RoundTripper) error {
	transport := &pacer.Transport{
		Base: base,
		// "/" is every host that is not named, and each has a bucket of its own. A robots.txt with a
		// Crawl-delay of 10 would be one more line: "slow.example.com/": 1/10s. Other hosts are found at run
		// time? SetQuotas changes the table, all of it: call it once for all that were found in a second.
		Quotas: pacer.Table{"/": quota.MustParse("2/s even, 1 in flight")},
	}
	// What a host says holds that host. If it says more than MaxStandstill, two minutes, pages of it fail at
	// once.
	if err := transport.Validate(); err != nil {
		return err
	}
	c := crawl{client: &http.Client{Transport: transport}, begun: time.Now(), pages: map[string]int{}, later: map[string]time.Duration{}}

	ended := make(chan struct{})
	var pages sync.WaitGroup
	for host := range 50 {
		for page := range 10 {
			// A goroutine for each page is all the queue that is needed: who waits in line costs some
			// kilobytes. A crawl of millions has one for each host, which fetches one page after the other.
			pages.Go(func() { c.fetch(ctx, fmt.Sprintf("https://host%d.example.com/%d", host, page)) })
		}
	}
	go func() { pages.Wait(); close(ended) }()

	ticker := time.NewTicker(progress.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			progress.show(c.progress(transport))
		case <-ended:
			progress.clear()
			_, err := fmt.Fprintln(out, c.summary())
			return errors.Join(err, ctx.Err())
		}
	}
}

type crawl struct {
	client *http.Client
	begun  time.Time

	mu    sync.Mutex               // protects the fields below
	pages map[string]int           // by host
	later map[string]time.Duration // when hosts want to be asked again
}

func (c *crawl) fetch(ctx context.Context, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	resp, err := c.client.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body) // a page is in flight until it was read or closed
		resp.Body.Close()
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	var early *throttle.Error
	switch {
	case errors.As(err, &early): // not sent: the host had told another request to come back later
		c.later[req.URL.Host] = max(early.Wait, c.later[req.URL.Host])
	case err == nil && resp.StatusCode == http.StatusOK:
		c.pages[req.URL.Host]++
	}
}

// progress says how far the crawl is, in a line for all and in one for each host, what takes longest first. All
// pages of a host that are left wait in its line. So the host takes as long as a page would wait that came now:
// that is the Next of its State, and what Transport.Forecast says. Where only a part of the pages is in line,
// the quota says what the others take.
func (c *crawl) progress(transport *pacer.Transport) (all string, hosts []string) {
	states := transport.State()
	slices.SortStableFunc(states, func(a, b throttle.State) int {
		return cmp.Or(cmp.Compare(min(b.Waiting, 1), min(a.Waiting, 1)), cmp.Compare(b.Next.Wait.Round(time.Second), a.Next.Wait.Round(time.Second)))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	done, waiting, rest := 0, 0, time.Duration(0)
	for _, host := range states {
		n := c.pages[host.Bucket]
		done += n
		line := fmt.Sprintf("%-19s %3d done, %.1f/s", host.Bucket, n, float64(n)/time.Since(c.begun).Seconds())
		switch later, ok := c.later[host.Bucket]; {
		case host.Waiting > 0: // and not one that wants to be asked later
			waiting += host.Waiting
			rest = max(rest, host.Next.Wait)
			line += fmt.Sprintf(", %d wait for %s %s, %v to go", host.Waiting, host.Next.Cause, host.Next.Quota, host.Next.Wait.Round(100*time.Millisecond))
		case ok:
			line += fmt.Sprintf(", wants to be asked in %v", later.Round(time.Second))
		}
		hosts = append(hosts, line)
	}
	return fmt.Sprintf("%d pages, %d wait, %v to go", done, waiting, rest.Round(100*time.Millisecond)), hosts
}

func (c *crawl) summary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	pages := 0
	for _, n := range c.pages {
		pages += n
	}
	text := fmt.Sprintf("%d pages of %d hosts", pages, len(c.pages))
	var later []string
	for host, wait := range c.later {
		later = append(later, fmt.Sprintf("%s (in %v)", host, wait.Round(time.Second)))
	}
	if len(later) > 0 {
		text += "; later: " + strings.Join(later, ", ")
	}
	return text
}
