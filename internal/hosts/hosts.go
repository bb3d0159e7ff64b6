// Package hosts remembers what belongs to the hosts, and to the paths, that requests wrote lately:
// "api.example.com" and "API.example.com:443" have one bucket, and finding it by its key, or by the pattern
// that matches, costs much more than recognizing how a request writes its URL.
//
// In come URLs and what belongs to them; out comes what belongs to a URL. The package does not know what that
// is.
package hosts

import (
	"hash/maphash"
	"net/url"
	"strings"
	"sync/atomic"
)

// Hosts remembers what belongs to up to 256 hosts. The zero Hosts remembers nothing yet. It is safe for
// concurrent use.
type Hosts[V any] struct {
	last  atomic.Pointer[host[V]] // of the request before
	slots [256]atomic.Pointer[host[V]]
}

// host is a host as requests write it. Its text is a copy, since that of a URL is a part of a text which may be
// long, such as a page or a header, and is not kept.
type host[V any] struct {
	tls   bool // the scheme is https, else http
	host  string
	value *V
}

// is reports whether a URL writes its host in this way. Schemes are compared with constants, which takes less
// than to compare two texts.
func (h *host[V]) is(u *url.URL) bool {
	return h != nil && h.host == u.Host && (h.tls && u.Scheme == "https" || !h.tls && u.Scheme == "http")
}

// Of returns what belongs to the host of a URL, nil if that is not remembered.
func (hs *Hosts[V]) Of(u *url.URL) *V {
	h := hs.last.Load()
	if !h.is(u) {
		if h = hs.slot(u).Load(); !h.is(u) {
			return nil
		}
		hs.last.Store(h)
	}
	return h.value
}

// Note remembers what belongs to the host of a URL, in place of another host. Of schemes other than http and
// https nothing is remembered.
func (hs *Hosts[V]) Note(u *url.URL, v *V) {
	if u.Scheme == "http" || u.Scheme == "https" {
		h := &host[V]{u.Scheme == "https", strings.Clone(u.Host), v}
		hs.slot(u).Store(h)
		hs.last.Store(h)
	}
}

// seed is random, so that nobody who names hosts can have them forget each other.
var seed = maphash.MakeSeed()

func (hs *Hosts[V]) slot(u *url.URL) *atomic.Pointer[host[V]] {
	return &hs.slots[ofHost(u)%uint64(len(hs.slots))]
}

// ofHost is a hash of the scheme and the host of a URL.
func ofHost(u *url.URL) uint64 {
	return maphash.String(seed, u.Host) + uint64(len(u.Scheme)) // which tells http from https
}
