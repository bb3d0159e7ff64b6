//go:build !(linux || darwin || freebsd)

package filequota

// fileSystem is not known.
func fileSystem(string) (kind string, err error) { return "", nil }
