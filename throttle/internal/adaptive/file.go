package adaptive

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"
)

// file is what Write writes: what each bucket has learned, by a digest that stands for the bucket. Names of
// buckets are not written, since they may contain credentials.
type file struct {
	Version int               `json:"version"`
	Buckets map[string]Memory `json:"buckets"`
}

const (
	fileVersion = 1
	fileLimit   = 64 << 20 // bytes that Read accepts
)

// Write writes what buckets have learned, by their digests, as JSON.
func Write(w io.Writer, buckets map[string]Memory) error {
	return json.NewEncoder(w).Encode(file{fileVersion, buckets})
}

// Read reads what Write wrote.
func Read(r io.Reader) (map[string]Memory, error) {
	text, err := io.ReadAll(io.LimitReader(r, fileLimit+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > fileLimit:
		return nil, fmt.Errorf("more than %d bytes", fileLimit)
	}
	var read file
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	if read.Version != fileVersion {
		return nil, fmt.Errorf("version is %d, want %d", read.Version, fileVersion)
	}
	return read.Buckets, nil
}

// Shelf is what was learned for buckets that are not made yet, by their digests.
type Shelf map[string]Memory

// Put adds what was learned, and drops what is out of date.
func (s *Shelf) Put(now time.Time, learned map[string]Memory) {
	if *s == nil {
		*s = Shelf{}
	}
	maps.Copy(*s, learned)
	maps.DeleteFunc(*s, func(_ string, m Memory) bool { return m.OutOfDate(now) })
}

// Take takes out what was learned for a bucket.
func (s Shelf) Take(digest string) (m Memory, ok bool) {
	m, ok = s[digest]
	delete(s, digest)
	return m, ok
}
