// Package habit reads answers of one server that come fast, one after the other, and that say much the same.
//
// In come the headers of answers; out comes what they say of limits: what package headers would say, or, of a
// [Repeat], how much remains of each. The package does not know what headers are called.
package habit

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/inside"
)

// ofHeaders has what package headers keeps for this one.
var ofHeaders = headers.Inside(inside.Key{})

// A Habit reads answers of one server that come fast, one after the other: it remembers which of their headers
// speak of limits, and looks those up, instead of at all headers. For answers that are no errors; an error is
// to be read by [headers.Reader.Append], as a whole.
//
// A Habit begins when 32 answers in a row have had the same headers of limits. It looks at all headers again if
// one of those is missing, and if there are more or fewer headers in all. In any case it looks after 15 and
// after 14 answers by turns; and at the first answer 10 ms or more after the latest one at which it looked
// because of the time. To look at all headers, it asks for each by its name: where the names are those of
// before, they say what they said.
//
// So what a server has not said before is missed only if it says it in place of something else:
//   - If all answers say it from then on, 15 miss it at most, and none after 10 ms.
//   - If each n-th answer says it, 31 of these are missed at most: looks are 31 answers apart, and 31 has no
//     divisor in common with n, so that they come to each of n answers. But if n is a multiple of 31, they may
//     come to others always, and then only time finds it, by chance.
//   - That holds whatever other answers say: each answer counts once, also if Append reads it after Reads, or
//     after a [Repeat].
//   - Where answers are read at the same time, one more is missed for each of these, at most.
//   - If answers say it at random, each is looked at with a probability of 2 in 31.
//
// The 10 ms go by the instants that the caller gives. A Transport gives when the request was granted, since it
// knows that without a look at the clock: so they lie between grants, and answers that come much later than
// those are bounded by the 15 alone.
//
// The zero Habit is ready for use, and safe for concurrent use. It must not be copied, and be used with one
// headers.Reader only.
type Habit struct {
	known  atomic.Pointer[known]
	streak atomic.Uint64             // what the latest answers had in common, and how many they were: see note
	looked atomic.Int64              // when all headers were last looked at, and that had not been so for habitLasts, by the clock of the caller
	unread atomic.Int32              // how often an answer was read since the latest look that came by number, by a Repeat, too; counted from one or zero by turns
	turns  atomic.Int32              // looks that came by number
	asked  atomic.Int64              // instant of the latest answer of which a Repeat was wanted, and
	number atomic.Int32              // its number
	told   atomic.Bool               // the latest answer stated limits, so that the next one will, too
	names  atomic.Pointer[[]address] // of an answer before, once a habit is near
}

// known are the headers of an answer, as far as they are remembered.
type known struct {
	n      int // how many headers there are in all
	told   []inside.Told
	others []string      // the names of those that say nothing of limits; none if they are too many, or too long, to be remembered
	since  time.Duration // when it was remembered
}

// whole reports whether all names are remembered.
func (k *known) whole() bool { return len(k.told)+len(k.others) == k.n }

// all reports whether an answer has all names that are remembered, and no other.
func (k *known) all(header http.Header) bool {
	if len(header) != k.n || !k.whole() {
		return false
	}
	for i := range k.told {
		if _, ok := header[k.told[i].Key]; !ok {
			return false
		}
	}
	return has(header, k.others)
}

// tells reports whether a header is one that is remembered to speak of limits.
func (k *known) tells(key string) bool {
	return slices.ContainsFunc(k.told, func(t inside.Told) bool { return t.Key == key })
}

// has reports whether an answer has all headers of some names.
func has(header http.Header, names []string) bool {
	for _, key := range names {
		if _, ok := header[key]; !ok {
			return false
		}
	}
	return true
}

// Bounds of a Habit.
const (
	habitAfter  = 32
	habitUnread = 15
	habitLasts  = 10 * time.Millisecond
	mostHeaders = 64  // of an answer whose names are remembered that say nothing of limits
	longestName = 128 // bytes of a name that is remembered
)

// Reads is [headers.Reader.Reads], for an answer of an instant: when it was received, or when its request went,
// by whatever clock that is always the same one.
func (h *Habit) Reads(r *headers.Reader, header http.Header, now time.Duration) bool {
	if h.told.Load() {
		return true
	}
	k := h.known.Load()
	if k != nil && (h.suffices(k, header, now) || h.looksAgain(k, header, now)) {
		if len(k.told) == 0 {
			return false
		}
	} else if !r.Reads(header) {
		h.note(r, header, 0, false, now)
		return false
	}
	if k != nil {
		h.takeBack()
	}
	return true // and Append reads it, and notes its headers if they are not known
}

