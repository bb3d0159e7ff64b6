package civil

import (
	"cmp"
	"sync"
	"time"
)

// zones are the time zones that were asked for, by name: to read one takes a file. They are those of quotas,
// and so no more than there are.
var zones sync.Map

// Zone returns the time zone of a name in the IANA database; UTC if that is empty, or if the machine has no
// such zone (quota.Quota.Validate says so).
func Zone(name string) *time.Location {
	name = cmp.Or(name, "UTC")
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, z)
	return z
}
