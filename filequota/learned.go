package filequota

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Learned is what keeps what it learned from servers: a pacer.Transport, or a throttle.Group.
type Learned interface {
	Save(w io.Writer) error
	Load(r io.Reader) error
}

// Load has a Transport know what other programs that use the directory have learned from servers, and saved: best before the first
// request. Then a tool that runs for a moment need not find out by being refused. If nobody has saved anything, Load does
// nothing. After an error, which names the path, the Transport is as it was, and can be used.
func (s *Store) Load(ctx context.Context, l Learned) error {
	return s.learned(ctx, func() error { return s.load(l) })
}

// Save saves what a Transport has learned, for Load, together with what others have saved meanwhile of what it did not
// use itself. A process that is killed meanwhile changes nothing.
func (s *Store) Save(ctx context.Context, l Learned) error {
	return s.learned(ctx, func() error {
		_ = s.load(l) // what cannot be read is replaced
		return s.save(l)
	})
}

func (s *Store) learnedPath() string { return filepath.Join(s.dir, "learned.json") }

// learned calls do while no other process reads or writes what was learned.
func (s *Store) learned(ctx context.Context, do func() error) error {
	err := s.prepare()
	if err == nil {
		err = s.alone(ctx, do)
	}
	if err != nil {
		return fmt.Errorf("filequota: %w", err)
	}
	return nil
}

func (s *Store) load(l Learned) error {
	f, err := os.OpenFile(s.learnedPath(), os.O_RDONLY|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := l.Load(f); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func (s *Store) save(l Learned) error {
	path := s.learnedPath() + ".new"
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, s.perm)
	if err != nil {
		return err
	}
	if s.perm != 0o600 {
		err = f.Chmod(s.perm) // whatever the umask is
	}
	if err == nil {
		err = l.Save(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(path, s.learnedPath())
}
