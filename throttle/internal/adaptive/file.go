package adaptive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// file is what Write writes: what each bucket has learned, by a digest that stands for the bucket. Names of
// buckets are not written, since they may contain credentials.
type file[M any] struct {
	Version int          `json:"version"`
	Buckets map[string]M `json:"buckets"`
}

const (
	fileVersion = 1
	fileLimit   = 64 << 20 // bytes that Read accepts, and Write writes
	shelfRoom   = 100_000  // buckets of which something is kept
)

// Write writes what buckets have learned, by their digests, as JSON. What is out of date is left out, and what is the
// oldest if there is too much.
func Write(w io.Writer, now time.Time, learned Shelf) error {
	return write(w, now, learned, fileLimit)
}

// write is Write, of so many bytes at most.
func write(w io.Writer, now time.Time, learned Shelf, most int) error {
	var all Shelf
	all.Put(now, learned)
	texts, size := map[string]json.RawMessage{}, 0
	for _, digest := range all.latest() {
		text, err := json.Marshal(all[digest])
		if err != nil {
			return err
		}
		if size += len(text) + len(digest) + len(`"":,`); size > most-100 { // what is around them
			break
		}
		texts[digest] = text
	}
	return json.NewEncoder(w).Encode(file[json.RawMessage]{fileVersion, texts})
}

// Read reads what Write wrote. Its error is errors.ErrUnsupported if that was a later version.
func Read(r io.Reader) (map[string]Memory, error) {
	text, err := io.ReadAll(io.LimitReader(r, fileLimit+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > fileLimit:
		return nil, fmt.Errorf("more than %d bytes", fileLimit)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("empty, want what Save wrote")
	}
	var read file[Memory]
	if err = json.Unmarshal(text, &read); read.Version > fileVersion { // which may have other types
		return nil, fmt.Errorf("version is %d, want %d: a later version of pacer wrote it: %w", read.Version, fileVersion, errors.ErrUnsupported)
	}
	if err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) { // its text has types of ours
			return nil, fmt.Errorf("want what Save wrote: cannot unmarshal %s at byte %d", wrong.Value, wrong.Offset)
		}
		return nil, fmt.Errorf("want what Save wrote: %w", err)
	}
	if read.Version != fileVersion {
		return nil, fmt.Errorf("version is %d, want %d", read.Version, fileVersion)
	}
	return read.Buckets, nil
}

// Shelf is what was learned for buckets that are not made yet, by their digests.
type Shelf map[string]Memory

// Clone returns a Shelf with the same in it.
func (s Shelf) Clone() Shelf {
	all := Shelf{}
	maps.Copy(all, s)
	return all
}

// Put adds what was learned, and drops what is out of date, and what is the oldest if there is too much.
func (s *Shelf) Put(now time.Time, learned map[string]Memory) {
	all := Shelf{}
	for _, from := range []map[string]Memory{*s, learned} {
		for digest, m := range from {
			if len(digest) <= maxDigest && m.Prune(now) {
				all[digest] = m
			}
		}
	}
	if len(all) > shelfRoom {
		for _, digest := range all.latest()[shelfRoom:] {
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
func (s Shelf) Take(digest string) (m Memory, ok bool) {
	m, ok = s[digest]
	delete(s, digest)
	return m, ok
}
