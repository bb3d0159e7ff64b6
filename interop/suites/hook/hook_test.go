package hook

import (
	"net/http"
	"testing"

	"github.com/gopacer/pacer"
)

type function func(*http.Request) (*http.Response, error)

func (f function) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestBetween(t *testing.T) {
	base, client := &http.Transport{}, &http.Client{}
	if got := between(client, base); got != http.RoundTripper(base) {
		t.Errorf("without a mode got %v, want the base", got)
	}
	t.Setenv("PACER_SUITES", "once")
	got, ok := between(client, base).(*pacer.Transport)
	if !ok || got.Base != base || got.Retry.MaxAttempts != -1 {
		t.Errorf("got %+v, want a pacer over the base that sends nothing twice", got)
	}
	if again := between(&http.Client{}, base); again != http.RoundTripper(got) {
		t.Error("another pacer for another client of the same base, want the same")
	}
	if other := between(client, &http.Transport{}); other == http.RoundTripper(got) {
		t.Error("the same pacer for another base")
	}
	if twice := between(client, got); twice != http.RoundTripper(got) {
		t.Error("a pacer over a pacer")
	}
	f := function(nil)
	if between(client, f) != between(client, f) || between(client, f) == between(&http.Client{}, f) {
		t.Error("functions are not told by their clients")
	}
}
