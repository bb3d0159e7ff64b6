//go:build !(darwin || freebsd || linux || windows)

package filequota

import (
	"errors"
	"os"
)

var errNoLocks = errors.New("there are no locks of files on this system")

func tryLock(*os.File) (bool, error) { return false, errNoLocks }
func lock(*os.File) error            { return errNoLocks }
func unlock(*os.File)                {}

type identity struct{}

func identify(string) (identity, int64, error) { return identity{}, 0, errNoLocks }
func identityOf(*os.File) (identity, error)    { return identity{}, errNoLocks }

const asFile = 0

func names(os.FileInfo) uint64   { return 1 }
func groupOf(os.FileInfo) *group { return nil }
func ownerOf(os.FileInfo) uint32 { return 0 }

// tooMany says that this system bounds open files by its memory alone.
func tooMany(error) bool { return false }

func explained(err error) error { return err }

// removable says that a file can be removed while its lock is held; there are no locks.
const removable = false
