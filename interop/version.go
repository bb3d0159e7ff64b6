package interop

import "runtime/debug"

// module returns the version of a module that this program was built with.
func module(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

// Versions returns the names and versions of what takes part in cells.
func Versions(cells []Cell) (all []string) {
	add := func(name, version string) {
		if version != "" {
			all = once(all, name+" "+version)
		}
	}
	for _, c := range cells {
		add(c.Server.Package, c.Server.Version)
	}
	for _, c := range cells {
		add(c.Client.Package, c.Client.Version)
	}
	return all
}
