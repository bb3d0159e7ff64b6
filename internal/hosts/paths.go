package hosts

import (
	"hash/maphash"
	"net/http"
	"strings"
	"sync/atomic"
)

// Paths remembers what belongs to up to 256 requests, by their method and URL without the query, under one
// table of patterns. It remembers what comes twice, so that paths with IDs that come once cost little. The zero
// Paths remembers nothing yet. It is safe for concurrent use.
type Paths[T, V any] struct {
	slots [256]slot[T, V]
}

type slot[T, V any] struct {
	path atomic.Pointer[path[T, V]]
	seen atomic.Uint64 // hash of the latest request that was not remembered
}

// path is a method and a URL under a table.
type path[T, V any] struct {
	table                           *T
	method, scheme, host, path, raw string
	value                           *V
}

// longest is how long a path is, in bytes, that is remembered.
const longest = 512

// Of returns what belongs to a request, nil if that is not remembered.
func (ps *Paths[T, V]) Of(table *T, req *http.Request) *V {
	s, _ := ps.slot(req)
	p, u := s.path.Load(), req.URL
	if p == nil || p.path != u.Path || p.host != u.Host || p.method != req.Method || p.scheme != u.Scheme || p.raw != u.RawPath || p.table != table {
		return nil
	}
	return p.value
}

// Note remembers what belongs to a request, in place of another one, if the request comes for the second time.
func (ps *Paths[T, V]) Note(table *T, req *http.Request, v *V) {
	s, hash := ps.slot(req)
	if u := req.URL; s.seen.Swap(hash) == hash && len(u.Path)+len(u.RawPath) <= longest {
		own := strings.Clone // of parts of the whole URL, or of the line of a request that came in: these are not kept
		s.path.Store(&path[T, V]{table, own(req.Method), own(u.Scheme), own(u.Host), own(u.Path), own(u.RawPath), v})
	}
}

func (ps *Paths[T, V]) slot(req *http.Request) (s *slot[T, V], hash uint64) {
	hash = maphash.String(seed, req.URL.Path) + 31*ofHost(req.URL) + ofMethod(req.Method)
	return &ps.slots[hash%uint64(len(ps.slots))], hash
}

// ofMethod is a number that no two usual methods have in common, modulo 256.
func ofMethod(m string) uint64 {
	if m == "" {
		return 0
	}
	return uint64(m[0]) + 31*uint64(len(m))
}