// Append is [headers.Reader.Append], for an answer of the instant that Reads was given.
func (h *Habit) Append(r *headers.Reader, limits []headers.Limit, header http.Header, received time.Time, now time.Duration) ([]headers.Limit, headers.Retry) {
	all, hint, ok := h.skim(limits, header, received, now)
	if !ok {
		var sign uint64
		var tooMany bool
		all, hint, sign, tooMany = ofHeaders.Append(r, limits, header, received)
		h.note(r, header, sign, tooMany, now)
	}
	if told := len(all) > len(limits); h.told.Load() != told {
		h.told.Store(told)
	}
	return all, hint
}

// suffices reports whether what is remembered suffices for an answer, without another look at all its headers.
// Each answer counts, and counts once (see takeBack), so that which ones are looked at by number depends
// neither on what others say, nor on why these are looked at.
func (h *Habit) suffices(k *known, header http.Header, now time.Duration) bool {
	return h.unread.Add(1) <= habitUnread && len(header) == k.n && recent(time.Duration(h.looked.Load()), now)
}

// takeBack takes back that an answer was counted, which Append is to read, and to count.
func (h *Habit) takeBack() { h.unread.Add(-1) }

// noteLook notes that all headers of an answer were looked at.
func (h *Habit) noteLook(now time.Duration) {
	h.noteTurn()
	if !recent(time.Duration(h.looked.Load()), now) {
		h.looked.Store(int64(now))
	}
}

// noteTurn notes that an answer was looked at whose turn had come by number, if it had. Of several that are
// looked at at the same time, one begins to count anew: if each did, a late one would take back what was
// counted meanwhile.
func (h *Habit) noteTurn() {
	for n := h.unread.Load(); n > habitUnread; n = h.unread.Load() {
		if h.unread.CompareAndSwap(n, (h.turns.Load()+1)&1) {
			h.turns.Add(1)
			return
		}
	}
}

// comesFast notes that a Repeat is wanted of an answer of an instant, and reports whether other answers were
// read since that was so last, or whether that was less than habitLasts ago, or never.
func (h *Habit) comesFast(now time.Duration) bool {
	turns := h.turns.Load()
	n := turns>>1*(2*habitUnread+1) + turns&1*habitUnread + h.unread.Load() // one more for each answer, also where unread begins anew
	others, before := n-h.number.Swap(n)-1, time.Duration(h.asked.Swap(int64(now)))
	return before == 0 || now-before < habitLasts || others > 0
}

// recent reports whether an instant is less than habitLasts after all headers were looked at, and not before:
// then the difference, without a sign, is small.
func recent(looked, now time.Duration) bool { return uint64(now-looked) < uint64(habitLasts) }

// looksAgain reports whether an answer has all headers that are remembered, and no other.
func (h *Habit) looksAgain(k *known, header http.Header, now time.Duration) bool {
	if !k.all(header) {
		return false
	}
	h.noteLook(now)
	return true
}

// skim reads the headers that are remembered. It is false if not all of them are there.
func (h *Habit) skim(limits []headers.Limit, header http.Header, received time.Time, now time.Duration) (all []headers.Limit, hint headers.Retry, ok bool) {
	k := h.known.Load()
	if k == nil || !h.suffices(k, header, now) && !h.looksAgain(k, header, now) {
		return limits, hint, false
	}
	return ofHeaders.AppendTold(limits, k.told, header, received)
}

// note notes which headers an answer had that was looked at. The sign, and whether they are too many, is what
// package headers has said.
func (h *Habit) note(r *headers.Reader, header http.Header, sign uint64, tooMany bool, now time.Duration) {
	sign |= uint64(len(header))
	count := uint64(1)
	if old := h.streak.Load(); old>>8 == sign {
		count = min(old&0xff+1, habitAfter)
	} else if h.known.Load() != nil {
		h.known.Store(nil)
	}
	h.streak.Store(sign<<8 | count)
	h.noteLook(now)
	if count < habitAfter-1 {
		return
	}
	names := addressesOf(header)
	before := h.names.Swap(&names)
	k := h.known.Load()
	old := k != nil && k.whole() && now-k.since >= habitLasts // or its names would not have been looked up
	if count == habitAfter && (k == nil || old) && !tooMany {
		h.known.Store(remember(header, r, now, before))
	}
}

// remember returns what there is to know of an answer. Before is where the names of an answer before lay; it
// may be nil.
func remember(header http.Header, r *headers.Reader, now time.Duration, before *[]address) *known {
	k := &known{n: len(header), since: now}
	fit := len(header) <= mostHeaders
	for key := range header {
		if before == nil || !slices.Contains(*before, addressOf(key)) {
			key = strings.Clone(key)
		}
		if told, ok := ofHeaders.LookUp(r, key); ok {
			k.told = append(k.told, told)
		} else if fit = fit && len(key) <= longestName; fit {
			k.others = append(k.others, key)
		}
	}
	if !fit {
		k.others = nil
	}
	return k
}
