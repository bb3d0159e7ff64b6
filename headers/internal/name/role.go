package name

import "strings"

// Role is what the value of a header stands for.
type Role uint8

// The roles of values.
const (
	Ignored   Role = iota
	Limit          // how much there is
	Remaining      // how much is left
	Used           // how much is gone
	Reset          // when it is restored
	Window         // the time in which Limit is granted
	Kind           // a window, if the value is a word for one, which then is the name as well
	Label          // the name of the limit
	State          // RateLimit of the drafts 07 and later
	Policy         // RateLimit-Policy
	Text           // all of it in one value, Form says how
	Retry          // a delay
	Should         // whether to try again
	Pushback       // both
	Refusal        // why it is refused
	Age            // how long ago the answer was written
	Cache          // whether a cache answered
	TimeUnit       // what a number in Window counts, a word
	Rate           // how much is added in each Window, where that is not all of Limit
)

// Counts reports whether the role is that of a number of what is counted.
func (r Role) Counts() bool { return r == Limit || r == Remaining || r == Used }

// RoleSet is a set of roles, with the bit 1<<r for each of them.
type RoleSet uint32

// Has reports whether r is in the set.
func (s RoleSet) Has(r Role) bool { return s&(1<<r) != 0 }

// letters are the keys that values of the form Keys use beside the words of roles.
var letters = map[string]Role{"q": Limit, "r": Remaining, "t": Reset, "w": Window, "b": Label, "lim": Limit, "rem": Remaining, "rate": Rate}

// RoleOfKey returns the role of the number or name that follows a key in a value of the form
// Keys: that of "remaining" and "r" is Remaining. It is Ignored for a key that is not known.
func RoleOfKey(key string) Role {
	if r := letters[key]; r != Ignored {
		return r
	}
	if w := words[key]; w != nil {
		return w.role
	}
	return Ignored
}

// Key says what a key in a value says, by the rules for names of headers: "Time until reset" is a
// reset, "user-hour-lim" the limit of "user" in an hour. The Role is Ignored for one that is no more
// than a name or a window.
func Key(key string) Meaning {
	if r := letters[strings.ToLower(key)]; r != Ignored {
		return Meaning{Role: r}
	}
	var s shape
	if len(key) > maxKey || !s.cut(strings.ReplaceAll(key, " ", "-")) {
		return Meaning{}
	}
	s.marker, s.role = -1, -1
	s.findRole()
	s.readForm()
	s.readWindow()
	s.readUnit()
	if s.isTime() {
		return Meaning{}
	}
	s.nameLimit()
	return s.m
}
