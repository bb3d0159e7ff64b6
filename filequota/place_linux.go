package filequota

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem returns what kind of file system a directory is on, if locks are known not to hold there among all
// who share it.
func fileSystem(dir string) (kind string, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		kind = "NFS"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		kind = "SMB"
	case unix.V9FS_MAGIC:
		kind = "9p"
	case unix.FUSE_SUPER_MAGIC: // virtiofs, too
		kind = "FUSE or virtiofs"
	case unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC, unix.NCP_SUPER_MAGIC:
		kind = "of a network"
	}
	return kind, nil
}
