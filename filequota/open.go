package filequota

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostOpen is how many files of buckets a Store has open.
const mostOpen = 128

// open is openAsFile, which closes files of buckets that are not in use where the process, or the system, has
// as many open as it may.
func (s *Store) open(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	for {
		f, err = openAsFile(path, flag, perm)
		if err == nil || !tooMany(err) {
			return f, err
		}
		s.mu.Lock()
		more := s.closeOldest()
		s.mu.Unlock()
		if !more {
			return nil, explained(err)
		}
	}
}

// openAsFile opens what has to be a file with one name. Where there is another name, a user of the group may
// have made a hard link to a file of this user, to have it written, and opened to the group.
func openAsFile(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	f, err = os.OpenFile(path, flag|asFile, perm)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	} else if err == nil && names(st) > 1 {
		err = fmt.Errorf("%s is a hard link to a file that has another name, too: remove it", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// closeOldest closes the file of the bucket that was used longest ago, of those that are not in use, and
// forgets the bucket. It reports whether there was one. It requires that mu is held.
func (s *Store) closeOldest() bool {
	var oldest *bucket
	var name string
	for n, b := range s.buckets {
		if len(b.use) == 0 && (oldest == nil || b.used < oldest.used) {
			oldest, name = b, n
		}
	}
	if oldest == nil {
		return false
	}
	select {
	case oldest.use <- struct{}{}:
		oldest.close()
		<-oldest.use
		delete(s.buckets, name)
	default: // it is in use since then
	}
	return true
}
