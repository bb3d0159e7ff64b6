package whose

import (
	"strings"

	"github.com/gopacer/pacer/throttle/internal/alike"
)

// Kind is what kind of request a claim is for.
type Kind struct{ Verb, Path string }

// The ways to see what kind a request is of.
const (
	byPath  = iota // method and path
	byIDs          // likewise, but all that looks like an ID is the same
	byPlace        // likewise, and so is the last part of the path
	byEnd          // likewise, but all parts before the last one: /users/alice/photos and /users/bob/photos
	byBegin        // likewise, but all parts behind the first one: /projects/red/files/a and /projects/blue/files/b
)

// how says which parts of paths are the same in a way other than byPath.
var how = [...]alike.How{byIDs: alike.IDs, byPlace: alike.Last, byEnd: alike.Before, byBegin: alike.After}

// as is the kind as it is seen in one way. It may be kept: its texts are copies, since those of a request are
// parts of longer ones.
func (k Kind) as(way int) Kind {
	own := Kind{Verb: strings.Clone(k.Verb)}
	if way == byPath {
		own.Path = strings.Clone(k.short())
	} else {
		own.Path = alike.Stars(k.short(), how[way])
	}
	return own
}

// short is as much of the path as tells kinds apart.
func (k *Kind) short() string { return k.Path[:min(len(k.Path), maxKindPath)] }

// maxKindPath bounds the memory of a kind: a server may redirect to paths of any length. It is that of package
// expect.
const maxKindPath = 256

// fits reports whether k is what another kind is seen as in one way.
func (k *Kind) fits(another *Kind, way int) bool {
	if k.Verb != another.Verb {
		return false
	}
	path := another.short()
	return way == byPath && k.Path == path || way != byPath && alike.Fits(k.Path, path, how[way])
}

// WithoutIDs is the kind as it is seen where all that looks like an ID is the same. It may be kept.
func (k Kind) WithoutIDs() Kind { return k.as(byIDs) }

// Fits reports whether k is what another kind is WithoutIDs.
func (k *Kind) Fits(another *Kind) bool { return k.fits(another, byIDs) }
