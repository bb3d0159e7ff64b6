package name

import (
	"cmp"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/value"
)

// word is what one word of a name says. Nearly all words say one thing.
type word struct {
	role     Role
	order    uint8         // of labels, the least is the name
	of       bool          // before a word for a limit it is the role itself: remaining quota
	last     bool          // a role only at the end of a name
	pair     bool          // current beside maximum is what is under way at the same time
	unit     string        // what is counted
	singular bool          // what is counted only if no other word says so
	window   time.Duration // in which it is counted
	period   bool          // the word names a window; one without a fixed length if window is zero
	fourths  int           // before a window, by how many fourths it multiplies that; -1 if that is not known
	form     Form          // how a reset or a window is written
	step     time.Duration // what a number of time counts
	marker   bool          // the name is about a rate, and what precedes the word is the vendor
	root     bool          // the name is about a rate whatever else is in it
	scope    bool          // whose the limit is, or of what: no unit
	mine     bool          // before token: the token is a credential, and nothing that is counted
	time     bool          // a count beside it is one of time
	negative bool          // a limit of something that time does not restore
	bound    bool          // what one request has, and not how many there are
	past     bool          // of another time
	alone    bool          // a hint only where the answer has no counts
	counted  bool          // a word for a count after it is no role of its own
}

// words are the words that the rules know. Most have one meaning: min is always a window, and max
// is a limit. Windows and units are those that values have as well (package value).
var words = newWords()

// sets are words that mean the same, as they are added to words.
var sets = []struct {
	words string
	means word
}{
	// Roles: how much there is, is left, and is gone. A limit, and what is left of it, may be
	// called by two of them, "remaining quota", "quota remaining", "limit remaining".
	{"limit limits lim quota total capacity", word{role: Limit}},
	{"allowed allotted allotment allowance allocated", word{role: Limit, counted: true}},
	{"max maximum", word{role: Limit, pair: true, counted: true}},
	{"remaining remain rem left available", word{role: Remaining, of: true, counted: true}},
	{"used consumed", word{role: Used, of: true, counted: true}},
	{"usage", word{role: Used}},
	{"count", word{role: Used, last: true}}, // Genesys, Riot
	{"level", word{role: Used, last: true}}, // of a bucket
	{"current", word{role: Used, last: true, pair: true}},
	{"running active", word{role: Used, last: true, unit: value.Concurrent}},

	// Roles: when it is restored, and the time in which it is granted.
	{"reset resets", word{role: Reset, of: true}},
	{"expiry expires expire expiration", word{role: Reset, of: true}},
	{"until resettime resetat resetsat resetdate", word{role: Reset, of: true, form: Instant}},
	{"next", word{role: Reset, last: true, form: Instant}}, // X-RateLimit-Next, and no next limit
	{"resetin resetsin resetafter timetoreset timeuntilreset ttl", word{role: Reset, of: true, form: Seconds}},
	{"window period duration interval range renewalperiod refreshperiod timewindow timeframe", word{role: Window}},

	// Roles: what the number of a window counts, a word (Keap's time-unit beside interval).
	{"unit timeunit", word{role: TimeUnit}},

	// Roles: how much of it is restored in a window.
	{"fillrate fill refillrate refill replenish", word{role: Rate}},

	// Roles: words that say which limit it is. The more specific comes first. All but the last
	// say which counter a request drew on; a scope says whom else it counts for (Discord's are
	// user, shared and global).
	{"resource", word{role: Label, order: 0}},
	{"bucket", word{role: Label, order: 1}},
	{"name", word{role: Label, order: 2}},
	{"group", word{role: Label, order: 3}},
	{"action", word{role: Label, order: 4}},
	{"zone", word{role: Label, order: 5}},
	{"scope", word{role: Label, order: lastLabel}},
	{"type", word{role: Kind}},
	{"policy", word{role: Policy}},

	// Roles: when to try again.
	{"towait wait", word{role: Retry}},
	{"delay", word{role: Retry, alone: true, time: true}}, // beside counts it is how long the request was held (Azure DevOps)

	// How a reset or a window is written, after the role.
	{"after in sec", word{form: Seconds}},
	{"at timestamp epoch date utc unix", word{form: Instant}},
	{"time", word{form: Instant, time: true}},
	{"since", word{time: true}},
	{"seconds", word{form: Seconds, time: true}},
	{"ms msec msecs milliseconds millis", word{step: time.Millisecond, time: true}},
	{"minutes mins", word{step: time.Minute, time: true}},

	// Roots: a name with one of them is about a rate.
	{"ratelimit", word{marker: true, root: true}},
	{"ratelimitbysize", word{marker: true, root: true, unit: "tokens"}}, // Kong's, in front of language models
	{"throttle throttling throttled", word{root: true}},

	// Whose a limit is, or of what. These are no units, nor do they belong to one.
	{"user client app application account org organization team tenant workspace project ip", word{scope: true}},
	{"global endpoint route path method read write search burst method key shared", word{scope: true}},
	{"get post put patch delete graphql rest bulk batch admin public private", word{scope: true}},
	{"auth access api bearer refresh session csrf cross", word{scope: true, mine: true}},

	// No rates: what they count does not come back with time. A root or a window speaks for
	// them all the same: pages are what Mistral's OCR counts in a minute.
	{"page pagination results result items records rows offset", word{negative: true}},
	{"storage disk memory space file files upload attachment mailbox", word{negative: true}},
	{"seat seats license licenses stock inventory cart", word{negative: true}},
	{"session password login attempts cookie", word{negative: true}},
	{"size length depth age queue queues", word{negative: true, bound: true}},
	{"retries timeout enabled", word{bound: true}},

	// Not of now: the limit before, the last reset.
	{"last previous prev former", word{past: true}},
}

// lastLabel is the place of scope among the labels.
const lastLabel = 6

func newWords() map[string]*word {
	m := map[string]*word{}
	add := func(text string, means word) {
		if m[text] == nil {
			m[text] = &word{}
		}
		m[text].merge(means)
	}
	for text, window := range value.Windows() {
		add(text, word{window: window, period: true})
	}
	for text, n := range value.Fourths() {
		add(text, word{fourths: n})
	}
	for text, unit := range value.Units() {
		add(text, word{unit: unit})
	}
	for text, unit := range value.Singulars() {
		add(text, word{unit: unit, singular: true})
	}
	for _, s := range sets {
		for text := range strings.FieldsSeq(s.words) {
			add(text, s.means)
		}
	}
	return m
}

// merge adds another meaning to a word.
func (w *word) merge(o word) {
	if o.role != Ignored {
		w.role, w.order = o.role, o.order
	}
	if o.unit != "" {
		w.unit = o.unit
	}
	w.singular = w.singular || o.singular
	if o.period {
		w.period, w.window = true, o.window
	}
	w.fourths, w.form, w.step = cmp.Or(o.fourths, w.fourths), cmp.Or(o.form, w.form), cmp.Or(o.step, w.step)
	w.of, w.last, w.pair = w.of || o.of, w.last || o.last, w.pair || o.pair
	w.marker, w.root, w.scope, w.mine = w.marker || o.marker, w.root || o.root, w.scope || o.scope, w.mine || o.mine
	w.time, w.negative = w.time || o.time, w.negative || o.negative
	w.bound, w.past, w.alone, w.counted = w.bound || o.bound, w.past || o.past, w.alone || o.alone, w.counted || o.counted
}
