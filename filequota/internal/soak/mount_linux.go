package main

import "golang.org/x/sys/unix"

// mount has a small file system at a path.
func mount(path string) (unmount func(), err error) {
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=1m"); err != nil {
		return nil, err
	}
	return func() { _ = unix.Unmount(path, unix.MNT_DETACH) }, nil
}
