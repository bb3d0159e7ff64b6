package stream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A body that Base gets once more, since a connection was closed meanwhile, flows as the first one.
func TestGetBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Base{
			RoundTripper: roundTripper(func(req *http.Request) (*http.Response, error) {
				for range 2 {
					if _, err := io.Copy(io.Discard, req.Body); err != nil {
						t.Error(err)
					}
					req.Body.Close()
					req.Body, _ = req.GetBody()
				}
				return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: req}, nil
			}),
			Bucket: &throttle.Limiter{Quotas: quota.MustParse("1kB/s streamed")},
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://a.example/", strings.NewReader(strings.Repeat("x", 525)))
		if err != nil {
			t.Fatal(err)
		}
		start, whole := time.Now(), req.Body
		resp, err := b.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if d := time.Since(start); d != time.Second || resp.Request != req || req.Body != whole || resp.Body != http.NoBody {
			t.Errorf("took %v, for %v", d, resp.Request)
		}
	})
}

// What Base gets wrong is an error, and not a panic.
func TestBaseIsWrong(t *testing.T) {
	b := &Base{RoundTripper: roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), Bucket: &throttle.Limiter{}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := b.RoundTrip(req); resp != nil || err == nil || !strings.Contains(err.Error(), "stream.roundTripper returned neither") {
		t.Errorf("got %v, %v", resp, err)
	}
}

// A piece that waited when its body was closed is neither returned nor charged later, when the bucket would
// grant it.
func TestReadAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Base{
			RoundTripper: roundTripper(func(req *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 1000))), ContentLength: 1000, Request: req}, nil
			}),
			Bucket: &throttle.Limiter{Quotas: quota.MustParse("1kB/s streamed")},
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Millisecond, func() { resp.Body.Close() })
		if n, err := io.Copy(io.Discard, resp.Body); n != 50 || !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("%d, %v", n, err)
		}
		time.Sleep(time.Second)
		if n, err := resp.Body.Read(make([]byte, 100)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("after Close: %d, %v", n, err)
		}
		if left := b.Bucket.State().Limits[0].Available; left != 50 {
			t.Errorf("%d are left, want all 50", left)
		}
	})
}
