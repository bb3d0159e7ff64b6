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

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// file is what Write writes: what each bucket has learned, by a digest that stands for the bucket. Names of
// buckets are not written, since they may contain credentials.
type file struct {
	Version int                        `json:"version"`
	Buckets map[string]json.RawMessage `json:"buckets"`
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
	return json.NewEncoder(w).Encode(file{fileVersion, texts})
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
	var read struct {
		Version int             `json:"version"`
		Buckets json.RawMessage `json:"buckets"`
	}
	if err = json.Unmarshal(text, &read); read.Version > fileVersion { // which may have other types
		return nil, fmt.Errorf("version is %d, want %d: a later version of pacer wrote it: %w", read.Version, fileVersion, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, wrongText(err, 0)
	}
	if read.Version != fileVersion {
		return nil, fmt.Errorf("version is %d, want %d", read.Version, fileVersion)
	}
	learned, err := readBuckets(read.Buckets)
	if err != nil {
		return nil, wrongText(err, bytes.Index(text, read.Buckets))
	}
	return learned, nil
}

// wrongText says what is wrong with a text that begins at some byte of a file, and not more than a line of it: package
// json repeats numbers of any length, and package time what is no date.
func wrongText(err error, from int) error {
	text, at := err.Error(), ""
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) { // its text has types of ours
		text, at = "cannot unmarshal "+wrong.Value, fmt.Sprint(" at byte ", int64(from)+wrong.Offset)
	}
	if len(text) > maxWrong {
		text = text[:maxWrong] + "…"
	}
	return fmt.Errorf("want what Save wrote: %s%s", text, at)
}

// maxWrong is how many bytes of what is wrong are repeated.
const maxWrong = 100

// readBuckets reads the buckets of a text that is JSON, one by one, and no more than are kept.
func readBuckets(text []byte) (learned map[string]Memory, err error) {
	if !bytes.HasPrefix(text, []byte("{")) {
		if len(text) > 0 {
			err = json.Unmarshal(text, &learned)
		}
		return learned, err
	}
	learned = map[string]Memory{}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err = d.Token()
	for err == nil && d.More() && len(learned) < shelfRoom {
		digest, _ := d.Token() // the text is JSON, as was seen
		from, m := d.InputOffset()+1, Memory{}
		if err = d.Decode(&m); err == nil {
			learned[digest.(string)] = m
		} else if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			wrong.Offset += from
		}
	}
	return learned, err
}

// windowMemories, allUsed and allPast are lists of which no more is read than is kept: what is made of an element takes hundreds
// of times the memory of its text, `{}`.
type (
	windowMemories []WindowMemory
	allUsed        []limit.Used
	allPast        []PastMemory
)

func (w *windowMemories) UnmarshalJSON(text []byte) error {
	return firstOf(text, maxWindows, (*[]WindowMemory)(w))
}

func (u *allUsed) UnmarshalJSON(text []byte) error {
	return firstOf(text, limit.MaxUsed, (*[]limit.Used)(u))
}

func (p *allPast) UnmarshalJSON(text []byte) error {
	return firstOf(text, pace.MaxPast, (*[]PastMemory)(p))
}

// firstOf reads the first elements of a list, so many at most. It does not know where in a bucket the list stands.
func firstOf[T any](text []byte, most int, all *[]T) (err error) {
	defer func() {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			wrong.Value, wrong.Offset = wrong.Value+" as or in a list of the bucket", 1
		}
	}()
	if len(text) <= shortList || !bytes.HasPrefix(text, []byte("[")) {
		if err = json.Unmarshal(text, all); len(*all) > most {
			*all = slices.Clone((*all)[:most])
		}
		return err
	}
	*all = nil
	d := json.NewDecoder(bytes.NewReader(text))
	for _, err = d.Token(); err == nil && d.More() && len(*all) < most; {
		var one T
		if err = d.Decode(&one); err == nil {
			*all = append(*all, one)
		}
	}
	return err
}

// shortList is how many bytes of a list are read at once, which takes half of the time, and some megabytes at most.
const shortList = 16 << 10

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
