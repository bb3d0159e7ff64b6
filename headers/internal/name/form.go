package name

import "time"

// Form is how a value is written.
type Form uint8

// The forms of values.
const (
	Auto    Form = iota // numbers by their size
	Seconds             // a delay
	Instant             // a delay only if nothing else makes sense
	Ratio               // used/limit
	Windows             // limit:seconds, a list
	Keys                // key=value, a list
	Delays              // seconds:name, a list
	Usage               // JSON, percent used
)

// forms are the words that say how a value is written.
var forms = map[string]Form{
	"after": Seconds, "in": Seconds, "seconds": Seconds, "sec": Seconds,
	"at": Instant, "time": Instant, "timestamp": Instant, "epoch": Instant, "date": Instant, "utc": Instant,
}

// steps are the words that say what a number of time counts.
var steps = map[string]time.Duration{
	"ms": time.Millisecond, "milliseconds": time.Millisecond, "millis": time.Millisecond,
	"minutes": time.Minute, "mins": time.Minute,
}
