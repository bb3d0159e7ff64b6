package name

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
