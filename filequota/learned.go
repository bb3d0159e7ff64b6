package filequota

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// SaveLoader has something to save and to load: it is a *pacer.Transport or a *throttle.Group.
type SaveLoader interface {
	Save(w io.Writer) error
	Load(r io.Reader) error
}

// Load tells l what other programs that use the directory have learned from servers and saved. Call it before
// the first request: then a tool that runs for a moment need not find that out by being refused. If nobody has
// saved anything, Load does nothing. If another process holds the lock, Load waits for it until ctx ends. An
// error names the path; l is then as it was, and can be used. If a later version of pacer has saved what is
// there, errors.Is finds errors.ErrUnsupported in the error.
func (s *Store) Load(ctx context.Context, l SaveLoader) error {
	return s.learned(ctx, func() error { return s.load(l, nil) })
}

// Save saves what l has learned, for Load. What others have saved meanwhile about buckets that l did not use is
// kept. If a process is killed while it saves, nothing changes. If nothing has been learned, nothing is
// written. If another process holds the lock, Save waits for it until ctx ends. A damaged file is replaced. A
// file that a program with a later version of pacer has saved, and that this version cannot read, is not: Load
// and Save return an error that says so.
func (s *Store) Save(ctx context.Context, l SaveLoader) error {
	return s.learned(ctx, func() error {
		var was, is bytes.Buffer
		err := s.load(l, &was)
		if err := l.Save(&is); err != nil {
			return fmt.Errorf("%s: %w", s.learnedPath(), err)
		}
		switch {
		case err == nil && bytes.Equal(was.Bytes(), is.Bytes()):
			return nil
		case err != nil && versionOf(was.Bytes()) > versionOf(is.Bytes()):
			return fmt.Errorf("%w; what a later version has saved stays: renew this program, or remove the file", err)
		} // else what cannot be read is damaged, and is replaced
		return s.save(is.Bytes())
	})
}

// versionOf returns the version that a text says it is of, or zero.
func versionOf(text []byte) int {
	var saved struct {
		Version int `json:"version"`
	}
	_ = json.Unmarshal(text, &saved)
	return saved.Version
}

func (s *Store) learnedPath() string { return filepath.Join(s.dir, "learned.json") }

// learned calls do while no other process reads or writes what was learned; once more if the directory has to
// be made first.
func (s *Store) learned(ctx context.Context, do func() error) error {
	if s.clock == nil {
		return errZero
	}
	err := s.alone(ctx, do)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.prepare(); err == nil {
			err = s.alone(ctx, do)
		}
	}
	if err != nil {
		return fmt.Errorf("filequota: %w", err)
	}
	return nil
}

// load has l load what was saved, which is also written to read, unless that is nil.
func (s *Store) load(l SaveLoader, read *bytes.Buffer) error {
	f, err := s.open(s.learnedPath(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	from := io.Reader(f)
	if read != nil {
		from = io.TeeReader(f, read)
	}
	if err := l.Load(from); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func (s *Store) save(text []byte) (err error) {
	path := s.learnedPath() + ".new"
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed, maybe of another user
		return err
	}
	f, err := s.open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.perm())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path)) // a full disk has no room for it, and where a sticky bit is set no other user can remove it
		}
	}()
	if err = s.made(f); err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(path, s.learnedPath())
}
