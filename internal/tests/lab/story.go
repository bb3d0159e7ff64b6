package lab

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// ThreeSeconds plays the story for which people look at logs, hooks and pages. A request joins the line of a
// quota of one a second, and is told that it waits 1 s. Half a second later, an answer to another request says
// that the server's window is used up for 2.5 s more. So the request waits for 3 s: 0.5 s for the quota, and
// 2.5 s for the window.
//
// Transport makes a Transport with OnePerSecond for every host, and the given Base. Begin is called when its
// bucket is not new any more, and its quota is full. Why is the request; its host is that of all. ThreeSeconds
// returns when it was sent, since it was made, and its error.
func ThreeSeconds(t *testing.T, transport func(base http.RoundTripper) http.RoundTripper, begin func(), why *http.Request) (after time.Duration, err error) {
	t.Helper()
	sent := 0
	var at time.Time
	rt := transport(RoundTripper(func(r *http.Request) (*http.Response, error) {
		switch sent++; r.URL.Path {
		case "/slow":
			time.Sleep(time.Second / 2)
			return Answer(r, 200, "", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "2.5"), nil
		case why.URL.Path:
			at = time.Now()
		}
		return Answer(r, 200, ""), nil
	}))
	url := "http://" + why.URL.Host
	for sent < 40 { // so that the bucket is not new
		Get(t, &http.Client{Transport: rt}, url+"/")
	}
	time.Sleep(time.Second)
	begin()
	start := time.Now()
	go Get(t, &http.Client{Transport: rt}, url+"/slow")
	synctest.Wait()
	resp, err := rt.RoundTrip(why)
	if err == nil {
		resp.Body.Close()
	}
	return at.Sub(start), err
}
