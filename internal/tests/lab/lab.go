// Package lab has what tests of a whole Transport share: the world around it. There are
//
//   - Bases, on which a Transport sends: a RoundTripper made of a function, a Script of answers,
//     and an http.Server at the other end of a pipe (Serve, Protocols);
//   - what goes through it: requests, and bodies which record what is done to them;
//   - quotas for every host, and numbers for jitter and backoff that make times exact;
//   - what is to be seen of a bucket from outside: State and Free.
//
// It does not import package pacer, so that tests inside of that package may use it, too.
package lab

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/gopacer/pacer/internal/tests/whole" // collects garbage less often
	"github.com/gopacer/pacer/throttle"
)

// Request makes a request with the context of the test. If text is empty, it has no body.
func Request(t *testing.T, method, url, text string) *http.Request {
	t.Helper()
	var r io.Reader
	if text != "" {
		r = strings.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// Get returns the status of an answer, which it reads and closes, or zero if there is none.
func Get(t *testing.T, c *http.Client, url string) int {
	t.Helper()
	resp, err := c.Do(Request(t, "GET", url, ""))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// Read reads the body of an answer, and does not close it.
func Read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("body: %v", err)
	}
	return string(b)
}

// Header returns what net/http makes of header fields that were recorded as they were sent.
func Header(sent map[string][]string) http.Header {
	made := http.Header{}
	for name, values := range sent {
		for _, v := range values {
			made.Add(name, v)
		}
	}
	return made
}

// State returns what the bucket of a name looks like now: that of a host has the host's name. It
// ends the test if there is none.
func State(t *testing.T, tr interface{ State() []throttle.State }, bucket string) throttle.State {
	t.Helper()
	var names []string
	for _, s := range tr.State() {
		if s.Bucket == bucket {
			return s
		}
		names = append(names, s.Bucket)
	}
	t.Fatalf("no bucket %q among %q", bucket, names)
	return throttle.State{}
}

// Free reports whether nothing stands in the way of another request that draws on the bucket,
// when all that happens now has happened.
func Free(t *testing.T, tr interface{ State() []throttle.State }, bucket string) bool {
	t.Helper()
	synctest.Wait()
	return State(t, tr, bucket).Next.Cause == ""
}

// Epoch is when a bubble begins.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// UntilToday lets a bubble, which begins in the year 2000, reach the present. There,
// seconds since 1970 have nine digits, and are not taken for an instant.
func UntilToday() {
	time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)))
}
