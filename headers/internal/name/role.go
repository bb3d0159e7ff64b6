package name

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
)

// counts reports whether the role is that of a number of what is counted.
func (r Role) counts() bool { return r == Limit || r == Remaining || r == Used }

// RoleSet is a set of roles, with the bit 1<<r for each of them.
type RoleSet uint32

// Has reports whether r is in the set.
func (s RoleSet) Has(r Role) bool { return s&(1<<r) != 0 }

// roles are the words that say what a header's value is.
var roles = map[string]Role{
	"limit": Limit, "max": Limit, "total": Limit, "quota": Limit, "capacity": Limit,
	"remaining": Remaining, "left": Remaining, "remain": Remaining, "available": Remaining,
	"used": Used, "usage": Used, "consumed": Used,
	"reset": Reset, "resets": Reset, "resettime": Reset, "next": Reset,
	"window": Window, "period": Window, "duration": Window,
	"policy": Policy, "type": Kind,
	"resource": Label, "bucket": Label, "name": Label, "group": Label, "action": Label, "zone": Label, "scope": Label,
}

// letters are the keys that values of the form Keys use beside the words of roles.
var letters = map[string]Role{"q": Limit, "r": Remaining, "t": Reset, "w": Window, "b": Label}

// RoleOfKey returns the role of the number or name that follows a key in a value of the form
// Keys: that of "remaining" and "r" is Remaining. It is Ignored for a key that is not known.
func RoleOfKey(key string) Role {
	if r := letters[key]; r != Ignored {
		return r
	}
	return roles[key]
}

// labels ranks the words whose values name a limit: the more specific comes first. All but
// the last say which counter a request drew on; a scope says whom else it counts for
// (Discord's are user, shared and global).
var labels = [...]string{"resource", "bucket", "name", "group", "action", "zone", "scope"}

// labelOrder returns where a word comes among the labels, zero if it is none.
func labelOrder(word string) uint8 {
	for i, l := range labels {
		if l == word {
			return uint8(i)
		}
	}
	return 0
}
