//go:build !(darwin || freebsd || linux || windows)

package filequota

import "time"

// sinceBoot and boot are not known.
func sinceBoot() (now, asleep time.Duration) { return 0, 0 }

func boot() bootID { return bootID{} }
