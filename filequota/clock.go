package filequota

import (
	"sync"
	"time"
)

// reading is what the clocks of the machine say. All processes of a machine read the same.
type reading struct {
	now    time.Duration // since the machine was started, its sleep included
	asleep time.Duration // how much of that it slept; zero where nobody knows
	wall   int64         // in nanoseconds since 1970
	boot   bootID
}

// clock reads the clocks of this machine.
//
// A Limiter has time go on while the machine sleeps, and notices that it has slept within a tenth of a second.
// So the clock here is one that goes on, too, and a step that finds that the machine has slept hands out
// nothing for that long: see afterSleep.
func clock() reading {
	now, asleep := sinceBoot()
	return reading{now: now, asleep: asleep, wall: time.Now().UnixNano(), boot: thisBoot()}
}

var thisBoot = sync.OnceValue(boot)
