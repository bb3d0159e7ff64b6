// Package shelf keeps what buckets have learned, by digests that stand for the buckets, until they are made, or
// for the next run of the program.
//
// In comes what was learned (Put, Read); out it comes when its bucket is made (Take), or as a text (Write).
// What is out of date is left out, and what is the oldest if there is too much. What was learned of one bucket
// is an [adaptive.Memory], which this package does not look into.
package shelf

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// Shelf is what was learned for buckets that are not made yet, by their digests.
type Shelf map[string]adaptive.Memory

// room is how many buckets there are of which something is kept.
const room = 100_000

// maxDigest is twice as many bytes as a digest has.
const maxDigest = 64

// Clone returns a Shelf with the same in it.
func (s Shelf) Clone() Shelf {
	all := Shelf{}
	maps.Copy(all, s)
	return all
}

// Put adds what was learned, and drops what is out of date, and what is the oldest if there is too much.
func (s *Shelf) Put(now time.Time, learned map[string]adaptive.Memory) {
	all := Shelf{}
	for _, from := range []map[string]adaptive.Memory{*s, learned} {
		for digest, m := range from {
			if len(digest) <= maxDigest && m.Prune(now) {
				all[digest] = m
			}
		}
	}
	if len(all) > room {
		for _, digest := range all.latest()[room:] {
			delete(all, digest)
		}
	}
	*s = all
}

// latest returns the digests, those first of which something was known the latest.
func (s Shelf) latest() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(s[b].At.Compare(s[a].At), strings.Compare(a, b))
	})
}

// Take takes out what was learned for a bucket.
func (s Shelf) Take(digest string) (m adaptive.Memory, ok bool) {
	m, ok = s[digest]
	delete(s, digest)
	return m, ok
}
