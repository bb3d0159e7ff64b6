package filequota

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// group is that of a directory in which its users may write.
type group struct {
	id   int
	mode fs.FileMode // of the directory
}

// makeDir makes the directory, unless it is there. One that was a group's or another user's, and was removed,
// is theirs again.
func (s *Store) makeDir() error {
	g, owner := s.group.Load(), int(s.owner.Load())
	if g == nil && owner == 0 {
		return os.MkdirAll(s.dir, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(s.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.giveDir(g, owner)
}

// giveDir gives the directory that this process has just made to the group, or else to the owner, that it had
// before. Who may write beside it can have put something else in its place by now, such as a link to a
// directory of this user, which is not to be opened to anybody.
func (s *Store) giveDir(g *group, owner int) (err error) {
	f, err := os.OpenFile(s.dir, os.O_RDONLY|asFile, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if st, err := f.Stat(); err != nil || !st.IsDir() {
		return cmp.Or(err, fmt.Errorf("%s is no directory any more", s.dir))
	}
	if g == nil {
		return f.Chown(owner, -1)
	}
	_ = f.Chown(-1, g.id) // as in grant
	return f.Chmod(g.mode)
}

// perm is that of files.
func (s *Store) perm() fs.FileMode {
	if s.group.Load() != nil {
		return 0o660
	}
	return 0o600
}

// made lets those use a file that this process has just made who use the directory. A file that root makes in
// the directory of a user, as a tool does that the user starts by sudo, is the user's: else the user's own
// processes had errors from then on. A file that is there already stays its maker's, who may be any.
func (s *Store) made(f *os.File) error {
	if owner := int(s.owner.Load()); owner != 0 && s.group.Load() == nil {
		if err := f.Chown(owner, -1); err != nil {
			return err
		}
	}
	return s.grant(f)
}

// grant lets the group of the directory use a file that this process has made, whatever its umask and its own
// group are. A user may give files to no group but his own ones: from one who is not of the group, other users
// have errors.
func (s *Store) grant(f *os.File) error {
	g := s.group.Load()
	if g == nil {
		return nil
	}
	_ = f.Chown(-1, g.id)
	return f.Chmod(0o660)
}

// barred reports whether an error is that of a file of another user of the group, who has not let in others
// yet.
func (s *Store) barred(err error) bool {
	return errors.Is(err, fs.ErrPermission) && s.group.Load() != nil
}

// removeBarred removes a file if it is one whose maker was killed before he let in others, so that nobody has
// used it. It requires that no other process makes a file.
func (s *Store) removeBarred(path string) error {
	f, err := s.open(path, os.O_RDWR, 0)
	if err == nil {
		return f.Close()
	}
	if st, statErr := os.Lstat(path); s.barred(err) && statErr == nil && st.Mode().IsRegular() && st.Size() == 0 {
		return os.Remove(path)
	}
	return nil
}
