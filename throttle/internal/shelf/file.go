package shelf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// file is what Write writes: what each bucket has learned, by a digest that stands for the bucket. Names of
// buckets are not written, since they may contain credentials.
type file struct {
	Version int                        `json:"version"`
	Buckets map[string]json.RawMessage `json:"buckets"`
}

const (
	version   = 1
	mostBytes = 64 << 20 // that Read accepts, and Write writes
)

// Write writes what buckets have learned, by their digests, as JSON. What is out of date is left out, and what
// is the oldest if there is too much.
func Write(w io.Writer, now time.Time, learned Shelf) error {
	if err := write(w, now, learned, mostBytes); err != nil {
		return fmt.Errorf("throttle: save: %w", err)
	}
	return nil
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
	return json.NewEncoder(w).Encode(file{version, texts})
}

// Read reads what Write wrote. Its error is errors.ErrUnsupported if that was a later version.
func Read(r io.Reader) (map[string]adaptive.Memory, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > mostBytes:
		return nil, fmt.Errorf("more than %d bytes", mostBytes)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("empty, want what Save wrote")
	}
	var read struct {
		Version int             `json:"version"`
		Buckets json.RawMessage `json:"buckets"`
	}
	if err = json.Unmarshal(text, &read); read.Version > version { // which may have other types
		return nil, fmt.Errorf("version is %d, want %d: a later version of pacer wrote it: %w", read.Version, version, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, wrongText(err, 0)
	}
	if read.Version != version {
		return nil, fmt.Errorf("version is %d, want %d", read.Version, version)
	}
	learned, err := readBuckets(read.Buckets)
	if err != nil {
		return nil, wrongText(err, bytes.Index(text, read.Buckets))
	}
	return learned, nil
}

// wrongText says what is wrong with a text that begins at some byte of a file, and not more than a line of it:
// package json repeats numbers of any length, and package time what is no date.
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
func readBuckets(text []byte) (learned map[string]adaptive.Memory, err error) {
	if !bytes.HasPrefix(text, []byte("{")) {
		if len(text) > 0 {
			err = json.Unmarshal(text, &learned)
		}
		return learned, err
	}
	learned = map[string]adaptive.Memory{}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err = d.Token()
	for err == nil && d.More() && len(learned) < room {
		digest, _ := d.Token() // the text is JSON, as was seen
		from, m := d.InputOffset()+1, adaptive.Memory{}
		if err = d.Decode(&m); err == nil {
			learned[digest.(string)] = m
		} else if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			wrong.Offset += from
		}
	}
	return learned, err
}
