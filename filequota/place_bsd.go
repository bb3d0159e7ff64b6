//go:build darwin || freebsd

package filequota

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem returns what kind of file system a directory is on, if it is not a local one.
func fileSystem(dir string) (kind string, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return unix.ByteSliceToString(st.Fstypename[:]), nil
	}
	return "", nil
}
