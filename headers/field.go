package headers

import (
	"strings"
	"time"
)

// role is what the value of a header stands for.
type role uint8

const (
	ignored   role = iota
	limit          // how much there is
	remaining      // how much is left
	used           // how much is gone
	reset          // when it is restored
	window         // the time in which limit is granted
	kind           // a window, if the value is a word for one, which then is the name as well
	label          // the name of the limit
	state          // RateLimit of the drafts 07 and later
	policy         // RateLimit-Policy
	pairs          // all of it in one value, form says how
	retry          // a delay
	should         // whether to try again
	pushback       // both
	reason         // why it is refused
	age            // how long ago the answer was written
	cache          // whether a cache answered
)

// roleSet is a set of roles.
type roleSet uint32

func (s roleSet) has(r role) bool { return s&(1<<r) != 0 }

// form is how a value is to be read.
type form uint8

const (
	auto    form = iota // numbers by their size
	seconds             // a delay
	instant             // a delay only if nothing else makes sense
	ratio               // used/limit
	windows             // limit:seconds, a list
	keys                // key=value, a list
	delays              // seconds:name, a list
	usage               // JSON, percent used
)

// field is what the name of a header says about its value.
type field struct {
	role     role
	form     form
	order    uint8  // of labels, the least is the name
	rank     uint8  // of the family, the least takes precedence
	place    uint8  // of the group in its family
	quick    bool   // appendQuick reads it
	weak     bool   // a limit only if what is left is stated, too
	advisory bool   // as in Limit
	long     bool   // the window is a month or longer, which have no fixed length
	sorted   uint16 // the place in the order of all that the table has, from one; zero if read by rule
	set      uint16 // numbers the families and groups of the table, from one; zero if read by rule

	family string        // whose headers may state a limit that others state, too
	group  string        // headers of a family and a group make one limit
	name   string        // of the limit
	unit   string        // empty for requests
	window time.Duration // zero if the name does not tell
	step   time.Duration // what a number of time counts; zero if only its size tells
	total  int64         // how much there is in all, if no header says; zero if not known
	series []span        // names and windows by position in a list
}

// span is a name and a window.
type span struct {
	name   string
	window time.Duration
}

// lookup returns what a header's name says, or nil if it is not about limits.
func lookup(key string) *field {
	if len(key) < minKey || len(key) > maxKey {
		return nil
	}
	if f := known.find(key); f != nil {
		return f
	}
	if !suspicious(key) {
		return nil
	}
	return parseName(key)
}

// suspicious reports whether a name that no table knows may be about limits: it has
// imit, emaining, etry or uota in it, or ends in -Reset. Most names lack already an m, a y
// and a q.
func suspicious(key string) bool {
	return strings.IndexByte(key, 'm') >= 0 && (strings.Contains(key, "imit") || strings.Contains(key, "emaining")) ||
		strings.IndexByte(key, 'y') >= 0 && strings.Contains(key, "etry") ||
		strings.IndexByte(key, 'Q'|key[0]&0x20) >= 0 && strings.Contains(key, "uota") || // of the same case as the first
		strings.HasSuffix(key, "-Reset")
}
