package interop

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a limiter behind a socket says reaches the client as it was said, and each fresh
// way has a path of its own.
func TestUpstream(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	limiter := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		h := w.Header()
		h["RateLimit-Reset"] = []string{"1", "2"}
		h["Date"] = []string{"Sat, 21 Nov 2026 12:00:00 GMT"}
		h["Retry-After"] = []string{"1.5"}
		w.WriteHeader(http.StatusTooManyRequests)
	})}
	go limiter.Serve(l)
	defer limiter.Close()
	u := newUpstream(socket, "/a/")
	defer u.base.CloseIdleConnections()
	for range 2 {
		w := httptest.NewRecorder()
		u.fresh().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		want := http.Header{
			"Ratelimit-Reset": {"1", "2"}, "Date": {"Sat, 21 Nov 2026 12:00:00 GMT"}, "Retry-After": {"1.5"}, "Content-Length": {"0"},
		}
		if diff := cmp.Diff(want, w.Header()); diff != "" || w.Code != http.StatusTooManyRequests {
			t.Errorf("status %d, headers (-want +got):\n%s", w.Code, diff)
		}
	}
	if diff := cmp.Diff([]string{"/a/1", "/a/2"}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}
