package interop

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
)

// upstream is a limiter in another process, behind a socket. It counts by the path of
// the URL.
type upstream struct {
	prefix string // of paths
	base   *http.Transport
	keys   atomic.Int64
}

func newUpstream(socket, prefix string) *upstream {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &upstream{prefix: prefix, base: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64, DisableCompression: true}}
}

// fresh returns a way to the limiter by a path that nobody else takes. It passes answers
// on as they are.
func (u *upstream) fresh() http.Handler {
	path := u.prefix + strconv.FormatInt(u.keys.Add(1), 10)
	return &httputil.ReverseProxy{
		Transport: u.base,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "limiter"})
			r.Out.URL.Path = path
		},
		ErrorLog: log.New(io.Discard, "", 0), // clients that are ended in the middle of a request
	}
}
