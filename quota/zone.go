package quota

import (
	"sync"
	"time"
)

// found are the names of time zones that the machine has. To find one takes a file, and each new bucket checks
// its quotas.
var found sync.Map

// wantedZone returns what was expected in place of the name of a time zone; nothing if that is one. Load is
// time.LoadLocation.
func wantedZone(name string, load func(string) (*time.Location, error)) string {
	const want = "a time zone of the IANA database such as America/Los_Angeles"
	known := func(name string) bool {
		_, err := load(name)
		return err == nil
	}
	if _, ok := found.Load(name); ok {
		return ""
	}
	switch {
	case name == "", name == "Local": // which differs from machine to machine
		return want
	case known(name):
		found.Store(name, true)
		return ""
	case !known("America/Los_Angeles") && !known("Europe/London"):
		return `data of time zones, of which this machine has none: import _ "time/tzdata" in the program`
	}
	return want
}
